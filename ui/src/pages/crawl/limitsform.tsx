// Delays and budgets of a crawl. An empty box means no limit.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type ApiError, change, crawlPath, get } from "../../api/client.ts";
import type { Limits } from "../../api/types.ts";
import { Failure, Field, Loading, Notice } from "../../components/basics.tsx";
import { asApiError, useResource } from "../../hooks.ts";
import { controlRefusal } from "../../state.ts";

const fields: { key: keyof Limits; label: string; unit: string; help: string }[] = [
  { key: "delay_ms", label: "Delay per host", unit: "ms", help: "Pause between two requests to one host." },
  {
    key: "domain_delay_ms",
    label: "Delay per domain",
    unit: "ms",
    help: "The same for all hosts of a domain together.",
  },
  { key: "max_pages", label: "Pages", unit: "pages", help: "The crawl ends after so many." },
  { key: "max_pages_per_host", label: "Pages per host", unit: "pages", help: "Of one host, at most so many." },
  { key: "max_depth", label: "Depth", unit: "links", help: "So many links away from a seed." },
  { key: "bandwidth_bytes_per_second", label: "Bandwidth", unit: "bytes/s", help: "For all hosts together." },
];

type Texts = Record<keyof Limits, string>;

/** Reads the boxes: empty is null, anything but a whole number not below zero is a problem. */
export function readLimits(texts: Texts): { limits: Limits; problems: Partial<Record<keyof Limits, string>> } {
  const limits = {} as Limits;
  const problems: Partial<Record<keyof Limits, string>> = {};
  for (const { key } of fields) {
    const text = texts[key].trim();
    limits[key] = null;
    if (text === "") continue;
    if (/^\d{1,15}$/.test(text)) limits[key] = Number(text);
    else problems[key] = "A whole number, or nothing for no limit.";
  }
  return { limits, problems };
}

/** The form. */
export function LimitsForm(props: { id: string }): JSX.Element {
  const loaded = useResource<Limits>(props.id, (abort) => get(crawlPath(props.id, "/limits"), {}, abort));
  const [texts, setTexts] = useState<Texts | null>(null);
  const [saved, setSaved] = useState(false);
  const [saving, setSaving] = useState(false);
  const [failed, setFailed] = useState<ApiError | null>(null);

  useEffect(() => {
    if (!loaded.value) return;
    const value = loaded.value;
    setTexts(
      Object.fromEntries(
        fields.map(({ key }) => [key, value[key] === null || value[key] === undefined ? "" : String(value[key])]),
      ) as Texts,
    );
  }, [loaded.value]);

  if (loaded.error) return <Failure error={loaded.error} retry={loaded.reload} />;
  if (!texts) return <Loading what="limits" />;
  const { limits, problems } = readLimits(texts);
  const save = async (event: Event) => {
    event.preventDefault();
    if (Object.keys(problems).length > 0) return;
    setSaving(true);
    setSaved(false);
    setFailed(null);
    try {
      await change("PUT", crawlPath(props.id, "/limits"), limits);
      setSaved(true);
    } catch (failure) {
      setFailed(asApiError(failure));
    } finally {
      setSaving(false);
    }
  };
  return (
    <form class="form" onSubmit={(event) => void save(event)}>
      <div class="form-grid">
        {fields.map(({ key, label, unit, help }) => (
          <Field key={key} label={label} help={help} problem={problems[key] ?? null}>
            {(field) => (
              <span class="with-unit">
                <input
                  {...field}
                  type="text"
                  inputMode="numeric"
                  value={texts[key]}
                  placeholder="no limit"
                  onInput={(event) => {
                    setTexts({ ...texts, [key]: event.currentTarget.value });
                    setSaved(false);
                  }}
                />
                <span class="unit">{unit}</span>
              </span>
            )}
          </Field>
        ))}
      </div>
      {failed && <Failure error={failed} />}
      {saved && <Notice kind="good">Saved. The crawl keeps these limits now.</Notice>}
      <div class="buttons">
        <button
          type="submit"
          class="button primary"
          disabled={saving || controlRefusal.value !== null || Object.keys(problems).length > 0}
          title={controlRefusal.value ?? undefined}
        >
          Save limits
        </button>
        {controlRefusal.value && <span class="muted">{controlRefusal.value}</span>}
      </div>
    </form>
  );
}
