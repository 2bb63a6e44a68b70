/**
 * Rate limits for Koa, with `@koa/router`.
 *
 * @module
 */
import type { Context, Middleware } from 'koa';
import type { Denial } from './middleware/denial.js';
import { Guard, type LimitOptions } from './middleware/guard.js';
import { addHeaders, goneSignal, headerOf, whenOver } from './middleware/node.js';
import { patternOf, tidy, unmatched } from './middleware/route.js';

export interface KoaOptions extends LimitOptions<Context> {
  /** Answers a request that may not go on, instead of 429 or 503 with a problem. */
  onDenied?: (context: Context, denial: Denial) => unknown;
}

/** Limits what comes after it: `app.use(sluice())` before the routes, or `router.use(sluice())`. The decision is in `ctx.state.sluice`. */
export function sluice(options: KoaOptions = {}): Middleware {
  const guard = new Guard<Context>(options, patternOf);
  return async (context, next) => {
    const outcome = await guard.ask({
      request: context,
      method: context.method,
      endpoint: endpointOf(context),
      address: context.ip,
      accept: headerOf(context.req, 'accept'),
      traceparent: headerOf(context.req, 'traceparent'),
      tracestate: headerOf(context.req, 'tracestate'),
      gone: goneSignal(context.res),
      keepAlive: true,
    });
    if (outcome.kind === 'gone') return;
    if (outcome.kind === 'exempt') return void (await next());
    context.state['sluice'] = outcome.decision;
    if (outcome.kind === 'allowed') {
      whenOver(context.res, outcome.finish);
      addHeaders(context.res, outcome.decision.headers);
      return void (await next());
    }
    const { status, headers, body } = outcome.denial;
    const { 'Content-Type': type, ...others } = headers;
    addHeaders(context.res, others);
    if (options.onDenied) return void (await options.onDenied(context, outcome.denial));
    context.status = status;
    context.body = body;
    context.set('Content-Type', type!);
  };
}

interface Layer {
  readonly path: string | RegExp;
}

interface Router {
  match(path: string, method: string): { readonly route: boolean; readonly pathAndMethod: readonly Layer[] };
}

/** The route that a router has chosen, or will choose. */
function endpointOf(context: Context): string {
  const chosen = (context as { _matchedRoute?: string | RegExp })._matchedRoute;
  if (chosen !== undefined) return patternOfPath(chosen);
  for (const middleware of context.app.middleware) {
    const { router } = middleware as { router?: Router };
    if (typeof router?.match !== 'function') continue;
    const found = router.match(context.path, context.method);
    if (!found.route) continue;
    // Middleware of the router matches too; the route itself has methods.
    const layer = found.pathAndMethod.filter((one) => (one as { methods?: readonly string[] }).methods?.length !== 0).at(-1);
    if (layer) return patternOfPath(layer.path);
  }
  return unmatched;
}

function patternOfPath(path: string | RegExp): string {
  return typeof path === 'string' ? tidy(patternOf(path)) : '/{path}';
}

export type { Denial, LimitOptions };
export type { RouteOptions } from './middleware/guard.js';
