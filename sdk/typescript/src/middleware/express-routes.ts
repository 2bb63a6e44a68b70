import type { Request } from 'express';
import { patternOf, tidy, unmatched } from './route.js';

// What Express 4 (express/lib/router) and Express 5 (router 2) have in common, and where they differ. Neither says which route will match, but
// both keep their routes in a stack of layers that can be asked.
interface Layer {
  readonly route?: Route;
  readonly handle: { readonly stack?: readonly Layer[] };
  readonly keys: readonly (string | { readonly name: string | number })[];
  params: Readonly<Record<string, string>> | undefined;
  path: string | undefined;
  /** Express 5: one for each path of an array. */
  readonly matchers?: readonly ((path: string) => unknown)[];
  match(path: string): boolean;
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
  const mount = typeof app.mountpath === 'string' ? app.path() : '';
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
    if ((!layer.route && !inner) || !layer.match(path)) continue;
    if (layer.route) {
      if (own ? layer.route === own : takes(layer.route, method)) return routePattern(layer, layer.route, path);
      continue;
    }
    const matched = layer.path ?? '';
    const mount = mountPattern(layer, matched);
    const found = search(inner!, path.slice(matched.length) || '/', method, own);
    if (found !== undefined) return mount + found;
  }
  return undefined;
}

function takes(route: Route, method: string): boolean {
  const { methods } = route;
  const lower = method.toLowerCase();
  return Boolean(methods['_all'] || methods[lower] || (lower === 'head' && methods['get']));
}

function routePattern(layer: Layer, route: Route, path: string): string {
  if (typeof route.path === 'string') return patternOf(route.path);
  if (!Array.isArray(route.path)) return '/{path}';   // a regular expression
  const paths = route.path as unknown[];
  const at = layer.matchers?.length === paths.length ? layer.matchers.findIndex((matcher) => matcher(path)) : 0;
  const chosen = paths[Math.max(at, 0)];
  return typeof chosen === 'string' ? patternOf(chosen) : '/{path}';
}

/**
 * The pattern of a mount path. Express keeps no text of it, so each segment is tried: if the layer matches another text in its place and finds it
 * as a parameter, it is that parameter.
 */
function mountPattern(layer: Layer, matched: string): string {
  if (layer.keys.length === 0 && Object.keys(layer.params ?? {}).length === 0) return matched;
  const values = { ...layer.params };
  const other = 'sluice-segment';
  const segments = matched.split('/');
  const left = new Set(Object.keys(values));
  const made = segments.map((segment, i) => {
    if (segment === '') return segment;
    const name = layer.match([...segments.slice(0, i), other, ...segments.slice(i + 1)].join('/')) ? Object.keys(layer.params ?? {}).find((one) => layer.params![one] === other) : undefined;
    if (name === undefined) return segment;
    left.delete(name);
    return `{${name}}`;
  });
  // A parameter with an expression of its own, such as `:id(\d+)`, does not take the other text.
  for (const name of left) {
    const at = made.findIndex((segment) => segment !== '' && decodeURIComponent(segment) === values[name]);
    if (at >= 0) made[at] = `{${name}}`;
  }
  layer.match(matched);
  return made.join('/');
}
