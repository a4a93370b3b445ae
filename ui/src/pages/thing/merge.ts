// Statements of many pages put together: each property once, each value once, with the pages that say it.
import type { SourceStatements, Term } from "../../api/types.ts";

export interface MergedValue {
  term: Term;
  pages: string[];
}

export interface MergedProperty {
  predicate: string;
  predicate_label: string | null;
  values: MergedValue[];
}

/** Puts them together; properties and values keep the order in which they were first met, values said by more pages come first. */
export function mergeStatements(sources: readonly SourceStatements[]): MergedProperty[] {
  const properties = new Map<string, { label: string | null; values: Map<string, MergedValue> }>();
  for (const source of sources) {
    for (const property of source.properties) {
      let merged = properties.get(property.predicate);
      if (!merged) {
        merged = { label: property.predicate_label, values: new Map() };
        properties.set(property.predicate, merged);
      }
      for (const term of property.values) {
        // Blank nodes of different pages are never the same.
        const scope = term.kind === "blank" ? source.page : "";
        const key = [term.kind, term.value, term.language ?? "", term.datatype ?? "", scope].join("\n");
        const value = merged.values.get(key);
        if (!value) merged.values.set(key, { term, pages: [source.page] });
        else if (!value.pages.includes(source.page)) value.pages.push(source.page);
      }
    }
  }
  return [...properties].map(([predicate, { label, values }]) => ({
    predicate,
    predicate_label: label,
    values: [...values.values()].sort((left, right) => right.pages.length - left.pages.length),
  }));
}
