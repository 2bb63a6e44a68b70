import { clearTimeout, setTimeout } from 'node:timers';
import type { Decision } from './decision.js';
import { SluiceError } from './errors.js';

/** What a lease needs of its client. Neither rejects. */
export interface LeaseHolder {
  release(leaseId: string): Promise<boolean | SluiceError>;
  /** The new end in Unix seconds; undefined if the lease is gone. */
  renew(leaseId: string): Promise<number | undefined | SluiceError>;
}

const shortestRenewalMs = 50;

/**
 * The decision of a check, and the lease that it took, if any. Release it at the end of the work, best by
 * `await using lease = await sluice.lease(…)`.
 */
export class Lease implements AsyncDisposable {
  readonly decision: Decision;
  readonly #holder: LeaseHolder;
  #timer: NodeJS.Timeout | undefined;
  #lost = false;
  #released: Promise<boolean> | undefined;

  constructor(decision: Decision, holder: LeaseHolder, keepAlive: boolean) {
    this.decision = decision;
    this.#holder = holder;
    if (keepAlive && decision.leaseId !== undefined) this.#renewLater(decision.leaseId, decision.leaseExpiresAt);
  }

  /** Whether the request may go on. */
  get allowed(): boolean {
    return this.decision.allowed;
  }

  /** With `keepAlive`: a renewal found that the lease is gone, so another may run in its place. */
  get lost(): boolean {
    return this.#lost;
  }

  /** Ends the lease, once. Gives whether one was released: false if it had ended, if there was none, or if the agent did not answer. */
  release(): Promise<boolean> {
    return (this.#released ??= this.#end());
  }

  /** The end of an `await using` block. It never throws: an error here would hide the block's own, and the lease ends by its time. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  async #end(): Promise<boolean> {
    clearTimeout(this.#timer);
    if (this.decision.leaseId === undefined) return false;
    return (await this.#holder.release(this.decision.leaseId)) === true;
  }

  #renewLater(leaseId: string, expiresAt: number | undefined): void {
    if (expiresAt === undefined) return;
    const third = Math.max(shortestRenewalMs, (expiresAt * 1000 - Date.now()) / 3);
    this.#timer = setTimeout(() => void this.#renew(leaseId, expiresAt), Math.min(third, 2 ** 31 - 1));
    this.#timer.unref();   // the work keeps the program running, not its lease
  }

  async #renew(leaseId: string, expiresAt: number): Promise<void> {
    const renewed = await this.#holder.renew(leaseId);
    if (this.#released) return;
    if (renewed === undefined) this.#lost = true;
    else this.#renewLater(leaseId, renewed instanceof SluiceError ? expiresAt : renewed);
  }
}
