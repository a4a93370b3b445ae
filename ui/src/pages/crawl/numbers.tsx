// The rest of the numbers: answers by class, latencies, and what the machine has left.
import type { JSX } from "preact";
import type { Crawl } from "../../api/types.ts";
import { Meter, Panel } from "../../components/basics.tsx";
import { formatBytes, formatCount, formatMilliseconds, formatShare } from "../../format.ts";
import { status } from "../../state.ts";

const classLabels: Record<string, string> = { none: "no answer" };
const classTones: Record<string, string> = { "4xx": "warn", "5xx": "bad", none: "bad" };

/** Answers, latency and machine in one panel. */
export function Numbers(props: { crawl: Crawl }): JSX.Element {
  const { crawl } = props;
  const machine = status.value?.machine;
  const classes = Object.entries(crawl.status_classes);
  const answers = classes.reduce((sum, [, count]) => sum + count, 0);
  return (
    <Panel title="Answers and machine">
      <div class="numbers">
        <table class="bars">
          <caption class="hidden-text">Answers by status class</caption>
          <tbody>
            {classes.map(([name, count]) => (
              <tr key={name}>
                <th scope="row">{classLabels[name] ?? name}</th>
                <td class="bar-cell">
                  <Meter
                    share={answers > 0 ? count / answers : 0}
                    label={`${classLabels[name] ?? name}: ${formatShare(answers > 0 ? count / answers : 0)}`}
                    tone={classTones[name] ?? ""}
                  />
                </td>
                <td class="number">{formatCount(count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <dl class="pairs">
          <dt>Latency p50</dt>
          <dd>{formatMilliseconds(crawl.latency_ms.p50)}</dd>
          <dt>p90</dt>
          <dd>{formatMilliseconds(crawl.latency_ms.p90)}</dd>
          <dt>p99</dt>
          <dd>{formatMilliseconds(crawl.latency_ms.p99)}</dd>
          <dt>Not modified</dt>
          <dd>{formatCount(crawl.totals.not_modified)}</dd>
          <dt>Robots said no</dt>
          <dd>{formatCount(crawl.totals.robots_denied)}</dd>
        </dl>
        {machine && (
          <dl class="pairs">
            <dt>CPU</dt>
            <dd>{Math.round(machine.cpu_percent)}%</dd>
            <dt>Memory</dt>
            <dd title={`of ${formatBytes(machine.memory_total_bytes)}`}>{formatBytes(machine.memory_bytes)}</dd>
            <dt>Disk free</dt>
            <dd title={`of ${formatBytes(machine.disk_total_bytes)}`}>{formatBytes(machine.disk_free_bytes)}</dd>
            <dt>Open files</dt>
            <dd title={`of ${formatCount(machine.open_files_max)}`}>{formatCount(machine.open_files)}</dd>
            <dt>Threads</dt>
            <dd>{formatCount(machine.threads)}</dd>
          </dl>
        )}
      </div>
    </Panel>
  );
}
