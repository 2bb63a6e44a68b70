// The same app in each framework. `state.handled` has the routes whose handlers ran; `state.hold` is awaited by the slow one.
import express5 from 'express';
import express4 from 'express4';
import cors from 'cors';
import Fastify from 'fastify';
import Koa from 'koa';
import KoaRouter from '@koa/router';
import { Hono } from 'hono';
import { cors as honoCors } from 'hono/cors';
import { streamText } from 'hono/streaming';
import { serve } from '@hono/node-server';
import { sluice as expressSluice } from '@sluice/client/express';
import { sluice as fastifySluice } from '@sluice/client/fastify';
import { sluice as koaSluice } from '@sluice/client/koa';
import { sluice as honoSluice } from '@sluice/client/hono';

const listening = (server) => new Promise((resolve) => (server.listening ? resolve(server) : server.once('listening', () => resolve(server))));

async function started(server) {
  await listening(server);
  return { port: server.address().port, close: () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); }) };
}

function express(make) {
  return async (state, options) => {
    const app = make();
    app.use(expressSluice({ ...options, key: options.key && ((request) => options.key((name) => request.get(name))) }));
    app.get('/users/:id', (request, response) => { state.handled.push('users'); state.decision = request.sluice; response.json({ id: request.params.id }); });
    app.get(['/either/:a', '/or/:b'], (_, response) => response.send('x'));
    for (const path of ['/slow', '/brief']) app.get(path, async (_, response) => { state.handled.push('slow'); await state.hold; response.send('done'); });
    app.get('/fails', () => { throw new Error('broken'); });
    for (const path of ['/health', '/costly', '/shadow', '/paced']) app.get(path, (_, response) => { state.handled.push(path); response.send('ok'); });
    app.get('/own', (_, response) => { response.writeHead(200, { 'x-ratelimit-limit': 'own', 'Access-Control-Expose-Headers': 'X-Own' }); response.end('own'); });
    app.get('/cors', cors({ exposedHeaders: ['X-Own'] }), (_, response) => response.send('cors'));
    const items = make === express5 ? express5.Router() : express4.Router();
    items.get('/items/:item', (_, response) => response.send('item'));
    const api = make === express5 ? express5.Router() : express4.Router();
    api.use('/tenants/:tenant', items);
    app.use('/api', api);
    const inner = make();
    inner.use(expressSluice({ ...options, resource: 'inner', key: options.key && ((request) => options.key((name) => request.get(name))) }));
    inner.get('/deep/:x', (_, response) => response.send('deep'));
    app.use('/mounted', inner);
    app.use((error, _request, response, _next) => response.status(500).send(error.message));
    return started(app.listen(0, '127.0.0.1'));
  };
}

async function fastify(state, options) {
  const app = Fastify({ logger: false });
  await app.register(fastifySluice, { ...options, key: options.key && ((request) => options.key((name) => request.headers[name])) });
  app.get('/users/:id', async (request) => { state.handled.push('users'); state.decision = request.sluice; return { id: request.params.id }; });
  for (const path of ['/slow', '/brief']) app.get(path, async () => { state.handled.push('slow'); await state.hold; return 'done'; });
  app.get('/fails', async () => { throw new Error('broken'); });
  app.get('/health', { config: { sluice: false } }, async () => { state.handled.push('/health'); return 'ok'; });
  app.get('/costly', { config: { sluice: { cost: 5 } } }, async () => { state.handled.push('/costly'); return 'ok'; });
  for (const path of ['/shadow', '/paced']) app.get(path, async () => { state.handled.push(path); return 'ok'; });
  app.get('/own', async (_, reply) => { reply.header('x-ratelimit-limit', 'own').header('Access-Control-Expose-Headers', 'X-Own'); return 'own'; });
  await app.register(async (api) => api.get('/tenants/:tenant/items/:item(^\\d+$)', async () => 'item'), { prefix: '/api' });
  await app.listen({ port: 0, host: '127.0.0.1' });
  return { port: app.server.address().port, close: () => { app.server.closeAllConnections(); return app.close(); } };
}

async function koa(state, options) {
  const app = new Koa();
  app.silent = true;
  app.use(koaSluice({ ...options, key: options.key && ((context) => options.key((name) => context.get(name) || undefined)) }));
  const router = new KoaRouter();
  router.get('/users/:id', (context) => { state.handled.push('users'); state.decision = context.state.sluice; context.body = { id: context.params.id }; });
  for (const path of ['/slow', '/brief']) router.get(path, async (context) => { state.handled.push('slow'); await state.hold; context.body = 'done'; });
  router.get('/fails', () => { throw new Error('broken'); });
  for (const path of ['/health', '/costly', '/shadow', '/paced']) router.get(path, (context) => { state.handled.push(path); context.body = 'ok'; });
  router.get('/own', (context) => { context.set('x-ratelimit-limit', 'own'); context.set('Access-Control-Expose-Headers', 'X-Own'); context.body = 'own'; });
  const items = new KoaRouter({ prefix: '/api' });
  items.get('/tenants/:tenant/items/:item', (context) => { context.body = 'item'; });
  router.use(items.routes());
  app.use(router.routes()).use(router.allowedMethods());
  return started(app.listen(0, '127.0.0.1'));
}

async function hono(state, options) {
  const app = new Hono();
  app.use(honoSluice({ ...options, key: options.key && ((context) => options.key((name) => context.req.header(name))) }));
  app.use('/own', honoCors({ origin: '*', exposeHeaders: ['X-Own'] }));
  app.get('/users/:id{[0-9]+}', (context) => { state.handled.push('users'); state.decision = context.get('sluice'); return context.json({ id: context.req.param('id') }); });
  for (const path of ['/slow', '/brief']) app.get(path, (context) => { state.handled.push('slow'); return streamText(context, async (stream) => { await stream.write('a'); await state.hold; await stream.write('done'); }); });
  app.get('/fails', () => { throw new Error('broken'); });
  for (const path of ['/health', '/costly', '/shadow', '/paced']) app.get(path, (context) => { state.handled.push(path); return context.text('ok'); });
  app.get('/own', (context) => context.text('own', 200, { 'x-ratelimit-limit': 'own' }));
  const api = new Hono();
  api.get('/tenants/:tenant/items/:item', (context) => context.text('item'));
  app.route('/api', api);
  app.onError((error, context) => context.text(error.message, 500));
  return started(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }));
}

export const apps = { 'express 5': express(express5), 'express 4': express(express4), fastify, koa, hono };
