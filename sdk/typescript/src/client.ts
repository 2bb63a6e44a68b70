import { clearTimeout, setTimeout } from 'node:timers';
import { inspect } from 'node:util';
import { readBatch, readBody, readDecision, failureOf, toWire, undecided, type Check, Decision } from './decision.js';
import { waitMilliseconds } from './duration.js';
import { SluiceError } from './errors.js';
import { ApiKey } from './key.js';
import { Lease } from './lease.js';
import { ErrorLog } from './log.js';
import { Pool } from './net/pool.js';
import type { Reply } from './net/reader.js';
import { readOptions, type OnError, type Options } from './options.js';
import { traceHeaders, type TraceContext } from './trace.js';
import { version } from './version.js';
import { waitFor } from './wait.js';

/** Options of one call. */
export interface CallOptions extends TraceContext {
  /** Cancels the call: it rejects with the signal's reason, and its connection is closed. */
  signal?: AbortSignal | undefined;
}

export interface LeaseOptions extends CallOptions {
  /** Renew the lease each time a third of its life has passed, until it is released. */
  keepAlive?: boolean | undefined;
}

export interface WaitOptions extends CallOptions {
  /** How long to wait until the check passes, in milliseconds. */
  upToMs: number;
}

/** What applications and integrations use: a client of an agent, or a double of `@sluice/client/testing`. */
export interface SluiceClient extends AsyncDisposable {
  check(check: Check, options?: CallOptions): Promise<Decision>;
  checkBatch(checks: readonly Check[], options?: CallOptions): Promise<Decision[]>;
  wait(check: Check, options: WaitOptions): Promise<Decision>;
  lease(check: Check, options?: LeaseOptions): Promise<Lease>;
  withLease<T>(check: Check, work: (lease: Lease) => T | PromiseLike<T>, options?: LeaseOptions): Promise<T>;
  release(leaseId: string, options?: CallOptions): Promise<boolean>;
  renew(leaseId: string, options?: CallOptions): Promise<number | undefined>;
  close(): Promise<void>;
}

const mostInBatch = 256;
const longestTimerMs = 2 ** 31 - 1;

/**
 * A client of a Sluice agent. Make one for the program, and use it everywhere; it keeps its connections. Making it opens none.
 *
 * With `onError` `allow` and `deny` no call rejects because of the agent. Calls reject for misuse, such as a check that is no object, and with the
 * reason of a signal that cancels them.
 */
export class Sluice implements SluiceClient {
  readonly #pool: Pool;
  readonly #key: ApiKey;
  readonly #agent: string;
  readonly #head: string;
  readonly #timeoutMs: number;
  readonly #onError: OnError;
  readonly #log: ErrorLog;
  #closing: Promise<void> | undefined;

  constructor(options: Options = {}) {
    const settings = readOptions(options);
    const { target } = settings;
    this.#agent = target.name;
    this.#pool = new Pool(target, settings.tls, settings.maxConnections);
    this.#key = new ApiKey(settings.key);
    this.#timeoutMs = settings.timeoutMs;
    this.#onError = settings.onError;
    this.#log = new ErrorLog(settings.logger, target.name, settings.onError);
    const host = target.kind === 'unix' ? 'localhost' : new URL(target.name).host;
    this.#head = `host: ${host}\r\nuser-agent: sluice-typescript/${version}\r\naccept: application/json\r\ncontent-type: application/json\r\n`;
  }

  /** Asks whether a request may go on. */
  async check(check: Check, options: CallOptions = {}): Promise<Decision> {
    this.#mustBeOpen();
    return this.#given(await this.#ask(check, options));
  }

