// The interface used as a person would: crawl steered, things searched and walked, queries written, pages looked into.
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { expectAccessible, open, screenshot, startBrowser, type Watched } from "./browser.ts";
import { startServer, type TestServer } from "./server.ts";
import { longCrawl, quickCrawl } from "./steer.ts";
import { findSubjects, type Subjects } from "./subjects.ts";

let browser: Browser;
let server: TestServer;
let subjects: Subjects;
let watched: Watched;
let page: Page;

beforeAll(async () => {
  server = await startServer();
  browser = await startBrowser();
  subjects = await findSubjects(server);
});

afterAll(async () => {
  await browser?.close();
  await server?.close();
});

beforeEach(async () => {
  watched = await open(browser, server.url);
  page = watched.page;
  page.setDefaultTimeout(20_000);
});

afterEach(async () => {
  await watched.context.close();
});

/** Opens the interface as the operator does, with the link that the server printed. */
async function openAsOperator(): Promise<void> {
  await page.goto(`${server.url}/#token=${encodeURIComponent(server.token)}`);
  await page.waitForSelector(".flow-step[data-phase=fetch]");
}

function complaints(): string[] {
  return watched.complaints;
}

test("the token leaves the address at once and stays out of the history", async () => {
  await openAsOperator();
  expect(page.url()).not.toContain("token");
  expect(page.url()).toContain("#/crawl");
  expect(await page.evaluate(() => sessionStorage.getItem("webloom.token"))).toBe(server.token);
  expect(await page.evaluate(() => localStorage.length)).toBe(0);
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByText("A token is known.").waitFor();
  await page.getByRole("button", { name: "Forget it" }).click();
  await page.getByText("need the token").first().waitFor();
  expect(complaints()).toEqual([]);
});

test("a crawl is paused and resumed, and its numbers move", async () => {
  await longCrawl(server);
  await openAsOperator();
  const head = page.locator(".page-title");
  await head.getByText("running").waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await head.getByText("paused").waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await head.getByText("running").waitFor();
  await page.getByText("live", { exact: true }).waitFor();
  await quickCrawl(server);
  expect(complaints()).toEqual([]);
});

test("filters are tried, saved and refused when they are no expressions", async () => {
  await openAsOperator();
  const exclude = page.getByLabel("Never follow what matches one of");
  await exclude.fill("/private/");
  await page.getByLabel("Try a URL").fill("https://example.org/private/x");
  await page.getByText("Not followed: excluded by /private/").waitFor();
  await page.getByRole("button", { name: "Save filters" }).click();
  await page.getByText("The crawl uses these filters now.").waitFor();
  await page.reload();
  await page.waitForFunction(() =>
    [...document.querySelectorAll("textarea")].some((area) => area.value === "/private/"),
  );
  await exclude.fill("(broken");
  await page.getByRole("button", { name: "Save filters" }).click();
  await page.getByRole("alert").waitFor();
  // A refusal is an answer, which the browser also writes to its console.
  expect(complaints().filter((line) => !line.includes("422"))).toEqual([]);
});

test("limits are changed and URLs are added", async () => {
  await openAsOperator();
  await page.getByRole("tab", { name: "Limits" }).click();
  await page.getByLabel("Depth").fill("seven");
  await page.getByText("A whole number, or nothing for no limit.").waitFor();
  await page.getByLabel("Depth").fill("7");
  await page.getByRole("button", { name: "Save limits" }).click();
  await page.getByText("The crawl keeps these limits now.").waitFor();
  await page.getByRole("tab", { name: "URLs" }).click();
  await page.getByLabel("URLs, one a line").fill(`${subjects.page}\nno-address`);
  await page.getByRole("button", { name: "Add 2 URLs" }).click();
  await page.getByText("1 refused").waitFor();
  expect(complaints()).toEqual([]);
});

test("without the token nothing can be changed, and it is said why", async () => {
  await page.goto(`${server.url}/#/crawl`);
  await page.waitForSelector(".flow-step[data-phase=fetch]");
  expect(await page.getByRole("button", { name: "Save filters" }).isDisabled()).toBe(true);
  await page.getByText("Changes need the operator's token").first().waitFor();
  expect(complaints()).toEqual([]);
});

