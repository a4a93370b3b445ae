// Small hooks: something loaded from the server with its loading and error states, and an event stream of a crawl.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { address, ApiError, crawlPath, get } from "./api/client.ts";
import { listen } from "./api/events.ts";
import type { Crawl, CrawlBrief, Machine, RecentPage } from "./api/types.ts";
import { noteCrawl, noteMachine, subject } from "./state.ts";

export interface Resource<Value> {
  /** The last good answer, kept while a newer one is on its way. */
  value: Value | null;
  error: ApiError | null;
  loading: boolean;
  reload(): void;
}

/**
 * Loads something whenever `key` changes, and again every so many milliseconds while the page is seen. With a null key nothing
 * is loaded. A newer request cancels the older one, so answers never arrive in the wrong order.
 */
export function useResource<Value>(
  key: string | null,
  load: (abort: AbortSignal) => Promise<Value>,
  options: { every?: number; keep?: boolean } = {},
): Resource<Value> {
  const [state, setState] = useState<{
    key: string | null;
    value: Value | null;
    error: ApiError | null;
    loading: boolean;
  }>({
    key: null,
    value: null,
    error: null,
    loading: key !== null,
  });
  const [turn, setTurn] = useState(0);
  const loader = useRef(load);
  loader.current = load;

  useEffect(() => {
    if (key === null) return;
    const abort = new AbortController();
    setState((old) => ({
      key,
      value: old.key === key || options.keep ? old.value : null,
      error: old.key === key ? old.error : null,
      loading: true,
    }));
    loader
      .current(abort.signal)
      .then((value) => {
        if (!abort.signal.aborted) setState({ key, value, error: null, loading: false });
      })
      .catch((failure: unknown) => {
        if (abort.signal.aborted) return;
        setState((old) => ({ ...old, key, error: asApiError(failure), loading: false }));
      });
    return () => abort.abort();
  }, [key, turn]);

  useEffect(() => {
    if (!options.every || key === null) return;
    const timer = setInterval(() => {
      if (!document.hidden) setTurn((old) => old + 1);
    }, options.every);
    return () => clearInterval(timer);
  }, [key, options.every]);

  const reload = useCallback(() => setTurn((old) => old + 1), []);
  const current = state.key === key || options.keep;
  return {
    value: current ? state.value : null,
    error: state.key === key ? state.error : null,
    loading: key !== null && (state.loading || state.key !== key),
    reload,
  };
}

/** Any failure as an {@link ApiError}. */
export function asApiError(failure: unknown): ApiError {
  if (failure instanceof ApiError) return failure;
  return new ApiError(0, "failed", failure instanceof Error ? failure.message : String(failure));
}

export interface LiveCrawl {
  crawl: Crawl | null;
  pages: RecentPage[];
  error: ApiError | null;
  /** True while the event stream is connected. */
  live: boolean;
  refresh(): void;
}

const pagesKept = 50;
const pollEvery = 5000;
const renderEvery = 1000;

/** Follows one crawl: by events while they come, by asking while they do not. */
export function useLiveCrawl(id: string | null): LiveCrawl {
  const [crawl, setCrawl] = useState<Crawl | null>(null);
  const [pages, setPages] = useState<RecentPage[]>([]);
  const [error, setError] = useState<ApiError | null>(null);
  const [live, setLive] = useState(false);
  const refreshRef = useRef<() => void>(() => undefined);

  useEffect(() => {
    setCrawl(null);
    setPages([]);
    setError(null);
    setLive(false);
    if (id === null) return;
    const abort = new AbortController();
    let waiting: RecentPage[] = [];
    let connected = false;

    const refresh = () => {
      get<Crawl>(crawlPath(id), {}, abort.signal)
        .then((value) => {
          setCrawl(value);
          setError(null);
          noteCrawl(value);
        })
        .catch((failure: unknown) => {
          if (!abort.signal.aborted) setError(asApiError(failure));
        });
    };
    const refreshPages = () => {
      get<{ pages: RecentPage[] }>(crawlPath(id, "/recent"), { limit: pagesKept }, abort.signal)
        .then((answer) => setPages((old) => mergePages(answer.pages, old)))
        .catch(() => undefined);
    };
    refreshRef.current = refresh;
    refresh();
    refreshPages();

    const stop = listen(address("/api/events", { crawl: id }), {
      onEvent(event, data) {
        if (typeof data !== "object" || data === null) return;
        if (event === "status") {
          setCrawl(data as Crawl);
          setError(null);
          noteCrawl(data as Crawl);
        } else if (event === "state") {
          const brief = data as CrawlBrief;
          if (brief.id !== id) return;
          setCrawl((old) => (old ? { ...old, ...brief } : old));
          noteCrawl(brief);
        } else if (event === "machine") {
          noteMachine(data as Machine);
        } else if (event === "page") {
          waiting.push(data as RecentPage);
        }
      },
      onLive(value) {
        connected = value;
        setLive(value);
      },
    });
    const polling = setInterval(() => {
      if (connected || document.hidden) return;
      refresh();
      refreshPages();
    }, pollEvery);
    // Twenty pages a second cannot be read; once a second the table moves.
    const rendering = setInterval(() => {
      if (waiting.length === 0) return;
      const fresh = waiting.reverse();
      waiting = [];
      setPages((old) => mergePages(fresh, old));
    }, renderEvery);
    return () => {
      abort.abort();
      stop();
      clearInterval(polling);
      clearInterval(rendering);
    };
  }, [id]);

  return { crawl, pages, error, live, refresh: () => refreshRef.current() };
}

/** Newest first, each fetch once. */
export function mergePages(fresh: readonly RecentPage[], old: readonly RecentPage[]): RecentPage[] {
  const seen = new Set<string>();
  const merged: RecentPage[] = [];
  for (const page of [...fresh, ...old]) {
    const key = `${page.at} ${page.url}`;
    if (seen.has(key)) continue;
    seen.add(key);
    merged.push(page);
  }
  merged.sort((left, right) => (left.at < right.at ? 1 : left.at > right.at ? -1 : 0));
  return merged.slice(0, pagesKept);
}

/** Puts what the page is about into the title of the window. */
export function useSubject(text: string | null): void {
  useEffect(() => {
    subject.value = text;
    return () => {
      subject.value = null;
    };
  }, [text]);
}

/** A value that follows another after it has been quiet for a while. */
export function useDebounced<Value>(value: Value, milliseconds: number): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return settled;
}

/** The width of an element, followed as it changes. */
export function useWidth<Kind extends Element>(initial: number): [(element: Kind | null) => void, number] {
  const [width, setWidth] = useState(initial);
  const observer = useRef<ResizeObserver | null>(null);
  const attach = useCallback((element: Kind | null) => {
    observer.current?.disconnect();
    if (!element) return;
    observer.current = new ResizeObserver((entries) => {
      const measured = entries[0]?.contentRect.width;
      if (measured && measured > 0) setWidth(Math.round(measured));
    });
    observer.current.observe(element);
  }, []);
  return [attach, width];
}
