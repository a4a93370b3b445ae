// The shapes the server speaks, one type per answer. They follow the server's OpenAPI document; nothing here computes.

/** What a crawl is doing. */
export type CrawlState = "running" | "paused" | "stopping" | "stopped" | "finished" | "failed";

/** The five phases every page goes through, in their order. */
export const phaseNames = ["fetch", "detect", "transform", "index", "extract"] as const;
export type PhaseName = (typeof phaseNames)[number];

export interface CrawlBrief {
  id: string;
  state: CrawlState;
  started_at: string | null;
  message: string | null;
  pages: number;
  quads: number;
  errors: number;
  queued: number;
}

export interface Phase {
  name: PhaseName;
  pages: number;
  rate: number;
  busy_share: number;
  queue: number;
  queue_max: number;
  microseconds_per_page: number;
}

export interface Crawl extends CrawlBrief {
  specification: string;
  elapsed_seconds: number;
  phases: Phase[];
  bottleneck: PhaseName | null;
  rates: { pages: number; bytes: number; quads: number; errors: number };
  totals: {
    pages: number;
    bytes: number;
    quads: number;
    errors: number;
    not_modified: number;
    robots_denied: number;
  };
  queues: {
    queued: number;
    leased: number;
    ready_hosts: number;
    waiting_hosts: number;
    hosts: number;
    retired_hosts: number;
  };
  status_classes: Record<string, number>;
  latency_ms: { p50: number | null; p90: number | null; p99: number | null };
}

export interface Machine {
  cpu_percent: number;
  memory_bytes: number;
  memory_total_bytes: number;
  disk_free_bytes: number;
  disk_total_bytes: number;
  open_files: number;
  open_files_max: number;
  threads: number;
}

export interface Status {
  version: string;
  data: string;
  uptime_seconds: number;
  read_only: boolean;
  token_required: boolean;
  crawls: CrawlBrief[];
  store: {
    pages: number;
    graphs: number;
    quads: number;
    terms: number;
    bytes: number;
    segments: number;
    generation: number;
  };
  machine: Machine;
}

/** A problem of a crawl specification, a filter or a limit. */
export interface Problem {
  key: string;
  message: string;
}

export type HostState = "ready" | "waiting" | "snoozed" | "retired" | "exhausted" | "blocked";

export interface Host {
  host: string;
  domain: string;
  ip: string | null;
  state: HostState;
  queued: number;
  leased: number;
  fetched: number;
  errors: number;
  delay_ms: number;
  next_at: string | null;
  robots: "fine" | "none" | "unreachable" | "unknown";
}

export interface RecentPage {
  url: string;
  at: string;
  status: number | null;
  type: string | null;
  bytes: number;
  quads: number;
  syntaxes: string[];
  milliseconds: number;
  diagnostics: number;
}

export interface ErrorKind {
  kind: string;
  count: number;
  hosts: { host: string; count: number }[];
  examples: { url: string; at: string; message: string }[];
}

export const spans = ["hour", "day", "week"] as const;
export type Span = (typeof spans)[number];

export interface Series {
  span: Span;
  step_seconds: number;
  from: string;
  points: Record<string, (number | null)[]>;
}

export interface Filters {
  include: string[];
  exclude: string[];
}

export interface Limits {
  delay_ms: number | null;
  domain_delay_ms: number | null;
  max_pages: number | null;
  max_depth: number | null;
  max_pages_per_host: number | null;
  bandwidth_bytes_per_second: number | null;
}

export interface UrlLife {
  url: string;
  state: string;
  found: { on: string | null; at: string | null; depth: number | null; anchor: string | null } | null;
  priority: number | null;
  filters: { name: string; passed: boolean; reason: string | null }[];
  queue: Record<string, unknown> | null;
  robots: { verdict: string; rule: string | null } | null;
  fetches: {
    at: string;
    outcome: string;
    status: number | null;
    bytes: number | null;
    milliseconds: number | null;
  }[];
  extracted: { quads: number; graph: string | null } | null;
  refused: string | null;
}

export interface Named {
  iri: string;
  label: string | null;
}

export interface SearchResult {
  iri: string;
  label: string | null;
  label_language: string | null;
  types: Named[];
  snippet: {
    text: string;
    highlights: [number, number][];
    predicate: string | null;
    language: string | null;
  } | null;
  score: number;
  sites: number;
  pages: { url: string; title: string | null }[];
  pages_total: number;
  image: string | null;
}

/** The ways to narrow a search, in the order they are shown. */
export const facetNames = ["type", "vocabulary", "site", "language"] as const;
export type FacetName = (typeof facetNames)[number];

export interface FacetValue {
  value: string;
  label: string | null;
  count: number;
}

export interface SearchAnswer {
  query: string;
  total: number;
  total_is_exact: boolean;
  milliseconds: number;
  suggestion: string | null;
  results: SearchResult[];
  facets: Partial<Record<FacetName, FacetValue[]>>;
}

export interface Term {
  kind: "iri" | "blank" | "literal";
  value: string;
  label?: string | null;
  language?: string | null;
  datatype?: string | null;
}

export interface PropertyValues {
  predicate: string;
  predicate_label: string | null;
  values: Term[];
}

export interface SourceStatements {
  page: string;
  page_title: string | null;
  fetched_at: string | null;
  syntaxes: string[];
  properties: PropertyValues[];
}

export interface Thing {
  iri: string;
  label: string | null;
  types: Named[];
  statements: SourceStatements[];
  incoming: { subject: Term; predicate: string; page: string }[];
  incoming_total: number;
  same: { iri: string; label: string | null; reason: string }[];
  pages_total: number;
}

export interface GraphNode {
  iri: string;
  label: string | null;
  kind: string;
}

export interface GraphLink {
  from: string;
  to: string;
  predicate: string;
  label: string | null;
}

export interface ThingGraph {
  nodes: GraphNode[];
  links: GraphLink[];
  cut: boolean;
}

export interface Diagnostic {
  severity: string;
  syntax: string | null;
  code: string | null;
  message: string;
  line: number | null;
}

export interface PageStatement {
  subject: Term;
  predicate: string;
  object: Term;
  syntax: string | null;
}

export interface PageAnswer {
  url: string;
  title: string | null;
  metadata: Record<string, unknown>;
  /** The number of quads is null where it was not noted. */
  syntaxes: { name: string; quads: number | null }[];
  diagnostics: Diagnostic[];
  statements_total: number;
  statements: PageStatement[];
  outlinks: { url: string; anchor: string | null; state: string | null }[];
  history: { at: string; status: number | null; digest: string | null; changed: boolean }[];
  archived: boolean;
}

export interface PageRow {
  url: string;
  title: string | null;
  fetched_at: string | null;
  type: string | null;
  quads: number;
}

export interface Site {
  site: string;
  pages: number;
  quads: number;
  languages: string[];
  vocabularies: string[];
  errors: number;
}

export interface Vocabulary {
  prefixes: { prefix: string; namespace: string; count: number }[];
  predicates: { iri: string; count: number }[];
  classes: { iri: string; count: number }[];
}

export interface Example {
  title: string;
  query: string;
}

export interface PlanNode {
  operator: string;
  detail?: string | null;
  estimated_rows?: number | null;
  rows?: number | null;
  milliseconds?: number | null;
  children?: PlanNode[];
}

export interface Explanation {
  plan: PlanNode | null;
  text: string;
}

export interface Settings {
  limits: Record<string, number | string | null>;
  listen: string;
  default_graph: string;
  version: string;
  commit: string | null;
}
