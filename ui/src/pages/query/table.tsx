// Solutions as a table: sorted by a click on a column, a hundred rows at a time.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Pager, TableFrame } from "../../components/basics.tsx";
import { TermView } from "../../components/terms.tsx";
import {
  columnKind,
  type ResultTerm,
  type SolutionTable,
  termMoment,
  termNumber,
  termText,
} from "../../sparql/results.ts";

const shownAtOnce = 100;

/** Compares two cells: numbers and times by value, everything else as text; unbound cells come last. */
export function compareTerms(left: ResultTerm | null, right: ResultTerm | null): number {
  if (!left || !right) return left ? -1 : right ? 1 : 0;
  const numbers = [termNumber(left) ?? termMoment(left), termNumber(right) ?? termMoment(right)] as const;
  if (numbers[0] !== null && numbers[1] !== null) return numbers[0] - numbers[1];
  return termText(left).localeCompare(termText(right));
}

/** The table. */
export function ResultTable(props: { table: SolutionTable }): JSX.Element {
  const { table } = props;
  const [offset, setOffset] = useState(0);
  const [order, setOrder] = useState<{ column: number; descending: boolean } | null>(null);
  const rows = useMemo(() => {
    if (!order) return table.rows;
    const sign = order.descending ? -1 : 1;
    return [...table.rows].sort(
      (left, right) => sign * compareTerms(left[order.column] ?? null, right[order.column] ?? null),
    );
  }, [table, order]);
  const kinds = useMemo(() => table.variables.map((_, column) => columnKind(table, column)), [table]);
  const shown = rows.slice(offset, offset + shownAtOnce);
  const sort = (column: number) => {
    setOffset(0);
    setOrder((old) =>
      old?.column !== column ? { column, descending: false } : old.descending ? null : { column, descending: true },
    );
  };
  return (
    <>
      <TableFrame label="Results" tall>
        <table class="data top">
          <thead>
            <tr>
              {table.variables.map((name, column) => {
                const sorted = order?.column === column ? (order.descending ? "descending" : "ascending") : "none";
                return (
                  <th key={name} scope="col" aria-sort={sorted} class={kinds[column] === "number" ? "number" : ""}>
                    <button type="button" class="sort" onClick={() => sort(column)}>
                      {name}
                      <span aria-hidden="true">
                        {sorted === "ascending" ? " ↑" : sorted === "descending" ? " ↓" : ""}
                      </span>
                    </button>
                  </th>
                );
              })}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, place) => (
              <tr key={place + offset}>
                {row.map((term, column) => (
                  <td key={column} class={kinds[column] === "number" ? "number" : "wrap"}>
                    <Cell term={term} plain={kinds[column] === "number"} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </TableFrame>
      <Pager offset={offset} limit={shownAtOnce} total={rows.length} onMove={setOffset} />
    </>
  );
}

function Cell(props: { term: ResultTerm | null; plain: boolean }): JSX.Element | null {
  const { term } = props;
  if (!term) return null;
  if (term.kind === "triple") {
    return (
      <span class="triple">
        « <Cell term={term.subject} plain={false} /> <Cell term={term.predicate} plain={false} />{" "}
        <Cell term={term.object} plain={false} /> »
      </span>
    );
  }
  if (props.plain) return <>{termText(term)}</>;
  return <TermView term={term} />;
}