test("charts change their span, and the span is in the address", async () => {
  await page.goto(`${server.url}/#/crawl`);
  await page.getByRole("button", { name: "day" }).click();
  await page.waitForURL(/span=day/);
  await page.reload();
  expect(await page.getByRole("button", { name: "day" }).getAttribute("aria-pressed")).toBe("true");
  expect(await page.locator(".chart-plot").count()).toBe(4);
  expect(complaints()).toEqual([]);
});

test("search answers while one types, by keyboard alone, with a shareable address", async () => {
  await page.goto(`${server.url}/#/sites`);
  await page.waitForSelector("table.data");
  await page.keyboard.press("/");
  await page.waitForSelector("#search-box");
  await page.keyboard.type(subjects.word, { delay: 25 });
  await page.waitForSelector(".result");
  await page.waitForURL(new RegExp(`q=${subjects.word}`));
  await page.keyboard.press("ArrowDown");
  const title = await page.evaluate(() => document.activeElement?.textContent);
  expect(title).toBe(await page.locator(".result-title").first().textContent());
  await page.keyboard.press("ArrowUp");
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("search-box");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".source-card, .empty");
  expect(await page.locator("h1").textContent()).not.toBe("");
  await page.goBack();
  await page.waitForSelector(".result");
  expect(await page.inputValue("#search-box")).toBe(subjects.word);
  expect(complaints()).toEqual([]);
});

test("a facet narrows the results and can be taken back", async () => {
  await page.goto(`${server.url}/#/search?q=${subjects.word}`);
  await page.waitForSelector(".result");
  const count = async () =>
    Number(/[\d,]+/.exec((await page.locator(".search-count").textContent()) ?? "")?.[0].replaceAll(",", "") ?? "0");
  const all = await count();
  const first = page.locator(".facet").first().locator("input").first();
  const expected = Number(
    (await page.locator(".facet").first().locator(".facet-count").first().textContent())?.replaceAll(",", ""),
  );
  await first.check();
  await page.getByRole("button", { name: /^Remove / }).waitFor();
  await page.waitForURL(/type=|vocabulary=|site=|language=/);
  await page.waitForFunction(
    (wanted) => document.querySelector(".search-count")?.textContent?.includes(wanted.toLocaleString("en")),
    expected,
  );
  expect(await count()).toBeLessThanOrEqual(all);
  await page.reload();
  await page.waitForSelector(".result");
  expect(await page.locator(".facet input:checked").count()).toBeGreaterThan(0);
  await page.getByRole("button", { name: /^Remove / }).click();
  await page.waitForFunction(() => document.querySelectorAll(".facet input:checked").length === 0);
  expect(complaints()).toEqual([]);
});

test("nothing found says so", async () => {
  await page.goto(`${server.url}/#/search?q=zzqqxxyyvv`);
  await page.getByText("Nothing was found for “zzqqxxyyvv”.").waitFor();
  expect(complaints()).toEqual([]);
});

