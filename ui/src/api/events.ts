// Server-sent events, read with fetch instead of EventSource: only so can the token travel in a header. Reconnects by itself,
// each time after a longer pause.
import { send } from "./client.ts";

export interface ServerEvent {
  event: string;
  data: string;
}

/** Takes the text of an event stream in pieces cut anywhere, and gives out whole events. */
export class EventParser {
  private rest = "";
  private event = "";
  private data: string[] = [];

  /** Takes the next piece. */
  push(piece: string): ServerEvent[] {
    const found: ServerEvent[] = [];
    this.rest += piece;
    for (;;) {
      const match = /\r\n|\n|\r/.exec(this.rest);
      // A carriage return at the very end may be half of a pair.
      if (!match || (match[0] === "\r" && match.index === this.rest.length - 1)) break;
      const line = this.rest.slice(0, match.index);
      this.rest = this.rest.slice(match.index + match[0].length);
      const event = this.line(line);
      if (event) found.push(event);
    }
    return found;
  }

  private line(line: string): ServerEvent | null {
    if (line === "") {
      const event = this.data.length > 0 ? { event: this.event || "message", data: this.data.join("\n") } : null;
      this.event = "";
      this.data = [];
      return event;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.event = value;
    if (field === "data") this.data.push(value);
    return null;
  }
}

export interface StreamHandlers {
  /** An event, its data read as JSON. */
  onEvent(event: string, data: unknown): void;
  /** True when connected, false when the connection is lost. */
  onLive(live: boolean): void;
}

const pauseFirst = 1000;
const pauseMax = 15_000;

/** Listens until the returned function is called. */
export function listen(url: string, handlers: StreamHandlers): () => void {
  const abort = new AbortController();
  void run(url, handlers, abort.signal);
  return () => abort.abort();
}

async function run(url: string, handlers: StreamHandlers, abort: AbortSignal): Promise<void> {
  let pause = pauseFirst;
  while (!abort.aborted) {
    try {
      const response = await send(url, { headers: { Accept: "text/event-stream" }, signal: abort });
      const reader = response.body?.getReader();
      if (!reader) throw new Error("no body");
      handlers.onLive(true);
      pause = pauseFirst;
      const decoder = new TextDecoder();
      const parser = new EventParser();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        for (const { event, data } of parser.push(decoder.decode(value, { stream: true }))) {
          handlers.onEvent(event, readData(data));
        }
      }
    } catch {
      // Lost, refused or left: the loop decides which.
    }
    if (abort.aborted) return;
    handlers.onLive(false);
    await new Promise((resume) => setTimeout(resume, pause));
    pause = Math.min(pause * 2, pauseMax);
  }
}

function readData(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return data;
  }
}
