import { createHash } from 'node:crypto';
import { Sluice, type SluiceClient } from '../client.js';
import { undecided, type Check, type Decision } from '../decision.js';
import { SluiceError } from '../errors.js';
import { sleep } from '../sleep.js';
import { hasCurrentSpan } from '../trace.js';
import { plainAddress, subjectOf } from './address.js';
import { denialOf, type Denial } from './denial.js';
import { tidy } from './route.js';

type Awaitable<T> = T | PromiseLike<T>;

/** What can be said for one route. `R` is the framework's request. */
export interface RouteOptions<R> {
  /** What is asked for. Default: `METHOD:ENDPOINT`, such as `GET:/users/{id}`. */
  resource?: string | ((request: R) => string);
  /** Units that a request takes, 1 by default. */
  cost?: number | ((request: R) => Awaitable<number>);
  /** The subject that is charged. Default, also for undefined: the client's address, `ip:203.0.113.7`. */
  key?: (request: R) => Awaitable<string | undefined>;
  /** Use this plan instead of matching policies. */
  planId?: string | ((request: R) => string | undefined);
  /** No check is made. */
  exempt?: boolean;
}

export interface LimitOptions<R> extends Omit<RouteOptions<R>, 'exempt'> {
  /** The client. Default: one for the program, with the environment's configuration. */
  client?: SluiceClient;
  /** Requests without a check: a function, or routes such as `/health` or `GET /users/{id}`. */
  exempt?: ((request: R) => Awaitable<boolean>) | readonly string[];
  /** Options of routes, by pattern: `{ '/export': { cost: 10 }, 'POST /users/{id}': { planId: 'writes' } }`. */
  routes?: Readonly<Record<string, RouteOptions<R>>>;
  /** More members of each check, such as `tags`. */
  fields?: (request: R) => Awaitable<Partial<Check>>;
  /** The longest `delay` that a request is held for, in milliseconds, 1000 by default. A longer one is a denial. */
  maxDelayMs?: number;
  /** Hears of each decision, allowed or not. */
  onDecision?: (decision: Decision, request: R) => void;
}

/** What an integration knows about a request. */
export interface Facts<R> {
  readonly request: R;
  readonly method: string;
  /** The pattern of the route. */
  readonly endpoint: string;
  /** The client's address as the framework finds it. */
  readonly address: string | undefined;
  readonly accept: string | undefined;
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  /** Aborts when the client goes away. */
  readonly gone: AbortSignal | undefined;
  /** Renew the lease until the response is over: only where the server always tells of that end, or the lease would live on. */
  readonly keepAlive: boolean;
  /** Options that the framework keeps with its routes. */
  readonly route?: RouteOptions<R> | undefined;
}

export type Outcome =
  | { readonly kind: 'exempt' }
  /** The client went away while the request was delayed: nobody needs a response. */
  | { readonly kind: 'gone' }
  /** `finish` must be called when the response has been sent, or the client has gone: it releases the lease. */
  | { readonly kind: 'allowed'; readonly decision: Decision; readonly finish: () => void }
  | { readonly kind: 'denied'; readonly decision: Decision; readonly denial: Denial };

let shared: Sluice | undefined;

/** The client of integrations that were given none. It is made when the first of them is, so that a wrong variable is an error at the start. */
function sharedClient(): Sluice {
  return (shared ??= new Sluice());
}

/** `GET /a/{id}` or `/a/{id}`, as it is looked up. */
function routeKey(text: string, pattern: (route: string) => string): string {
  const match = /^([A-Za-z]+)\s+(\S.*)$/.exec(text);
  return match ? `${match[1]!.toUpperCase()} ${pattern(match[2]!)}` : pattern(text);
}

/**
 * A value of a request as an agent takes it: one of more than 256 bytes, or that is no Unicode, as its hash. An agent would refuse it, and with
 * `onError` `allow` whoever sends a long header would have no limit.
 */
export function fitting(value: string): string {
  if (value.length <= 64 && /^[\x20-\x7e]*$/.test(value)) return value;
  if (value.isWellFormed() && Buffer.byteLength(value) <= 256) return value;
  return `sha256:${createHash('sha256').update(value).digest('hex')}`;
}

// What a program chooses, not a request.
const chosen = new Set(['planId', 'plan_id', 'wait']);

