// What the mock server answers about its invented world: search, things, pages, queries. It knows no SPARQL: queries get canned results
// by their form.
import type { ErrorKind, PageAnswer, SearchAnswer, Site, Thing, UrlLife } from "../src/api/types.ts";
import { dcterms, foaf, neighbours, pages, rdf, schema, sites, termOf, thingOf, things, typeOf } from "./world.ts";

export interface Answer {
  status: number;
  type?: string;
  headers?: Record<string, string>;
  body: string;
}

/** Answers a request that only reads. Null when the address is not part of the API. */
export function read(path: string, query: URLSearchParams, body: string): Answer | null {
  switch (path) {
    case "/api/search":
      return json(search(query));
    case "/api/suggest": {
      const typed = (query.get("q") ?? "").toLowerCase();
      const found = things.filter((thing) => thing.label.toLowerCase().includes(typed)).slice(0, 5);
      return json({ suggestions: found.map((thing) => ({ text: thing.label, iri: thing.iri })) });
    }
    case "/api/thing":
      return thing(query.get("iri") ?? "");
    case "/api/thing/graph":
      return json(neighbours(query.get("iri") ?? ""));
    case "/api/thing/raw":
      return raw(query.get("iri") ?? "", query.get("format") ?? "turtle");
    case "/api/page":
      return page(query.get("url") ?? "");
    case "/api/url":
      return life(query.get("url") ?? "");
    case "/api/pages": {
      const words = (query.get("q") ?? "").toLowerCase();
      const found = pages.filter(
        (one) => (!query.get("site") || one.site === query.get("site")) && one.url.includes(words),
      );
      const offset = Number(query.get("offset") ?? 0);
      const rows = found.slice(offset, offset + Number(query.get("limit") ?? 50));
      return json({
        total: found.length,
        pages: rows.map((one) => ({
          url: one.url,
          title: one.title,
          fetched_at: one.fetchedAt,
          type: "text/html",
          quads: 40 + one.url.length,
        })),
      });
    }
    case "/api/sites": {
      const list = sites.map((site, place): Site => ({
        site,
        pages: 9 + place * 40,
        quads: 4000 * (6 - place),
        languages: site === "textil.example" ? ["de"] : ["en", "fr"],
        vocabularies: [schema, foaf, dcterms],
        errors: place % 3 === 0 ? place : 0,
      }));
      const key = query.get("sort") === "quads" ? "quads" : "pages";
      return json({ total: list.length, sites: list.sort((left, right) => right[key] - left[key]) });
    }
    case "/api/vocabulary":
      return json({
        prefixes: [
          { prefix: "schema", namespace: schema, count: 120_000 },
          { prefix: "foaf", namespace: foaf, count: 9000 },
          { prefix: "loom", namespace: "https://weavers.example/ns#", count: 700 },
        ],
        predicates: [
          `${schema}name`,
          `${schema}description`,
          `${schema}author`,
          `${schema}knows`,
          `${foaf}depiction`,
          `${dcterms}title`,
          "https://weavers.example/ns#shafts",
        ].map((iri, place) => ({ iri, count: 9000 - place * 900 })),
        classes: [`${schema}Person`, `${schema}Book`, `${schema}Product`, `${foaf}Document`].map((iri, place) => ({
          iri,
          count: 900 - place * 90,
        })),
      });
    case "/api/examples":
      return json({
        examples: [
          {
            title: "Things by class",
            query:
              "SELECT ?class (COUNT(?thing) AS ?things) WHERE {\n  ?thing a ?class\n}\nGROUP BY ?class\nORDER BY DESC(?things)\nLIMIT 50",
          },
          {
            title: "People and whom they know",
            query: `PREFIX schema: <${schema}>\nCONSTRUCT { ?person schema:knows ?other } WHERE { ?person schema:knows ?other }\nLIMIT 100`,
          },
          { title: "Is there any book?", query: `PREFIX schema: <${schema}>\nASK { ?book a schema:Book }` },
        ],
      });
    case "/api/explain":
      return json({
        plan: {
          operator: "Slice",
          detail: "LIMIT 50",
          estimated_rows: 50,
          rows: 8,
          milliseconds: 3.1,
          children: [
            {
              operator: "Group",
              detail: "?class",
              estimated_rows: 120,
              rows: 8,
              milliseconds: 2.8,
              children: [
                {
                  operator: "Scan POCS",
                  detail: "?thing rdf:type ?class",
                  estimated_rows: 42_000,
                  rows: 41_870,
                  milliseconds: 1.9,
                  children: [],
                },
              ],
            },
          ],
        },
        text: "Slice LIMIT 50\n  Group ?class\n    Scan POCS ?thing rdf:type ?class",
      });
    case "/api/settings":
      return json({
        limits: { query_seconds: 60, query_rows: 1_000_000, query_bytes: 1_073_741_824 },
        listen: "127.0.0.1:7071",
        default_graph: "union",
        version: "0.1.0",
        commit: "0123456789abcdef",
      });
    case "/sparql":
      return sparql(query.get("query") ?? body);
    case "/archive":
      return {
        status: 200,
        type: "text/html; charset=utf-8",
        headers: {
          "Content-Security-Policy":
            "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'",
        },
        body: "<!doctype html><title>Archived</title><h1>As it was received</h1><p>A page of the invented world.</p>",
      };
    case "/api/dump":
      return {
        status: 200,
        type: "application/n-quads",
        headers: { "Content-Disposition": "attachment; filename=webloom.nq" },
        body: "<urn:a> <urn:b> <urn:c> .\n",
      };
    default:
      return path.startsWith("/api/") ? problem(404, "not-found", `there is nothing at ${path}`) : null;
  }
}

