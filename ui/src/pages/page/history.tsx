// When a page was fetched, and whether it had changed.
import type { JSX } from "preact";
import type { PageAnswer } from "../../api/types.ts";
import { Ago, Chip, Empty, TableFrame } from "../../components/basics.tsx";
import { formatTime, shorten } from "../../format.ts";

/** The table. */
export function History(props: { history: PageAnswer["history"] }): JSX.Element {
  if (props.history.length === 0) return <Empty title="No earlier fetch is remembered." />;
  return (
    <TableFrame label="History">
      <table class="data">
        <thead>
          <tr>
            <th scope="col">Fetched</th>
            <th scope="col">When</th>
            <th scope="col" class="number">
              Status
            </th>
            <th scope="col">Content</th>
            <th scope="col">Digest</th>
          </tr>
        </thead>
        <tbody>
          {props.history.map((visit, place) => (
            <tr key={place}>
              <td class="nowrap">{formatTime(visit.at)}</td>
              <td class="nowrap">
                <Ago time={visit.at} />
              </td>
              <td class="number">{visit.status ?? "–"}</td>
              <td>
                {/* With a single fetch there is nothing to compare with. */}
                {props.history.length > 1 && (
                  <Chip tone={visit.changed ? "accent" : ""}>{visit.changed ? "changed" : "the same"}</Chip>
                )}
              </td>
              <td>{visit.digest && <code title={visit.digest}>{shorten(visit.digest, 24)}</code>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  );
}
