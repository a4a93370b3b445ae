// The statements as they would be written in a file.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { address, send, saveAs } from "../../api/client.ts";
import { Action, CopyButton, Failure, Loading, Segments } from "../../components/basics.tsx";
import { useResource } from "../../hooks.ts";

const formats = [
  { value: "turtle", label: "Turtle", extension: "ttl" },
  { value: "jsonld", label: "JSON-LD", extension: "jsonld" },
  { value: "nquads", label: "N-Quads", extension: "nq" },
] as const;

type Format = (typeof formats)[number]["value"];

const shownMost = 200_000;

/** A fold with the text of all statements. */
export function RawStatements(props: { iri: string }): JSX.Element {
  const [open, setOpen] = useState(false);
  const [format, setFormat] = useState<Format>("turtle");
  const text = useResource<string>(open ? `${props.iri} ${format}` : null, async (abort) => {
    const response = await send(address("/api/thing/raw", { iri: props.iri, format }), { signal: abort });
    return response.text();
  });
  const extension = formats.find((one) => one.value === format)?.extension ?? "txt";
  return (
    <details class="panel fold" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <h2>As data</h2>
      </summary>
      <div class="panel-body">
        <div class="buttons">
          <Segments label="Format" options={formats} chosen={format} onChoose={setFormat} />
          {text.value !== null && (
            <>
              <CopyButton text={text.value} label="Copy" />
              <Action
                small
                icon="download"
                label="Save"
                onClick={() => saveAs(new Blob([text.value ?? ""]), `thing.${extension}`)}
              />
            </>
          )}
        </div>
        {text.error && <Failure error={text.error} retry={text.reload} />}
        {text.loading && text.value === null && <Loading what="the text" lines={5} />}
        {text.value !== null && (
          <pre class="source" tabIndex={0} aria-label="Statements">
            {text.value.length > shownMost
              ? `${text.value.slice(0, shownMost)}\n… (save it to see the rest)`
              : text.value}
          </pre>
        )}
      </div>
    </details>
  );
}
