// A new crawl: from a short form, or from a specification written or pasted as TOML. The form writes the specification, so one can start
// with boxes and go on with text.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type ApiError, change } from "../../api/client.ts";
import type { CrawlBrief } from "../../api/types.ts";
import { Failure, Field, PageTitle, Panel, Tabs } from "../../components/basics.tsx";
import { isWebAddress } from "../../format.ts";
import { asApiError } from "../../hooks.ts";
import { hrefTo, navigate } from "../../router.ts";
import { controlRefusal, noteCrawl, refreshStatus } from "../../state.ts";
import { splitLines } from "./filtersform.tsx";
import { emptyForm, isCount, type SpecificationForm, toToml } from "./specification.ts";

type Mode = "form" | "text";

/** The form as typed: lists are still text. */
type Boxes = Omit<SpecificationForm, "seeds" | "include" | "exclude"> & Record<"seeds" | "include" | "exclude", string>;

/** The page at `#/new`. */
export function NewCrawlPage(): JSX.Element {
  const [mode, setMode] = useState<Mode>("form");
  const [boxes, setBoxes] = useState<Boxes>({ ...emptyForm, seeds: "", include: "", exclude: "" });
  const [text, setText] = useState<string | null>(null);
  const [id, setId] = useState("");
  const [start, setStart] = useState(true);
  const [sending, setSending] = useState(false);
  const [failed, setFailed] = useState<ApiError | null>(null);

  const form: SpecificationForm = {
    ...boxes,
    seeds: splitLines(boxes.seeds),
    include: splitLines(boxes.include),
    exclude: splitLines(boxes.exclude),
  };
  const specification = mode === "form" ? toToml(form) : (text ?? toToml(form));
  const seedProblem = form.seeds.find((seed) => !isWebAddress(seed));
  const countProblem = [form.maxPages, form.maxDepth].some((value) => value.trim() !== "" && !isCount(value));
  const ready = mode === "text" ? specification.trim() !== "" : form.seeds.length > 0 && !seedProblem && !countProblem;

  const submit = async (event: Event) => {
    event.preventDefault();
    setSending(true);
    setFailed(null);
    try {
      const brief = await change<CrawlBrief>("POST", "/api/crawls", {
        ...(id.trim() === "" ? {} : { id: id.trim() }),
        specification,
        start,
      });
      if (brief) noteCrawl(brief);
      void refreshStatus();
      navigate(hrefTo("crawl", { crawl: brief?.id ?? id }));
    } catch (failure) {
      setFailed(asApiError(failure));
    } finally {
      setSending(false);
    }
  };
  const set = (typed: Partial<Boxes>) => setBoxes({ ...boxes, ...typed });

  return (
    <>
      <PageTitle>New crawl</PageTitle>
      <form onSubmit={(event) => void submit(event)} class="stack">
        <section class="panel" aria-label="Description of the crawl">
          <Tabs
            label="How to describe the crawl"
            tabs={[
              { name: "form", label: "Form" },
              { name: "text", label: "Specification (TOML)" },
            ]}
            chosen={mode}
            onChoose={(next) => {
              if (next === "text") setText(toToml(form));
              setMode(next);
            }}
          >
            {mode === "form" ? (
              <div class="form">
                <Field
                  label="Start from"
                  help="Addresses, one a line."
                  problem={
                    seedProblem ? `“${seedProblem}” is no web address: it must start with http:// or https://.` : null
                  }
                >
                  {(field) => (
                    <textarea
                      {...field}
                      rows={3}
                      spellcheck={false}
                      required
                      placeholder="https://example.org/"
                      value={boxes.seeds}
                      onInput={(event) => set({ seeds: event.currentTarget.value })}
                    />
                  )}
                </Field>
                <div class="form-grid">
                  <label class="field">
                    <span class="field-label">Follow links</span>
                    <select
                      value={boxes.within}
                      onChange={(event) => set({ within: event.currentTarget.value as SpecificationForm["within"] })}
                    >
                      <option value="domains">within the domains of the seeds</option>
                      <option value="hosts">within the hosts of the seeds</option>
                      <option value="anywhere">anywhere</option>
                    </select>
                  </label>
                  <label class="field">
                    <span class="field-label">At most so many pages</span>
                    <input
                      type="text"
                      inputMode="numeric"
                      placeholder="no limit"
                      value={boxes.maxPages}
                      onInput={(event) => set({ maxPages: event.currentTarget.value })}
                    />
                  </label>
                  <label class="field">
                    <span class="field-label">At most so many links away</span>
                    <input
                      type="text"
                      inputMode="numeric"
                      placeholder="no limit"
                      value={boxes.maxDepth}
                      onInput={(event) => set({ maxDepth: event.currentTarget.value })}
                    />
                  </label>
                  <label class="field">
                    <span class="field-label">Delay per host</span>
                    <input
                      type="text"
                      placeholder="1s"
                      value={boxes.delay}
                      onInput={(event) => set({ delay: event.currentTarget.value })}
                    />
                  </label>
                  <label class="field">
                    <span class="field-label">Contact for webmasters</span>
                    <input
                      type="text"
                      placeholder="https://example.org/our-crawler"
                      value={boxes.contact}
                      onInput={(event) => set({ contact: event.currentTarget.value })}
                    />
                  </label>
                </div>
                <div class="form-columns">
                  <Field label="Follow only what matches" help="Regular expressions, one a line.">
                    {(field) => (
                      <textarea
                        {...field}
                        rows={3}
                        spellcheck={false}
                        value={boxes.include}
                        onInput={(event) => set({ include: event.currentTarget.value })}
                      />
                    )}
                  </Field>
                  <label class="field">
                    <span class="field-label">Never follow what matches</span>
                    <textarea
                      rows={3}
                      spellcheck={false}
                      value={boxes.exclude}
                      onInput={(event) => set({ exclude: event.currentTarget.value })}
                    />
                  </label>
                </div>
                <label class="check">
                  <input
                    type="checkbox"
                    checked={boxes.allowPrivate}
                    onChange={(event) => set({ allowPrivate: event.currentTarget.checked })}
                  />
                  Also fetch from private and loopback addresses
                </label>
              </div>
            ) : (
              <div class="form">
                <Field
                  label="Specification"
                  help={
                    <>
                      Every field is described in <code>config/default.toml</code>;{" "}
                      <code>webloom crawl --print-spec</code> prints it.
                    </>
                  }
                >
                  {(field) => (
                    <textarea
                      {...field}
                      rows={18}
                      spellcheck={false}
                      value={specification}
                      onInput={(event) => setText(event.currentTarget.value)}
                    />
                  )}
                </Field>
              </div>
            )}
          </Tabs>
        </section>
        <Panel title="Start">
          <div class="form">
            <div class="form-grid">
              <Field label="Name" help="Short: letters, digits and dashes.">
                {(field) => (
                  <input
                    {...field}
                    type="text"
                    placeholder="chosen for you"
                    value={id}
                    maxLength={60}
                    onInput={(event) => setId(event.currentTarget.value)}
                  />
                )}
              </Field>
            </div>
            <label class="check">
              <input type="checkbox" checked={start} onChange={(event) => setStart(event.currentTarget.checked)} />
              Start at once
            </label>
            {failed && <Failure error={failed} />}
            <div class="buttons">
              <button
                type="submit"
                class="button primary"
                disabled={sending || !ready || controlRefusal.value !== null}
                title={controlRefusal.value ?? undefined}
              >
                Create the crawl
              </button>
              <a class="button" href={hrefTo("crawl")}>
                Cancel
              </a>
              {controlRefusal.value && <span class="muted">{controlRefusal.value}</span>}
            </div>
          </div>
        </Panel>
      </form>
    </>
  );
}
