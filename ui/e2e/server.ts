// Who answers the interface in these tests: WEBLOOM_URL names a running server; else WEBLOOM_BINARY is started as `webloom demo`; else the
// mock server serves `dist`.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mockToken } from "../mock/answers.ts";
import { serveBuilt } from "../mock/http.ts";

export interface TestServer {
  url: string;
  token: string;
  /** True for the mock: its world is known, and its crawl never ends. */
  mock: boolean;
  close(): Promise<void>;
}

/** Starts or finds the server. */
export async function startServer(): Promise<TestServer> {
  const running = process.env["WEBLOOM_URL"];
  if (running) {
    return {
      url: running.replace(/\/+$/, ""),
      token: process.env["WEBLOOM_TOKEN"] ?? "",
      mock: false,
      close: async () => undefined,
    };
  }
  const binary = process.env["WEBLOOM_BINARY"];
  if (binary) return startDemo(binary);
  const mock = await serveBuilt(join(import.meta.dirname, "../dist"));
  return { url: mock.url, token: mockToken, mock: true, close: mock.close };
}

const startSeconds = 120;

async function startDemo(binary: string): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), "webloom-ui-"));
  const child = spawn(binary, ["demo", "--listen", "127.0.0.1:0", "--data", join(folder, "data")], {
    stdio: ["ignore", "pipe", "pipe"],
    cwd: folder,
  });
  try {
    const link = await readLink(child);
    const url = new URL(link);
    return {
      url: url.origin,
      token: new URLSearchParams(url.hash.slice(1)).get("token") ?? "",
      mock: false,
      close: async () => {
        await stop(child);
        await rm(folder, { recursive: true, force: true });
      },
    };
  } catch (failure) {
    await stop(child);
    throw failure;
  }
}

/** The link with the token, as the command prints it for the operator. */
function readLink(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    const timer = setTimeout(
      () => reject(new Error(`webloom printed no link within ${startSeconds} s:\n${said}`)),
      startSeconds * 1000,
    );
    const listen = (piece: Buffer) => {
      said += piece.toString();
      const link = /http:\/\/[^\s]+#token=[^\s"'<>]+/.exec(said);
      if (link) {
        clearTimeout(timer);
        resolve(link[0]);
      }
    };
    child.stdout?.on("data", listen);
    child.stderr?.on("data", listen);
    child.on("exit", (code) => {
      clearTimeout(timer);
      reject(new Error(`webloom ended with ${code} before it printed its link:\n${said}`));
    });
  });
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = new Promise((resume) => child.once("exit", resume));
  child.kill("SIGINT");
  const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
  await ended;
  clearTimeout(timer);
}
