import type { Decision } from '../decision.js';

/** The response to a request that may not go on. */
export interface Denial {
  readonly status: 429 | 503;
  /** Rate limit headers, `Retry-After` and `Content-Type`. */
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** `retryAfterMs`: when to come again, if it is known. `accept`: the request's header. */
export function denialOf(decision: Decision, retryAfterMs: number | undefined, accept: string | undefined): Denial {
  const status = decision.decided && decision.reason !== 'fail_closed' ? 429 : 503;
  const headers = decision.toHeaders();
  const seconds = retryAfterMs === undefined ? undefined : Math.ceil(retryAfterMs / 1000);
  if (seconds !== undefined && !Object.keys(headers).some((name) => name.toLowerCase() === 'retry-after')) headers['Retry-After'] = String(seconds);
  if (prefersText(accept)) {
    headers['Content-Type'] = 'text/plain; charset=utf-8';
    return { status, headers, body: status === 429 ? 'Rate limit exceeded' : 'Rate limiter unavailable' };
  }
  headers['Content-Type'] = 'application/problem+json';
  const problem = {
    type: 'about:blank',
    title: status === 429 ? 'Too Many Requests' : 'Service Unavailable',
    status,
    detail: status === 429 ? detailOf(seconds) : 'The rate limiter cannot decide now. Try again later.',
    ...(seconds === undefined ? {} : { retry_after: seconds }),
  };
  return { status, headers, body: JSON.stringify(problem) };
}

function detailOf(seconds: number | undefined): string {
  if (seconds === undefined) return 'The rate limit is exceeded.';
  return `The rate limit is exceeded. Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
}

/** Whether a request would rather have `text/plain` than JSON (RFC 9110, 12.5.1). */
export function prefersText(accept: string | undefined): boolean {
  if (!accept?.includes('text/')) return false;
  const ranges = accept.split(',').map((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const q = parameters.find((parameter) => parameter.startsWith('q='));
    return { type, q: q === undefined ? 1 : Number(q.slice(2)) || 0 };
  });
  // Of the ranges that take a type, the most specific one counts.
  const quality = (...names: string[]): number => {
    for (const wanted of names) {
      const range = ranges.find(({ type }) => type === wanted);
      if (range) return range.q;
    }
    return 0;
  };
  const text = quality('text/plain', 'text/*', '*/*');
  return text > quality('application/problem+json', 'application/json', 'application/*', '*/*');
}

/** What `Access-Control-Expose-Headers` must say so that browsers show these headers to scripts, besides what it said. */
export function exposed(before: string | undefined, names: readonly string[]): string {
  const had = before?.split(',').map((one) => one.trim()).filter((one) => one !== '') ?? [];
  if (had.includes('*')) return had.join(', ');
  const known = new Set(had.map((one) => one.toLowerCase()));
  return [...had, ...names.filter((one) => !known.has(one.toLowerCase()))].join(', ');
}
