// Search: one box, things as results, facets to narrow. Results come while one types; everything chosen is in the address.
import type { JSX, TargetedKeyboardEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import { type FacetName, facetNames, type FacetValue, type SearchAnswer, type SearchResult } from "../api/types.ts";
import { Action, Chip, Empty, Failure, Loading, Notice, Pager } from "../components/basics.tsx";
import { Icon } from "../components/icons.tsx";
import { PageLink } from "../components/terms.tsx";
import { briefUrl, formatCount, formatMilliseconds, formatShort, plural, shorten } from "../format.ts";
import { useDebounced, useResource, useSubject } from "../hooks.ts";
import { nameOf } from "../names.ts";
import { hrefTo, navigate, type Parameters, route } from "../router.ts";
import { status } from "../state.ts";
import { vocabulary } from "../vocabulary.ts";

const limit = 20;
const debounce = 180;
const facetLabels: Record<FacetName, string> = {
  type: "Type",
  vocabulary: "Vocabulary",
  site: "Site",
  language: "Language",
};

type Chosen = Record<FacetName, string[]>;

/** The page at `#/search`. */
export function SearchPage(): JSX.Element {
  const parameters = route.value.parameters;
  const query = parameters.get("q") ?? "";
  const offset = Math.max(0, Number(parameters.get("offset")) || 0);
  const chosen = Object.fromEntries(facetNames.map((name) => [name, parameters.getAll(name)])) as Chosen;
  const [typed, setTyped] = useState(query);
  const [active, setActive] = useState(-1);
  const box = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLOListElement>(null);
  const settled = useDebounced(typed, debounce);

  const go = (change: Parameters, replace = true) => {
    navigate(hrefTo("search", { q: query, ...chosen, ...change }), { replace });
    setActive(-1);
  };
  // The box leads while one types; the address leads when it changes by itself (back, a link).
  const led = useRef(query);
  useEffect(() => {
    if (settled.trim() === query || settled !== typed) return;
    led.current = settled.trim();
    go({ q: settled.trim(), offset: null });
  }, [settled]);
  useEffect(() => {
    if (query !== led.current) {
      led.current = query;
      setTyped(query);
    }
  }, [query]);
  useEffect(() => {
    // On a phone the focus would bring up the keyboard, over the results.
    if (window.matchMedia("(pointer: fine)").matches) box.current?.focus({ preventScroll: true });
  }, []);
  useSubject(query || null);

  const narrowed = facetNames.some((name) => chosen[name].length > 0);
  const asked = query !== "" || narrowed;
  const key = asked ? JSON.stringify([query, chosen, offset]) : null;
  const answer = useResource<SearchAnswer>(
    key,
    (abort) => get("/api/search", { q: query, ...chosen, limit, offset }, abort),
    { keep: true },
  );
  const suggestions = useResource<{ suggestions: { text: string; iri: string | null }[] }>(
    settled.trim().length >= 2 ? settled.trim() : null,
    (abort) => get("/api/suggest", { q: settled.trim() }, abort),
  );
  const results = asked ? (answer.value?.results ?? []) : [];

  const press = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (results.length === 0) return;
      event.preventDefault();
      const next = Math.max(-1, Math.min(results.length - 1, active + (event.key === "ArrowDown" ? 1 : -1)));
      setActive(next);
      if (next < 0) box.current?.focus();
      else list.current?.querySelectorAll<HTMLElement>(".result-title")[next]?.focus();
    } else if (event.key === "Escape" && event.target === box.current) {
      setTyped("");
    }
  };
  const submit = (event: Event) => {
    event.preventDefault();
    const first = results[0];
    // Enter asks at once; when the answer is already here, it opens the first thing.
    if (typed.trim() !== query) {
      led.current = typed.trim();
      go({ q: typed.trim(), offset: null }, false);
    } else if (first && !answer.loading) {
      navigate(hrefTo("thing", { iri: first.iri }));
    }
  };

  return (
    <div class={asked ? "search" : "search start"} onKeyDown={press}>
      <h1 class="hidden-text">Search</h1>
      <form class="search-form" role="search" onSubmit={submit}>
        <Icon name="search" />
        <label class="hidden-text" for="search-box">
          Search things
        </label>
        <input
          id="search-box"
          ref={box}
          type="search"
          autocomplete="off"
          spellcheck={false}
          placeholder="People, places, products, articles…"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
          onFocus={() => setActive(-1)}
        />
        <kbd class="wide-only" aria-hidden="true">
          /
        </kbd>
      </form>
      <Suggestions typed={settled.trim()} found={suggestions.value?.suggestions ?? []} onChoose={setTyped} />
      {!asked && <Invitation />}
      {asked && (
        <div class="search-columns">
          <Facets
            facets={answer.value?.facets ?? {}}
            chosen={chosen}
            onChange={(change) => go({ ...change, offset: null }, false)}
          />
          <div class="search-results">
            <p class="search-count" aria-live="polite">
              {answer.value ? (
                <>
                  {answer.value.total_is_exact ? "" : "about "}
                  {plural(answer.value.total, "thing")}
                  <span class="muted"> in {formatMilliseconds(answer.value.milliseconds)}</span>
                </>
              ) : (
                " "
              )}
              {answer.loading && <span class="spinner" aria-hidden="true" />}
            </p>
            <ChosenFacets
              chosen={chosen}
              facets={answer.value?.facets ?? {}}
              onChange={(change) => go({ ...change, offset: null }, false)}
            />
            {answer.value?.suggestion && (
              <Notice>
                Did you mean{" "}
                <a href={hrefTo("search", { q: answer.value.suggestion, ...chosen })}>{answer.value.suggestion}</a>?
              </Notice>
            )}
            {answer.error && <Failure error={answer.error} retry={answer.reload} />}
            {!answer.value && answer.loading && <Loading what="results" lines={8} />}
            {answer.value && results.length === 0 && !answer.error && (
              <Empty title={query ? `Nothing was found for “${query}”.` : "Nothing fits these choices."}>
                <p>
                  {narrowed ? (
                    <Action
                      label="Search everywhere"
                      onClick={() =>
                        go({ type: null, vocabulary: null, site: null, language: null, offset: null }, false)
                      }
                    />
                  ) : (
                    "Fewer or other words may find more. While a crawl runs, new things appear every second."
                  )}
                </p>
              </Empty>
            )}
            <ol class="results" ref={list} start={offset + 1} aria-label="Results">
              {results.map((result, place) => (
                <Result key={result.iri} result={result} active={place === active} onFocus={() => setActive(place)} />
              ))}
            </ol>
            {answer.value && (
              <Pager
                offset={offset}
                limit={limit}
                total={answer.value.total}
                exact={answer.value.total_is_exact}
                onMove={(next) => {
                  go({ offset: next || null }, false);
                  window.scrollTo(0, 0);
                }}
              />
            )}
          </div>
        </div>
      )}
    </div>
  );
}

