// What is built is small, and is all the browser needs: nothing inline, nothing from elsewhere.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

const dist = join(import.meta.dirname, "../dist");
const files = readdirSync(dist, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name));

function compressed(chosen: readonly string[]): number {
  return chosen.reduce((sum, file) => sum + gzipSync(readFileSync(file)).length, 0);
}

test("less than 350 KB compressed, and less than 60 KB until the editor is wanted", () => {
  expect(compressed(files)).toBeLessThan(350_000);
  expect(compressed(files.filter((file) => !/query-[\w-]+\.js$/.test(file)))).toBeLessThan(60_000);
});

test("the page has no inline script or style, and names no other host", () => {
  const page = readFileSync(join(dist, "index.html"), "utf8");
  expect(page).not.toMatch(/<style|style=|<script(?![^>]*\bsrc=)|\son\w+=/i);
  expect(page).not.toMatch(/(?:src|href)="(?:https?:)?\/\//i);
});

test("no style sheet or script loads anything from elsewhere, or makes code of text", () => {
  const matching = (ending: string, pattern: RegExp) =>
    files.filter((file) => file.endsWith(ending) && pattern.test(readFileSync(file, "utf8")));
  expect(matching(".css", /@import|url\(/)).toEqual([]);
  expect(matching(".js", /\beval\(|new Function\(/)).toEqual([]);
});

test("our own code never makes HTML of text", () => {
  const sources = readdirSync(join(import.meta.dirname, "../src"), { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile(),
  );
  const found = sources
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => /innerHTML|outerHTML|insertAdjacentHTML|dangerouslySet/i.test(readFileSync(file, "utf8")));
  expect(found).toEqual([]);
});
