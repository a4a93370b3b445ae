// The small pieces every page is made of: panels, states of loading and failing, pills, meters, tabs, pagers.
import type { ComponentChildren, JSX, TargetedKeyboardEvent } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { ApiError } from "../api/client.ts";
import type { CrawlState } from "../api/types.ts";
import { formatAgo, formatCount, formatTime } from "../format.ts";
import { now } from "../state.ts";
import { Icon, type IconName } from "./icons.tsx";

/** A titled region of a page. */
export function Panel(props: {
  title: string;
  /** Small text beside the title. */
  note?: ComponentChildren;
  actions?: ComponentChildren;
  class?: string;
  flush?: boolean;
  children: ComponentChildren;
}): JSX.Element {
  const id = useId();
  return (
    <section class={`panel ${props.class ?? ""}`} aria-labelledby={id}>
      <header class="panel-head">
        <h2 id={id}>{props.title}</h2>
        {props.note !== undefined && <span class="panel-note">{props.note}</span>}
        {props.actions !== undefined && <div class="panel-actions">{props.actions}</div>}
      </header>
      <div class={props.flush ? "panel-body flush" : "panel-body"}>{props.children}</div>
    </section>
  );
}

/** Says that something is on its way. */
export function Loading(props: { what?: string; lines?: number }): JSX.Element {
  return (
    <div class="loading" role="status">
      <span class="hidden-text">Loading {props.what ?? ""}…</span>
      {Array.from({ length: props.lines ?? 3 }, (_, line) => (
        <span class="skeleton" key={line} aria-hidden="true" />
      ))}
    </div>
  );
}

/** Says what went wrong and what can be done. */
export function Failure(props: { error: ApiError; retry?: () => void }): JSX.Element {
  const { error } = props;
  return (
    <div class="notice bad" role="alert">
      <Icon name="warning" />
      <div>
        <p>
          <strong>{error.message}</strong>
        </p>
        {error.hint && <p>{error.hint}</p>}
        {error.problems.length > 0 && (
          <ul class="problems">
            {error.problems.map((problem) => (
              <li key={`${problem.key} ${problem.message}`}>
                {problem.key && <code>{problem.key}</code>} {problem.message}
              </li>
            ))}
          </ul>
        )}
        {props.retry && (
          <button type="button" class="button small" onClick={props.retry}>
            Try again
          </button>
        )}
      </div>
    </div>
  );
}

/** Something to read, good or to be careful about. */
export function Notice(props: { kind?: "info" | "good" | "warn"; children: ComponentChildren }): JSX.Element {
  const kind = props.kind ?? "info";
  return (
    <div class={`notice ${kind}`} role="status">
      <Icon name={kind === "good" ? "check" : kind === "warn" ? "warning" : "info"} />
      <div>{props.children}</div>
    </div>
  );
}

/** What stands where there is nothing yet, and how there could be something. */
export function Empty(props: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{props.title}</p>
      {props.children && <div class="empty-text">{props.children}</div>}
    </div>
  );
}

const stateTones: Record<CrawlState, string> = {
  running: "good",
  paused: "warn",
  stopping: "warn",
  stopped: "quiet",
  finished: "accent",
  failed: "bad",
};

/** The state of a crawl. */
export function StatePill(props: { state: CrawlState }): JSX.Element {
  return <span class={`pill ${stateTones[props.state] ?? "quiet"}`}>{props.state}</span>;
}

/** A small label. */
export function Chip(props: { tone?: string; title?: string; children: ComponentChildren }): JSX.Element {
  return (
    <span class={`chip ${props.tone ?? ""}`} title={props.title}>
      {props.children}
    </span>
  );
}

/** A bar from none to all. */
export function Meter(props: { share: number; label: string; tone?: string }): JSX.Element {
  const share = Number.isFinite(props.share) ? Math.min(1, Math.max(0, props.share)) : 0;
  return (
    <span
      class={`meter ${props.tone ?? ""}`}
      role="meter"
      aria-label={props.label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share * 100)}
    >
      <span class="meter-fill" style={{ width: `${(share * 100).toFixed(1)}%` }} />
    </span>
  );
}

/** A moment as "12 s ago", exact when pointed at. */
export function Ago(props: { time: string | null | undefined }): JSX.Element {
  if (!props.time) return <span class="muted">–</span>;
  return (
    <time dateTime={props.time} title={formatTime(props.time)}>
      {formatAgo(props.time, now.value)}
    </time>
  );
}

/** A button with an icon. */
export function Action(props: {
  icon?: IconName;
  label: string;
  onClick: () => void;
  disabled?: boolean;
  /** Why it is disabled, shown when pointed at. */
  reason?: string | null;
  primary?: boolean;
  danger?: boolean;
  small?: boolean;
  iconOnly?: boolean;
}): JSX.Element {
  const tones = `${props.primary ? "primary" : ""} ${props.danger ? "danger" : ""} ${props.small ? "small" : ""} ${props.iconOnly ? "icon-only" : ""}`;
  return (
    <button
      type="button"
      class={`button ${tones}`}
      onClick={props.onClick}
      disabled={props.disabled ?? false}
      title={props.reason ?? (props.iconOnly ? props.label : undefined)}
      aria-label={props.iconOnly ? props.label : undefined}
    >
      {props.icon && <Icon name={props.icon} />}
      {!props.iconOnly && props.label}
    </button>
  );
}

