// Addresses of the interface. Everything a user sees has a shareable address after the `#`: a name and parameters, as in
// `#/search?q=loom&type=http%3A%2F%2Fschema.org%2FPerson`. This file reads and writes them, and follows the browser.
import { signal } from "@preact/signals";

export const routeNames = ["crawl", "new", "search", "thing", "page", "query", "sites", "errors", "settings"] as const;
export type RouteName = (typeof routeNames)[number];

export interface Route {
  name: RouteName | "unknown";
  /** What stood after `#/`, for the page that says it is unknown. */
  path: string;
  parameters: URLSearchParams;
}

/** Values that become parameters. Empty ones and nulls are left out, lists become repeated parameters. */
export type Parameters = Record<string, string | number | boolean | null | undefined | readonly string[]>;

/** Reads an address. An empty one is the crawl page. */
export function parseRoute(hash: string): Route {
  const text = hash.replace(/^#\/?/, "");
  const mark = text.indexOf("?");
  const path = (mark < 0 ? text : text.slice(0, mark)).replace(/\/+$/, "");
  const parameters = new URLSearchParams(mark < 0 ? "" : text.slice(mark + 1));
  const wanted = path === "" ? "crawl" : path;
  const name = routeNames.find((known) => known === wanted) ?? "unknown";
  return { name, path, parameters };
}

/** What every address keeps once it was chosen: which crawl is looked at, where there are several. */
export const sticky: { crawl: string | null } = { crawl: null };

/** Writes an address, to be used as `href`. */
export function hrefTo(name: RouteName, parameters: Parameters = {}): string {
  const search = new URLSearchParams();
  const all: Parameters = { crawl: sticky.crawl, ...parameters };
  for (const [key, value] of Object.entries(all)) {
    if (value === null || value === undefined || value === "" || value === false) continue;
    if (typeof value === "object") for (const one of value) search.append(key, one);
    else search.append(key, String(value));
  }
  const text = search.toString();
  return `#/${name}${text === "" ? "" : `?${text}`}`;
}

/** A token given in the address, as the server prints it (`#token=…`), or null. */
export function tokenIn(hash: string): string | null {
  return hash.startsWith("#token=") ? new URLSearchParams(hash.slice(1)).get("token") : null;
}

/** Where the user is now. */
export const route = signal<Route>(parseRoute(""));

/** Goes to an address. `replace` leaves no trace in the history: for typing into a box. */
export function navigate(href: string, options: { replace?: boolean } = {}): void {
  if (options.replace) {
    history.replaceState(null, "", href);
    route.value = parseRoute(href);
  } else if (location.hash !== href) {
    location.hash = href;
  }
}

/** Follows the address bar from now on. */
export function followAddress(): void {
  const read = () => {
    const next = parseRoute(location.hash);
    sticky.crawl = next.parameters.get("crawl") ?? sticky.crawl;
    route.value = next;
  };
  window.addEventListener("hashchange", read);
  window.addEventListener("popstate", read);
  read();
}
