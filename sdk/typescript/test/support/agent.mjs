// A real agent as a process, with policies of its own.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync, existsSync, statSync, openSync, closeSync, readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', '..');

function findProgram() {
  const given = process.env.SLUICE_AGENT_BIN;
  if (given) return given;
  const built = ['asan', 'release', 'lto'].map((preset) => join(root, 'build', preset, 'bin', 'sluice-agent')).filter(existsSync);
  if (built.length === 0) throw new Error('no sluice-agent in build/: build one, or name one in SLUICE_AGENT_BIN');
  return built.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0];
}

export async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export async function waitUntil(what, condition, milliseconds = 15_000) {
  const deadline = Date.now() + milliseconds;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`${what}: not within ${milliseconds} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const minted = JSON.parse(execFileSync(findProgram(), ['mint-key'], { encoding: 'utf8' }));
export const apiKey = minted.key;

/** A bundle with these plans and policies, all of one tenant. */
export function bundle(plans, policies = []) {
  const own = { tenant_id: 'acme' };
  return {
    format: 'sluice/v1', mode: 'enforce', organizations: [{ id: 'org', name: 'Org' }], tenants: [{ id: 'acme', organization_id: 'org' }],
    plans: plans.map((plan) => ({ key_by: ['subject'], ...plan, ...own })),
    policies: policies.map((policy) => ({ key_by: ['subject'], ...policy, ...own })),
    keys: [{ ...own, id: minted.id, name: 'test', key_hash: minted.key_hash }], overrides: [],
  };
}

export const fixed = (limit, window = '1h') => ({ name: 'window', algorithm: 'fixed_window', limit, window, align: 'first' });
export const atOnce = (limit, leaseTtl = '60s') => ({ name: 'at_once', algorithm: 'concurrency', limit, lease_ttl: leaseTtl });

export class Agent {
  constructor(policies, flags = []) {
    this.folder = mkdtempSync(join(tmpdir(), 'sluice-ts-'));
    this.bundle = join(this.folder, 'bundle.json');
    this.socket = join(this.folder, 'agent.sock');
    this.flags = flags;
    writeFileSync(this.bundle, JSON.stringify(policies));
  }

  async start() {
    this.port ??= await freePort();
    this.adminPort ??= await freePort();
    this.log = openSync(join(this.folder, 'agent.log'), 'a');
    this.process = spawn(findProgram(), ['--counters', 'memory', '--policies', this.bundle, '--listen', `127.0.0.1:${this.port}`,
      '--listen-unix', this.socket, '--admin', `127.0.0.1:${this.adminPort}`, ...this.flags], { stdio: ['ignore', this.log, this.log] });
    this.ended = new Promise((resolve) => this.process.once('exit', resolve));
    await waitUntil('the agent is ready', async () => {
      if (this.process.exitCode !== null) throw new Error(`the agent ended: ${readFileSync(join(this.folder, 'agent.log'), 'utf8').slice(-2000)}`);
      return (await get(this.adminPort, '/readyz').catch(() => undefined))?.status === 200;
    });
    return this;
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  get environment() {
    return { SLUICE_URL: this.url, SLUICE_SOCKET: this.socket, SLUICE_API_KEY: apiKey };
  }

  /** How many units are left for a check, without charging. */
  async remaining(check) {
    const body = JSON.stringify({ ...check, cost: 0 });
    return new Promise((resolve, reject) => {
      const call = request({ port: this.port, path: '/v1/check', method: 'POST', headers: { 'x-api-key': apiKey, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) } }, (reply) => {
        let text = '';
        reply.on('data', (part) => (text += part)).on('end', () => resolve(JSON.parse(text).remaining));
      });
      call.on('error', reject).end(body);
    });
  }

  async kill() {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill('SIGKILL');
    await this.ended;
  }

  /** Stops it and starts it again: its counters are then as at first. */
  async restart() {
    await this.kill();
    closeSync(this.log);
    await this.start();
  }

  async close() {
    if (this.process) {
      if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill('SIGTERM');
      await this.ended;
      closeSync(this.log);
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A GET without a client library: status, headers and text. */
export function get(port, path, headers = {}, options = {}) {
  return new Promise((resolve, reject) => {
    const call = request({ host: '127.0.0.1', port, path, headers, method: 'GET', agent: false, ...options }, (reply) => {
      let text = '';
      reply.setEncoding('utf8').on('data', (part) => (text += part)).on('error', reject);
      reply.on('end', () => resolve({ status: reply.statusCode, headers: reply.headers, text }));
    });
    call.on('error', reject).end();
  });
}
