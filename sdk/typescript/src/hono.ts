/**
 * Rate limits for Hono: under Node.js by `@hono/node-server`, under Bun and Deno.
 *
 * @module
 */
import type { ServerResponse } from 'node:http';
import type { Context, MiddlewareHandler } from 'hono';
import type { Decision } from './decision.js';
import type { Denial } from './middleware/denial.js';
import { Guard, type LimitOptions } from './middleware/guard.js';
import { goneSignal, whenOver } from './middleware/node.js';
import { patternOf, unmatched } from './middleware/route.js';
import { addToHeaders, whenRead } from './middleware/web.js';

declare module 'hono' {
  interface ContextVariableMap {
    /** The decision about this request; undefined if it is exempt. */
    sluice: Decision;
  }
}

export interface HonoOptions extends LimitOptions<Context> {
  /** The client's address. Default: that of the connection, as Node.js, Bun and Deno tell it. */
  address?: (context: Context) => string | undefined;
  /** Answers a request that may not go on, instead of 429 or 503 with a problem. */
  onDenied?: (context: Context, denial: Denial) => Response | Promise<Response>;
}

/** Limits what comes after it: `app.use(sluice())`. The decision is in `c.get('sluice')`. */
export function sluice(options: HonoOptions = {}): MiddlewareHandler {
  const pattern = (route: string): string => patternOf(route, { bracesAreExpressions: true });
  const guard = new Guard<Context>(options, pattern);
  return async (context, next) => {
    const outgoing = (context.env as { outgoing?: ServerResponse } | undefined)?.outgoing;
    const route = routeOf(context);
    const outcome = await guard.ask({
      request: context,
      method: context.req.method,
      endpoint: route === undefined ? unmatched : pattern(route),
      address: (options.address ?? connectionAddress)(context),
      accept: context.req.header('accept'),
      traceparent: context.req.header('traceparent'),
      tracestate: context.req.header('tracestate'),
      gone: outgoing ? goneSignal(outgoing) : context.req.raw.signal,
      keepAlive: outgoing !== undefined,   // elsewhere an earlier middleware may drop the body, and its end is never seen
    });
    if (outcome.kind === 'gone') return context.body(null, 503);
    if (outcome.kind === 'exempt') return void (await next());
    context.set('sluice', outcome.decision);
    if (outcome.kind === 'denied') {
      const { status, headers, body } = outcome.denial;
      const response = options.onDenied ? await options.onDenied(context, outcome.denial) : new Response(body, { status, headers });
      const { 'Content-Type': _, ...others } = headers;
      addToHeaders(response.headers, others);
      return response;
    }
    if (outgoing) whenOver(outgoing, outcome.finish);
    try {
      await next();
    } catch (error) {
      outcome.finish();
      throw error;
    }
    addToHeaders(context.res.headers, outcome.decision.headers);
    if (!outgoing && outcome.decision.leaseId !== undefined) {
      context.req.raw.signal.addEventListener('abort', outcome.finish, { once: true });
      context.res = whenRead(context.res, context.req.raw.method, outcome.finish);
    }
    return undefined;
  };
}

/** The path of the handler that will answer: of what matches, the last that is no middleware. */
function routeOf(context: Context): string | undefined {
  return context.req.matchedRoutes.findLast(({ handler, method }) => {
    const own = (handler as { __COMPOSED_HANDLER?: (...all: never[]) => unknown }).__COMPOSED_HANDLER ?? handler;
    return method !== 'ALL' || own.length < 2;
  })?.path;
}

interface Connection {
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } };
  readonly remoteAddr?: { readonly hostname?: string };
  readonly server?: { requestIP?(request: Request): { readonly address: string } | null };
  requestIP?(request: Request): { readonly address: string } | null;
}

function connectionAddress(context: Context): string | undefined {
  const env = (context.env ?? {}) as Connection;
  if (env.incoming) return env.incoming.socket?.remoteAddress;
  if (env.remoteAddr) return env.remoteAddr.hostname;
  const server = typeof env.requestIP === 'function' ? env : env.server;
  return server?.requestIP?.(context.req.raw)?.address;
}

export type { Denial, LimitOptions };
export type { RouteOptions } from './middleware/guard.js';
