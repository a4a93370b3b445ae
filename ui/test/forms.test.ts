// What forms make of what is typed: specifications, filters, limits, URLs; and what pages make of answers.
import { expect, test } from "vitest";
import type { RecentPage, SourceStatements } from "../src/api/types.ts";
import { mergePages } from "../src/hooks.ts";
import { judge, splitLines } from "../src/pages/crawl/filtersform.tsx";
import { readLimits } from "../src/pages/crawl/limitsform.tsx";
import { emptyForm, quote, toToml } from "../src/pages/crawl/specification.ts";
import { readUrls } from "../src/pages/crawl/urlsform.tsx";
import { cutHighlights } from "../src/pages/search.tsx";
import { mergeStatements } from "../src/pages/thing/merge.ts";

test("a specification says only what differs", () => {
  expect(toToml({ ...emptyForm, seeds: ["https://example.org/"] })).toBe('seeds = ["https://example.org/"]\n');
  const full = toToml({
    seeds: ["https://a.example/", "https://b.example/"],
    within: "anywhere",
    include: ["/blog/\\d+"],
    exclude: [],
    maxPages: " 100 ",
    maxDepth: "no",
    delay: "2s",
    contact: 'me "the" crawler',
    allowPrivate: true,
  });
  expect(full).toBe(
    [
      "seeds = [",
      '    "https://a.example/",',
      '    "https://b.example/",',
      "]",
      "",
      "[scope]",
      'within = "anywhere"',
      'include = ["/blog/\\\\d+"]',
      "max_pages = 100",
      "",
      "[politeness]",
      'delay = "2s"',
      'contact = "me \\"the\\" crawler"',
      "",
      "[fetch]",
      "allow_private = true",
      "",
    ].join("\n"),
  );
});

test("nothing typed can break out of a TOML string", () => {
  expect(quote('a"\\\n\u0000\u007f')).toBe('"a\\"\\\\\\u000A\\u0000\\u007F"');
});

test("filters are judged as the crawler does", () => {
  const filters = { include: ["/blog/"], exclude: ["\\?sort="] };
  expect(judge("https://e/blog/1", filters)?.follows).toBe(true);
  expect(judge("https://e/blog/1?sort=a", filters)).toEqual({ follows: false, because: "excluded by \\?sort=" });
  expect(judge("https://e/about", filters)?.follows).toBe(false);
  expect(judge("https://e/about", { include: [], exclude: [] })?.follows).toBe(true);
  expect(judge("https://e/", { include: ["("], exclude: [] })).toBeNull();
  expect(splitLines(" a \n\n b\r\n")).toEqual(["a", "b"]);
});

test("limits are whole numbers or nothing", () => {
  const texts = {
    delay_ms: "500",
    domain_delay_ms: "",
    max_pages: "1e3",
    max_depth: "-1",
    max_pages_per_host: " 7 ",
    bandwidth_bytes_per_second: "0",
  };
  const { limits, problems } = readLimits(texts);
  expect(limits).toEqual({
    delay_ms: 500,
    domain_delay_ms: null,
    max_pages: null,
    max_depth: null,
    max_pages_per_host: 7,
    bandwidth_bytes_per_second: 0,
  });
  expect(Object.keys(problems)).toEqual(["max_pages", "max_depth"]);
});

test("URLs with scores, or banned", () => {
  expect(readUrls("https://a/ 0.9\nhttps://b/\nhttps://c/ high", false)).toEqual([
    { url: "https://a/", score: 0.9 },
    { url: "https://b/" },
    { url: "https://c/" },
  ]);
  expect(readUrls("https://a/ 0.9", true)).toEqual([{ url: "https://a/", blacklisted: true }]);
});

test("highlights cut the text, senseless ones do nothing", () => {
  expect(cutHighlights("a loom here", [[2, 6]])).toEqual([
    { text: "a ", marked: false },
    { text: "loom", marked: true },
    { text: " here", marked: false },
  ]);
  const text = "<b>x</b>";
  for (const bad of [[[5, 2]], [[0, 99]], [[-1, 2]], [[Number.NaN, 3]]] as [number, number][][]) {
    expect(cutHighlights(text, bad)).toEqual([{ text, marked: false }]);
  }
  expect(
    cutHighlights("abcd", [
      [2, 4],
      [0, 3],
      [0, 2],
    ])
      .map((piece) => piece.text)
      .join(""),
  ).toBe("abcd");
});

test("statements of several pages come together", () => {
  const source = (page: string, value: string): SourceStatements => ({
    page,
    page_title: null,
    fetched_at: null,
    syntaxes: [],
    properties: [
      {
        predicate: "p",
        predicate_label: null,
        values: [
          { kind: "literal", value },
          { kind: "blank", value: "b0" },
        ],
      },
    ],
  });
  const [property] = mergeStatements([source("one", "x"), source("two", "x"), source("three", "y")]);
  expect(property?.values.map(({ term, pages }) => `${term.value}:${pages.length}`)).toEqual([
    "x:2",
    "b0:1",
    "b0:1",
    "y:1",
    "b0:1",
  ]);
});

test("recent pages: newest first, each once, not too many", () => {
  const page = (url: string, at: string) => ({ url, at }) as RecentPage;
  const merged = mergePages([page("b", "2"), page("c", "3")], [page("b", "2"), page("a", "1")]);
  expect(merged.map(({ url }) => url)).toEqual(["c", "b", "a"]);
  expect(
    mergePages(
      Array.from({ length: 90 }, (_, place) => page("x", String(place))),
      [],
    ),
  ).toHaveLength(50);
});
