// Queries: an editor that knows the store's own prefixes, predicates and classes; results as a table, a graph, a plot or text; the plan; downloads.
// The query is in the address, so it can be shared.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type ApiError, change, download, get } from "../../api/client.ts";
import type { Example, Explanation, Settings } from "../../api/types.ts";
import { Action, CopyButton, Empty, Failure, Loading, Notice, PageTitle, Tabs } from "../../components/basics.tsx";
import { formatBytes, formatMilliseconds, plural } from "../../format.ts";
import { asApiError, useResource } from "../../hooks.ts";
import { hrefTo, navigate, route } from "../../router.ts";
import { tokenMissing } from "../../state.ts";
import { queryForm } from "../../sparql/context.ts";
import { refreshVocabulary, vocabulary } from "../../vocabulary.ts";
import { Editor, type GivenText } from "./editor.tsx";
import { graphFormats, type Outcome, request, run, tableFormats } from "./runner.ts";
import { PlanView } from "./plan.tsx";
import { PlotView } from "./plot.tsx";
import { ResultGraphView } from "./resultgraph.tsx";
import { ResultTable } from "./table.tsx";

const firstQuery = `SELECT ?class (COUNT(?thing) AS ?things) WHERE {
  ?thing a ?class
}
GROUP BY ?class
ORDER BY DESC(?things)
LIMIT 50`;

const views = ["table", "graph", "plot", "text", "plan"] as const;
type View = (typeof views)[number];

/** The page at `#/query?q=…`. */
export function QueryPage(): JSX.Element {
  const parameters = route.value.parameters;
  const given = parameters.get("q");
  const view = views.find((name) => name === parameters.get("view")) ?? "table";
  const [loaded, setLoaded] = useState<GivenText>({ text: given ?? firstQuery });
  const [text, setText] = useState(loaded.text);
  const [seconds, setSeconds] = useState<number | null>(null);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [asked, setAsked] = useState("");
  const [error, setError] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const running = useRef<AbortController | null>(null);

  const examples = useResource<{ examples: Example[] }>("examples", (abort) => get("/api/examples", {}, abort));
  const settings = useResource<Settings>("settings", (abort) => get("/api/settings", {}, abort));
  useEffect(refreshVocabulary, []);

  const load = (query: string) => {
    setLoaded({ text: query });
    setText(query);
  };
  const start = (query: string) => {
    if (query.trim() === "") return;
    running.current?.abort();
    const abort = new AbortController();
    running.current = abort;
    setBusy(true);
    setError(null);
    setAsked(query);
    navigate(hrefTo("query", { q: query, view: view === "table" ? null : view }), { replace: true });
    run(query, seconds, abort.signal)
      .then((value) => setOutcome(value))
      .catch((failure: unknown) => {
        if (abort.signal.aborted) return;
        setOutcome(null);
        setError(asApiError(failure));
      })
      .finally(() => {
        if (running.current === abort) {
          running.current = null;
          setBusy(false);
        }
      });
  };
  const cancel = () => {
    running.current?.abort();
    running.current = null;
    setBusy(false);
  };

  // A shared address shows its result at once, but never changes anything by being opened.
  useEffect(() => {
    if (given && queryForm(given) !== "update") start(given);
    return () => running.current?.abort();
  }, []);
  const led = useRef(given);
  useEffect(() => {
    // Back and forward bring another query.
    if (given !== null && given !== led.current && given !== text && given !== asked) load(given);
    led.current = given;
  }, [given]);

  const longest =
    typeof settings.value?.limits["query_seconds"] === "number" ? settings.value.limits["query_seconds"] : null;
  const times = [5, 30, 60, 300].filter((value) => longest === null || value <= longest);
  const update = queryForm(text) === "update";
  return (
    <>
      <PageTitle
        actions={
          <>
            <label class="inline-label">
              <span class="hidden-text">Examples</span>
              <select
                value=""
                disabled={(examples.value?.examples.length ?? 0) === 0}
                onChange={(event) => {
                  const example = examples.value?.examples[Number(event.currentTarget.value)];
                  event.currentTarget.value = "";
                  if (example) load(example.query);
                }}
              >
                <option value="">Examples…</option>
                {examples.value?.examples.map((example, place) => (
                  <option key={example.title} value={place}>
                    {example.title}
                  </option>
                ))}
              </select>
            </label>
            <CopyButton text={shareAddress(text)} label="Copy link" />
          </>
        }
      >
        Query
      </PageTitle>
      <section class="panel" aria-label="Editor">
        <Editor given={loaded} vocabulary={vocabulary.value} onChange={setText} onRun={() => start(text)} />
        <div class="panel-foot">
          {busy ? (
            <Action icon="stop" label="Cancel" onClick={cancel} />
          ) : (
            <Action
              icon="play"
              primary
              label={update ? "Run the update" : "Run"}
              onClick={() => start(text)}
              disabled={text.trim() === "" || (update && tokenMissing.value)}
              reason={update && tokenMissing.value ? "Updates need the operator's token (see Settings)." : null}
            />
          )}
          <span class="muted wide-only">
            <kbd>Ctrl</kbd> <kbd>Enter</kbd> runs, <kbd>Ctrl</kbd> <kbd>Space</kbd> completes
          </span>
          <label class="inline-label push">
            <span class="muted">for at most</span>
            <select
              value={seconds === null ? "" : String(seconds)}
              onChange={(event) =>
                setSeconds(event.currentTarget.value === "" ? null : Number(event.currentTarget.value))
              }
            >
              <option value="">{longest === null ? "the server's limit" : `${longest} s`}</option>
              {times
                .filter((value) => value !== longest)
                .map((value) => (
                  <option key={value} value={value}>
                    {value} s
                  </option>
                ))}
            </select>
          </label>
        </div>
      </section>
      <div aria-live="polite">
        {busy && <Loading what="the answer" lines={4} />}
        {!busy && error && <Failure error={error} retry={() => start(asked)} />}
      </div>
      {!busy && outcome && <Results outcome={outcome} query={asked} view={view} seconds={seconds} />}
      {!busy && !outcome && !error && (
        <Empty title="No query was run yet.">
          <p>
            Write one above, or start from an example. Completion knows the predicates and classes that are really in
            the store.
          </p>
        </Empty>
      )}
    </>
  );
}