function search(query: URLSearchParams): SearchAnswer {
  const words = (query.get("q") ?? "").toLowerCase().trim();
  const found = things.filter((one) => {
    if (words !== "" && !`${one.label} ${one.description}`.toLowerCase().includes(words)) return false;
    if (query.getAll("type").length > 0 && !query.getAll("type").includes(one.type)) return false;
    if (query.getAll("language").length > 0 && !query.getAll("language").includes(one.language)) return false;
    return (
      query.getAll("site").length === 0 || one.pages.some((url) => query.getAll("site").includes(new URL(url).host))
    );
  });
  const offset = Number(query.get("offset") ?? 0);
  const count = (values: string[]) => {
    const counts = new Map<string, number>();
    for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
    return [...counts]
      .map(([value, number]) => ({ value, label: null, count: number }))
      .sort((left, right) => right.count - left.count);
  };
  return {
    query: query.get("q") ?? "",
    total: found.length,
    total_is_exact: true,
    milliseconds: 2.4,
    suggestion: found.length === 0 && words.startsWith("lo") ? "loom" : null,
    results: found.slice(offset, offset + 20).map((one) => {
      const at = words === "" ? -1 : one.description.toLowerCase().indexOf(words);
      return {
        iri: one.iri,
        label: one.label,
        label_language: one.language,
        types: [typeOf(one.type)],
        snippet: {
          text: one.description,
          highlights: at < 0 ? [] : [[at, at + words.length]],
          predicate: `${schema}description`,
          language: one.language,
        },
        score: 1,
        sites: new Set(one.pages.map((url) => new URL(url).host)).size,
        pages: one.pages
          .slice(0, 5)
          .map((url) => ({ url, title: pages.find((known) => known.url === url)?.title ?? null })),
        pages_total: one.pages.length,
        image: null,
      };
    }),
    facets: {
      type: count(found.map((one) => one.type)),
      vocabulary: [{ value: schema, label: "schema", count: found.length }],
      site: count(found.flatMap((one) => one.pages.map((url) => new URL(url).host))),
      language: count(found.map((one) => one.language)),
    },
  };
}

