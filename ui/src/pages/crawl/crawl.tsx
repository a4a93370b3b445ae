// The crawl: what it does now (five phases, queues, the bottleneck), what it did (rates over time), where (hosts, recent pages), and
// how it is steered (start to stop, filters, limits, more URLs).
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError, change, crawlPath } from "../../api/client.ts";
import type { Crawl, CrawlBrief } from "../../api/types.ts";
import { Action, Empty, Failure, Loading, Notice, PageTitle, StatePill } from "../../components/basics.tsx";
import { formatDuration } from "../../format.ts";
import { asApiError, useLiveCrawl } from "../../hooks.ts";
import { hrefTo, navigate, sticky } from "../../router.ts";
import { controlRefusal, crawlId, noteCrawl, refreshStatus, status } from "../../state.ts";
import { Flow } from "./flow.tsx";
import { Hosts } from "./hosts.tsx";
import { Numbers } from "./numbers.tsx";
import { RatesOverTime } from "./overtime.tsx";
import { RecentPages } from "./recent.tsx";
import { Steering } from "./steering.tsx";

/** The page at `#/crawl`. */
export function CrawlPage(): JSX.Element {
  const id = crawlId.value;
  const { crawl, pages, error, live, refresh } = useLiveCrawl(id);

  if (id === null) {
    if (!status.value) return <Loading what="the status" lines={6} />;
    return <NoCrawl />;
  }
  return (
    <>
      <CrawlHead id={id} crawl={crawl} live={live} refresh={refresh} />
      {error && <Failure error={error} retry={refresh} />}
      {crawl?.message && <Notice kind={crawl.state === "failed" ? "warn" : "info"}>{crawl.message}</Notice>}
      {!crawl && !error && <Loading what="the crawl" lines={8} />}
      {crawl && (
        <>
          <Flow crawl={crawl} />
          <RatesOverTime crawl={crawl} />
          <div class="columns crawl-columns">
            <div class="stack">
              <Hosts id={id} />
              <Numbers crawl={crawl} />
            </div>
            <RecentPages pages={pages} state={crawl.state} />
          </div>
          <Steering crawl={crawl} />
        </>
      )}
    </>
  );
}

function NoCrawl(): JSX.Element {
  const stored = status.value?.store.pages ?? 0;
  return (
    <>
      <PageTitle>Crawl</PageTitle>
      <Empty title="There is no crawl here yet.">
        <p>
          {stored > 0
            ? "The store holds data that can be searched and queried, but no crawl belongs to it."
            : "Give Webloom an address to start from and it follows the links, politely, and keeps what the pages say as a graph."}
        </p>
        <p class="buttons">
          <a class="button primary" href={hrefTo("new")}>
            New crawl
          </a>
          {stored > 0 && (
            <a class="button" href={hrefTo("search")}>
              Search the store
            </a>
          )}
        </p>
      </Empty>
    </>
  );
}

type Command = "start" | "pause" | "resume" | "stop";

function CrawlHead(props: { id: string; crawl: Crawl | null; live: boolean; refresh: () => void }): JSX.Element {
  const { id, crawl } = props;
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<ApiError | null>(null);
  const [confirming, setConfirming] = useState(false);
  const crawls = status.value?.crawls ?? [];
  const state = crawl?.state;
  const refusal = controlRefusal.value;

  const command = async (name: Command) => {
    setBusy(true);
    setFailed(null);
    setConfirming(false);
    try {
      const brief = await change<CrawlBrief>("POST", crawlPath(id, `/${name}`));
      if (brief) noteCrawl(brief);
      props.refresh();
    } catch (failure) {
      setFailed(asApiError(failure));
    } finally {
      setBusy(false);
    }
  };
  const remove = async () => {
    setBusy(true);
    setFailed(null);
    try {
      await change("DELETE", crawlPath(id));
      await refreshStatus();
      sticky.crawl = null;
      navigate(hrefTo("crawl"));
    } catch (failure) {
      setFailed(asApiError(failure));
    } finally {
      setBusy(false);
      setConfirming(false);
    }
  };
  const disabled = busy || refusal !== null;
  const over = state === "stopped" || state === "finished" || state === "failed";

  return (
    <>
      <PageTitle
        note={
          crawl && (
            <span class="facts">
              <StatePill state={crawl.state} />
              <span>{formatDuration(crawl.elapsed_seconds)}</span>
              <span class={props.live ? "live on" : "live"}>{props.live ? "live" : "asking every 5 s"}</span>
            </span>
          )
        }
        actions={
          <>
            {state === "running" && (
              <Action
                icon="pause"
                label="Pause"
                onClick={() => void command("pause")}
                disabled={disabled}
                reason={refusal}
              />
            )}
            {state === "paused" && (
              <Action
                icon="play"
                label="Resume"
                primary
                onClick={() => void command("resume")}
                disabled={disabled}
                reason={refusal}
              />
            )}
            {over && (
              <Action
                icon="play"
                label="Start"
                primary
                onClick={() => void command("start")}
                disabled={disabled}
                reason={refusal}
              />
            )}
            {(state === "running" || state === "paused") && (
              <Action
                icon="stop"
                label="Stop"
                onClick={() => void command("stop")}
                disabled={disabled}
                reason={refusal}
              />
            )}
            {over && crawls.length > 1 && !confirming && (
              <Action
                icon="trash"
                label="Remove"
                onClick={() => setConfirming(true)}
                disabled={disabled}
                reason={refusal}
              />
            )}
            {confirming && (
              <>
                <Action
                  danger
                  label={`Remove ${id}; its data stay`}
                  onClick={() => void remove()}
                  disabled={disabled}
                />
                <Action label="Keep" onClick={() => setConfirming(false)} />
              </>
            )}
            <a class="button" href={hrefTo("new")}>
              New crawl
            </a>
          </>
        }
      >
        {crawls.length > 1 ? (
          <label class="title-choice">
            <span class="hidden-text">Crawl</span>
            <select value={id} onChange={(event) => navigate(hrefTo("crawl", { crawl: event.currentTarget.value }))}>
              {crawls.map((one) => (
                <option key={one.id} value={one.id}>
                  {one.id}
                </option>
              ))}
            </select>
          </label>
        ) : (
          <>Crawl {id === "main" ? "" : id}</>
        )}
      </PageTitle>
      {failed && <Failure error={failed} />}
    </>
  );
}
