// One measured quantity over time: a line with its area, round ticks, gaps where nothing was measured, and the value under the
// pointer (or under the arrow keys) in the head.
import type { JSX, TargetedKeyboardEvent, TargetedPointerEvent } from "preact";
import { useState } from "preact/hooks";
import { formatClock } from "../format.ts";
import { useWidth } from "../hooks.ts";
import { areaPath, linear, linePath, niceTicks, type Point, runs, thin } from "./scale.ts";

const height = 110;
const margin = { top: 8, right: 8, bottom: 18, left: 54 };
const pointsMost = 400;

export interface TimeChartProps {
  title: string;
  /** What stands behind the number: "pages/s". */
  unit: string;
  /** The number to show when the pointer is elsewhere, normally the live one. */
  current: string;
  /** Small text beside it, such as a total. */
  note?: string;
  values: readonly (number | null)[];
  /** The moment of the first value, milliseconds. */
  from: number;
  stepSeconds: number;
  format: (value: number) => string;
  tone?: "accent" | "bad";
  /** 1024 for bytes, so that the ticks are round in KiB and MiB. */
  base?: 10 | 1024;
}

/** A chart with its head. */
export function TimeChart(props: TimeChartProps): JSX.Element {
  const [attach, width] = useWidth<HTMLDivElement>(320);
  const [pointed, setPointed] = useState<number | null>(null);

  const values = thin(props.values, pointsMost);
  const step = (props.stepSeconds * 1000 * props.values.length) / Math.max(1, values.length);
  const present = values.filter((value): value is number => value !== null);
  const highest = present.length > 0 ? Math.max(...present) : 0;
  const ticks = niceTicks(0, highest, 3, props.base);
  const top = ticks[ticks.length - 1] ?? 1;
  const x = linear(0, Math.max(1, values.length - 1), margin.left, width - margin.right);
  const y = linear(0, top, height - margin.bottom, margin.top);
  const points = values.map((value, place): Point | null => (value === null ? null : { x: x(place), y: y(value) }));
  const lines = runs(points);
  const withDay = props.stepSeconds * props.values.length > 26 * 3600;

  const point = (event: TargetedPointerEvent<SVGSVGElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const place = Math.round(linear(margin.left, width - margin.right, 0, values.length - 1)(event.clientX - box.left));
    setPointed(place >= 0 && place < values.length ? place : null);
  };
  const move = (event: TargetedKeyboardEvent<SVGSVGElement>) => {
    const direction = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (direction === 0) return;
    event.preventDefault();
    const start = pointed ?? values.length - 1;
    setPointed(Math.min(values.length - 1, Math.max(0, start + direction)));
  };

  const pointedValue = pointed === null ? undefined : values[pointed];
  const pointedPoint = pointed === null ? null : points[pointed];
  const shown =
    pointed === null
      ? props.current
      : pointedValue === null || pointedValue === undefined
        ? "–"
        : props.format(pointedValue);
  const aside = pointed === null ? props.note : formatClock(props.from + pointed * step, withDay);
  const summary =
    present.length === 0
      ? `${props.title}: nothing recorded yet`
      : `${props.title}: now ${props.current} ${props.unit}, highest ${props.format(highest)} ${props.unit}`;
  const labels = width > 420 ? [0, 0.25, 0.5, 0.75, 1] : [0, 0.5, 1];

  return (
    <div class={`chart ${props.tone ?? "accent"}`}>
      <div class="chart-head">
        <span class="chart-title">{props.title}</span>
        <span class="chart-note">{aside}</span>
        <span class="chart-value">
          {shown} <span class="unit">{props.unit}</span>
        </span>
      </div>
      <div ref={attach}>
        <svg
          class="chart-plot"
          width={width}
          height={height}
          viewBox={`0 0 ${width} ${height}`}
          role="img"
          aria-label={summary}
          tabindex={0}
          onPointerMove={point}
          onPointerLeave={() => setPointed(null)}
          onKeyDown={move}
          onBlur={() => setPointed(null)}
        >
          {ticks.map((tick) => (
            <g key={tick}>
              <line class="grid" x1={margin.left} x2={width - margin.right} y1={y(tick)} y2={y(tick)} />
              <text class="axis" x={margin.left - 6} y={y(tick) + 3.5} text-anchor="end">
                {props.format(tick)}
              </text>
            </g>
          ))}
          {labels.map((share) => (
            <text
              key={share}
              class="axis"
              x={margin.left + share * (width - margin.left - margin.right)}
              y={height - 4}
              text-anchor={share === 0 ? "start" : share === 1 ? "end" : "middle"}
            >
              {formatClock(props.from + share * (values.length - 1) * step, withDay && width > 420)}
            </text>
          ))}
          {lines.map((run, place) => (
            <g key={place}>
              <path class="area" d={areaPath(run, y(0))} />
              <path class="line" d={linePath(run)} />
            </g>
          ))}
          {pointed !== null && <line class="cursor" x1={x(pointed)} x2={x(pointed)} y1={margin.top} y2={y(0)} />}
          {pointedPoint && <circle class="dot" cx={pointedPoint.x} cy={pointedPoint.y} r={3} />}
          {present.length === 0 && (
            <text class="axis" x={width / 2} y={height / 2} text-anchor="middle">
              nothing recorded yet
            </text>
          )}
        </svg>
      </div>
    </div>
  );
}
