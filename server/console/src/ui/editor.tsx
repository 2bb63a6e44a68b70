// Edits one policy or plan: a form beside its JSON or YAML, both of the same document, checked by the server as it is
// typed.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Draft, questionOf } from "../api/bodies";
import { api, connection, ApiError, dataOf, errorOf, type Fault } from "../api/client";
import { param, setQuery } from "../router";
import { Badge, Failure } from "./parts";

export type { Draft };

const kPauseMs = 300;

export interface Verdict {
  readonly checking: boolean;
  readonly faults: readonly Fault[];
  readonly warnings: readonly string[];
  readonly error: ApiError | null; // the server could not say
}

// The server's opinion of the document, some moments after the last change.
export function useVerdict(kind: "policy" | "plan", tenant: string, draft: Draft | null): Verdict {
  const [verdict, setVerdict] = useState<Verdict>({ checking: true, faults: [], warnings: [], error: null });
  const text = JSON.stringify(draft);
  useEffect(() => {
    if (draft === null) return;
    const abort = new AbortController();
    setVerdict((old) => ({ ...old, checking: true }));
    const timer = setTimeout(() => {
      const body = questionOf(kind, tenant, draft);
      dataOf(api.POST("/v1/admin/validate", { signal: abort.signal, body }))
        .then((answer) => setVerdict({ checking: false, faults: [], warnings: warningsOf(answer.warnings), error: null }))
        .catch((failure) => {
          if (abort.signal.aborted) return;
          const error = errorOf(failure);
          const faults = error.faults.map((fault) => ({ ...fault, pointer: fault.pointer.replace(/^\/object/, "") }));
          setVerdict({ checking: false, faults, warnings: [], error: faults.length > 0 ? null : error });
        });
    }, kPauseMs);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
    // Asks again when the server is back.
  }, [kind, tenant, text, connection.value]);
  return verdict;
}

const warningsOf = (warnings: readonly unknown[]): string[] =>
  warnings.map((each) => {
    const warning = each as { pointer?: string; detail?: string };
    return `${warning.pointer ?? ""} ${warning.detail ?? JSON.stringify(each)}`.trim();
  });

type YamlText = typeof import("./yaml_text");

// null: not loaded yet. "failed": the file cannot be had, such as after an upgrade of the server.
function useYamlText(): YamlText | "failed" | null {
  const [loaded, setLoaded] = useState<YamlText | "failed" | null>(null);
  useEffect(() => {
    import("./yaml_text").then(
      (module) => setLoaded(module),
      () => setLoaded("failed"),
    );
  }, []);
  return loaded;
}

interface Source {
  readonly text: string;
  readonly wrong: string; // why it is no document; "": it is one
  type(text: string): void;
}

const jsonOf = (draft: Draft): string => JSON.stringify(draft, null, 2);

// The draft as text. What is typed stays as it is typed while it says the same. `yaml`: null writes JSON.
function useSource(draft: Draft, change: (draft: Draft) => void, yaml: YamlText | null): Source {
  const [text, setText] = useState(jsonOf(draft));
  const [wrong, setWrong] = useState("");
  const lastYaml = useRef(""); // has comments that JSON cannot keep
  const written = (before: string): string => {
    if (yaml === null) return jsonOf(draft);
    return before === "" ? yaml.yamlOf(draft) : yaml.withValue(before, draft);
  };
  const show = (next: string): void => {
    setText(next);
    setWrong("");
    if (yaml !== null) lastYaml.current = next;
  };
  const says = (value: unknown): boolean =>
    yaml === null
      ? JSON.stringify(value) === JSON.stringify(draft)
      : JSON.stringify(yaml.sorted(value)) === JSON.stringify(yaml.sorted(draft));
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) show(written(lastYaml.current));
    first.current = false;
  }, [yaml]);
  useEffect(() => {
    if (wrong === "" && !says(parse(text, yaml).value)) show(written(text));
  }, [draft]);
  const type = (value: string): void => {
    setText(value);
    const parsed = parse(value, yaml);
    setWrong(parsed.fault);
    if (parsed.value === undefined) return;
    if (yaml !== null) lastYaml.current = value;
    change(parsed.value);
  };
  return { text, wrong, type };
}

function parse(text: string, yaml: YamlText | null): { value?: Draft; fault: string } {
  const parsed = yaml === null ? parseJson(text) : yaml.parseYaml(text);
  if (parsed.fault !== "") return { fault: `This is no ${yaml === null ? "JSON" : "YAML"} yet: ${parsed.fault}.` };
  const { value } = parsed;
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { value: value as Draft, fault: "" };
  return { fault: yaml === null ? "The document must be an object: { … }." : "The document must be a mapping: name: value." };
}

function parseJson(text: string): { value?: unknown; fault: string } {
  try {
    return { value: JSON.parse(text), fault: "" };
  } catch (failure) {
    return { fault: (failure as Error).message };
  }
}

