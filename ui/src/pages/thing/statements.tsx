// The statements about a thing, in two arrangements: a card for each page that says something, or all pages together.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { PropertyValues, SourceStatements, Term, Thing } from "../../api/types.ts";
import { Ago, Chip } from "../../components/basics.tsx";
import { PageLink, Predicate, TermView } from "../../components/terms.tsx";
import { hostOf, plural } from "../../format.ts";
import { mergeStatements } from "./merge.ts";

const valuesShown = 8;

/** By page. */
export function SourceList(props: { thing: Thing }): JSX.Element {
  return (
    <>
      {props.thing.statements.map((source) => (
        <Source key={source.page} source={source} />
      ))}
    </>
  );
}

function Source(props: { source: SourceStatements }): JSX.Element {
  const { source } = props;
  return (
    <article class="source-card" aria-label={`Said by ${source.page}`}>
      <header>
        <PageLink url={source.page} title={source.page_title} />
        <span class="source-meta">
          {hostOf(source.page)} · fetched <Ago time={source.fetched_at} />
          {source.syntaxes.map((syntax) => (
            <Chip key={syntax}>{syntax}</Chip>
          ))}
        </span>
      </header>
      <table class="properties">
        <caption class="hidden-text">Statements on {source.page}</caption>
        <Columns />
        <tbody>
          {source.properties.map((property) => (
            <Property key={property.predicate} property={property} />
          ))}
        </tbody>
      </table>
    </article>
  );
}

/** The widths are said here: hidden captions count as a first row, which a fixed layout would measure. */
function Columns(): JSX.Element {
  return (
    <colgroup>
      <col class="property-column" />
      <col />
    </colgroup>
  );
}

function Property(props: { property: PropertyValues }): JSX.Element {
  const { property } = props;
  return (
    <tr>
      <th scope="row">
        <Predicate iri={property.predicate} label={property.predicate_label} />
      </th>
      <td>
        <Values values={property.values.map((term) => ({ term, pages: [] }))} />
      </td>
    </tr>
  );
}

function Values(props: { values: { term: Term; pages: string[] }[] }): JSX.Element {
  const [all, setAll] = useState(false);
  const shown = all ? props.values : props.values.slice(0, valuesShown);
  return (
    <>
      <ul class="values">
        {shown.map(({ term, pages }, place) => (
          <li key={place}>
            <TermView term={term} />
            {pages.length > 1 && (
              <span class="term-note" title={pages.join("\n")}>
                {plural(pages.length, "page")}
              </span>
            )}
          </li>
        ))}
      </ul>
      {props.values.length > shown.length && (
        <button type="button" class="link-button" onClick={() => setAll(true)}>
          {props.values.length - shown.length} more
        </button>
      )}
    </>
  );
}

/** All pages together. */
export function MergedStatements(props: { thing: Thing }): JSX.Element {
  return (
    <div class="source-card">
      <table class="properties">
        <caption class="hidden-text">Statements of all pages</caption>
        <Columns />
        <tbody>
          {mergeStatements(props.thing.statements).map((property) => (
            <tr key={property.predicate}>
              <th scope="row">
                <Predicate iri={property.predicate} label={property.predicate_label} />
              </th>
              <td>
                <Values values={property.values} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
