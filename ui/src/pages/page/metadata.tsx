// What the crawl noted about a page. The server may note more than is known here: every key is shown, known ones as they read best.
import type { ComponentChildren, JSX } from "preact";
import { Ago, Panel } from "../../components/basics.tsx";
import { PageLink } from "../../components/terms.tsx";
import { formatBytes, formatCount, isWebAddress, shorten, words } from "../../format.ts";

/** The list of what was noted. */
export function Metadata(props: { metadata: Record<string, unknown> }): JSX.Element {
  const entries = Object.entries(props.metadata).filter(
    ([, value]) => value !== null && value !== undefined && value !== "",
  );
  return (
    <Panel title="Noted by the crawl">
      <dl class="pairs two">
        {entries.map(([key, value]) => (
          <div key={key} class="pair">
            <dt>{words(key)}</dt>
            <dd>{show(key, value)}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}

function show(key: string, value: unknown): ComponentChildren {
  if (Array.isArray(value)) {
    return value.map((one, place) => (
      <span key={place} class="list-item">
        {show(key, one)}
      </span>
    ));
  }
  if (typeof value === "number")
    return key === "bytes" ? formatBytes(value) : key === "status" ? String(value) : formatCount(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "object" && value !== null) return <code>{JSON.stringify(value)}</code>;
  const text = String(value);
  if (/^\d{4}-\d\d-\d\dT/.test(text)) return <Ago time={text} />;
  if (isWebAddress(text)) return <PageLink url={text} length={56} />;
  if (key === "digest") return <code title={text}>{shorten(text, 24)}</code>;
  return text;
}
