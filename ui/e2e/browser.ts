// A Chromium for the tests, and what every test wants of it: pages that keep their console messages, screenshots, an accessibility check.
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import axe from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { expect } from "vitest";

const known = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
];

/** Starts the browser. WEBLOOM_CHROMIUM names it where it is not in the usual places. */
export async function startBrowser(): Promise<Browser> {
  const executablePath = process.env["WEBLOOM_CHROMIUM"] ?? known.find((path) => existsSync(path));
  if (!executablePath)
    throw new Error("no Chromium is installed; install the package `chromium`, or name one with WEBLOOM_CHROMIUM");
  // Root cannot use Chromium's own sandbox; the tests only open our own pages.
  return chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ["--no-sandbox"] : [] });
}

export interface View {
  width: number;
  height: number;
  theme: "light" | "dark";
  name: string;
}

export const desktopLight: View = { width: 1360, height: 900, theme: "light", name: "desktop-light" };
export const desktopDark: View = { width: 1360, height: 900, theme: "dark", name: "desktop-dark" };
export const phoneLight: View = { width: 390, height: 844, theme: "light", name: "phone-light" };
export const phoneDark: View = { width: 390, height: 844, theme: "dark", name: "phone-dark" };

export interface Watched {
  page: Page;
  context: BrowserContext;
  /** Errors of the console and of scripts, violations of the content security policy, requests to other places. */
  complaints: string[];
}

/** Opens an empty page that is watched. */
export async function open(browser: Browser, origin: string, view: View = desktopLight): Promise<Watched> {
  const context = await browser.newContext({
    viewport: { width: view.width, height: view.height },
    colorScheme: view.theme,
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || /content security policy/i.test(message.text()))
      complaints.push(`${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !url.startsWith("data:") && !url.startsWith("blob:"))
      complaints.push(`a request left the server: ${url}`);
  });
  return { page, context, complaints };
}

const folder = process.env["WEBLOOM_SCREENSHOTS"] ?? join(import.meta.dirname, "../../target/ui-screenshots");

/** Keeps a picture of the whole page for people to look at. */
export async function screenshot(page: Page, name: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

/** Runs axe-core in the page and expects it to find nothing. */
export async function expectAccessible(page: Page): Promise<void> {
  // Through the debugging protocol, so that the content security policy stays as it is.
  await page.evaluate(axe.source);
  const violations = await page.evaluate(async () => {
    const run = (globalThis as unknown as { axe: typeof axe }).axe.run;
    const results = await run(document, {
      runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] },
    });
    return results.violations.map(
      (violation) =>
        `${violation.id}: ${violation.help}\n    ${violation.nodes
          .slice(0, 4)
          .map((node) => `${node.target.join(" ")} ${node.failureSummary?.replaceAll("\n", " ")}`)
          .join("\n    ")}`,
    );
  });
  expect(violations, "accessibility").toEqual([]);
}

/** Expects that nothing sticks out to the side, which a phone would show as a page that can be pushed around. */
export async function expectFits(page: Page): Promise<void> {
  const wide = await page.evaluate(() => {
    const limit = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= limit) return [];
    return [...document.querySelectorAll("body *")]
      .filter((element) => element.getBoundingClientRect().right > limit + 1)
      .slice(0, 6)
      .map((element) => `${element.tagName}.${element.getAttribute("class") ?? ""}`);
  });
  expect(wide, "elements wider than the screen").toEqual([]);
}
