// Numbers, times and names as people read them.
import { expect, test } from "vitest";
import {
  briefUrl,
  formatAgo,
  formatBytes,
  formatCount,
  formatDuration,
  formatMicroseconds,
  formatRate,
  formatShare,
  formatShort,
  isWebAddress,
  plural,
  shorten,
  words,
} from "../src/format.ts";

test.each([
  [0, "0"],
  [950, "950"],
  [999, "999"],
  [999.6, "1k"],
  [1000, "1k"],
  [12_345, "12.3k"],
  [123_456, "123k"],
  [999_999, "1M"],
  [4_600_000, "4.6M"],
  [-1500, "-1.5k"],
])("short %d is %s", (value, text) => expect(formatShort(value)).toBe(text));

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1024, "1 KiB"],
  [1536, "1.5 KiB"],
  [1024 ** 2, "1 MiB"],
  [1024 ** 2 - 1, "1 MiB"],
  [1024 ** 3, "1 GiB"],
  [5e15, "4.4 PiB"],
])("%d bytes are %s", (value, text) => expect(formatBytes(value)).toBe(text));

test.each([
  [0, "0 ms"],
  [0.0124, "12 ms"],
  [1.5, "1.5 s"],
  [59.7, "1 min"],
  [250, "4 min 10 s"],
  [3600, "1 h"],
  [11_100, "3 h 5 min"],
  [187_200, "2 d 4 h"],
  [-1, "–"],
])("%d seconds are %s", (value, text) => expect(formatDuration(value)).toBe(text));

test("rates keep the digits that matter", () => {
  expect([0, 0.03, 0.5, 12.34, 42, 123.4, 98_765].map(formatRate)).toEqual([
    "0",
    "0.03",
    "0.5",
    "12.3",
    "42",
    "123",
    "98.8k",
  ]);
});

test("what is missing is a dash, never NaN", () => {
  for (const format of [
    formatCount,
    formatShort,
    formatBytes,
    formatRate,
    formatDuration,
    formatShare,
    formatMicroseconds,
  ]) {
    for (const value of [null, undefined, Number.NaN, Number.POSITIVE_INFINITY]) expect(format(value)).toBe("–");
  }
});

test("moments past and to come", () => {
  const now = Date.parse("2026-11-16T12:00:00Z");
  expect(formatAgo("2026-11-16T11:59:48Z", now)).toBe("12 s ago");
  expect(formatAgo("2026-11-16T12:00:03Z", now)).toBe("in 3 s");
  expect(formatAgo("2026-11-16T12:00:00Z", now)).toBe("now");
  expect(formatAgo("2026-11-15T12:00:00Z", now)).toBe("24 h ago");
  expect(formatAgo("nonsense", now)).toBe("–");
  expect(formatAgo(null, now)).toBe("–");
});

test("one page, two pages", () => {
  expect(plural(1, "page")).toBe("1 page");
  expect(plural(1200, "page")).toBe("1,200 pages");
  expect(plural(2, "more page", "more pages")).toBe("2 more pages");
});

test("shortening keeps both ends and whole letters", () => {
  expect(shorten("abcdefghij", 10)).toBe("abcdefghij");
  expect(shorten("abcdefghijk", 6)).toBe("abc…jk");
  expect(shorten("🧵🧵🧵🧵🧵🧵", 3)).toBe("🧵🧵…");
});

test("addresses in short", () => {
  expect(briefUrl("https://example.org/")).toBe("example.org");
  expect(briefUrl("http://example.org/a/")).toBe("example.org/a/");
  expect(words("max_pages_per_host")).toBe("max pages per host");
  expect(words("warc_file")).toBe("WARC file");
});

test("only web addresses become links that leave", () => {
  expect(isWebAddress("https://example.org/")).toBe(true);
  for (const bad of [
    "javascript:alert(1)",
    "data:text/html,x",
    " https://example.org",
    "https:// example",
    "urn:x",
    "",
    "//example.org",
  ]) {
    expect(isWebAddress(bad)).toBe(false);
  }
});
