// Dialogs, and short messages that go away by themselves.
import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { errorOf } from "../api/client";
import { useAction } from "./action";
import { Code, Failure } from "./parts";

export function Dialog({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  // Before it is painted: what is typed right after it was asked for goes into it.
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="dialog-title">
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  );
}

// Asks before `run`, and stays open with the reason if that fails. `type`: what must be typed to go on.
export function Confirm({ title, verb, type, danger, run, close, children }: {
  title: string;
  verb: string;
  type?: string;
  danger?: boolean;
  run: () => Promise<void>;
  close: () => void;
  children?: ComponentChildren;
}): JSX.Element {
  const [typed, setTyped] = useState("");
  const action = useAction();
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (await action.run(run)) close();
  };
  return (
    <Dialog title={title} close={close}>
      <form onSubmit={(event) => void submit(event)}>
        {children}
        {type !== undefined && (
          <label class="field">
            Type <code>{type}</code> to go on
            <input value={typed} onInput={(event) => setTyped(event.currentTarget.value)} autocomplete="off" />
          </label>
        )}
        {action.error && <Failure error={action.error} />}
        <div class="actions">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class={danger ? "danger" : "primary"} disabled={action.busy || (type !== undefined && typed !== type)}>
            {action.busy ? "Working …" : verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

// A key or token, which nobody can show again.
export function ShownOnce({ title, what, text, close }: { title: string; what: string; text: string; close: () => void }): JSX.Element {
  return (
    <Dialog title={title} close={close}>
      <p>Copy it now: nobody can show it again.</p>
      <Code text={text} label={`Copy the ${what}`} />
      <form method="dialog" class="actions">
        <button type="submit" class="primary">
          I have it
        </button>
      </form>
    </Dialog>
  );
}

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly undo?: () => Promise<void>;
}

const toasts = signal<readonly Toast[]>([]);
let made = 0;

// `undo`: offered beside the message. Why it failed is said in the same place.
export function say(text: string, undo?: () => Promise<void>): void {
  const toast: Toast = { id: ++made, text, ...(undo ? { undo } : {}) };
  toasts.value = [...toasts.value, toast];
  setTimeout(() => drop(toast.id), undo ? 10_000 : 5_000);
}

const drop = (id: number): void => {
  toasts.value = toasts.value.filter((each) => each.id !== id);
};

export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((toast) => (
        <div key={toast.id} class="toast">
          {toast.text}
          {toast.undo && (
            <button
              type="button"
              class="small"
              onClick={() => {
                drop(toast.id);
                toast.undo?.().catch((failure: unknown) => say(`It is not undone. ${errorOf(failure).message}`));
              }}
            >
              Undo
            </button>
          )}
        </div>
      ))}
    </div>
  );
}
