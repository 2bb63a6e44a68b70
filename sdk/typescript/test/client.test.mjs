import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { inspect } from 'node:util';
import { Decision, Lease, Sluice, SluiceError, version } from '@sluice/client';
import { Agent, apiKey, atOnce, bundle, fixed, freePort, waitUntil } from './support/agent.mjs';
import { allowed, rawServer, reply } from './support/raw.mjs';

const quiet = { warn() {} };
let agent;

before(async () => {
  agent = await new Agent(bundle(
    [{ id: 'three', limits: [fixed(3)] }, { id: 'wide', limits: [fixed(1_000_000)] }, { id: 'jobs', limits: [atOnce(1)] }, { id: 'short', limits: [atOnce(1, '1s')] },
      { id: 'soon', limits: [fixed(1, '1s')] }, { id: 'paced', action: 'delay', max_delay: '2s', limits: [{ name: 'rate', algorithm: 'leaky_bucket', capacity: 1, leak: '4/s' }] }],
    [{ id: 'orders', scope: { resource: 'GET:/orders' }, plan_id: 'three' }])).start();
});
after(() => agent.close());

// Node 20 has no `await using`; test/types has it, compiled.
const kept = [];
const keep = (client) => (kept.push(client), client);
afterEach(async () => {
  for (const client of kept.splice(0)) await client.close();
});

const open = (options = {}) => new Sluice({ url: agent.url, apiKey, timeoutMs: 5000, logger: quiet, ...options });

describe('checks', () => {
  test('allow until the limit is used up, with the numbers and headers of the agent', async () => {
    const sluice = keep(open());
    for (let left = 2; left >= 0; --left) {
      const decision = await sluice.check({ resource: 'GET:/orders', subject: 'user:1' });
      assert.ok(decision instanceof Decision);
      assert.deepEqual([decision.allowed, decision.success, decision.reason, decision.limit, decision.remaining, decision.status], [true, true, 'within_limit', 3, left, 200]);
      assert.deepEqual([decision.policy, decision.plan, decision.limitName, decision.retryAfterMs, decision.decided], ['orders', 'three', 'window', 0, true]);
    }
    const denied = await sluice.check({ resource: 'GET:/orders', subject: 'user:1' });
    assert.deepEqual([denied.allowed, denied.reason, denied.overLimit, denied.status], [false, 'limit_exceeded', true, 429]);
    assert.ok(denied.retryAfterMs > 0);
    const headers = denied.toHeaders();
    assert.equal(headers['X-RateLimit-Limit'], '3');
    assert.equal(Number(headers['Retry-After']), Math.ceil(denied.retryAfterMs / 1000));
  });

  test('go over the Unix socket', async () => {
    const sluice = keep(new Sluice({ socket: agent.socket, apiKey, timeoutMs: 5000 }));
    assert.equal((await sluice.check({ planId: 'wide', subject: 'a' })).reason, 'within_limit');
  });

  test('need no configuration beside the variables of a pod', () => {
    const program = "import { Sluice } from '@sluice/client'; const d = await new Sluice().check({ planId: 'wide', subject: 'env' }); console.log(d.reason);";
    const run = (environment) => spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8', cwd: import.meta.dirname ?? process.cwd(), timeout: 10_000, env: { PATH: process.env.PATH, SLUICE_TIMEOUT: '5s', ...environment } });
    const ran = run(agent.environment);
    assert.equal(ran.stdout.trim(), 'within_limit', ran.stderr);
    // The program ends although it never closed the client: an idle connection does not hold it.
    assert.equal(ran.status, 0);
    const file = join(agent.folder, 'key');
    writeFileSync(file, ` ${apiKey}\n`);
    assert.equal(run({ SLUICE_URL: agent.url, SLUICE_API_KEY_FILE: file }).stdout.trim(), 'within_limit');
  });

  test('of a batch keep their order, also above 256', async () => {
    const sluice = keep(open());
    const decisions = await sluice.checkBatch(Array.from({ length: 600 }, (_, i) => ({ planId: i % 2 ? 'wide' : 'nowhere', subject: `batch:${i}` })));
    assert.equal(decisions.length, 600);
    decisions.forEach((decision, i) => {
      assert.equal(decision.decided, i % 2 === 1);
      assert.equal(decision.status, i % 2 ? 200 : 404);
      if (i % 2 === 0) assert.deepEqual([decision.error.kind, decision.allowed], ['refused', true]);
    });
    assert.deepEqual(await sluice.checkBatch([]), []);
  });

  test('that are wrong carry the problem of the agent', async () => {
    const sluice = keep(open({ onError: 'raise' }));
    await assert.rejects(sluice.check({ subjekt: 'x' }), (error) => {
      assert.ok(error instanceof SluiceError);
      assert.deepEqual([error.kind, error.status], ['refused', 400]);
      assert.match(error.message, /subjekt|unknown/i);
      assert.equal(error.errors[0].pointer, '/subjekt');
      return true;
    });
  });

  test('misuse throws in every mode', async () => {
    const sluice = open();
    for (const wrong of [undefined, null, 'text', 5, []]) await assert.rejects(sluice.check(wrong), TypeError);
    await assert.rejects(sluice.check({ subject: 'a', cost: 1n }), TypeError);
    await assert.rejects(sluice.checkBatch('x'), TypeError);
    await assert.rejects(sluice.release(5), TypeError);
    await assert.rejects(sluice.wait({ subject: 'a' }, {}), TypeError);
    await sluice.close();
    await assert.rejects(sluice.check({ subject: 'a' }), /closed/);
  });
});

