import { SluiceError, type FieldError } from './errors.js';
import type { Reply } from './net/reader.js';

/** A check: what is asked for, by whom. The agent judges the values; names it does not know are refused. */
export interface Check {
  /** What is asked for, such as `GET:/orders`. */
  resource?: string;
  /** The subject that is charged: a user, an account, a client address. */
  subject?: string;
  /** Units of `requests`, 1 by default. 0 reads the counter and charges nothing. */
  cost?: number;
  /** Several units at once: `{ requests: 1, tokens: 1200 }`. */
  costs?: Record<string, number>;
  /** Use this plan instead of matching policies. */
  planId?: string;
  tags?: Record<string, string>;
  attributes?: Record<string, string>;
  /** Comes back in the reply and in the agent's log. */
  requestId?: string;
  /** Adds every limit and every candidate policy to the decision's `raw`. */
  explain?: boolean;
  /** Other limits for this check only, for trusted callers. */
  limitOverride?: Record<string, number>;
  /** How long the agent may hold the check until it fits, such as `2s`. The time of the call grows by it. */
  wait?: string;
  application?: string;
  service?: string;
  environment?: string;
  signal?: string;
  operation?: string;
  endpoint?: string;
  method?: string;
  user?: string;
  client?: string;
  clientId?: string;
  sourceIp?: string;
  region?: string;
  severity?: string;
  spanName?: string;
  topic?: string;
  consumerGroup?: string;
  jobType?: string;
  priority?: string;
  /** A dimension that this version does not know, by the agent's name. */
  [name: string]: unknown;
}

const wireNames: Readonly<Record<string, string>> = {
  planId: 'plan_id', requestId: 'request_id', limitOverride: 'limit_override', clientId: 'client_id', sourceIp: 'source_ip',
  spanName: 'span_name', consumerGroup: 'consumer_group', jobType: 'job_type',
};

/** The check as the agent reads it. Names that are not in the table stay: the agent may know them. */
export function toWire(check: Check): Record<string, unknown> {
  if (typeof check !== 'object' || check === null || Array.isArray(check))
    throw new TypeError(`a check must be an object such as { resource, subject }; got ${Array.isArray(check) ? 'an array' : check === null ? 'null' : typeof check}`);
  const wire: Record<string, unknown> = {};
  for (const name of Object.keys(check)) wire[Object.hasOwn(wireNames, name) ? wireNames[name]! : name] = check[name];
  return wire;
}

type Body = Readonly<Record<string, unknown>>;

/** The answer to a check. */
export class Decision {
  /** Whether the request may go on. */
  readonly allowed: boolean;
  /** The agent's reason, such as `within_limit` or `limit_exceeded`; `error` if no agent decided. */
  readonly reason: string;
  /** What the policy's action made of it, such as `allow`, `deny` or `downgrade`. */
  readonly action: string;
  /** Of the limit that decides. */
  readonly limit: number | undefined;
  readonly remaining: number | undefined;
  /** When the whole limit is back, in Unix seconds. */
  readonly reset: number | undefined;
  /** How long until the same check would pass. 0 if allowed. Undefined if it never can, or if the client cannot know. */
  readonly retryAfterMs: number | undefined;
  /** How long to wait before going on. */
  readonly delayMs: number;
  /** How long the agent held the check. */
  readonly waitedMs: number;
  readonly policy: string | undefined;
  readonly policyVersion: number | undefined;
  readonly plan: string | undefined;
  readonly limitName: string | undefined;
  /** Of a policy in shadow mode: the limits were judged, but not enforced. */
  readonly shadow: boolean;
  readonly wouldAllow: boolean;
  readonly overLimit: boolean;
  /** With the action `sample`: the share of the requests over the limit that pass. */
  readonly sampleRate: number | undefined;
  /** With the action `downgrade`: what to use instead. */
  readonly downgradeTo: string | undefined;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly leaseId: string | undefined;
  /** Unix seconds. */
  readonly leaseExpiresAt: number | undefined;
  /** The rate limit headers of the reply, as the agent wrote them. Empty in a batch. */
  readonly headers: Readonly<Record<string, string>>;
  /** HTTP status of the reply; in a batch of its result; 0 without a reply. */
  readonly status: number;
  readonly requestId: string | undefined;
  /** Why no agent decided; then `allowed` is what `onError` chose. */
  readonly error: SluiceError | undefined;
  /** The body of the reply, with members that this version does not know. */
  readonly raw: Body;

