// One subject: which limits are in force for it, what is left of them now, reset, override, recent denials.
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { api, dataOf, type Schema } from "../api/client";
import { listOverrides, listPlans, listPolicies } from "../api/lists";
import { useQuery } from "../api/query";
import { param, place, setQuery, tenant } from "../router";
import { may } from "../session";
import { Choose } from "../ui/choose";
import { Confirm, say } from "../ui/dialog";
import { Badge, Heading, Loaded } from "../ui/parts";
import { DimensionNames } from "../ui/scope_form";
import { limitText, numberText, titleOf, type Limit } from "../words/limits";
import { spanText, timeText } from "../words/time";
import { Denials } from "./denials";
import { Effective, type Dimensions } from "./effective";

type Counters = Schema<"Counters">;
type CounterState = Schema<"CounterState">;
type Override = Schema<"OverrideDocument">;

interface Owner {
  readonly kind: "policy" | "plan";
  readonly tenant: string;
  readonly id: string;
  readonly keys: readonly string[];
  readonly limits: readonly Limit[];
}

const ownerRef = (owner: Owner): { policy_id: string } | { plan_id: string } =>
  owner.kind === "policy" ? { policy_id: owner.id } : { plan_id: owner.id };

export function Subject(): JSX.Element {
  const owners = useQuery(`owners ${tenant.value}`, loadOwners);
  return (
    <>
      <Heading title="Subject" below="Which limits hold for one user, key or client, and what is left of them now." />
      <Loaded query={owners}>
        {(all) => {
          const chosen = all.find((owner) => `${owner.tenant}/${owner.kind}/${owner.id}` === param("of"));
          const owner = tenantOf(all, chosen);
          const dimensions = givenDimensions();
          return (
            <>
              <Who keys={chosen?.keys ?? []} />
              {owner === "" && <p class="notice">Choose a tenant, or a policy or plan below.</p>}
              {owner !== "" && Object.keys(dimensions).length > 0 && <Effective tenant={owner} dimensions={dimensions} />}
              <h2>What is left</h2>
              <Chooser owners={all} />
              {chosen && chosen.keys.every((key) => param(`k.${key}`) !== "") && (
                <State key={`${param("of")} ${identityText(chosen)}`} owner={chosen} />
              )}
              {owner !== "" && dimensions["subject"] !== undefined && <Denials tenant={owner} subject={dimensions["subject"]} />}
            </>
          );
        }}
      </Loaded>
    </>
  );
}

async function loadOwners(signal: AbortSignal): Promise<readonly Owner[]> {
  const [policies, plans] = await Promise.all([listPolicies(tenant.value, signal), listPlans(tenant.value, signal)]);
  const limitsOf = new Map(plans.items.map((plan) => [`${plan.tenant_id}/${plan.id}`, plan.limits]));
  const ofPolicies = policies.items.map((policy) => ({
    kind: "policy" as const,
    tenant: policy.tenant_id,
    id: policy.id,
    keys: policy.key_by ?? ["resource", "subject"],
    limits: policy.limits ?? limitsOf.get(`${policy.tenant_id}/${policy.plan_id}`) ?? [],
  }));
  const ofPlans = plans.items.map((plan) => ({
    kind: "plan" as const,
    tenant: plan.tenant_id,
    id: plan.id,
    keys: plan.key_by ?? ["resource", "subject"],
    limits: plan.limits,
  }));
  return [...ofPolicies, ...ofPlans];
}

function Chooser({ owners }: { owners: readonly Owner[] }): JSX.Element {
  const choices = useMemo(
    () => owners.map(({ kind, id, tenant: of }) => ({ value: `${of}/${kind}/${id}`, text: `${kind} ${id} (${of})` })),
    [owners],
  );
  return (
    <div class="row">
      <Choose
        label="Under"
        choices={choices}
        value={param("of")}
        choose={(of) => setQuery({ of }, false)}
        placeholder="Choose a policy or plan"
      />
    </div>
  );
}

