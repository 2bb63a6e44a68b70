// One plan: its limits, where it is used, its versions. "new" makes one.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { planBody } from "../api/bodies";
import { api, dataOf, type Schema } from "../api/client";
import { given } from "../api/lists";
import { useQuery } from "../api/query";
import { go, link, tenant } from "../router";
import { may } from "../session";
import { say } from "../ui/dialog";
import { Field, SelectInput, TextInput, type Draft } from "../ui/editor";
import { LimitList } from "../ui/limit_form";
import { DeleteButton, ObjectForm, type FormProps } from "../ui/object_form";
import { Heading, Loaded, ModeBadge, Time } from "../ui/parts";
import { DimensionNames, KeyForm } from "../ui/scope_form";
import { Versions, type Version } from "../ui/versions";
import { documentOf } from "./policy";

type PlanRow = Schema<"Plan">;

export function Plan({ parts }: { parts: Record<string, string> }): JSX.Element {
  const id = parts["id"] ?? "";
  if (id === "new") return <NewPlan />;
  return <StoredPlan key={`${tenant.value}/${id}`} id={id} />;
}

function NewPlan(): JSX.Element {
  const [draft, setDraft] = useState<Draft>({
    ...(tenant.value === "" ? {} : { tenant_id: tenant.value }),
    limits: [{ algorithm: "token_bucket", capacity: 60, refill: "1/s" }],
    key_by: ["subject"],
  });
  const save = async (): Promise<void> => {
    const made = await dataOf(api.POST("/v1/admin/plans", { params: {}, body: planBody(draft) }));
    say(`The plan ${made.id} is made.`);
    go(`/plans/${encodeURIComponent(made.id)}`, { tenant: made.tenant_id });
  };
  return (
    <>
      <Heading title="New plan" />
      <PlanForm draft={draft} change={setDraft} verb="Make the plan" save={save} isNew />
    </>
  );
}

function StoredPlan({ id }: { id: string }): JSX.Element {
  const at = { path: { id }, query: given("tenant_id", tenant.value) };
  const stored = useQuery(`plan ${id}`, (signal) => dataOf(api.GET("/v1/admin/plans/{id}", { signal, params: at })));
  const versions = useQuery(`plan-versions ${id}`, (signal) => dataOf(api.GET("/v1/admin/plans/{id}/versions", { signal, params: at })));
  const reload = (): void => {
    stored.reload();
    versions.reload();
  };
  const rollback = async (version: number): Promise<void> => {
    await dataOf(api.POST("/v1/admin/plans/{id}/rollback", { params: at, body: { version } }));
    reload();
  };
  return (
    <Loaded query={stored}>
      {(plan) => (
        <>
          <Heading
            title={plan.name || plan.id}
            below={
              <>
                <ModeBadge mode={plan.mode} /> <code>{plan.id}</code> of <code>{plan.tenant_id}</code>, version {plan.version},{" "}
                <Time at={plan.updated_at} />
              </>
            }
          >
            {may("configure") && <Remove plan={plan} />}
          </Heading>
          <UsedBy plan={plan} />
          {may("configure") ? (
            <EditPlan key={plan.version} plan={plan} done={reload} undo={() => rollback(plan.version)} />
          ) : (
            <pre class="document" tabIndex={0}>
              {JSON.stringify(documentOf(plan), null, 2)}
            </pre>
          )}
          <h2>Versions</h2>
          <Loaded query={versions}>
            {(data) => <Versions versions={data.items as readonly Version[]} rollback={rollback} />}
          </Loaded>
        </>
      )}
    </Loaded>
  );
}

function UsedBy({ plan }: { plan: PlanRow }): JSX.Element {
  const policies = useQuery(`policies-of ${plan.tenant_id}/${plan.id}`, (signal) =>
    dataOf(
      api.GET("/v1/admin/policies", { signal, params: { query: { tenant_id: plan.tenant_id, plan_id: plan.id, limit: 100 } } }),
    ),
  );
  return (
    <Loaded query={policies}>
      {({ items }) =>
        items.length === 0 ? (
          <p class="quiet">No policy uses this plan. Checks may name it by plan_id.</p>
        ) : (
          <p>
            Used by{" "}
            {items.map((policy, index) => (
              <>
                {index > 0 && ", "}
                <a href={link(`/policies/${encodeURIComponent(policy.id)}`, { tenant: policy.tenant_id })}>{policy.name || policy.id}</a>
              </>
            ))}
          </p>
        )
      }
    </Loaded>
  );
}

function EditPlan({ plan, done, undo }: { plan: PlanRow; done: () => void; undo: () => Promise<void> }): JSX.Element {
  const [draft, setDraft] = useState<Draft>(documentOf(plan));
  const save = async (): Promise<void> => {
    await dataOf(
      api.PUT("/v1/admin/plans/{id}", {
        params: { path: { id: plan.id }, query: { tenant_id: plan.tenant_id }, header: { "If-Match": `"${plan.version}"` } },
        body: planBody(draft),
      }),
    );
    say("Saved.", undo);
    done();
  };
  return <PlanForm draft={draft} change={setDraft} verb="Save" save={save} unchanged={JSON.stringify(draft) === JSON.stringify(documentOf(plan))} />;
}

function PlanForm(props: FormProps): JSX.Element {
  const { draft, change } = props;
  return (
    <>
      <DimensionNames />
      <ObjectForm
        {...props}
        kind="plan"
        fields={(verdict) => (
          <>
            <div class="row">
              <Field title="Name" pointer="/name" verdict={verdict}>
                <TextInput draft={draft} name="name" change={change} />
              </Field>
              <Field title="Mode" pointer="/mode" verdict={verdict}>
                <SelectInput draft={draft} name="mode" change={change} options={["enforce", "shadow", "off"]} fallback="enforce" />
              </Field>
              <Field title="If Redis does not answer" pointer="/failure_mode" verdict={verdict}>
                <SelectInput
                  draft={draft}
                  name="failure_mode"
                  change={change}
                  options={["fail_closed", "fail_open", "fail_degrade"]}
                  fallback="fail_closed"
                />
              </Field>
            </div>
            <KeyForm draft={draft} change={change} verdict={verdict} />
            <LimitList draft={draft} change={change} verdict={verdict} />
          </>
        )}
      />
    </>
  );
}

function Remove({ plan }: { plan: PlanRow }): JSX.Element {
  return (
    <DeleteButton
      kind="plan"
      id={plan.id}
      run={async () => {
        await dataOf(
          api.DELETE("/v1/admin/plans/{id}", {
            params: { path: { id: plan.id }, query: { tenant_id: plan.tenant_id }, header: { "If-Match": `"${plan.version}"` } },
          }),
        );
        // A rollback restores what was deleted.
        say(`The plan ${plan.id} is deleted.`, async () => {
          const at = { path: { id: plan.id }, query: { tenant_id: plan.tenant_id } };
          await dataOf(api.POST("/v1/admin/plans/{id}/rollback", { params: at, body: { version: plan.version } }));
          go(`/plans/${encodeURIComponent(plan.id)}`, { tenant: plan.tenant_id });
        });
        go("/plans");
      }}
    >
      <p>Only a plan that no policy uses can be deleted.</p>
    </DeleteButton>
  );
}
