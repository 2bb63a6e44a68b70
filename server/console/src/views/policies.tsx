// All policies: search, filters, and the mode as a switch in the row.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { api, dataOf, type Schema } from "../api/client";
import { afterCommits, listPlans, listPolicies, type List } from "../api/lists";
import { useQuery } from "../api/query";
import { link, param, setQuery, tenant } from "../router";
import { may } from "../session";
import { Confirm, say } from "../ui/dialog";
import { Badge, Empty, Heading, Loaded, Time } from "../ui/parts";
import { Table, type Column } from "../ui/table";
import { limitText, type Limit } from "../words/limits";
import { scopeText } from "../words/policies";
import { WouldDeny } from "./would_deny";

type Policy = Schema<"Policy">;
export type Mode = "enforce" | "shadow" | "off";

export function Policies(): JSX.Element {
  const of = tenant.value;
  const load = useMemo(() => afterCommits<List<Policy>>((signal, arrived) => listPolicies(of, signal, arrived)), [of]);
  const policies = useQuery(`policies ${of}`, load, 15_000);
  const plans = useQuery(`plans ${tenant.value}`, (signal) => listPlans(tenant.value, signal), 60_000);
  const [change, setChange] = useState<{ policy: Policy; mode: Mode } | null>(null);
  const limitsOf = useMemo(() => {
    const text = (limits: readonly Limit[]): string => limits.map(limitText).join("; ");
    const ofPlans = new Map((plans.data?.items ?? []).map((plan) => [`${plan.tenant_id}/${plan.id}`, text(plan.limits)]));
    return (policy: Policy): string =>
      policy.limits ? text(policy.limits) : (ofPlans.get(`${policy.tenant_id}/${policy.plan_id}`) ?? "");
  }, [plans.data]);
  const filter = { q: param("q").toLowerCase(), mode: param("mode"), state: param("state") };
  const all = policies.data?.items;
  const wanted = useMemo(() => (all ?? []).filter((each) => isWanted(each, filter)), [all, ...Object.values(filter)]);
  return (
    <>
      <Heading title="Policies" below="Which requests are limited, and how.">
        {may("configure") && (
          <a class="button primary" href={link("/policies/new")}>
            New policy
          </a>
        )}
      </Heading>
      <Filters />
      <Loaded query={policies}>
        {({ items, more, loading }) =>
          items.length === 0 ? (
            <Empty
              title="There are no policies yet"
              command={`curl -X POST "$SERVER/v1/admin/policies" -H "Authorization: Bearer $ADMIN" -H 'content-type: application/json' -d '{"tenant_id":"demo","id":"orders","scope":{"resource":"GET:/orders"},"capacity":60,"refill":"1/s","key_by":["subject"]}'`}
            >
              A policy says for which requests its limits hold. Make one here, or by the API:
            </Empty>
          ) : (
            <>
              {more && !loading && <p class="notice">There are more policies than this page shows; choose a tenant.</p>}
              <Table
                label="Policies"
                rows={wanted}
                loading={loading === true}
                id={(row) => `${row.tenant_id}/${row.id}`}
                columns={columns(limitsOf, (policy, mode) => setChange({ policy, mode }))}
              />
            </>
          )
        }
      </Loaded>
      {change && (
        <ModeChange
          policy={change.policy}
          mode={change.mode}
          close={() => setChange(null)}
          done={policies.reload}
        />
      )}
    </>
  );
}

function Filters(): JSX.Element {
  return (
    <div class="filters" role="search">
      <input
        type="search"
        placeholder="Name, id or scope"
        aria-label="Search in policies"
        value={param("q")}
        onInput={(event) => setQuery({ q: event.currentTarget.value })}
      />
      <select aria-label="Mode" value={param("mode")} onChange={(event) => setQuery({ mode: event.currentTarget.value })}>
        <option value="">All modes</option>
        <option value="enforce">enforce</option>
        <option value="shadow">shadow</option>
        <option value="off">off</option>
      </select>
      <select aria-label="State" value={param("state")} onChange={(event) => setQuery({ state: event.currentTarget.value })}>
        <option value="">Enabled or not</option>
        <option value="enabled">Enabled</option>
        <option value="disabled">Disabled</option>
      </select>
    </div>
  );
}