export function Editor({ draft, change, verdict, children }: {
  draft: Draft;
  change: (draft: Draft) => void;
  verdict: Verdict;
  children: ComponentChildren;
}): JSX.Element {
  const loaded = useYamlText();
  const tools = loaded === "failed" ? null : loaded;
  const asYaml = param("as") === "yaml";
  const source = useSource(draft, change, asYaml ? tools : null);
  const area = useRef<HTMLTextAreaElement>(null);
  const { text, wrong } = source;
  const faulty = verdict.faults.length > 0 && wrong === "";
  const lines = useMemo(() => (faulty ? tools?.linesOf(text) : undefined), [faulty, tools, text]);
  const name = asYaml && tools !== null ? "YAML" : "JSON";
  return (
    <div class="editor">
      <div>
        {children}
        <Verdicts verdict={verdict} lineOf={lines?.lineOf} show={(line) => area.current && selectLine(area.current, line)} />
      </div>
      <div>
        <div class="switch" role="group" aria-label="Written as">
          {(["JSON", "YAML"] as const).map((each) => (
            <button
              key={each}
              type="button"
              class="small"
              aria-pressed={name === each}
              disabled={wrong !== ""}
              onClick={() => setQuery({ as: each === "YAML" ? "yaml" : "" })}
            >
              {each}
            </button>
          ))}
        </div>
        <label class="field">
          The same as {name}
          <textarea
            ref={area}
            class="code"
            rows={Math.min(40, text.split("\n").length + 2)}
            value={text}
            spellcheck={false}
            aria-invalid={wrong !== ""}
            onInput={(event) => source.type(event.currentTarget.value)}
          />
        </label>
        {name === "YAML" && <p class="quiet">Comments stay while you edit. The server does not store them.</p>}
        {asYaml && loaded === "failed" && <p class="notice">YAML cannot be loaded now. Reload the page to try again.</p>}
        {wrong !== "" && <p class="fault">{wrong}</p>}
      </div>
    </div>
  );
}

// Puts the cursor on a line, from 1, and shows it.
function selectLine(area: HTMLTextAreaElement, line: number): void {
  const lines = area.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
  area.scrollTop = (area.scrollHeight / Math.max(1, lines.length)) * Math.max(0, line - 5);
}

function Verdicts({ verdict, lineOf, show }: {
  verdict: Verdict;
  lineOf: ((pointer: string) => number) | undefined;
  show: (line: number) => void;
}): JSX.Element {
  return (
    <div class="verdict" aria-live="polite">
      {verdict.error && <Failure error={verdict.error} />}
      {verdict.faults.length > 0 && (
        <ul class="faults">
          {verdict.faults.map((fault) => (
            <li key={fault.pointer + fault.detail}>
              <code>{fault.pointer || "/"}</code> {fault.detail}{" "}
              {lineOf && <LineButton line={lineOf(fault.pointer)} show={show} />}
            </li>
          ))}
        </ul>
      )}
      {verdict.warnings.map((warning) => (
        <p key={warning} class="notice">
          {warning}
        </p>
      ))}
      {!verdict.checking && verdict.faults.length === 0 && verdict.error === null && <Badge tone="good">The server would take it</Badge>}
    </div>
  );
}

const LineButton = ({ line, show }: { line: number; show: (line: number) => void }): JSX.Element => (
  <button type="button" class="small" onClick={() => show(line)}>
    line {line}
  </button>
);

// One field of the form, with the faults of its pointer below it.
export function Field({ title, pointer, verdict, children, hint }: {
  title: string;
  pointer: string;
  verdict: Verdict;
  children: ComponentChildren;
  hint?: ComponentChildren;
}): JSX.Element {
  const faults = verdict.faults.filter((fault) => fault.pointer === pointer || fault.pointer.startsWith(`${pointer}/`));
  return (
    <label class={faults.length > 0 ? "field wrong" : "field"}>
      {title}
      {children}
      {hint !== undefined && faults.length === 0 && <small>{hint}</small>}
      {faults.map((fault) => (
        <small key={fault.detail} class="fault">
          {fault.detail}
        </small>
      ))}
    </label>
  );
}

// A copy of the draft with one member set; undefined and "" remove it.
export function withMember(draft: Draft, name: string, value: unknown): Draft {
  const { [name]: _, ...rest } = draft;
  if (value === undefined || value === "") return rest;
  return name in draft ? { ...draft, [name]: value } : { ...rest, [name]: value };
}

export function TextInput({ draft, name, change, placeholder, list }: {
  draft: Draft;
  name: string;
  change: (draft: Draft) => void;
  placeholder?: string;
  list?: string;
}): JSX.Element {
  const value = draft[name];
  return (
    <input
      value={typeof value === "string" || typeof value === "number" ? String(value) : ""}
      placeholder={placeholder}
      list={list}
      autocomplete="off"
      spellcheck={false}
      onInput={(event) => change(withMember(draft, name, event.currentTarget.value))}
    />
  );
}

// A whole number; what is no number is kept as text, and the server says what is wrong with it.
export function NumberInput({ draft, name, change, placeholder }: {
  draft: Draft;
  name: string;
  change: (draft: Draft) => void;
  placeholder?: string;
}): JSX.Element {
  const value = draft[name];
  const type = (text: string): void => {
    const number = Number(text);
    change(withMember(draft, name, text === "" ? undefined : Number.isFinite(number) ? number : text));
  };
  return (
    <input
      inputMode="decimal"
      value={value === undefined || value === null ? "" : String(value)}
      placeholder={placeholder}
      onInput={(event) => type(event.currentTarget.value)}
    />
  );
}

export function SelectInput({ draft, name, change, options, fallback }: {
  draft: Draft;
  name: string;
  change: (draft: Draft) => void;
  options: readonly string[];
  fallback: string; // what holds if the member is left out
}): JSX.Element {
  const value = draft[name];
  return (
    <select
      value={typeof value === "string" ? value : fallback}
      onChange={(event) => {
        const chosen = event.currentTarget.value;
        change(withMember(draft, name, chosen === fallback ? undefined : chosen));
      }}
    >
      {options.map((option) => (
        <option key={option} value={option}>
          {option}
        </option>
      ))}
    </select>
  );
}