// The tenant that is chosen, or the only one.
function tenantOf(owners: readonly Owner[], chosen: Owner | undefined): string {
  if (chosen !== undefined || tenant.value !== "") return chosen?.tenant ?? tenant.value;
  const tenants = new Set(owners.map((owner) => owner.tenant));
  return tenants.size === 1 ? ([...tenants][0] ?? "") : "";
}

const kPrefix = "k.";

// The address has them as k.NAME.
function givenDimensions(): Dimensions {
  const given = [...place.value.query].filter(([name, value]) => name.startsWith(kPrefix) && value !== "");
  return Object.fromEntries(given.map(([name, value]) => [name.slice(kPrefix.length), value]));
}

// The dimensions of the requests that the view is about. `keys`: those that a counter needs.
function Who({ keys }: { keys: readonly string[] }): JSX.Element {
  const [added, setAdded] = useState<readonly string[]>([]);
  const names = [...new Set(["subject", "resource", ...keys, ...Object.keys(givenDimensions()), ...added])];
  const add = (name: string): void => {
    if (name !== "") setAdded([...added, name]);
  };
  return (
    <div class="row">
      {names.map((name) => (
        <label class="field" key={name}>
          {name}
          <input value={param(kPrefix + name)} onChange={(event) => setQuery({ [kPrefix + name]: event.currentTarget.value }, false)} />
        </label>
      ))}
      <DimensionNames />
      <label class="field">
        Another dimension
        <input
          list="dimensions"
          value=""
          placeholder="region, tag.plan"
          onChange={(event) => {
            add(event.currentTarget.value.trim());
            event.currentTarget.value = "";
          }}
        />
      </label>
    </div>
  );
}

const identityOf = (owner: Owner): Record<string, string> =>
  Object.fromEntries(owner.keys.map((key) => [key, param(`k.${key}`)]));
const identityText = (owner: Owner): string => JSON.stringify(identityOf(owner));

function State({ owner }: { owner: Owner }): JSX.Element {
  const body = { tenant_id: owner.tenant, ...ownerRef(owner), identity: identityOf(owner) };
  const counters = useQuery(
    `counters ${JSON.stringify(body)}`,
    (signal) => dataOf(api.POST("/v1/admin/counters/read", { signal, params: {}, body })),
    2_000,
  );
  const overrides = useQuery(`overrides ${owner.tenant}`, (signal) => listOverrides(owner.tenant, signal), 15_000);
  const [resetting, setResetting] = useState(false);
  const [overriding, setOverriding] = useState<CounterState | null>(null);
  const own = (overrides.data?.items ?? []).filter((each) => concerns(each, owner));
  return (
    <>
      <Loaded query={counters}>
        {(data: Counters) => (
          <div class="cards">
            {data.limits.map((limit) => (
              <LimitCard key={limit.name} limit={limit} words={wordsOf(owner, limit.name)} override={() => setOverriding(limit)} />
            ))}
          </div>
        )}
      </Loaded>
      {may("operate") && (
        <div class="actions">
          <button type="button" class="danger" onClick={() => setResetting(true)}>
            Reset the counters
          </button>
        </div>
      )}
      <h2>Overrides</h2>
      {own.length === 0 ? (
        <p class="quiet">This subject has the numbers of the {owner.kind}.</p>
      ) : (
        <ul class="plain">
          {own.map((each) => (
            <OverrideRow key={each.id} override={each} done={overrides.reload} />
          ))}
        </ul>
      )}
      {resetting && (
        <Confirm
          title="Reset the counters"
          verb="Reset"
          danger
          close={() => setResetting(false)}
          run={async () => {
            await dataOf(api.POST("/v1/admin/counters/reset", { params: {}, body }));
            say("The counters are reset.");
            counters.reload();
          }}
        >
          <p>
            All limits of {owner.id} begin anew for <code>{identityText(owner)}</code>. What was counted is lost.
          </p>
        </Confirm>
      )}
      {overriding && (
        <OverrideForm
          owner={owner}
          limit={overriding}
          close={() => setOverriding(null)}
          done={() => {
            overrides.reload();
            counters.reload();
          }}
        />
      )}
    </>
  );
}

