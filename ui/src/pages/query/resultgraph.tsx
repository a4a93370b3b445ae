// Solutions or statements as a picture.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Empty, Notice } from "../../components/basics.tsx";
import { GraphView } from "../../graph/graphview.tsx";
import { tableGraph } from "../../sparql/asgraph.ts";
import type { SolutionTable } from "../../sparql/results.ts";

/** The picture, or why there is none. */
export function ResultGraphView(props: { table: SolutionTable }): JSX.Element {
  const graph = useMemo(() => tableGraph(props.table), [props.table]);
  if (!graph) {
    return (
      <Empty title="There is nothing to draw in this result.">
        <p>
          A graph needs statements (CONSTRUCT, or SELECT ?subject ?predicate ?object), or at least two columns that hold
          things.
        </p>
      </Empty>
    );
  }
  return (
    <>
      {graph.cut && <Notice>Only the first {graph.nodes.length} nodes are drawn.</Notice>}
      <GraphView nodes={graph.nodes} links={graph.links} label="The result as a graph" height={460} />
    </>
  );
}
