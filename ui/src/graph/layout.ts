// Where the nodes of a small graph go: a force layout. Nodes repel each other, links pull, everything leans to the middle. The same
// graph always gives the same picture, and nodes that already have a place stay near it when more are added.

export interface LayoutLink {
  from: string;
  to: string;
}

export interface Place {
  x: number;
  y: number;
}

export interface LayoutOptions {
  /** The node that stays in the middle. */
  centre?: string;
  /** Places from before. */
  known?: ReadonlyMap<string, Place>;
  /** How long a link wants to be. */
  length?: number;
  steps?: number;
}

/** Lays out a graph around the point 0, 0. Cost grows with the square of the nodes: meant for a few hundred. */
export function layout(
  ids: readonly string[],
  links: readonly LayoutLink[],
  options: LayoutOptions = {},
): Map<string, Place> {
  const length = options.length ?? 90;
  // Fewer steps for larger graphs keep the time about the same.
  const steps = options.steps ?? Math.max(60, Math.min(300, Math.round(60_000 / Math.max(1, ids.length))));
  const number = new Map(ids.map((id, place) => [id, place]));
  const count = ids.length;
  const x = new Float64Array(count);
  const y = new Float64Array(count);
  const springs = links
    .map(({ from, to }): [number, number] => [number.get(from) ?? -1, number.get(to) ?? -1])
    .filter(([from, to]) => from >= 0 && to >= 0 && from !== to);
  const degree = new Float64Array(count);
  for (const [from, to] of springs) {
    degree[from] = (degree[from] ?? 0) + 1;
    degree[to] = (degree[to] ?? 0) + 1;
  }
  const centre = options.centre === undefined ? -1 : (number.get(options.centre) ?? -1);

  start(ids, x, y, springs, options.known, length);
  if (centre >= 0) {
    x[centre] = 0;
    y[centre] = 0;
  }

  for (let step = 0; step < steps; step += 1) {
    const heat = length * 0.35 * (1 - step / steps) + 0.5;
    const dx = new Float64Array(count);
    const dy = new Float64Array(count);
    for (let one = 0; one < count; one += 1) {
      for (let other = one + 1; other < count; other += 1) {
        let across = at(x, one) - at(x, other);
        let down = at(y, one) - at(y, other);
        if (across === 0 && down === 0) {
          // Two at one point have no direction to part in; the numbers of the nodes give one.
          across = 0.01 * (one + 1);
          down = 0.01 * (other + 1);
        }
        const square = across * across + down * down;
        const push = (length * length * 0.9) / square;
        add(dx, one, across * push);
        add(dy, one, down * push);
        add(dx, other, -across * push);
        add(dy, other, -down * push);
      }
    }
    for (const [from, to] of springs) {
      const across = at(x, to) - at(x, from);
      const down = at(y, to) - at(y, from);
      const distance = Math.hypot(across, down) || 0.01;
      // Hubs pull each link less, so that their neighbours can make room.
      const pull = ((distance - length) / distance) * (0.6 / Math.sqrt(Math.max(at(degree, from), at(degree, to), 1)));
      add(dx, from, across * pull);
      add(dy, from, down * pull);
      add(dx, to, -across * pull);
      add(dy, to, -down * pull);
    }
    for (let one = 0; one < count; one += 1) {
      if (one === centre) continue;
      const right = at(dx, one) - at(x, one) * 0.02;
      const under = at(dy, one) - at(y, one) * 0.03;
      const size = Math.hypot(right, under);
      if (!Number.isFinite(size) || size === 0) continue;
      const move = Math.min(size, heat) / size;
      add(x, one, right * move);
      add(y, one, under * move);
    }
  }
  return new Map(ids.map((id, place) => [id, { x: at(x, place), y: at(y, place) }]));
}

/** First places: those from before, near a linked node that has one, else on a spiral. */
function start(
  ids: readonly string[],
  x: Float64Array,
  y: Float64Array,
  springs: readonly [number, number][],
  known: ReadonlyMap<string, Place> | undefined,
  length: number,
): void {
  const goldenAngle = Math.PI * (3 - Math.sqrt(5));
  const placed = new Set<number>();
  ids.forEach((id, place) => {
    const before = known?.get(id);
    if (!before) return;
    x[place] = before.x;
    y[place] = before.y;
    placed.add(place);
  });
  ids.forEach((_, place) => {
    if (placed.has(place)) return;
    const spring = springs.find(
      ([from, to]) => (from === place && placed.has(to)) || (to === place && placed.has(from)),
    );
    const anchor = spring ? (spring[0] === place ? spring[1] : spring[0]) : -1;
    const radius = anchor >= 0 ? length * 0.6 : length * 0.5 * Math.sqrt(place);
    x[place] = (anchor >= 0 ? at(x, anchor) : 0) + radius * Math.cos(place * goldenAngle);
    y[place] = (anchor >= 0 ? at(y, anchor) : 0) + radius * Math.sin(place * goldenAngle);
  });
}

/** The smallest rectangle around places, with some air. */
export function bounds(places: Iterable<Place>, air: number): { x: number; y: number; width: number; height: number } {
  let left = 0;
  let right = 0;
  let top = 0;
  let bottom = 0;
  for (const { x, y } of places) {
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
  }
  return { x: left - air, y: top - air, width: right - left + 2 * air, height: bottom - top + 2 * air };
}

function at(values: Float64Array, place: number): number {
  return values[place] ?? 0;
}

function add(values: Float64Array, place: number, amount: number): void {
  values[place] = at(values, place) + amount;
}
