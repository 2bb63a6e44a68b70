import type { Check, Decision } from './decision.js';
import { SluiceError } from './errors.js';
import { sleep } from './sleep.js';

/** Asks once. `check.wait` is set. */
export type Ask = (check: Check) => Promise<Decision | SluiceError>;

const firstPauseMs = 100;
const longestPauseMs = 2000;
const leastPauseMs = 10;

/**
 * Asks until the check passes, or until it cannot pass within `upToMs`. `release` gives back the lease of a check that passed, if the caller
 * cancels before it gets the decision.
 */
export async function waitFor(ask: Ask, release: (leaseId: string) => void, check: Check, upToMs: number, signal?: AbortSignal): Promise<Decision | SluiceError> {
  const deadline = performance.now() + upToMs;
  const left = (): number => Math.max(0, deadline - performance.now());
  let pause = firstPauseMs;
  for (;;) {
    const answer = await ask({ ...check, wait: `${Math.floor(left())}ms` });
    if (answer instanceof SluiceError) {
      if (answer.kind !== 'unreachable' || left() < pause) return answer;
      await sleep(pause, signal);
      pause = Math.min(2 * pause, longestPauseMs);
      continue;
    }
    pause = firstPauseMs;
    if (answer.allowed) {
      if (answer.delayMs === 0 || answer.delayMs > left()) return answer;
      try {
        await sleep(answer.delayMs, signal);
      } catch (reason) {
        if (answer.leaseId !== undefined) release(answer.leaseId);
        throw reason;
      }
      return answer.withoutDelay();
    }
    const retry = answer.retryAfterMs;
    if (retry === undefined || retry > left() || left() === 0) return answer;
    // The least pause keeps an agent that says 0 from being asked without end.
    await sleep(Math.min(left(), Math.max(leastPauseMs, retry + Math.random() * Math.min(retry / 10, 100))), signal);
  }
}
