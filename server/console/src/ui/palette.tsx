// Ctrl-K or "/": views, policies and plans by a few letters.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Schema } from "../api/client";
import { listPlans, listPolicies, type List } from "../api/lists";
import { useQuery } from "../api/query";
import type { Route } from "../app";
import { go, tenant } from "../router";
import { best } from "../words/search";
import { Dialog } from "./dialog";

interface Target {
  readonly text: string;
  readonly kind: string;
  open(): void;
}

const kShown = 12;

export function Palette({ routes, close }: { routes: readonly Route[]; close: () => void }): JSX.Element {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const policies = useQuery(`palette-policies ${tenant.value}`, (signal, arrived: (list: List<Schema<"Policy">>) => void) =>
    listPolicies(tenant.value, signal, arrived),
  );
  const plans = useQuery(`palette-plans ${tenant.value}`, (signal) => listPlans(tenant.value, signal));
  const targets = useMemo<readonly Target[]>(
    () => [
      ...routes.map((route) => ({ text: route.title, kind: "view", open: () => go(route.path) })),
      ...(policies.data?.items ?? []).map((each) => ({
        text: each.name ? `${each.id} – ${each.name}` : each.id,
        kind: `policy of ${each.tenant_id}`,
        open: () => go(`/policies/${encodeURIComponent(each.id)}`, { tenant: each.tenant_id }),
      })),
      ...(plans.data?.items ?? []).map((each) => ({
        text: each.name ? `${each.id} – ${each.name}` : each.id,
        kind: `plan of ${each.tenant_id}`,
        open: () => go(`/plans/${encodeURIComponent(each.id)}`, { tenant: each.tenant_id }),
      })),
    ],
    [routes, policies.data, plans.data],
  );
  const found = best(text, targets, (target) => target.text, kShown);
  const open = (target: Target | undefined): void => {
    if (target === undefined) return;
    close();
    target.open();
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") setAt(Math.min(at + 1, found.length - 1));
    else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
    else if (event.key === "Enter") open(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Search" close={close}>
      <input
        class="wide"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette"
        aria-activedescendant={found[at] ? `palette-${at}` : undefined}
        aria-label="A view, a policy or a plan"
        placeholder="A view, a policy or a plan"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <ul id="palette" role="listbox" aria-label="Found" class="palette">
        {found.map((target, index) => (
          <li
            key={target.kind + target.text}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => open(target)}
          >
            {target.text} <span class="quiet">{target.kind}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="quiet">Nothing is called so.</p>}
    </Dialog>
  );
}
