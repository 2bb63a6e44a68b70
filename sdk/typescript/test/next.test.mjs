// A Next app is built, and served by `next start`.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, describe, test } from 'node:test';
import { sluiceProxy, withSluice } from '@sluice/client/next';
import { Agent, atOnce, bundle, fixed, freePort, get, waitUntil } from './support/agent.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const app = join(root, 'test', 'apps', 'next');
const program = join(root, 'node_modules', 'next', 'dist', 'bin', 'next');
const policies = bundle(
  [{ id: 'two', limits: [fixed(2)] }, { id: 'jobs', limits: [atOnce(1)] }, { id: 'one', limits: [fixed(1)] },
    { id: 'paced', action: 'delay', max_delay: '5s', limits: [{ name: 'rate', algorithm: 'leaky_bucket', capacity: 1, leak: '4/s' }] }],
  [{ id: 'users', scope: { resource: 'GET:/users/{id}' }, plan_id: 'two' }, { id: 'proxied', scope: { resource: 'GET:/proxied/{id}' }, plan_id: 'two' },
    ...['', '/proxied/own'].flatMap((below) => [
      { id: `shadow${below.length}`, mode: 'shadow', scope: { resource: `GET:${below}/shadow` }, plan_id: 'one' },
      { id: `paced${below.length}`, scope: { resource: `GET:${below}/paced` }, plan_id: 'paced', action: 'delay', max_delay: '5s' }]),
    { id: 'health', scope: { resource: 'GET:/health' }, plan_id: 'one' }, { id: 'free', scope: { resource: 'GET:/proxied/own/free' }, plan_id: 'one' },
    { id: 'slow', scope: { resource: 'GET:/slow' }, plan_id: 'jobs' }, { id: 'fails', scope: { resource: 'GET:/fails' }, plan_id: 'jobs' },
    { id: 'head', scope: { resource: 'HEAD:/slow' }, plan_id: 'jobs' }]);

let agent;
const servers = [];

