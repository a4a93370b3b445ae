// The way to the server: addresses, the token, and errors as one type with something to do about them.
import { signal } from "@preact/signals";
import { sticky } from "../router.ts";
import { recall, remember } from "../storage.ts";
import type { Problem } from "./types.ts";

const tokenKey = "webloom.token";

/** The operator's token, kept for this tab only. Null until one is known. */
export const token = signal<string | null>(recall("session", tokenKey));

/** Keeps the token for as long as the tab is open; null forgets it. */
export function setToken(value: string | null): void {
  const trimmed = value?.trim() || null;
  token.value = trimmed;
  remember("session", tokenKey, trimmed);
}

/**
 * Away from loopback reading needs the token too, and frames and downloads cannot send a header; the server gives a cookie for those. Not on
 * loopback: cookies there go to every port, that is, to other people's servers.
 */
export async function startSession(): Promise<void> {
  if (!token.value || /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(location.hostname)) return;
  await send(address("/api/session"), { method: "POST" }).catch(() => undefined);
}

/** What went wrong, in words for a person. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string | null;
  readonly problems: Problem[];

  constructor(status: number, code: string, message: string, hint: string | null = null, problems: Problem[] = []) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.hint = hint;
    this.problems = problems;
  }
}

/** Parameters of a request; nulls and empty texts are left out, lists repeat. */
export type Query = Record<string, string | number | boolean | null | undefined | readonly string[]>;

/** What asks the data of a crawl, and so must say which where there are several. */
const ofCrawl =
  /^\/(?:sparql|archive|api\/(?:search|suggest|thing|page|url|pages|sites|vocabulary|dump|explain)(?:\/|$))/;

/** An address on the server. Relative, so that the interface works under any path. */
export function address(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  if (sticky.crawl !== null && ofCrawl.test(path)) search.append("crawl", sticky.crawl);
  for (const [key, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === "") continue;
    if (typeof value === "object") for (const one of value) search.append(key, one);
    else search.append(key, String(value));
  }
  const text = search.toString();
  return `.${path}${text === "" ? "" : `?${text}`}`;
}

/** Sends a request with the token and gives the response, or throws an {@link ApiError}. */
export async function send(url: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (token.value) headers.set("Authorization", `Bearer ${token.value}`);
  let response: Response;
  try {
    response = await fetch(url, { ...init, headers, credentials: "same-origin", redirect: "follow" });
  } catch (failure) {
    if (failure instanceof DOMException && failure.name === "AbortError") throw failure;
    throw new ApiError(0, "unreachable", "The server does not answer.", "Is `webloom serve` still running?");
  }
  if (!response.ok) throw await readError(response);
  return response;
}

/** GET as JSON. */
export async function get<Answer>(path: string, query: Query = {}, abort?: AbortSignal): Promise<Answer> {
  const response = await send(address(path, query), {
    headers: { Accept: "application/json" },
    ...(abort ? { signal: abort } : {}),
  });
  return readJson<Answer>(response);
}

/** POST, PUT or DELETE with a JSON body; the answer is null when the server sends none. */
export async function change<Answer>(
  method: "POST" | "PUT" | "DELETE",
  path: string,
  body?: unknown,
): Promise<Answer | null> {
  const init: RequestInit = { method, headers: { Accept: "application/json" } };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { Accept: "application/json", "Content-Type": "application/json" };
  }
  const response = await send(address(path), init);
  return response.status === 204 || response.headers.get("Content-Length") === "0" ? null : readJson<Answer>(response);
}

/** The address of a crawl's resource. */
export function crawlPath(id: string, rest = ""): string {
  return `/api/crawls/${encodeURIComponent(id)}${rest}`;
}

/** Fetches something with the token and hands it to the browser as a file. */
export async function download(url: string, name: string, init: RequestInit = {}): Promise<void> {
  const response = await send(url, init);
  saveAs(await response.blob(), name);
}

/** Hands bytes to the browser as a file. */
export function saveAs(blob: Blob, name: string): void {
  const link = document.createElement("a");
  const object = URL.createObjectURL(blob);
  link.href = object;
  link.download = name;
  link.click();
  // The download has begun by the next turn of the event loop in every browser; a minute is generous.
  setTimeout(() => URL.revokeObjectURL(object), 60_000);
}

async function readJson<Answer>(response: Response): Promise<Answer> {
  try {
    return (await response.json()) as Answer;
  } catch (failure) {
    if (failure instanceof DOMException && failure.name === "AbortError") throw failure;
    throw new ApiError(
      response.status,
      "not-json",
      "The server sent something that is not JSON.",
      "Is this address a Webloom server of the same version?",
    );
  }
}

/** Turns an unhappy response into an error, whatever its body is. */
export async function readError(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => "");
  try {
    const body = JSON.parse(text) as {
      error?: { code?: string; message?: string; hint?: string | null };
      problems?: Problem[];
    };
    if (body.error?.message) {
      const hint = body.error.hint ?? hintFor(response.status);
      return new ApiError(response.status, body.error.code ?? "error", body.error.message, hint, body.problems ?? []);
    }
  } catch {
    // Not JSON: a proxy, or a plain text message.
  }
  const plain = text.length > 0 && text.length < 500 && !text.trimStart().startsWith("<") ? text.trim() : "";
  const message = plain || `The server answered ${response.status} ${response.statusText}`.trim();
  return new ApiError(response.status, `http-${response.status}`, message, hintFor(response.status));
}

function hintFor(status: number): string | null {
  if (status === 401 || status === 403)
    return "This needs the operator's token: open the link that `webloom` printed when it started, or enter the token under Settings.";
  if (status === 429) return "Too many requests at once: wait a moment.";
  return null;
}
