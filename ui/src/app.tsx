// The frame around every page: skip link, navigation, the state of the crawl, the theme switch; and which page an address means.
import type { ComponentType, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { token } from "./api/client.ts";
import { Failure, Loading, Notice, StatePill } from "./components/basics.tsx";
import { Icon, type IconName, Mark } from "./components/icons.tsx";
import { formatShort } from "./format.ts";
import { CrawlPage } from "./pages/crawl/crawl.tsx";
import { NewCrawlPage } from "./pages/crawl/newcrawl.tsx";
import { ErrorsPage } from "./pages/errors.tsx";
import { PagePage } from "./pages/page/page.tsx";
import { SearchPage } from "./pages/search.tsx";
import { SettingsPage } from "./pages/settings.tsx";
import { SitesPage } from "./pages/sites.tsx";
import { ThingPage } from "./pages/thing/thing.tsx";
import { UnknownPage } from "./pages/unknown.tsx";
import { hrefTo, navigate, route, type RouteName } from "./router.ts";
import { crawlBrief, refreshStatus, status, statusError, subject, theme, type Theme, themes } from "./state.ts";
import { refreshVocabulary } from "./vocabulary.ts";

const navigation: { name: RouteName; label: string; also: RouteName[] }[] = [
  { name: "crawl", label: "Crawl", also: ["new"] },
  { name: "search", label: "Search", also: ["thing"] },
  { name: "query", label: "Query", also: [] },
  { name: "sites", label: "Sites", also: ["page"] },
  { name: "errors", label: "Errors", also: [] },
  { name: "settings", label: "Settings", also: [] },
];

const titles: Record<RouteName | "unknown", string> = {
  crawl: "Crawl",
  new: "New crawl",
  search: "Search",
  thing: "Thing",
  page: "Page",
  query: "Query",
  sites: "Sites",
  errors: "Errors",
  settings: "Settings",
  unknown: "Not found",
};

const pages: Record<Exclude<RouteName, "query"> | "unknown", ComponentType> = {
  crawl: CrawlPage,
  new: NewCrawlPage,
  search: SearchPage,
  thing: ThingPage,
  page: PagePage,
  sites: SitesPage,
  errors: ErrorsPage,
  settings: SettingsPage,
  unknown: UnknownPage,
};

/** The whole interface. */
export function App(): JSX.Element {
  const main = useRef<HTMLElement>(null);
  const name = route.value.name;
  const first = useRef(true);

  useEffect(refreshVocabulary, [name]);

  const about = subject.value;
  useEffect(() => {
    document.title = `${about ? `${about} · ` : ""}${titles[name]} · Webloom`;
  }, [name, about]);

  useEffect(() => {
    // A new page starts at its top, and a screen reader at its beginning; unless the page has put the focus somewhere itself, as the
    // search does. Not at the very first page: the browser does that.
    if (!first.current && !main.current?.contains(document.activeElement)) main.current?.focus({ preventScroll: true });
    if (!first.current) window.scrollTo(0, 0);
    first.current = false;
  }, [name]);

  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
      event.preventDefault();
      const box = document.querySelector<HTMLInputElement>("#search-box");
      if (box) box.focus();
      else navigate(hrefTo("search"));
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);

  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          // The address after # belongs to the router, so the jump is made by hand.
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to the content
      </a>
      <Header current={name} />
      <main id="main" ref={main} tabIndex={-1}>
        {statusError.value && <Trouble />}
        {name === "query" ? <LazyQueryPage /> : <Chosen page={pages[name]} />}
      </main>
    </>
  );
}

function Chosen(props: { page: ComponentType }): JSX.Element {
  const Page = props.page;
  return <Page />;
}

/** The editor is the largest part of the interface, so it comes when it is first wanted. */
function LazyQueryPage(): JSX.Element {
  const [page, setPage] = useState<{ component: ComponentType } | null>(null);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    import("./pages/query/query.tsx").then(
      (module) => setPage({ component: module.QueryPage }),
      () => setFailed(true),
    );
  }, []);
  if (failed)
    return (
      <Notice kind="warn">
        The query page could not be loaded. Load this page again; the server may have been renewed.
      </Notice>
    );
  return page ? <Chosen page={page.component} /> : <Loading what="the editor" lines={6} />;
}

function Trouble(): JSX.Element | null {
  const error = statusError.value;
  if (!error) return null;
  if (error.status === 401 || error.status === 403) {
    return (
      <Notice kind="warn">
        <p>
          <strong>{token.value ? "The token is not accepted." : "This server wants a token."}</strong> Open the link
          that <code>webloom serve</code> printed, or enter the token under <a href={hrefTo("settings")}>Settings</a>.
        </p>
      </Notice>
    );
  }
  return <Failure error={error} retry={() => void refreshStatus()} />;
}

function Header(props: { current: RouteName | "unknown" }): JSX.Element {
  const brief = crawlBrief.value;
  return (
    <header class="topbar">
      <a class="brand" href={hrefTo("crawl")} aria-label="Webloom, to the crawl">
        <Mark />
        <span>Webloom</span>
      </a>
      <nav class="main-nav" aria-label="Main">
        <ul>
          {navigation.map(({ name, label, also }) => (
            <li key={name}>
              <a
                href={hrefTo(name)}
                aria-current={
                  name === props.current ? "page" : also.some((other) => other === props.current) ? "true" : undefined
                }
              >
                {label}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div class="top-state">
        {brief && (
          <span class="top-crawl">
            <StatePill state={brief.state} />
            <span class="top-counts">
              {formatShort(brief.pages)} pages · {formatShort(status.value?.store.quads ?? brief.quads)} quads
            </span>
          </span>
        )}
        <ThemeSwitch />
      </div>
    </header>
  );
}

const themeIcons: Record<Theme, IconName> = { system: "system", light: "sun", dark: "moon" };

function ThemeSwitch(): JSX.Element {
  const next = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? "system";
  return (
    <button
      type="button"
      class="button quiet icon-only"
      aria-label={`Theme: ${theme.value}. Change to ${next}`}
      title={`Theme: ${theme.value}`}
      onClick={() => (theme.value = next)}
    >
      <Icon name={themeIcons[theme.value]} />
    </button>
  );
}

function isTyping(event: KeyboardEvent): boolean {
  // Through shadow roots too: the editor lives in one.
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}