describe('leases', () => {
  test('end with their block', async () => {
    const sluice = keep(open());
    const job = { planId: 'jobs', subject: 'block' };
    await sluice.withLease(job, async (lease) => {
      assert.ok(lease instanceof Lease);
      assert.ok(lease.allowed && lease.decision.leaseId);
      assert.equal((await sluice.check(job)).allowed, false);
    });
    await assert.rejects(sluice.withLease(job, () => Promise.reject(new Error('broken'))), /broken/);
    const lease = await sluice.lease(job);
    assert.equal(lease.allowed, true);
    await lease[Symbol.asyncDispose]();
    assert.equal(await sluice.release(lease.decision.leaseId), false);
    assert.equal(await agent.remaining({ plan_id: 'jobs', subject: 'block' }), 1);
  });

  test('can be renewed until they are gone', async () => {
    const sluice = keep(open());
    const { decision } = await sluice.lease({ planId: 'jobs', subject: 'renew' });
    assert.ok((await sluice.renew(decision.leaseId)) >= decision.leaseExpiresAt);
    assert.equal(await sluice.release(decision.leaseId), true);
    assert.equal(await sluice.renew(decision.leaseId), undefined);
  });

  test('with keepAlive outlive their time, and say when they are lost', async () => {
    const sluice = keep(open());
    const lease = await sluice.lease({ planId: 'short', subject: 'long' }, { keepAlive: true });
    const until = Date.now() + 2500;
    while (Date.now() < until) {
      assert.equal(await agent.remaining({ plan_id: 'short', subject: 'long' }), 0);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.equal(lease.lost, false);
    await sluice.release(lease.decision.leaseId);
    await waitUntil('the lease is lost', () => lease.lost);
  });
});

describe('a client that was closed', () => {
  test('still renews and releases the leases that are open', async () => {
    const sluice = open();
    const lease = await sluice.lease({ planId: 'short', subject: 'closed' }, { keepAlive: true });
    await sluice.close();
    const until = Date.now() + 1500;
    while (Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(lease.lost, false);
    assert.equal(await lease.release(), true);
    await waitUntil('all connections are closed', () => sluice.connections === 0);
  });
});

describe('waiting', () => {
  test('returns when the check passes', async () => {
    const sluice = keep(open());
    await sluice.check({ planId: 'soon', subject: 'w' });
    const start = performance.now();
    const decision = await sluice.wait({ planId: 'soon', subject: 'w' }, { upToMs: 5000 });
    assert.equal(decision.allowed, true);
    assert.ok(performance.now() - start < 3000);
  });

  test('returns at once what cannot pass in time', async () => {
    const sluice = keep(open());
    const decision = await sluice.wait({ planId: 'three', subject: 'w', cost: 4 }, { upToMs: 5000 });
    assert.deepEqual([decision.allowed, decision.retryAfterMs], [false, undefined]);
  });

  test('sleeps a delay that fits', async () => {
    const sluice = keep(open());
    const check = { planId: 'paced', subject: 'w' };
    await sluice.check(check);
    const start = performance.now();
    const decision = await sluice.wait(check, { upToMs: 3000 });
    assert.deepEqual([decision.allowed, decision.delayMs], [true, 0]);
    assert.ok(performance.now() - start >= 200, 'it did not wait');
    const hasty = await sluice.wait(check, { upToMs: 10 });
    assert.ok(hasty.delayMs > 10);
  });

  test('lasts until an agent is there', async () => {
    const port = await freePort();
    const sluice = keep(new Sluice({ url: `http://127.0.0.1:${port}`, logger: quiet }));
    const waiting = sluice.wait({ subject: 'a' }, { upToMs: 10_000 });
    await new Promise((resolve) => setTimeout(resolve, 250));
    const late = (await import('node:http')).createServer((_, answer) => answer.end(allowed)).listen(port, '127.0.0.1');
    assert.equal((await waiting).decided, true);
    late.closeAllConnections();
    late.close();
  });

  test('can be cancelled while it sleeps', async () => {
    const server = await rawServer((socket) => socket.write(reply('{"allowed":false,"reason":"limit_exceeded","retry_after_ms":5000}', '429 Too Many Requests')));
    const sluice = keep(new Sluice({ url: server.url, timeoutMs: 5000 }));
    const controller = new AbortController();
    const waiting = sluice.wait({ subject: 'c' }, { upToMs: 60_000, signal: controller.signal });
    await waitUntil('the check is denied', () => server.requests.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    controller.abort(new Error('enough'));
    await assert.rejects(waiting, /enough/);
    assert.equal(server.requests.length, 1);
    await server.close();
  });
});

describe('without an agent', () => {
  const lost = async (options) => new Sluice({ url: `http://127.0.0.1:${await freePort()}`, logger: quiet, ...options });

  test('a check is allowed, denied, or throws, as the caller chose', async () => {
    const allow = keep(await lost({}));
    const deny = keep(await lost({ onError: 'deny' }));
    const raise = keep(await lost({ onError: 'raise' }));
    const passed = await allow.check({ subject: 'a' });
    assert.deepEqual([passed.allowed, passed.action, passed.reason, passed.decided, passed.error.kind, passed.status, passed.retryAfterMs], [true, 'allow', 'error', false, 'unreachable', 0, 0]);
    const denied = await deny.check({ subject: 'a' });
    assert.deepEqual([denied.allowed, denied.action, denied.retryAfterMs], [false, 'deny', undefined]);
    await assert.rejects(raise.check({ subject: 'a' }), { name: 'SluiceError', kind: 'unreachable' });
    assert.equal((await allow.checkBatch([{ subject: 'a' }, { subject: 'b' }])).length, 2);
    assert.equal(await allow.release('x'), false);
    assert.equal(await allow.renew('x'), undefined);
    await assert.rejects(raise.release('x'), { kind: 'unreachable' });
    await allow.withLease({ subject: 'a' }, (lease) => assert.equal(lease.allowed, true));
  });

  test('a socket that is not there, and a host that is none, are unreachable', async () => {
    for (const target of [{ socket: '/nonexistent/agent.sock' }, { url: 'http://nowhere.invalid:1' }]) {
      const sluice = keep(new Sluice({ ...target, logger: quiet, timeoutMs: 5000 }));
      assert.equal((await sluice.check({ subject: 'a' })).error.kind, 'unreachable');
    }
  });

  test('each kind of error is logged once, with what the caller gets', async () => {
    const lines = [];
    const sluice = keep(await lost({ timeoutMs: 20_000, logger: { warn: (line) => lines.push(line) } }));
    for (let i = 0; i < 20; ++i) await sluice.check({ subject: 'a' });
    assert.equal(lines.length, 1);
    assert.match(lines[0], /http:\/\/127\.0\.0\.1:\d+.*unreachable.*checks are allowed/);
  });
});

describe('one call', () => {
  test('takes no longer than its time, and frees its connection', async () => {
    const server = await rawServer(() => {});
    const sluice = keep(new Sluice({ url: server.url, logger: quiet }));
    const start = performance.now();
    const decision = await sluice.check({ subject: 'a' });
    const took = performance.now() - start;
    assert.equal(decision.error.kind, 'timeout');
    assert.ok(took >= 45 && took < 500, `it took ${took} ms`);
    await waitUntil('the connection is closed', () => server.sockets.size === 0);
    await server.close();
  });

  test('that is cancelled rejects with the reason and closes its connection', async () => {
    const server = await rawServer(() => {});
    const sluice = keep(new Sluice({ url: server.url, timeoutMs: 10_000 }));
    const controller = new AbortController();
    const checking = sluice.check({ subject: 'a' }, { signal: controller.signal });
    await waitUntil('the check is there', () => server.requests.length === 1);
    controller.abort(new Error('enough'));
    await assert.rejects(checking, /enough/);
    await waitUntil('the connection is closed', () => server.sockets.size === 0);
    await assert.rejects(sluice.check({ subject: 'a' }, { signal: AbortSignal.abort() }), { name: 'AbortError' });
    assert.equal(server.requests.length, 1);
    await server.close();
  });

  test('is read although the program was busy when its time ran out', async () => {
    const sluice = keep(open({ timeoutMs: 50 }));
    await sluice.check({ planId: 'wide', subject: 'busy' });
    const checking = sluice.check({ planId: 'wide', subject: 'busy' });
    await new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))));
    const until = performance.now() + 200;
    while (performance.now() < until);
    assert.equal((await checking).decided, true);
  });

  test('is never sent again once it was written', async () => {
    for (const end of ['', 'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{']) {
      const server = await rawServer((socket, _, number) => (number === 1 ? socket.write(reply(allowed)) : socket.end(end)));
      const sluice = keep(new Sluice({ url: server.url, timeoutMs: 1000, logger: quiet }));
      assert.equal((await sluice.check({ subject: 'a' })).decided, true);
      assert.equal((await sluice.check({ subject: 'b' })).error.kind, 'protocol');
      assert.equal(server.requests.length, 2);
      await server.close();
    }
  });

  test('takes another connection if the agent has closed the idle one, however busy the program was', async (t) => {
    // The server is a process of its own: it closes while this program does not get to its event loop.
    const port = await freePort();
    const program = `const net = require('node:net'); const body = ${JSON.stringify(allowed)};
      net.createServer((s) => s.on('data', () => { s.write('HTTP/1.1 200 OK\\r\\nContent-Length: ' + body.length + '\\r\\n\\r\\n' + body); setTimeout(() => s.destroy(), 20); }).on('error', () => {})).listen(${port}, '127.0.0.1', () => console.log('up'));`;
    const { spawn } = await import('node:child_process');
    const server = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => server.kill());
    await new Promise((resolve) => server.stdout.once('data', resolve));
    const sluice = keep(new Sluice({ url: `http://127.0.0.1:${port}`, timeoutMs: 2000, onError: 'raise' }));
    for (let i = 0; i < 5; ++i) {
      assert.equal((await sluice.check({ subject: 'a' })).decided, true);
      const until = performance.now() + 80;
      while (performance.now() < until);
    }
  });

  test('to release may be sent again on a new connection', async () => {
    const server = await rawServer((socket, _, number) => (number === 2 ? socket.destroy() : socket.write(reply('{"released":true}'))));
    const sluice = keep(new Sluice({ url: server.url, timeoutMs: 1000, onError: 'raise' }));
    assert.equal(await sluice.release('a'), true);
    assert.equal(await sluice.release('b'), true);
    assert.equal(server.requests.length, 3);
    await server.close();
  });

  test('waits for one of the connections that there may be', async () => {
    let most = 0;
    const server = await rawServer((socket) => {
      most = Math.max(most, server.sockets.size);
      setTimeout(() => socket.write(reply(allowed)), 5);
    });
    const sluice = keep(new Sluice({ url: server.url, timeoutMs: 5000, maxConnections: 3, onError: 'raise' }));
    const decisions = await Promise.all(Array.from({ length: 50 }, () => sluice.check({ subject: 'a' })));
    assert.ok(decisions.every((decision) => decision.decided));
    assert.equal(most, 3);
    await server.close();
  });

  test('follows no redirect, and no proxy of the environment', async () => {
    const server = await rawServer((socket) => socket.write(reply('', '307 Temporary Redirect', 'Location: http://127.0.0.1:1/\r\n')));
    process.env.HTTP_PROXY = 'http://127.0.0.1:1';
    const sluice = keep(new Sluice({ url: server.url, timeoutMs: 1000, logger: quiet }));
    const decision = await sluice.check({ subject: 'a' });
    delete process.env.HTTP_PROXY;
    assert.deepEqual([decision.error.kind, decision.error.status], ['refused', 307]);
    await server.close();
  });

  test('names the SDK, and carries a trace', async () => {
    const server = await rawServer((socket) => socket.write(reply(allowed)));
    const sluice = keep(new Sluice({ url: server.url, apiKey: 'k', timeoutMs: 1000 }));
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await sluice.check({ subject: 'a' }, { traceparent, tracestate: 'a=b' });
    assert.match(server.requests[0].head, new RegExp(`user-agent: sluice-typescript/${version}\\r\\n`));
    assert.match(server.requests[0].head, new RegExp(`traceparent: ${traceparent}\\r\\ntracestate: a=b\\r\\n`));
    await sluice.check({ subject: 'a' }, { traceparent: 'x\r\nx-evil: 1' });
    assert.doesNotMatch(server.requests[1].head, /evil|traceparent/);

    const { trace, context } = await import('@opentelemetry/api');
    const { AsyncLocalStorageContextManager } = await import('@opentelemetry/context-async-hooks');
    const { BasicTracerProvider } = await import('@opentelemetry/sdk-trace-base');
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    trace.setGlobalTracerProvider(new BasicTracerProvider());
    await trace.getTracer('test').startActiveSpan('work', async (span) => {
      await sluice.check({ subject: 'a' });
      const { traceId, spanId } = span.spanContext();
      assert.match(server.requests[2].head, new RegExp(`traceparent: 00-${traceId}-${spanId}-01\\r\\n`));
      span.end();
    });
    trace.disable();
    context.disable();
    await server.close();
  });
});

