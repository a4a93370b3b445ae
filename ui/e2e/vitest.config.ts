// End-to-end tests: the built interface in a real Chromium, against the mock server or a real `webloom`.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["e2e/**/*.spec.ts"],
    root: new URL("..", import.meta.url).pathname,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // One browser and one server at a time: the machine may be small, and the tests change the crawl.
    fileParallelism: false,
    sequence: { concurrent: false },
  },
});
