import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { version } from '@sluice/client';
import { plainAddress, subjectOf } from '../dist/esm/middleware/address.js';
import { exposed, prefersText } from '../dist/esm/middleware/denial.js';
import { fitting } from '../dist/esm/middleware/guard.js';
import { patternOf, patternOfNext } from '../dist/esm/middleware/route.js';
import { whenRead } from '../dist/esm/middleware/web.js';
import { ErrorLog } from '../dist/esm/log.js';
import { SluiceError } from '../dist/esm/errors.js';

test('the version is that of the package', () => assert.equal(version, JSON.parse(readFileSync(new URL('../package.json', import.meta.url))).version));

test('an IPv6 address stands for its /64, and one that is mapped for its IPv4', () => {
  for (const [address, subject] of [
    ['203.0.113.7', 'ip:203.0.113.7'], ['2001:db8:1:2:3:4:5:6', 'ip:2001:db8:1:2::/64'], ['2001:db8:1:2::9', 'ip:2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::1', 'ip:2001:db8:1:2::/64'], ['2001:db8::1', 'ip:2001:db8::/64'], ['2001:0:0:1::5', 'ip:2001:0:0:1::/64'], ['::1', 'ip:::/64'],
    ['::ffff:203.0.113.7', 'ip:203.0.113.7'], ['::ffff:cb00:7107', 'ip:203.0.113.7'], ['fe80::1%eth0', 'ip:fe80::/64'], ['64:ff9b::1.2.3.4', 'ip:64:ff9b::/64'],
    [undefined, 'ip:unknown'], ['nonsense', 'ip:unknown'],
  ]) assert.equal(subjectOf(address), subject, address);
  assert.equal(plainAddress('::ffff:10.0.0.1'), '10.0.0.1');
  assert.equal(plainAddress('2001:db8::1'), '2001:db8::1');
});

test('routes become patterns', () => {
  for (const [route, pattern, notation] of [
    ['/users/:id', '/users/{id}'], ['/users/:id(\\d+)', '/users/{id}'], ['/users/:id?', '/users/{id}'], ['/flights/:from-:to', '/flights/{from}-{to}'], ['/files/*', '/files/{path}'],
    ['/files/*splat', '/files/{splat}'], ['/files{/*splat}', '/files/{splat}'], ['/users{/:id}', '/users/{id}'], ['*', '/{path}'], ['/', '/'], ['/a/', '/a'], ['/a(.*)', '/a{path}'],
    ['/name::verb', '/name:verb'], ['/users/:id{[0-9]+}', '/users/{id}', { bracesAreExpressions: true }], ['/a\\:b', '/a:b'],
    ['/x/:id{[a-z]{2}}/y', '/x/{id}/y', { bracesAreExpressions: true }],
  ]) assert.equal(patternOf(route, notation), pattern, route);
  for (const [route, pattern] of [['/users/[id]', '/users/{id}'], ['/docs/[...rest]', '/docs/{rest}'], ['/docs/[[...rest]]', '/docs/{rest}'], ['/(shop)/cart', '/cart'], ['/', '/']])
    assert.equal(patternOfNext(route), pattern, route);
});

test('a value that an agent would refuse is replaced by its hash', () => {
  for (const value of ['user:42', 'ä'.repeat(128), 'x'.repeat(256), '', 'a\tb']) assert.equal(fitting(value), value);
  for (const value of ['ä'.repeat(129), 'x'.repeat(257), 'a\ud800']) assert.match(fitting(value), /^sha256:[0-9a-f]{64}$/);
  assert.equal(fitting('x'.repeat(257)), `sha256:${createHash('sha256').update('x'.repeat(257)).digest('hex')}`);
});

test('plain text is for those who prefer it', () => {
  for (const accept of ['text/plain', 'text/plain, application/json;q=0.5', 'text/*', 'text/plain, */*;q=0.1']) assert.equal(prefersText(accept), true, accept);
  for (const accept of [undefined, '', '*/*', 'application/json', 'text/plain;q=0.5, application/json', 'text/html,application/xhtml+xml,*/*;q=0.8', 'text/plain, application/json', 'text/plain;q=0'])
    assert.equal(prefersText(accept), false, accept);
});

test('exposed headers are added to those before', () => {
  assert.equal(exposed(undefined, ['A', 'B']), 'A, B');
  assert.equal(exposed('X, a', ['A', 'B']), 'X, a, B');
  assert.equal(exposed('*', ['A']), '*');
});

test('a response tells once when its body is over', async () => {
  const chunks = (error) => new ReadableStream({ start(controller) { controller.enqueue(new TextEncoder().encode('ab')); if (error) controller.error(error); else controller.close(); } });
  const count = () => { let times = 0; return [() => ++times, () => times]; };
  const [ended, ends] = count();
  assert.equal(await whenRead(new Response(chunks()), 'GET', ended).text(), 'ab');
  assert.equal(ends(), 1);
  const [failed, fails] = count();
  await assert.rejects(whenRead(new Response(chunks(new Error('x'))), 'GET', failed).text());
  assert.equal(fails(), 1);
  const [left, leaves] = count();
  const response = whenRead(new Response(new ReadableStream({})), 'GET', left);
  assert.equal(leaves(), 0);
  await response.body.cancel();
  assert.equal(leaves(), 1);
  const [head, heads] = count();
  whenRead(new Response(new ReadableStream({})), 'HEAD', head);   // nobody reads that body, nor cancels it
  assert.equal(heads(), 1);
});

test('errors are logged once a kind in 10 s, with their number', () => {
  const lines = [];
  const log = new ErrorLog({ warn: (line) => lines.push(line) }, 'http://a', 'deny');
  const error = new SluiceError('timeout', { detail: 'x' });
  for (let ms = 0; ms < 20_000; ms += 100) log.add(error, ms);
  assert.equal(lines.length, 2);
  assert.match(lines[1], /100 errors/);
  log.add(new SluiceError('protocol', { detail: 'a\nb' }), 0);
  assert.doesNotMatch(lines[2], /\n/);
});