describe('the API key', () => {
  test('is read again when the agent refuses it', async () => {
    const file = join(agent.folder, 'rotating');
    writeFileSync(file, 'slk_old_key');
    const sluice = keep(open({ apiKey: undefined, apiKeyFile: file, onError: 'raise' }));
    await assert.rejects(sluice.check({ planId: 'wide', subject: 'a' }), { kind: 'refused', status: 401 });
    writeFileSync(file, `${apiKey}\n`);
    assert.equal((await sluice.check({ planId: 'wide', subject: 'a' })).decided, true);
  });

  test('of a file that is not there is an error of the call', async () => {
    const sluice = keep(open({ apiKey: undefined, apiKeyFile: '/nonexistent/key' }));
    const { error } = await sluice.check({ subject: 'a' });
    assert.equal(error.kind, 'refused');
    assert.match(error.message, /\/nonexistent\/key/);
  });

  test('takes of the time of the call that reads it', async () => {
    const file = join(agent.folder, 'slow-key');   // a pipe: its reader waits until somebody writes
    execFileSync('mkfifo', [file]);
    const silent = await rawServer(() => {});
    const writer = spawn('sh', ['-c', `sleep 1; echo ${apiKey} > ${file}`]);
    const sluice = keep(open({ url: silent.url, apiKey: undefined, apiKeyFile: file, timeoutMs: 2000 }));
    const begin = performance.now();
    const { error } = await sluice.check({ subject: 'a' });
    const took = performance.now() - begin;
    assert.equal(error.kind, 'timeout');
    assert.equal(silent.requests.length, 1);
    assert.ok(took >= 1990 && took < 2800, `${took} ms`);   // not 2 s for the file and 2 s for the agent
    writer.kill();
    await silent.close();
  });

  test('is in no text form', () => {
    const sluice = open();
    for (const text of [String(sluice), inspect(sluice, { showHidden: true, depth: 20 }), JSON.stringify(sluice)]) assert.ok(!text.includes(apiKey) && text.includes(agent.url));
  });
});

