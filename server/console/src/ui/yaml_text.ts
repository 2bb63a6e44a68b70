// A document as YAML: reading it, changing it with its comments kept, and the lines of its parts. JSON is YAML, so the
// lines are right for it too. Loaded only when an editor is open (editor.tsx): the parser is a third of the console.
import { type Document, isCollection, isMap, isNode, isPair, isScalar, LineCounter, parseDocument, stringify } from "yaml";

type Path = readonly (string | number)[];

export interface Parsed {
  readonly value?: unknown;
  readonly fault: string; // "" if there is none
}

const kOptions = { version: "1.2", prettyErrors: false } as const;
const kLayout = { lineWidth: 0, flowCollectionPadding: false } as const;

export function parseYaml(text: string): Parsed {
  const lines = new LineCounter();
  const document = parseDocument(text, { ...kOptions, lineCounter: lines });
  const error = document.errors[0];
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0]);
    return { fault: `Line ${line}, column ${col}: ${error.message}` };
  }
  try {
    return { value: document.toJS(), fault: "" };
  } catch (failure) {
    return { fault: (failure as Error).message }; // such as too many aliases
  }
}

export const yamlOf = (value: unknown): string => stringify(value, kLayout);

// `text` with as few changes as make it say `value`: comments and order stay. Of a text that is no YAML nothing is kept.
export function withValue(text: string, value: unknown): string {
  const document = parseDocument(text, kOptions);
  try {
    if (document.errors.length > 0 || !isMap(document.contents)) return yamlOf(value);
    change(document, [], document.toJS(), value);
    const changed = document.toString(kLayout);
    return JSON.stringify(parseYaml(changed).value) === JSON.stringify(value) ? changed : inOrder(changed, value);
  } catch {
    return yamlOf(value); // an alias, whose anchor has gone
  }
}

// The same members in another order say the same.
const inOrder = (text: string, value: unknown): string =>
  JSON.stringify(sorted(parseYaml(text).value)) === JSON.stringify(sorted(value)) ? text : yamlOf(value);

export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  );
}

function change(document: Document, path: Path, before: unknown, after: unknown): void {
  if (JSON.stringify(before) === JSON.stringify(after)) return;
  if (Array.isArray(before) && Array.isArray(after)) return changeList(document, path, before, after);
  if (!isObject(before) || !isObject(after)) return set(document, path, after);
  for (const name of Object.keys(before)) if (!(name in after)) document.deleteIn([...path, name]);
  for (const [name, value] of Object.entries(after)) {
    if (name in before) change(document, [...path, name], before[name], value);
    else set(document, [...path, name], value);
  }
}

function changeList(document: Document, path: Path, before: readonly unknown[], after: readonly unknown[]): void {
  const removed = before.findIndex(
    (_, at) => before.length === after.length + 1 && JSON.stringify(before.toSpliced(at, 1)) === JSON.stringify(after),
  );
  if (removed >= 0) {
    document.deleteIn([...path, removed]);
    return;
  }
  for (let at = before.length - 1; at >= after.length; --at) document.deleteIn([...path, at]);
  after.forEach((value, at) => {
    if (at < before.length) change(document, [...path, at], before[at], value);
    else document.addIn(path, document.createNode(value));
  });
}

// A plain value is changed in place, so that the comment behind it stays.
function set(document: Document, path: Path, value: unknown): void {
  const node = path.length === 0 ? document.contents : document.getIn(path, true);
  if (isScalar(node) && (typeof value !== "object" || value === null)) node.value = value;
  else document.setIn(path, document.createNode(value));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export interface Lines {
  // The line of what a JSON pointer names, from 1; if that is missing, of what it would be in.
  lineOf(pointer: string): number;
}

export function linesOf(text: string): Lines {
  const counter = new LineCounter();
  const document = parseDocument(text, { ...kOptions, lineCounter: counter });
  return { lineOf: (pointer) => counter.linePos(offsetOf(document, pointer)).line };
}

function offsetOf(document: Document, pointer: string): number {
  let node: unknown = document.contents;
  let offset = startOf(node);
  for (const part of pointer.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    const next = isMap(node)
      ? node.items.find((pair) => String(isScalar(pair.key) ? pair.key.value : pair.key) === name)
      : isCollection(node)
        ? node.items[Number(name)]
        : undefined;
    if (next === undefined) break;
    offset = startOf(isPair(next) ? next.key : next) || offset;
    node = isPair(next) ? next.value : next;
  }
  return offset;
}

const startOf = (node: unknown): number => (isNode(node) ? (node.range?.[0] ?? 0) : 0);
