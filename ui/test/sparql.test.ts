// The tokenizer, the completion and what the cursor stands in.
import { expect, test } from "vitest";
import type { Vocabulary } from "../src/api/types.ts";
import { propose } from "../src/sparql/complete.ts";
import { declaredPrefixes, positionAfter, queryForm, usedVariables } from "../src/sparql/context.ts";
import { tokenize } from "../src/sparql/tokenizer.ts";

function kinds(text: string): string {
  return tokenize(text)
    .map((token) => `${token.kind}:${token.text}`)
    .join(" ");
}

test.each([
  [
    "SELECT ?x WHERE { ?x a schema:Person }",
    "keyword:SELECT variable:?x keyword:WHERE punctuation:{ variable:?x keyword:a prefixed:schema:Person punctuation:}",
  ],
  [
    "filter(?a < 3 && ?b >= -1.5e3)",
    "keyword:filter punctuation:( variable:?a operator:< number:3 operator:&& variable:?b operator:>= operator:- number:1.5e3 punctuation:)",
  ],
  ["<http://a/b> <x", "iri:<http://a/b> operator:< unknown:x"],
  ['"a\\"b"@en-GB "1"^^xsd:int', 'string:"a\\"b" language:@en-GB string:"1" operator:^^ prefixed:xsd:int'],
  [
    "_:b0 [] :local ex:a.b. ex:",
    "blank:_:b0 punctuation:[ punctuation:] prefixed::local prefixed:ex:a.b punctuation:. prefixed:ex:",
  ],
  ["?x ex:p 1.", "variable:?x prefixed:ex:p number:1 punctuation:."],
  ["# all of it <a> ?x", "comment:# all of it <a> ?x"],
  [
    "count(*) COUNT Strlen true",
    "function:count punctuation:( operator:* punctuation:) function:COUNT function:Strlen boolean:true",
  ],
  ["ex:a%20b ex:a\\,b", "prefixed:ex:a%20b prefixed:ex:a\\,b"],
  ["§ 🧵", "unknown:§ unknown:🧵"],
])("tokens of %s", (text, expected) => expect(kinds(text)).toBe(expected));

test("long strings reach over lines", () => {
  const tokens = tokenize('?a """one\n"two" ?x\nthree""" ?b');
  expect(tokens.map((token) => token.kind)).toEqual(["variable", "string", "string", "string", "variable"]);
  expect(tokens.at(-1)).toMatchObject({ text: "?b", from: 28 });
});

test("every text is cut without loss and without end", () => {
  const letters = [
    '"',
    "'",
    "<",
    ">",
    "?",
    "#",
    "\\",
    ":",
    "_",
    " ",
    "\n",
    "a",
    "1",
    ".",
    "{",
    "@",
    "^",
    "ü",
    "\ud83e",
  ];
  let seed = 11;
  for (let round = 0; round < 400; round += 1) {
    let text = "";
    for (let place = 0; place < 30; place += 1) {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      text += letters[seed % letters.length] ?? "";
    }
    let last = 0;
    for (const token of tokenize(text)) {
      expect(token.from).toBeGreaterThanOrEqual(last);
      expect(token.to).toBeGreaterThan(token.from);
      expect(text.slice(token.from, token.to)).toBe(token.text);
      expect(text.slice(last, token.from).trim()).toBe("");
      last = token.to;
    }
    expect(text.slice(last).trim()).toBe("");
  }
});

test("prefixes and variables of a query", () => {
  const text = 'PREFIX ex: <http://e/> prefix : <http://d/>\nSELECT ?a $b { ?a ex:p "PREFIX no: <x>" } # PREFIX c: <y>';
  expect(declaredPrefixes(text)).toEqual({ ex: "http://e/", "": "http://d/" });
  expect(usedVariables(text)).toEqual(["a", "b"]);
});

