// The pages that came last. The table moves once a second, and stands still while it is pointed at or used.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import type { CrawlState, RecentPage } from "../../api/types.ts";
import { Ago, Chip, Empty, Panel, TableFrame } from "../../components/basics.tsx";
import { PageLink } from "../../components/terms.tsx";
import { formatBytes, formatCount, formatMilliseconds, plural } from "../../format.ts";

/** The table of recent pages. */
export function RecentPages(props: { pages: RecentPage[]; state: CrawlState }): JSX.Element {
  const [held, setHeld] = useState(false);
  const shown = useRef(props.pages);
  if (!held) shown.current = props.pages;
  const pages = shown.current;
  return (
    <Panel title="Recent pages" note={held ? "held while you look" : undefined} flush>
      {pages.length === 0 ? (
        <Empty title={props.state === "running" ? "The first pages are on their way." : "No page was fetched yet."} />
      ) : (
        <div
          onPointerEnter={() => setHeld(true)}
          onPointerLeave={() => setHeld(false)}
          onFocusIn={() => setHeld(true)}
          onFocusOut={() => setHeld(false)}
        >
          <TableFrame label="Recent pages" tall>
            <table class="data">
              <thead>
                <tr>
                  <th scope="col">Page</th>
                  <th scope="col" class="number">
                    Status
                  </th>
                  <th scope="col" class="number">
                    Quads
                  </th>
                  <th scope="col" class="wide-only">
                    Syntaxes
                  </th>
                  <th scope="col" class="number wide-only">
                    Size
                  </th>
                  <th scope="col" class="number widest-only">
                    Took
                  </th>
                  <th scope="col">When</th>
                </tr>
              </thead>
              <tbody>
                {pages.map((page) => (
                  <tr key={`${page.at} ${page.url}`}>
                    <td class="clip">
                      <PageLink url={page.url} length={54} />
                    </td>
                    <td class={statusTone(page.status)}>{page.status ?? "–"}</td>
                    <td class="number">
                      {formatCount(page.quads)}
                      {page.diagnostics > 0 && (
                        <span class="warn-text" title={plural(page.diagnostics, "diagnostic")}>
                          {" "}
                          !<span class="hidden-text">{plural(page.diagnostics, "diagnostic")}</span>
                        </span>
                      )}
                    </td>
                    <td class="wide-only nowrap">
                      {page.syntaxes.map((syntax) => (
                        <Chip key={syntax}>{syntax}</Chip>
                      ))}
                    </td>
                    <td class="number wide-only">{formatBytes(page.bytes)}</td>
                    <td class="number widest-only">{formatMilliseconds(page.milliseconds)}</td>
                    <td class="nowrap">
                      <Ago time={page.at} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </TableFrame>
        </div>
      )}
    </Panel>
  );
}

/** Good answers are quiet, failures are not. */
export function statusTone(status: number | null): string {
  if (status === null || status >= 500) return "number bad-text";
  return status >= 400 ? "number warn-text" : "number";
}
