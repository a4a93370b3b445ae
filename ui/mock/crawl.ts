// A crawl that only pretends: numbers that move as a real crawl's would, and obey start, pause, resume and stop.
import {
  type Crawl,
  type CrawlBrief,
  type CrawlState,
  type Host,
  type Phase,
  phaseNames,
  type RecentPage,
  type Series,
  type Span,
} from "../src/api/types.ts";
import { pages, random, sites } from "./world.ts";

/** One pretended crawl. */
export class MockCrawl {
  readonly id: string;
  state: CrawlState;
  specification: string;
  filters = { include: [] as string[], exclude: ["/login", "\\?sort="] };
  limits: Record<string, number | null> = {
    delay_ms: 1000,
    domain_delay_ms: 1000,
    max_pages: null,
    max_depth: 5,
    max_pages_per_host: null,
    bandwidth_bytes_per_second: null,
  };
  recent: RecentPage[] = [];
  private count = 4180;
  private quads = 251_600;
  private errors = 37;
  private queued = 18_400;
  private readonly started = Date.now() - 754_000;
  private readonly next = random(42);
  private phases: Phase[] = [];

  constructor(id: string, specification: string, state: CrawlState) {
    this.id = id;
    this.specification = specification;
    this.state = state;
    for (let number = 0; number < 30; number += 1) this.fetchOne(Date.now() - (30 - number) * 900);
    this.tick();
  }

  /** A second passes. */
  tick(): void {
    const running = this.state === "running";
    const rate = running ? 28 + 14 * Math.sin(Date.now() / 20_000) + this.next() * 6 : 0;
    if (running) {
      this.count += Math.round(rate);
      this.quads += Math.round(rate * 60);
      this.queued += Math.round(rate * 2 - 20);
      if (this.next() < 0.3) this.errors += 1;
      for (let number = 0; number < 3; number += 1) this.fetchOne(Date.now());
    }
    const busy = { fetch: 0.31, detect: 0.04, transform: 0.86, index: 0.52, extract: 0.11 };
    const cost = { fetch: 182_000, detect: 210, transform: 9400, index: 2100, extract: 480 };
    this.phases = phaseNames.map((name) => ({
      name,
      pages: this.count,
      rate: running ? rate * (0.96 + this.next() * 0.08) : 0,
      busy_share: running ? busy[name] * (0.9 + this.next() * 0.1) : 0,
      queue: running ? Math.round((name === "transform" ? 240 : 12) * (0.8 + this.next() * 0.2)) : 0,
      queue_max: 256,
      microseconds_per_page: cost[name],
    }));
  }

  private fetchOne(at: number): void {
    const page = pages[Math.floor(this.next() * pages.length)];
    if (!page) return;
    const failed = this.next() < 0.06;
    this.recent.unshift({
      url: page.url,
      at: new Date(at + this.next() * 900).toISOString(),
      status: failed ? (this.next() < 0.5 ? 404 : 503) : 200,
      type: failed ? null : "text/html",
      bytes: Math.round(4000 + this.next() * 90_000),
      quads: failed ? 0 : Math.round(this.next() * 140),
      syntaxes: failed ? [] : page.syntaxes,
      milliseconds: Math.round(40 + this.next() * 400),
      diagnostics: this.next() < 0.15 ? 2 : 0,
    });
    this.recent.length = Math.min(this.recent.length, 60);
  }

  brief(): CrawlBrief {
    return {
      id: this.id,
      state: this.state,
      started_at: new Date(this.started).toISOString(),
      message: null,
      pages: this.count,
      quads: this.quads,
      errors: this.errors,
      queued: this.queued,
    };
  }

  full(): Crawl {
    const rate = this.phases[0]?.rate ?? 0;
    return {
      ...this.brief(),
      specification: this.specification,
      elapsed_seconds: (Date.now() - this.started) / 1000,
      phases: this.phases,
      bottleneck: this.state === "running" ? "transform" : null,
      rates: { pages: rate, bytes: rate * 41_000, quads: rate * 60, errors: this.state === "running" ? 0.3 : 0 },
      totals: {
        pages: this.count,
        bytes: this.count * 41_200,
        quads: this.quads,
        errors: this.errors,
        not_modified: 312,
        robots_denied: 88,
      },
      queues: { queued: this.queued, leased: 96, ready_hosts: 14, waiting_hosts: 41, hosts: 73, retired_hosts: 18 },
      status_classes: { "2xx": this.count, "3xx": 402, "4xx": 120, "5xx": 21, none: 9 },
      latency_ms: { p50: 118, p90: 420, p99: 1870 },
    };
  }

  hosts(sort: string, state: string): Host[] {
    const states = ["ready", "waiting", "waiting", "snoozed", "exhausted", "retired"] as const;
    const robots = ["fine", "fine", "none", "unreachable", "unknown"] as const;
    const make = random(9);
    const all = Array.from({ length: 40 }, (_, number): Host => {
      const site = sites[number % sites.length] ?? "example.org";
      return {
        host: number < sites.length ? site : `www${number}.${site}`,
        domain: site,
        ip: `192.0.2.${number + 1}`,
        state: states[Math.floor(make() * states.length)] ?? "ready",
        queued: Math.floor(make() * 900),
        leased: Math.floor(make() * 3),
        fetched: Math.floor(make() * 400),
        errors: make() < 0.3 ? Math.floor(make() * 9) : 0,
        delay_ms: [1000, 1000, 5000][Math.floor(make() * 3)] ?? 1000,
        next_at: make() < 0.5 ? new Date(Date.now() + make() * 9000).toISOString() : null,
        robots: robots[Math.floor(make() * robots.length)] ?? "fine",
      };
    });
    const key = sort === "fetched" || sort === "errors" ? sort : "queued";
    return all.filter((host) => state === "" || host.state === state).sort((left, right) => right[key] - left[key]);
  }

  series(span: Span): Series {
    const step = { hour: 10, day: 300, week: 1800 }[span];
    const count = { hour: 360, day: 288, week: 336 }[span];
    const make = random(span.length);
    const from = Date.now() - count * step * 1000;
    const gap = Math.floor(count * 0.15);
    const shape = (scale: number, noise: number) =>
      Array.from({ length: count }, (_, place) => {
        if (place < gap) return null;
        return Math.max(
          0,
          scale * (0.7 + 0.25 * Math.sin((from / 1000 + place * step) / (step * 25)) + (make() - 0.5) * noise),
        );
      });
    return {
      span,
      step_seconds: step,
      from: new Date(from).toISOString(),
      points: {
        pages: shape(40, 0.2),
        bytes: shape(1.6e6, 0.3),
        quads: shape(2400, 0.2),
        errors: shape(0.3, 1.5),
        queued: shape(18_000, 0.02),
        cpu_percent: shape(140, 0.1),
        memory_bytes: shape(4e8, 0.02),
      },
    };
  }
}
