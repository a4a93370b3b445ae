// What several pages share: the server's status, the crawl looked at, the theme, and the clock.
import { computed, effect, signal } from "@preact/signals";
import { ApiError, get, token } from "./api/client.ts";
import type { CrawlBrief, Machine, Status } from "./api/types.ts";
import { route, sticky } from "./router.ts";
import { recall, remember } from "./storage.ts";

/** The server's status, null until the first answer. */
export const status = signal<Status | null>(null);

/** Why the status is unknown, null while it is known. */
export const statusError = signal<ApiError | null>(null);

/** The moment, to the second, for everything that says "12 s ago". */
export const now = signal(Date.now());

/** The crawl looked at: the one named in the address, else the one that is at work, else the first. */
export const crawlId = computed<string | null>(() => {
  const named = route.value.parameters.get("crawl") ?? sticky.crawl;
  if (named) return named;
  const crawls = status.value?.crawls ?? [];
  return (crawls.find((crawl) => crawl.state === "running") ?? crawls[0])?.id ?? null;
});

/** The short form of the crawl looked at. */
export const crawlBrief = computed<CrawlBrief | null>(
  () => status.value?.crawls.find((crawl) => crawl.id === crawlId.value) ?? null,
);

/** True when nothing can be changed here, because another process works on the store. */
export const readOnly = computed(() => status.value?.read_only ?? false);

/** Changes need the token wherever the server listens. */
export const tokenMissing = computed(() => !token.value);

/** Why controls are disabled, or null when they are not. */
export const controlRefusal = computed<string | null>(() => {
  if (readOnly.value) return "This server only reads: the crawl runs in another process.";
  if (tokenMissing.value) return "Changes need the operator's token (see Settings).";
  return null;
});

/** Puts newer news about a crawl into the status, so that all pages agree. */
export function noteCrawl(brief: CrawlBrief): void {
  const current = status.value;
  if (!current) return;
  const { id, state, started_at, message, pages, quads, errors, queued } = brief;
  const plain = { id, state, started_at, message, pages, quads, errors, queued };
  const known = current.crawls.some((crawl) => crawl.id === id);
  const crawls = known ? current.crawls.map((crawl) => (crawl.id === id ? plain : crawl)) : [...current.crawls, plain];
  status.value = { ...current, crawls };
}

/** Puts newer news about the machine into the status. */
export function noteMachine(machine: Machine): void {
  if (status.value) status.value = { ...status.value, machine };
}

/** Asks for the status now. */
export async function refreshStatus(): Promise<void> {
  try {
    status.value = await get<Status>("/api/status");
    statusError.value = null;
  } catch (failure) {
    statusError.value = failure instanceof ApiError ? failure : new ApiError(0, "failed", String(failure));
  }
}

/** What the page at hand is about, for the title of the window; null for the name of the page alone. */
export const subject = signal<string | null>(null);

const statusEvery = 5000;

/** Keeps status and clock going while the page is seen. */
export function startHeartbeat(): void {
  void refreshStatus();
  setInterval(() => {
    if (!document.hidden) void refreshStatus();
  }, statusEvery);
  setInterval(() => {
    if (!document.hidden) now.value = Date.now();
  }, 1000);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) {
      now.value = Date.now();
      void refreshStatus();
    }
  });
}

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const themeKey = "webloom.theme";

/** The reader's choice of theme. */
export const theme = signal<Theme>(themes.find((known) => known === recall("local", themeKey)) ?? "system");

effect(() => {
  // The style sheet has both themes; the attribute only overrides what the system prefers.
  if (theme.value === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", theme.value);
  remember("local", themeKey, theme.value === "system" ? null : theme.value);
});
