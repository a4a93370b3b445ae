// How the server means to answer a query: the operators as a tree, with estimated and real rows where they are known.
import type { JSX } from "preact";
import type { Explanation, PlanNode } from "../../api/types.ts";
import { formatCount, formatMilliseconds } from "../../format.ts";

export interface PlanRow {
  node: PlanNode;
  depth: number;
}

const rowsMost = 500;

/** The tree as rows with their depth, top first. Trees of any depth: no recursion. */
export function planRows(plan: PlanNode): PlanRow[] {
  const rows: PlanRow[] = [];
  const waiting: PlanRow[] = [{ node: plan, depth: 0 }];
  while (waiting.length > 0 && rows.length < rowsMost) {
    const row = waiting.pop();
    if (!row) break;
    rows.push(row);
    const children = row.node.children ?? [];
    for (let place = children.length - 1; place >= 0; place -= 1) {
      const child = children[place];
      if (child) waiting.push({ node: child, depth: row.depth + 1 });
    }
  }
  return rows;
}

/** The table, or the text where there is no tree. */
export function PlanView(props: { explanation: Explanation }): JSX.Element {
  const { plan, text } = props.explanation;
  if (!plan) {
    return (
      <pre class="source" tabIndex={0} aria-label="Plan">
        {text}
      </pre>
    );
  }
  const rows = planRows(plan);
  const measured = rows.some(({ node }) => node.milliseconds !== null && node.milliseconds !== undefined);
  return (
    <>
      <div class="table-frame" role="region" aria-label="Table: Plan" tabIndex={0}>
        <table class="data top">
          <thead>
            <tr>
              <th scope="col">Operator</th>
              <th scope="col" class="number">
                Rows expected
              </th>
              <th scope="col" class="number">
                Rows
              </th>
              {measured && (
                <th scope="col" class="number">
                  Time
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ node, depth }, place) => (
              <tr key={place}>
                <td class="wrap">
                  <span class="plan-node" style={{ paddingLeft: `${Math.min(depth, 20) * 18}px` }}>
                    <strong>{node.operator}</strong> {node.detail && <code>{node.detail}</code>}
                  </span>
                </td>
                <td class="number">{formatCount(node.estimated_rows)}</td>
                <td class="number">{formatCount(node.rows)}</td>
                {measured && <td class="number">{formatMilliseconds(node.milliseconds)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {text && (
        <details class="fold-text">
          <summary>As text</summary>
          <pre class="source" tabIndex={0} aria-label="Plan as text">
            {text}
          </pre>
        </details>
      )}
    </>
  );
}
