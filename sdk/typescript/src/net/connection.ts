import { readFile } from 'node:fs/promises';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import * as tls from 'node:tls';
import { SluiceError } from '../errors.js';
import type { Target, TlsFiles } from '../options.js';
import { ReplyFault, ReplyReader, type Reply } from './reader.js';

/** What a connection tells the call that it carries. Exactly one of the two is called, once. */
export interface Exchange {
  onReply(reply: Reply): void;
  /** `lost`: the connection ended after bytes of the call had been written, so the agent may have charged it. */
  onFailure(error: SluiceError, lost: boolean): void;
}

/** What a connection tells its pool. */
export interface Owner {
  onIdle(connection: Connection): void;
  onClosed(connection: Connection): void;
}

/** Opens a socket to the agent. The promise settles when bytes can be written; `signal` ends the attempt. */
async function open(target: Target, files: TlsFiles, signal: AbortSignal): Promise<Socket> {
  let socket: Socket;
  let ready = 'connect';
  if (target.kind === 'unix') {
    socket = connectTcp({ path: target.path });
  } else if (target.kind === 'tcp') {
    socket = connectTcp({ host: target.host, port: target.port, noDelay: true });
  } else {
    // Read for each connection, so that renewed certificates need no restart.
    const read = (path: string | undefined): Promise<Buffer | undefined> => (path === undefined ? Promise.resolve(undefined) : readFile(path));
    const [ca, cert, key] = await Promise.all([read(files.ca), read(files.certificate), read(files.key)]);
    signal.throwIfAborted();
    socket = tls.connect({
      host: target.host,
      port: target.port,
      ca: ca ?? systemAuthorities(),
      ...(cert && key ? { cert, key } : {}),
      ...(isIP(target.host) === 0 ? { servername: target.host } : {}),
      ALPNProtocols: ['http/1.1'],
      rejectUnauthorized: true,   // also where NODE_TLS_REJECT_UNAUTHORIZED says otherwise
    });
    socket.setNoDelay(true);
    ready = 'secureConnect';
  }
  // An error may come between two owners of the listeners, or after the last one. Without a listener it would end the program.
  socket.on('error', ignore);
  return new Promise((resolve, reject) => {
    const settle = (action: () => void): void => {
      signal.removeEventListener('abort', onAbort);
      socket.removeListener(ready, onReady).removeListener('error', onError).removeListener('close', onClose);
      action();
    };
    const onReady = (): void => settle(() => resolve(socket));
    const onError = (error: Error): void => settle(() => reject(error));
    const onClose = (): void => settle(() => reject(new Error('the agent closed the connection while it was opened')));
    const onAbort = (): void => settle(() => { socket.destroy(); reject(signal.reason as Error); });
    socket.on(ready, onReady).on('error', onError).on('close', onClose);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

function ignore(): void {}

let authorities: string[] | undefined;

/** The authorities that Node trusts, with those of the operating system where Node can read them (22.15 and later). */
function systemAuthorities(): string[] | undefined {
  const get = (tls as { getCACertificates?: (type: 'default' | 'system') => string[] }).getCACertificates;
  if (!get) return undefined;
  return (authorities ??= [...new Set([...get('default'), ...get('system')])]);
}

function described(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Happy eyeballs: one error for all addresses that were tried.
  if (error instanceof AggregateError && error.message === '') return error.errors.map(described).join('; ');
  return error.message || ((error as NodeJS.ErrnoException).code ?? error.name);
}

/** One connection to the agent. It carries one call at a time, and each call's bytes are written at most once. */
export class Connection {
  readonly #owner: Owner;
  readonly #agent: string;
  readonly #opening = new AbortController();
  #socket: Socket | undefined;
  #exchange: Exchange | undefined;
  #reader: ReplyReader | undefined;
  #closed = false;
  /** When it became idle, on the clock of `performance.now()`. */
  idleSince = 0;

  /** Opens the connection and sends the first call on it. */
  constructor(owner: Owner, target: Target, files: TlsFiles, message: string, exchange: Exchange) {
    this.#owner = owner;
    this.#agent = target.name;
    this.#exchange = exchange;
    open(target, files, this.#opening.signal).then(
      (socket) => this.#opened(socket, message),
      (error: unknown) => {
        this.#fail(new SluiceError('unreachable', { detail: `cannot connect to ${this.#agent}: ${described(error)}`, cause: error }), false);
      },
    );
  }

  /** Whether the agent has closed it, as far as the event loop has seen. */
  get usable(): boolean {
    return !this.#closed && this.#exchange === undefined && this.#socket !== undefined && this.#socket.writable && !this.#socket.readableEnded;
  }

  /** REQUIRES: usable. */
  send(message: string, exchange: Exchange): void {
    const socket = this.#socket!;
    this.#exchange = exchange;
    this.#reader = new ReplyReader();
    socket.ref();
    socket.write(message);
  }

  /** Closes it now; the call that it carries, if any, hears nothing more. */
  destroy(): void {
    this.#exchange = undefined;
    this.#close();
  }

  #opened(socket: Socket, message: string): void {
    if (this.#closed) {
      socket.destroy();
      return;
    }
    this.#socket = socket;
    if (socket.destroyed) {
      this.#fail(new SluiceError('unreachable', { detail: `cannot connect to ${this.#agent}: the agent closed the connection at once` }), false);
      return;
    }
    socket.on('data', (bytes: Buffer) => this.#onData(bytes));
    socket.on('end', () => this.#onEnd());
    socket.on('error', (error) => this.#onLost(described(error), error));
    socket.on('close', () => this.#onLost('the connection was closed', undefined));
    const exchange = this.#exchange!;
    this.#exchange = undefined;
    this.send(message, exchange);
  }

  #onData(bytes: Buffer): void {
    // Bytes that belong to no call: the next call could take them for its reply.
    if (!this.#exchange || !this.#reader) return this.#close();
    let reply: Reply | undefined;
    try {
      reply = this.#reader.feed(bytes);
    } catch (fault) {
      return this.#onFault(fault);
    }
    if (reply) this.#finish(reply, this.#reader.persistent);
  }

  #onEnd(): void {
    if (!this.#exchange || !this.#reader) return this.#close();
    try {
      this.#finish(this.#reader.end(), false);
    } catch (fault) {
      this.#onFault(fault, true);
    }
  }

  #onLost(why: string, cause: Error | undefined): void {
    // With TLS 1.3 an agent refuses the client's certificate after the handshake: it has read nothing of the call.
    if ((cause as NodeJS.ErrnoException | undefined)?.code?.startsWith('ERR_SSL_'))
      return this.#fail(new SluiceError('unreachable', { detail: `cannot connect to ${this.#agent}: ${why}`, cause }), false);
    this.#fail(new SluiceError('protocol', { detail: `the connection to ${this.#agent} broke before the reply was complete: ${why}`, cause }), true);
  }

  #onFault(fault: unknown, lost = false): void {
    if (!(fault instanceof ReplyFault)) throw fault;
    this.#fail(new SluiceError('protocol', { detail: `${this.#agent}: ${fault.message}` }), lost);
  }

  #finish(reply: Reply, persistent: boolean): void {
    const exchange = this.#exchange!;
    this.#exchange = undefined;
    this.#reader = undefined;
    if (persistent && this.#socket!.writable) {
      this.#socket!.unref();   // an idle connection does not keep the program running
      this.#owner.onIdle(this);
    } else {
      this.#close();
    }
    exchange.onReply(reply);
  }

  #fail(error: SluiceError, lost: boolean): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#close();
    exchange?.onFailure(error, lost);
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#opening.abort();
    this.#socket?.destroy();
    this.#owner.onClosed(this);
  }
}
