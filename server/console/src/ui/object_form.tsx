// The form of a plan or a policy, with its document beside it; and the button that deletes one.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { tenant } from "../router";
import { useAction } from "./action";
import { Confirm } from "./dialog";
import { type Draft, Editor, Field, TextInput, useVerdict, type Verdict } from "./editor";
import { Failure } from "./parts";

export interface FormProps {
  readonly draft: Draft;
  readonly change: (draft: Draft) => void;
  readonly verb: string;
  readonly save: () => Promise<void>;
  readonly unchanged?: boolean;
  readonly isNew?: boolean;
}

// A new object also has the fields of its tenant and its id. `fields`: gets what the server says of the draft, and whose it is. `below`: what stands under the button.
export function ObjectForm({ kind, draft, change, verb, save, unchanged = false, isNew = false, fields, below }: FormProps & {
  kind: "plan" | "policy";
  fields: (verdict: Verdict, owner: string) => ComponentChildren;
  below?: (verdict: Verdict, owner: string) => ComponentChildren;
}): JSX.Element {
  const saving = useAction();
  const owner = typeof draft["tenant_id"] === "string" ? draft["tenant_id"] : tenant.value;
  const verdict = useVerdict(kind, owner, draft);
  const submit = (event: Event): void => {
    event.preventDefault();
    void saving.run(save);
  };
  return (
    <form onSubmit={submit}>
      <Editor draft={draft} change={change} verdict={verdict}>
        {isNew && (
          <div class="row">
            <Field title="Tenant" pointer="/tenant_id" verdict={verdict}>
              <TextInput draft={draft} name="tenant_id" change={change} />
            </Field>
            <Field title="Id" pointer="/id" verdict={verdict} hint="left out: the server makes one">
              <TextInput draft={draft} name="id" change={change} />
            </Field>
          </div>
        )}
        {fields(verdict, owner)}
      </Editor>
      {saving.error?.status === 412 ? (
        <p class="notice">Somebody else has changed this {kind} meanwhile. Reload the page to see it; your form is lost then.</p>
      ) : (
        saving.error && <Failure error={saving.error} />
      )}
      <div class="actions">
        <button type="submit" class="primary" disabled={saving.busy || unchanged || verdict.faults.length > 0}>
          {saving.busy ? "Working …" : verb}
        </button>
      </div>
      {below?.(verdict, owner)}
    </form>
  );
}

export function DeleteButton({ kind, id, run, children }: {
  kind: "plan" | "policy";
  id: string;
  run: () => Promise<void>;
  children: ComponentChildren;
}): JSX.Element {
  const [asking, setAsking] = useState(false);
  return (
    <>
      <button type="button" class="danger" onClick={() => setAsking(true)}>
        Delete
      </button>
      {asking && (
        <Confirm title={`Delete the ${kind} ${id}`} verb="Delete" danger type={id} close={() => setAsking(false)} run={run}>
          {children}
        </Confirm>
      )}
    </>
  );
}
