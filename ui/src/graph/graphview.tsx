// A small graph as a picture that can be walked: choose a node to see what it is and to unfold its neighbours, drag to move, buttons or
// the wheel with Ctrl to zoom. Everything in it is also in tables elsewhere on the page; the picture is the second way, not the only one.
import type { JSX, TargetedKeyboardEvent, TargetedPointerEvent, TargetedWheelEvent } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { GraphLink, GraphNode } from "../api/types.ts";
import { Action } from "../components/basics.tsx";
import { shorten } from "../format.ts";
import { useWidth } from "../hooks.ts";
import { localName, nameOf } from "../names.ts";
import { hrefTo } from "../router.ts";
import { bounds, layout, type Place } from "./layout.ts";

export interface GraphViewProps {
  nodes: readonly GraphNode[];
  links: readonly GraphLink[];
  centre?: string;
  /** Brings the neighbours of a node; null when there is nothing to bring. */
  onUnfold?: ((iri: string) => void) | null;
  unfolded?: ReadonlySet<string>;
  label: string;
  height?: number;
}

const labelledLinksMost = 24;
const nameWidth = 150;
const nameHeight = 64;

interface Line {
  key: string;
  from: string;
  to: string;
  names: string[];
}

/** Links between the same two nodes are one line with several names. */
export function joinLinks(links: readonly GraphLink[]): Line[] {
  const lines = new Map<string, Line>();
  for (const link of links) {
    const name = link.label || localName(link.predicate);
    const key = `${link.from}\n${link.to}`;
    const line = lines.get(key);
    if (line) {
      if (!line.names.includes(name)) line.names.push(name);
    } else {
      lines.set(key, { key, from: link.from, to: link.to, names: [name] });
    }
  }
  return [...lines.values()];
}

/** The picture with its buttons. */
export function GraphView(props: GraphViewProps): JSX.Element {
  const [attach, width] = useWidth<HTMLDivElement>(420);
  const height = props.height ?? 320;
  const [chosen, setChosen] = useState<string | null>(null);
  const [zoom, setZoom] = useState(1);
  const [shift, setShift] = useState<Place>({ x: 0, y: 0 });
  const known = useRef<Map<string, Place>>(new Map());
  const dragging = useRef<{ x: number; y: number; shift: Place } | null>(null);

  useEffect(() => {
    known.current = new Map();
    setChosen(null);
    setZoom(1);
    setShift({ x: 0, y: 0 });
  }, [props.centre]);

  const lines = useMemo(() => joinLinks(props.links), [props.links]);
  const places = useMemo(() => {
    const ids = props.nodes.map((node) => node.iri);
    const found = layout(ids, lines, {
      ...(props.centre === undefined ? {} : { centre: props.centre }),
      known: known.current,
    });
    known.current = found;
    return found;
  }, [props.nodes, lines, props.centre]);

  const box = bounds(places.values(), 1);
  // Names are wider than high, and stand below their nodes.
  const { across, down } = fitScale(box, width - nameWidth, height - nameHeight);
  const middleX = width / 2 - (box.x + box.width / 2) * across * zoom + shift.x;
  const middleY = height / 2 - (box.y + box.height / 2) * down * zoom + shift.y;
  const screen = (place: Place): Place => ({
    x: middleX + place.x * across * zoom,
    y: middleY + place.y * down * zoom,
  });
  const node = props.nodes.find((one) => one.iri === chosen) ?? null;
  const near = new Set(
    chosen === null ? [] : lines.filter((line) => line.from === chosen || line.to === chosen).map((line) => line.key),
  );

  const startDrag = (event: TargetedPointerEvent<SVGSVGElement>) => {
    if (event.target !== event.currentTarget) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    dragging.current = { x: event.clientX, y: event.clientY, shift };
  };
  const drag = (event: TargetedPointerEvent<SVGSVGElement>) => {
    const start = dragging.current;
    if (start) setShift({ x: start.shift.x + event.clientX - start.x, y: start.shift.y + event.clientY - start.y });
  };
  const wheel = (event: TargetedWheelEvent<SVGSVGElement>) => {
    // The bare wheel belongs to the page.
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    setZoom((old) => clampZoom(old * (event.deltaY < 0 ? 1.15 : 1 / 1.15)));
  };
  const choose = (event: TargetedKeyboardEvent<SVGGElement>, iri: string) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    if (event.key === "Enter" && chosen === iri) props.onUnfold?.(iri);
    else setChosen(iri);
  };

  return (
    <div class="graph">
      <div ref={attach} class="graph-frame">
        <svg
          class="graph-picture"
          width={width}
          height={height}
          role="group"
          aria-label={props.label}
          onPointerDown={startDrag}
          onPointerMove={drag}
          onPointerUp={() => (dragging.current = null)}
          onPointerCancel={() => (dragging.current = null)}
          onWheel={wheel}
        >
          {lines.map((line) => {
            const from = places.get(line.from);
            const to = places.get(line.to);
            if (!from || !to) return null;
            const start = screen(from);
            const end = screen(to);
            const named = near.has(line.key) || lines.length <= labelledLinksMost;
            return (
              <g key={line.key} class={near.has(line.key) ? "graph-link near" : "graph-link"}>
                <path d={arrow(start, end)} />
                {named && (
                  <text x={(start.x + end.x) / 2} y={(start.y + end.y) / 2 - 3} text-anchor="middle">
                    {shorten(line.names.join(", "), 24)}
                  </text>
                )}
              </g>
            );
          })}
          {props.nodes.map((one) => {
            const place = places.get(one.iri);
            if (!place) return null;
            const { x, y } = screen(place);
            const name = nodeName(one);
            const shown = shorten(name, 26);
            const isCentre = one.iri === props.centre;
            return (
              <g
                key={one.iri}
                class={`graph-node ${one.kind} ${isCentre ? "centre" : ""} ${one.iri === chosen ? "chosen" : ""}`}
                role="button"
                tabindex={0}
                aria-label={shown === name ? name : `${shown}, ${name}`}
                aria-pressed={one.iri === chosen}
                transform={`translate(${x.toFixed(1)} ${y.toFixed(1)})`}
                onClick={() => setChosen(one.iri)}
                onDblClick={() => props.onUnfold?.(one.iri)}
                onKeyDown={(event) => choose(event, one.iri)}
              >
                <circle r={isCentre ? 8 : 6} />
                <text y={isCentre ? 22 : 19} text-anchor="middle">
                  {shown}
                </text>
                <title>{one.iri}</title>
              </g>
            );
          })}
        </svg>
        <div class="graph-buttons">
          <button
            type="button"
            class="button small icon-only"
            aria-label="Zoom in"
            onClick={() => setZoom((old) => clampZoom(old * 1.3))}
          >
            +
          </button>
          <button
            type="button"
            class="button small icon-only"
            aria-label="Zoom out"
            onClick={() => setZoom((old) => clampZoom(old / 1.3))}
          >
            −
          </button>
        </div>
      </div>
      <div class="graph-foot" aria-live="polite">
        {node ? (
          <>
            <span class="graph-chosen" title={node.iri}>
              {nodeName(node)}
            </span>
            {node.kind === "iri" && (
              <a class="button small" href={hrefTo("thing", { iri: node.iri })}>
                Open
              </a>
            )}
            {props.onUnfold && node.kind !== "literal" && !props.unfolded?.has(node.iri) && (
              <Action small label="Unfold" onClick={() => props.onUnfold?.(node.iri)} />
            )}
          </>
        ) : (
          <span class="muted">
            {props.onUnfold ? "Choose a node to open or unfold it." : "Choose a node to open it."}
          </span>
        )}
      </div>
    </div>
  );
}

