// Steers the server's crawl for a test, as an operator's script would: through the API, with the token.
import type { TestServer } from "./server.ts";

const waitSeconds = 60;
const longDelay = 3_000;
const shortDelay = 100;

/** Leaves a crawl under way that cannot end by itself while a test looks on: many pages are due again, far apart. The mock's never ends. */
export async function longCrawl(server: TestServer): Promise<void> {
  if (server.mock) return;
  await until(server, (state) => state !== "running");
  const { pages } = (await ask(server, "GET", "/api/pages?limit=200")) as { pages: { url: string }[] };
  await ask(server, "PUT", "/api/crawls/main/limits", { delay_ms: longDelay });
  await ask(server, "POST", "/api/crawls/main/recrawl", { urls: pages.map((page) => page.url) });
  await ask(server, "POST", "/api/crawls/main/start");
  await until(server, (state) => state === "running");
}

/** Lets that crawl come to its end. */
export async function quickCrawl(server: TestServer): Promise<void> {
  if (server.mock) return;
  await ask(server, "PUT", "/api/crawls/main/limits", { delay_ms: shortDelay });
}

async function until(server: TestServer, reached: (state: string) => boolean): Promise<void> {
  const end = Date.now() + waitSeconds * 1000;
  for (;;) {
    const { state } = (await ask(server, "GET", "/api/crawls/main")) as { state: string };
    if (reached(state)) return;
    if (Date.now() > end) throw new Error(`the crawl was still ${state} after ${waitSeconds} s`);
    await new Promise((resume) => setTimeout(resume, 200));
  }
}

async function ask(server: TestServer, method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: {
      Accept: "application/json",
      Authorization: `Bearer ${server.token}`,
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
  return response.json();
}
