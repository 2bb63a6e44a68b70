import assert from 'node:assert/strict';
import http from 'node:http';
import { after, afterEach, before, describe, test } from 'node:test';
import { Sluice } from '@sluice/client';
import { alwaysAllow, scripted } from '@sluice/client/testing';
import { Agent, apiKey, atOnce, bundle, fixed, get, waitUntil } from './support/agent.mjs';
import { apps } from './support/apps.mjs';

const quiet = { warn() {} };
const policies = bundle(
  [{ id: 'two', limits: [fixed(2)] }, { id: 'five', limits: [fixed(5)] }, { id: 'one', limits: [fixed(1)] }, { id: 'jobs', limits: [atOnce(1)] }, { id: 'short', limits: [atOnce(1, '1s')] },
    { id: 'paced', action: 'delay', max_delay: '5s', limits: [{ name: 'rate', algorithm: 'leaky_bucket', capacity: 1, leak: '4/s' }] }],
  [{ id: 'users', scope: { resource: 'GET:/users/{id}' }, plan_id: 'two' }, { id: 'costly', scope: { resource: 'GET:/costly' }, plan_id: 'five' },
    { id: 'slow', scope: { resource: 'GET:/slow' }, plan_id: 'jobs' }, { id: 'fails', scope: { resource: 'GET:/fails' }, plan_id: 'jobs' },
    { id: 'brief', scope: { resource: 'GET:/brief' }, plan_id: 'short' },
    { id: 'own', scope: { resource: 'GET:/own' }, plan_id: 'five' }, { id: 'cors', scope: { resource: 'GET:/cors' }, plan_id: 'five' },
    { id: 'shadow', mode: 'shadow', scope: { resource: 'GET:/shadow' }, plan_id: 'one' },
    { id: 'paced', scope: { resource: 'GET:/paced' }, plan_id: 'paced', action: 'delay', max_delay: '5s' }]);

let agent;
let client;
before(async () => {
  agent = await new Agent(policies).start();
  client = new Sluice({ url: agent.url, apiKey, timeoutMs: 5000, onError: 'raise' });
});
after(async () => {
  await client.close();
  await agent.close();
});

let serial = 0;
const key = (header) => header('x-user');

/** How many leases are free on a route. */
const free = (resource, user) => agent.remaining({ resource, subject: user['x-user'] });

