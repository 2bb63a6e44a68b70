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
import { waitFor } from './wait.js';

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
    return this.#given(this.#next(check, options));
  }

  async checkBatch(checks: readonly Check[], options: CallOptions = {}): Promise<Decision[]> {
    if (!Array.isArray(checks)) throw new TypeError(`checks must be an array of checks; got ${typeof checks}`);
    return checks.map((check: Check) => {
      const answer = this.#next(check, options);
      return answer instanceof SluiceError ? undecided(answer, this.#onError === 'allow') : answer;
    });
  }

  /** Asks the script as a client asks its agent: it sleeps until a denial may pass. */
  async wait(check: Check, options: WaitOptions): Promise<Decision> {
    const answer = await waitFor(async () => this.#next(check, options), (leaseId) => this.#leases.delete(leaseId), check, options.upToMs, options.signal);
    return this.#given(answer);
  }

  async lease(check: Check, options: LeaseOptions = {}): Promise<Lease> {
    const holder = { release: (id: string) => this.release(id), renew: (id: string) => this.renew(id) };
    return new Lease(this.#given(this.#next(check, options, true)), holder, options.keepAlive ?? false);
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

  /** The next answer of the script. `leased`: the check is that of a lease, so a decision that allows has one. */
  #next(check: Check, options: CallOptions, leased = false): Decision | SluiceError {
    if (this.#closed) throw new Error('the client is closed; make a new one');
    options.signal?.throwIfAborted();
    toWire(check);
    this.checks.push({ ...check });
    let entry = this.#script.shift() ?? this.#afterwards;
    if ('error' in entry) return entry.error instanceof SluiceError ? entry.error : new SluiceError(entry.error, { detail: 'an error of the script' });
    if (leased && entry.allowed) entry = { leaseId: `lease-${this.checks.length}`, leaseExpiresAt: Math.floor(Date.now() / 1000) + 60, ...entry };
    const decision = decisionOf(entry);
    if (decision.allowed && decision.leaseId !== undefined) this.#leases.add(decision.leaseId);
    return decision;
  }

  #given(answer: Decision | SluiceError): Decision {
    if (!(answer instanceof SluiceError)) return answer;
    if (this.#onError === 'raise') throw answer;
    return undecided(answer, this.#onError === 'allow');
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
