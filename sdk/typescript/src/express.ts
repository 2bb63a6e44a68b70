/**
 * Rate limits for Express 4 and 5.
 *
 * @module
 */
import type { Request, RequestHandler } from 'express';
import type { Decision } from './decision.js';
import { Guard, type LimitOptions } from './middleware/guard.js';
import { addHeaders, goneSignal, headerOf, whenOver } from './middleware/node.js';
import { patternOf } from './middleware/route.js';
import { endpointOf } from './middleware/express-routes.js';
import type { Denial } from './middleware/denial.js';
import type { Response } from 'express';

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace
  namespace Express {
    interface Request {
      /** The decision about this request; undefined if it is exempt. */
      sluice?: Decision;
    }
  }
}

export interface ExpressOptions extends LimitOptions<Request> {
  /** Answers a request that may not go on, instead of 429 or 503 with a problem. */
  onDenied?: (request: Request, response: Response, denial: Denial) => void;
}

/** Limits all routes after it by `app.use(sluice())`, or one route by `app.get('/x', sluice({ cost: 5 }), handler)`. */
export function sluice(options: ExpressOptions = {}): RequestHandler {
  const guard = new Guard<Request>(options, patternOf);
  return (request, response, next) => {
    guard.ask({
      request,
      method: request.method,
      endpoint: endpointOf(request),
      address: request.ip,
      accept: headerOf(request, 'accept'),
      traceparent: headerOf(request, 'traceparent'),
      tracestate: headerOf(request, 'tracestate'),
      gone: goneSignal(response),
      keepAlive: true,
    }).then((outcome) => {
      if (outcome.kind === 'gone') return;
      if (outcome.kind === 'exempt') return next();
      request.sluice = outcome.decision;
      if (outcome.kind === 'allowed') {
        whenOver(response, outcome.finish);
        addHeaders(response, outcome.decision.headers);
        return next();
      }
      const { status, headers, body } = outcome.denial;
      const { 'Content-Type': type, ...others } = headers;
      addHeaders(response, others);
      if (options.onDenied) return options.onDenied(request, response, outcome.denial);
      response.status(status).setHeader('Content-Type', type!);
      response.end(body);
    }).catch(next);
  };
}

export type { Denial, LimitOptions };
export type { RouteOptions } from './middleware/guard.js';
