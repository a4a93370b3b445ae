// The picture of a thing among its neighbours. Unfolding a node asks for its neighbours and adds them to the picture.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type ApiError, get } from "../../api/client.ts";
import type { GraphLink, GraphNode, ThingGraph } from "../../api/types.ts";
import { Empty, Failure, Loading, Panel } from "../../components/basics.tsx";
import { GraphView } from "../../graph/graphview.tsx";
import { asApiError, useResource } from "../../hooks.ts";
import { hrefTo } from "../../router.ts";

const nodesMost = 150;

/** Adds a graph to another; nodes and links that are there already are not added twice. */
export function joinGraphs(left: ThingGraph, right: ThingGraph): ThingGraph {
  const nodes = new Map<string, GraphNode>();
  for (const node of [...left.nodes, ...right.nodes]) {
    if (!nodes.has(node.iri) && nodes.size < nodesMost) nodes.set(node.iri, node);
  }
  const links = new Map<string, GraphLink>();
  for (const link of [...left.links, ...right.links]) {
    if (nodes.has(link.from) && nodes.has(link.to)) links.set(`${link.from}\n${link.predicate}\n${link.to}`, link);
  }
  const all = new Set([...left.nodes, ...right.nodes].map((node) => node.iri)).size;
  return { nodes: [...nodes.values()], links: [...links.values()], cut: left.cut || right.cut || all > nodes.size };
}

/** The panel with the picture. */
export function Neighbourhood(props: { iri: string }): JSX.Element {
  const { iri } = props;
  const first = useResource<ThingGraph>(iri, (abort) => get("/api/thing/graph", { iri, depth: 1 }, abort));
  const [graph, setGraph] = useState<ThingGraph | null>(null);
  const [unfolded, setUnfolded] = useState<Set<string>>(new Set([iri]));
  const [failed, setFailed] = useState<ApiError | null>(null);

  useEffect(() => {
    if (first.value) setGraph(joinGraphs(first.value, { nodes: [], links: [], cut: false }));
  }, [first.value]);

  const unfold = (node: string) => {
    setUnfolded((old) => new Set([...old, node]));
    setFailed(null);
    get<ThingGraph>("/api/thing/graph", { iri: node, depth: 1 })
      .then((more) => setGraph((old) => (old ? joinGraphs(old, more) : more)))
      .catch((failure: unknown) => setFailed(asApiError(failure)));
  };

  return (
    <Panel
      title="Neighbours"
      note={graph?.cut ? "the nearest only" : undefined}
      flush
      actions={
        <a
          class="button small"
          href={hrefTo("query", { q: `SELECT ?property ?value WHERE {\n  <${iri}> ?property ?value\n}\nLIMIT 200` })}
        >
          Query
        </a>
      }
    >
      {first.error && <Failure error={first.error} retry={first.reload} />}
      {failed && <Failure error={failed} />}
      {!graph && first.loading && <Loading what="the picture" lines={5} />}
      {graph && graph.nodes.length <= 1 && <Empty title="No other thing is linked to it." />}
      {graph && graph.nodes.length > 1 && (
        <GraphView
          nodes={graph.nodes}
          links={graph.links}
          centre={iri}
          onUnfold={unfold}
          unfolded={unfolded}
          label="Picture of the thing and its neighbours"
        />
      )}
    </Panel>
  );
}