function thing(iri: string): Answer {
  const one = thingOf(iri);
  if (!one) {
    const empty: Thing = {
      iri,
      label: null,
      types: [],
      statements: [],
      incoming: [],
      incoming_total: 0,
      same: [],
      pages_total: 0,
    };
    return json(empty);
  }
  const incoming = things.flatMap((other) =>
    other.links
      .filter((link) => link.to === iri)
      .map((link) => ({ subject: termOf(other.iri), predicate: link.predicate, page: other.pages[0] ?? "" })),
  );
  const answer: Thing = {
    iri,
    label: one.label,
    types: [typeOf(one.type)],
    statements: one.pages.map((url, place) => {
      const page = pages.find((known) => known.url === url);
      return {
        page: url,
        page_title: page?.title ?? null,
        fetched_at: page?.fetchedAt ?? null,
        syntaxes: page?.syntaxes ?? [],
        properties: [
          { predicate: `${rdf}type`, predicate_label: "type", values: [{ kind: "iri", value: one.type }] },
          {
            predicate: `${schema}name`,
            predicate_label: "name",
            values: [{ kind: "literal", value: one.label, language: one.language }],
          },
          ...(place === 0
            ? [
                {
                  predicate: `${schema}description`,
                  predicate_label: "description",
                  values: [{ kind: "literal" as const, value: one.description, language: one.language }],
                },
              ]
            : []),
          {
            predicate: `${schema}dateCreated`,
            predicate_label: "date created",
            values: [{ kind: "literal", value: "1804", datatype: "http://www.w3.org/2001/XMLSchema#gYear" }],
          },
          ...one.links
            .slice(0, place + 1)
            .map((link) => ({ predicate: link.predicate, predicate_label: null, values: [termOf(link.to)] })),
        ],
      };
    }),
    incoming,
    incoming_total: incoming.length,
    same: one.type.endsWith("Person")
      ? [
          {
            iri: `https://archive.example/person/${encodeURIComponent(one.label)}`,
            label: one.label,
            reason: "same label and type",
          },
        ]
      : [],
    pages_total: one.pages.length,
  };
  return json(answer);
}

function raw(iri: string, format: string): Answer {
  const one = thingOf(iri);
  const name = one?.label ?? "";
  if (format === "jsonld")
    return {
      status: 200,
      type: "application/ld+json",
      body: JSON.stringify({ "@id": iri, "http://schema.org/name": name }, null, 2),
    };
  if (format === "nquads")
    return {
      status: 200,
      type: "application/n-quads",
      body: `<${iri}> <${schema}name> "${name}" <${one?.pages[0] ?? "urn:x"}> .\n`,
    };
  return {
    status: 200,
    type: "text/turtle",
    body: `@prefix schema: <${schema}> .\n\n<${iri}> a <${one?.type ?? ""}> ;\n    schema:name "${name}"@${one?.language ?? "en"} .\n`,
  };
}

function page(url: string): Answer {
  const one = pages.find((known) => known.url === url);
  if (!one) return problem(404, "not-found", `${url} is not in the store`);
  const said = things.filter((known) => known.pages.includes(url));
  const statements = said.flatMap((known) => [
    {
      subject: termOf(known.iri),
      predicate: `${rdf}type`,
      object: { kind: "iri" as const, value: known.type },
      syntax: one.syntaxes[0] ?? null,
    },
    {
      subject: termOf(known.iri),
      predicate: `${schema}name`,
      object: { kind: "literal" as const, value: known.label, language: known.language },
      syntax: one.syntaxes[0] ?? null,
    },
    ...known.links.map((link) => ({
      subject: termOf(known.iri),
      predicate: link.predicate,
      object: termOf(link.to),
      syntax: one.syntaxes[0] ?? null,
    })),
  ]);
  statements.push({
    subject: { kind: "iri", value: url },
    predicate: `${dcterms}title`,
    object: { kind: "literal", value: one.title, language: one.language },
    syntax: "html",
  });
  const answer: PageAnswer = {
    url,
    title: one.title,
    metadata: {
      status: 200,
      media_type: "text/html",
      detected: "HTML",
      fetched_at: one.fetchedAt,
      bytes: 24_812,
      digest: "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
      language: one.language,
      charset: "utf-8",
      depth: 2,
      found_on: `https://${one.site}/objects/1`,
      redirected_from: null,
      warc_file: "webloom-00001.warc.gz",
      warc_offset: 881_234,
    },
    syntaxes: one.syntaxes.map((name, place) => ({ name, quads: 48 - place * 30 })),
    diagnostics: [
      {
        severity: "warning",
        syntax: "jsonld",
        code: "json-syntax",
        message: "a comma is missing between two members; the block was repaired",
        line: 48,
      },
      {
        severity: "info",
        syntax: null,
        code: "charset-guessed",
        message: "the page names no charset; UTF-8 fits",
        line: null,
      },
    ],
    statements_total: statements.length,
    statements,
    outlinks: pages
      .filter((other) => other.site === one.site)
      .map((other) => ({ url: other.url, anchor: other.title, state: "fetched" })),
    history: [
      { at: one.fetchedAt, status: 200, digest: "sha256:9f86d081884c7d65", changed: true },
      {
        at: new Date(Date.parse(one.fetchedAt) - 86_400_000).toISOString(),
        status: 200,
        digest: "sha256:60303ae22b998861",
        changed: true,
      },
    ],
    archived: true,
  };
  return json(answer);
}

