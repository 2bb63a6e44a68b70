// Edits one policy or plan: a form beside its JSON, both of the same document, checked by the server as it is typed.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api, ApiError, dataOf, errorOf, type Fault } from "../api/client";
import { Badge, Failure } from "./parts";

// A document while it is edited: it may break every rule.
export type Draft = Record<string, unknown>;

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
      const body = { kind, ...(tenant === "" ? {} : { tenant_id: tenant }), object: draft } as never;
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
  }, [kind, tenant, text]);
  return verdict;
}

const warningsOf = (warnings: readonly unknown[]): string[] =>
  warnings.map((each) => {
    const warning = each as { pointer?: string; detail?: string };
    return `${warning.pointer ?? ""} ${warning.detail ?? JSON.stringify(each)}`.trim();
  });

export function Editor({ draft, change, verdict, children }: {
  draft: Draft;
  change: (draft: Draft) => void;
  verdict: Verdict;
  children: ComponentChildren;
}): JSX.Element {
  const [text, setText] = useState(JSON.stringify(draft, null, 2));
  const [wrong, setWrong] = useState("");
  useEffect(() => {
    // What is typed stays as it is typed while it says the same.
    if (wrong === "" && JSON.stringify(parse(text).value) !== JSON.stringify(draft)) setText(JSON.stringify(draft, null, 2));
  }, [draft]);
  const type = (value: string): void => {
    setText(value);
    const parsed = parse(value);
    setWrong(parsed.fault);
    if (parsed.value !== undefined) change(parsed.value);
  };
  return (
    <div class="editor">
      <div>
        {children}
        <Verdicts verdict={verdict} />
      </div>
      <div>
        <label class="field">
          The same as JSON
          <textarea
            class="code"
            rows={Math.min(40, text.split("\n").length + 2)}
            value={text}
            spellcheck={false}
            aria-invalid={wrong !== ""}
            onInput={(event) => type(event.currentTarget.value)}
          />
        </label>
        {wrong !== "" && <p class="fault">{wrong}</p>}
      </div>
    </div>
  );
}

function parse(text: string): { value?: Draft; fault: string } {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { value: value as Draft, fault: "" };
    return { fault: "The document must be an object: { … }." };
  } catch (failure) {
    return { fault: `This is no JSON yet: ${(failure as Error).message}.` };
  }
}

function Verdicts({ verdict }: { verdict: Verdict }): JSX.Element {
  return (
    <div class="verdict" aria-live="polite">
      {verdict.error && <Failure error={verdict.error} />}
      {verdict.faults.length > 0 && (
        <ul class="faults">
          {verdict.faults.map((fault) => (
            <li key={fault.pointer + fault.detail}>
              <code>{fault.pointer || "/"}</code> {fault.detail}
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
