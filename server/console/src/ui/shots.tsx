// The answers of a burst: a bar for each call, as high as the agent took, green or red; and all of one call.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Shot } from "../playground/calls";
import { summaryOf } from "../playground/run";
import { numberText } from "../words/limits";
import { spanText } from "../words/time";
import { Badge } from "./parts";

const kBarHeight = 64;

const msText = (ms: number | null): string => (ms === null ? "–" : `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`);

// Not yet answered calls are undefined.
export function Shots({ shots }: { shots: readonly (Shot | undefined)[] }): JSX.Element {
  const [chosen, setChosen] = useState<number | null>(null);
  const slowest = Math.max(1, ...shots.map((shot) => shot?.agentMs ?? 0));
  const picked = chosen === null ? undefined : shots[chosen];
  return (
    <>
      <ol class="shots" aria-label="Calls, in the order in which they were sent">
        {shots.map((shot, index) => (
          <li key={index}>
            <button
              type="button"
              aria-pressed={chosen === index}
              aria-label={`Call ${index + 1}: ${shot === undefined ? "waiting" : shotText(shot)}`}
              title={shot === undefined ? "waiting" : shotText(shot)}
              onClick={() => setChosen(chosen === index ? null : index)}
            >
              <svg viewBox={`0 0 12 ${kBarHeight}`} class={shot?.outcome ?? "waiting"} aria-hidden="true" focusable="false">
                <Bar height={shot === undefined ? 4 : heightOf(shot.agentMs || slowest, slowest)} />
              </svg>
            </button>
          </li>
        ))}
      </ol>
      <Figures shots={shots} />
      {picked && chosen !== null ? <Details shot={picked} number={chosen + 1} /> : <p class="quiet">Choose a bar to see all that the agent answered.</p>}
    </>
  );
}

// By the root, so that one slow call does not make all others look alike.
const heightOf = (ms: number, slowest: number): number => Math.max(6, Math.sqrt(ms / slowest) * kBarHeight);

const Bar = ({ height }: { height: number }): JSX.Element => <rect x={2} width={8} y={kBarHeight - height + 1} height={height - 2} rx={1} />;

// Reasons of decisions that no counter made.
const kByFailure: ReadonlySet<string> = new Set(["fail_open", "fail_closed", "degraded"]);

function shotText(shot: Shot): string {
  if (shot.outcome === "failed") return `no decision: ${shot.problem}`;
  const left = shot.remaining === null ? "" : `, ${numberText(shot.remaining)} left`;
  return `${shot.outcome}${kByFailure.has(shot.reason) ? ` by the failure mode (${shot.reason})` : ""}${left}, ${msText(shot.agentMs)}`;
}

function Figures({ shots }: { shots: readonly (Shot | undefined)[] }): JSX.Element {
  const sums = summaryOf(shots);
  const problems = [...new Set(shots.flatMap((shot) => (shot?.problem ? [shot.problem] : [])))];
  const byFailure = shots.filter((shot) => shot !== undefined && kByFailure.has(shot.reason)).length;
  return (
    <div aria-live="polite">
      <dl class="figures">
        <Figure title="Allowed" value={numberText(sums.allowed)} />
        <Figure title="Denied" value={numberText(sums.denied)} />
        {sums.failed > 0 && <Figure title="No decision" value={numberText(sums.failed)} />}
        <Figure title="Remaining" value={sums.remaining === null ? "–" : numberText(sums.remaining)} />
        <Figure title="Retry after" value={sums.retryAfterMs === null ? "–" : spanText(sums.retryAfterMs / 1000)} />
        <Figure title="p50" value={msText(sums.p50Ms)} />
        <Figure title="p99" value={msText(sums.p99Ms)} />
      </dl>
      {byFailure > 0 && (
        <p class="notice">
          {numberText(byFailure)} of them {byFailure === 1 ? "was" : "were"} decided by the policy's failure mode, because Redis did not answer the agent in
          time.
        </p>
      )}
      {problems.map((problem) => (
        <p key={problem} class="notice">
          {problem}
        </p>
      ))}
    </div>
  );
}

const Figure = ({ title, value }: { title: string; value: string }): JSX.Element => (
  <div>
    <dt>{title}</dt>
    <dd>{value}</dd>
  </div>
);

function Details({ shot, number }: { shot: Shot; number: number }): JSX.Element {
  return (
    <section class="card" aria-label={`Call ${number}`}>
      <p>
        <Badge tone={shot.outcome === "allowed" ? "good" : shot.outcome === "denied" ? "bad" : "warn"}>{shot.outcome}</Badge> Call {number}
        {shot.status !== 0 && (
          <>
            {" "}
            · status {shot.status} · agent {msText(shot.agentMs)} · server {msText(shot.serverMs)} · with this browser {msText(shot.totalMs)}
          </>
        )}
      </p>
      {shot.headers.length > 0 && (
        <div class="scroll" tabIndex={0}>
          <table>
            <caption class="quiet">Headers of the agent's answer</caption>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Value</th>
              </tr>
            </thead>
            <tbody>
              {shot.headers.map(([name, value], index) => (
                <tr key={index}>
                  <td>
                    <code>{name}</code>
                  </td>
                  <td>
                    <code>{value}</code>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {shot.body !== "" && (
        <pre class="document" tabIndex={0}>
          {shot.body}
        </pre>
      )}
    </section>
  );
}
