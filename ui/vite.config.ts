// How the interface is built, and how it is served while it is worked on: with the mock server of `mock/`, or, when
// WEBLOOM_URL names a running `webloom serve`, in front of that one.
import { defineConfig } from "vite";
import { mockPlugin } from "./mock/plugin.ts";

const server = process.env["WEBLOOM_URL"];
// The Host field stays as the browser sent it: the server compares it with the Origin before it lets a page change anything.
const proxy = server
  ? Object.fromEntries(
      ["/api", "/sparql", "/search", "/archive", "/metrics"].map((path) => [
        path,
        { target: server, changeOrigin: false },
      ]),
    )
  : undefined;

export default defineConfig({
  // Relative addresses, so that the interface also works behind a proxy that puts it under a path.
  base: "./",
  plugins: server ? [] : [mockPlugin()],
  server: { ...(proxy ? { proxy } : {}) },
  preview: { ...(proxy ? { proxy } : {}) },
  build: {
    target: "es2022",
    // Nothing may become a data: address, since the content security policy allows those only for images.
    assetsInlineLimit: 0,
    // The module preload polyfill is not needed by any browser we build for.
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
});