function Invitation(): JSX.Element {
  const store = status.value?.store;
  const classes = vocabulary.value?.classes.slice(0, 12) ?? [];
  return (
    <Empty
      title={
        store ? `${formatCount(store.quads)} statements from ${plural(store.pages, "page")}` : "Search what was crawled"
      }
    >
      <p>
        Type a name or a few words. Arrow keys walk through the results, Enter opens one, <kbd>/</kbd> brings you back
        to the box.
      </p>
      {classes.length > 0 && (
        <p class="kinds">
          {classes.map(({ iri, count }) => (
            <a key={iri} class="chip link" href={hrefTo("search", { type: iri })} title={iri}>
              {nameOf(iri)} <span class="facet-count">{formatShort(count)}</span>
            </a>
          ))}
        </p>
      )}
    </Empty>
  );
}

function Suggestions(props: {
  typed: string;
  found: { text: string; iri: string | null }[];
  onChoose: (text: string) => void;
}): JSX.Element | null {
  const other = props.found.filter(({ text }) => text.toLowerCase() !== props.typed.toLowerCase()).slice(0, 6);
  if (props.typed.length < 2 || other.length === 0) return null;
  return (
    <ul class="suggestions" aria-label="Suggestions">
      {other.map(({ text, iri }) => (
        <li key={`${text} ${iri ?? ""}`}>
          {iri ? (
            <a class="chip link" href={hrefTo("thing", { iri })}>
              {shorten(text, 40)}
            </a>
          ) : (
            <button type="button" class="chip link" onClick={() => props.onChoose(text)}>
              {shorten(text, 40)}
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}

function Result(props: { result: SearchResult; active: boolean; onFocus: () => void }): JSX.Element {
  const { result } = props;
  return (
    <li class={props.active ? "result active" : "result"}>
      <div class="result-head">
        <a
          class="result-title"
          href={hrefTo("thing", { iri: result.iri })}
          lang={result.label_language ?? undefined}
          onFocus={props.onFocus}
        >
          {result.label || nameOf(result.iri)}
        </a>
        {result.types.slice(0, 4).map((type) => (
          <Chip key={type.iri} title={type.iri}>
            {nameOf(type.iri, type.label)}
          </Chip>
        ))}
      </div>
      <div class="result-iri">{shorten(briefUrl(result.iri), 90)}</div>
      {result.snippet && (
        <p class="result-snippet" lang={result.snippet.language ?? undefined} dir="auto">
          {result.snippet.predicate && <span class="snippet-predicate">{nameOf(result.snippet.predicate)}</span>}
          <Highlighted text={result.snippet.text} highlights={result.snippet.highlights} />
        </p>
      )}
      <p class="result-sources">
        {result.pages.slice(0, 3).map((page, place) => (
          <span key={page.url}>
            {place > 0 && " · "}
            <PageLink url={page.url} title={page.title ? shorten(page.title, 48) : null} length={48} />
          </span>
        ))}
        {result.pages_total > Math.min(3, result.pages.length) && (
          <span class="muted">
            {" "}
            and {plural(result.pages_total - Math.min(3, result.pages.length), "more page", "more pages")}
          </span>
        )}
        {result.sites > 1 && <span class="muted"> · {plural(result.sites, "site")}</span>}
      </p>
    </li>
  );
}

/** Cuts a text into plain and marked pieces. Offsets count UTF-16 units, as JavaScript does; senseless ones are ignored. */
export function cutHighlights(
  text: string,
  highlights: readonly (readonly [number, number])[],
): { text: string; marked: boolean }[] {
  const pieces: { text: string; marked: boolean }[] = [];
  let done = 0;
  for (const [from, to] of [...highlights].sort((left, right) => left[0] - right[0])) {
    if (!(from >= done && to > from && to <= text.length)) continue;
    if (from > done) pieces.push({ text: text.slice(done, from), marked: false });
    pieces.push({ text: text.slice(from, to), marked: true });
    done = to;
  }
  if (done < text.length) pieces.push({ text: text.slice(done), marked: false });
  return pieces;
}

function Highlighted(props: { text: string; highlights: readonly (readonly [number, number])[] }): JSX.Element {
  return (
    <>
      {cutHighlights(props.text, props.highlights).map((piece, place) =>
        piece.marked ? <mark key={place}>{piece.text}</mark> : piece.text,
      )}
    </>
  );
}

function facetLabel(name: FacetName, value: FacetValue | undefined, text: string): string {
  if (value?.label) return value.label;
  return name === "type" || name === "vocabulary" ? nameOf(text) : text;
}

function Facets(props: {
  facets: SearchAnswer["facets"];
  chosen: Chosen;
  onChange: (change: Partial<Chosen>) => void;
}): JSX.Element {
  const [open, setOpen] = useState(() => window.matchMedia("(min-width: 800px)").matches);
  return (
    <aside class="facets" aria-label="Narrow the results">
      <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Narrow</summary>
        {facetNames.map((name) => (
          <Facet
            key={name}
            name={name}
            values={props.facets[name] ?? []}
            chosen={props.chosen[name]}
            onChange={(values) => props.onChange({ [name]: values })}
          />
        ))}
      </details>
    </aside>
  );
}

const facetShown = 8;

function Facet(props: {
  name: FacetName;
  values: FacetValue[];
  chosen: string[];
  onChange: (values: string[]) => void;
}): JSX.Element | null {
  const [all, setAll] = useState(false);
  const { name, values, chosen } = props;
  if (values.length === 0) return null;
  const shown = all ? values : values.filter((value, place) => place < facetShown || chosen.includes(value.value));
  const toggle = (value: string) =>
    props.onChange(chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value]);
  return (
    <fieldset class="facet">
      <legend>{facetLabels[name]}</legend>
      {shown.map((value) => (
        <label key={value.value} class="facet-value" title={value.value}>
          <input type="checkbox" checked={chosen.includes(value.value)} onChange={() => toggle(value.value)} />
          <span class="facet-label">{facetLabel(name, value, value.value)}</span>
          <span class="facet-count">{formatCount(value.count)}</span>
        </label>
      ))}
      {values.length > shown.length && (
        <button type="button" class="link-button" onClick={() => setAll(true)}>
          {values.length - shown.length} more
        </button>
      )}
    </fieldset>
  );
}

function ChosenFacets(props: {
  chosen: Chosen;
  facets: SearchAnswer["facets"];
  onChange: (change: Partial<Chosen>) => void;
}): JSX.Element | null {
  const all = facetNames.flatMap((name) => props.chosen[name].map((value) => ({ name, value })));
  if (all.length === 0) return null;
  return (
    <ul class="suggestions" aria-label="Chosen">
      {all.map(({ name, value }) => {
        const label = facetLabel(
          name,
          props.facets[name]?.find((one) => one.value === value),
          value,
        );
        return (
          <li key={`${name} ${value}`}>
            <button
              type="button"
              class="chip link chosen"
              aria-label={`Remove ${facetLabels[name]} ${label}`}
              onClick={() => props.onChange({ [name]: props.chosen[name].filter((one) => one !== value) })}
            >
              {facetLabels[name]}: {label} <Icon name="cross" />
            </button>
          </li>
        );
      })}
    </ul>
  );
}
