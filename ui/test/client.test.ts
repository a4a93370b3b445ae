// Errors of every shape become something a person can use; requests carry the token.
import { afterEach, expect, test, vi } from "vitest";
import { address, ApiError, change, get, readError, setToken, token } from "../src/api/client.ts";

afterEach(() => {
  setToken(null);
  vi.unstubAllGlobals();
});

test("an error in the agreed shape", async () => {
  const body = {
    error: { code: "bad-filter", message: "no regular expression", hint: "close the group" },
    problems: [{ key: "include", message: "`(`" }],
  };
  const error = await readError(new Response(JSON.stringify(body), { status: 422 }));
  expect(error).toMatchObject({
    status: 422,
    code: "bad-filter",
    message: "no regular expression",
    hint: "close the group",
    problems: body.problems,
  });
});

test.each([
  ["plain words", 400, "plain words"],
  ["<html>a proxy's page</html>", 502, "The server answered 502"],
  ["", 500, "The server answered 500"],
  ['{"error": 3}', 500, '{"error": 3}'],
  ["null", 500, "null"],
])("an error with the body %j", async (body, status, message) => {
  const error = await readError(new Response(body, { status }));
  expect(error.message).toBe(message);
  expect(error.status).toBe(status);
});

test("without a token one is told where to get it", async () => {
  expect((await readError(new Response("", { status: 401 }))).hint).toContain("token");
});

test("the token travels as a header, and only there", async () => {
  const asked: { url: string; headers: Headers; method: string }[] = [];
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    asked.push({ url, headers: new Headers(init.headers), method: init.method ?? "GET" });
    return new Response('{"ok":true}', { status: 200 });
  });
  await get("/api/status");
  setToken("  secret ");
  await change("PUT", "/api/crawls/main/filters", { include: [] });
  expect(token.value).toBe("secret");
  expect(asked[0]?.headers.get("Authorization")).toBeNull();
  expect(asked[1]?.headers.get("Authorization")).toBe("Bearer secret");
  expect(asked[1]?.headers.get("Content-Type")).toBe("application/json");
  expect(asked.every(({ url }) => !url.includes("secret"))).toBe(true);
});

test("a server that is gone, and one that sends nonsense", async () => {
  vi.stubGlobal("fetch", async () => {
    throw new TypeError("Failed to fetch");
  });
  await expect(get("/api/status")).rejects.toMatchObject({ code: "unreachable" });
  vi.stubGlobal("fetch", async () => new Response("<html>", { status: 200 }));
  await expect(get("/api/status")).rejects.toBeInstanceOf(ApiError);
});

test("addresses leave out what is empty and repeat lists", () => {
  expect(address("/api/search", { q: "ü&", type: ["a", "b"], site: "", offset: 0, none: null })).toBe(
    "./api/search?q=%C3%BC%26&type=a&type=b&offset=0",
  );
});
