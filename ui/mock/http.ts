// The mock server on HTTP: a handler for Node's server that vite's development server, its preview and the end-to-end tests share.
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import { MockServer } from "./answers.ts";

/** The policy the real server sends with the interface. */
export const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; " +
  "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** Answers what belongs to the API; true when it did. */
export async function handle(server: MockServer, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
  const url = new URL(request.url ?? "/", "http://mock.invalid");
  if (url.pathname === "/api/events") {
    stream(server, url.searchParams.get("crawl") ?? "main", request, response);
    return true;
  }
  const body = request.method === "GET" ? "" : await readBody(request);
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
  );
  const answer = server.answer(request.method ?? "GET", url, headers, body);
  if (!answer) return false;
  response.writeHead(answer.status, { "Content-Type": answer.type ?? "text/plain", ...answer.headers });
  response.end(answer.body);
  return true;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString("utf8");
}

function stream(server: MockServer, id: string, request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  const emit = (event: string, data: unknown) => response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  let newest = "";
  const tell = () => {
    const crawl = server.crawls.get(id);
    if (!crawl) return;
    emit("status", crawl.full());
    emit("machine", server.machine());
    const fresh = crawl.recent.filter((page) => page.at > newest).reverse();
    for (const page of fresh) emit("page", page);
    newest = fresh.at(-1)?.at ?? newest;
  };
  tell();
  const timer = setInterval(tell, 1000);
  request.on("close", () => clearInterval(timer));
}

const types: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Serves the built interface and the mock API on a free port of loopback, with the real server's policy. */
export async function serveBuilt(folder: string, port = 0): Promise<{ url: string; close: () => Promise<void> }> {
  const mock = new MockServer();
  const ticking = setInterval(() => mock.tick(), 1000);
  const server: Server = createServer((request, response) => {
    void (async () => {
      if (await handle(mock, request, response)) return;
      const path = normalize(decodeURIComponent(new URL(request.url ?? "/", "http://mock.invalid").pathname));
      const file = join(folder, path === "/" ? "index.html" : path);
      const found = file.startsWith(folder) && (await stat(file).catch(() => null))?.isFile();
      if (!found) {
        response.writeHead(404, { "Content-Type": "text/plain" });
        response.end("not found");
        return;
      }
      response.writeHead(200, {
        "Content-Type": types[extname(file)] ?? "application/octet-stream",
        "Content-Security-Policy": contentSecurityPolicy,
        "X-Content-Type-Options": "nosniff",
      });
      createReadStream(file).pipe(response);
    })();
  });
  await new Promise<void>((resume) => server.listen(port, "127.0.0.1", resume));
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${bound}`,
    close: async () => {
      clearInterval(ticking);
      server.closeAllConnections();
      await new Promise<void>((resume) => server.close(() => resume()));
    },
  };
}
