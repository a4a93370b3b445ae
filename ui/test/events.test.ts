// The event stream is read right however it is cut.
import { expect, test } from "vitest";
import { EventParser, type ServerEvent } from "../src/api/events.ts";

const stream =
  'retry: 5\n: hello\nevent: status\ndata: {"a":1}\n\ndata: one\r\ndata: two\r\n\r\nevent: lonely\n\ndata:bare\r\rdata: ü\n\nevent: cut\ndata: never';
const expected: ServerEvent[] = [
  { event: "status", data: '{"a":1}' },
  { event: "message", data: "one\ntwo" },
  { event: "message", data: "bare" },
  { event: "message", data: "ü" },
];

test("as one piece", () => {
  expect(new EventParser().push(stream)).toEqual(expected);
});

test("cut at every place", () => {
  for (let cut = 0; cut <= stream.length; cut += 1) {
    const parser = new EventParser();
    expect([...parser.push(stream.slice(0, cut)), ...parser.push(stream.slice(cut))]).toEqual(expected);
  }
});

test("letter by letter", () => {
  const parser = new EventParser();
  expect([...stream].flatMap((letter) => parser.push(letter))).toEqual(expected);
});
