import type { Request } from 'express';
import { patternOf, tidy, unmatched } from './route.js';

// What Express 4 (express/lib/router) and Express 5 (router 2) have in common, and where they differ. Neither says which route will match, but
// both keep their routes in a stack of layers that can be asked. Since router 2.3 the answer is an object with the pattern; before, it is a
// boolean, and the layer has what was found.
interface Layer {
  readonly route?: Route;
  readonly handle: { readonly stack?: readonly Layer[] };
  readonly params?: Readonly<Record<string, string>>;
  readonly path?: string;
  /** Before router 2.3: one for each path of an array. */
  readonly matchers?: readonly ((path: string) => unknown)[];
  match(path: string): boolean | Match;
}

interface Match {
  readonly params: Readonly<Record<string, string>>;
  /** The part of the path that matched. */
  readonly path: string;
  readonly pattern?: unknown;
}

function matchOf(layer: Layer, path: string): Match | undefined {
  const found = layer.match(path);
  if (typeof found === 'object') return found ?? undefined;
  return found ? { params: layer.params ?? {}, path: layer.path ?? '' } : undefined;
}

interface Route {
  readonly path: unknown;
  readonly methods: Readonly<Record<string, boolean | undefined>>;
}

interface App {
  readonly _router?: { readonly stack: readonly Layer[] };
  readonly router?: unknown;
  readonly mountpath: string | readonly string[];
  path(): string;
}

/** The pattern of the route that will handle a request, or handles it already. */
export function endpointOf(request: Request): string {
  const app = request.app as unknown as App;
  const path = pathOf(request.originalUrl);
  const own = request.route as Route | undefined;
  // An app that is mounted in another one: its routes begin after its mount path.
  const mount = typeof app.mountpath === 'string' ? app.path().replace(/\/+$/, '') : '';
  const inApp = mount === '' ? path : `/${path.split('/').slice(mount.split('/').length).join('/')}`;
  try {
    const found = search(stackOf(app), inApp, request.method, own);
    if (found !== undefined) return tidy(patternOf(mount) + found);
  } catch {
    return unmatched;   // the path cannot be decoded; Express answers 400
  }
  return typeof own?.path === 'string' ? tidy(request.baseUrl + patternOf(own.path)) : unmatched;
}

function stackOf(app: App): readonly Layer[] {
  if (app._router) return app._router.stack;
  // Express 4 throws here, before it has routes.
  try {
    return (app.router as { stack?: readonly Layer[] } | undefined)?.stack ?? [];
  } catch {
    return [];
  }
}

function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  const path = end < 0 ? url : url.slice(0, end);
  return path.startsWith('/') ? path : new URL(path, 'http://x').pathname;
}

/** Searches layers as Express does, in order. `own`: the route that the request is in; otherwise the first that takes the method. */
function search(stack: readonly Layer[], path: string, method: string, own: Route | undefined): string | undefined {
  for (const layer of stack) {
    const inner = layer.handle.stack;
    const match = layer.route || inner ? matchOf(layer, path) : undefined;
    if (!match) continue;
    if (layer.route) {
      if (own ? layer.route === own : takes(layer.route, method)) return routePattern(layer, layer.route, match, path);
      continue;
    }
    const mount = mountPattern(layer, match);
    const found = search(inner!, path.slice(match.path.length) || '/', method, own);
    if (found !== undefined) return mount + found;
  }
  return undefined;
}

function takes(route: Route, method: string): boolean {
  const { methods } = route;
  const lower = method.toLowerCase();
  return Boolean(methods['_all'] || methods[lower] || (lower === 'head' && methods['get']));
}

function routePattern(layer: Layer, route: Route, match: Match, path: string): string {
  let chosen = match.pattern ?? route.path;
  if (Array.isArray(chosen)) {
    const at = layer.matchers?.length === chosen.length ? layer.matchers.findIndex((matcher) => matcher(path)) : 0;
    chosen = chosen[Math.max(at, 0)];
  }
  return typeof chosen === 'string' ? patternOf(chosen) : '/{path}';   // else a regular expression
}

/**
 * The pattern of a mount path. Before router 2.3 Express keeps no text of it. So each segment is tried: if the layer matches another text in its
 * place and finds it as a parameter, it is that parameter.
 */
function mountPattern(layer: Layer, match: Match): string {
  if (typeof match.pattern === 'string') return patternOf(match.pattern);
  const values = { ...match.params };
  if (Object.keys(values).length === 0) return match.path;
  const other = 'sluice-segment';
  const segments = match.path.split('/');
  const left = new Set(Object.keys(values));
  const made = segments.map((segment, i) => {
    if (segment === '') return segment;
    const tried = matchOf(layer, [...segments.slice(0, i), other, ...segments.slice(i + 1)].join('/'));
    const name = tried && Object.keys(tried.params).find((one) => tried.params[one] === other);
    if (name === undefined) return segment;
    left.delete(name);
    return `{${name}}`;
  });
  // A parameter with an expression of its own, such as `:id(\d+)`, does not take the other text.
  for (const name of left) {
    const at = made.findIndex((segment) => segment !== '' && decodeURIComponent(segment) === values[name]);
    if (at >= 0) made[at] = `{${name}}`;
  }
  layer.match(match.path);   // leaves the layer as it was
  return made.join('/');
}
