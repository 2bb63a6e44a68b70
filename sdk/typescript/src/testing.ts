/**
 * Doubles for tests: clients with the same interface that need no agent.
 *
 * @module
 */
import type { CallOptions, LeaseOptions, SluiceClient, WaitOptions } from './client.js';
import { Decision, toWire, undecided, type Check } from './decision.js';
import { SluiceError, type ErrorKind } from './errors.js';
import { Lease } from './lease.js';
import type { OnError } from './options.js';
import { sleep } from './sleep.js';

/** One answer of a script: a decision by the members that matter, or a kind of error. */
export type ScriptEntry = ScriptedDecision | { error: ErrorKind | SluiceError };

export interface ScriptedDecision {
  allowed: boolean;
  reason?: string;
  action?: string;
  limit?: number;
  remaining?: number;
  /** Unix seconds. */
  reset?: number;
  retryAfterMs?: number;
  delayMs?: number;
  policy?: string;
  plan?: string;
  limitName?: string;
  shadow?: boolean;
  wouldAllow?: boolean;
  overLimit?: boolean;
  downgradeTo?: string;
  metadata?: Record<string, string>;
  leaseId?: string;
  leaseExpiresAt?: number;
  headers?: Record<string, string>;
}

const wire: Readonly<Record<string, string>> = {
  reset: 'reset_at', retryAfterMs: 'retry_after_ms', delayMs: 'delay_ms', policy: 'policy_id', plan: 'plan_id', limitName: 'limit_name',
  wouldAllow: 'would_allow', overLimit: 'over_limit', downgradeTo: 'downgrade_to', leaseId: 'lease_id', leaseExpiresAt: 'lease_expires_at',
};

function decisionOf(entry: ScriptedDecision): Decision {
  const body: Record<string, unknown> = { reason: entry.allowed ? 'within_limit' : 'limit_exceeded' };
  for (const [name, value] of Object.entries(entry)) if (name !== 'headers' && value !== undefined) body[wire[name] ?? name] = value;
  return new Decision(entry.allowed, body, entry.allowed ? 200 : 429, entry.headers ?? {});
}

/** A client that answers from a script, and remembers what it was asked. */
export class Double implements SluiceClient {
  /** The checks so far, in order. */
  readonly checks: Check[] = [];
  readonly #leases = new Set<string>();
  readonly #script: ScriptEntry[];
  readonly #afterwards: ScriptEntry;
  readonly #onError: OnError;
  #closed = false;

  constructor(script: readonly ScriptEntry[], afterwards: ScriptEntry, onError: OnError = 'allow') {
    this.#script = [...script];
    this.#afterwards = afterwards;
    this.#onError = onError;
  }

  /** Ids of the leases that checks took and nobody has released. */
  get openLeases(): string[] {
    return [...this.#leases];
  }

  async check(check: Check, options: CallOptions = {}): Promise<Decision> {
    return this.#answer(check, options, false);
  }

  async checkBatch(checks: readonly Check[], options: CallOptions = {}): Promise<Decision[]> {
    if (!Array.isArray(checks)) throw new TypeError(`checks must be an array of checks; got ${typeof checks}`);
    return checks.map((check: Check) => this.#answer(check, options, true));
  }

  /** Answers with the next entry that passes, or with the first that cannot pass in time; it sleeps for no denial. */
  async wait(check: Check, options: WaitOptions): Promise<Decision> {
    let left = options.upToMs;
    for (;;) {
      const decision = this.#answer(check, options, false);
      const retry = decision.retryAfterMs;
      if (decision.allowed || !decision.decided || retry === undefined || retry <= 0 || retry > left) return decision;
      left -= retry;
      await sleep(0, options.signal);
    }
  }

  async lease(check: Check, options: LeaseOptions = {}): Promise<Lease> {
    const holder = { release: (id: string) => this.release(id), renew: (id: string) => this.renew(id) };
    return new Lease(await this.check(check, options), holder, options.keepAlive ?? false);
  }

  async withLease<T>(check: Check, work: (lease: Lease) => T | PromiseLike<T>, options: LeaseOptions = {}): Promise<T> {
    const lease = await this.lease(check, options);
    try {
      return await work(lease);
    } finally {
      await lease.release();
    }
  }

  async release(leaseId: string): Promise<boolean> {
    return this.#leases.delete(leaseId);
  }

  async renew(leaseId: string): Promise<number | undefined> {
    return this.#leases.has(leaseId) ? Math.floor(Date.now() / 1000) + 60 : undefined;
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #answer(check: Check, options: CallOptions, inBatch: boolean): Decision {
    if (this.#closed) throw new Error('the client is closed; make a new one');
    options.signal?.throwIfAborted();
    toWire(check);
    this.checks.push({ ...check });
    const entry = this.#script.shift() ?? this.#afterwards;
    if ('error' in entry) {
      const error = entry.error instanceof SluiceError ? entry.error : new SluiceError(entry.error, { detail: 'an error of the script' });
      if (this.#onError === 'raise' && !inBatch) throw error;
      return undecided(error, this.#onError === 'allow');
    }
    const decision = decisionOf(entry);
    if (decision.allowed && decision.leaseId !== undefined) this.#leases.add(decision.leaseId);
    return decision;
  }
}

/** A client that allows every check. */
export function alwaysAllow(): Double {
  return new Double([], { allowed: true });
}

/** A client that denies every check. */
export function alwaysDeny(): Double {
  return new Double([], { allowed: false });
}

/** A client that answers with these decisions and errors, in the order of its checks, and then allows. */
export function scripted(script: readonly ScriptEntry[], options: { onError?: OnError } = {}): Double {
  return new Double(script, { allowed: true }, options.onError);
}
