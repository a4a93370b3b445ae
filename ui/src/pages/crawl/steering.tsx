// What can be changed while a crawl runs: filters, limits, URLs given by hand; and the specification it came from.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Crawl } from "../../api/types.ts";
import { CopyButton, Tabs } from "../../components/basics.tsx";
import { FiltersForm } from "./filtersform.tsx";
import { LimitsForm } from "./limitsform.tsx";
import { UrlsForm } from "./urlsform.tsx";

type TabName = "filters" | "limits" | "urls" | "specification";

/** The tabs below the dashboard. */
export function Steering(props: { crawl: Crawl }): JSX.Element {
  const [chosen, setChosen] = useState<TabName>("filters");
  const { crawl } = props;
  return (
    <section class="panel" aria-labelledby="steering-title">
      <header class="panel-head">
        <h2 id="steering-title">Steer</h2>
        <span class="panel-note">changes hold from the next URL on</span>
      </header>
      <Tabs
        label="What to change"
        tabs={[
          { name: "filters", label: "Filters" },
          { name: "limits", label: "Limits" },
          { name: "urls", label: "URLs" },
          { name: "specification", label: "Specification" },
        ]}
        chosen={chosen}
        onChoose={setChosen}
      >
        {chosen === "filters" && <FiltersForm id={crawl.id} key={crawl.id} />}
        {chosen === "limits" && <LimitsForm id={crawl.id} key={crawl.id} />}
        {chosen === "urls" && <UrlsForm id={crawl.id} key={crawl.id} />}
        {chosen === "specification" && (
          <div class="specification">
            <div class="buttons">
              <CopyButton text={crawl.specification} label="Copy" />
            </div>
            <pre class="source" tabIndex={0} aria-label="Specification">
              {crawl.specification || "# Nothing was changed from the defaults."}
            </pre>
          </div>
        )}
      </Tabs>
    </section>
  );
}
