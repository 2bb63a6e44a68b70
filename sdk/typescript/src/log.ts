import type { ErrorKind, SluiceError } from './errors.js';
import type { Logger, OnError } from './options.js';

const quietMs = 10_000;
const given: Readonly<Record<OnError, string>> = { allow: 'checks are allowed', deny: 'checks are denied', raise: 'checks throw' };

/** Logs errors of the agent: each kind once when it begins, then at most every 10 s with the number of errors. */
export class ErrorLog {
  readonly #logger: Logger;
  readonly #agent: string;
  readonly #onError: OnError;
  readonly #kinds = new Map<ErrorKind, { at: number; count: number }>();

  constructor(logger: Logger, agent: string, onError: OnError) {
    this.#logger = logger;
    this.#agent = agent;
    this.#onError = onError;
  }

  add(error: SluiceError, now = performance.now()): void {
    let kind = this.#kinds.get(error.kind);
    if (!kind) this.#kinds.set(error.kind, (kind = { at: Number.NEGATIVE_INFINITY, count: 0 }));
    ++kind.count;
    if (now - kind.at < quietMs) return;
    const times = kind.count > 1 ? ` (${kind.count} errors of this kind since the last line)` : '';
    kind.at = now;
    kind.count = 0;
    try {
      this.#logger.warn(`sluice: agent ${this.#agent}: ${error.message}; ${given[this.#onError]}${times}`);
    } catch {
      // A check must not fail because its log does.
    }
  }
}
