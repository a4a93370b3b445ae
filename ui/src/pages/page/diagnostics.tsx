// What was wrong with a page, with the line where it is known.
import type { JSX } from "preact";
import type { Diagnostic } from "../../api/types.ts";
import { Chip, Empty, TableFrame } from "../../components/basics.tsx";

const tones: Record<string, string> = { error: "bad", warning: "warn" };

/** The table. */
export function Diagnostics(props: { diagnostics: Diagnostic[] }): JSX.Element {
  if (props.diagnostics.length === 0) return <Empty title="Nothing was wrong with this page." />;
  return (
    <TableFrame label="Diagnostics">
      <table class="data">
        <thead>
          <tr>
            <th scope="col">Severity</th>
            <th scope="col">Syntax</th>
            <th scope="col" class="number">
              Line
            </th>
            <th scope="col">What</th>
          </tr>
        </thead>
        <tbody>
          {props.diagnostics.map((diagnostic, place) => (
            <tr key={place}>
              <td>
                <Chip tone={tones[diagnostic.severity] ?? ""}>{diagnostic.severity}</Chip>
              </td>
              <td>{diagnostic.syntax ?? "–"}</td>
              <td class="number">{diagnostic.line ?? "–"}</td>
              <td>
                {diagnostic.message} {diagnostic.code && <code class="muted">{diagnostic.code}</code>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  );
}
