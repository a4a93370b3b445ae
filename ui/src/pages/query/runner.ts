// Asks the SPARQL endpoint: one query at a time, with its time limit, and what comes back as data to show.
import { address, send } from "../../api/client.ts";
import { queryForm } from "../../sparql/context.ts";
import { parseJsonResults, parseTriples, type SolutionTable } from "../../sparql/results.ts";

export type Outcome =
  | {
      kind: "table";
      table: SolutionTable;
      text: string;
      form: "select" | "graph";
      unread: number;
      milliseconds: number;
      bytes: number;
    }
  | { kind: "boolean"; value: boolean; text: string; milliseconds: number; bytes: number }
  | { kind: "done"; text: string; milliseconds: number; bytes: number };

export interface DownloadFormat {
  label: string;
  accept: string;
  extension: string;
}

/** The formats solutions can be taken along in. */
export const tableFormats: DownloadFormat[] = [
  { label: "CSV", accept: "text/csv", extension: "csv" },
  { label: "TSV", accept: "text/tab-separated-values", extension: "tsv" },
  { label: "JSON", accept: "application/sparql-results+json", extension: "srj" },
  { label: "XML", accept: "application/sparql-results+xml", extension: "srx" },
];

/** The formats a graph can be taken along in. */
export const graphFormats: DownloadFormat[] = [
  { label: "Turtle", accept: "text/turtle", extension: "ttl" },
  { label: "N-Triples", accept: "application/n-triples", extension: "nt" },
  { label: "RDF/XML", accept: "application/rdf+xml", extension: "rdf" },
];

const tableAccept = "application/sparql-results+json";
const graphAccept = "application/n-triples";

/** The request for a query or an update. */
export function request(query: string, accept: string, seconds: number | null): { url: string; init: RequestInit } {
  const update = queryForm(query) === "update";
  const headers: Record<string, string> = {
    Accept: accept,
    "Content-Type": update ? "application/sparql-update" : "application/sparql-query",
  };
  if (seconds !== null) headers["Webloom-Timeout"] = String(seconds);
  return { url: address("/sparql"), init: { method: "POST", headers, body: query } };
}

/** Runs a query. */
export async function run(query: string, seconds: number | null, abort: AbortSignal): Promise<Outcome> {
  const form = queryForm(query);
  const graph = form === "construct" || form === "describe";
  const started = performance.now();
  const { url, init } = request(query, graph ? graphAccept : `${tableAccept}, */*;q=0.1`, seconds);
  const response = await send(url, { ...init, signal: abort });
  const text = await response.text();
  const measured = { text, milliseconds: performance.now() - started, bytes: new Blob([text]).size };
  if (graph) {
    const { table, unread } = parseTriples(text);
    return { kind: "table", table, form: "graph", unread, ...measured };
  }
  if (form === "update" || response.status === 204) return { kind: "done", ...measured };
  const result = parseJsonResults(text);
  return result.kind === "boolean"
    ? { kind: "boolean", value: result.value, ...measured }
    : { kind: "table", table: result, form: "select", unread: 0, ...measured };
}
