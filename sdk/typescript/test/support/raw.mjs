// A server that sees and sends bytes, for what a good agent never does.
import { createServer } from 'node:net';

export const allowed = '{"allowed":true,"action":"allow","reason":"within_limit","retry_after_ms":0,"delay_ms":0,"shadow":false}';
export const reply = (body, status = '200 OK', more = '') => `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\n${more}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** `answer(socket, request, number)` is called for each complete request; `number` counts them over all connections, from 1. */
export async function rawServer(answer) {
  const made = { requests: [], connections: 0, sockets: new Set() };
  const server = createServer((socket) => {
    ++made.connections;
    made.sockets.add(socket);
    socket.on('close', () => made.sockets.delete(socket)).on('error', () => {});
    let pending = '';
    socket.on('data', (bytes) => {
      pending += bytes.toString('latin1');
      for (;;) {
        const end = pending.indexOf('\r\n\r\n');
        if (end < 0) return;
        const length = Number(/content-length: (\d+)/i.exec(pending)?.[1] ?? 0);
        if (pending.length < end + 4 + length) return;
        const request = { head: pending.slice(0, end), body: pending.slice(end + 4, end + 4 + length) };
        pending = pending.slice(end + 4 + length);
        made.requests.push(request);
        answer(socket, request, made.requests.length);
      }
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  made.url = `http://127.0.0.1:${server.address().port}`;
  made.port = server.address().port;
  made.close = async () => {
    for (const socket of made.sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return made;
}
