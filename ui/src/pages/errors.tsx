// What went wrong in a crawl: by kind, the hosts where it happens most, and examples whose life can be looked at.
import type { JSX } from "preact";
import { crawlPath, get } from "../api/client.ts";
import type { ErrorKind } from "../api/types.ts";
import { Ago, Empty, Failure, Loading, Meter, PageTitle, Panel, TableFrame } from "../components/basics.tsx";
import { PageLink } from "../components/terms.tsx";
import { formatCount, formatShare, plural, words } from "../format.ts";
import { useResource } from "../hooks.ts";
import { hrefTo } from "../router.ts";
import { crawlId, status } from "../state.ts";

/** The page at `#/errors`. */
export function ErrorsPage(): JSX.Element {
  const id = crawlId.value;
  const errors = useResource<{ kinds: ErrorKind[] }>(id, (abort) => get(crawlPath(id ?? "", "/errors"), {}, abort), {
    every: 10_000,
  });
  const kinds = [...(errors.value?.kinds ?? [])].sort((left, right) => right.count - left.count);
  const all = kinds.reduce((sum, kind) => sum + kind.count, 0);
  return (
    <>
      <PageTitle note={errors.value && <span aria-live="polite">{plural(all, "error")}</span>}>Errors</PageTitle>
      {errors.error && <Failure error={errors.error} retry={errors.reload} />}
      {id === null && status.value && <Empty title="There is no crawl here, so nothing can go wrong." />}
      {id !== null && !errors.value && errors.loading && <Loading what="errors" lines={6} />}
      {errors.value && kinds.length === 0 && (
        <Empty title="Nothing went wrong so far.">
          <p>Hosts that do not answer, broken certificates, pages cut at a limit and the like would be listed here.</p>
        </Empty>
      )}
      <div class="stack">
        {kinds.map((kind) => (
          <Kind key={kind.kind} kind={kind} all={all} />
        ))}
      </div>
    </>
  );
}

function Kind(props: { kind: ErrorKind; all: number }): JSX.Element {
  const { kind, all } = props;
  const share = all > 0 ? kind.count / all : 0;
  return (
    <Panel title={words(kind.kind)} note={`${formatCount(kind.count)} · ${formatShare(share)}`} flush>
      <div class="error-bar">
        <Meter share={share} label={`${kind.kind}: ${formatShare(share)} of all errors`} tone="bad" />
      </div>
      <div class="columns error-columns">
        <TableFrame label={`Hosts with ${words(kind.kind)}`}>
          <table class="data">
            <thead>
              <tr>
                <th scope="col">Host</th>
                <th scope="col" class="number">
                  Errors
                </th>
              </tr>
            </thead>
            <tbody>
              {kind.hosts.slice(0, 10).map((host) => (
                <tr key={host.host}>
                  <td>
                    <a href={hrefTo("sites", { site: host.host })}>{host.host}</a>
                  </td>
                  <td class="number">{formatCount(host.count)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableFrame>
        <TableFrame label={`Examples of ${words(kind.kind)}`}>
          <table class="data">
            <thead>
              <tr>
                <th scope="col">Example</th>
                <th scope="col">What happened</th>
                <th scope="col">When</th>
              </tr>
            </thead>
            <tbody>
              {kind.examples.map((example, place) => (
                <tr key={place}>
                  <td class="clip">
                    <PageLink url={example.url} length={50} />
                  </td>
                  <td class="wrap">{example.message}</td>
                  <td class="nowrap">
                    <Ago time={example.at} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableFrame>
      </div>
    </Panel>
  );
}
