// Where two JSON documents differ, by JSON pointer.
export interface Difference {
  readonly pointer: string;
  readonly before: unknown; // undefined: it was not there
  readonly after: unknown;
}

// Every change makes these anew, so they say nothing.
const kStamps = new Set(["version", "created_at", "updated_at"]);

export function differences(before: unknown, after: unknown, pointer = ""): Difference[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (!isTree(before) || !isTree(after) || Array.isArray(before) !== Array.isArray(after)) {
    return [{ pointer, before: before ?? undefined, after: after ?? undefined }];
  }
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names
    .filter((name) => pointer !== "" || !kStamps.has(name))
    .flatMap((name) =>
      differences(
        (before as Record<string, unknown>)[name],
        (after as Record<string, unknown>)[name],
        `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`,
      ),
    );
}

const isTree = (value: unknown): value is object => typeof value === "object" && value !== null;