  constructor(allowed: boolean, body: Body, status: number, headers: Readonly<Record<string, string>>, requestId?: string, error?: SluiceError) {
    this.allowed = allowed;
    this.reason = error ? 'error' : text(body['reason']) ?? '';
    this.action = error ? (allowed ? 'allow' : 'deny') : text(body['action']) ?? (allowed ? 'allow' : 'deny');
    this.limit = number(body['limit']);
    this.remaining = number(body['remaining']);
    this.reset = number(body['reset_at']);
    this.retryAfterMs = allowed ? 0 : number(body['retry_after_ms']);
    this.delayMs = number(body['delay_ms']) ?? 0;
    this.waitedMs = number(body['waited_ms']) ?? 0;
    this.policy = text(body['policy_id']);
    this.policyVersion = number(body['policy_version']);
    this.plan = text(body['plan_id']);
    this.limitName = text(body['limit_name']);
    this.shadow = body['shadow'] === true;
    this.wouldAllow = boolean(body['would_allow']) ?? allowed;
    this.overLimit = boolean(body['over_limit']) ?? (this.reason === 'limit_exceeded' || this.reason === 'sampled');
    this.sampleRate = number(body['sample_rate']);
    this.downgradeTo = text(body['downgrade_to']);
    this.metadata = isObject(body['metadata']) ? (body['metadata'] as Readonly<Record<string, string>>) : undefined;
    this.leaseId = text(body['lease_id']);
    this.leaseExpiresAt = number(body['lease_expires_at']);
    this.headers = headers;
    this.status = status;
    this.requestId = text(body['request_id']) ?? requestId;
    this.error = error;
    this.raw = error?.raw ?? body;
  }

  /** The same as `allowed`. */
  get success(): boolean {
    return this.allowed;
  }

  /** Whether an agent decided. */
  get decided(): boolean {
    return this.error === undefined;
  }

  /** The same decision for somebody who has waited for its delay. */
  withoutDelay(): Decision {
    return new Decision(this.allowed, { ...this.raw, delay_ms: 0 }, this.status, this.headers, this.requestId, this.error);
  }

  /** The rate limit headers to send on. */
  toHeaders(): Record<string, string> {
    return { ...this.headers };
  }
}

/** What stands for the decision if there is none. */
export function undecided(error: SluiceError, allowed: boolean): Decision {
  return new Decision(allowed, {}, error.status, {}, text(error.raw['request_id']), error);
}

function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function boolean(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

/** The reply's body as an object; undefined if it is none. */
export function readBody(reply: Reply): Body | undefined {
  try {
    const value: unknown = JSON.parse(reply.body.toString('utf8'));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const cannotDecide = new Set(['overload', 'no_snapshot']);
const limitHeader = /^(?:x-)?ratelimit(?:$|-)|^retry-after$/i;

function limitHeaders(reply: Reply): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of reply.headers) if (limitHeader.test(name)) found[name] = Object.hasOwn(found, name) ? `${found[name]}, ${value}` : value;
  return found;
}

/** The decision of the reply to a check, or why it is none. */
export function readDecision(reply: Reply): Decision | SluiceError {
  const body = readBody(reply);
  const { status } = reply;
  const allowed = body && boolean(body['allowed']);
  if (allowed !== undefined && mayDecide(status) && !(status === 503 && cannotDecide.has(String(body!['reason']))))
    return new Decision(allowed, body!, status, limitHeaders(reply), requestIdOf(reply));
  return failureOf(reply, body);
}

function mayDecide(status: number): boolean {
  return (status >= 200 && status < 300) || status === 429 || status >= 500;
}

function requestIdOf(reply: Reply): string | undefined {
  for (const [name, value] of reply.headers) if (name.length === 12 && name.toLowerCase() === 'x-request-id') return value;
  return undefined;
}

/** The error of a reply that has not what it should have. */
export function failureOf(reply: Reply, body = readBody(reply)): SluiceError {
  const { status } = reply;
  if (!mayDecide(status) || status >= 500) return problem(status, body);
  return new SluiceError('protocol', { status, detail: `the reply with status ${status} is no answer to the call: ${body ? 'a member is missing or has another type' : 'its body is no JSON object'}` });
}

function problem(status: number, body: Body = {}): SluiceError {
  const detail = text(body['detail']) ?? text(body['cause']) ?? text(body['title']) ?? '';
  return new SluiceError(status >= 500 ? 'unavailable' : 'refused', {
    status,
    code: text(body['code']) ?? (status >= 500 ? text(body['reason']) : undefined) ?? '',
    detail,
    errors: Array.isArray(body['errors']) ? body['errors'].filter(isObject) as FieldError[] : [],
    raw: body,
  });
}

/** The decisions of the reply to a batch of `count` checks, each or why it is none; or why there is no batch. */
export function readBatch(reply: Reply, count: number): (Decision | SluiceError)[] | SluiceError {
  const body = readBody(reply);
  if (reply.status !== 200) return failureOf(reply, body);
  const results = body?.['results'];
  if (!Array.isArray(results)) return new SluiceError('protocol', { status: 200, detail: 'the reply to a batch has no list `results`' });
  if (results.length !== count) return new SluiceError('protocol', { status: 200, detail: `the reply to a batch of ${count} checks has ${results.length} results` });
  return results.map((result: unknown) => {
    if (!isObject(result)) return new SluiceError('protocol', { status: 200, detail: 'a result of the batch is no JSON object' });
    const allowed = boolean(result['allowed']);
    if (allowed !== undefined) {
      if (cannotDecide.has(String(result['reason']))) return problem(503, result);
      return new Decision(allowed, result, allowed ? 200 : 429, {});
    }
    const status = number(result['status']);
    if (status !== undefined && status >= 400) return problem(status, result);
    return new SluiceError('protocol', { status: 200, detail: 'a result of the batch is no decision: it has no boolean `allowed`' });
  });
}