function nodeName(node: GraphNode): string {
  if (node.kind === "literal") return node.label ?? node.iri;
  return nameOf(node.iri, node.label);
}

const scaleMost = 1.4;
const stretchMost = 2;

/** How much a picture grows or shrinks in each direction to fill a frame. Directions may differ, within reason: names need the width. */
export function fitScale(
  box: { width: number; height: number },
  width: number,
  height: number,
): { across: number; down: number } {
  const wide = Math.max(0.05, width / Math.max(1, box.width));
  const high = Math.max(0.05, height / Math.max(1, box.height));
  const smaller = Math.min(wide, high, scaleMost);
  return { across: Math.min(wide, smaller * stretchMost), down: Math.min(high, smaller * stretchMost, scaleMost) };
}

function clampZoom(value: number): number {
  return Math.min(6, Math.max(0.3, value));
}

/** A line with a small head at its end, both short of the circles. */
function arrow(from: Place, to: Place): string {
  const across = to.x - from.x;
  const down = to.y - from.y;
  const length = Math.hypot(across, down) || 1;
  const ux = across / length;
  const uy = down / length;
  const startX = from.x + ux * 8;
  const startY = from.y + uy * 8;
  const endX = to.x - ux * 10;
  const endY = to.y - uy * 10;
  const head = 5;
  const left = `${(endX - ux * head - uy * head * 0.6).toFixed(1)} ${(endY - uy * head + ux * head * 0.6).toFixed(1)}`;
  const right = `${(endX - ux * head + uy * head * 0.6).toFixed(1)} ${(endY - uy * head - ux * head * 0.6).toFixed(1)}`;
  const end = `${endX.toFixed(1)} ${endY.toFixed(1)}`;
  return `M${startX.toFixed(1)} ${startY.toFixed(1)}L${end}M${left}L${end}L${right}`;
}