function shareAddress(query: string): string {
  return `${location.origin}${location.pathname}${hrefTo("query", { q: query })}`;
}

function Results(props: { outcome: Outcome; query: string; view: View; seconds: number | null }): JSX.Element {
  const { outcome, query, view } = props;
  const [failed, setFailed] = useState<ApiError | null>(null);
  const [saving, setSaving] = useState(false);
  const isGraph = outcome.kind === "table" && outcome.form === "graph";
  const choose = (name: View) =>
    navigate(hrefTo("query", { q: query, view: name === "table" ? null : name }), { replace: true });
  const save = async (accept: string, extension: string) => {
    setSaving(true);
    setFailed(null);
    const { url, init } = request(query, accept, props.seconds);
    try {
      await download(url, `result.${extension}`, init);
    } catch (failure) {
      setFailed(asApiError(failure));
    } finally {
      setSaving(false);
    }
  };
  return (
    <section class="panel" aria-labelledby="results-title">
      <header class="panel-head">
        <h2 id="results-title">Result</h2>
        <span class="panel-note" aria-live="polite">
          {outcome.kind === "table" && `${plural(outcome.table.rows.length, isGraph ? "statement" : "row")}, `}
          {formatBytes(outcome.bytes)} in {formatMilliseconds(outcome.milliseconds)}
        </span>
        {outcome.kind === "table" && (
          <div class="panel-actions">
            <label class="inline-label">
              <span class="hidden-text">Download</span>
              <select
                value=""
                disabled={saving}
                onChange={(event) => {
                  const format = (isGraph ? graphFormats : tableFormats)[Number(event.currentTarget.value)];
                  event.currentTarget.value = "";
                  if (format) void save(format.accept, format.extension);
                }}
              >
                <option value="">Download…</option>
                {(isGraph ? graphFormats : tableFormats).map((format, place) => (
                  <option key={format.label} value={place}>
                    {format.label}
                  </option>
                ))}
              </select>
            </label>
          </div>
        )}
      </header>
      {failed && <Failure error={failed} />}
      {outcome.kind === "table" && outcome.unread > 0 && (
        <Notice kind="warn">{plural(outcome.unread, "line")} of the answer could not be read.</Notice>
      )}
      <Tabs
        label="Show the result as"
        tabs={[
          { name: "table", label: "Table" },
          { name: "graph", label: "Graph" },
          { name: "plot", label: "Plot" },
          { name: "text", label: "Text" },
          { name: "plan", label: "Plan" },
        ]}
        chosen={view}
        onChoose={choose}
      >
        {view === "plan" ? (
          <Plan query={query} key={query} />
        ) : view === "text" ? (
          <pre class="source" tabIndex={0} aria-label="Answer as text">
            {outcome.text.length > 200_000 ? `${outcome.text.slice(0, 200_000)}\n…` : outcome.text || "(empty)"}
          </pre>
        ) : outcome.kind === "boolean" ? (
          <p class={outcome.value ? "answer yes" : "answer no"}>{outcome.value ? "Yes" : "No"}</p>
        ) : outcome.kind === "done" ? (
          <Notice kind="good">Done.</Notice>
        ) : outcome.table.rows.length === 0 ? (
          <Empty title="The query has no results.">
            <p>
              Nothing in the store fits. Is every prefix the right one? The default graph has the data of all pages.
            </p>
          </Empty>
        ) : view === "graph" ? (
          <ResultGraphView table={outcome.table} />
        ) : view === "plot" ? (
          <PlotView table={outcome.table} />
        ) : (
          <ResultTable table={outcome.table} />
        )}
      </Tabs>
    </section>
  );
}

function Plan(props: { query: string }): JSX.Element {
  const update = queryForm(props.query) === "update";
  const plan = useResource<Explanation | null>(update ? null : props.query, () =>
    change<Explanation>("POST", "/api/explain", { query: props.query }),
  );
  if (update) return <Empty title="Only queries have a plan." />;
  if (plan.error) return <Failure error={plan.error} retry={plan.reload} />;
  if (!plan.value) return <Loading what="the plan" />;
  return <PlanView explanation={plan.value} />;
}
