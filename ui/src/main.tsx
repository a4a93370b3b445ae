// The entry: takes the token out of the address, follows the address bar, starts the heartbeat, draws the application.
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/components.css";
import "./styles/pages.css";
import { render } from "preact";
import { setToken, startSession } from "./api/client.ts";
import { App } from "./app.tsx";
import { followAddress, tokenIn } from "./router.ts";
import { startHeartbeat } from "./state.ts";

function takeToken(): void {
  const given = tokenIn(location.hash);
  if (given === null) return;
  setToken(given);
  // Out of the address bar and the history at once: addresses are shared, tokens are not.
  history.replaceState(null, "", "#/crawl");
}

takeToken();
window.addEventListener("hashchange", takeToken);
followAddress();
void startSession();
startHeartbeat();

const root = document.getElementById("app");
if (root) render(<App />, root);
