// The hosts of the crawl: how fast each is asked, what waits, and what its robots file said.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { crawlPath, get } from "../../api/client.ts";
import type { Host, HostState } from "../../api/types.ts";
import { Ago, Chip, Empty, Failure, Loading, Pager, Panel, TableFrame } from "../../components/basics.tsx";
import { formatCount, formatMilliseconds, plural } from "../../format.ts";
import { useResource } from "../../hooks.ts";
import { hrefTo } from "../../router.ts";

type Sort = "queued" | "fetched" | "errors";

const sorts: { value: Sort; label: string }[] = [
  { value: "queued", label: "most queued" },
  { value: "fetched", label: "most fetched" },
  { value: "errors", label: "most errors" },
];

const states: HostState[] = ["ready", "waiting", "snoozed", "retired", "exhausted", "blocked"];

const stateMeanings: Record<HostState, string> = {
  ready: "may be asked now",
  waiting: "its delay is not over yet",
  snoozed: "left alone for a while after failures",
  retired: "nothing is left to fetch",
  exhausted: "its budget is used up",
  blocked: "kept out by a rule",
};

const robotsMeanings: Record<Host["robots"], string> = {
  fine: "robots.txt was read",
  none: "there is no robots.txt: everything is allowed",
  unreachable: "robots.txt cannot be read now: the host is left alone",
  unknown: "robots.txt was not asked for yet",
};

const limit = 15;

/** The table of hosts. */
export function Hosts(props: { id: string }): JSX.Element {
  const [sort, setSort] = useState<Sort>("queued");
  const [state, setState] = useState<HostState | "">("");
  const [offset, setOffset] = useState(0);
  const hosts = useResource<{ total: number; hosts: Host[] }>(
    `${props.id} ${sort} ${state} ${offset}`,
    (abort) => get(crawlPath(props.id, "/hosts"), { sort, state, limit, offset }, abort),
    { every: 5000, keep: true },
  );
  const rows = hosts.value?.hosts ?? [];
  return (
    <Panel
      title="Hosts"
      note={hosts.value ? formatCount(hosts.value.total) : undefined}
      flush
      actions={
        <>
          <label class="inline-label">
            <span class="hidden-text">State of hosts</span>
            <select
              value={state}
              onChange={(event) => {
                setState(event.currentTarget.value as HostState | "");
                setOffset(0);
              }}
            >
              <option value="">all states</option>
              {states.map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
            </select>
          </label>
          <label class="inline-label">
            <span class="hidden-text">Order of hosts</span>
            <select
              value={sort}
              onChange={(event) => {
                setSort(event.currentTarget.value as Sort);
                setOffset(0);
              }}
            >
              {sorts.map((one) => (
                <option key={one.value} value={one.value}>
                  {one.label}
                </option>
              ))}
            </select>
          </label>
        </>
      }
    >
      {hosts.error && <Failure error={hosts.error} retry={hosts.reload} />}
      {!hosts.value && !hosts.error && <Loading what="hosts" lines={5} />}
      {hosts.value && rows.length === 0 && <Empty title={state ? `No host is ${state}.` : "No host was met yet."} />}
      {rows.length > 0 && (
        <TableFrame label="Hosts">
          <table class="data">
            <thead>
              <tr>
                <th scope="col">Host</th>
                <th scope="col">State</th>
                <th scope="col" class="number">
                  Queued
                </th>
                <th scope="col" class="number">
                  Fetched
                </th>
                <th scope="col" class="number">
                  Errors
                </th>
                <th scope="col" class="number">
                  Delay
                </th>
                <th scope="col">Next</th>
                <th scope="col">Robots</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((host) => (
                <tr key={host.host}>
                  <th scope="row">
                    <a
                      href={hrefTo("sites", { site: host.host })}
                      title={host.ip ? `${host.host} at ${host.ip}` : host.host}
                    >
                      {host.host}
                    </a>
                  </th>
                  <td>
                    <Chip tone={host.state} title={stateMeanings[host.state]}>
                      {host.state}
                    </Chip>
                  </td>
                  <td
                    class="number"
                    title={host.leased > 0 ? `${plural(host.leased, "URL")} being worked on` : undefined}
                  >
                    {formatCount(host.queued)}
                  </td>
                  <td class="number">{formatCount(host.fetched)}</td>
                  <td class={host.errors > 0 ? "number bad-text" : "number"}>{formatCount(host.errors)}</td>
                  <td class="number">{formatMilliseconds(host.delay_ms)}</td>
                  <td class="nowrap">
                    <Ago time={host.next_at} />
                  </td>
                  <td>
                    <span class={host.robots === "unreachable" ? "bad-text" : ""} title={robotsMeanings[host.robots]}>
                      {host.robots}
                    </span>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableFrame>
      )}
      {hosts.value && <Pager offset={offset} limit={limit} total={hosts.value.total} onMove={setOffset} />}
    </Panel>
  );
}