async function serve(environment) {
  const port = await freePort();
  const server = spawn(process.execPath, [program, 'start', '-H', '127.0.0.1', '-p', String(port)], { cwd: app, stdio: 'ignore', env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1', ...environment } });
  servers.push(server);
  await waitUntil('next is there', () => get(port, '/').then(({ status }) => status === 200, () => false), 60_000);
  return port;
}

before(async () => {
  // The app finds the package as an installed one.
  const installed = join(app, 'node_modules', '@sluice', 'client');
  rmSync(installed, { recursive: true, force: true });
  mkdirSync(installed, { recursive: true });
  for (const name of ['dist', 'package.json']) cpSync(join(root, name), join(installed, name), { recursive: true });
  const built = spawnSync(process.execPath, [program, 'build'], { cwd: app, encoding: 'utf8', timeout: 280_000, env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1' } });
  assert.equal(built.status, 0, built.stdout + built.stderr);
  agent = await new Agent(policies).start();
}, { timeout: 300_000 });

after(async () => {
  for (const server of servers) server.kill('SIGKILL');
  await agent?.close();
});

describe('next', () => {
  let port;
  let serial = 0;
  const user = () => ({ 'x-user': `next-${++serial}` });
  const free = (resource, headers) => agent.remaining({ resource, subject: headers['x-user'] });
  before(async () => (port = await serve({ ...agent.environment, SLUICE_TIMEOUT: '5s' })));

  test('a route handler answers 200 and then 429, counted by the pattern of its route', async () => {
    const headers = user();
    for (const id of [1, 2]) {
      const passed = await get(port, `/users/${id}`, headers);
      assert.equal(passed.status, 200, passed.text);
      assert.deepEqual(JSON.parse(passed.text), { id: String(id), policy: 'users' });
      assert.equal(passed.headers['x-ratelimit-remaining'], String(2 - id));
      assert.match(passed.headers['access-control-expose-headers'], /X-RateLimit-Remaining/i);
    }
    const denied = await get(port, '/users/3', headers);
    assert.equal(denied.status, 429);
    assert.match(denied.headers['content-type'], /^application\/problem\+json/);
    assert.equal(JSON.parse(denied.text).retry_after, Number(denied.headers['retry-after']));
    assert.equal((await get(port, '/users/3', { ...headers, accept: 'text/plain' })).text, 'Rate limit exceeded');
  });

  test('a proxy answers for the routes that it was told', async () => {
    const headers = user();
    for (const id of [1, 2]) {
      const passed = await get(port, `/proxied/${id}`, headers);
      assert.deepEqual([passed.status, passed.text, passed.headers['x-ratelimit-remaining']], [200, 'behind the proxy', String(2 - id)]);
    }
    const denied = await get(port, '/proxied/3', headers);
    assert.equal(denied.status, 429);
    assert.equal(JSON.parse(denied.text).title, 'Too Many Requests');
  });

  test('makes no check of exempt routes', async () => {
    const headers = user();
    for (let i = 0; i < 3; ++i) {
      const health = await get(port, '/health', headers);
      assert.deepEqual([health.status, health.text, health.headers['x-ratelimit-limit']], [200, '{"checked":false}', undefined]);
      const passed = await get(port, '/proxied/own/free', headers);
      assert.deepEqual([passed.status, passed.headers['x-ratelimit-limit']], [200, undefined]);
    }
    assert.equal(await free('GET:/health', headers), 1);
    assert.equal(await free('GET:/proxied/own/free', headers), 1);
  });

  test('lets requests of a policy in shadow mode pass', async () => {
    const headers = user();
    for (const path of ['/shadow', '/proxied/own/shadow']) for (let i = 0; i < 3; ++i) assert.equal((await get(port, path, headers)).status, 200, path);
  });

  test('holds a request for a short delay, and denies it for a long one', async () => {
    for (const path of ['/paced', '/proxied/own/paced']) {
      const headers = user();
      assert.equal((await get(port, path, headers)).status, 200);
      const begin = performance.now();
      assert.equal((await get(port, path, headers)).status, 200);
      assert.ok(performance.now() - begin >= 150, 'it was not delayed');
      const many = await Promise.all([1, 2, 3, 4].map(() => get(port, path, headers)));
      const denied = many.find(({ status }) => status === 429);
      assert.ok(denied, 'none was denied');
      assert.ok(Number(denied.headers['retry-after']) >= 1);
      assert.match(denied.headers['access-control-expose-headers'], /Retry-After/);
    }
  });

  test('the lease of a response to HEAD ends although nobody reads its body', async () => {
    const headers = user();
    const head = await get(port, '/slow?ms=1', headers, { method: 'HEAD' });
    assert.deepEqual([head.status, head.headers['x-ratelimit-limit']], [200, '1']);
    await waitUntil('the lease is released', async () => (await free('HEAD:/slow', headers)) === 1);
  });

  test('the lease lasts until the response has been sent', async () => {
    const headers = user();
    const first = get(port, '/slow?ms=700', headers);
    await waitUntil('the lease is taken', async () => (await free('GET:/slow', headers)) === 0);
    assert.equal((await get(port, '/slow?ms=1', headers)).status, 429);
    assert.match((await first).text, /end/);
    await waitUntil('the lease is released', async () => (await free('GET:/slow', headers)) === 1);
  });

  test('the lease ends when the handler fails, and when the client goes away', async () => {
    const headers = user();
    assert.equal((await get(port, '/fails', headers)).status, 500);
    await waitUntil('the lease is released', async () => (await free('GET:/fails', headers)) === 1);
    const call = http.get({ port, host: '127.0.0.1', path: '/slow', headers, agent: false }).on('error', () => {});
    await waitUntil('the lease is taken', async () => (await free('GET:/slow', headers)) === 0);
    call.destroy();
    await waitUntil('the lease is released', async () => (await free('GET:/slow', headers)) === 1);
  });

  test('follows SLUICE_ON_ERROR when the agent is killed', async () => {
    const doomed = await new Agent(policies).start();
    const modes = { allow: 200, deny: 503, raise: 503 };
    const ports = {};
    for (const mode of Object.keys(modes)) ports[mode] = await serve({ ...doomed.environment, SLUICE_TIMEOUT: '5s', SLUICE_ON_ERROR: mode });
    for (const mode of Object.keys(modes)) assert.equal((await get(ports[mode], '/users/1', user())).status, 200);
    await doomed.kill();
    for (const [mode, status] of Object.entries(modes)) {
      assert.equal((await get(ports[mode], '/users/1', user())).status, status, mode);
      assert.equal((await get(ports[mode], '/proxied/1', user())).status, status, mode);
    }
    await doomed.close();
  });
});

test('an address must come from somewhere', () => {
  assert.throws(() => withSluice('/', () => new Response(), {}), /`key` or `address`/);
  assert.throws(() => sluiceProxy({ patterns: [] }), /`key` or `address`/);
});
