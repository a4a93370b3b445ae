// Charts and graph pictures: ticks, lines with gaps, the layout.
import { expect, test } from "vitest";
import { areaPath, linePath, linear, niceTicks, runs, thin } from "../src/charts/scale.ts";
import { fitScale, joinLinks } from "../src/graph/graphview.tsx";
import { bounds, layout } from "../src/graph/layout.ts";
import { joinGraphs } from "../src/pages/thing/neighbourhood.tsx";

test.each([
  [0, 0, [0, 1]],
  [0, 1, [0, 0.5, 1]],
  [0, 42, [0, 20, 40, 60]],
  [0, 0.007, [0, 0.0025, 0.005, 0.0075]],
  [-5, 10, [-5, 0, 5, 10]],
  [0, Number.NaN, [0, 1]],
])("ticks from %d to %d", (low, high, ticks) => expect(niceTicks(low, high, 3)).toEqual(ticks));

test("ticks of bytes are round in their unit", () => {
  expect(niceTicks(0, 1.6 * 1024 ** 2, 3, 1024).map((tick) => tick / 1024 ** 2)).toEqual([0, 1, 2]);
  expect(niceTicks(0, 0, 3, 1024)).toEqual([0, 1]);
});

test("ticks always cover the values", () => {
  for (let power = -6; power < 12; power += 1) {
    for (const factor of [1, 1.01, 3.7, 9.99]) {
      const high = factor * 10 ** power;
      const ticks = niceTicks(0, high, 4);
      expect(ticks.at(-1) ?? 0).toBeGreaterThanOrEqual(high * 0.9999);
      expect(ticks.length).toBeLessThan(12);
    }
  }
});

test("lines stop at gaps", () => {
  const point = (x: number) => ({ x, y: 1 });
  expect(runs([null, point(1), point(2), null, null, point(5), null]).map((run) => run.length)).toEqual([2, 1]);
  expect(linePath([point(1), point(2)])).toBe("M1 1L2 1");
  expect(linePath([point(5)])).toBe("M4 1h2");
  expect(areaPath([point(1), point(2)], 9)).toBe("M1 1L2 1L2 9L1 9Z");
  expect(areaPath([point(5)], 9)).toBe("");
  expect(linear(0, 0, 0, 10)(0)).toBe(0);
});

test("thinning keeps means and gaps", () => {
  expect(thin([1, 3, null, null, 5, null], 3)).toEqual([2, null, 5]);
  expect(thin([1, null], 10)).toEqual([1, null]);
});

const ids = ["a", "b", "c", "d", "e"];
const links = [
  { from: "a", to: "b" },
  { from: "a", to: "c" },
  { from: "a", to: "d" },
  { from: "d", to: "e" },
  { from: "x", to: "a" },
  { from: "a", to: "a" },
];

test("the same graph gives the same picture, with room between nodes", () => {
  const places = layout(ids, links, { centre: "a" });
  expect(layout(ids, links, { centre: "a" })).toEqual(places);
  expect(places.get("a")).toEqual({ x: 0, y: 0 });
  const all = [...places.values()];
  all.forEach((one, place) => {
    expect(Number.isFinite(one.x) && Number.isFinite(one.y)).toBe(true);
    for (const other of all.slice(place + 1)) expect(Math.hypot(one.x - other.x, one.y - other.y)).toBeGreaterThan(25);
  });
  const near = Math.hypot(places.get("b")?.x ?? 0, places.get("b")?.y ?? 0);
  const far = Math.hypot(places.get("e")?.x ?? 0, places.get("e")?.y ?? 0);
  expect(far).toBeGreaterThan(near);
});

test("what was there stays near when more is added", () => {
  const before = layout(ids, links, { centre: "a" });
  const after = layout([...ids, "f"], [...links, { from: "e", to: "f" }], { centre: "a", known: before });
  for (const id of ids) {
    const old = before.get(id);
    const now = after.get(id);
    expect(Math.hypot((old?.x ?? 0) - (now?.x ?? 0), (old?.y ?? 0) - (now?.y ?? 0))).toBeLessThan(120);
  }
});

test("odd graphs have pictures too", () => {
  expect(layout([], []).size).toBe(0);
  expect(layout(["a"], []).get("a")).toBeDefined();
  const same = layout(["a", "b"], [], {
    known: new Map([
      ["a", { x: 5, y: 5 }],
      ["b", { x: 5, y: 5 }],
    ]),
  });
  expect(same.get("a")).not.toEqual(same.get("b"));
  expect(bounds([], 10)).toEqual({ x: -10, y: -10, width: 20, height: 20 });
});

test("pictures fill their frame without being distorted", () => {
  expect(fitScale({ width: 100, height: 100 }, 1000, 100)).toEqual({ across: 2, down: 1 });
  expect(fitScale({ width: 1, height: 1 }, 1000, 1000)).toEqual({ across: 2.8, down: 1.4 });
  expect(fitScale({ width: 1000, height: 10 }, 100, 100)).toEqual({ across: 0.1, down: 0.2 });
  expect(fitScale({ width: 0, height: 0 }, -50, 0).across).toBeGreaterThan(0);
});

test("links between the same two are one line", () => {
  const link = (predicate: string) => ({ from: "a", to: "b", predicate, label: null });
  expect(joinLinks([link("http://e/p"), link("http://e/q"), link("http://e/p")])).toMatchObject([
    { from: "a", to: "b", names: ["p", "q"] },
  ]);
});

test("unfolding adds what is new, up to a limit", () => {
  const node = (iri: string) => ({ iri, label: null, kind: "iri" });
  const link = (from: string, to: string) => ({ from, to, predicate: "p", label: null });
  const left = { nodes: [node("a"), node("b")], links: [link("a", "b")], cut: false };
  const joined = joinGraphs(left, {
    nodes: [node("b"), node("c")],
    links: [link("a", "b"), link("b", "c"), link("c", "gone")],
    cut: false,
  });
  expect(joined.nodes.map(({ iri }) => iri)).toEqual(["a", "b", "c"]);
  expect(joined.links).toHaveLength(2);
  const many = { nodes: Array.from({ length: 400 }, (_, place) => node(String(place))), links: [], cut: false };
  expect(joinGraphs(left, many)).toMatchObject({ cut: true });
});
