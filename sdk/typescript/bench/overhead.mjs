// How much a check costs beside a bare keep-alive client of node:http, in one run against one agent.
//   node bench/overhead.mjs [--calls N] [--rounds N] [--json]
// Both send the same bodies one after the other over TCP, in turns, in processes of their own, so that neither heats the other's code. The bare
// client parses the JSON of its replies, as every caller would. The best round of each counts: other programs may use the processors.
import { spawnSync } from 'node:child_process';
import http from 'node:http';
import { parseArgs } from 'node:util';
import { Sluice } from '@sluice/client';
import { Agent, apiKey, bundle, fixed } from '../test/support/agent.mjs';

const { values } = parseArgs({ options: {
  calls: { type: 'string', default: '20000' }, rounds: { type: 'string', default: '5' }, inflight: { type: 'string', default: '1' },
  json: { type: 'boolean' }, run: { type: 'string' }, port: { type: 'string' }, key: { type: 'string' },
} });
const calls = Number(values.calls);
const inflight = Number(values.inflight);

const check = { planId: 'wide', resource: 'GET:/orders', subject: 'user:42' };

function bareClient(port) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
  const body = JSON.stringify({ plan_id: 'wide', resource: 'GET:/orders', subject: 'user:42' });
  const headers = { 'x-api-key': values.key, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  return {
    call: () => new Promise((resolve, reject) => {
      const call = http.request({ host: '127.0.0.1', port, path: '/v1/check', method: 'POST', agent, headers }, (reply) => {
        const parts = [];
        reply.on('data', (part) => parts.push(part)).on('error', reject).on('end', () => {
          const decision = JSON.parse(Buffer.concat(parts).toString());
          if (!decision.allowed) reject(new Error('not allowed'));
          resolve();
        });
      });
      call.on('error', reject).end(body);
    }),
    close: () => agent.destroy(),
  };
}

function sluiceClient(port) {
  const sluice = new Sluice({ url: `http://127.0.0.1:${port}`, apiKey: values.key, timeoutMs: 5000, onError: 'raise' });
  return {
    call: async () => {
      if (!(await sluice.check(check)).allowed) throw new Error('not allowed');
    },
    close: () => sluice.close(),
  };
}

async function run(client) {
  const some = async (count) => {
    let left = count;
    await Promise.all(Array.from({ length: inflight }, async () => {
      while (left-- > 0) await client.call();
    }));
  };
  await some(Math.ceil(calls / 5));
  const cpu = process.cpuUsage();
  const start = performance.now();
  await some(calls);
  const time = performance.now() - start;
  const used = process.cpuUsage(cpu);
  await client.close();
  return { cpu_us: (used.user + used.system) / calls, time_us: (time * 1000) / calls };
}

if (values.run) {
  const client = values.run === 'bare' ? bareClient(Number(values.port)) : sluiceClient(Number(values.port));
  console.log(JSON.stringify(await run(client)));
} else {
  const agent = await new Agent(bundle([{ id: 'wide', limits: [fixed(2_000_000_000)] }])).start();
  const found = { bare: [], sluice: [] };
  try {
    for (let round = 0; round < Number(values.rounds); ++round)
      for (const name of round % 2 ? ['sluice', 'bare'] : ['bare', 'sluice']) {
        const child = spawnSync(process.execPath, [process.argv[1], '--run', name, '--port', String(agent.port), '--key', apiKey, '--calls', values.calls, '--inflight', values.inflight], { encoding: 'utf8' });
        if (child.status !== 0) throw new Error(child.stderr);
        found[name].push(JSON.parse(child.stdout));
      }
  } finally {
    await agent.close();
  }
  const line = (name) => ({ cpu_us: Math.min(...found[name].map((one) => one.cpu_us)), time_us: Math.min(...found[name].map((one) => one.time_us)) });
  const bare = line('bare');
  const sluice = line('sluice');
  if (values.json) {
    console.log(JSON.stringify({ bare, sluice }));
    process.exit();
  }
  const shown = (one) => `${one.cpu_us.toFixed(1)} us CPU, ${one.time_us.toFixed(1)} us time`;
  console.log(`per call, best of ${values.rounds} rounds of ${calls} calls, ${inflight} at once`);
  console.log(`node:http  ${shown(bare)}`);
  console.log(`sluice     ${shown(sluice)}`);
  const ratio = { cpu: sluice.cpu_us / bare.cpu_us, time: sluice.time_us / bare.time_us };
  console.log(`ratio      ${ratio.cpu.toFixed(2)} CPU, ${ratio.time.toFixed(2)} time (at most 1.30)`);
  process.exitCode = ratio.cpu <= 1.3 && ratio.time <= 1.3 ? 0 : 1;
}
