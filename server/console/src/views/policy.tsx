// One policy: what it says, its form, its versions, its rollout. "new" makes one.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { policyBody } from "../api/bodies";
import { api, dataOf, type Schema } from "../api/client";
import { given, listPlans } from "../api/lists";
import { useQuery } from "../api/query";
import { go, link, tenant } from "../router";
import { may } from "../session";
import { Confirm, say } from "../ui/dialog";
import { Field, NumberInput, SelectInput, TextInput, withMember, type Draft, type Verdict } from "../ui/editor";
import { LimitList } from "../ui/limit_form";
import { DeleteButton, ObjectForm, type FormProps } from "../ui/object_form";
import { Badge, Heading, Loaded, ModeBadge, Time } from "../ui/parts";
import { ScopeForm, KeyForm } from "../ui/scope_form";
import { Versions, type Version } from "../ui/versions";
import { limitText } from "../words/limits";
import { keyText, scopeText } from "../words/policies";
import { WhatIf } from "./what_if";
import { WouldDeny } from "./would_deny";

type PolicyRow = Schema<"Policy">;

const kStamps = ["version", "created_at", "updated_at"];
export const documentOf = (stored: object): Draft =>
  Object.fromEntries(Object.entries(stored).filter(([name]) => !kStamps.includes(name)));

export function Policy({ parts }: { parts: Record<string, string> }): JSX.Element {
  const id = parts["id"] ?? "";
  if (id === "new") return <NewPolicy />;
  return <StoredPolicy key={`${tenant.value}/${id}`} id={id} />;
}

function NewPolicy(): JSX.Element {
  const [draft, setDraft] = useState<Draft>({
    ...(tenant.value === "" ? {} : { tenant_id: tenant.value }),
    scope: { resource: "GET:/orders" },
    limits: [{ algorithm: "token_bucket", capacity: 60, refill: "1/s" }],
    key_by: ["subject"],
    mode: "shadow",
  });
  const save = async (): Promise<void> => {
    const made = await dataOf(api.POST("/v1/admin/policies", { params: {}, body: policyBody(draft) }));
    say(`The policy ${made.id} is made.`);
    go(`/policies/${encodeURIComponent(made.id)}`, { tenant: made.tenant_id });
  };
  return (
    <>
      <Heading title="New policy" below="It begins in shadow: it judges and counts, and denies nothing." />
      <PolicyForm draft={draft} change={setDraft} verb="Make the policy" save={save} isNew />
    </>
  );
}

function StoredPolicy({ id }: { id: string }): JSX.Element {
  const at = { path: { id }, query: given("tenant_id", tenant.value) };
  const stored = useQuery(`policy ${id}`, (signal) => dataOf(api.GET("/v1/admin/policies/{id}", { signal, params: at })));
  const versions = useQuery(`versions ${id}`, (signal) =>
    dataOf(api.GET("/v1/admin/policies/{id}/versions", { signal, params: at })),
  );
  const reload = (): void => {
    stored.reload();
    versions.reload();
  };
  const rollback = async (version: number): Promise<void> => {
    await dataOf(api.POST("/v1/admin/policies/{id}/rollback", { params: at, body: { version } }));
    reload();
  };
  return (
    <Loaded query={stored}>
      {(policy) => (
        <>
          <Heading title={policy.name || policy.id} below={<Sentence policy={policy} />}>
            {may("configure") && <Remove policy={policy} />}
          </Heading>
          <WouldDeny policy={policy} />
          {may("operate") && <Rollout policy={policy} done={reload} />}
          {may("configure") ? (
            <EditPolicy key={policy.version} policy={policy} done={reload} undo={() => rollback(policy.version)} />
          ) : (
            <ReadOnly policy={policy} />
          )}
          <h2>Versions</h2>
          <Loaded query={versions}>{(data) => <Versions versions={data.items as readonly Version[]} rollback={rollback} />}</Loaded>
        </>
      )}
    </Loaded>
  );
}

