// A thing: everything that pages say about it, by page with time and syntax or all together, what points to it, a picture of its
// neighbourhood, other names it may have, and the statements as Turtle or JSON-LD.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get } from "../../api/client.ts";
import type { Thing } from "../../api/types.ts";
import {
  Action,
  Chip,
  CopyButton,
  Empty,
  Failure,
  Loading,
  PageTitle,
  Panel,
  Segments,
  TableFrame,
} from "../../components/basics.tsx";
import { OutsideLink, PageLink, Predicate, TermView, ThingLink } from "../../components/terms.tsx";
import { formatCount, plural } from "../../format.ts";
import { useResource, useSubject } from "../../hooks.ts";
import { nameOf } from "../../names.ts";
import { hrefTo, route } from "../../router.ts";
import { MergedStatements, SourceList } from "./statements.tsx";
import { Neighbourhood } from "./neighbourhood.tsx";
import { RawStatements } from "./raw.tsx";

const limitFirst = 50;
const incomingShown = 12;

/** The page at `#/thing?iri=…`. */
export function ThingPage(): JSX.Element {
  const iri = route.value.parameters.get("iri") ?? "";
  const [more, setMore] = useState<{ iri: string; limit: number } | null>(null);
  const limit = more?.iri === iri ? more.limit : limitFirst;
  const thing = useResource<Thing>(
    iri === "" ? null : `${iri} ${limit}`,
    (abort) => get("/api/thing", { iri, limit }, abort),
    { keep: more?.iri === iri },
  );

  useSubject(iri === "" ? null : nameOf(iri, thing.value?.label));

  if (iri === "") {
    return (
      <>
        <PageTitle>Thing</PageTitle>
        <Empty title="Which thing?">
          <p>
            <a href={hrefTo("search")}>Search</a> for one.
          </p>
        </Empty>
      </>
    );
  }
  const value = thing.value;
  return (
    <>
      <PageTitle
        note={
          <div class="thing-note">
            <span class="chips">
              {value?.types.map((type) => (
                <a
                  key={type.iri}
                  class="chip link"
                  href={hrefTo("search", { type: type.iri })}
                  title={`${type.iri}: search all of this type`}
                >
                  {nameOf(type.iri, type.label)}
                </a>
              ))}
            </span>
            <span class="iri-line">
              <code class="iri">{iri}</code>
              <CopyButton text={iri} label="Copy the IRI" iconOnly />
              <OutsideLink url={iri} />
            </span>
          </div>
        }
      >
        {value ? nameOf(iri, value.label) : nameOf(iri)}
      </PageTitle>
      {thing.error && <Failure error={thing.error} retry={thing.reload} />}
      {!value && thing.loading && <Loading what="the thing" lines={8} />}
      {value && value.statements.length === 0 && value.incoming_total === 0 && (
        <Empty title="Nothing is said about this thing here.">
          <p>
            No crawled page describes it. If it is a page itself, see{" "}
            <a href={hrefTo("page", { url: iri })}>what is known of that page</a>.
          </p>
        </Empty>
      )}
      {value && (value.statements.length > 0 || value.incoming_total > 0) && (
        <div class="columns thing-columns">
          <div class="stack">
            <Statements thing={value} limit={limit} onMore={() => setMore({ iri, limit: limit * 4 })} />
            <RawStatements iri={iri} key={iri} />
          </div>
          <div class="stack">
            <Neighbourhood iri={iri} key={iri} />
            <Same thing={value} />
            <Incoming thing={value} />
          </div>
        </div>
      )}
    </>
  );
}

function Statements(props: { thing: Thing; limit: number; onMore: () => void }): JSX.Element {
  const { thing } = props;
  const [view, setView] = useState<"source" | "merged">("source");
  return (
    <Panel
      title="What is said"
      note={`by ${plural(thing.pages_total, "page")}`}
      flush
      actions={
        <Segments
          label="Arrange statements"
          options={[
            { value: "source", label: "by page" },
            { value: "merged", label: "together" },
          ]}
          chosen={view}
          onChoose={setView}
        />
      }
    >
      {thing.statements.length === 0 && <Empty title="Nothing is said of it, but something points to it." />}
      {view === "source" ? <SourceList thing={thing} /> : <MergedStatements thing={thing} />}
      {thing.pages_total > thing.statements.length && (
        <div class="panel-foot">
          <span class="muted">
            {formatCount(thing.statements.length)} of {plural(thing.pages_total, "page")}
          </span>
          <Action small label="More pages" onClick={props.onMore} />
        </div>
      )}
    </Panel>
  );
}

function Same(props: { thing: Thing }): JSX.Element | null {
  const { same } = props.thing;
  if (same.length === 0) return null;
  return (
    <Panel title="Perhaps the same" note={formatCount(same.length)}>
      <ul class="plain-list">
        {same.map((one) => (
          <li key={`${one.iri} ${one.reason}`}>
            <ThingLink iri={one.iri} label={one.label} />
            <Chip>{one.reason}</Chip>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Incoming(props: { thing: Thing }): JSX.Element | null {
  const { incoming, incoming_total: total } = props.thing;
  const [all, setAll] = useState(false);
  if (total === 0) return null;
  const shown = all ? incoming : incoming.slice(0, incomingShown);
  return (
    <Panel title="Points to it" note={formatCount(total)} flush>
      <TableFrame label="What points to this thing">
        <table class="data">
          <thead>
            <tr>
              <th scope="col">Thing</th>
              <th scope="col">says</th>
              <th scope="col">on</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((link, place) => (
              <tr key={place}>
                <td class="clip">
                  <TermView term={link.subject} />
                </td>
                <td>
                  <Predicate iri={link.predicate} />
                </td>
                <td class="clip">
                  <PageLink url={link.page} length={40} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableFrame>
      {(incoming.length > shown.length || total > incoming.length) && (
        <div class="panel-foot">
          <span class="muted">
            {formatCount(shown.length)} of {formatCount(total)}
          </span>
          {incoming.length > shown.length && <Action small label="Show more" onClick={() => setAll(true)} />}
        </div>
      )}
    </Panel>
  );
}
