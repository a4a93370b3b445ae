// The life of a URL: where it was found, what the filters and robots said, where it stands in the queue, each fetch, what came of it.
import type { ComponentChildren, JSX } from "preact";
import type { UrlLife } from "../../api/types.ts";
import { Ago, Chip, TableFrame } from "../../components/basics.tsx";
import { PageLink } from "../../components/terms.tsx";
import { formatBytes, formatMilliseconds, formatTime, plural, words } from "../../format.ts";

/** The life as a list of steps. */
export function Life(props: { life: UrlLife }): JSX.Element {
  const { life } = props;
  const queue = Object.entries(life.queue ?? {}).filter(([, value]) => value !== null);
  return (
    <ol class="life">
      <Step title="Found" done={life.found !== null}>
        {life.found ? (
          <>
            {life.found.on ? (
              <>
                on <PageLink url={life.found.on} />
              </>
            ) : (
              "given as a seed or by hand"
            )}
            {life.found.anchor && <> as “{life.found.anchor}”</>}
            {life.found.depth !== null && <>, {plural(life.found.depth, "link")} from a seed</>}
            {life.found.at && (
              <>
                , <Ago time={life.found.at} />
              </>
            )}
          </>
        ) : (
          "never met"
        )}
      </Step>
      <Step title="Filters" done={life.filters.every((filter) => filter.passed)}>
        {life.filters.length === 0 && "none spoke of it"}
        <ul class="plain-list">
          {life.filters.map((filter) => (
            <li key={filter.name}>
              <Chip tone={filter.passed ? "good" : "bad"}>{filter.passed ? "passed" : "refused"}</Chip> {filter.name}
              {filter.reason && <span class="muted"> {filter.reason}</span>}
            </li>
          ))}
        </ul>
        {life.refused && <p class="bad-text">{life.refused}</p>}
      </Step>
      <Step title="Robots" done={life.robots !== null}>
        {life.robots ? (
          <>
            {life.robots.verdict}
            {life.robots.rule && (
              <>
                {" "}
                by <code>{life.robots.rule}</code>
              </>
            )}
          </>
        ) : (
          "not asked yet"
        )}
      </Step>
      <Step title="Queue" done={!["queued", "leased", "waiting", "unknown"].includes(life.state)}>
        <span>{words(life.state)}</span>
        {life.priority !== null && life.priority !== undefined && <span class="muted"> priority {life.priority}</span>}
        {queue.length > 0 && (
          <dl class="pairs" aria-label="The queue of its host">
            {queue.map(([key, value]) => (
              <div key={key} class="pair">
                <dt>{words(key)}</dt>
                <dd>{typeof value === "object" ? JSON.stringify(value) : String(value)}</dd>
              </div>
            ))}
          </dl>
        )}
      </Step>
      <Step title="Fetches" done={life.fetches.length > 0}>
        {life.fetches.length === 0 ? (
          "none yet"
        ) : (
          <TableFrame label="Fetches">
            <table class="data">
              <thead>
                <tr>
                  <th scope="col">When</th>
                  <th scope="col">Outcome</th>
                  <th scope="col" class="number">
                    Status
                  </th>
                  <th scope="col" class="number">
                    Size
                  </th>
                  <th scope="col" class="number">
                    Took
                  </th>
                </tr>
              </thead>
              <tbody>
                {life.fetches.map((fetch, place) => (
                  <tr key={place}>
                    <td class="nowrap">{formatTime(fetch.at)}</td>
                    <td>{fetch.outcome}</td>
                    <td class="number">{fetch.status ?? "–"}</td>
                    <td class="number">{formatBytes(fetch.bytes)}</td>
                    <td class="number">{formatMilliseconds(fetch.milliseconds)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </TableFrame>
        )}
      </Step>
      <Step title="Data" done={(life.extracted?.quads ?? 0) > 0}>
        {life.extracted?.graph ? (
          <>
            {plural(life.extracted.quads, "quad")} in the graph <PageLink url={life.extracted.graph} />
          </>
        ) : (
          "none"
        )}
      </Step>
    </ol>
  );
}

function Step(props: { title: string; done: boolean; children: ComponentChildren }): JSX.Element {
  return (
    <li class={props.done ? "life-step done" : "life-step"}>
      <h3>{props.title}</h3>
      <div>{props.children}</div>
    </li>
  );
}