function Sentence({ policy }: { policy: PolicyRow }): JSX.Element {
  return (
    <>
      <ModeBadge mode={policy.mode} /> <code>{policy.id}</code> of <code>{policy.tenant_id}</code>, version {policy.version},{" "}
      <Time at={policy.updated_at} />. For {scopeText(policy.scope)}:{" "}
      {policy.limits ? (
        policy.limits.map(limitText).join("; ")
      ) : (
        <>
          plan <a href={link(`/plans/${encodeURIComponent(policy.plan_id ?? "")}`, { tenant: policy.tenant_id })}>{policy.plan_id}</a>
        </>
      )}
      , {keyText(policy.key_by)}.
    </>
  );
}

function ReadOnly({ policy }: { policy: PolicyRow }): JSX.Element {
  return (
    <pre class="document" tabIndex={0}>
      {JSON.stringify(documentOf(policy), null, 2)}
    </pre>
  );
}

function EditPolicy({ policy, done, undo }: { policy: PolicyRow; done: () => void; undo: () => Promise<void> }): JSX.Element {
  const [draft, setDraft] = useState<Draft>(documentOf(policy));
  const save = async (): Promise<void> => {
    await dataOf(
      api.PUT("/v1/admin/policies/{id}", {
        params: {
          path: { id: policy.id },
          query: { tenant_id: policy.tenant_id },
          header: { "If-Match": `"${policy.version}"` },
        },
        body: policyBody(draft),
      }),
    );
    say("Saved.", undo);
    done();
  };
  return <PolicyForm draft={draft} change={setDraft} verb="Save" save={save} unchanged={JSON.stringify(draft) === JSON.stringify(documentOf(policy))} />;
}

function PolicyForm(props: FormProps): JSX.Element {
  const { draft, change } = props;
  return (
    <ObjectForm
      {...props}
      kind="policy"
      fields={(verdict, owner) => <Fields draft={draft} change={change} verdict={verdict} owner={owner} />}
      below={(verdict, owner) => <WhatIf draft={draft} owner={owner} disabled={verdict.faults.length > 0} />}
    />
  );
}

function Fields({ draft, change, verdict, owner }: {
  draft: Draft;
  change: (draft: Draft) => void;
  verdict: Verdict;
  owner: string;
}): JSX.Element {
  const plans = useQuery(`plans ${owner}`, (signal) => listPlans(owner, signal));
  const byPlan = draft["plan_id"] !== undefined;
  return (
    <>
      <div class="row">
        <Field title="Name" pointer="/name" verdict={verdict}>
          <TextInput draft={draft} name="name" change={change} />
        </Field>
        <Field title="Mode" pointer="/mode" verdict={verdict}>
          <SelectInput draft={draft} name="mode" change={change} options={["enforce", "shadow", "off"]} fallback="enforce" />
        </Field>
        <Field title="Priority" pointer="/priority" verdict={verdict} hint="the highest decides">
          <NumberInput draft={draft} name="priority" change={change} placeholder="0" />
        </Field>
      </div>
      <ScopeForm draft={draft} change={change} verdict={verdict} />
      <Field title="And if" pointer="/match_expr" verdict={verdict} hint='an expression: region==us-east-1 && tag.env!=test'>
        <TextInput draft={draft} name="match_expr" change={change} />
      </Field>
      <KeyForm draft={draft} change={change} verdict={verdict} />
      <label class="field">
        Limits from
        <select
          value={byPlan ? "plan" : "own"}
          onChange={(event) =>
            change(
              event.currentTarget.value === "plan"
                ? { ...withMember(draft, "limits", undefined), plan_id: plans.data?.items[0]?.id ?? "" }
                : { ...withMember(draft, "plan_id", undefined), limits: [{ algorithm: "token_bucket", capacity: 60, refill: "1/s" }] },
            )
          }
        >
          <option value="own">limits of its own</option>
          <option value="plan">a plan</option>
        </select>
      </label>
      {byPlan ? (
        <Field title="Plan" pointer="/plan_id" verdict={verdict}>
          <SelectInput
            draft={draft}
            name="plan_id"
            change={change}
            options={(plans.data?.items ?? []).map((plan) => plan.id)}
            fallback=""
          />
        </Field>
      ) : (
        <LimitList draft={draft} change={change} verdict={verdict} />
      )}
      <div class="row">
        <Field title="Over the limit" pointer="/action" verdict={verdict}>
          <SelectInput
            draft={draft}
            name="action"
            change={change}
            options={["deny", "allow", "delay", "sample", "drop", "downgrade", "drop_low_priority", "shadow_only"]}
            fallback="deny"
          />
        </Field>
        {draft["action"] === "sample" && (
          <Field title="Share that passes" pointer="/sample_rate" verdict={verdict} hint="0 to 1">
            <NumberInput draft={draft} name="sample_rate" change={change} />
          </Field>
        )}
        {draft["action"] === "delay" && (
          <Field title="Longest delay" pointer="/max_delay" verdict={verdict} hint="500ms, 2s">
            <TextInput draft={draft} name="max_delay" change={change} />
          </Field>
        )}
        {draft["action"] === "downgrade" && (
          <Field title="Use instead" pointer="/downgrade_to" verdict={verdict}>
            <TextInput draft={draft} name="downgrade_to" change={change} />
          </Field>
        )}
        <Field title="If Redis does not answer" pointer="/failure_mode" verdict={verdict}>
          <SelectInput draft={draft} name="failure_mode" change={change} options={["fail_closed", "fail_open", "fail_degrade"]} fallback="fail_closed" />
        </Field>
      </div>
      <div class="row">
        <Field title="From" pointer="/valid_from" verdict={verdict} hint="2026-12-01T00:00:00Z; left out: at once">
          <TextInput draft={draft} name="valid_from" change={change} />
        </Field>
        <Field title="Until" pointer="/valid_to" verdict={verdict} hint="left out: without an end">
          <TextInput draft={draft} name="valid_to" change={change} />
        </Field>
        <label class="check">
          <input
            type="checkbox"
            checked={draft["enabled"] !== false}
            onChange={(event) => change(withMember(draft, "enabled", event.currentTarget.checked ? undefined : false))}
          />
          Enabled
        </label>
      </div>
    </>
  );
}

