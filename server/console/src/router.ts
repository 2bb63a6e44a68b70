// The address of a view: a path and a query. The address bar is the only place where a view keeps what back, forward,
// reload and a copied link must restore.
import { computed, signal } from "@preact/signals";

export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

const read = (): Place => ({ path: location.pathname, query: new URLSearchParams(location.search) });

export const place = signal<Place>(read());
addEventListener("popstate", () => (place.value = read()));

export function go(path: string, query: Record<string, string> = {}): void {
  history.pushState(null, "", link(path, query));
  place.value = read();
  scrollTo(0, 0);
}

// Changes parameters of the query; "" removes one. Typing in a filter must not fill the history: then `replace`.
export function setQuery(changes: Record<string, string>, replace = true): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") query.delete(name);
    else query.set(name, value);
  }
  show(query, replace);
}

// Of a field that has a text of its own until a person changes it: "" stays then, so that the field can be emptied.
export function setField(name: string, value: string): void {
  const query = new URLSearchParams(location.search);
  query.set(name, value);
  show(query, true);
}

function show(query: URLSearchParams, replace: boolean): void {
  const text = query.toString();
  const url = location.pathname + (text === "" ? "" : `?${text}`);
  if (replace) history.replaceState(null, "", url);
  else history.pushState(null, "", url);
  place.value = read();
}

export const param = (name: string): string => place.value.query.get(name) ?? "";
export const field = (name: string, own: string): string => place.value.query.get(name) ?? own;

// The tenant stays chosen from view to view.
export const tenant = computed(() => param("tenant"));

export function link(path: string, query: Record<string, string> = {}): string {
  const full = new URLSearchParams();
  if (tenant.value !== "") full.set("tenant", tenant.value);
  for (const [name, value] of Object.entries(query)) {
    if (value !== "") full.set(name, value);
    else full.delete(name);
  }
  const text = full.toString();
  return path + (text === "" ? "" : `?${text}`);
}

// The parts of a path that a pattern such as "/policies/:id" names, or null if the path is another.
export function match(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return null;
  const found: Record<string, string> = {};
  for (let i = 0; i < wanted.length; ++i) {
    const part = wanted[i] ?? "";
    const value = decoded(given[i] ?? "");
    if (!part.startsWith(":")) {
      if (part !== value) return null;
    } else if (value === null || value === "") {
      return null;
    } else {
      found[part.slice(1)] = value;
    }
  }
  return found;
}

// null if it is not percent-encoded UTF-8.
function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

// Lets links of this page change the view without loading the page anew.
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  const anchor = (event.target as Element).closest("a");
  if (anchor === null || anchor.target !== "" || anchor.origin !== location.origin) return;
  if (anchor.hasAttribute("download") || anchor.dataset["external"] !== undefined) return;
  event.preventDefault();
  history.pushState(null, "", anchor.href);
  place.value = read();
  scrollTo(0, 0);
}