function fitAll(check: Check): void {
  for (const name of Object.keys(check)) {
    const value = check[name];
    if (typeof value === 'string' && !chosen.has(name)) check[name] = fitting(value);
  }
  for (const name of ['tags', 'attributes'] as const) {
    const group: unknown = check[name];
    if (typeof group !== 'object' || group === null) continue;
    check[name] = Object.fromEntries(Object.entries(group).map(([one, value]) => [one, typeof value === 'string' ? fitting(value) : value]));
  }
}

/** What all integrations do with a request. It knows no framework. */
export class Guard<R> {
  readonly #client: SluiceClient;
  readonly #options: LimitOptions<R>;
  readonly #routes = new Map<string, RouteOptions<R>>();
  readonly #exempt = new Set<string>();
  readonly #maxDelayMs: number;

  /** `pattern` turns the framework's notation of routes into patterns. */
  constructor(options: LimitOptions<R>, pattern: (route: string) => string) {
    // A route may be written as the framework writes it, or as a pattern.
    const either = (route: string): string => (/\{\w+\}/.test(route) ? tidy(route) : pattern(route));
    this.#options = options;
    this.#client = options.client ?? sharedClient();
    this.#maxDelayMs = options.maxDelayMs ?? 1000;
    if (!(this.#maxDelayMs >= 0)) throw new TypeError(`\`maxDelayMs\` must be a number of milliseconds, 0 or above; got ${String(options.maxDelayMs)}`);
    for (const [route, own] of Object.entries(options.routes ?? {})) this.#routes.set(routeKey(route, either), own);
    if (Array.isArray(options.exempt)) for (const route of options.exempt as readonly string[]) this.#exempt.add(routeKey(route, either));
  }

  async ask(facts: Facts<R>): Promise<Outcome> {
    const { request, method, endpoint } = facts;
    const options = this.#options;
    const withMethod = `${method} ${endpoint}`;
    const own = { ...(this.#routes.get(withMethod) ?? this.#routes.get(endpoint)), ...facts.route };
    if (own.exempt || this.#exempt.has(withMethod) || this.#exempt.has(endpoint)) return { kind: 'exempt' };
    if (typeof options.exempt === 'function' && (await options.exempt(request))) return { kind: 'exempt' };

    const address = plainAddress(facts.address);
    const resource = own.resource ?? options.resource;
    const planId = own.planId ?? options.planId;
    const cost = own.cost ?? options.cost;
    const subject = await (own.key ?? options.key)?.(request);
    const check: Check = {
      resource: typeof resource === 'function' ? resource(request) : resource ?? `${method}:${endpoint}`,
      subject: subject || subjectOf(address),
      endpoint,
      method,
    };
    if (address !== undefined) check.sourceIp = address;
    const plan = typeof planId === 'function' ? planId(request) : planId;
    if (plan !== undefined) check.planId = plan;
    if (cost !== undefined) check.cost = typeof cost === 'function' ? await cost(request) : cost;
    if (options.fields) Object.assign(check, await options.fields(request));
    fitAll(check);

    const { decision, finish } = await this.#decide(check, facts);
    try {
      options.onDecision?.(decision, request);
    } catch (error) {
      finish();
      throw error;
    }
    if (!decision.allowed) return { kind: 'denied', decision, denial: denialOf(decision, decision.retryAfterMs, facts.accept) };

    if (decision.delayMs > this.#maxDelayMs) {
      finish();
      return { kind: 'denied', decision, denial: denialOf(decision, decision.delayMs, facts.accept) };
    }
    if (decision.delayMs > 0) await sleep(decision.delayMs, facts.gone).catch(() => {});
    if (facts.gone?.aborted) {
      finish();
      return { kind: 'gone' };
    }
    return { kind: 'allowed', decision, finish };
  }

  /** The check is not cancelled when the client goes away: it may take a lease, and only its reply tells which. */
  async #decide(check: Check, facts: Facts<R>): Promise<{ decision: Decision; finish: () => void }> {
    const { traceparent, tracestate, keepAlive } = facts;
    const trace = traceparent !== undefined && !hasCurrentSpan() ? { traceparent, tracestate } : {};
    try {
      const lease = await this.#client.lease(check, { keepAlive, ...trace });
      // A failure is in the client's log, and the lease ends by its time.
      return { decision: lease.decision, finish: () => void lease.release().catch(() => {}) };
    } catch (error) {
      if (error instanceof SluiceError) return { decision: undecided(error, false), finish: () => {} };
      throw error;
    }
  }
}