test.each([
  ["SELECT ?x { ", "subject"],
  ["SELECT ?x { ?x ", "predicate"],
  ["SELECT ?x { ?x a ", "class"],
  ["SELECT ?x { ?x rdf:type ", "class"],
  ["SELECT ?x { ?x ex:p ", "object"],
  ["SELECT ?x { ?x ex:p ?y ; ", "predicate"],
  ["SELECT ?x { ?x ex:p ?y ; a ", "class"],
  ["SELECT ?x { ?x ex:p ?y , ", "object"],
  ["SELECT ?x { ?x ex:p ?y . ", "subject"],
  ["SELECT ?x { ?x ex:p/^ex:q* ", "object"],
  ["SELECT ?x { ?x ex:p [ ", "predicate"],
  ["SELECT ?x { OPTIONAL { ?x ", "predicate"],
  ["SELECT ?x { FILTER(?x ", "elsewhere"],
  ["SELECT ?x { FILTER(?x > 3) ?y ", "predicate"],
  ['SELECT ?x { FILTER regex(?x, "a") ?y a ', "class"],
  ["SELECT ?x { BIND(1 AS ?y) ", "subject"],
  ["SELECT ?x { # ?y ex:p\n ?x ", "predicate"],
  ["SELECT ", "elsewhere"],
  ["", "elsewhere"],
])("after %s comes a %s", (text, position) => {
  expect(positionAfter(text)).toBe(position);
});

test.each([
  ["SELECT * {}", "select"],
  ["# SELECT\nPREFIX select: <x>\nASK {}", "ask"],
  ["construct where {}", "construct"],
  ["DESCRIBE <x>", "describe"],
  ["PREFIX a: <b> INSERT DATA {}", "update"],
  ["DELETE { } WHERE { SELECT * {} }", "update"],
  ["hello", "unknown"],
])("the form of %s", (text, form) => expect(queryForm(text)).toBe(form));

const vocabulary: Vocabulary = {
  prefixes: [{ prefix: "schema", namespace: "http://schema.org/", count: 10 }],
  predicates: [
    { iri: "http://schema.org/name", count: 1200 },
    { iri: "http://odd.example/a b", count: 1 },
  ],
  classes: [{ iri: "http://schema.org/Person", count: 7 }],
};
const known = { schema: "http://schema.org/" };

function labels(text: string, explicit = false): string[] {
  return propose(text, text.length, vocabulary, known, explicit)?.proposals.map((proposal) => proposal.label) ?? [];
}

test("predicates of the store where a predicate stands, classes after a", () => {
  expect(labels("SELECT ?x { ?x sch")).toContain("schema:name");
  expect(labels("SELECT ?x { ?x sch")).not.toContain("schema:Person");
  expect(labels("SELECT ?x { ?x a schema:P")).toContain("schema:Person");
  expect(labels("SELECT ?x { ?x a schema:P")).not.toContain("schema:name");
  expect(labels("SELECT ?x { ?x <http")).toContain("<http://schema.org/name>");
});

test("a proposal brings the prefix it needs, unless it is declared", () => {
  const find = (text: string) =>
    propose(text, text.length, vocabulary, known, false)?.proposals.find(
      (proposal) => proposal.label === "schema:name",
    );
  expect(find("SELECT ?x { ?x n")?.needs).toEqual({ prefix: "schema", namespace: "http://schema.org/" });
  expect(find("PREFIX schema: <http://schema.org/> SELECT ?x { ?x n")?.needs).toBeNull();
});

test("variables, prefixes and keywords", () => {
  expect(labels("SELECT ?name ?other { ?n")).toEqual(["?name", "?other"]);
  expect(labels("PREFIX sch")).toEqual(["schema: <http://schema.org/>"]);
  expect(labels("SEL")).toContain("SELECT");
  expect(labels("SELECT * { ?x ex:p ?y } ")).toEqual([]);
  expect(labels("SELECT * { ?x ex:p ?y } ", true)).toContain("LIMIT");
});
