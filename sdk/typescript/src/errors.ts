/**
 * Why an agent gave no decision.
 *
 * - `unreachable`: no connection: refused, no such socket or host, a certificate that is not trusted
 * - `timeout`: the call took longer than its time
 * - `protocol`: the reply is cut, is no HTTP, or is no decision
 * - `unavailable`: the agent answered that it cannot decide: overload, no policies, any other 5xx
 * - `refused`: any other status. The call is wrong: `status`, `code`, `detail` and `errors` say how
 */
export type ErrorKind = 'unreachable' | 'timeout' | 'protocol' | 'unavailable' | 'refused';

/** One faulty field of a refused call. */
export interface FieldError {
  /** JSON pointer into the body of the call. */
  readonly pointer?: string;
  readonly detail?: string;
}

export interface ErrorDetails {
  /** HTTP status of the reply; 0 if there was none. */
  status?: number;
  /** The problem in one word, for programs; empty if the reply had none. */
  code?: string;
  /** What is wrong, for people; of a problem its `detail`. */
  detail: string;
  errors?: readonly FieldError[];
  /** Body of the reply, if it was a JSON object. */
  raw?: Readonly<Record<string, unknown>>;
  cause?: unknown;
}

const brand = Symbol.for('sluice.dev/SluiceError');

/** An agent gave no decision. Thrown only with `onError: 'raise'`; otherwise it is the decision's `error`. */
export class SluiceError extends Error {
  override readonly name = 'SluiceError';
  readonly kind: ErrorKind;
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly errors: readonly FieldError[];
  readonly raw: Readonly<Record<string, unknown>>;
  /** @internal */
  readonly [brand] = true;

  constructor(kind: ErrorKind, details: ErrorDetails) {
    const { status = 0, code = '' } = details;
    const answered = status === 0 ? '' : `the agent answered ${status}${code === '' ? '' : ` ${code}`}${details.detail === '' ? '' : ': '}`;
    const fields = (details.errors ?? []).slice(0, 5).map((field) => `; ${field.pointer ?? ''}: ${field.detail ?? ''}`).join('');
    // The text may be of another program, and ends in logs: it stays one line of a bounded length.
    super(`${kind}: ${answered}${details.detail}${fields}`.slice(0, 800).replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/g, ' '), details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = kind;
    this.status = status;
    this.code = code;
    this.detail = details.detail;
    this.errors = details.errors ?? [];
    this.raw = details.raw ?? {};
  }

  /** True also for errors of another copy of this package: a program may load it as ESM and as CommonJS. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && brand in value;
  }
}
