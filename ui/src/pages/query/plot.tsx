// A plot of a result: bars, a line or points. The columns are guessed first and can be chosen.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { linear, linePath, niceTicks } from "../../charts/scale.ts";
import { Empty } from "../../components/basics.tsx";
import { formatCount, formatShort, shorten } from "../../format.ts";
import { useWidth } from "../../hooks.ts";
import { nameOf } from "../../names.ts";
import { columnKind, type SolutionTable } from "../../sparql/results.ts";
import { type Bar, bars, type PlotChoice, type PlotPoint, points, suggestPlot } from "./plotdata.ts";

const barsMost = 60;
const pointsMost = 5000;

/** The plot with its choices. */
export function PlotView(props: { table: SolutionTable }): JSX.Element {
  const { table } = props;
  const suggestion = useMemo(() => suggestPlot(table), [table]);
  const [changed, setChanged] = useState<Partial<PlotChoice>>({});
  if (!suggestion) {
    return (
      <Empty title="There is nothing to plot in this result.">
        <p>A plot needs a column of numbers and another column to put them against.</p>
      </Empty>
    );
  }
  const choice = { ...suggestion, ...changed };
  const kinds = table.variables.map((_, column) => columnKind(table, column));
  const textAcross = kinds[choice.across] === "text";
  const kind = textAcross ? "bars" : choice.kind === "bars" && kinds[choice.across] === "time" ? "line" : choice.kind;
  const select = (
    label: string,
    value: number,
    allowed: (column: number) => boolean,
    set: (column: number) => void,
  ) => (
    <label class="inline-label">
      <span class="muted">{label}</span>
      <select value={String(value)} onChange={(event) => set(Number(event.currentTarget.value))}>
        {table.variables.map((name, column) =>
          allowed(column) ? (
            <option key={name} value={column}>
              {name}
            </option>
          ) : null,
        )}
      </select>
    </label>
  );
  return (
    <div class="plot">
      <div class="toolbar">
        {select(
          "across",
          choice.across,
          () => true,
          (across) => setChanged({ ...changed, across }),
        )}
        {select(
          "up",
          choice.up,
          (column) => kinds[column] === "number",
          (up) => setChanged({ ...changed, up }),
        )}
        {!textAcross && (
          <label class="inline-label">
            <span class="muted">as</span>
            <select
              value={kind}
              onChange={(event) => setChanged({ ...changed, kind: event.currentTarget.value as PlotChoice["kind"] })}
            >
              <option value="bars">bars</option>
              <option value="line">line</option>
              <option value="points">points</option>
            </select>
          </label>
        )}
      </div>
      {kind === "bars" ? (
        <Bars bars={bars(table, choice, barsMost)} cut={table.rows.length > barsMost} />
      ) : (
        <XyPlot
          points={points(table, { ...choice, kind }, pointsMost)}
          line={kind === "line"}
          time={kinds[choice.across] === "time"}
          across={table.variables[choice.across] ?? ""}
          up={table.variables[choice.up] ?? ""}
        />
      )}
    </div>
  );
}

function Bars(props: { bars: Bar[]; cut: boolean }): JSX.Element {
  const most = Math.max(0, ...props.bars.map((bar) => Math.abs(bar.value))) || 1;
  return (
    <>
      <table class="bars plot-bars">
        <tbody>
          {props.bars.map((bar, place) => (
            <tr key={place}>
              <th scope="row" title={bar.label}>
                {shorten(/^[a-z][a-z0-9+.-]*:/i.test(bar.label) ? nameOf(bar.label) : bar.label, 40)}
              </th>
              <td class="bar-cell">
                <span class={bar.value < 0 ? "meter bad" : "meter"} aria-hidden="true">
                  <span class="meter-fill" style={{ width: `${((Math.abs(bar.value) / most) * 100).toFixed(1)}%` }} />
                </span>
              </td>
              <td class="number">{Number.isInteger(bar.value) ? formatCount(bar.value) : String(bar.value)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {props.cut && <p class="muted panel-body">The first {barsMost} rows.</p>}
    </>
  );
}

const height = 320;
const margin = { top: 12, right: 16, bottom: 36, left: 60 };

function XyPlot(props: { points: PlotPoint[]; line: boolean; time: boolean; across: string; up: string }): JSX.Element {
  const [attach, width] = useWidth<HTMLDivElement>(640);
  const xs = props.points.map((point) => point.x);
  const ys = props.points.map((point) => point.y);
  const low = xs.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY);
  const high = xs.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
  const ticksUp = niceTicks(
    ys.reduce((least, value) => Math.min(least, value), 0),
    ys.reduce((most, value) => Math.max(most, value), 0),
    5,
  );
  const x = linear(low, high, margin.left, width - margin.right);
  const y = linear(ticksUp[0] ?? 0, ticksUp[ticksUp.length - 1] ?? 1, height - margin.bottom, margin.top);
  const placed = props.points.map((point) => ({ x: x(point.x), y: y(point.y) }));
  const showX = (value: number) => (props.time ? new Date(value).toISOString().slice(0, 10) : formatShort(value));
  return (
    <div ref={attach} class="chart accent">
      <svg
        class="chart-plot"
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`${props.up} against ${props.across}, ${props.points.length} points`}
      >
        {ticksUp.map((tick) => (
          <g key={tick}>
            <line class="grid" x1={margin.left} x2={width - margin.right} y1={y(tick)} y2={y(tick)} />
            <text class="axis" x={margin.left - 8} y={y(tick) + 4} text-anchor="end">
              {formatShort(tick)}
            </text>
          </g>
        ))}
        {[0, 0.5, 1].map((share) => (
          <text
            key={share}
            class="axis"
            x={margin.left + share * (width - margin.left - margin.right)}
            y={height - 18}
            text-anchor={share === 0 ? "start" : share === 1 ? "end" : "middle"}
          >
            {showX(low + share * (high - low))}
          </text>
        ))}
        <text class="axis" x={(width + margin.left) / 2} y={height - 3} text-anchor="middle">
          {props.across}
        </text>
        {props.line && placed.length > 0 && <path class="line" d={linePath(placed)} />}
        {(!props.line || placed.length < 80) &&
          placed.map((point, place) => <circle key={place} class="dot" cx={point.x} cy={point.y} r={2.5} />)}
      </svg>
    </div>
  );
}
