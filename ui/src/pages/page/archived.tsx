// The page as it was received, in a frame that may do nothing: no scripts, no forms, no way out. The server sends it with a policy that says
// the same; the attribute here holds even if that were missing.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { address } from "../../api/client.ts";
import type { PageAnswer } from "../../api/types.ts";
import { Action, Empty } from "../../components/basics.tsx";

/** The frame, opened only when asked for. */
export function ArchivedCopy(props: { page: PageAnswer }): JSX.Element {
  const [open, setOpen] = useState(false);
  const { page } = props;
  if (!page.archived) {
    return (
      <Empty title="No copy of this page was kept.">
        <p>A crawl keeps the bytes it received when it writes an archive.</p>
      </Empty>
    );
  }
  if (!open) {
    return (
      <Empty title="The page as it was received">
        <p>It is shown in a closed frame: scripts, forms and requests to other places are switched off.</p>
        <p class="buttons">
          <Action primary label="Show the copy" onClick={() => setOpen(true)} />
        </p>
      </Empty>
    );
  }
  return (
    <>
      <p>
        <a href={address("/archive", { url: page.url, view: "head" })} target="_blank" rel="noreferrer">
          Headers as they were received
        </a>
      </p>
      <iframe
        class="archived"
        title={`Archived copy of ${page.url}`}
        src={address("/archive", { url: page.url })}
        sandbox=""
        referrerpolicy="no-referrer"
        loading="lazy"
      />
    </>
  );
}
