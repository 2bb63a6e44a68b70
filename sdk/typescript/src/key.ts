import { readFile } from 'node:fs/promises';
import { SluiceError } from './errors.js';
import { isKey, type KeySource } from './options.js';

/** The client's API key. One of a file is read when the first call needs it, and again when the agent refuses it. */
export class ApiKey {
  readonly #source: KeySource;
  #value: string | undefined;
  #reading: Promise<string | SluiceError> | undefined;

  constructor(source: KeySource) {
    this.#source = source;
    if (source.kind === 'value') this.#value = source.value;
    if (source.kind === 'none') this.#value = '';
  }

  /** The key, empty if the client has none; undefined if it has not been read yet. */
  get value(): string | undefined {
    return this.#value;
  }

  get rotates(): boolean {
    return this.#source.kind === 'file';
  }

  /** Reads the file. Calls at the same time read it once. */
  read(): Promise<string | SluiceError> {
    if (this.#source.kind !== 'file') return Promise.resolve(this.#value ?? '');
    return (this.#reading ??= this.#readFile(this.#source.path).finally(() => (this.#reading = undefined)));
  }

  async #readFile(path: string): Promise<string | SluiceError> {
    const refuse = (why: string, cause?: unknown): SluiceError => new SluiceError('refused', { code: 'missing', detail: `the API key file ${path} ${why}`, cause });
    let content: string;
    try {
      content = (await readFile(path, 'utf8')).trim();
    } catch (error) {
      return refuse(`cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'error'}`, error);
    }
    if (content === '') return refuse('is empty');
    if (!isKey(content)) return refuse('has something else than visible ASCII characters');
    return (this.#value = content);
  }
}
