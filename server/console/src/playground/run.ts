// Fires a burst, or a steady rate for some seconds, and sums up what came of it.
import type { Shot } from "./calls";

export const kMostAtOnce = 25; // the server has no more of one caller in flight

export interface Plan {
  readonly burst: number; // at once
  readonly perSecond: number; // after that; 0: none
  readonly seconds: number;
}

export const shotsOf = (plan: Plan): number => plan.burst + plan.perSecond * plan.seconds;

// When each call is due, in ms after the start.
export function dueTimes(plan: Plan): number[] {
  const steady = plan.perSecond * plan.seconds;
  return [
    ...Array.from({ length: plan.burst }, () => 0),
    ...Array.from({ length: steady }, (_, index) => ((index + 1) * 1000) / plan.perSecond),
  ];
}

// `arrived` gets each answer with the number of its call. Stops sending when `signal` aborts; what is in flight is
// awaited. A call that is due while kMostAtOnce are in flight waits for one of them.
export async function run(
  plan: Plan,
  fire: () => Promise<Shot>,
  arrived: (index: number, shot: Shot) => void,
  signal: AbortSignal,
): Promise<void> {
  const began = performance.now();
  const flying = new Set<Promise<void>>();
  for (const [index, due] of dueTimes(plan).entries()) {
    await pause(due - (performance.now() - began), signal);
    while (flying.size >= kMostAtOnce) await Promise.race(flying);
    if (signal.aborted) break;
    const call: Promise<void> = fire().then((shot) => {
      flying.delete(call);
      arrived(index, shot);
    });
    flying.add(call);
  }
  await Promise.all(flying);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}

export interface Summary {
  readonly allowed: number;
  readonly denied: number;
  readonly failed: number;
  readonly remaining: number | null; // the least that an answer said
  readonly retryAfterMs: number | null; // the longest
  readonly p50Ms: number | null; // of the agent
  readonly p99Ms: number | null;
}

export function summaryOf(shots: readonly (Shot | undefined)[]): Summary {
  const here = shots.filter((shot): shot is Shot => shot !== undefined);
  const count = (outcome: string): number => here.filter((shot) => shot.outcome === outcome).length;
  const times = here.filter((shot) => shot.status !== 0).map((shot) => shot.agentMs).sort((a, b) => a - b);
  const numbers = (read: (shot: Shot) => number | null): number[] => here.map(read).filter((each): each is number => each !== null);
  const remaining = numbers((shot) => shot.remaining);
  const waits = numbers((shot) => (shot.outcome === "denied" ? shot.retryAfterMs : null));
  return {
    allowed: count("allowed"),
    denied: count("denied"),
    failed: count("failed"),
    remaining: remaining.length === 0 ? null : Math.min(...remaining),
    retryAfterMs: waits.length === 0 ? null : Math.max(...waits),
    p50Ms: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
  };
}

// The smallest value that the share `q` of the values does not exceed. REQUIRES: sorted.
export function quantile(sorted: readonly number[], q: number): number | null {
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? null;
}
