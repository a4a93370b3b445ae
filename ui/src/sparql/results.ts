// Answers of the SPARQL endpoint: solution tables and booleans in the SPARQL JSON format, graphs in N-Triples. Text in, plain data out.

export type ResultTerm =
  | { kind: "iri"; value: string }
  | { kind: "blank"; value: string }
  | { kind: "literal"; value: string; language: string | null; datatype: string | null }
  | { kind: "triple"; subject: ResultTerm; predicate: ResultTerm; object: ResultTerm };

export interface SolutionTable {
  kind: "table";
  variables: string[];
  rows: (ResultTerm | null)[][];
}

export type QueryResult = SolutionTable | { kind: "boolean"; value: boolean };

const stringType = "http://www.w3.org/2001/XMLSchema#string";

/** Reads the SPARQL JSON format. Throws when it is something else. */
export function parseJsonResults(text: string): QueryResult {
  const document = JSON.parse(text) as unknown;
  if (!isObject(document)) throw new Error("the answer is no SPARQL result");
  if (typeof document["boolean"] === "boolean") return { kind: "boolean", value: document["boolean"] };
  const head = document["head"];
  const results = document["results"];
  const names = isObject(head) && Array.isArray(head["vars"]) ? head["vars"] : null;
  const bindings = isObject(results) && Array.isArray(results["bindings"]) ? results["bindings"] : null;
  if (!names || !bindings) throw new Error("the answer is no SPARQL result");
  const variables = names.filter((name): name is string => typeof name === "string");
  const rows = bindings.map((binding: unknown) =>
    variables.map((name) => (isObject(binding) ? readTerm(binding[name]) : null)),
  );
  return { kind: "table", variables, rows };
}

function readTerm(given: unknown): ResultTerm | null {
  if (!isObject(given)) return null;
  const { type, value } = given;
  if (type === "triple" && isObject(value)) {
    const subject = readTerm(value["subject"]);
    const predicate = readTerm(value["predicate"]);
    const object = readTerm(value["object"]);
    return subject && predicate && object ? { kind: "triple", subject, predicate, object } : null;
  }
  if (typeof value !== "string") return null;
  if (type === "uri" || type === "iri") return { kind: "iri", value };
  if (type === "bnode") return { kind: "blank", value };
  const language = typeof given["xml:lang"] === "string" ? given["xml:lang"] : null;
  const datatype = typeof given["datatype"] === "string" ? given["datatype"] : null;
  return { kind: "literal", value, language, datatype: language ? null : datatype };
}

/** Reads N-Triples (and N-Quads, whose graph is left out) as a table of subject, predicate, object. Lines that cannot be read are counted. */
export function parseTriples(text: string): { table: SolutionTable; unread: number } {
  const rows: (ResultTerm | null)[][] = [];
  let unread = 0;
  for (const line of text.split(/\r\n|\n|\r/)) {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#")) continue;
    const cursor = { line: trimmed, place: 0 };
    const subject = readLineTerm(cursor, 0);
    const predicate = readLineTerm(cursor, 0);
    const object = readLineTerm(cursor, 0);
    if (subject && predicate && object) rows.push([subject, predicate, object]);
    else unread += 1;
  }
  return { table: { kind: "table", variables: ["subject", "predicate", "object"], rows }, unread };
}

interface Cursor {
  line: string;
  place: number;
}

const nestingMost = 8;

function readLineTerm(cursor: Cursor, depth: number): ResultTerm | null {
  skipBlanks(cursor);
  const { line, place } = cursor;
  if (line.startsWith("<<", place)) {
    if (depth >= nestingMost) return null;
    const open = line.startsWith("<<(", place) ? "<<(" : "<<";
    cursor.place += open.length;
    const subject = readLineTerm(cursor, depth + 1);
    const predicate = readLineTerm(cursor, depth + 1);
    const object = readLineTerm(cursor, depth + 1);
    skipBlanks(cursor);
    const close = open === "<<(" ? ")>>" : ">>";
    if (!subject || !predicate || !object || !cursor.line.startsWith(close, cursor.place)) return null;
    cursor.place += close.length;
    return { kind: "triple", subject, predicate, object };
  }
  const iri = sticky(/<([^>]*)>/y, cursor);
  if (iri) return { kind: "iri", value: unescape(iri[1] ?? "") };
  const blank = sticky(/_:(\S+)/y, cursor);
  if (blank) return { kind: "blank", value: blank[1] ?? "" };
  const literal = sticky(/"((?:[^"\\]|\\.)*)"(?:@([A-Za-z]+(?:-[A-Za-z0-9-]+)*)|\^\^<([^>]*)>)?/y, cursor);
  if (!literal) return null;
  const datatype = literal[3] === undefined ? null : unescape(literal[3]);
  return {
    kind: "literal",
    value: unescape(literal[1] ?? ""),
    language: literal[2] ?? null,
    datatype: datatype === stringType ? null : datatype,
  };
}

function sticky(pattern: RegExp, cursor: Cursor): RegExpExecArray | null {
  pattern.lastIndex = cursor.place;
  const match = pattern.exec(cursor.line);
  if (match) cursor.place += match[0].length;
  return match;
}

function skipBlanks(cursor: Cursor): void {
  while (cursor.line[cursor.place] === " " || cursor.line[cursor.place] === "\t") cursor.place += 1;
}

const escapes: Record<string, string> = { t: "\t", b: "\b", n: "\n", r: "\r", f: "\f" };

function unescape(text: string): string {
  return text.replaceAll(
    /\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))/g,
    (whole, short?: string, long?: string, letter?: string) => {
      const hex = short ?? long;
      if (hex !== undefined) {
        const point = Number.parseInt(hex, 16);
        return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
      }
      return letter === undefined ? whole : (escapes[letter] ?? letter);
    },
  );
}

/** A term as a line of text, for copying and for plots. */
export function termText(term: ResultTerm | null): string {
  if (!term) return "";
  if (term.kind === "blank") return `_:${term.value}`;
  if (term.kind === "triple")
    return `<< ${termText(term.subject)} ${termText(term.predicate)} ${termText(term.object)} >>`;
  return term.value;
}

const numericTypes =
  /XMLSchema#(?:integer|decimal|double|float|int|long|short|byte|unsigned\w+|nonNegativeInteger|positiveInteger|nonPositiveInteger|negativeInteger)$/;
const timeTypes = /XMLSchema#(?:dateTime|date|gYear|gYearMonth)$/;

/** The number a literal stands for, or null. */
export function termNumber(term: ResultTerm | null): number | null {
  if (term?.kind !== "literal" || term.language) return null;
  if (term.datatype && !numericTypes.test(term.datatype)) return null;
  const value = term.value.trim() === "" ? Number.NaN : Number(term.value);
  return Number.isFinite(value) ? value : null;
}

/** The moment a literal stands for, in milliseconds, or null. */
export function termMoment(term: ResultTerm | null): number | null {
  if (term?.kind !== "literal" || !term.datatype || !timeTypes.test(term.datatype)) return null;
  const value = Date.parse(term.value);
  return Number.isNaN(value) ? null : value;
}

export type ColumnKind = "number" | "time" | "text";

/** What a column holds, judged by its first values. */
export function columnKind(table: SolutionTable, column: number): ColumnKind {
  const sample = table.rows
    .slice(0, 200)
    .map((row) => row[column] ?? null)
    .filter((term) => term !== null);
  if (sample.length === 0) return "text";
  if (sample.every((term) => termNumber(term) !== null)) return "number";
  return sample.every((term) => termMoment(term) !== null) ? "time" : "text";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