// What is searched in: made once for each policy, not once for each letter that is typed.
const searched = new WeakMap<Policy, string>();

function searchText(policy: Policy): string {
  let text = searched.get(policy);
  if (text === undefined) {
    text = `${policy.id} ${policy.name ?? ""} ${scopeText(policy.scope)} ${policy.plan_id ?? ""}`.toLowerCase();
    searched.set(policy, text);
  }
  return text;
}

function isWanted(policy: Policy, { q, mode, state }: { q: string; mode: string; state: string }): boolean {
  if (mode !== "" && (policy.mode ?? "enforce") !== mode) return false;
  if (state !== "" && (policy.enabled ?? true) !== (state === "enabled")) return false;
  return searchText(policy).includes(q);
}

function columns(limitsOf: (policy: Policy) => string, change: (policy: Policy, mode: Mode) => void): readonly Column<Policy>[] {
  return [
    {
      name: "id",
      title: "Policy",
      text: (row) => row.id,
      show: (row) => (
        <>
          <a href={link(`/policies/${encodeURIComponent(row.id)}`, { tenant: row.tenant_id })}>{row.name || row.id}</a>
          {row.enabled === false && <Badge tone="calm">disabled</Badge>}
          {(row.rollout_percent ?? 100) < 100 && <Badge tone="warn">{row.rollout_percent} %</Badge>}
        </>
      ),
    },
    { name: "tenant", title: "Tenant", wide: true, text: (row) => row.tenant_id, show: (row) => row.tenant_id },
    { name: "scope", title: "Requests", text: (row) => scopeText(row.scope), show: (row) => <code>{scopeText(row.scope)}</code> },
    { name: "limits", title: "Limits", wide: true, text: limitsOf, show: (row) => limitsOf(row) || <span class="quiet">plan {row.plan_id}</span> },
    {
      name: "mode",
      title: "Mode",
      text: (row) => row.mode ?? "enforce",
      show: (row) => <ModeSwitch policy={row} change={change} />,
    },
    { name: "updated", title: "Changed", wide: true, text: (row) => row.updated_at, show: (row) => <Time at={row.updated_at} /> },
  ];
}

const kModes: readonly Mode[] = ["enforce", "shadow", "off"];

function ModeSwitch({ policy, change }: { policy: Policy; change: (policy: Policy, mode: Mode) => void }): JSX.Element {
  const now = policy.mode ?? "enforce";
  return (
    <div class="switch" role="group" aria-label={`Mode of ${policy.id}`}>
      {kModes.map((mode) => (
        <button
          key={mode}
          type="button"
          aria-pressed={mode === now}
          data-mode={mode}
          disabled={!may("configure") && mode !== now}
          onClick={() => mode !== now && change(policy, mode)}
        >
          {mode}
        </button>
      ))}
    </div>
  );
}

const kMeaning: Record<Mode, string> = {
  enforce: "Requests over the limit are denied from now on.",
  shadow: "Nothing is denied by this policy any more. What it would deny is counted.",
  off: "The policy counts nothing and denies nothing.",
};

// Says what the change means by what the agents counted, before it is made.
export function ModeChange({ policy, mode, close, done }: { policy: Policy; mode: Mode; close: () => void; done: () => void }): JSX.Element {
  const before = policy.mode ?? "enforce";
  const set = async (wanted: Mode, version: number | undefined): Promise<void> => {
    await dataOf(
      api.PATCH("/v1/admin/policies/{id}", {
        params: {
          path: { id: policy.id },
          query: { tenant_id: policy.tenant_id },
          ...(version === undefined ? {} : { header: { "If-Match": `"${version}"` } }),
        },
        body: { mode: wanted },
      }),
    );
    done();
  };
  return (
    <Confirm
      title={`${policy.name || policy.id}: ${before} → ${mode}`}
      verb={mode === "enforce" ? "Enforce" : mode === "shadow" ? "Only shadow" : "Turn off"}
      danger={mode !== "shadow"}
      close={close}
      run={async () => {
        await set(mode, policy.version);
        say(`${policy.id} is in mode ${mode}.`, () => set(before, undefined));
      }}
    >
      <p>{kMeaning[mode]}</p>
      <WouldDeny policy={policy} />
    </Confirm>
  );
}
