import { accessSync, constants } from 'node:fs';
import process from 'node:process';
import { parseDuration } from './duration.js';

/** What a check gives if no agent decided. */
export type OnError = 'allow' | 'deny' | 'raise';

/** Where warnings go: the console, or anything with `warn`, such as a pino or winston logger. */
export interface Logger {
  warn(message: string): void;
}

/** Options of a client. Each that is left out comes from its environment variable, or has its default. */
export interface Options {
  /** The agent: `http://`, `https://` or `unix:///path/of/socket`. Variable `SLUICE_URL`, default `http://127.0.0.1:8088`. */
  url?: string | undefined;
  /** Path of the agent's Unix socket, instead of `url`. Variable `SLUICE_SOCKET`, which wins over `SLUICE_URL`. */
  socket?: string | undefined;
  /** The tenant's API key. Variable `SLUICE_API_KEY`. */
  apiKey?: string | undefined;
  /** A file with the API key, such as a mounted Secret. It is read again when the agent refuses its key. Variable `SLUICE_API_KEY_FILE`. */
  apiKeyFile?: string | undefined;
  /** The longest that one call may take, connecting included, in milliseconds. Variable `SLUICE_TIMEOUT` with a unit, default 50. */
  timeoutMs?: number | undefined;
  /** What a check gives if no agent decided. Variable `SLUICE_ON_ERROR`, default `allow`. */
  onError?: OnError | undefined;
  /** Open connections of the client, 1 to 65535; default 64. */
  maxConnections?: number | undefined;
  /** For `https://`: a file with the authorities (PEM) to trust instead of the system's. */
  caFile?: string | undefined;
  /** For `https://`: a file with the client's certificate (PEM). Needs `clientKey`. */
  clientCertificate?: string | undefined;
  /** For `https://`: a file with the key of `clientCertificate` (PEM). */
  clientKey?: string | undefined;
  /** Where errors of the agent are logged. Default: `console`. */
  logger?: Logger | undefined;
}

export type Target =
  | { readonly kind: 'unix'; readonly path: string; readonly name: string }
  | { readonly kind: 'tcp' | 'tls'; readonly host: string; readonly port: number; readonly name: string };

export type KeySource =
  | { readonly kind: 'none' }
  | { readonly kind: 'value'; readonly value: string }
  | { readonly kind: 'file'; readonly path: string };

export interface TlsFiles {
  readonly ca: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

/** Options that have been read and checked. */
export interface Settings {
  readonly target: Target;
  readonly key: KeySource;
  readonly timeoutMs: number;
  readonly onError: OnError;
  readonly maxConnections: number;
  readonly tls: TlsFiles;
  readonly logger: Logger;
}

export type Environment = Readonly<Record<string, string | undefined>>;

const defaultUrl = 'http://127.0.0.1:8088';
const maxTimeoutMs = 86_400_000;
const names = [
  'url', 'socket', 'apiKey', 'apiKeyFile', 'timeoutMs', 'onError', 'maxConnections', 'caFile', 'clientCertificate', 'clientKey', 'logger',
];

/** Reads options and environment. Throws a `TypeError` that names the option or variable, the rule, and what was given. */
export function readOptions(options: Options = {}, environment: Environment = process.env): Settings {
  if (typeof options !== 'object' || options === null) throw new TypeError(`options must be an object; got ${shown(options)}`);
  for (const name of Object.keys(options))
    if (!names.includes(name)) throw new TypeError(`there is no option \`${name}\`; the options are ${names.join(', ')}`);

  const logger = options.logger ?? console;
  if (typeof logger.warn !== 'function') throw new TypeError(`\`logger\` must have a method warn(message); got ${shown(options.logger)}`);
  return {
    target: readTarget(options, environment),
    key: readKey(options, environment),
    timeoutMs: readTimeout(options.timeoutMs, variable(environment, 'SLUICE_TIMEOUT')),
    onError: readOnError(options.onError, variable(environment, 'SLUICE_ON_ERROR')),
    maxConnections: readMaxConnections(options.maxConnections),
    tls: readTls(options),
    logger,
  };
}

/** An empty variable counts as not set. */
function variable(environment: Environment, name: string): string | undefined {
  return environment[name] || undefined;
}

function shown(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return typeof value;
  }
}

function text(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string' || value === '') throw new TypeError(`\`${name}\` must be text that is not empty; got ${shown(value)}`);
  return value;
}

function readTarget(options: Options, environment: Environment): Target {
  const socket = text('socket', options.socket);
  const url = text('url', options.url);
  if (socket !== undefined && url !== undefined)
    throw new TypeError(`give \`url\` or \`socket\`, not both; got ${shown(withoutUserInfo(url))} and ${shown(socket)}`);
  if (socket !== undefined) return unixTarget('`socket`', socket);
  if (url !== undefined) return urlTarget('`url`', url);
  const fromSocket = variable(environment, 'SLUICE_SOCKET');
  if (fromSocket !== undefined) return unixTarget('SLUICE_SOCKET', fromSocket);
  const fromUrl = variable(environment, 'SLUICE_URL');
  return fromUrl === undefined ? urlTarget('`url`', defaultUrl) : urlTarget('SLUICE_URL', fromUrl);
}

