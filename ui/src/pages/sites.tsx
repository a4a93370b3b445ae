// The sites that gave data, and the pages of one of them.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import type { PageRow, Site } from "../api/types.ts";
import {
  Ago,
  Chip,
  Empty,
  Failure,
  Loading,
  PageTitle,
  Pager,
  Panel,
  Segments,
  TableFrame,
} from "../components/basics.tsx";
import { PageLink } from "../components/terms.tsx";
import { briefUrl, formatCount, plural, shorten } from "../format.ts";
import { useDebounced, useResource, useSubject } from "../hooks.ts";
import { prefixes } from "../names.ts";
import { hrefTo, navigate, route } from "../router.ts";

const limit = 50;

type Sort = "pages" | "quads";

/** The page at `#/sites`, and at `#/sites?site=…` for one of them. */
export function SitesPage(): JSX.Element {
  const parameters = route.value.parameters;
  const site = parameters.get("site");
  const offset = Math.max(0, Number(parameters.get("offset")) || 0);
  if (site !== null || parameters.get("q") !== null || parameters.get("all") !== null) {
    return <PagesOf site={site ?? ""} words={parameters.get("q") ?? ""} offset={offset} />;
  }
  return <AllSites sort={parameters.get("sort") === "quads" ? "quads" : "pages"} offset={offset} />;
}

function AllSites(props: { sort: Sort; offset: number }): JSX.Element {
  const { sort, offset } = props;
  const sites = useResource<{ total: number; sites: Site[] }>(
    `${sort} ${offset}`,
    (abort) => get("/api/sites", { sort, limit, offset }, abort),
    {
      keep: true,
      every: 15_000,
    },
  );
  return (
    <>
      <PageTitle
        note={sites.value && plural(sites.value.total, "site")}
        actions={
          <a class="button" href={hrefTo("sites", { all: true })}>
            All pages
          </a>
        }
      >
        Sites
      </PageTitle>
      <Panel
        title="By site"
        flush
        actions={
          <Segments
            label="Order"
            options={[
              { value: "pages", label: "most pages" },
              { value: "quads", label: "most data" },
            ]}
            chosen={sort}
            onChoose={(value) => navigate(hrefTo("sites", { sort: value }), { replace: true })}
          />
        }
      >
        {sites.error && <Failure error={sites.error} retry={sites.reload} />}
        {!sites.value && sites.loading && <Loading what="sites" lines={8} />}
        {sites.value && sites.value.sites.length === 0 && (
          <Empty title="No site gave data yet.">
            <p>
              Sites appear here as soon as pages are indexed. <a href={hrefTo("crawl")}>See the crawl.</a>
            </p>
          </Empty>
        )}
        {sites.value && sites.value.sites.length > 0 && (
          <TableFrame label="Sites">
            <table class="data">
              <thead>
                <tr>
                  <th scope="col">Site</th>
                  <th scope="col" class="number">
                    Pages
                  </th>
                  <th scope="col" class="number">
                    Quads
                  </th>
                  <th scope="col" class="number">
                    Errors
                  </th>
                  <th scope="col">Languages</th>
                  <th scope="col">Vocabularies</th>
                </tr>
              </thead>
              <tbody>
                {sites.value.sites.map((site) => (
                  <tr key={site.site}>
                    <th scope="row">
                      <a href={hrefTo("sites", { site: site.site })}>{site.site}</a>
                    </th>
                    <td class="number">{formatCount(site.pages)}</td>
                    <td class="number">{formatCount(site.quads)}</td>
                    <td class={site.errors > 0 ? "number bad-text" : "number"}>{formatCount(site.errors)}</td>
                    <td>{site.languages.join(", ")}</td>
                    <td>
                      <span class="chips">
                        {site.vocabularies.slice(0, 6).map((vocabulary) => (
                          <Chip key={vocabulary} title={vocabulary}>
                            {vocabularyName(vocabulary)}
                          </Chip>
                        ))}
                        {site.vocabularies.length > 6 && <span class="muted">+{site.vocabularies.length - 6}</span>}
                      </span>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </TableFrame>
        )}
        {sites.value && (
          <Pager
            offset={offset}
            limit={limit}
            total={sites.value.total}
            onMove={(next) => navigate(hrefTo("sites", { sort, offset: next || null }))}
          />
        )}
      </Panel>
    </>
  );
}

/** A vocabulary by its prefix where it has one; the server may name it by prefix or by namespace. */
export function vocabularyName(vocabulary: string): string {
  const prefix = Object.entries(prefixes.value).find(([, namespace]) => namespace === vocabulary)?.[0];
  return prefix ?? shorten(briefUrl(vocabulary).replace(/[#/]$/, ""), 30);
}

function PagesOf(props: { site: string; words: string; offset: number }): JSX.Element {
  const { site, words, offset } = props;
  const [typed, setTyped] = useState(words);
  const settled = useDebounced(typed, 250);
  useEffect(() => setTyped(words), [words]);
  useEffect(() => {
    if (settled !== words && settled === typed)
      navigate(hrefTo("sites", { site, q: settled, all: site === "" }), { replace: true });
  }, [settled]);
  const pages = useResource<{ total: number; pages: PageRow[] }>(
    `${site} ${words} ${offset}`,
    (abort) => get("/api/pages", { site, q: words, limit, offset }, abort),
    { keep: true },
  );
  useSubject(site || null);
  return (
    <>
      <PageTitle
        note={pages.value && plural(pages.value.total, "page")}
        actions={
          <>
            {site && (
              <a class="button" href={hrefTo("search", { site })}>
                Things on this site
              </a>
            )}
            <a class="button" href={hrefTo("sites")}>
              All sites
            </a>
          </>
        }
      >
        {site || "All pages"}
      </PageTitle>
      <Panel
        title="Pages"
        flush
        actions={
          <label>
            <span class="hidden-text">Find in pages</span>
            <input
              type="search"
              placeholder="find in URL or title"
              value={typed}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          </label>
        }
      >
        {pages.error && <Failure error={pages.error} retry={pages.reload} />}
        {!pages.value && pages.loading && <Loading what="pages" lines={8} />}
        {pages.value && pages.value.pages.length === 0 && (
          <Empty
            title={words ? `No page has “${words}” in its URL or title.` : "No page of this site is in the store."}
          />
        )}
        {pages.value && pages.value.pages.length > 0 && (
          <TableFrame label="Pages">
            <table class="data">
              <thead>
                <tr>
                  <th scope="col">Page</th>
                  <th scope="col">Title</th>
                  <th scope="col">Type</th>
                  <th scope="col" class="number">
                    Quads
                  </th>
                  <th scope="col">Fetched</th>
                </tr>
              </thead>
              <tbody>
                {pages.value.pages.map((page) => (
                  <tr key={page.url}>
                    <td class="clip">
                      <PageLink url={page.url} length={70} />
                    </td>
                    <td dir="auto">{page.title}</td>
                    <td>{page.type}</td>
                    <td class="number">{formatCount(page.quads)}</td>
                    <td class="nowrap">
                      <Ago time={page.fetched_at} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </TableFrame>
        )}
        {pages.value && (
          <Pager
            offset={offset}
            limit={limit}
            total={pages.value.total}
            onMove={(next) => navigate(hrefTo("sites", { site, q: words, all: site === "", offset: next || null }))}
          />
        )}
      </Panel>
    </>
  );
}
