// The mock API inside vite's own servers, for `npm run dev` and `npm run preview`.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Plugin } from "vite";
import { MockServer } from "./answers.ts";
import { contentSecurityPolicy, handle } from "./http.ts";

/** A vite plugin that answers API requests from the mock server. */
export function mockPlugin(): Plugin {
  const middleware = (strict: boolean) => {
    const server = new MockServer();
    setInterval(() => server.tick(), 1000).unref();
    return (request: IncomingMessage, response: ServerResponse, next: () => void) => {
      // The preview keeps the real policy; development needs vite's own inline pieces.
      if (strict) response.setHeader("Content-Security-Policy", contentSecurityPolicy);
      void handle(server, request, response).then((answered) => {
        if (!answered) next();
      });
    };
  };
  return {
    name: "webloom-mock",
    configureServer(vite) {
      vite.middlewares.use(middleware(false));
    },
    configurePreviewServer(vite) {
      vite.middlewares.use(middleware(true));
    },
  };
}