describe('options that are wrong name themselves, the rule and the value', () => {
  const wrong = [
    [{ url: 'ftp://x' }, /`url`.*http:\/\/.*ftp/], [{ url: 'nonsense' }, /`url`.*nonsense/], [{ url: 'http://a/b' }, /no path.*http:\/\/a\/b/],
    [{ url: 'http://user:secret@a' }, /no password/], [{ socket: 'relative' }, /`socket`.*absolute.*relative/], [{ url: 'http://a', socket: '/a' }, /not both/],
    [{ timeoutMs: 0 }, /`timeoutMs`.*above 0.*0/], [{ timeoutMs: '50' }, /`timeoutMs`.*"50"/], [{ onError: 'panic' }, /`onError`.*allow, deny or raise.*panic/],
    [{ maxConnections: 0 }, /`maxConnections`.*0/], [{ apiKey: 'with space' }, /`apiKey`/], [{ apiKey: 'a', apiKeyFile: 'b' }, /not both/], [{ timeout: 5 }, /no option `timeout`/],
    [{ caFile: '/nonexistent' }, /`caFile`.*\/nonexistent/], [{ clientKey: process.execPath }, /need each other/],
  ];
  for (const [options, pattern] of wrong) test(JSON.stringify(options).replace(/[^\x20-\x7e]/g, ''), () => assert.throws(() => new Sluice(options), (error) => {
    assert.ok(error instanceof TypeError);
    assert.match(error.message, pattern);
    assert.doesNotMatch(error.message, /secret|with space/);
    return true;
  }));

  test('variables', () => {
    for (const [name, value, pattern] of [['SLUICE_TIMEOUT', '50', /SLUICE_TIMEOUT.*50ms.*"50"/], ['SLUICE_ON_ERROR', 'x', /SLUICE_ON_ERROR/], ['SLUICE_URL', 'x', /SLUICE_URL/], ['SLUICE_SOCKET', 'x', /SLUICE_SOCKET/]]) {
      process.env[name] = value;
      assert.throws(() => new Sluice(), pattern);
      process.env[name] = '';
      assert.ok(new Sluice());
      delete process.env[name];
    }
  });
});

