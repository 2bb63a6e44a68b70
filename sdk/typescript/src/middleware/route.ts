/** The endpoint of a request that matches no route. */
export const unmatched = '{unmatched}';

export interface Notation {
  /** `{…}` after a parameter is its expression (Hono); otherwise braces are an optional part (Express 5, Koa). */
  readonly bracesAreExpressions?: boolean;
}

const name = /[A-Za-z0-9_$]/;

/**
 * A route in the notation of Express, Fastify, Koa or Hono as a pattern: `:id`, `:id(\d+)` and `:id{[0-9]+}` become `{id}`, `*rest` becomes `{rest}`,
 * and `*` becomes `{path}`.
 */
export function patternOf(route: string, notation: Notation = {}): string {
  let made = '';
  let at = 0;
  const skip = (open: string, close: string): void => {
    if (route[at] !== open) return;
    for (let depth = 0; at < route.length; ++at) {
      if (route[at] === '\\') ++at;
      else if (route[at] === open) ++depth;
      else if (route[at] === close && --depth === 0) {
        ++at;
        return;
      }
    }
  };
  const word = (): string => {
    const start = at;
    while (at < route.length && name.test(route[at]!)) ++at;
    return route.slice(start, at);
  };
  while (at < route.length) {
    const letter = route[at]!;
    if (letter === '\\' && at + 1 < route.length) {
      made += route[at + 1];
      at += 2;
    } else if (letter === ':' && route[at + 1] === ':') {
      made += ':';
      at += 2;
    } else if (letter === ':' && name.test(route[at + 1] ?? '')) {
      ++at;
      made += `{${word()}}`;
      skip('(', ')');
      if (notation.bracesAreExpressions) skip('{', '}');
      if (/[?+*]/.test(route[at] ?? '')) ++at;
    } else if (letter === '*') {
      ++at;
      made += `{${word() || 'path'}}`;
    } else if (letter === '(') {
      skip('(', ')');
      made += '{path}';
      if (/[?+*]/.test(route[at] ?? '')) ++at;
    } else if ((letter === '{' || letter === '}') && !notation.bracesAreExpressions) {
      ++at;
    } else {
      made += letter;
      ++at;
    }
  }
  return tidy(made);
}

/** A route in the notation of Next: `[id]`, `[...rest]` and `[[...rest]]`. Groups such as `(shop)` are no part of the path. */
export function patternOfNext(route: string): string {
  return tidy(route.replace(/\/\([^)/]*\)(?=\/|$)/g, '').replace(/\[\[?(?:\.\.\.)?([^\]]+)\]?\]/g, '{$1}'));
}

/** One slash where several meet, and none at the end. */
export function tidy(pattern: string): string {
  const single = `/${pattern}`.replace(/\/{2,}/g, '/');
  return single.length > 1 ? single.replace(/\/$/, '') : single;
}