function Rollout({ policy, done }: { policy: PolicyRow; done: () => void }): JSX.Element {
  const now = policy.rollout_percent ?? 100;
  const [percent, setPercent] = useState(now);
  const [asking, setAsking] = useState(false);
  const roll = async (to: number): Promise<void> => {
    await dataOf(
      api.POST("/v1/admin/policies/{id}/rollout", {
        params: { path: { id: policy.id }, query: { tenant_id: policy.tenant_id } },
        body: { percent: to },
      }),
    );
    setPercent(to);
    done();
  };
  return (
    <div class="row rollout">
      <label class="field">
        Rollout: {percent} % of subjects
        <input type="range" min={0} max={100} step={1} value={percent} onInput={(event) => setPercent(Number(event.currentTarget.value))} />
      </label>
      {percent !== now && (
        <button type="button" onClick={() => setAsking(true)}>
          {now} % → {percent} %
        </button>
      )}
      {now < 100 && <Badge tone="warn">applies to {now} % of subjects</Badge>}
      {asking && (
        <Confirm
          title={`${policy.id}: ${now} % → ${percent} % of subjects`}
          verb="Change the rollout"
          close={() => setAsking(false)}
          run={async () => {
            await roll(percent);
            say(`${policy.id} applies to ${percent} % of subjects.`, () => roll(now));
          }}
        >
          <p>The share is stable: if it grows, all subjects that have the policy keep it.</p>
        </Confirm>
      )}
    </div>
  );
}

function Remove({ policy }: { policy: PolicyRow }): JSX.Element {
  return (
    <DeleteButton
      kind="policy"
      id={policy.id}
      run={async () => {
        await dataOf(
          api.DELETE("/v1/admin/policies/{id}", {
            params: { path: { id: policy.id }, query: { tenant_id: policy.tenant_id }, header: { "If-Match": `"${policy.version}"` } },
          }),
        );
        // A rollback restores what was deleted.
        say(`The policy ${policy.id} is deleted.`, async () => {
          const at = { path: { id: policy.id }, query: { tenant_id: policy.tenant_id } };
          await dataOf(api.POST("/v1/admin/policies/{id}/rollback", { params: at, body: { version: policy.version } }));
          go(`/policies/${encodeURIComponent(policy.id)}`, { tenant: policy.tenant_id });
        });
        go("/policies");
      }}
    >
      <p>Requests that it limits are then judged by another policy, or by the tenant's default. Its versions stay in the audit trail.</p>
      <WouldDeny policy={policy} />
    </DeleteButton>
  );
}
