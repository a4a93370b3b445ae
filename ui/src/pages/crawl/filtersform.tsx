// The regular expressions that say which URLs are followed. They can be tried against a URL before they are saved.
import type { JSX, TargetedEvent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type ApiError, change, crawlPath, get } from "../../api/client.ts";
import type { Filters } from "../../api/types.ts";
import { Failure, Field, Loading, Notice } from "../../components/basics.tsx";
import { asApiError, useResource } from "../../hooks.ts";
import { controlRefusal } from "../../state.ts";

/** One expression per line; empty lines mean nothing. */
export function splitLines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

export type Verdict = { follows: boolean; because: string } | null;

/**
 * What the filters say of a URL, as far as this browser's expressions agree with the crawler's (they do for all but rare syntax). Null when
 * an expression is not understood here.
 */
export function judge(url: string, filters: Filters): Verdict {
  try {
    const refused = filters.exclude.find((expression) => new RegExp(expression, "u").test(url));
    if (refused !== undefined) return { follows: false, because: `excluded by ${refused}` };
    if (filters.include.length === 0) return { follows: true, because: "no exclusion matches" };
    const wanted = filters.include.find((expression) => new RegExp(expression, "u").test(url));
    return wanted === undefined
      ? { follows: false, because: "no inclusion matches" }
      : { follows: true, because: `included by ${wanted}` };
  } catch {
    return null;
  }
}

/** The form. */
export function FiltersForm(props: { id: string }): JSX.Element {
  const loaded = useResource<Filters>(props.id, (abort) => get(crawlPath(props.id, "/filters"), {}, abort));
  const [include, setInclude] = useState("");
  const [exclude, setExclude] = useState("");
  const [trial, setTrial] = useState("");
  const [saved, setSaved] = useState(false);
  const [saving, setSaving] = useState(false);
  const [failed, setFailed] = useState<ApiError | null>(null);

  useEffect(() => {
    if (!loaded.value) return;
    setInclude(loaded.value.include.join("\n"));
    setExclude(loaded.value.exclude.join("\n"));
  }, [loaded.value]);

  const filters: Filters = { include: splitLines(include), exclude: splitLines(exclude) };
  const save = async (event: Event) => {
    event.preventDefault();
    setSaving(true);
    setSaved(false);
    setFailed(null);
    try {
      await change("PUT", crawlPath(props.id, "/filters"), filters);
      setSaved(true);
    } catch (failure) {
      setFailed(asApiError(failure));
    } finally {
      setSaving(false);
    }
  };
  const edit = (set: (text: string) => void) => (event: TargetedEvent<HTMLTextAreaElement>) => {
    set(event.currentTarget.value);
    setSaved(false);
  };

  if (loaded.error) return <Failure error={loaded.error} retry={loaded.reload} />;
  if (!loaded.value) return <Loading what="filters" />;
  const verdict = trial.trim() === "" ? undefined : judge(trial.trim(), filters);
  return (
    <form class="form" onSubmit={(event) => void save(event)}>
      <div class="form-columns">
        <Field
          label="Follow only what matches one of"
          help={
            <>
              Regular expressions, one a line, unanchored: <code>/blog/</code> is enough.
            </>
          }
        >
          {(field) => (
            <textarea
              {...field}
              rows={5}
              spellcheck={false}
              value={include}
              onInput={edit(setInclude)}
              placeholder="nothing here: everything in scope"
            />
          )}
        </Field>
        <Field label="Never follow what matches one of" help="Exclusions win over inclusions.">
          {(field) => (
            <textarea
              {...field}
              rows={5}
              spellcheck={false}
              value={exclude}
              onInput={edit(setExclude)}
              placeholder="nothing here: nothing is excluded"
            />
          )}
        </Field>
      </div>
      <Field
        label="Try a URL"
        live
        help={
          verdict === undefined
            ? "See what the filters above would say, before they are saved."
            : verdict === null
              ? "One of the expressions is not understood by this browser; the server may still take it."
              : `${verdict.follows ? "Followed" : "Not followed"}: ${verdict.because}.`
        }
      >
        {(field) => (
          <input
            {...field}
            type="text"
            inputMode="url"
            spellcheck={false}
            value={trial}
            onInput={(event) => setTrial(event.currentTarget.value)}
            placeholder="https://example.org/blog/1"
          />
        )}
      </Field>
      {failed && <Failure error={failed} />}
      {saved && <Notice kind="good">Saved. The crawl uses these filters now.</Notice>}
      <div class="buttons">
        <button
          type="submit"
          class="button primary"
          disabled={saving || controlRefusal.value !== null}
          title={controlRefusal.value ?? undefined}
        >
          Save filters
        </button>
        {controlRefusal.value && <span class="muted">{controlRefusal.value}</span>}
      </div>
    </form>
  );
}
