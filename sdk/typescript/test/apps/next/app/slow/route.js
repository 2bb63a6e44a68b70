import { limited } from '../../limits.js';

// Lasts until its client goes, or for as many milliseconds as it says.
export const GET = limited('/slow', (request) => {
  const ms = Number(request.nextUrl.searchParams.get('ms') ?? 60_000);
  let timer;
  return new Response(new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('begin\n'));
      timer = setTimeout(() => { controller.enqueue(new TextEncoder().encode('end\n')); controller.close(); }, ms);
    },
    cancel: () => clearTimeout(timer),
  }));
});
