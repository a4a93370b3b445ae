// Every page in both themes, on a desktop and on a phone: it is drawn without complaints, is accessible, fits the screen, and a picture
// of it is kept.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  desktopDark,
  desktopLight,
  expectAccessible,
  expectFits,
  open,
  phoneDark,
  phoneLight,
  screenshot,
  startBrowser,
} from "./browser.ts";
import { startServer, type TestServer } from "./server.ts";
import { findSubjects, type Subjects } from "./subjects.ts";

let browser: Browser;
let server: TestServer;
let subjects: Subjects;

beforeAll(async () => {
  server = await startServer();
  browser = await startBrowser();
  subjects = await findSubjects(server);
});

afterAll(async () => {
  await browser?.close();
  await server?.close();
});

/** The pages, and what must be seen before they count as drawn. */
const pages: { name: string; address: (subjects: Subjects) => string; ready: string }[] = [
  { name: "crawl", address: () => "#/crawl", ready: ".flow-step[data-phase=extract]" },
  { name: "new", address: () => "#/new", ready: "text=Create the crawl" },
  { name: "search", address: ({ word }) => `#/search?q=${encodeURIComponent(word)}`, ready: ".result" },
  { name: "search-empty", address: () => "#/search", ready: ".empty" },
  { name: "thing", address: ({ thing }) => `#/thing?iri=${encodeURIComponent(thing)}`, ready: ".source-card" },
  { name: "page", address: ({ page }) => `#/page?url=${encodeURIComponent(page)}`, ready: ".tab-panel table.data" },
  { name: "page-life", address: ({ page }) => `#/page?tab=life&url=${encodeURIComponent(page)}`, ready: ".life-step" },
  {
    name: "query",
    address: () =>
      `#/query?q=${encodeURIComponent("SELECT ?class (COUNT(?thing) AS ?things) WHERE {\n  ?thing a ?class # every one\n}\nGROUP BY ?class ORDER BY DESC(?things) LIMIT 50")}`,
    ready: ".tab-panel table.data",
  },
  { name: "sites", address: () => "#/sites", ready: "table.data" },
  { name: "site", address: ({ site }) => `#/sites?site=${encodeURIComponent(site)}`, ready: "table.data" },
  { name: "errors", address: () => "#/errors", ready: ".panel, .empty" },
  { name: "settings", address: () => "#/settings", ready: ".pairs" },
  { name: "unknown", address: () => "#/nowhere", ready: ".empty" },
];

for (const view of [desktopLight, desktopDark, phoneLight, phoneDark]) {
  describe(view.name, () => {
    test.each(pages)("$name", async ({ name, address, ready }) => {
      const { page, context, complaints } = await open(browser, server.url, view);
      await page.goto(`${server.url}/${address(subjects)}`);
      await page.waitForSelector(ready, { timeout: 20_000 });
      // Charts and pictures take the width they find.
      await page.waitForTimeout(400);
      await screenshot(page, `${name}-${view.name}`);
      await expectFits(page);
      // What a dark phone could do wrong, a light phone or a dark desktop does too.
      if (view !== phoneDark) await expectAccessible(page);
      expect(complaints).toEqual([]);
      await context.close();
    });
  });
}