const wordsOf = (owner: Owner, name: string): string => {
  const limit = owner.limits.find((each) => each.name === name);
  return limit ? limitText(limit) : "";
};

function concerns(override: Override, owner: Owner): boolean {
  if (owner.kind === "policy" ? override.policy_id !== owner.id : override.plan_id !== owner.id) return false;
  const identity = identityOf(owner);
  return Object.entries(override.identity).every(([name, value]) => identity[name] === value);
}

function LimitCard({ limit, words, override }: { limit: CounterState; words: string; override: () => void }): JSX.Element {
  const share = limit.limit === 0 ? 0 : Math.max(0, limit.remaining) / limit.limit;
  return (
    <section class="card">
      <h3>
        {limit.name} <span class="quiet">{titleOf(limit.algorithm)}</span>
      </h3>
      <p class="quiet">{words}</p>
      <meter min={0} max={1} low={0.2} high={0.5} optimum={1} value={share} aria-label={`${limit.name}: what is left`} />
      <p>
        <b>{numberText(limit.remaining)}</b> of {numberText(limit.limit)} {limit.unit} left
        {limit.reset_after_us > 0 && <>, all of it in {spanText(limit.reset_after_us / 1e6)}</>}
      </p>
      {may("operate") && (
        <button type="button" class="small" onClick={override}>
          Override
        </button>
      )}
    </section>
  );
}

function OverrideRow({ override, done }: { override: Override; done: () => void }): JSX.Element {
  const [removing, setRemoving] = useState(false);
  return (
    <li>
      <b>{override.limit_name}</b> <code>{JSON.stringify(override.set)}</code> <Countdown until={override.expires_at} />
      {may("operate") && (
        <button type="button" class="small" onClick={() => setRemoving(true)}>
          End it
        </button>
      )}
      {removing && (
        <Confirm
          title={`End the override ${override.id}`}
          verb="End it"
          danger
          close={() => setRemoving(false)}
          run={async () => {
            await dataOf(
              api.DELETE("/v1/admin/overrides/{id}", {
                params: { path: { id: override.id }, query: { tenant_id: override.tenant_id } },
              }),
            );
            say("The override has ended.");
            done();
          }}
        >
          <p>The numbers of the plan or policy hold again at once.</p>
        </Confirm>
      )}
    </li>
  );
}

function Countdown({ until }: { until: string | null | undefined }): JSX.Element {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  if (!until) return <Badge tone="calm">without an end</Badge>;
  const left = (Date.parse(until) - now) / 1000;
  return (
    <span title={timeText(until)}>
      <Badge tone={left > 0 ? "warn" : "calm"}>{left > 0 ? `ends in ${spanText(left)}` : "has ended"}</Badge>
    </span>
  );
}

function OverrideForm({ owner, limit, close, done }: { owner: Owner; limit: CounterState; close: () => void; done: () => void }): JSX.Element {
  const member = limit.algorithm === "token_bucket" || limit.algorithm === "leaky_bucket" ? "capacity" : "limit";
  const [value, setValue] = useState(String(limit.limit));
  const [ttl, setTtl] = useState("24h");
  return (
    <Confirm
      title={`Override ${limit.name}`}
      verb="Override"
      close={close}
      run={async () => {
        await dataOf(
          api.POST("/v1/admin/overrides", {
            params: {},
            body: {
              tenant_id: owner.tenant,
              ...ownerRef(owner),
              limit_name: limit.name,
              identity: identityOf(owner),
              set: { [member]: Number(value) },
              ...(ttl === "" ? {} : { ttl }),
            },
          }),
        );
        say("The override is in force.");
        done();
      }}
    >
      <div class="row">
        <label class="field">
          {member === "capacity" ? "At once" : "Limit"}
          <input inputMode="numeric" value={value} onInput={(event) => setValue(event.currentTarget.value)} />
        </label>
        <label class="field">
          For
          <input value={ttl} placeholder="without an end" onInput={(event) => setTtl(event.currentTarget.value)} />
          <small>30m, 24h, 7d</small>
        </label>
      </div>
    </Confirm>
  );
}
