// The arithmetic of charts: round ticks, lines with gaps, bars. Plain functions; the drawing is in the components beside.

/**
 * Round numbers from zero (or the least value, when negative) that cover the largest value, about `count` of them. With base 1024 they are
 * round in KiB, MiB and so on.
 */
export function niceTicks(low: number, high: number, count: number, base: 10 | 1024 = 10): number[] {
  if (base === 1024) {
    const largest = Math.max(Math.abs(low), Math.abs(high));
    const unit = 1024 ** Math.max(0, Math.floor(Math.log(Math.max(1, largest)) / Math.log(1024)));
    return niceTicks(low / unit, high / unit, count).map((tick) => tick * unit);
  }
  if (!Number.isFinite(low) || !Number.isFinite(high) || count < 1) return [0, 1];
  const bottom = Math.min(0, low);
  const top = Math.max(0, high);
  if (top === bottom) return [0, 1];
  const rough = (top - bottom) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999) ?? 10 * power;
  const first = Math.floor(bottom / step + 1e-9);
  const last = Math.ceil(top / step - 1e-9);
  const ticks: number[] = [];
  for (let place = first; place <= last; place += 1) ticks.push(Number((place * step).toPrecision(12)));
  return ticks;
}

/** Maps a range onto another, linearly. */
export function linear(fromLow: number, fromHigh: number, toLow: number, toHigh: number): (value: number) => number {
  const width = fromHigh - fromLow || 1;
  return (value) => toLow + ((value - fromLow) / width) * (toHigh - toLow);
}

export interface Point {
  x: number;
  y: number;
}

/** Cuts a row of values at its gaps, so that nothing is drawn where nothing was measured. */
export function runs(points: readonly (Point | null)[]): Point[][] {
  const found: Point[][] = [];
  let run: Point[] = [];
  for (const point of points) {
    if (point) {
      run.push(point);
    } else if (run.length > 0) {
      found.push(run);
      run = [];
    }
  }
  if (run.length > 0) found.push(run);
  return found;
}

/** A line through points, as an SVG path. A single point becomes a short dash, so that it is seen. */
export function linePath(run: readonly Point[]): string {
  if (run.length === 1 && run[0]) return `M${round(run[0].x - 1)} ${round(run[0].y)}h2`;
  return run.map((point, place) => `${place === 0 ? "M" : "L"}${round(point.x)} ${round(point.y)}`).join("");
}

/** The area below such a line, down to `floor`. */
export function areaPath(run: readonly Point[], floor: number): string {
  const first = run[0];
  const last = run[run.length - 1];
  if (!first || !last || run.length < 2) return "";
  return `${linePath(run)}L${round(last.x)} ${round(floor)}L${round(first.x)} ${round(floor)}Z`;
}

/** Fewer points for the same picture: means over equal stretches, gaps kept where a stretch is all gap. */
export function thin(values: readonly (number | null)[], most: number): (number | null)[] {
  if (values.length <= most || most < 1) return [...values];
  const thinned: (number | null)[] = [];
  for (let place = 0; place < most; place += 1) {
    const from = Math.floor((place * values.length) / most);
    const to = Math.floor(((place + 1) * values.length) / most);
    const present = values.slice(from, to).filter((value): value is number => value !== null);
    thinned.push(present.length === 0 ? null : present.reduce((sum, value) => sum + value, 0) / present.length);
  }
  return thinned;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
