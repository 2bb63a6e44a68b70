// The adapter of the conformance suite (sdk/CONTRACT.md): one JSON object a line, in and out.
import { createInterface } from 'node:readline';
import { inspect } from 'node:util';
import { Sluice, SluiceError, version } from '@sluice/client';
import { alwaysAllow, alwaysDeny, scripted } from '@sluice/client/testing';

const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const renamed = (object, rename) => Object.fromEntries(Object.entries(object).map(([name, value]) => [rename(name), value]));
const say = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);
const orNull = (value) => value ?? null;

// Only names of the SDK are written its way; others are what the agent shall judge.
const fields = ['plan_id', 'request_id', 'limit_override', 'client_id', 'source_ip', 'span_name', 'consumer_group', 'job_type'];
const checkOf = (check) => renamed(check, (name) => (fields.includes(name) ? camel(name) : name));
const traceOf = ({ traceparent, tracestate }) => ({ traceparent, tracestate });

const members = ['allowed', 'success', 'reason', 'action', 'limit', 'remaining', 'reset', 'policy', 'policyVersion', 'plan', 'limitName', 'shadow', 'wouldAllow',
  'overLimit', 'sampleRate', 'downgradeTo', 'metadata', 'leaseId', 'leaseExpiresAt', 'status', 'requestId', 'decided', 'retryAfterMs', 'delayMs', 'waitedMs', 'raw'];

function faultOf(error) {
  if (error instanceof SluiceError) {
    const { kind, status, code, detail, errors, message } = error;
    return { kind, status, code, detail, errors, message };
  }
  return { kind: 'misuse', status: 0, code: '', message: String(error?.message ?? error) };
}

function shown(decision) {
  const made = Object.fromEntries(members.map((name) => [snake(name), orNull(decision[name])]));
  made.headers = renamed(decision.toHeaders(), (name) => name.toLowerCase());
  made.error = decision.error ? faultOf(decision.error) : null;
  return made;
}

const clients = new Map();
const leases = new Map();
const running = new Map();   // what can be cancelled, by the id of its question

class Broken extends Error {}

const operations = {
  new({ client, options }) {
    clients.set(client, new Sluice(renamed(options ?? {}, camel)));
    return { ok: true };
  },
  double({ client, kind, script = [] }) {
    const entry = (one) => ('error' in one ? one : renamed(one, camel));
    clients.set(client, kind === 'always_allow' ? alwaysAllow() : kind === 'always_deny' ? alwaysDeny() : scripted(script.map(entry)));
    return { ok: true };
  },
  async check(question, signal) {
    return { decision: shown(await clients.get(question.client).check(checkOf(question.check), { ...traceOf(question), signal })) };
  },
  async check_batch(question, signal) {
    return { decisions: (await clients.get(question.client).checkBatch(question.checks.map(checkOf), { ...traceOf(question), signal })).map(shown) };
  },
  async wait(question, signal) {
    return { decision: shown(await clients.get(question.client).wait(checkOf(question.check), { upToMs: question.up_to_ms, ...traceOf(question), signal })) };
  },
  lease(question, signal) {
    // The block is a function that lasts until `end_lease`.
    return new Promise((entered, failed) => {
      let leave;
      const left = new Promise((resolve) => (leave = resolve));
      const block = clients.get(question.client).withLease(checkOf(question.check), async (lease) => {
        entered({ decision: shown(lease.decision) });
        const how = await left;
        leases.get(question.lease).lost = lease.lost;
        if (how !== 'return') throw new Broken();
      }, { keepAlive: question.keep_alive ?? false, signal });
      leases.set(question.lease, { leave, lost: false, ended: block.catch((error) => {
        failed(error);
        if (!(error instanceof Broken)) throw error;
      }) });
      leases.get(question.lease).ended.catch(() => {});
    });
  },
  async end_lease({ lease, how }) {
    const held = leases.get(lease);
    held.leave(how);
    await held.ended;
    leases.delete(lease);
    return { ok: true, lost: held.lost };
  },
  async release({ client, lease_id: id }, signal) {
    return { released: await clients.get(client).release(id, { signal }) };
  },
  async renew({ client, lease_id: id }, signal) {
    return { lease_expires_at: orNull(await clients.get(client).renew(id, { signal })) };
  },
  cancel({ of }) {
    running.get(of)?.abort();
    return { ok: true };
  },
  recorded({ client }) {
    const double = clients.get(client);
    return { checks: double.checks.map((check) => renamed(check, snake)), open_leases: double.openLeases };
  },
  describe({ client }) {
    const made = clients.get(client);
    return { text: `${made} ${inspect(made, { showHidden: true, depth: 9 })} ${JSON.stringify(made)}` };
  },
  async close({ client }) {
    // As in other languages: the question is answered at once, also if a call is in flight.
    void clients.get(client).close();
    return { ok: true };
  },
};

async function answer(question) {
  const controller = new AbortController();
  running.set(question.id, controller);
  const started = performance.now();
  let found;
  try {
    if (!Object.hasOwn(operations, question.op)) throw new TypeError(`there is no operation ${question.op}`);
    found = await operations[question.op](question, controller.signal);
  } catch (error) {
    found = controller.signal.aborted ? { cancelled: true } : { raised: faultOf(error) };
  }
  running.delete(question.id);
  say({ id: question.id, elapsed_ms: performance.now() - started, ...found });
}

say({ ready: true, sdk: 'typescript', version });
createInterface({ input: process.stdin }).on('line', (line) => void answer(JSON.parse(line))).on('close', () => process.exit(0));
