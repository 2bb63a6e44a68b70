import { clearTimeout, setImmediate, setTimeout } from 'node:timers';
import { SluiceError } from '../errors.js';
import type { Target, TlsFiles } from '../options.js';
import { Connection, type Exchange, type Owner } from './connection.js';
import type { Reply } from './reader.js';

/** How long a connection may be idle. An agent closes it after 75 s. */
const idleMs = 30_000;

// Deno runs immediates without a look at its sockets. A timer costs about a millisecond there, but a check that is lost costs more.
const afterPoll: (action: () => void) => void = 'Deno' in globalThis ? (action) => void setTimeout(action, 0) : (action) => void setImmediate(action);

/** What came of one call. */
export type Result = { readonly reply: Reply } | { readonly error: SluiceError; readonly lost: boolean };

export interface CallOptions {
  /** The longest it may take, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Takes no connection that was used before. */
  readonly fresh?: boolean;
}

/** One call on its way: it waits for a connection, then for its reply, and settles once. */
class Call implements Exchange {
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal | undefined;
  readonly #resolve: (result: Result) => void;
  readonly #reject: (reason: unknown) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #target: Target;
  readonly fresh: boolean;
  readonly message: string;
  readonly #waiting: Set<Call>;
  connection: Connection | undefined;
  #settled = false;

  constructor(waiting: Set<Call>, target: Target, message: string, options: CallOptions, resolve: (result: Result) => void, reject: (reason: unknown) => void) {
    this.#waiting = waiting;
    this.#target = target;
    this.#timeoutMs = options.timeoutMs;
    this.#signal = options.signal;
    this.#resolve = resolve;
    this.#reject = reject;
    this.fresh = options.fresh ?? false;
    this.message = message;
    this.#timer = setTimeout(this.#onTimer, options.timeoutMs);
    this.#signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  onReply(reply: Reply): void {
    if (this.#settle()) this.#resolve({ reply });
  }

  onFailure(error: SluiceError, lost: boolean): void {
    if (this.#settle()) this.#resolve({ error, lost });
  }

  // If the program kept the event loop busy, the reply may have been there in time. So it is read before the time is called over.
  readonly #onTimer = (): void => {
    setImmediate(this.#onTimeout);
  };

  readonly #onTimeout = (): void => {
    if (!this.#settle()) return;
    this.connection?.destroy();
    this.#resolve({
      error: new SluiceError('timeout', { detail: `${this.#target.name} did not answer within ${Math.round(this.#timeoutMs * 10) / 10} ms` }),
      lost: false,
    });
  };

  readonly #onAbort = (): void => {
    if (!this.#settle()) return;
    this.connection?.destroy();
    this.#reject(this.#signal!.reason);
  };

  #settle(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    this.#waiting.delete(this);
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#onAbort);
    return true;
  }
}

/**
 * The connections of one client. The one used last comes first, so that those that are not needed become idle and are closed.
 *
 * A call is written once. So before a connection is used again, the event loop must have had the chance to see that the agent has closed it:
 * calls are handed to connections in `#flush`, after the loop has polled its sockets.
 */
export class Pool implements Owner {
  readonly #target: Target;
  readonly #files: TlsFiles;
  readonly #most: number;
  readonly #open = new Set<Connection>();
  readonly #idle: Connection[] = [];
  readonly #waiting = new Set<Call>();
  #flushing = false;
  #closing = false;
  #sweeper: NodeJS.Timeout | undefined;
  #onEmpty: (() => void)[] = [];

  constructor(target: Target, files: TlsFiles, maxConnections: number) {
    this.#target = target;
    this.#files = files;
    this.#most = maxConnections;
  }

  /** Sends a message and gives the reply. Rejects only with the reason of `signal`. */
  call(message: string, options: CallOptions): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (options.signal?.aborted) return reject(options.signal.reason);
      this.#waiting.add(new Call(this.#waiting, this.#target, message, options, resolve, reject));
      this.#look();
    });
  }

  /** Open connections, for tests and measurements. */
  get connections(): number {
    return this.#open.size;
  }

  /** Closes idle connections now and the others after their call. Settles when all are closed. */
  close(): Promise<void> {
    this.#closing = true;
    clearTimeout(this.#sweeper);
    for (const connection of this.#idle.splice(0)) connection.destroy();
    return new Promise((resolve) => {
      this.#onEmpty.push(resolve);
      this.#settleEmpty();
    });
  }

  onIdle(connection: Connection): void {
    connection.idleSince = performance.now();
    this.#idle.push(connection);
    if (this.#waiting.size > 0) this.#look();
    else if (this.#closing) this.#closeIdle();
    else this.#sweepLater();
  }

  onClosed(connection: Connection): void {
    this.#open.delete(connection);
    const at = this.#idle.lastIndexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    if (this.#waiting.size > 0) this.#look();
    this.#settleEmpty();
  }

  /**
   * Runs `#flush` after the event loop has polled. One `setImmediate` is not enough: of a callback of a socket, it runs before the next poll.
   * All calls of one turn of the loop share it.
   */
  #look(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    afterPoll(this.#lookAgain);
  }

  readonly #lookAgain = (): void => afterPoll(this.#flush);

  readonly #flush = (): void => {
    this.#flushing = false;
    for (const call of this.#waiting) {
      const connection = call.fresh ? undefined : this.#takeIdle();
      if (!connection && this.#open.size >= this.#most) {
        // A call that wants a new connection takes the place of an idle one.
        const idle = call.fresh ? this.#idle[0] : undefined;
        if (!idle) break;
        idle.destroy();
      }
      this.#waiting.delete(call);
      if (connection) {
        call.connection = connection;
        connection.send(call.message, call);
      } else {
        call.connection = new Connection(this, this.#target, this.#files, call.message, call);
        this.#open.add(call.connection);
      }
    }
    if (this.#closing) this.#closeIdle();
  };

  #takeIdle(): Connection | undefined {
    for (;;) {
      const connection = this.#idle.pop();
      if (!connection || connection.usable) return connection;
      connection.destroy();
    }
  }

  #closeIdle(): void {
    if (this.#waiting.size > 0) return;
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  #settleEmpty(): void {
    if (!this.#closing || this.#open.size > 0 || this.#waiting.size > 0) return;
    for (const resolve of this.#onEmpty.splice(0)) resolve();
  }

  #sweepLater(): void {
    if (this.#sweeper || this.#idle.length === 0) return;
    this.#sweeper = setTimeout(this.#sweep, Math.max(1, this.#idle[0]!.idleSince + idleMs - performance.now()));
    this.#sweeper.unref();
  }

  // The connection that has been idle longest is the first: the last one is taken first.
  readonly #sweep = (): void => {
    this.#sweeper = undefined;
    const now = performance.now();
    while (this.#idle.length > 0 && now - this.#idle[0]!.idleSince >= idleMs - 1) this.#idle.shift()!.destroy();
    this.#sweepLater();
  };
}
