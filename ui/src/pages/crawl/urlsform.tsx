// URLs given by hand: to be crawled, with a score if one is written behind, or never to be crawled.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type ApiError, change, crawlPath } from "../../api/client.ts";
import { Failure, Field, Notice } from "../../components/basics.tsx";
import { plural } from "../../format.ts";
import { asApiError } from "../../hooks.ts";
import { controlRefusal } from "../../state.ts";
import { splitLines } from "./filtersform.tsx";

export interface GivenUrl {
  url: string;
  score?: number;
  blacklisted?: boolean;
}

interface Outcome {
  added: number;
  rescored: number;
  banned: number;
  tried_again: number;
  refused: { number: number; url: string; reason: string }[];
}

/** Reads lines of a URL and perhaps a score: "https://example.org/ 0.8". */
export function readUrls(text: string, blacklisted: boolean): GivenUrl[] {
  return splitLines(text).map((line) => {
    const [url = line, score] = line.split(/\s+/);
    if (blacklisted) return { url, blacklisted: true };
    const value = score === undefined ? Number.NaN : Number(score);
    return Number.isFinite(value) ? { url, score: value } : { url };
  });
}

/** The form. */
export function UrlsForm(props: { id: string }): JSX.Element {
  const [text, setText] = useState("");
  const [blacklisted, setBlacklisted] = useState(false);
  const [sending, setSending] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [failed, setFailed] = useState<ApiError | null>(null);
  const urls = readUrls(text, blacklisted);
  const submit = async (event: Event) => {
    event.preventDefault();
    setSending(true);
    setOutcome(null);
    setFailed(null);
    try {
      const answer = await change<Outcome>("POST", crawlPath(props.id, "/urls"), urls);
      setOutcome(answer);
      if (answer && answer.refused.length === 0) setText("");
    } catch (failure) {
      setFailed(asApiError(failure));
    } finally {
      setSending(false);
    }
  };
  return (
    <form class="form" onSubmit={(event) => void submit(event)}>
      <Field label="URLs, one a line" help="A number behind a URL is its score; higher is fetched earlier.">
        {(field) => (
          <textarea
            {...field}
            rows={5}
            spellcheck={false}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
            placeholder={"https://example.org/\nhttps://example.org/people 0.9"}
          />
        )}
      </Field>
      <label class="check">
        <input
          type="checkbox"
          checked={blacklisted}
          onChange={(event) => setBlacklisted(event.currentTarget.checked)}
        />
        Never fetch these
      </label>
      {failed && <Failure error={failed} />}
      {outcome && (
        <Notice kind={outcome.refused.length > 0 ? "warn" : "good"}>
          <p>
            {plural(outcome.added, "URL")} added, {outcome.rescored} with a new score, {outcome.banned} banned
            {outcome.tried_again > 0 ? `, ${outcome.tried_again} that failed before tried again` : ""}
            {outcome.refused.length > 0 ? `, ${outcome.refused.length} refused:` : "."}
          </p>
          {outcome.refused.length > 0 && (
            <ul class="problems">
              {outcome.refused.slice(0, 20).map(({ number, url, reason }) => (
                <li key={number}>
                  <code>{url}</code> {reason}
                </li>
              ))}
            </ul>
          )}
        </Notice>
      )}
      <div class="buttons">
        <button
          type="submit"
          class="button primary"
          disabled={sending || urls.length === 0 || controlRefusal.value !== null}
          title={controlRefusal.value ?? undefined}
        >
          {blacklisted ? "Ban" : "Add"} {urls.length > 0 ? plural(urls.length, "URL") : "URLs"}
        </button>
        {controlRefusal.value && <span class="muted">{controlRefusal.value}</span>}
      </div>
    </form>
  );
}
