// SPARQL 1.1 cut into tokens, one line at a time, for highlighting and for completion. It never fails: what it does not know is "unknown".
// Only two things reach over lines, long strings of either quote; they are the state.

export type TokenKind =
  | "keyword"
  | "function"
  | "variable"
  | "iri"
  | "prefixed"
  | "blank"
  | "string"
  | "number"
  | "boolean"
  | "language"
  | "comment"
  | "operator"
  | "punctuation"
  | "unknown";

/** The long string we are in at the start of a line, or null. */
export type LineState = '"""' | "'''" | null;

export interface Token {
  kind: TokenKind;
  from: number;
  to: number;
  text: string;
}

/** Words of the grammar that are not functions. */
export const keywords: readonly string[] = (
  "ADD ALL AS ASC ASK BASE BIND BY CLEAR CONSTRUCT COPY CREATE DATA DEFAULT DELETE DESC DESCRIBE DISTINCT DROP EXISTS FILTER FROM " +
  "GRAPH GROUP HAVING IN INSERT INTO LIMIT LOAD MINUS MOVE NAMED NOT OFFSET OPTIONAL ORDER PREFIX REDUCED SELECT SEPARATOR SERVICE " +
  "SILENT TO UNDEF UNION USING VALUES WHERE WITH"
).split(" ");

/** Functions and aggregates. */
export const functions: readonly string[] = (
  "ABS AVG BNODE BOUND CEIL COALESCE CONCAT CONTAINS COUNT DATATYPE DAY ENCODE_FOR_URI FLOOR GROUP_CONCAT HOURS IF IRI ISBLANK ISIRI " +
  "ISLITERAL ISNUMERIC ISURI LANG LANGMATCHES LCASE MAX MD5 MIN MINUTES MONTH NOW RAND REGEX REPLACE ROUND SAMETERM SAMPLE SECONDS SHA1 " +
  "SHA256 SHA384 SHA512 STR STRAFTER STRBEFORE STRDT STRENDS STRLANG STRLEN STRSTARTS STRUUID SUBSTR SUM TIMEZONE TZ UCASE URI UUID YEAR"
).split(" ");

const keywordSet = new Set(keywords);
const functionSet = new Set(functions);

const patterns: [TokenKind, RegExp][] = [
  ["comment", /#.*/y],
  ["iri", /<[^\s<>"{}|^`\\]*>/y],
  ["variable", /[?$][\p{L}\p{N}_][\p{L}\p{N}_\u00b7\u0300-\u036f]*/uy],
  ["blank", /_:[\p{L}\p{N}_](?:[\p{L}\p{N}_.-]*[\p{L}\p{N}_-])?/uy],
  ["string", /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/y],
  ["language", /@[A-Za-z]+(?:-[A-Za-z0-9]+)*/y],
  ["number", /(?:\d+\.\d+|\.\d+|\d+)(?:[eE][+-]?\d+)?/y],
  [
    "prefixed",
    /(?:\p{L}(?:[\p{L}\p{N}_.-]*[\p{L}\p{N}_-])?)?:(?:[\p{L}\p{N}_:](?:(?:[\p{L}\p{N}_:.-]|%[0-9A-Fa-f]{2}|\\.)*(?:[\p{L}\p{N}_:-]|%[0-9A-Fa-f]{2}|\\.))?)?/uy,
  ],
  ["operator", /\^\^|&&|\|\||[!<>]=|[=<>!+*/^|?-]/y],
  ["punctuation", /[{}()[\].;,]/y],
];

/** The next token of a line, or null at its end. Blanks are skipped. */
export function nextToken(line: string, from: number, state: LineState): { token: Token; state: LineState } | null {
  if (state !== null) return longString(line, from, from, state);
  let start = from;
  while (start < line.length && /\s/.test(line[start] ?? "")) start += 1;
  if (start >= line.length) return null;
  const quotes = line.slice(start, start + 3);
  if (quotes === '"""' || quotes === "'''") return longString(line, start, start + 3, quotes);
  for (const [kind, pattern] of patterns) {
    pattern.lastIndex = start;
    const match = pattern.exec(line);
    if (match && match[0] !== "") return { token: token(line, kind, start, start + match[0].length), state: null };
  }
  const word = /[\p{L}_][\p{L}\p{N}_]*/uy;
  word.lastIndex = start;
  const match = word.exec(line);
  if (match) return { token: token(line, wordKind(match[0]), start, start + match[0].length), state: null };
  const width = String.fromCodePoint(line.codePointAt(start) ?? 32).length;
  return { token: token(line, "unknown", start, start + width), state: null };
}

function wordKind(word: string): TokenKind {
  if (word === "a") return "keyword";
  if (word === "true" || word === "false") return "boolean";
  const upper = word.toUpperCase();
  if (keywordSet.has(upper)) return "keyword";
  return functionSet.has(upper) ? "function" : "unknown";
}

function longString(
  line: string,
  start: number,
  inside: number,
  quotes: '"""' | "'''",
): { token: Token; state: LineState } | null {
  let place = inside;
  while (place < line.length) {
    if (line[place] === "\\") {
      place += 2;
    } else if (line.startsWith(quotes, place)) {
      return { token: token(line, "string", start, place + 3), state: null };
    } else {
      place += 1;
    }
  }
  if (start >= line.length) return null;
  return { token: token(line, "string", start, line.length), state: quotes };
}

function token(line: string, kind: TokenKind, from: number, to: number): Token {
  return { kind, from, to, text: line.slice(from, to) };
}

/** All tokens of a text, with places counted in the whole text. Comments are included. */
export function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let state: LineState = null;
  let offset = 0;
  for (const line of text.split("\n")) {
    let place = 0;
    for (;;) {
      const next = nextToken(line, place, state);
      if (!next) break;
      state = next.state;
      place = next.token.to;
      tokens.push({ ...next.token, from: next.token.from + offset, to: next.token.to + offset });
      if (place >= line.length) break;
    }
    offset += line.length + 1;
  }
  return tokens;
}
