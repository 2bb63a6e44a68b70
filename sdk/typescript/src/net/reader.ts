/** One HTTP reply. */
export interface Reply {
  readonly status: number;
  /** Names as the agent wrote them, in its order. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

/** The bytes are no HTTP reply that this client takes. */
export class ReplyFault extends Error {}

export const maxHeadBytes = 64 * 1024;
export const maxBodyBytes = 2 * 1024 * 1024;

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/;
const chunkLine = /^([0-9A-Fa-f]{1,8})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/;
const empty = Buffer.alloc(0);

type Stage = 'head' | 'length' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailer' | 'until-close' | 'done';

/**
 * Reads one HTTP/1.1 reply from the pieces that a connection gives (RFC 9112). It has no socket and no clock. It is strict: a reply that could be
 * understood in two ways is a fault, because the connection would then be out of step with its calls.
 */
export class ReplyReader {
  #stage: Stage = 'head';
  #pending: Buffer = empty;
  #status = 0;
  #headers: (readonly [string, string])[] = [];
  #parts: Buffer[] = [];
  #bodyBytes = 0;
  #left = 0;
  #persistent = false;
  #trailerBytes = 0;

  /** Whether the connection can take another call. Valid once the reply is complete. */
  get persistent(): boolean {
    return this.#persistent && this.#pending.length === 0;
  }

  /** Takes the next bytes. Gives the reply when it is complete, else undefined. Throws `ReplyFault`. */
  feed(bytes: Buffer): Reply | undefined {
    this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes]);
    while (this.#step());
    return this.#stage === 'done' ? this.#reply() : undefined;
  }

  /** The connection has ended. Gives the reply if that is how it ends. Throws `ReplyFault`. */
  end(): Reply {
    if (this.#stage !== 'until-close') throw new ReplyFault(this.#stage === 'head' && this.#pending.length === 0 ? 'the connection ended before a reply' : 'the reply is cut');
    return this.#reply();
  }

  #reply(): Reply {
    return { status: this.#status, headers: this.#headers, body: this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts) };
  }

  /** Whether there may be more to do with the pending bytes. */
  #step(): boolean {
    switch (this.#stage) {
      case 'head':
        return this.#readHead();
      case 'length':
        if (!this.#takeBody()) return false;
        this.#stage = 'done';
        return false;
      case 'chunk-size': {
        const line = this.#line(1024);
        if (line === undefined) return false;
        const match = chunkLine.exec(line);
        if (!match) throw new ReplyFault('the reply has a faulty chunk');
        this.#left = Number.parseInt(match[1]!, 16);
        this.#checkBody(this.#left);
        this.#stage = this.#left === 0 ? 'trailer' : 'chunk';
        return true;
      }
      case 'chunk':
        if (!this.#takeBody()) return false;
        this.#stage = 'chunk-end';
        return true;
      case 'chunk-end': {
        const line = this.#line(0);
        if (line === undefined) return false;
        this.#stage = 'chunk-size';
        return true;
      }
      case 'trailer': {
        const line = this.#line(maxHeadBytes);
        if (line === undefined) return false;
        if (line === '') {
          this.#stage = 'done';
          return false;
        }
        this.#trailerBytes += line.length;
        if (!headerLine.test(line) || this.#trailerBytes > maxHeadBytes) throw new ReplyFault('the reply has a faulty trailer');
        return true;
      }
      case 'until-close':
        this.#checkBody(this.#pending.length);
        this.#bodyBytes += this.#pending.length;
        this.#parts.push(this.#pending);
        this.#pending = empty;
        return false;
      case 'done':
        return false;
    }
  }

  #checkBody(more: number): void {
    if (this.#bodyBytes + more > maxBodyBytes) throw new ReplyFault(`the body of the reply is larger than ${maxBodyBytes} bytes`);
  }

  /** Moves pending bytes into the body until `#left` is 0. False if more bytes are needed. */
  #takeBody(): boolean {
    const taken = this.#pending.length <= this.#left ? this.#pending : this.#pending.subarray(0, this.#left);
    this.#pending = this.#pending.subarray(taken.length);
    this.#left -= taken.length;
    this.#bodyBytes += taken.length;
    if (taken.length > 0) this.#parts.push(taken);
    return this.#left === 0;
  }

  /** The next line without its end; undefined if it is not there yet. */
  #line(most: number): string | undefined {
    const end = this.#pending.indexOf('\r\n');
    if (end > most || (end < 0 && this.#pending.length > most + 1)) throw new ReplyFault('the reply has a line that is too long or faulty');
    if (end < 0) return undefined;
    const line = this.#pending.toString('latin1', 0, end);
    this.#pending = this.#pending.subarray(end + 2);
    return line;
  }

  #readHead(): boolean {
    const end = this.#pending.indexOf('\r\n\r\n');
    if (end < 0) {
      if (this.#pending.length > maxHeadBytes) throw new ReplyFault(`the head of the reply is larger than ${maxHeadBytes} bytes`);
      // What is no HTTP is known by its first bytes: waiting for an end that never comes would make it a timeout.
      const start = this.#pending.toString('latin1', 0, 7);
      if (start !== 'HTTP/1.'.slice(0, start.length)) throw new ReplyFault('the reply is no HTTP/1.1');
      return false;
    }
    if (end > maxHeadBytes) throw new ReplyFault(`the head of the reply is larger than ${maxHeadBytes} bytes`);
    const lines = this.#pending.toString('latin1', 0, end).split('\r\n');
    this.#pending = this.#pending.subarray(end + 4);

    const first = statusLine.exec(lines[0]!);
    if (!first) throw new ReplyFault('the reply is no HTTP/1.1');
    this.#status = Number(first[2]);
    let length: string | undefined;
    let coding: string | undefined;
    let connection = '';
    const headers: (readonly [string, string])[] = [];
    for (let i = 1; i < lines.length; ++i) {
      const match = headerLine.exec(lines[i]!);
      if (!match) throw new ReplyFault('the reply has a faulty header');
      const name = match[1]!;
      const value = match[2]!.trim();
      headers.push([name, value]);
      switch (name.length) {
        case 14:
          if (name.toLowerCase() !== 'content-length') break;
          if (!/^\d{1,15}$/.test(value) || (length !== undefined && length !== value)) throw new ReplyFault('the reply has a faulty Content-Length');
          length = value;
          break;
        case 17:
          if (name.toLowerCase() === 'transfer-encoding') coding = coding === undefined ? value : `${coding}, ${value}`;
          break;
        case 10:
          if (name.toLowerCase() === 'connection') connection += `,${value.toLowerCase()}`;
          break;
      }
    }
    if (this.#status < 200) {
      if (this.#status === 101) throw new ReplyFault('the reply changes the protocol');
      return true;   // an interim reply; the real one follows
    }
    this.#headers = headers;
    const words = connection.split(',').map((word) => word.trim());
    this.#persistent = first[1] === '1' ? !words.includes('close') : words.includes('keep-alive');
    if (coding !== undefined) {
      if (length !== undefined || coding.toLowerCase() !== 'chunked' || first[1] === '0') throw new ReplyFault('the reply has a faulty Transfer-Encoding');
      this.#stage = 'chunk-size';
      return true;
    }
    if (this.#status === 204 || this.#status === 304) {
      this.#stage = 'done';
      return false;
    }
    if (length === undefined) {
      this.#persistent = false;
      this.#stage = 'until-close';
      return true;
    }
    this.#left = Number(length);
    this.#checkBody(this.#left);
    this.#stage = 'length';
    return true;
  }
}
