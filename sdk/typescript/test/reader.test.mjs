import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { maxBodyBytes, maxHeadBytes, ReplyFault, ReplyReader } from '../dist/esm/net/reader.js';

const bytes = (text) => Buffer.from(text, 'latin1');

function readWhole(text) {
  const reader = new ReplyReader();
  const reply = reader.feed(bytes(text));
  return { reader, reply, body: reply?.body.toString(), persistent: reader.persistent };
}

const good = [
  ['a length', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello', 'hello', true],
  ['no reason phrase', 'HTTP/1.1 429\r\nContent-Length: 0\r\n\r\n', '', true],
  ['chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nT: v\r\n\r\n', 'hello', true],
  ['an interim reply', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', 'ok', true],
  ['a connection that closes', 'HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nok', 'ok', false],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok', 'ok', false],
  ['HTTP/1.0 that stays', 'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok', 'ok', true],
  ['no body', 'HTTP/1.1 204 No Content\r\n\r\n', '', true],
  ['the same length twice', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok', 'ok', true],
  ['bytes after the reply', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP', 'ok', false],
];

const faulty = [
  ['no HTTP', 'SSH-2.0-x\r\n'],
  ['garbage without an end', '\x00\x01\x02'],
  ['HTTP/2', 'HTTP/2 200\r\n\r\n'],
  ['a status with letters', 'HTTP/1.1 2x0 OK\r\n\r\n'],
  ['another protocol', 'HTTP/1.1 101 Switching\r\n\r\n'],
  ['a negative length', 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n'],
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
  ['a length and chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n'],
  ['another coding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n'],
  ['a header without a name', 'HTTP/1.1 200 OK\r\n: x\r\n\r\n'],
  ['a folded header', 'HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n'],
  ['a space before the colon', 'HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\n'],
  ['a chunk without a size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n'],
  ['a chunk that is longer than it says', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n'],
  ['a body that is too large', `HTTP/1.1 200 OK\r\nContent-Length: ${maxBodyBytes + 1}\r\n\r\n`],
  ['a chunk that is too large', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${(maxBodyBytes + 1).toString(16)}\r\n`],
  ['a head that is too large', `HTTP/1.1 200 OK\r\nA: ${'x'.repeat(maxHeadBytes)}`],
];

describe('reading a reply', () => {
  for (const [name, text, body, persistent] of good) {
    test(`with ${name}`, () => {
      const whole = readWhole(text);
      assert.equal(whole.body, body);
      assert.equal(whole.persistent, persistent);
    });
  }

  for (const [name, text, body, persistent] of good.slice(0, -1)) {
    test(`with ${name} gives the same wherever it is cut`, () => {
      for (let at = 1; at < text.length; ++at) {
        const reader = new ReplyReader();
        assert.equal(reader.feed(bytes(text.slice(0, at))), undefined, `complete after ${at} bytes`);
        assert.equal(reader.feed(bytes(text.slice(at))).body.toString(), body);
        assert.equal(reader.persistent, persistent);
      }
      const reader = new ReplyReader();
      let reply;
      for (const byte of bytes(text)) reply = reader.feed(Buffer.from([byte]));
      assert.equal(reply.body.toString(), body);
    });
  }

  for (const [name, text] of faulty) test(`refuses ${name}`, () => assert.throws(() => readWhole(text), ReplyFault));

  test('a cut reply is a fault wherever it is cut', () => {
    const text = good[0][1];
    for (let at = 0; at < text.length; ++at) {
      const reader = new ReplyReader();
      if (at > 0) reader.feed(bytes(text.slice(0, at)));
      assert.throws(() => reader.end(), ReplyFault);
    }
  });

  test('a body without a length ends with the connection, up to its bound', () => {
    const reader = new ReplyReader();
    assert.equal(reader.feed(bytes('HTTP/1.1 200 OK\r\n\r\nhel')), undefined);
    assert.equal(reader.feed(bytes('lo')), undefined);
    assert.equal(reader.end().body.toString(), 'hello');
    assert.equal(reader.persistent, false);
    assert.throws(() => reader.feed(Buffer.alloc(maxBodyBytes)), ReplyFault);
  });

  test('names of headers stay as the agent wrote them', () => {
    assert.deepEqual(readWhole('HTTP/1.1 200 OK\r\nX-RateLimit-Limit:  10 \r\nContent-Length: 0\r\n\r\n').reply.headers[0], ['X-RateLimit-Limit', '10']);
  });

  test('hostile spaces cost no time', () => {
    const start = performance.now();
    assert.throws(() => readWhole(`HTTP/1.1 200 OK\r\nA: x${' '.repeat(maxHeadBytes - 100)}\x01\r\n\r\n`), ReplyFault);
    assert.ok(performance.now() - start < 1000);
  });
});
