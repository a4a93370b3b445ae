// A table of solutions seen as a graph: triples as they are, other tables by the columns that hold things.
import type { GraphLink, GraphNode } from "../api/types.ts";
import { type ResultTerm, type SolutionTable, termText } from "./results.ts";

export interface ResultGraph {
  nodes: GraphNode[];
  links: GraphLink[];
  cut: boolean;
}

const nodesMost = 120;

/**
 * Three columns of which the second is always an IRI are statements. Else the first column is linked to each other column that holds
 * things, by that column's name. Null when there is nothing to draw.
 */
export function tableGraph(table: SolutionTable): ResultGraph | null {
  const columns = table.variables.length;
  const triples = columns >= 3 && isStatement(table);
  if (!triples && columns < 2) return null;
  const nodes = new Map<string, GraphNode>();
  const links: GraphLink[] = [];
  let cut = false;
  const add = (term: ResultTerm | null): string | null => {
    if (!term || term.kind === "triple") return null;
    const id = nodeId(term);
    if (nodes.has(id)) return id;
    if (nodes.size >= nodesMost) {
      cut = true;
      return null;
    }
    nodes.set(id, { iri: id, label: term.kind === "iri" ? null : termText(term), kind: term.kind });
    return id;
  };
  for (const row of table.rows) {
    const first = row[0] ?? null;
    if (triples) {
      const predicate = row[1];
      const from = add(first);
      const to = add(row[2] ?? null);
      if (from && to && predicate?.kind === "iri") links.push({ from, to, predicate: predicate.value, label: null });
      continue;
    }
    if (first?.kind !== "iri" && first?.kind !== "blank") continue;
    for (let column = 1; column < columns; column += 1) {
      const other = row[column] ?? null;
      if (other?.kind !== "iri" && other?.kind !== "blank") continue;
      const from = add(first);
      const to = add(other);
      const name = table.variables[column] ?? "";
      if (from && to) links.push({ from, to, predicate: name, label: name });
    }
  }
  return links.length === 0 ? null : { nodes: [...nodes.values()], links, cut };
}

function isStatement(table: SolutionTable): boolean {
  return (
    table.rows.length > 0 &&
    table.rows.every(
      (row) => row[1]?.kind === "iri" && row[0] !== null && row[0]?.kind !== "literal" && row[2] !== null,
    )
  );
}

function nodeId(term: ResultTerm): string {
  if (term.kind === "iri") return term.value;
  if (term.kind === "literal") return `"${term.value}"@${term.language ?? ""}^${term.datatype ?? ""}`;
  return termText(term);
}
