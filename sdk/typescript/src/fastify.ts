/**
 * Rate limits for Fastify.
 *
 * @module
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Decision } from './decision.js';
import { exposed, type Denial } from './middleware/denial.js';
import { Guard, type LimitOptions, type RouteOptions } from './middleware/guard.js';
import { goneSignal, headerOf, whenOver } from './middleware/node.js';
import { patternOf, unmatched } from './middleware/route.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The decision about this request; null if it is exempt. */
    sluice: Decision | null;
  }
  interface FastifyContextConfig {
    /** Rate limit options of this route; false: it is exempt. */
    sluice?: RouteOptions<FastifyRequest> | false;
  }
}

export interface FastifyOptions extends LimitOptions<FastifyRequest> {
  /** When requests are checked. Default `onRequest`: before the body is read. `preHandler` is after authentication in other hooks. */
  hook?: 'onRequest' | 'preHandler';
  /** Answers a request that may not go on, instead of 429 or 503 with a problem. */
  onDenied?: (request: FastifyRequest, reply: FastifyReply, denial: Denial) => unknown;
}

/** A plugin: `await app.register(sluice)`. A route has options of its own in `config.sluice`. */
export async function sluice(app: FastifyInstance, options: FastifyOptions): Promise<void> {
  const guard = new Guard<FastifyRequest>(options, patternOf);
  app.decorateRequest('sluice', null);

  app.addHook(options.hook ?? 'onRequest', async (request: FastifyRequest, reply: FastifyReply) => {
    const url = request.routeOptions.url;
    const own = request.routeOptions.config.sluice;
    const outcome = await guard.ask({
      request,
      method: request.method,
      endpoint: request.is404 || url === undefined ? unmatched : patternOf(url),
      address: request.ip,
      accept: headerOf(request.raw, 'accept'),
      traceparent: headerOf(request.raw, 'traceparent'),
      tracestate: headerOf(request.raw, 'tracestate'),
      gone: goneSignal(reply.raw),
      keepAlive: true,
      route: own === false ? { exempt: true } : own,
    });
    if (outcome.kind === 'exempt') return undefined;
    if (outcome.kind === 'gone') return reply.hijack();
    request.sluice = outcome.decision;
    if (outcome.kind === 'allowed') {
      whenOver(reply.raw, outcome.finish);
      return undefined;
    }
    const { status, headers, body } = outcome.denial;
    const { 'Content-Type': type, ...others } = headers;
    reply.headers(others);
    const names = Object.keys(others);
    if (names.length > 0) reply.header('Access-Control-Expose-Headers', exposed(undefined, names));   // `onSend` knows only what the agent sent
    if (options.onDenied) await options.onDenied(request, reply, outcome.denial);
    else reply.code(status).type(type!).send(body);
    return reply;
  });

  app.addHook('onSend', async (request: FastifyRequest, reply: FastifyReply) => {
    const headers = request.sluice?.headers ?? {};
    const names = Object.keys(headers);
    if (names.length === 0) return;
    for (const name of names) if (!reply.hasHeader(name)) reply.header(name, headers[name]);
    const before = reply.getHeader('access-control-expose-headers');
    reply.header('Access-Control-Expose-Headers', exposed(before === undefined ? undefined : String(before), names));
  });
}

// The plugin's hooks are for the whole app, not for a context of its own (what the package fastify-plugin does).
Object.assign(sluice, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: '@sluice/client',
  [Symbol.for('plugin-meta')]: { name: '@sluice/client', fastify: '>=4' },
});

export default sluice;
export type { Denial, LimitOptions, RouteOptions };
