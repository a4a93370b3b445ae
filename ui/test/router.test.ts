// Addresses are read and written without loss.
import { expect, test } from "vitest";
import { address } from "../src/api/client.ts";
import { hrefTo, parseRoute, sticky, tokenIn } from "../src/router.ts";

test("an empty address is the crawl", () => {
  for (const hash of ["", "#", "#/", "#/crawl", "#/crawl/"]) expect(parseRoute(hash).name).toBe("crawl");
});

test("an unknown address says so", () => {
  const route = parseRoute("#/nowhere/at/all?x=1");
  expect(route.name).toBe("unknown");
  expect(route.path).toBe("nowhere/at/all");
});

test("what is written is read again", () => {
  const href = hrefTo("search", {
    q: "a & b = c # ü?",
    type: ["http://schema.org/Person", "urn:x"],
    offset: 20,
    empty: "",
    none: null,
    no: false,
  });
  const { name, parameters } = parseRoute(href);
  expect(name).toBe("search");
  expect(parameters.get("q")).toBe("a & b = c # ü?");
  expect(parameters.getAll("type")).toEqual(["http://schema.org/Person", "urn:x"]);
  expect(parameters.get("offset")).toBe("20");
  expect([...parameters.keys()]).toEqual(["q", "type", "type", "offset"]);
});

test("queries with question marks and newlines survive", () => {
  const query = 'SELECT ?s WHERE {\n  ?s ?p "a?b&c" # comment\n}';
  expect(parseRoute(hrefTo("query", { q: query })).parameters.get("q")).toBe(query);
});

test("the crawl that was chosen stays chosen", () => {
  sticky.crawl = "second";
  expect(hrefTo("thing", { iri: "urn:x" })).toBe("#/thing?crawl=second&iri=urn%3Ax");
  expect(hrefTo("crawl", { crawl: "main" })).toBe("#/crawl?crawl=main");
  expect(address("/api/search", { q: "x" })).toBe("./api/search?crawl=second&q=x");
  expect(address("/api/crawls/main")).toBe("./api/crawls/main");
  expect(address("/api/status")).toBe("./api/status");
  sticky.crawl = null;
});

test("only a token address has a token", () => {
  expect(tokenIn("#token=abc-123_%2B")).toBe("abc-123_+");
  expect(tokenIn("#/search?q=token=abc")).toBeNull();
  expect(tokenIn("")).toBeNull();
});