/** Copies a text and says so. */
export function CopyButton(props: { text: string; label: string; iconOnly?: boolean }): JSX.Element {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () => {
    void navigator.clipboard?.writeText(props.text).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  };
  return (
    <Action
      small
      iconOnly={props.iconOnly ?? false}
      icon={copied ? "check" : "copy"}
      label={copied ? "Copied" : props.label}
      onClick={copy}
    />
  );
}

/** What ties a box to its label and its help. */
export interface FieldAttributes {
  id: string;
  "aria-describedby": string;
  "aria-invalid": boolean;
}

/** A labelled box with help below it, or with the problem in its place. */
export function Field(props: {
  label: string;
  help: ComponentChildren;
  problem?: string | null;
  /** The help changes while one types and should be heard. */
  live?: boolean;
  children: (attributes: FieldAttributes) => ComponentChildren;
}): JSX.Element {
  const id = useId();
  const help = `${id}-help`;
  return (
    <div class="field">
      <label class="field-label" for={id}>
        {props.label}
      </label>
      {props.children({ id, "aria-describedby": help, "aria-invalid": Boolean(props.problem) })}
      <span
        class={props.problem ? "field-help bad-text" : "field-help"}
        id={help}
        aria-live={props.live ? "polite" : undefined}
      >
        {props.problem || props.help}
      </span>
    </div>
  );
}

export interface Tab<Name extends string> {
  name: Name;
  label: string;
  count?: number | null;
}

/** Tabs as the ARIA practices describe them: arrows move, the panel belongs to the chosen one. */
export function Tabs<Name extends string>(props: {
  label: string;
  tabs: readonly Tab<Name>[];
  chosen: Name;
  onChoose: (name: Name) => void;
  children: ComponentChildren;
}): JSX.Element {
  const base = useId();
  const list = useRef<HTMLDivElement>(null);
  const move = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const place = props.tabs.findIndex((tab) => tab.name === props.chosen);
    const last = props.tabs.length - 1;
    const next =
      event.key === "ArrowRight"
        ? place === last
          ? 0
          : place + 1
        : event.key === "ArrowLeft"
          ? place === 0
            ? last
            : place - 1
          : event.key === "Home"
            ? 0
            : event.key === "End"
              ? last
              : null;
    const tab = next === null ? undefined : props.tabs[next];
    if (next === null || !tab) return;
    event.preventDefault();
    props.onChoose(tab.name);
    list.current?.querySelectorAll<HTMLButtonElement>("[role=tab]")[next]?.focus();
  };
  return (
    <div class="tabs">
      <div class="tab-list" role="tablist" aria-label={props.label} ref={list} onKeyDown={move}>
        {props.tabs.map((tab) => (
          <button
            key={tab.name}
            type="button"
            role="tab"
            id={`${base}-${tab.name}`}
            aria-selected={tab.name === props.chosen}
            aria-controls={`${base}-panel`}
            tabIndex={tab.name === props.chosen ? 0 : -1}
            onClick={() => props.onChoose(tab.name)}
          >
            {tab.label}
            {tab.count !== undefined && tab.count !== null && <span class="tab-count">{formatCount(tab.count)}</span>}
          </button>
        ))}
      </div>
      <div class="tab-panel" role="tabpanel" id={`${base}-panel`} aria-labelledby={`${base}-${props.chosen}`}>
        {props.children}
      </div>
    </div>
  );
}

/** A choice of a few values, shown side by side. */
export function Segments<Name extends string>(props: {
  label: string;
  options: readonly { value: Name; label: string }[];
  chosen: Name;
  onChoose: (value: Name) => void;
}): JSX.Element {
  return (
    <div class="segments" role="group" aria-label={props.label}>
      {props.options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === props.chosen}
          onClick={() => props.onChoose(option.value)}
        >
          {option.label}
        </button>
      ))}
    </div>
  );
}

/** A wide table in a frame of its own, which scrolls and can be reached by keyboard. */
export function TableFrame(props: { label: string; tall?: boolean; children: ComponentChildren }): JSX.Element {
  return (
    <div
      class={props.tall ? "table-frame tall" : "table-frame"}
      role="region"
      aria-label={`Table: ${props.label}`}
      tabIndex={0}
    >
      {props.children}
    </div>
  );
}

/** Where in a long list we are, and the way on. */
export function Pager(props: {
  offset: number;
  limit: number;
  total: number;
  exact?: boolean;
  onMove: (offset: number) => void;
}): JSX.Element | null {
  const { offset, limit, total } = props;
  if (total <= limit && offset === 0) return null;
  const last = Math.min(offset + limit, total);
  return (
    <nav class="pager" aria-label="Pages of this list">
      <Action
        small
        icon="left"
        label="Previous"
        disabled={offset === 0}
        onClick={() => props.onMove(Math.max(0, offset - limit))}
      />
      <span>
        {formatCount(offset + 1)}–{formatCount(last)} of {props.exact === false ? "about " : ""}
        {formatCount(total)}
      </span>
      <Action small icon="right" label="Next" disabled={last >= total} onClick={() => props.onMove(offset + limit)} />
    </nav>
  );
}

/** The title of a page, which takes the focus when the page is opened so that a screen reader says where it is. */
export function PageTitle(props: {
  children: ComponentChildren;
  note?: ComponentChildren;
  actions?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="page-title">
      <div class="page-title-text">
        <h1>{props.children}</h1>
        {props.note !== undefined && <div class="page-note">{props.note}</div>}
      </div>
      {props.actions !== undefined && <div class="page-actions">{props.actions}</div>}
    </div>
  );
}
