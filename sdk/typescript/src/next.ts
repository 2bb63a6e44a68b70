/**
 * Rate limits for Next: route handlers of the App Router, and the proxy (middleware). Both need the Node.js runtime.
 *
 * @module
 */
import type { NextRequest } from 'next/server.js';
import type { Decision } from './decision.js';
import type { Denial } from './middleware/denial.js';
import { Guard, type Facts, type LimitOptions } from './middleware/guard.js';
import { patternOfNext, unmatched } from './middleware/route.js';
import { addToHeaders, whenRead } from './middleware/web.js';

export interface NextOptions extends LimitOptions<NextRequest> {
  /**
   * The client's address. Next does not tell it, and whoever calls can write an `X-Forwarded-For`: so this, or `key`, must be given. A function that
   * reads the header of your own proxy is right if nobody gets past that proxy.
   */
  address?: (request: NextRequest) => string | undefined;
  /** Answers a request that may not go on, instead of 429 or 503 with a problem. */
  onDenied?: (request: NextRequest, denial: Denial) => Response | Promise<Response>;
}

export interface ProxyOptions extends NextOptions {
  /** The routes of the app, such as `/users/[id]`: a proxy does not know them. Other paths have the endpoint `{unmatched}`. */
  patterns: readonly string[];
}

const decisions = new WeakMap<object, Decision>();

/** The decision about a request that `withSluice` let pass; undefined if it is exempt. */
export function decisionOf(request: Request): Decision | undefined {
  return decisions.get(request);
}

function guardOf(options: NextOptions): Guard<NextRequest> {
  if (!options.key && !options.address)
    throw new TypeError('give `key` or `address`: Next does not tell the address of a client; got neither');
  return new Guard<NextRequest>(options, patternOfNext);
}

function factsOf(request: NextRequest, endpoint: string, options: NextOptions): Facts<NextRequest> {
  const header = (name: string): string | undefined => request.headers.get(name) ?? undefined;
  return {
    request,
    method: request.method,
    endpoint,
    address: options.address?.(request),
    accept: header('accept'),
    traceparent: header('traceparent'),
    tracestate: header('tracestate'),
    gone: request.signal,
    keepAlive: false,   // who drops the body tells nobody
  };
}

async function denied(request: NextRequest, denial: Denial, options: NextOptions): Promise<Response> {
  const { status, headers, body } = denial;
  const response = options.onDenied ? await options.onDenied(request, denial) : new Response(body, { status, headers });
  const { 'Content-Type': _, ...others } = headers;
  addToHeaders(response.headers, others);
  return response;
}

/**
 * Limits a route handler: `export const GET = withSluice('/users/[id]', handler, { key })`. `route` is the folder of the file, as Next writes it. A lease
 * lasts until the response has been sent.
 */
export function withSluice<C = unknown>(
  route: string, handler: (request: NextRequest, context: C) => Response | Promise<Response>, options: NextOptions,
): (request: NextRequest, context: C) => Promise<Response> {
  const guard = guardOf(options);
  const endpoint = patternOfNext(route);
  return async (request, context) => {
    const outcome = await guard.ask(factsOf(request, endpoint, options));
    if (outcome.kind === 'exempt') return handler(request, context);
    if (outcome.kind === 'gone') return new Response(null, { status: 503 });
    if (outcome.kind === 'denied') return denied(request, outcome.denial, options);
    decisions.set(request, outcome.decision);
    request.signal.addEventListener('abort', outcome.finish, { once: true });
    let response: Response;
    try {
      response = await handler(request, context);
    } catch (error) {
      outcome.finish();
      throw error;
    }
    // The handler may hand on a response whose headers cannot be changed, such as that of fetch().
    const own = new Response(response.body, response);
    addToHeaders(own.headers, outcome.decision.headers);
    return outcome.decision.leaseId === undefined ? own : whenRead(own, request.method, outcome.finish);
  };
}

/**
 * Limits in `proxy.ts` (before Next 16: `middleware.ts` with the Node.js runtime): `export const proxy = sluiceProxy({ patterns, key })`. A proxy does not
 * see the end of a response, so it gives a lease back at once: use `withSluice` for concurrency limits.
 */
export function sluiceProxy(options: ProxyOptions): (request: NextRequest) => Promise<Response> {
  const guard = guardOf(options);
  const routes = [...options.patterns].sort(moreSpecificFirst).map((route) => ({ test: expressionOf(route), pattern: patternOfNext(route) }));
  return async (request) => {
    const path = request.nextUrl.pathname;
    const endpoint = routes.find(({ test }) => test.test(path))?.pattern ?? unmatched;
    const outcome = await guard.ask(factsOf(request, endpoint, options));
    if (outcome.kind === 'gone') return new Response(null, { status: 503 });
    if (outcome.kind === 'denied') return denied(request, outcome.denial, options);
    const response = new Response(null, { headers: { 'x-middleware-next': '1' } });   // what NextResponse.next() is
    if (outcome.kind === 'exempt') return response;
    outcome.finish();
    addToHeaders(response.headers, outcome.decision.headers);
    return response;
  };
}

/** Next's order: a static segment wins over a parameter, and that over what catches all. */
function moreSpecificFirst(a: string, b: string): number {
  const rank = (part: string | undefined): number => (part === undefined ? 0 : part.startsWith('[[') ? 4 : part.startsWith('[...') ? 3 : part.startsWith('[') ? 2 : 1);
  const left = a.split('/');
  const right = b.split('/');
  for (let i = 0; i < Math.max(left.length, right.length); ++i) {
    const difference = rank(left[i]) - rank(right[i]);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The paths of a route. */
function expressionOf(route: string): RegExp {
  const parts = route.split('/').filter((part) => part !== '' && !/^\(.*\)$/.test(part));
  const expression = parts.map((part) => {
    if (/^\[\[\.\.\..+\]\]$/.test(part)) return '(?:/.+)?';
    if (/^\[\.\.\..+\]$/.test(part)) return '/.+';
    if (/^\[.+\]$/.test(part)) return '/[^/]+';
    return `/${part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`;
  });
  return new RegExp(`^${expression.join('') || '/'}/?$`);
}

export type { Denial, LimitOptions };
export type { RouteOptions } from './middleware/guard.js';