for (const [name, start] of Object.entries(apps)) describe(name, () => {
  const open = [];
  const launch = async (options = {}) => {
    const state = { handled: [], hold: undefined };
    const app = await start(state, { client, key, ...options });
    open.push(app);
    return { ...app, state, user: { 'x-user': `${name}-${++serial}` } };
  };
  afterEach(async () => {
    for (const app of open.splice(0)) await app.close();
  });

  test('answers 200 and then 429, with headers, counted by the pattern of the route', async () => {
    const app = await launch();
    for (const id of [1, 2]) {
      const passed = await get(app.port, `/users/${id}`, app.user);
      assert.equal(passed.status, 200, passed.text);
      assert.equal(passed.headers['x-ratelimit-limit'], '2');
      assert.equal(passed.headers['x-ratelimit-remaining'], String(2 - id));
      assert.match(passed.headers['access-control-expose-headers'], /X-RateLimit-Limit/);
      assert.equal(app.state.decision.policy, 'users');
    }
    const denied = await get(app.port, '/users/3', app.user);
    assert.equal(denied.status, 429);
    assert.equal(app.state.handled.length, 2);
    assert.match(denied.headers['content-type'], /^application\/problem\+json/);
    const problem = JSON.parse(denied.text);
    assert.deepEqual([problem.type, problem.title, problem.status], ['about:blank', 'Too Many Requests', 429]);
    assert.equal(problem.retry_after, Number(denied.headers['retry-after']));
    assert.equal(denied.headers['x-ratelimit-remaining'], '0');
    assert.match(denied.headers['access-control-expose-headers'], /Retry-After/i);
    const text = await get(app.port, '/users/3', { ...app.user, accept: 'text/plain, */*;q=0.5' });
    assert.deepEqual([text.status, text.text], [429, 'Rate limit exceeded']);
    assert.equal((await get(app.port, '/users/3', { 'x-user': 'another' + ++serial })).status, 200);
  });

  test('asks with the route, the method and the address', async () => {
    const double = alwaysAllow();
    const app = await launch({ client: double, key: undefined });
    for (const path of ['/users/42?x=1', '/api/tenants/items/items/9', '/nowhere/1']) await get(app.port, path);
    const common = { method: 'GET', subject: 'ip:127.0.0.1', sourceIp: '127.0.0.1' };
    assert.deepEqual(double.checks, [
      { resource: 'GET:/users/{id}', endpoint: '/users/{id}', ...common },
      { resource: 'GET:/api/tenants/{tenant}/items/{item}', endpoint: '/api/tenants/{tenant}/items/{item}', ...common },
      { resource: 'GET:{unmatched}', endpoint: '{unmatched}', ...common },
    ]);
  });

  test('has options for each route, and exempt ones', async () => {
    const app = await launch({ routes: { 'GET /costly': { cost: 5 } }, exempt: ['/health'] });
    assert.equal((await get(app.port, '/costly', app.user)).headers['x-ratelimit-remaining'], '0');
    assert.equal((await get(app.port, '/costly', app.user)).status, 429);
    const health = await get(app.port, '/health', app.user);
    assert.equal(health.status, 200);
    const double = alwaysAllow();
    const asked = await launch({ client: double, exempt: ['/health'], cost: () => 3, fields: () => ({ tags: { a: 'b' } }) });
    await get(asked.port, '/health', app.user);
    await get(asked.port, '/users/1', app.user);
    assert.equal(double.checks.length, 1);
    assert.deepEqual([double.checks[0].cost, double.checks[0].tags, double.checks[0].subject], [3, { a: 'b' }, app.user['x-user']]);
  });

  test('limits those who send a key that an agent would refuse', async () => {
    const lenient = new Sluice({ url: agent.url, apiKey, timeoutMs: 5000, onError: 'allow', logger: quiet });
    const app = await launch({ client: lenient });
    const long = { 'x-user': `${name}${'x'.repeat(300)}` };
    const found = [];
    for (let i = 0; i < 3; ++i) found.push((await get(app.port, '/users/1', long)).status);
    assert.deepEqual(found, [200, 200, 429]);
    await lenient.close();
  });

  test('lets headers of the handler win, and adds to what it exposes', async () => {
    const app = await launch();
    const own = await get(app.port, '/own', app.user);
    assert.equal(own.headers['x-ratelimit-limit'], 'own');
    assert.equal(own.headers['x-ratelimit-remaining'], '4');
    assert.match(own.headers['access-control-expose-headers'], /^X-Own, .*X-RateLimit-Remaining/);
    if (name.startsWith('express')) assert.match((await get(app.port, '/cors', app.user)).headers['access-control-expose-headers'], /^X-Own, .*X-RateLimit-Remaining/);
  });

  test('lets requests of a policy in shadow mode pass', async () => {
    const app = await launch();
    for (let i = 0; i < 3; ++i) assert.equal((await get(app.port, '/shadow', app.user)).status, 200);
    assert.equal(app.state.handled.length, 3);
  });

  test('holds a request whose delay is short, and denies one whose delay is long', async () => {
    const app = await launch({ maxDelayMs: 300 });
    assert.equal((await get(app.port, '/paced', app.user)).status, 200);
    const begin = performance.now();
    assert.equal((await get(app.port, '/paced', app.user)).status, 200);
    assert.ok(performance.now() - begin >= 150, 'it was not delayed');
    const many = await Promise.all([1, 2, 3, 4].map(() => get(app.port, '/paced', app.user)));
    const denied = many.find(({ status }) => status === 429);
    assert.ok(denied, 'none was denied');
    assert.ok(Number(denied.headers['retry-after']) >= 1);
    assert.match(denied.headers['access-control-expose-headers'], /Retry-After/);
  });

  test('releases the lease when the response has been sent', async () => {
    const app = await launch();
    let finish;
    app.state.hold = new Promise((resolve) => (finish = resolve));
    const first = get(app.port, '/slow', app.user);
    await waitUntil('the handler runs', () => app.state.handled.length === 1);
    assert.equal((await get(app.port, '/slow', app.user)).status, 429);
    finish();
    assert.equal((await first).status, 200);
    await waitUntil('the lease is released', async () => (await free('GET:/slow', app.user)) === 1);
    assert.equal((await get(app.port, '/slow', app.user)).status, 200);
  });

  test('renews the lease while the handler runs', async () => {
    const app = await launch();
    let finish;
    app.state.hold = new Promise((resolve) => (finish = resolve));
    const begin = performance.now();
    const first = get(app.port, '/brief', app.user);
    await waitUntil('the handler runs', () => app.state.handled.length === 1);
    await waitUntil('two lives of the lease have passed', () => performance.now() - begin > 2500);
    assert.equal(await free('GET:/brief', app.user), 0);
    finish();
    assert.equal((await first).status, 200);
    await waitUntil('the lease is released', async () => (await free('GET:/brief', app.user)) === 1);
  });

  test('releases the lease when the handler fails', async () => {
    const app = await launch();
    for (let i = 0; i < 3; ++i) {
      const failed = await get(app.port, '/fails', app.user);
      assert.equal(failed.status, 500);
      assert.equal(failed.headers['x-ratelimit-limit'], '1');
      await waitUntil('the lease is released', async () => (await free('GET:/fails', app.user)) === 1);
    }
  });

  test('releases the lease when the client goes away', async () => {
    const app = await launch();
    app.state.hold = new Promise(() => {});
    const call = http.get({ port: app.port, host: '127.0.0.1', path: '/slow', headers: app.user, agent: false }).on('error', () => {});
    await waitUntil('the handler runs', () => app.state.handled.length === 1);
    assert.equal(await free('GET:/slow', app.user), 0);
    call.destroy();
    await waitUntil('the lease is released', async () => (await free('GET:/slow', app.user)) === 1, 5000);
  });

  test('gives no lease to a client that went away while it was delayed', async () => {
    const double = scripted([{ allowed: true, delayMs: 60_000, leaseId: 'l' }]);
    const app = await launch({ client: double, maxDelayMs: 100_000 });
    const call = http.get({ port: app.port, host: '127.0.0.1', path: '/users/1', headers: app.user, agent: false }).on('error', () => {});
    await waitUntil('the check is made', () => double.openLeases.length === 1);
    call.destroy();
    await waitUntil('the lease is released', () => double.openLeases.length === 0, 5000);
    assert.equal(app.state.handled.length, 0);
  });

  test('keeps no lease if the function that hears of decisions fails', async () => {
    const double = scripted([{ allowed: true, leaseId: 'l' }]);
    const app = await launch({ client: double, onDecision: () => { throw new Error('broken'); } });
    assert.equal((await get(app.port, '/users/1', app.user)).status, 500);
    assert.deepEqual([double.checks.length, double.openLeases.length, app.state.handled.length], [1, 0, 0]);
  });

  test('follows the client when the agent is killed', async () => {
    const doomed = await new Agent(policies).start();
    const clients = ['allow', 'deny', 'raise'].map((onError) => new Sluice({ url: doomed.url, apiKey, timeoutMs: 5000, onError, logger: quiet }));
    const launched = [];
    for (const one of clients) launched.push(await launch({ client: one }));
    for (const app of launched) assert.equal((await get(app.port, '/users/1', app.user)).status, 200);
    await doomed.kill();
    const found = await Promise.all(launched.map((app) => get(app.port, '/users/1', app.user)));
    assert.deepEqual(found.map(({ status }) => status), [200, 503, 503]);
    assert.deepEqual(launched.map(({ state }) => state.handled.length), [2, 1, 1]);
    assert.equal(JSON.parse(found[1].text).title, 'Service Unavailable');
    assert.equal((await get(launched[1].port, '/users/1', { ...launched[1].user, accept: 'text/plain' })).text, 'Rate limiter unavailable');
    for (const one of clients) await one.close();
    await doomed.close();
  });
});

