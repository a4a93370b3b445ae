// Answers of the endpoint, and what is made of them: tables, graphs, plots.
import { expect, test } from "vitest";
import { bars, points, suggestPlot } from "../src/pages/query/plotdata.ts";
import { compareTerms } from "../src/pages/query/table.tsx";
import { planRows } from "../src/pages/query/plan.tsx";
import { tableGraph } from "../src/sparql/asgraph.ts";
import {
  columnKind,
  parseJsonResults,
  parseTriples,
  type SolutionTable,
  termNumber,
  termText,
} from "../src/sparql/results.ts";

const xsd = "http://www.w3.org/2001/XMLSchema#";

function table(text: string): SolutionTable {
  const result = parseJsonResults(text);
  if (result.kind !== "table") throw new Error("no table");
  return result;
}

test("a table with every kind of term, and with gaps", () => {
  const parsed = table(
    JSON.stringify({
      head: { vars: ["a", "b"] },
      results: {
        bindings: [
          { a: { type: "uri", value: "http://e/" }, b: { type: "literal", value: "x", "xml:lang": "en" } },
          { a: { type: "bnode", value: "b0" } },
          { b: { type: "literal", value: "3", datatype: `${xsd}integer` } },
          {
            a: {
              type: "triple",
              value: {
                subject: { type: "uri", value: "s" },
                predicate: { type: "uri", value: "p" },
                object: { type: "literal", value: "o" },
              },
            },
          },
        ],
      },
    }),
  );
  expect(parsed.variables).toEqual(["a", "b"]);
  expect(parsed.rows[0]).toEqual([
    { kind: "iri", value: "http://e/" },
    { kind: "literal", value: "x", language: "en", datatype: null },
  ]);
  expect(parsed.rows[1]).toEqual([{ kind: "blank", value: "b0" }, null]);
  expect(termNumber(parsed.rows[2]?.[1] ?? null)).toBe(3);
  expect(termText(parsed.rows[3]?.[0] ?? null)).toBe("<< s p o >>");
});

test("booleans, and what is no result", () => {
  expect(parseJsonResults('{"head":{},"boolean":false}')).toEqual({ kind: "boolean", value: false });
  for (const bad of ["[]", "null", "{}", '{"head":{"vars":["a"]}}', "3"]) expect(() => parseJsonResults(bad)).toThrow();
  expect(table('{"head":{"vars":["a",3]},"results":{"bindings":[null,{"a":7},{"a":{"type":"uri"}}]}}').rows).toEqual([
    [null],
    [null],
    [null],
  ]);
});

test("triples with escapes, languages, types and nesting", () => {
  const { table: parsed, unread } = parseTriples(
    [
      '<http://s> <http://p> "a\\"b\\n\\u00fc\\U0001F9F5"@en .',
      `_:b0 <http://p> "3"^^<${xsd}integer> <http://graph> .`,
      `<s> <p> "plain"^^<${xsd}string>.`,
      "# comment",
      "",
      "<s> <p> .",
      '<< <s> <p> <o> >> <q> <<( <s> <p> "x" )>> .',
      "nonsense",
    ].join("\r\n"),
  );
  expect(unread).toBe(2);
  expect(parsed.rows[0]?.[2]).toEqual({ kind: "literal", value: 'a"b\nü🧵', language: "en", datatype: null });
  expect(parsed.rows[1]?.[0]).toEqual({ kind: "blank", value: "b0" });
  expect(parsed.rows[2]?.[2]).toEqual({ kind: "literal", value: "plain", language: null, datatype: null });
  expect(parsed.rows[3]?.[2]?.kind).toBe("triple");
});

test("deep nesting is refused, not followed", () => {
  expect(parseTriples(`${"<< ".repeat(5000)}<s>`).unread).toBe(1);
});

test("columns are numbers, times or text", () => {
  const literal = (value: string, datatype: string | null) => ({
    kind: "literal" as const,
    value,
    language: null,
    datatype,
  });
  const made: SolutionTable = {
    kind: "table",
    variables: ["n", "t", "w", "mixed"],
    rows: [
      [
        literal("1", `${xsd}integer`),
        literal("2026-01-02", `${xsd}date`),
        literal("x", null),
        literal("1", `${xsd}integer`),
      ],
      [literal("2.5", `${xsd}decimal`), literal("2026-01-01", `${xsd}date`), literal("y", null), literal("z", null)],
    ],
  };
  expect(made.variables.map((_, column) => columnKind(made, column))).toEqual(["number", "time", "text", "text"]);
  const choice = suggestPlot(made);
  expect(choice).toEqual({ across: 1, up: 0, kind: "line" });
  if (!choice) return;
  expect(points(made, choice, 10).map((point) => point.y)).toEqual([2.5, 1]);
  expect(bars(made, { across: 2, up: 0, kind: "bars" }, 1)).toEqual([{ label: "x", value: 1 }]);
  expect(compareTerms(literal("10", `${xsd}integer`), literal("9", `${xsd}integer`))).toBeGreaterThan(0);
  expect(compareTerms(null, literal("9", null))).toBeGreaterThan(0);
});

test("statements and linked things become graphs, numbers do not", () => {
  const { table: triples } = parseTriples('<s> <p> <o> .\n<s> <p> "text" .\n<o> <q> <s> .');
  const graph = tableGraph(triples);
  expect(graph?.nodes.map((node) => node.kind)).toEqual(["iri", "iri", "literal"]);
  expect(graph?.links).toHaveLength(3);
  const pairs = table(
    '{"head":{"vars":["a","b"]},"results":{"bindings":[{"a":{"type":"uri","value":"x"},"b":{"type":"uri","value":"y"}}]}}',
  );
  expect(tableGraph(pairs)?.links[0]).toMatchObject({ from: "x", to: "y", label: "b" });
  const numbers = table(
    '{"head":{"vars":["a","b"]},"results":{"bindings":[{"a":{"type":"uri","value":"x"},"b":{"type":"literal","value":"1"}}]}}',
  );
  expect(tableGraph(numbers)).toBeNull();
});

test("a graph of a large result is cut, not slow", () => {
  const lines = Array.from({ length: 5000 }, (_, place) => `<s${place}> <p> <o${place}> .`).join("\n");
  const graph = tableGraph(parseTriples(lines).table);
  expect(graph?.cut).toBe(true);
  expect(graph?.nodes.length).toBeLessThanOrEqual(120);
});

test("plans of any depth become rows", () => {
  let plan = { operator: "leaf", children: [] as { operator: string; children: never[] }[] };
  for (let depth = 0; depth < 100_000; depth += 1) plan = { operator: "node", children: [plan as never] };
  expect(planRows(plan)).toHaveLength(500);
  const small = planRows({
    operator: "a",
    children: [{ operator: "b", children: [{ operator: "c" }] }, { operator: "d" }],
  });
  expect(small.map(({ node, depth }) => `${node.operator}${depth}`)).toEqual(["a0", "b1", "c2", "d1"]);
});
