// The mock server: the same addresses and shapes as the real one, for what belongs to the server and its crawls.
import type { Status } from "../src/api/types.ts";
import { MockCrawl } from "./crawl.ts";
import { type Answer, errors, json, problem, read } from "./read.ts";

/** What the mock server takes as the operator's token. */
export const mockToken = "mock-token";

const started = Date.now();
const specification = 'seeds = ["https://museum.example/"]\n\n[scope]\nwithin = "anywhere"\nmax_depth = 5\n';

/** The state of one mock server. */
export class MockServer {
  readonly crawls = new Map<string, MockCrawl>([["main", new MockCrawl("main", specification, "running")]]);

  /** A second passes for every crawl. */
  tick(): void {
    for (const crawl of this.crawls.values()) crawl.tick();
  }

  status(): Status {
    const main = this.crawls.get("main")?.brief();
    return {
      version: "0.1.0",
      data: "./webloom-demo",
      uptime_seconds: (Date.now() - started) / 1000 + 760,
      read_only: false,
      token_required: true,
      crawls: [...this.crawls.values()].map((crawl) => crawl.brief()),
      store: {
        pages: main?.pages ?? 0,
        graphs: (main?.pages ?? 0) * 2,
        quads: main?.quads ?? 0,
        terms: 88_412,
        bytes: 14_200_000,
        segments: 9,
        generation: 412,
      },
      machine: this.machine(),
    };
  }

  machine(): Status["machine"] {
    return {
      cpu_percent: 120 + 30 * Math.sin(Date.now() / 9000),
      memory_bytes: 412e6,
      memory_total_bytes: 16e9,
      disk_free_bytes: 81e9,
      disk_total_bytes: 256e9,
      open_files: 312,
      open_files_max: 1_048_576,
      threads: 24,
    };
  }

  /** Answers a request. Null when the address is not part of the API. */
  answer(method: string, url: URL, headers: Record<string, string | undefined>, body: string): Answer | null {
    const path = url.pathname;
    const isControl = method !== "GET" && path.startsWith("/api/") && path !== "/api/explain";
    if (isControl && headers["authorization"] !== `Bearer ${mockToken}`) {
      return problem(401, "unauthorized", "this needs the token");
    }
    if (path === "/api/status") return json(this.status());
    if (path === "/api/crawls") return method === "POST" ? this.create(body) : json({ crawls: this.status().crawls });
    const crawl = /^\/api\/crawls\/([^/]+)(?:\/(\w+))?$/.exec(path);
    if (crawl) return this.crawl(method, decodeURIComponent(crawl[1] ?? ""), crawl[2] ?? "", url.searchParams, body);
    return read(path, url.searchParams, body);
  }

  private create(body: string): Answer {
    const given = JSON.parse(body) as { id?: string; specification?: string; start?: boolean };
    const text = given.specification ?? "";
    if (/^\s*seed\s*=/m.test(text)) {
      return {
        ...problem(422, "bad-specification", "the specification has a problem"),
        body: JSON.stringify({
          error: { code: "bad-specification", message: "the specification has a problem", hint: null },
          problems: [{ key: "seed", message: "unknown key; did you mean `seeds`?" }],
        }),
      };
    }
    const id = given.id ?? `crawl-${this.crawls.size + 1}`;
    const crawl = new MockCrawl(id, text, given.start === false ? "stopped" : "running");
    this.crawls.set(id, crawl);
    return json(crawl.brief(), 201);
  }

  private crawl(method: string, id: string, rest: string, query: URLSearchParams, body: string): Answer {
    const crawl = this.crawls.get(id);
    if (!crawl) return problem(404, "not-found", `there is no crawl ${id}`);
    if (method === "POST") {
      const states = { start: "running", resume: "running", pause: "paused", stop: "stopped" } as const;
      if (rest in states) {
        crawl.state = states[rest as keyof typeof states];
        crawl.tick();
        return json(crawl.brief(), 202);
      }
      if (rest === "urls") {
        const given = JSON.parse(body) as { url: string; blacklisted?: boolean }[];
        const numbered = given.map(({ url }, index) => ({ number: index + 1, url, reason: "no web address" }));
        const bad = numbered.filter(({ url }) => !/^https?:/.test(url));
        const banned = given.filter(({ blacklisted }) => blacklisted).length;
        return json({
          added: given.length - bad.length - banned,
          rescored: 0,
          banned,
          known: 0,
          tried_again: 0,
          refused: bad,
          refused_total: bad.length,
        });
      }
      if (rest === "recrawl") return json({ queued: 1 });
    }
    if (method === "PUT" && rest === "filters") {
      const filters = JSON.parse(body) as { include: string[]; exclude: string[] };
      const broken = [...filters.include, ...filters.exclude].find((expression) => !isExpression(expression));
      if (broken !== undefined) {
        return {
          ...problem(422, "bad-filter", ""),
          body: JSON.stringify({
            error: { code: "bad-filter", message: "a filter is no regular expression", hint: null },
            problems: [{ key: "exclude", message: `\`${broken}\`: unclosed group` }],
          }),
        };
      }
      crawl.filters = filters;
      return json(filters);
    }
    if (method === "PUT" && rest === "limits") {
      crawl.limits = JSON.parse(body) as Record<string, number | null>;
      return json(crawl.limits);
    }
    if (method === "DELETE") {
      this.crawls.delete(id);
      return { status: 204, body: "" };
    }
    const limit = Number(query.get("limit") ?? 50);
    const offset = Number(query.get("offset") ?? 0);
    switch (rest) {
      case "":
        return json(crawl.full());
      case "filters":
        return json(crawl.filters);
      case "limits":
        return json(crawl.limits);
      case "recent":
        return json({ pages: crawl.recent.slice(0, limit) });
      case "hosts": {
        const all = crawl.hosts(query.get("sort") ?? "queued", query.get("state") ?? "");
        return json({ total: all.length, hosts: all.slice(offset, offset + limit) });
      }
      case "series": {
        const span = query.get("span");
        return json(crawl.series(span === "day" || span === "week" ? span : "hour"));
      }
      case "errors":
        return json({ kinds: errors() });
      default:
        return problem(404, "not-found", "no such resource");
    }
  }
}

function isExpression(text: string): boolean {
  try {
    new RegExp(text, "u");
    return true;
  } catch {
    return false;
  }
}
