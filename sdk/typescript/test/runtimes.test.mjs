// The client and the Hono integration under Bun and Deno. tests/sdk runs the conformance suite with Bun too.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import http from 'node:http';
import { fileURLToPath } from 'node:url';
import { after, before, describe, test } from 'node:test';
import { Agent, atOnce, bundle, fixed, get, waitUntil } from './support/agent.mjs';

const folder = fileURLToPath(new URL('.', import.meta.url));
const runtimes = { bun: [`${folder}runtimes/node_modules/@oven/bun-linux-x64/bin/bun`, []], deno: [`${folder}runtimes/node_modules/@deno/linux-x64-glibc/deno`, ['run', '-A']] };

let agent;
before(async () => {
  agent = await new Agent(bundle(
    [{ id: 'two', limits: [fixed(2)] }, { id: 'jobs', limits: [atOnce(1)] }],
    [{ id: 'users', scope: { resource: 'GET:/users/{id}' }, plan_id: 'two' }, { id: 'slow', scope: { resource: 'GET:/slow' }, plan_id: 'jobs' }, { id: 'fails', scope: { resource: 'GET:/fails' }, plan_id: 'jobs' },
      { id: 'head', scope: { resource: 'HEAD:/slow' }, plan_id: 'jobs' }])).start();
});
after(() => agent.close());

for (const [name, [program, flags]] of Object.entries(runtimes)) describe(name, { skip: existsSync(program) ? false : 'it is not installed: scripts/setup sdk' }, () => {
  const environment = () => ({ ...process.env, ...agent.environment, SLUICE_TIMEOUT: '10s' });
  let server;
  let port;
  before(async () => {
    server = spawn(program, [...flags, `${folder}apps/hono-runtime.mjs`], { stdio: ['ignore', 'pipe', 'inherit'], env: environment() });
    port = Number(await new Promise((resolve) => server.stdout.once('data', resolve)));
  });
  after(() => server.kill('SIGKILL'));
  const free = (resource, user) => agent.remaining({ resource, subject: user });

  test('a program asks, and ends by itself', () => {
    const code = "import { Sluice } from '@sluice/client'; console.log((await new Sluice().check({ planId: 'two', subject: 'alone', cost: 0 })).reason);";
    const done = spawnSync(program, name === 'bun' ? ['-e', code] : ['eval', '--ext=mjs', code], { encoding: 'utf8', cwd: folder, timeout: 60_000, env: environment() });
    assert.equal(done.stdout.trim(), 'within_limit', done.stderr);
    assert.equal(done.status, 0);
  });

  test('answers 200 and then 429, by the pattern of the route and the address of the client', async () => {
    for (const id of [1, 2]) {
      const passed = await get(port, `/users/${id}`);
      assert.deepEqual([passed.status, passed.text, passed.headers['x-ratelimit-limit']], [200, JSON.stringify({ remaining: 2 - id }), '2']);
    }
    assert.equal((await get(port, '/users/3')).status, 429);
    assert.equal(await free('GET:/users/{id}', 'ip:127.0.0.1'), 0);
    const charged = await get(port, '/users/3', { 'x-user': name });
    assert.equal(charged.status, 200);
    // Both runtimes count for the same address: the next one begins anew.
    await agent.restart();
  });

  test('releases the lease when the response has been sent, when the handler fails, and when the client goes away', async () => {
    const headers = { 'x-user': `${name}-lease` };
    const first = get(port, '/slow?ms=500', headers);
    await waitUntil('the lease is taken', async () => (await free('GET:/slow', headers['x-user'])) === 0);
    assert.equal((await get(port, '/slow?ms=1', headers)).status, 429);
    assert.match((await first).text, /end/);
    await waitUntil('the lease is released', async () => (await free('GET:/slow', headers['x-user'])) === 1);
    assert.equal((await get(port, '/fails', headers)).status, 500);
    await waitUntil('the lease is released', async () => (await free('GET:/fails', headers['x-user'])) === 1);
    const head = await get(port, '/slow?ms=1', headers, { method: 'HEAD' });
    assert.deepEqual([head.status, head.headers['x-ratelimit-limit']], [200, '1']);
    await waitUntil('the lease is released', async () => (await free('HEAD:/slow', headers['x-user'])) === 1);
    const call = http.get({ port, host: '127.0.0.1', path: '/slow', headers, agent: false }, (reply) => reply.resume().on('error', () => {})).on('error', () => {});
    await waitUntil('the lease is taken', async () => (await free('GET:/slow', headers['x-user'])) === 0);
    call.destroy();
    await waitUntil('the lease is released', async () => (await free('GET:/slow', headers['x-user'])) === 1);
  });
});
