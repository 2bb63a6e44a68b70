// Small parts that every view uses.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError } from "../api/client";
import type { Query } from "../api/query";
import { agoText, timeText } from "../words/time";
import { Icon } from "./icons";

export function Heading({ title, children, below }: { title: string; children?: ComponentChildren; below?: ComponentChildren }): JSX.Element {
  return (
    <header class="heading">
      <div>
        <h1>{title}</h1>
        {below !== undefined && <p class="quiet">{below}</p>}
      </div>
      <div class="actions">{children}</div>
    </header>
  );
}

export type Tone = "good" | "bad" | "warn" | "calm";

export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }): JSX.Element {
  return <span class={`badge ${tone}`}>{children}</span>;
}

export function ModeBadge({ mode }: { mode: string | undefined }): JSX.Element {
  const shown = mode ?? "enforce";
  return <Badge tone={shown === "enforce" ? "good" : shown === "shadow" ? "warn" : "calm"}>{shown}</Badge>;
}

export function Time({ at }: { at: string | null | undefined }): JSX.Element {
  if (!at) return <span class="quiet">never</span>;
  return (
    <time dateTime={at} title={timeText(at)}>
      {agoText(at)}
    </time>
  );
}

// What went wrong, what to do, and the request id for whoever is asked.
export function Failure({ error, again }: { error: ApiError; again?: () => void }): JSX.Element {
  return (
    <div class="failure" role="alert">
      <Icon name="warning" />
      <div>
        <p>{error.message}</p>
        {error.faults.length > 0 && (
          <ul>
            {error.faults.map((fault) => (
              <li key={fault.pointer + fault.detail}>
                <code>{fault.pointer}</code> {fault.detail}
              </li>
            ))}
          </ul>
        )}
        {error.requestId !== "" && (
          <p class="quiet">
            Request <code>{error.requestId}</code>
          </p>
        )}
      </div>
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

// A view's data: its last known state stays on the screen while newer data cannot be had.
export function Loaded<Data>({ query, children }: { query: Query<Data>; children: (data: Data) => ComponentChildren }): JSX.Element {
  return (
    <>
      {query.error && <Failure error={query.error} again={query.reload} />}
      {query.data !== undefined ? children(query.data) : query.error === undefined && <Waiting />}
    </>
  );
}

export function Waiting(): JSX.Element {
  return (
    <p class="waiting" role="status">
      Loading …
    </p>
  );
}

// Nothing is there yet: says what would be, and the command that makes it.
export function Empty({ title, children, command }: { title: string; children?: ComponentChildren; command?: string }): JSX.Element {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {command && <Code text={command} />}
    </div>
  );
}

export function Code({ text, label = "Copy" }: { text: string; label?: string }): JSX.Element {
  return (
    <div class="code">
      <pre tabIndex={0}>{text}</pre>
      <CopyButton text={text} label={label} />
    </div>
  );
}

// `text`: a function where making the text takes long.
export function CopyButton({ text, label }: { text: string | (() => string); label: string }): JSX.Element {
  const [state, setState] = useState<"" | "Copied" | "Not copied: select it and copy by hand">("");
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(typeof text === "string" ? text : text());
      setState("Copied");
    } catch {
      setState("Not copied: select it and copy by hand");
    }
    setTimeout(() => setState(""), 2000);
  };
  return (
    <button type="button" class="small" onClick={() => void copy()}>
      <Icon name="copy" />
      <span aria-live="polite">{state || label}</span>
    </button>
  );
}
