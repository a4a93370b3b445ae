// The five phases as a flow: the frontier on the left, then each phase with its queue before it. The phase that holds up the others is
// marked.
import type { JSX } from "preact";
import { Fragment } from "preact";
import { type Crawl, type Phase, phaseNames } from "../../api/types.ts";
import { Meter } from "../../components/basics.tsx";
import { formatCount, formatMicroseconds, formatRate, formatShare, formatShort } from "../../format.ts";

const purposes: Record<Phase["name"], string> = {
  fetch: "get it, politely",
  detect: "what is it?",
  transform: "to quads",
  index: "keep and index",
  extract: "find new links",
};

/** The picture of the pipeline. */
export function Flow(props: { crawl: Crawl }): JSX.Element {
  const { crawl } = props;
  const phases = phaseNames
    .map((name) => crawl.phases.find((phase) => phase.name === name))
    .filter((phase): phase is Phase => phase !== undefined);
  return (
    <section class="flow-section" aria-labelledby="flow-title">
      <h2 id="flow-title" class="hidden-text">
        The way of a page
      </h2>
      <ol class={`flow ${crawl.state === "running" ? "moving" : ""}`}>
        <li class="flow-step frontier">
          <div class="flow-head">
            <span class="flow-name">Frontier</span>
            <span class="flow-purpose">what is next</span>
          </div>
          <div class="flow-rate">
            <strong>{formatShort(crawl.queues.queued)}</strong> <span class="unit">URLs queued</span>
          </div>
          <dl class="flow-facts">
            <div>
              <dt>hosts ready</dt>
              <dd>{formatCount(crawl.queues.ready_hosts)}</dd>
            </div>
            <div>
              <dt>waiting</dt>
              <dd>{formatCount(crawl.queues.waiting_hosts)}</dd>
            </div>
            <div>
              <dt>in work</dt>
              <dd>{formatCount(crawl.queues.leased)}</dd>
            </div>
          </dl>
        </li>
        {phases.map((phase) => (
          <Fragment key={phase.name}>
            <Step phase={phase} bottleneck={crawl.bottleneck === phase.name} />
          </Fragment>
        ))}
      </ol>
      {crawl.bottleneck && <p class="hidden-text">The bottleneck is {crawl.bottleneck}.</p>}
    </section>
  );
}

function Step(props: { phase: Phase; bottleneck: boolean }): JSX.Element {
  const { phase, bottleneck } = props;
  const fill = phase.queue_max > 0 ? phase.queue / phase.queue_max : 0;
  const queueText = `${formatCount(phase.queue)} of ${formatCount(phase.queue_max)} in the queue before ${phase.name}`;
  return (
    <li class={bottleneck ? "flow-step bottleneck" : "flow-step"} data-phase={phase.name}>
      <div class="flow-queue" title={queueText}>
        <Meter share={fill} label={queueText} tone={fill > 0.9 ? "warn" : "quiet"} />
        <span class="flow-queue-text" aria-hidden="true">
          {formatShort(phase.queue)}
        </span>
      </div>
      <div class="flow-head">
        <span class="flow-name">{phase.name}</span>
        <span class="flow-purpose">
          {bottleneck ? <span class="flow-mark">bottleneck</span> : purposes[phase.name]}
        </span>
      </div>
      <div class="flow-rate">
        <strong>{formatRate(phase.rate)}</strong> <span class="unit">pages/s</span>
      </div>
      <div class="flow-busy">
        <Meter
          share={phase.busy_share}
          label={`${phase.name} is busy ${formatShare(phase.busy_share)} of the time`}
          tone={bottleneck ? "warn" : ""}
        />
        <span>{formatShare(phase.busy_share)} busy</span>
      </div>
      <dl class="flow-facts">
        <div>
          <dt>per page</dt>
          <dd>{formatMicroseconds(phase.microseconds_per_page)}</dd>
        </div>
        <div>
          <dt>pages</dt>
          <dd>{formatShort(phase.pages)}</dd>
        </div>
      </dl>
    </li>
  );
}
