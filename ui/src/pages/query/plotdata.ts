// Which columns of a result can be plotted against each other, and the points of the plot.
import { columnKind, type SolutionTable, termMoment, termNumber, termText } from "../../sparql/results.ts";

export interface PlotChoice {
  /** Column of the horizontal axis. */
  across: number;
  /** Column of the vertical axis, always numbers. */
  up: number;
  kind: "bars" | "line" | "points";
}

export interface Bar {
  label: string;
  value: number;
}

export interface PlotPoint {
  x: number;
  y: number;
}

/** The first sensible plot of a table: text against number as bars, time against number as a line, number against number as points. */
export function suggestPlot(table: SolutionTable): PlotChoice | null {
  const kinds = table.variables.map((_, column) => columnKind(table, column));
  const numbers = kinds.flatMap((kind, column) => (kind === "number" ? [column] : []));
  const last = numbers[numbers.length - 1];
  if (last === undefined || kinds.length < 2) return null;
  const time = kinds.indexOf("time");
  if (time >= 0) return { across: time, up: last, kind: "line" };
  const text = kinds.indexOf("text");
  if (text >= 0) return { across: text, up: last, kind: "bars" };
  const other = numbers.find((column) => column !== last);
  return other === undefined ? null : { across: other, up: last, kind: "points" };
}

/** The bars, at most so many, in the order of the rows. */
export function bars(table: SolutionTable, choice: PlotChoice, most: number): Bar[] {
  const found: Bar[] = [];
  for (const row of table.rows) {
    const value = termNumber(row[choice.up] ?? null);
    if (value !== null) found.push({ label: termText(row[choice.across] ?? null), value });
    if (found.length >= most) break;
  }
  return found;
}

/** The points, at most so many; a line's are ordered from left to right. */
export function points(table: SolutionTable, choice: PlotChoice, most: number): PlotPoint[] {
  const found: PlotPoint[] = [];
  for (const row of table.rows) {
    const across = row[choice.across] ?? null;
    const x = termNumber(across) ?? termMoment(across);
    const y = termNumber(row[choice.up] ?? null);
    if (x !== null && y !== null) found.push({ x, y });
    if (found.length >= most) break;
  }
  return choice.kind === "line" ? found.sort((left, right) => left.x - right.x) : found;
}
