// Things to look at in the tests: a word that finds something, a thing, a page, a site. Asked of the server, since a crawl finds what it finds.
import type { TestServer } from "./server.ts";

export interface Subjects {
  word: string;
  thing: string;
  page: string;
  site: string;
}

const waitSeconds = 90;

/** Waits until the crawl has indexed something, then picks subjects. */
export async function findSubjects(server: TestServer): Promise<Subjects> {
  const end = Date.now() + waitSeconds * 1000;
  for (;;) {
    const found = await pick(server).catch(() => null);
    if (found) return found;
    if (Date.now() > end) throw new Error(`${server.url} had nothing to show within ${waitSeconds} s`);
    await new Promise((resume) => setTimeout(resume, 500));
  }
}

async function pick(server: TestServer): Promise<Subjects | null> {
  const sites = (await ask(server, "/api/sites?limit=5&sort=quads")) as { sites: { site: string }[] };
  const site = sites.sites[0]?.site;
  if (site === undefined) return null;
  const pages = (await ask(server, `/api/pages?limit=50&site=${encodeURIComponent(site)}`)) as {
    pages: { url: string; quads: number }[];
  };
  const page = pages.pages.sort((left, right) => right.quads - left.quads)[0]?.url;
  for (const word of server.mock ? ["loom"] : ["museum", "book", "the"]) {
    const search = (await ask(server, `/api/search?q=${word}&limit=5`)) as { results: { iri: string }[] };
    const thing = search.results.find((result) => result.iri.startsWith("http"))?.iri ?? search.results[0]?.iri;
    if (page !== undefined && thing !== undefined) return { word, thing, page, site };
  }
  return null;
}

async function ask(server: TestServer, path: string): Promise<unknown> {
  const response = await fetch(`${server.url}${path}`, { headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  return response.json();
}
