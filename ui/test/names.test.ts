// Short names of IRIs.
import { expect, test } from "vitest";
import { vocabularyName } from "../src/pages/sites.tsx";
import { compact, learnPrefixes, localName, nameOf, prefixes } from "../src/names.ts";

test("a known namespace becomes a prefix", () => {
  expect(compact("http://schema.org/name")).toBe("schema:name");
  expect(compact("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")).toBe("rdf:type");
});

test("only plain names are shortened, so that the short form is valid SPARQL", () => {
  expect(compact("http://schema.org/")).toBeNull();
  expect(compact("http://schema.org/a/b")).toBeNull();
  expect(compact("http://schema.org/a.")).toBeNull();
  expect(compact("http://schema.org/a.b")).toBe("schema:a.b");
});

test("the longest namespace wins, and common prefixes keep their meaning", () => {
  learnPrefixes([
    { prefix: "s2", namespace: "http://schema.org/sub#" },
    { prefix: "foaf", namespace: "http://evil.example/" },
    { prefix: "", namespace: "http://example.org/" },
  ]);
  expect(compact("http://schema.org/sub#x")).toBe("s2:x");
  expect(prefixes.value["foaf"]).toBe("http://xmlns.com/foaf/0.1/");
  expect(compact("http://evil.example/x")).toBeNull();
});

test("vocabularies by prefix, or by where they are", () => {
  expect(vocabularyName("http://schema.org/")).toBe("schema");
  expect(vocabularyName("http://www.w3.org/ns/rdfa#")).toBe("www.w3.org/ns/rdfa");
  expect(vocabularyName("dcterms")).toBe("dcterms");
});

test("the last part of an IRI, decoded when it can be", () => {
  expect(localName("https://example.org/people/Ada%20Thornfield")).toBe("Ada Thornfield");
  expect(localName("https://example.org/people/")).toBe("people");
  expect(localName("https://example.org/100%")).toBe("100%");
  expect(nameOf("urn:isbn:12", null)).toBe("12");
  expect(nameOf("urn:isbn:12", "A book")).toBe("A book");
});
