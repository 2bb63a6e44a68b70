import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { exposed } from './denial.js';

/** A header of a request; of several with one name, the first. */
export function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** Runs `action` once, when the response has been sent or its client has gone. */
export function whenOver(response: ServerResponse, action: () => void): void {
  if (response.closed || response.destroyed) return action();
  let over = false;
  const once = (): void => {
    if (over) return;
    over = true;
    action();
  };
  response.once('finish', once).once('close', once);
}

/** A signal that aborts when the client goes away. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.closed || response.destroyed) controller.abort();
  else response.once('close', () => controller.abort());
  return controller.signal;
}

type Given = OutgoingHttpHeaders | OutgoingHttpHeader[] | undefined;
const exposeName = 'access-control-expose-headers';

/** The names in the headers that a handler hands to `writeHead`, in lower case, with their values. */
function given(headers: Given): Map<string, string> {
  const found = new Map<string, string>();
  if (Array.isArray(headers)) {
    const flat = headers.flat() as string[];
    for (let i = 0; i + 1 < flat.length; i += 2) found.set(String(flat[i]).toLowerCase(), String(flat[i + 1]));
  } else if (headers) {
    for (const [name, value] of Object.entries(headers)) found.set(name.toLowerCase(), String(value));
  }
  return found;
}

function without(headers: Given, name: string): Given {
  if (Array.isArray(headers)) {
    const flat = headers.flat() as string[];
    return flat.filter((_, i) => flat[i - (i % 2)]!.toLowerCase() !== name);
  }
  return headers && Object.fromEntries(Object.entries(headers).filter(([one]) => one.toLowerCase() !== name));
}

/**
 * Adds headers to a response just before it is written, so that those of the handler win, and so that an error handler that clears headers
 * cannot lose them.
 */
export function addHeaders(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  const names = Object.keys(headers);
  if (names.length === 0 || response.headersSent) return;
  const original = response.writeHead;
  response.writeHead = function (this: ServerResponse, ...parameters: unknown[]) {
    response.writeHead = original;
    const at = typeof parameters[1] === 'string' ? 2 : 1;
    const explicit = given(parameters[at] as Given);
    for (const name of names) if (!explicit.has(name.toLowerCase()) && !this.hasHeader(name)) this.setHeader(name, headers[name]!);
    const before = explicit.get(exposeName) ?? this.getHeader(exposeName);
    if (explicit.has(exposeName)) parameters[at] = without(parameters[at] as Given, exposeName);
    this.setHeader('Access-Control-Expose-Headers', exposed(before === undefined ? undefined : String(before), names));
    return (original as (...all: unknown[]) => ServerResponse).apply(this, parameters);
  } as typeof response.writeHead;
}
