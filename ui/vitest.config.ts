// Unit tests: everything that can be said of the interface without a browser.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["test/**/*.test.ts", "test/**/*.test.tsx"], environment: "happy-dom" },
});