function life(url: string): Answer {
  const one = pages.find((known) => known.url === url);
  if (!one && !url.includes("example")) return problem(404, "not-found", "this URL was never met");
  const answer: UrlLife = {
    url,
    state: one ? "done" : "queued",
    found: {
      on: "https://museum.example/objects/1",
      at: new Date(Date.now() - 3e6).toISOString(),
      depth: 2,
      anchor: "more about looms",
    },
    priority: 0.42,
    filters: [
      { name: "scope", passed: true, reason: null },
      { name: "exclude", passed: true, reason: "no expression matches" },
    ],
    queue: one ? null : { position: 812, host: "museum.example" },
    robots: { verdict: "allowed", rule: "Allow: /" },
    fetches: one ? [{ at: one.fetchedAt, outcome: "fetched", status: 200, bytes: 24_812, milliseconds: 182 }] : [],
    extracted: one ? { quads: 48, graph: url } : null,
    refused: null,
  };
  return json(answer);
}

/** What went wrong in every crawl. */
export function errors(): ErrorKind[] {
  const at = new Date(Date.now() - 40_000).toISOString();
  return [
    {
      kind: "dns",
      count: 19,
      hosts: [
        { host: "gone.example", count: 12 },
        { host: "typo.example", count: 7 },
      ],
      examples: [{ url: "https://gone.example/", at, message: "cannot resolve host `gone.example`" }],
    },
    {
      kind: "timeout_headers",
      count: 11,
      hosts: [{ host: "slow.example", count: 11 }],
      examples: [{ url: "https://slow.example/list?page=4", at, message: "no response header within 20 s" }],
    },
    {
      kind: "tls",
      count: 7,
      hosts: [{ host: "textil.example", count: 7 }],
      examples: [{ url: "https://textil.example/news/3", at, message: "the certificate is not valid for this host" }],
    },
  ];
}

function sparql(query: string): Answer {
  if (/CONSTRUCT|DESCRIBE/i.test(query)) {
    const lines = things.flatMap((one) => one.links.map((link) => `<${one.iri}> <${link.predicate}> <${link.to}> .`));
    return { status: 200, type: "application/n-triples", body: `${lines.join("\n")}\n` };
  }
  if (/\bASK\b/i.test(query))
    return { status: 200, type: "application/sparql-results+json", body: JSON.stringify({ head: {}, boolean: true }) };
  if (!/SELECT/i.test(query) || !query.includes("}"))
    return problem(400, "bad-query", "error at 1:1: expected SELECT, CONSTRUCT, ASK or DESCRIBE");
  const counts = new Map<string, number>();
  for (const one of things) counts.set(one.type, (counts.get(one.type) ?? 0) + 1);
  const bindings = [...counts].map(([type, count]) => ({
    class: { type: "uri", value: type },
    things: { type: "literal", value: String(count), datatype: "http://www.w3.org/2001/XMLSchema#integer" },
  }));
  return {
    status: 200,
    type: "application/sparql-results+json",
    body: JSON.stringify({ head: { vars: ["class", "things"] }, results: { bindings } }),
  };
}

/** An answer in JSON. */
export function json(value: unknown, status = 200): Answer {
  return { status, type: "application/json", body: JSON.stringify(value) };
}

/** A refusal in the agreed shape. */
export function problem(status: number, code: string, message: string): Answer {
  return json({ error: { code, message, hint: null } }, status);
}