test("a thing is read by page, together, as a picture and as data", async () => {
  await page.goto(`${server.url}/#/thing?iri=${encodeURIComponent(subjects.thing)}`);
  await page.waitForSelector(".source-card");
  await page.getByRole("button", { name: "together" }).click();
  await page.waitForSelector(".source-card .properties");
  await page.getByText("As data").click();
  await page.waitForSelector("pre.source");
  expect(await page.locator("pre.source").textContent()).toContain("<");
  await page.getByRole("button", { name: "JSON-LD" }).click();
  await page.waitForFunction(() => /[[{]/.test(document.querySelector("pre.source")?.textContent ?? ""));
  const nodes = page.locator(".graph-node");
  if ((await nodes.count()) > 1) {
    await nodes.nth(1).focus();
    await page.keyboard.press("Enter");
    await page.locator(".graph-chosen").waitFor();
    const unfold = page.getByRole("button", { name: "Unfold" });
    if ((await unfold.count()) > 0) await unfold.click();
    await page.waitForTimeout(500);
    await screenshot(page, "thing-unfolded");
  }
  await expectAccessible(page);
  expect(complaints()).toEqual([]);
});

test("a page shows its statements, diagnostics, links, copy and life", async () => {
  await page.goto(`${server.url}/#/page?url=${encodeURIComponent(subjects.page)}`);
  await page.waitForSelector(".tab-panel table.data");
  await page.getByLabel("Find in statements").fill("zzqqxx");
  await page.getByText("0 statements", { exact: true }).waitFor();
  for (const [tab, wanted] of [
    ["Links", "table.data, .empty"],
    ["Diagnostics", "table.data, .empty"],
    ["History", "table.data, .empty"],
    ["Life of the URL", ".life-step"],
  ] as const) {
    await page.getByRole("tab", { name: tab }).click();
    await page.waitForSelector(`.tab-panel :is(${wanted})`);
  }
  await page.getByRole("tab", { name: "Archived copy" }).click();
  const show = page.getByRole("button", { name: "Show the copy" });
  await page.waitForSelector(".tab-panel .empty");
  if ((await show.count()) > 0) {
    await show.click();
    const frame = page.locator("iframe.archived");
    expect(await frame.getAttribute("sandbox")).toBe("");
    await frame.contentFrame().locator("body").waitFor();
    await page.waitForTimeout(300);
    await screenshot(page, "page-copy");
  }
  // The archived page may try what its own policy refuses; that is the frame's business, not ours.
  expect(complaints().filter((line) => !line.includes("/archive"))).toEqual([]);
});

test("a URL that is not in the store has a life, or none", async () => {
  await page.goto(`${server.url}/#/page?url=${encodeURIComponent("http://never.invalid/met")}`);
  await page
    .getByText(/not in the store|never met/)
    .first()
    .waitFor();
  expect(complaints().filter((line) => !line.includes("404"))).toEqual([]);
});

test("a query is written with completion, run, shown in every way and shared", async () => {
  await page.goto(`${server.url}/#/query`);
  const editor = page.locator(".cm-content");
  await editor.waitFor();
  await editor.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.type(
    "SELECT ?class (COUNT(?thing) AS ?things) WHERE { ?thing a ?class } GROUP BY ?class ORDER BY DESC(?things) LIMIT 20",
    { delay: 1 },
  );
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(".tab-panel table.data tbody tr");
  expect(page.url()).toContain("COUNT");
  await page.getByRole("button", { name: "things" }).click();
  expect(await page.locator("th[aria-sort=ascending]").count()).toBe(1);
  await page.getByRole("tab", { name: "Plot" }).click();
  await page.waitForSelector(".plot-bars tr");
  await screenshot(page, "query-plot");
  await page.getByRole("tab", { name: "Text" }).click();
  expect(await page.locator(".tab-panel pre").textContent()).toContain("bindings");
  await page.getByRole("tab", { name: "Plan" }).click();
  await page.waitForSelector(".tab-panel table.data, .tab-panel pre");
  await screenshot(page, "query-plan");
  await page.reload();
  await page.waitForSelector(".tab-panel table.data, .tab-panel pre");
  expect(complaints()).toEqual([]);
});

test("completion knows the store, and declares the prefix it needs", async () => {
  await page.goto(`${server.url}/#/query`);
  const editor = page.locator(".cm-content");
  await editor.waitFor();
  await page.waitForTimeout(500);
  await editor.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.type("SELECT * WHERE { ?x a ", { delay: 1 });
  await page.keyboard.press("Control+Space");
  await page.locator(".cm-tooltip-autocomplete li").first().waitFor();
  await screenshot(page, "query-completion");
  const label = (await page.locator(".cm-tooltip-autocomplete li .cm-completionLabel").first().textContent()) ?? "";
  await page.waitForTimeout(150);
  await page.keyboard.press("Enter");
  const text = (await page.locator(".cm-content").innerText()).replaceAll("\u200b", "");
  expect(text).toContain(label);
  if (!label.startsWith("<")) expect(text).toContain(`PREFIX ${label.split(":")[0]}:`);
  expect(complaints()).toEqual([]);
});

test("a graph result is drawn, a yes-or-no is said, a mistake is explained", async () => {
  const run = async (query: string) => {
    await page.goto("about:blank");
    await page.goto(`${server.url}/#/query?view=graph&q=${encodeURIComponent(query)}`);
  };
  await run("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o FILTER(isIRI(?o)) } LIMIT 20");
  await page.waitForSelector(".graph-node");
  await screenshot(page, "query-graph");
  await run("ASK { ?s ?p ?o }");
  await page.getByText("Yes", { exact: true }).waitFor();
  await run("SELEC ?x");
  await page.getByRole("alert").waitFor();
  expect(complaints().filter((line) => !line.includes("400"))).toEqual([]);
});

test("results can be taken along", async () => {
  await page.goto(
    `${server.url}/#/query?q=${encodeURIComponent("SELECT ?class (COUNT(?thing) AS ?things) WHERE { ?thing a ?class } GROUP BY ?class")}`,
  );
  await page.waitForSelector(".tab-panel table.data tbody tr");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByLabel("Download").selectOption({ label: "CSV" }),
  ]);
  expect(download.suggestedFilename()).toBe("result.csv");
  expect(complaints()).toEqual([]);
});

