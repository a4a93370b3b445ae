// Where in a query the cursor is: which prefixes and variables it has, and what kind of term would come next. All from tokens, so it also
// works while the query is unfinished.
import { type Token, tokenize } from "./tokenizer.ts";

export type Position = "subject" | "predicate" | "class" | "object" | "elsewhere";

/** The prefixes a query declares. */
export function declaredPrefixes(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  const tokens = significant(tokenize(text));
  tokens.forEach((token, place) => {
    const name = tokens[place + 1];
    const iri = tokens[place + 2];
    if (
      token.kind === "keyword" &&
      token.text.toUpperCase() === "PREFIX" &&
      name?.kind === "prefixed" &&
      iri?.kind === "iri"
    ) {
      found[name.text.slice(0, -1)] = iri.text.slice(1, -1);
    }
  });
  return found;
}

/** The variables a query uses, each once, without the mark. */
export function usedVariables(text: string): string[] {
  const names = tokenize(text)
    .filter((token) => token.kind === "variable")
    .map((token) => token.text.slice(1));
  return [...new Set(names)];
}

/** Keywords after which a new pattern begins (some after their parentheses, which are skipped). */
const betweenPatterns = new Set(["OPTIONAL", "UNION", "MINUS", "FILTER", "BIND", "EXISTS"]);

/** Whether a term stands in the given part of the text as subject, predicate or object; `text` is what stands before it. */
export function positionAfter(text: string): Position {
  const tokens = significant(tokenize(text));
  const terms: Token[] = [];
  let depth = 0;
  /** A path (`a/b`) is one term: the part before a slash is not counted again. */
  let inPath = false;
  for (let place = tokens.length - 1; place >= 0; place -= 1) {
    const token = tokens[place];
    if (!token) break;
    if (token.kind === "punctuation") {
      if (token.text === ")") {
        depth += 1;
        continue;
      }
      if (token.text === "(") {
        if (depth === 0) return "elsewhere";
        depth -= 1;
        continue;
      }
      if (depth > 0) continue;
      if (token.text === ";" || token.text === "[") return after(terms, 1);
      if (token.text === ",") return "object";
      return token.text === "{" || token.text === "}" || token.text === "." ? after(terms, 0) : "elsewhere";
    }
    if (depth > 0) continue;
    if (token.kind === "operator") {
      inPath ||= token.text === "/" || token.text === "|";
      continue;
    }
    if (token.kind === "function") continue;
    if (token.kind === "keyword" && token.text !== "a") {
      const word = token.text.toUpperCase();
      return betweenPatterns.has(word) ? after(terms, 0) : "elsewhere";
    }
    if (inPath) inPath = false;
    else terms.unshift(token);
  }
  return "elsewhere";
}

function after(terms: readonly Token[], already: number): Position {
  const count = terms.length + already;
  if (count === 0) return "subject";
  if (count === 1) return "predicate";
  if (count === 2) {
    const predicate = terms[terms.length - 1];
    const isType =
      predicate?.text === "a" ||
      predicate?.text === "rdf:type" ||
      predicate?.text === "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>";
    return isType ? "class" : "object";
  }
  return "elsewhere";
}

/** The kind of query, by its first word that is one. */
export function queryForm(text: string): "select" | "ask" | "construct" | "describe" | "update" | "unknown" {
  for (const token of tokenize(text)) {
    if (token.kind !== "keyword") continue;
    const word = token.text.toUpperCase();
    if (word === "SELECT") return "select";
    if (word === "ASK") return "ask";
    if (word === "CONSTRUCT") return "construct";
    if (word === "DESCRIBE") return "describe";
    if (["INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "WITH"].includes(word))
      return "update";
  }
  return "unknown";
}

function significant(tokens: readonly Token[]): Token[] {
  return tokens.filter((token) => token.kind !== "comment");
}
