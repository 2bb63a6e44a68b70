import { exposed } from './denial.js';

/** Adds headers to a response of the Fetch API, unless it has them. */
export function addToHeaders(target: Headers, headers: Readonly<Record<string, string>>): void {
  const names = Object.keys(headers);
  if (names.length === 0) return;
  for (const name of names) if (!target.has(name)) target.set(name, headers[name]!);
  target.set('Access-Control-Expose-Headers', exposed(target.get('access-control-expose-headers') ?? undefined, names));
}

/**
 * The same response; `action` runs once when its body has been read to the end, has failed, or is read no more. `method`: nobody reads the body of a
 * response to HEAD, nor cancels it.
 */
export function whenRead(response: Response, method: string, action: () => void): Response {
  if (!response.body || method === 'HEAD') {
    action();
    return response;
  }
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        action();
        controller.close();
      } catch (error) {
        action();
        controller.error(error);
      }
    },
    async cancel(reason) {
      action();
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
  return new Response(body, response);
}