describe('TLS', () => {
  let folder;
  let guarded;
  const file = (name) => join(folder, name);
  const openssl = (...parts) => execFileSync('openssl', parts, { cwd: folder, stdio: 'pipe' });

  before(async () => {
    folder = agent.folder;
    openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj', '/CN=test CA');
    for (const [name, extension] of [['server', 'subjectAltName=IP:127.0.0.1'], ['client', 'extendedKeyUsage=clientAuth']]) {
      writeFileSync(file(`${name}.ext`), extension);
      openssl('req', '-new', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
      openssl('x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', `${name}.ext`, '-out', `${name}.pem`);
    }
    guarded = await new Agent(bundle([{ id: 'wide', limits: [fixed(1000)] }]), ['--tls-cert', file('server.pem'), '--tls-key', file('server.key'), '--tls-client-ca', file('ca.pem')]).start();
  });
  after(() => guarded.close());

  const ask = async (options, host = '127.0.0.1') => {
    const sluice = keep(new Sluice({ url: `https://${host}:${guarded.port}`, apiKey, timeoutMs: 5000, logger: quiet, ...options }));
    await sluice.check({ planId: 'wide', subject: 'a' });
    return sluice.check({ planId: 'wide', subject: 'a' });
  };

  test('with a client certificate', async () => {
    const client = { caFile: file('ca.pem'), clientCertificate: file('client.pem'), clientKey: file('client.key') };
    assert.equal((await ask(client)).decided, true);
    assert.equal((await ask(client, 'localhost')).error.kind, 'unreachable', 'the name was not checked');
    assert.equal((await ask({ ...client, caFile: undefined })).error.kind, 'unreachable', 'the authority was not checked');
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    assert.equal((await ask({ ...client, caFile: undefined })).error.kind, 'unreachable');
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    assert.equal((await ask({ caFile: file('ca.pem') })).error.kind, 'unreachable', 'the agent took no client certificate');
  });
});