function unixTarget(name: string, given: string): Target {
  const path = given.startsWith('unix://') ? given.slice('unix://'.length) : given;
  if (!path.startsWith('/') || path.includes('\0')) throw new TypeError(`${name} must be the absolute path of a Unix socket; got ${shown(given)}`);
  return { kind: 'unix', path, name: `unix://${path}` };
}

/** A URL with a password is wrong, and its error must not show the password. */
function withoutUserInfo(url: string): string {
  return url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i, '$1***@');
}

function urlTarget(name: string, given: string): Target {
  const wrong = (rule: string): TypeError => new TypeError(`${name} ${rule}; got ${shown(withoutUserInfo(given))}`);
  if (given.startsWith('unix:')) {
    if (!given.startsWith('unix:///')) throw wrong('with unix: must be unix:///path/of/socket');
    return unixTarget(name, given);
  }
  let url: URL;
  try {
    url = new URL(given);
  } catch {
    throw wrong('must begin with http://, https:// or unix:/// and name a host');
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw wrong('must begin with http://, https:// or unix:///');
  if (url.username !== '' || url.password !== '') throw wrong('must have no user and no password');
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') throw wrong('must have no path, query or fragment, only a host and a port');
  const tls = url.protocol === 'https:';
  return {
    kind: tls ? 'tls' : 'tcp',
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (tls ? 443 : 80) : Number(url.port),
    name: url.origin,
  };
}

function readKey(options: Options, environment: Environment): KeySource {
  const value = text('apiKey', maskedUnlessText(options.apiKey));
  const path = text('apiKeyFile', options.apiKeyFile);
  if (value !== undefined && path !== undefined) throw new TypeError('give `apiKey` or `apiKeyFile`, not both');
  if (value !== undefined) return { kind: 'value', value: keyValue('`apiKey`', value) };
  if (path !== undefined) return { kind: 'file', path };
  const fromValue = variable(environment, 'SLUICE_API_KEY');
  if (fromValue !== undefined) return { kind: 'value', value: keyValue('SLUICE_API_KEY', fromValue) };
  const fromPath = variable(environment, 'SLUICE_API_KEY_FILE');
  return fromPath === undefined ? { kind: 'none' } : { kind: 'file', path: fromPath };
}

/** Whatever a caller takes for a key is not shown, not even if it is of the wrong type. */
function maskedUnlessText(value: unknown): unknown {
  if (value === undefined || (typeof value === 'string' && value !== '')) return value;
  throw new TypeError(`\`apiKey\` must be text that is not empty; got ${value === '' ? 'empty text' : `a value of type ${typeof value}`}`);
}

/** Whether a text may be sent as the value of `x-api-key`. */
export function isKey(value: string): boolean {
  return /^[\x21-\x7e]+$/.test(value);
}

function keyValue(name: string, value: string): string {
  const trimmed = value.trim();
  if (!isKey(trimmed)) throw new TypeError(`${name} must be visible ASCII characters without spaces; got something else (not shown, as it may be a key)`);
  return trimmed;
}

function readTimeout(option: unknown, fromVariable: string | undefined): number {
  if (option !== undefined) {
    if (typeof option !== 'number' || !(option > 0 && option <= maxTimeoutMs))
      throw new TypeError(`\`timeoutMs\` must be a number of milliseconds above 0 and at most ${maxTimeoutMs}; got ${shown(option)}`);
    return option;
  }
  if (fromVariable === undefined) return 50;
  const parsed = /^[\d.]+(ms|s|m)$/.test(fromVariable.trim()) ? parseDuration(fromVariable) : undefined;
  if (parsed === undefined || !(parsed > 0 && parsed <= maxTimeoutMs))
    throw new TypeError(`SLUICE_TIMEOUT must be a duration above 0 and at most 24 hours, with the unit ms, s or m, such as 50ms; got ${shown(fromVariable)}`);
  return parsed;
}

function readOnError(option: unknown, fromVariable: string | undefined): OnError {
  const value = option ?? fromVariable ?? 'allow';
  if (value === 'allow' || value === 'deny' || value === 'raise') return value;
  throw new TypeError(`${option === undefined ? 'SLUICE_ON_ERROR' : '`onError`'} must be allow, deny or raise; got ${shown(value)}`);
}

function readMaxConnections(option: unknown): number {
  if (option === undefined) return 64;
  if (typeof option !== 'number' || !Number.isInteger(option) || option < 1 || option > 65_535)
    throw new TypeError(`\`maxConnections\` must be a whole number from 1 to 65535; got ${shown(option)}`);
  return option;
}

function readTls(options: Options): TlsFiles {
  const file = (name: 'caFile' | 'clientCertificate' | 'clientKey'): string | undefined => {
    const path = text(name, options[name]);
    if (path === undefined) return undefined;
    try {
      accessSync(path, constants.R_OK);
    } catch (cause) {
      throw new TypeError(`\`${name}\` must be a file that can be read; got ${shown(path)} (${(cause as NodeJS.ErrnoException).code})`);
    }
    return path;
  };
  const files = { ca: file('caFile'), certificate: file('clientCertificate'), key: file('clientKey') };
  if ((files.certificate === undefined) !== (files.key === undefined))
    throw new TypeError('`clientCertificate` and `clientKey` need each other; got one of them');
  return files;
}