  /** Asks for many checks; gives the decisions in their order. More than 256 are sent in several calls, one after the other. */
  async checkBatch(checks: readonly Check[], options: CallOptions = {}): Promise<Decision[]> {
    if (!Array.isArray(checks)) throw new TypeError(`checks must be an array of checks; got ${typeof checks}`);
    this.#mustBeOpen();
    const wire = checks.map(toWire);
    const decisions: Decision[] = [];
    for (let from = 0; from < wire.length; from += mostInBatch) {
      const part = wire.slice(from, from + mostInBatch);
      const reply = await this.#send('/v1/check/batch', { checks: part }, this.#timeoutMs, options);
      const results = reply instanceof SluiceError ? reply : readBatch(reply, part.length);
      if (results instanceof SluiceError) {
        const decision = this.#given(results);
        for (let i = 0; i < part.length; ++i) decisions.push(decision);
        continue;
      }
      // A faulty check gets a decision with its error in every mode, because the others have been charged.
      for (const result of results) {
        if (result instanceof SluiceError) this.#log.add(result);
        decisions.push(result instanceof SluiceError ? undecided(result, this.#onError === 'allow') : result);
      }
    }
    return decisions;
  }

  /** Waits until the check passes, or until it cannot pass in time. */
  async wait(check: Check, options: WaitOptions): Promise<Decision> {
    const upToMs = options?.upToMs;
    if (typeof upToMs !== 'number' || !(upToMs >= 0)) throw new TypeError(`\`upToMs\` must be a number of milliseconds, 0 or above; got ${String(upToMs)}`);
    toWire(check);
    this.#mustBeOpen();
    const release = (leaseId: string): void => void this.#release(leaseId, {});
    return this.#given(await waitFor((next) => this.#ask(next, options), release, check, Math.min(upToMs, longestTimerMs), options.signal));
  }

  /** A check whose lease ends with a block: `await using lease = await sluice.lease(…)`. */
  async lease(check: Check, options: LeaseOptions = {}): Promise<Lease> {
    const decision = await this.check(check, options);
    const holder = { release: (id: string) => this.#release(id, {}), renew: (id: string) => this.#renew(id, {}) };
    return new Lease(decision, holder, options.keepAlive ?? false);
  }

  /** Runs `work` and releases the lease afterwards, however it ends. `work` runs also if the check is denied: look at `lease.allowed`. */
  async withLease<T>(check: Check, work: (lease: Lease) => T | PromiseLike<T>, options: LeaseOptions = {}): Promise<T> {
    const lease = await this.lease(check, options);
    try {
      return await work(lease);
    } finally {
      await lease.release();
    }
  }

  /** Releases a lease by its id. False if it had ended, or if the agent did not answer. */
  async release(leaseId: string, options: CallOptions = {}): Promise<boolean> {
    this.#mustBeOpen();
    const result = await this.#release(mustBeId(leaseId), options);
    return result instanceof SluiceError ? this.#failed(result, false) : result;
  }

  /** Gives a lease its whole life again. Its new end in Unix seconds; undefined if it is gone, or if the agent did not answer. */
  async renew(leaseId: string, options: CallOptions = {}): Promise<number | undefined> {
    this.#mustBeOpen();
    const result = await this.#renew(mustBeId(leaseId), options);
    return result instanceof SluiceError ? this.#failed(result, undefined) : result;
  }

  /**
   * Closes idle connections now, and those in use after their call. Settles when all are closed. Leases that are still open are renewed and released
   * nevertheless, on connections of their own.
   */
  close(): Promise<void> {
    return (this.#closing ??= this.#pool.close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** How many connections are open. */
  get connections(): number {
    return this.#pool.connections;
  }

  toString(): string {
    return `Sluice(${this.#agent}, onError=${this.#onError}, timeoutMs=${this.#timeoutMs})`;
  }

  toJSON(): string {
    return this.toString();
  }

  [inspect.custom](): string {
    return this.toString();
  }

  async #ask(check: Check, options: CallOptions): Promise<Decision | SluiceError> {
    const wire = toWire(check);
    const timeoutMs = wire['wait'] === undefined ? this.#timeoutMs : Math.min(this.#timeoutMs + waitMilliseconds(wire['wait']), longestTimerMs);
    const reply = await this.#send('/v1/check', wire, timeoutMs, options);
    return reply instanceof SluiceError ? reply : readDecision(reply);
  }

  async #release(leaseId: string, options: CallOptions): Promise<boolean | SluiceError> {
    const reply = await this.#send('/v1/release', { lease_id: leaseId }, this.#timeoutMs, options, true);
    if (reply instanceof SluiceError) return this.#logged(reply);
    const body = readBody(reply);
    const released = body?.['released'];
    return reply.status === 200 && typeof released === 'boolean' ? released : this.#logged(failureOf(reply, body));
  }

  async #renew(leaseId: string, options: CallOptions): Promise<number | undefined | SluiceError> {
    const reply = await this.#send('/v1/renew', { lease_id: leaseId }, this.#timeoutMs, options, true);
    if (reply instanceof SluiceError) return this.#logged(reply);
    if (reply.status === 404) return undefined;   // of another tenant: it is not this client's lease
    const body = readBody(reply);
    const { renewed, lease_expires_at: expiresAt } = body ?? {};
    if (reply.status === 200 && renewed === true && typeof expiresAt === 'number') return expiresAt;
    return reply.status === 200 && renewed === false ? undefined : this.#logged(failureOf(reply, body));
  }

  /** Sends one call. After a 401 with a key that has changed in its file: once more, because nothing was charged. */
  async #send(path: string, content: unknown, timeoutMs: number, options: CallOptions, idempotent = false): Promise<Reply | SluiceError> {
    const body = JSON.stringify(content);
    const start = performance.now();
    const left = (): number => timeoutMs - (performance.now() - start);
    const kept = this.#key.value;
    let key = kept ?? (await this.#readKey(timeoutMs, options.signal));
    if (key instanceof SluiceError) return key;
    const trace = traceHeaders(options);
    // Reading the key's file has taken of the call's time.
    let reply = await this.#exchange(path, body, key, trace, kept === undefined ? Math.max(1, left()) : timeoutMs, options.signal, idempotent);
    if (reply instanceof SluiceError || reply.status !== 401 || !this.#key.rotates) return reply;

    const used = key;
    key = await this.#readKey(left(), options.signal);
    if (key instanceof SluiceError || key === used || left() <= 0) return reply;
    return this.#exchange(path, body, key, trace, left(), options.signal, idempotent);
  }

  async #exchange(path: string, body: string, key: string, trace: string, timeoutMs: number, signal: AbortSignal | undefined, idempotent: boolean): Promise<Reply | SluiceError> {
    const keyHeader = key === '' ? '' : `x-api-key: ${key}\r\n`;
    const message = `POST ${path} HTTP/1.1\r\n${this.#head}${keyHeader}${trace}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    const start = performance.now();
    let result = await this.#pool.call(message, { timeoutMs, signal });
    if ('error' in result && result.lost && idempotent) {
      const left = timeoutMs - (performance.now() - start);
      if (left > 0) result = await this.#pool.call(message, { timeoutMs: left, signal, fresh: true });
    }
    return 'reply' in result ? result.reply : result.error;
  }

  /** Reads the key from its file, but no longer than the call may take: the file may be on a volume that hangs. */
  async #readKey(timeoutMs: number, signal: AbortSignal | undefined): Promise<string | SluiceError> {
    signal?.throwIfAborted();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<SluiceError>((resolve) => {
      timer = setTimeout(() => resolve(new SluiceError('timeout', { detail: `the API key file was not read within ${Math.round(timeoutMs)} ms` })), timeoutMs);
    });
    try {
      return await Promise.race([this.#key.read(), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** The decision for the caller: that of the agent, or what `onError` says. */
  #given(answer: Decision | SluiceError): Decision {
    if (!(answer instanceof SluiceError)) return answer;
    this.#log.add(answer);
    if (this.#onError === 'raise') throw answer;
    return undecided(answer, this.#onError === 'allow');
  }

  #logged(error: SluiceError): SluiceError {
    this.#log.add(error);
    return error;
  }

  #failed<T>(error: SluiceError, otherwise: T): T {
    if (this.#onError === 'raise') throw error;
    return otherwise;
  }

  #mustBeOpen(): void {
    if (this.#closing) throw new Error('the client is closed; make a new one');
  }
}

function mustBeId(leaseId: unknown): string {
  if (typeof leaseId === 'string') return leaseId;
  throw new TypeError(`a lease id must be text; got ${typeof leaseId}`);
}
