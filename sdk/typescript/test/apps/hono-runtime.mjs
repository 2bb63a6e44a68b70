// A Hono app under Bun or Deno. Prints its port.
import process from 'node:process';
import { Hono } from 'hono';
import { sluice } from '@sluice/client/hono';

const app = new Hono();
const key = (c) => c.req.header('x-user');
app.use(sluice({ key }));
app.get('/users/:id', (c) => c.json({ remaining: c.get('sluice').remaining }));
app.get('/fails', () => { throw new Error('broken'); });
app.get('/slow', (c) => {
  const ms = Number(c.req.query('ms') ?? 60_000);
  let timer;
  return c.body(new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('begin\n'));
      timer = setTimeout(() => { controller.enqueue(new TextEncoder().encode('end\n')); controller.close(); }, ms);
    },
    cancel: () => clearTimeout(timer),
  }));
});

if (globalThis.Bun) {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: (request, server) => app.fetch(request, { server }) });
  console.log(server.port);
} else {
  const server = Deno.serve({ port: 0, hostname: '127.0.0.1', onListen: ({ port }) => console.log(port) }, (request, info) => app.fetch(request, info));
  void server;
}
process.on('SIGTERM', () => process.exit(0));
