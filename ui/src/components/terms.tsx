// RDF terms as a reader wants them: a short name that links on, the literal as text (never as HTML), its language or type beside.
import type { JSX } from "preact";
import type { Term } from "../api/types.ts";
import { briefUrl, isWebAddress, shorten } from "../format.ts";
import { compact, nameOf } from "../names.ts";
import { hrefTo } from "../router.ts";
import { Icon } from "./icons.tsx";

const literalShown = 600;

/** A link to what is known of a thing. */
export function ThingLink(props: { iri: string; label?: string | null; long?: boolean }): JSX.Element {
  const text = props.label || compact(props.iri) || (props.long ? props.iri : shorten(briefUrl(props.iri), 60));
  return (
    <a class="thing-link" href={hrefTo("thing", { iri: props.iri })} title={props.iri}>
      {text}
    </a>
  );
}

/** A predicate by its short name. */
export function Predicate(props: { iri: string; label?: string | null }): JSX.Element {
  return (
    <a class="predicate" href={hrefTo("thing", { iri: props.iri })} title={props.iri}>
      {compact(props.iri) ?? nameOf(props.iri, props.label)}
    </a>
  );
}

/** A link to what is known of a crawled page. */
export function PageLink(props: { url: string; title?: string | null; length?: number }): JSX.Element {
  return (
    <a class="page-link" href={hrefTo("page", { url: props.url })} title={props.url}>
      {props.title || shorten(briefUrl(props.url), props.length ?? 70)}
    </a>
  );
}

/** A link out of the interface, only where the address is a web address. */
export function OutsideLink(props: { url: string; label?: string }): JSX.Element | null {
  if (!isWebAddress(props.url)) return null;
  return (
    <a
      class="outside"
      href={props.url}
      target="_blank"
      rel="noopener noreferrer nofollow"
      title="Open the address itself"
    >
      <Icon name="outside" />
      <span class={props.label ? "" : "hidden-text"}>{props.label ?? "Open the address itself"}</span>
    </a>
  );
}

/** Any term. */
export function TermView(props: { term: Term; page?: string }): JSX.Element {
  const { term } = props;
  if (term.kind === "iri") return <ThingLink iri={term.value} label={term.label ?? null} />;
  if (term.kind === "blank") {
    return (
      <span class="blank" title="a thing without a name of its own">
        {term.label || `_:${shorten(term.value.replace(/^_:/, ""), 18)}`}
      </span>
    );
  }
  const cut = term.value.length > literalShown;
  return (
    <span class="literal">
      <span class="literal-text" lang={term.language ?? undefined} dir="auto">
        {cut ? `${term.value.slice(0, literalShown)}…` : term.value}
      </span>
      <TermNote term={term} />
    </span>
  );
}

/** The language or type of a literal; plain strings have none. */
function TermNote(props: { term: Term }): JSX.Element | null {
  const { language, datatype } = props.term;
  if (language) return <span class="term-note">{language}</span>;
  if (!datatype || datatype.endsWith("XMLSchema#string")) return null;
  return (
    <span class="term-note" title={datatype}>
      {compact(datatype)?.replace(/^xsd:/, "") ?? nameOf(datatype)}
    </span>
  );
}
