// Many calls and many cancelled ones: no connection may stay, and the event loop must never be blocked.
//   node bench/leaks.mjs [--calls N] [--cancelled N]
import { readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Sluice } from '@sluice/client';
import { Agent, apiKey, bundle, fixed, waitUntil } from '../test/support/agent.mjs';
import { rawServer } from '../test/support/raw.mjs';

const { values } = parseArgs({ options: { calls: { type: 'string', default: '100000' }, cancelled: { type: 'string', default: '1000' } } });
const calls = Number(values.calls);
const cancelled = Number(values.cancelled);
const quiet = { warn() {} };
const files = () => readdirSync('/proc/self/fd').length;
const fail = (text) => { console.log(`failed: ${text}`); process.exitCode = 1; };

const agent = await new Agent(bundle([{ id: 'wide', limits: [fixed(2_000_000_000)] }])).start();
const silent = await rawServer(() => {});
const atStart = files();
const client = new Sluice({ url: agent.url, apiKey, timeoutMs: 10_000, onError: 'raise' });
const check = { planId: 'wide', subject: 'a' };

// A blocked loop shows as CPU time between two ticks of a timer. Wall time would also show what other programs took.
const ticks = [];
let before = process.cpuUsage();
const ticking = setInterval(() => {
  const used = process.cpuUsage(before);
  before = process.cpuUsage();
  ticks.push((used.user + used.system) / 1000);
}, 5);
let most = 0;
let left = calls;
const begin = performance.now();
await Promise.all(Array.from({ length: 32 }, async () => {
  while (left-- > 0) {
    await client.check(check);
    most = Math.max(most, client.connections);
  }
}));
const seconds = (performance.now() - begin) / 1000;

// Half are cancelled while an agent thinks, half wherever they are on their way.
const waiting = new Sluice({ url: silent.url, timeoutMs: 60_000, logger: quiet });
let rejected = 0;
for (let i = 0; i < cancelled; ++i) {
  const controller = new AbortController();
  const hanging = i % 2 === 0;
  const calling = (hanging ? waiting : client).check(check, { signal: controller.signal });
  const settled = calling.then(() => {}, () => ++rejected);
  if (hanging) setTimeout(() => controller.abort(), 1);
  else setImmediate(() => controller.abort());
  await settled;
}
// A slow agent must not hold up anything else.
const slow = new Sluice({ url: silent.url, timeoutMs: 200, logger: quiet });
await Promise.all(Array.from({ length: 500 }, () => slow.check(check)));
clearInterval(ticking);
ticks.sort((a, b) => a - b);
const tick = (share) => ticks[Math.min(ticks.length - 1, Math.floor(ticks.length * share))];

console.log(`${calls} calls in ${seconds.toFixed(1)} s over ${most} connections, ${rejected} of ${cancelled} cancelled`);
console.log(`CPU between two ticks of 5 ms: median ${tick(0.5).toFixed(1)} ms, 99.9 % ${tick(0.999).toFixed(1)} ms, most ${tick(1).toFixed(1)} ms`);
if (most > 64) fail(`${most} connections at once`);
if (rejected < cancelled / 2) fail('the calls to a silent agent were not cancelled');
if (tick(0.999) > 50) fail('the event loop was blocked');
await waitUntil('cancelled connections are closed', () => silent.sockets.size === 0, 5000).catch((error) => fail(error.message));
if (waiting.connections + slow.connections !== 0) fail(`${waiting.connections + slow.connections} connections to a silent agent are left`);
if (!(await client.check(check)).decided) fail('the client does not work any more');
for (const one of [client, waiting, slow]) await one.close();
await waitUntil('all files are closed', () => files() <= atStart, 5000).catch(() => fail(`${files() - atStart} files are left open`));
console.log(`open connections afterwards: ${client.connections}`);
await silent.close();
await agent.close();