test("sites lead to their pages, and errors are listed", async () => {
  await page.goto(`${server.url}/#/sites`);
  await page.locator("table.data tbody th a").first().click();
  await page.waitForURL(/site=/);
  await page.waitForSelector("table.data tbody tr");
  await page.getByLabel("Find in pages").fill("zzqqxx");
  await page.getByText(/No page has/).waitFor();
  await page.getByRole("link", { name: "Errors" }).click();
  await page.waitForSelector(".panel, .empty");
  expect(complaints()).toEqual([]);
});

test("the theme is switched and remembered", async () => {
  await page.goto(`${server.url}/#/settings`);
  await page.getByRole("button", { name: "dark" }).last().click();
  expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
  await page.reload();
  expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
  const ground = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  expect(ground).toBe("rgb(15, 19, 22)");
  expect(complaints()).toEqual([]);
});

test("a new crawl is refused with reasons, then made", async () => {
  await page.goto(`${server.url}/#token=${encodeURIComponent(server.token)}`);
  await page.waitForSelector(".flow-step[data-phase=fetch]");
  await page.goto(`${server.url}/#/new`);
  await page.getByLabel("Start from").fill("example.org");
  await page.getByText("is no web address").waitFor();
  await page.getByRole("tab", { name: "Specification (TOML)" }).click();
  await page.getByLabel("Specification", { exact: true }).fill('seed = ["http://127.0.0.1:9/"]\n');
  await page.getByRole("button", { name: "Create the crawl" }).click();
  await page.getByRole("alert").getByText("seed", { exact: true }).waitFor();
  if (server.mock) {
    await page.getByLabel("Specification", { exact: true }).fill('seeds = ["http://127.0.0.1:9/"]\n');
    await page.getByLabel("Name").fill("second");
    await page.getByRole("button", { name: "Create the crawl" }).click();
    await page.waitForURL(/crawl=second/);
    await page.waitForSelector(".title-choice select");
    await page.locator(".title-choice select").selectOption("main");
    await page.waitForURL(/crawl=main/);
  }
  expect(complaints().filter((line) => !line.includes("422"))).toEqual([]);
});

test("a server that is gone is noticed, and its return too", async () => {
  await page.goto(`${server.url}/#/sites`);
  await page.waitForSelector("table.data");
  await page.route("**/api/**", (route) => route.abort());
  await page.getByText("The server does not answer.").first().waitFor({ timeout: 20_000 });
  await screenshot(page, "server-gone");
  await page.unroute("**/api/**");
  await page.waitForFunction(() => !document.body.textContent?.includes("The server does not answer."), undefined, {
    timeout: 20_000,
  });
});

test("the keyboard reaches the content past the navigation", async () => {
  await page.goto(`${server.url}/#/errors`);
  await page.waitForSelector(".panel, .empty");
  await page.keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to the content");
  await page.keyboard.press("Enter");
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("main");
  expect(page.url()).toContain("#/errors");
});
