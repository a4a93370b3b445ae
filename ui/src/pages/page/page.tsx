// A page: its title and metadata, what each syntax gave, what was wrong with it, its statements, links, history, archived copy, and the
// life of its URL. A URL that was never fetched still has a life, so that is shown then.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type ApiError, change, crawlPath, get } from "../../api/client.ts";
import type { PageAnswer, UrlLife } from "../../api/types.ts";
import {
  Action,
  Chip,
  CopyButton,
  Empty,
  Failure,
  Loading,
  Meter,
  Notice,
  PageTitle,
  Panel,
  Tabs,
} from "../../components/basics.tsx";
import { OutsideLink } from "../../components/terms.tsx";
import { briefUrl, formatCount, formatShare, plural } from "../../format.ts";
import { asApiError, useResource, useSubject } from "../../hooks.ts";
import { hrefTo, navigate, route } from "../../router.ts";
import { controlRefusal, crawlId } from "../../state.ts";
import { ArchivedCopy } from "./archived.tsx";
import { Diagnostics } from "./diagnostics.tsx";
import { History } from "./history.tsx";
import { Life } from "./life.tsx";
import { Metadata } from "./metadata.tsx";
import { Outlinks } from "./outlinks.tsx";
import { PageStatements } from "./statements.tsx";

const tabNames = ["statements", "links", "diagnostics", "copy", "history", "life"] as const;
type TabName = (typeof tabNames)[number];

/** The page at `#/page?url=…`. */
export function PagePage(): JSX.Element {
  const parameters = route.value.parameters;
  const url = parameters.get("url") ?? "";
  const page = useResource<PageAnswer>(url === "" ? null : url, (abort) => get("/api/page", { url }, abort));
  const life = useResource<UrlLife>(url === "" ? null : url, (abort) => get("/api/url", { url }, abort));
  const wanted = parameters.get("tab");
  const chosen = tabNames.find((name) => name === wanted) ?? "statements";
  const choose = (tab: TabName) =>
    navigate(hrefTo("page", { url, tab: tab === "statements" ? null : tab }), { replace: true });

  useSubject(url === "" ? null : page.value?.title || briefUrl(url));

  if (url === "") return <AskForUrl />;
  const value = page.value;
  const unknown = page.error?.status === 404;
  return (
    <>
      <PageTitle
        note={
          <span class="iri-line">
            <code class="iri">{url}</code>
            <CopyButton text={url} label="Copy the URL" iconOnly />
            <OutsideLink url={url} />
          </span>
        }
        actions={<Recrawl url={url} />}
      >
        {value?.title || "Page"}
      </PageTitle>
      {page.error && !unknown && <Failure error={page.error} retry={page.reload} />}
      {!value && page.loading && <Loading what="the page" lines={8} />}
      {unknown && (
        <>
          <Notice>This page is not in the store. What is known of its URL:</Notice>
          {life.error?.status === 404 || life.value?.state === "unknown" ? (
            <Empty title="The crawl never met this URL.">
              <p>No page that was read links to it, and nobody gave it by hand.</p>
            </Empty>
          ) : life.error ? (
            <Failure error={life.error} retry={life.reload} />
          ) : life.value ? (
            <Panel title="Life of the URL">
              <Life life={life.value} />
            </Panel>
          ) : (
            <Loading what="the life of the URL" />
          )}
        </>
      )}
      {value && (
        <>
          <div class="columns page-columns">
            <Syntaxes page={value} />
            <Metadata metadata={value.metadata} />
          </div>
          <section class="panel" aria-label="Details of the page">
            <Tabs
              label="Details of the page"
              tabs={[
                { name: "statements", label: "Statements", count: value.statements_total },
                { name: "links", label: "Links", count: value.outlinks.length },
                { name: "diagnostics", label: "Diagnostics", count: value.diagnostics.length },
                { name: "copy", label: "Archived copy" },
                { name: "history", label: "History", count: value.history.length },
                { name: "life", label: "Life of the URL" },
              ]}
              chosen={chosen}
              onChoose={choose}
            >
              {chosen === "statements" && <PageStatements page={value} key={url} />}
              {chosen === "links" && <Outlinks page={value} />}
              {chosen === "diagnostics" && <Diagnostics diagnostics={value.diagnostics} />}
              {chosen === "copy" && <ArchivedCopy page={value} key={url} />}
              {chosen === "history" && <History history={value.history} />}
              {chosen === "life" &&
                (life.error ? (
                  <Failure error={life.error} retry={life.reload} />
                ) : life.value ? (
                  <Life life={life.value} />
                ) : (
                  <Loading what="the life of the URL" />
                ))}
            </Tabs>
          </section>
        </>
      )}
    </>
  );
}

function AskForUrl(): JSX.Element {
  const [typed, setTyped] = useState("");
  return (
    <>
      <PageTitle>Page</PageTitle>
      <form
        class="form narrow"
        onSubmit={(event) => {
          event.preventDefault();
          if (typed.trim() !== "") navigate(hrefTo("page", { url: typed.trim() }));
        }}
      >
        <label class="field">
          <span class="field-label">URL of a page</span>
          <input
            type="text"
            inputMode="url"
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
            placeholder="https://example.org/"
          />
        </label>
        <div class="buttons">
          <button type="submit" class="button primary">
            Show
          </button>
        </div>
      </form>
    </>
  );
}

function Recrawl(props: { url: string }): JSX.Element | null {
  const [outcome, setOutcome] = useState<{ queued: number } | null>(null);
  const [failed, setFailed] = useState<ApiError | null>(null);
  const id = crawlId.value;
  if (id === null) return null;
  const ask = async () => {
    setFailed(null);
    try {
      setOutcome(await change<{ queued: number }>("POST", crawlPath(id, "/recrawl"), { urls: [props.url] }));
    } catch (failure) {
      setFailed(asApiError(failure));
    }
  };
  return (
    <>
      <Action
        icon="refresh"
        label="Fetch again"
        onClick={() => void ask()}
        disabled={controlRefusal.value !== null}
        reason={controlRefusal.value}
      />
      <span role="status">
        {outcome && (outcome.queued > 0 ? "Queued." : "It is in the queue already.")}
        {failed && <span class="bad-text">{failed.message}</span>}
      </span>
    </>
  );
}

function Syntaxes(props: { page: PageAnswer }): JSX.Element {
  const { syntaxes } = props.page;
  const counted = syntaxes.filter((syntax) => syntax.quads !== null);
  const most = Math.max(1, ...counted.map((syntax) => syntax.quads ?? 0));
  const all = counted.reduce((sum, syntax) => sum + (syntax.quads ?? 0), 0);
  return (
    <Panel title="What was found" note={plural(props.page.statements_total, "statement")}>
      {syntaxes.length === 0 ? (
        <Empty title="The page carried no data.">
          <p>See its diagnostics and its archived copy below.</p>
        </Empty>
      ) : counted.length === 0 ? (
        <span class="chips">
          {syntaxes.map((syntax) => (
            <Chip key={syntax.name}>{syntax.name}</Chip>
          ))}
        </span>
      ) : (
        <table class="bars">
          <caption class="hidden-text">Statements by syntax</caption>
          <tbody>
            {syntaxes.map((syntax) => (
              <tr key={syntax.name}>
                <th scope="row">{syntax.name}</th>
                <td class="bar-cell">
                  <Meter
                    share={(syntax.quads ?? 0) / most}
                    label={`${syntax.name}: ${formatShare(all > 0 ? (syntax.quads ?? 0) / all : 0)} of the statements`}
                  />
                </td>
                <td class="number">{formatCount(syntax.quads)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}