describe('express', () => {
  for (const make of ['express 5', 'express 4']) test(`${make} names routes of arrays, of mounted apps and of single middleware, and reads forwarded addresses as it is told`, async () => {
    const { default: express } = await import(make === 'express 5' ? 'express' : 'express4');
    const { sluice } = await import('@sluice/client/express');
    const double = alwaysAllow();
    const app = express();
    app.set('trust proxy', 'loopback');
    app.get('/single/:a', sluice({ client: double }), (_, response) => response.send('x'));
    app.use('/unlimited', (_, response) => response.send('x'));
    app.use(sluice({ client: double }));
    app.get(['/either/:a', '/or/:b'], (_, response) => response.send('x'));
    app.get(/^\/odd/, (_, response) => response.send('x'));
    app.get(make === 'express 5' ? '/files/*rest' : '/files/*', (_, response) => response.send('x'));
    app.post('/method/:x', (_, response) => response.send('x'));
    app.all('/method/:y', (_, response) => response.send('x'));
    const router = express.Router();
    router.get('/', (_, response) => response.send('x'));
    app.use(['/one', '/two/:n'], router);
    const outer = express();
    outer.set('trust proxy', 'loopback');
    const shop = express();
    shop.set('trust proxy', 'loopback');
    shop.use(sluice({ client: double }));
    shop.get('/either/:a', (_, response) => response.send('x'));
    outer.use('/shops/:shop', shop);
    outer.use(app);
    const server = outer.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const ask = async (path, headers = {}) => {
      const before = double.checks.length;
      const reply = await get(server.address().port, path, headers);
      assert.equal(double.checks.length, before + (path.includes('unlimited') ? 0 : 1), path);
      return { ...reply, check: double.checks.at(-1) };
    };
    for (const [path, endpoint] of [
      ['/single/1', '/single/{a}'], ['/either/1', '/either/{a}'], ['/odd1', '/{path}'], ['/files/a/b', make === 'express 5' ? '/files/{rest}' : '/files/{path}'],
      ['/method/1', '/method/{y}'], ['/one', '/one'], ['/two/2', '/two/{n}'], ['/none', '{unmatched}']
    ]) assert.equal((await ask(path)).check.endpoint, endpoint, path);
    await ask('/unlimited');
    if (make === 'express 5') assert.equal((await ask('/or/1')).check.endpoint, '/or/{b}');
    const { check } = await ask('/either/1', { 'x-forwarded-for': '2001:db8:1:2:3:4:5:6' });
    assert.deepEqual([check.subject, check.sourceIp], ['ip:2001:db8:1:2::/64', '2001:db8:1:2:3:4:5:6']);
    const spoofed = await ask('/either/1', { 'x-forwarded-for': '9.9.9.9, 198.51.100.7' });
    assert.equal(spoofed.check.subject, 'ip:198.51.100.7');
    await new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); });
  });
});
