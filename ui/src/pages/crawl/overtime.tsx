// Pages, bytes, quads and errors a second, over the last hour, day or week.
import type { JSX } from "preact";
import { get, crawlPath } from "../../api/client.ts";
import { type Crawl, type Series, type Span, spans } from "../../api/types.ts";
import { TimeChart } from "../../charts/timechart.tsx";
import { Failure, Segments } from "../../components/basics.tsx";
import { formatBytes, formatRate, formatShort, plural } from "../../format.ts";
import { useResource } from "../../hooks.ts";
import { hrefTo, navigate, route } from "../../router.ts";

const refreshEvery: Record<Span, number> = { hour: 5000, day: 60_000, week: 120_000 };

/** Four small charts that share their time axis. */
export function RatesOverTime(props: { crawl: Crawl }): JSX.Element {
  const { crawl } = props;
  const wanted = route.value.parameters.get("span");
  const span = spans.find((known) => known === wanted) ?? "hour";
  const series = useResource<Series>(
    `${crawl.id} ${span}`,
    (abort) => get(crawlPath(crawl.id, "/series"), { span }, abort),
    { every: refreshEvery[span], keep: true },
  );
  const choose = (value: Span) => {
    navigate(hrefTo("crawl", { span: value === "hour" ? null : value }), { replace: true });
  };
  const values = (name: string) => series.value?.points[name] ?? [];
  const from = series.value ? Date.parse(series.value.from) : Date.now();
  const step = series.value?.step_seconds ?? 10;
  const shared = { from: Number.isNaN(from) ? Date.now() : from, stepSeconds: step };

  return (
    <section class="panel" aria-labelledby="overtime-title">
      <header class="panel-head">
        <h2 id="overtime-title">Over time</h2>
        <div class="panel-actions">
          <Segments
            label="Span"
            options={spans.map((value) => ({ value, label: value }))}
            chosen={span}
            onChoose={choose}
          />
        </div>
      </header>
      {series.error && <Failure error={series.error} retry={series.reload} />}
      <div class="charts">
        <TimeChart
          title="Pages"
          unit="/s"
          current={formatRate(crawl.rates.pages)}
          note={plural(crawl.totals.pages, "page")}
          values={values("pages")}
          format={formatRate}
          {...shared}
        />
        <TimeChart
          title="Bytes"
          unit="/s"
          current={formatBytes(crawl.rates.bytes)}
          note={formatBytes(crawl.totals.bytes)}
          values={values("bytes")}
          format={formatBytes}
          base={1024}
          {...shared}
        />
        <TimeChart
          title="Quads"
          unit="/s"
          current={formatRate(crawl.rates.quads)}
          note={`${formatShort(crawl.totals.quads)} quads`}
          values={values("quads")}
          format={formatRate}
          {...shared}
        />
        <TimeChart
          title="Errors"
          unit="/s"
          current={formatRate(crawl.rates.errors)}
          note={plural(crawl.totals.errors, "error")}
          values={values("errors")}
          format={formatRate}
          tone="bad"
          {...shared}
        />
      </div>
    </section>
  );
}
