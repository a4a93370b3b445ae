// Settings: of this browser (theme, token), of the crawl (limits), and what the server says of itself; and the ways out of here (dumps,
// endpoints).
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { address, get, setToken, startSession, token } from "../api/client.ts";
import type { Settings } from "../api/types.ts";
import { Action, Chip, Failure, Loading, PageTitle, Panel, Segments } from "../components/basics.tsx";
import { Icon } from "../components/icons.tsx";
import { formatBytes, formatCount, formatDuration, words } from "../format.ts";
import { useResource } from "../hooks.ts";
import { crawlId, refreshStatus, status, theme, themes } from "../state.ts";
import { LimitsForm } from "./crawl/limitsform.tsx";

/** The page at `#/settings`. */
export function SettingsPage(): JSX.Element {
  const id = crawlId.value;
  return (
    <>
      <PageTitle>Settings</PageTitle>
      <div class="columns settings-columns">
        <div class="stack">
          <Browser />
          {id !== null && (
            <Panel title={`Limits of the crawl${id === "main" ? "" : ` ${id}`}`}>
              <LimitsForm id={id} key={id} />
            </Panel>
          )}
          <Dumps />
        </div>
        <div class="stack">
          <Server />
          <Endpoints />
        </div>
      </div>
    </>
  );
}

function Browser(): JSX.Element {
  const [typed, setTyped] = useState("");
  const save = (event: Event) => {
    event.preventDefault();
    setToken(typed);
    setTyped("");
    void startSession().then(refreshStatus);
  };
  return (
    <Panel title="This browser">
      <div class="form">
        <div class="field">
          <span class="field-label" id="theme-label">
            Theme
          </span>
          <Segments
            label="Theme"
            options={themes.map((value) => ({ value, label: value }))}
            chosen={theme.value}
            onChoose={(value) => (theme.value = value)}
          />
        </div>
        <form onSubmit={save} class="field" autocomplete="off">
          <label class="field-label" for="token-box">
            Operator's token
          </label>
          <div class="buttons">
            <input
              id="token-box"
              type="password"
              autocomplete="off"
              spellcheck={false}
              value={typed}
              placeholder={token.value ? "known; enter another to replace it" : "paste the token"}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
            <button type="submit" class="button" disabled={typed.trim() === ""}>
              Use it
            </button>
            {token.value && (
              <Action
                label="Forget it"
                onClick={() => {
                  setToken(null);
                  void refreshStatus();
                }}
              />
            )}
          </div>
          <span class="field-help" role="status">
            {token.value
              ? "A token is known. It is kept in this tab only."
              : "Changes (pause, filters, limits) need the token that the server printed when it started."}
          </span>
        </form>
      </div>
    </Panel>
  );
}

function showLimit(key: string, value: number | string | null): string {
  if (value === null) return "none";
  if (typeof value !== "number") return value;
  if (key.endsWith("bytes") || key.includes("bytes")) return formatBytes(value);
  if (key.endsWith("seconds")) return formatDuration(value);
  return formatCount(value);
}

function Server(): JSX.Element {
  const settings = useResource<Settings>("settings", (abort) => get("/api/settings", {}, abort));
  const known = status.value;
  const value = settings.value;
  return (
    <Panel title="Server">
      {settings.error && <Failure error={settings.error} retry={settings.reload} />}
      {!value && settings.loading && <Loading what="settings" />}
      <dl class="pairs wide">
        {value && (
          <>
            <Pair name="Version" value={`${value.version}${value.commit ? ` (${value.commit.slice(0, 10)})` : ""}`} />
            <Pair name="Listens on" value={value.listen} />
            <Pair name="Default graph" value={value.default_graph} />
          </>
        )}
        {known && (
          <>
            <Pair name="Data" value={known.data} />
            <Pair name="Up for" value={formatDuration(known.uptime_seconds)} />
            <Pair name="May change things" value={known.read_only ? "no, another process crawls" : "with the token"} />
          </>
        )}
      </dl>
      {known && (
        <>
          <h3>Store</h3>
          <dl class="pairs wide">
            <Pair name="Pages" value={formatCount(known.store.pages)} />
            <Pair name="Graphs" value={formatCount(known.store.graphs)} />
            <Pair name="Quads" value={formatCount(known.store.quads)} />
            <Pair name="Terms" value={formatCount(known.store.terms)} />
            <Pair name="On disk" value={formatBytes(known.store.bytes)} />
            <Pair name="Segments" value={formatCount(known.store.segments)} />
            <Pair name="Generation" value={formatCount(known.store.generation)} />
          </dl>
        </>
      )}
      {value && (
        <>
          <h3>Limits of a query</h3>
          <dl class="pairs wide">
            {Object.entries(value.limits).map(([key, limit]) => (
              <Pair key={key} name={words(key)} value={showLimit(key, limit)} />
            ))}
          </dl>
        </>
      )}
    </Panel>
  );
}

function Pair(props: { name: string; value: string }): JSX.Element {
  return (
    <div class="pair">
      <dt>{props.name}</dt>
      <dd>{props.value}</dd>
    </div>
  );
}

const dumpFormats = [
  { value: "nquads", label: "N-Quads", extension: "nq" },
  { value: "trig", label: "TriG", extension: "trig" },
  { value: "turtle", label: "Turtle", extension: "ttl" },
] as const;

type DumpFormat = (typeof dumpFormats)[number]["value"];

function Dumps(): JSX.Element {
  const [format, setFormat] = useState<DumpFormat>("nquads");
  const [site, setSite] = useState("");
  const extension = dumpFormats.find((one) => one.value === format)?.extension ?? "nq";
  const url = address("/api/dump", { format, site: site.trim() });
  const name = `webloom${site.trim() ? `-${site.trim().replaceAll(/[^\w.-]+/g, "_")}` : ""}.${extension}`;
  return (
    <Panel title="Take the data along">
      <div class="form">
        <div class="form-grid">
          <div class="field">
            <span class="field-label">Format</span>
            <Segments label="Format" options={dumpFormats} chosen={format} onChoose={setFormat} />
          </div>
          <label class="field">
            <span class="field-label">Of one site only</span>
            <input
              type="text"
              spellcheck={false}
              value={site}
              placeholder="all sites"
              onInput={(event) => setSite(event.currentTarget.value)}
            />
          </label>
        </div>
        <div class="buttons">
          <a class="button" href={url} download={name}>
            <Icon name="download" />
            Download
          </a>
        </div>
      </div>
    </Panel>
  );
}

const endpoints: { path: string; what: string }[] = [
  { path: "/sparql", what: "SPARQL 1.1 Protocol" },
  { path: "/search", what: "search without JavaScript" },
  { path: "/metrics", what: "Prometheus" },
  { path: "/api/openapi.json", what: "description of the API" },
];

function Endpoints(): JSX.Element {
  return (
    <Panel title="Endpoints">
      <ul class="plain-list">
        {endpoints.map(({ path, what }) => (
          <li key={path}>
            <a href={address(path)}>
              <code>{path}</code>
            </a>{" "}
            <Chip>{what}</Chip>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
