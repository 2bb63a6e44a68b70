// What the agents decided, who is throttled, how the fleet is, what changed last.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { api, dataOf, type Schema } from "../api/client";
import { useFleet } from "../api/fleet";
import { given } from "../api/lists";
import { useQuery } from "../api/query";
import { link, tenant } from "../router";
import { may } from "../session";
import { Chart, type Series } from "../ui/chart";
import { EnforcedText, LinkText } from "../ui/enforced";
import { Badge, Empty, Failure, Heading, Loaded, Time, Waiting } from "../ui/parts";
import { kSecondsOf, range, RangePicker, sinceOf, type Range } from "../ui/range";
import { CopyCsv, Table } from "../ui/table";
import { numberText } from "../words/limits";
import { groupOf, isShadow, kFailureOutcomes, kGroups } from "../words/outcomes";
import { shareText } from "../words/shares";

type Row = Schema<"AnalyticsRow">;
type Analytics = Schema<"Analytics">;

const kEveryMs = 10_000;

const load = (by: string, chosen: Range, signal: AbortSignal): Promise<Analytics> =>
  dataOf(
    api.GET("/v1/admin/analytics", {
      signal,
      params: { query: { by, since: sinceOf(chosen), limit: 1000, ...given("tenant_id", tenant.value) } },
    }),
  );

const loadUtilization = (chosen: Range, signal: AbortSignal): Promise<Schema<"UtilizationPage">> =>
  dataOf(
    api.GET("/v1/admin/analytics/utilization", {
      signal,
      params: { query: { by: "policy", since: sinceOf(chosen), limit: 1000, ...given("tenant_id", tenant.value) } },
    }),
  );

export function Overview(): JSX.Element {
  const chosen = range();
  const key = `${tenant.value} ${chosen.name}`;
  const over = useQuery(`over ${key}`, (signal) => load(`${chosen.by},outcome`, chosen, signal), kEveryMs);
  const policies = useQuery(`policies ${key}`, (signal) => load("policy,outcome", chosen, signal), kEveryMs);
  const utilization = useQuery(`utilization ${key}`, (signal) => loadUtilization(chosen, signal), kEveryMs);
  return (
    <>
      <Heading title="Overview">
        <RangePicker />
      </Heading>
      <Loaded query={over}>{(data) => <Decisions data={data} chosen={chosen} />}</Loaded>
      <div class="columns">
        <section>
          <h2>By policy</h2>
          <Loaded query={policies}>{(data) => <ByPolicy rows={data.items} />}</Loaded>
        </section>
        <section>
          <h2>Near the limit</h2>
          <Loaded query={utilization}>{(data) => <NearLimit data={data} />}</Loaded>
        </section>
        <section>
          <h2>Throttled most</h2>
          <Throttled chosen={chosen} />
        </section>
        <section>
          <h2>Answers without Redis</h2>
          <Loaded query={policies}>{(data) => <FailureAnswers rows={data.items} />}</Loaded>
        </section>
        <section>
          <h2>Fleet</h2>
          <FleetHealth />
        </section>
        {may("read_audit") && (
          <section>
            <h2>Last changes</h2>
            <LastChanges />
          </section>
        )}
      </div>
    </>
  );
}

function Decisions({ data, chosen }: { data: Analytics; chosen: Range }): JSX.Element {
  const { times, series } = useMemo(() => seriesOf(data.items, data.since, data.until, chosen), [data, chosen]);
  if (data.totals.decisions === 0) {
    return (
      <Empty
        title="No decisions in this time"
        command={`curl http://127.0.0.1:8088/v1/check -H "x-api-key: $KEY" -H 'content-type: application/json' -d '{"subject":"user:42","resource":"GET:/orders"}'`}
      >
        Agents report what they decided within some seconds. To make a decision:
      </Empty>
    );
  }
  return (
    <>
      <dl class="figures">
        <Figure title="decisions" value={data.totals.decisions} />
        {series.map((each) => (
          <Figure key={each.title} title={each.title} value={each.values.reduce((sum, value) => sum + value, 0)} color={each.color} />
        ))}
        <Figure title="shadow policies would deny" value={data.totals.shadow.would_deny} />
      </dl>
      <Chart times={times} series={series} label={`Decisions by ${chosen.by}`} />
    </>
  );
}

function Figure({ title, value, color }: { title: string; value: number; color?: string }): JSX.Element {
  return (
    <div>
      <dt>
        {color && <i class="dot" data-color={color} />}
        {title}
      </dt>
      <dd>{numberText(value)}</dd>
    </div>
  );
}

function seriesOf(rows: readonly Row[], since: string, until: string, chosen: Range): { times: number[]; series: Series[] } {
  const step = kSecondsOf[chosen.by];
  const first = Math.floor(Date.parse(since) / 1000 / step) * step;
  const last = Date.parse(until) / 1000;
  const times: number[] = [];
  for (let at = first; at <= last; at += step) times.push(at);
  const series = kGroups.map((group) => ({ title: group.title, color: group.color, values: times.map(() => 0) }));
  for (const row of rows) {
    const outcome = row.outcome ?? "";
    if (row.at === undefined || isShadow(outcome)) continue;
    const index = Math.floor((Date.parse(row.at) / 1000 - first) / step);
    const values = series[groupOf(outcome)]?.values;
    if (values !== undefined && index >= 0 && index < times.length) values[index] = (values[index] ?? 0) + row.count;
  }
  return { times, series: series.filter((each, index) => index < 2 || each.values.some((value) => value > 0)) };
}

interface PolicyCounts {
  readonly tenant: string;
  readonly policy: string;
  all: number;
  denied: number;
  wouldDeny: number;
}

function ByPolicy({ rows }: { rows: readonly Row[] }): JSX.Element {
  const counts = new Map<string, PolicyCounts>();
  for (const row of rows) {
    const outcome = row.outcome ?? "";
    const key = `${row.tenant_id ?? ""}/${row.policy_id ?? ""}`;
    const found = counts.get(key) ?? { tenant: row.tenant_id ?? "", policy: row.policy_id ?? "", all: 0, denied: 0, wouldDeny: 0 };
    if (isShadow(outcome)) found.wouldDeny += outcome === "shadow_denied" ? row.count : 0;
    else found.all += row.count;
    if (groupOf(outcome) === 1) found.denied += row.count;
    counts.set(key, found);
  }
  if (counts.size === 0) return <p class="quiet">No policy decided in this time.</p>;
  return (
    <Table
      label="Decisions by policy"
      rows={[...counts.values()].sort((left, right) => right.all - left.all)}
      id={(row) => `${row.tenant}/${row.policy}`}
      columns={[
        {
          name: "policy",
          title: "Policy",
          text: (row) => row.policy,
          show: (row) =>
            row.policy === "" ? (
              <span class="quiet">no policy applied</span>
            ) : (
              <PolicyLink tenantId={row.tenant} policyId={row.policy} />
            ),
        },
        { name: "decisions", title: "Decisions", number: true, text: (row) => row.all, show: (row) => numberText(row.all) },
        { name: "denied", title: "Denied", number: true, text: (row) => row.denied, show: (row) => numberText(row.denied) },
        { name: "would", title: "Would deny", number: true, wide: true, text: (row) => row.wouldDeny, show: (row) => numberText(row.wouldDeny) },
      ]}
    />
  );
}

function PolicyLink({ tenantId, policyId }: { tenantId: string; policyId: string }): JSX.Element {
  return <a href={link(`/policies/${encodeURIComponent(policyId)}`, { tenant: tenantId || tenant.value })}>{policyId}</a>;
}

const kMostPolicies = 10;

// The policies whose checks most often used more than 80 % of their limit.
function NearLimit({ data }: { data: Schema<"UtilizationPage"> }): JSX.Element {
  const { totals } = data;
  if (totals.utilization === null) {
    return <p class="quiet">No limit judged a check in this time. Agents of earlier releases do not report this.</p>;
  }
  const foremost = [...data.items].sort((left, right) => right.near_limit - left.near_limit || right.utilization - left.utilization);
  return (
    <>
      <p>
        <b>{numberText(totals.near_limit)}</b> of {numberText(totals.decisions)} decisions used more than 80 % of their limit; on average{" "}
        <b>{shareText(totals.utilization)}</b> was used.
      </p>
      <Table
        label="Utilization by policy"
        rows={foremost.slice(0, kMostPolicies)}
        id={(row) => `${row.tenant_id ?? ""}/${row.policy_id ?? ""}`}
        columns={[
          {
            name: "policy",
            title: "Policy",
            text: (row) => row.policy_id ?? "",
            show: (row) =>
              row.policy_id ? <PolicyLink tenantId={row.tenant_id ?? ""} policyId={row.policy_id} /> : <span class="quiet">checks that name a plan</span>,
          },
          { name: "near", title: "Near the limit", number: true, text: (row) => row.near_limit, show: (row) => numberText(row.near_limit) },
          {
            name: "share",
            title: "Of decisions",
            wide: true,
            number: true,
            text: (row) => row.near_limit / row.decisions,
            show: (row) => shareText(row.near_limit / row.decisions),
          },
          {
            name: "used",
            title: "Mean use",
            number: true,
            text: (row) => row.utilization,
            show: (row) => (
              <>
                {shareText(row.utilization)} <meter min={0} max={1} high={0.8} value={row.utilization} aria-hidden="true" />
              </>
            ),
          },
        ]}
      />
    </>
  );
}

// What policies answered by their failure mode, because the counters could not be asked.
function FailureAnswers({ rows }: { rows: readonly Row[] }): JSX.Element {
  const failed = rows.filter((row) => row.outcome !== undefined && row.outcome in kFailureOutcomes);
  if (failed.length === 0) return <p class="quiet">Redis answered every check: no failure mode decided.</p>;
  return (
    <Table
      label="Answers by failure mode"
      rows={failed.sort((left, right) => right.count - left.count)}
      id={(row) => `${row.tenant_id ?? ""}/${row.policy_id ?? ""}/${row.outcome ?? ""}`}
      columns={[
        {
          name: "policy",
          title: "Policy",
          text: (row) => row.policy_id ?? "",
          show: (row) =>
            row.policy_id ? <PolicyLink tenantId={row.tenant_id ?? ""} policyId={row.policy_id} /> : <span class="quiet">checks that name a plan</span>,
        },
        { name: "answer", title: "Answer", text: (row) => row.outcome ?? "", show: (row) => kFailureOutcomes[row.outcome ?? ""] },
        { name: "count", title: "Checks", number: true, text: (row) => row.count, show: (row) => numberText(row.count) },
      ]}
    />
  );
}

function Throttled({ chosen }: { chosen: Range }): JSX.Element {
  const query = useQuery(
    `throttled ${tenant.value} ${chosen.name}`,
    (signal) =>
      dataOf(
        api.GET("/v1/admin/analytics/subjects", {
          signal,
          params: { query: { since: sinceOf(chosen), limit: 10, ...given("tenant_id", tenant.value) } },
        }),
      ),
    kEveryMs,
  );
  return (
    <Loaded query={query}>
      {(data) =>
        data.items.length === 0 ? (
          <p class="quiet">Nobody was throttled.</p>
        ) : (
          <>
            <ol class="bars">
              {data.items.map((each) => (
                <li key={`${each.tenant_id}/${each.policy_id}/${each.subject}`}>
                  <meter min={0} max={data.items[0]?.count ?? 1} value={each.count} aria-hidden="true" />
                  <code>{each.subject}</code>
                  <span>
                    {numberText(each.count)} {each.policy_id && <>by <PolicyLink tenantId={each.tenant_id} policyId={each.policy_id} /></>}
                  </span>
                </li>
              ))}
            </ol>
            <CopyCsv
              rows={data.items}
              columns={[
                { title: "Tenant", text: (row) => row.tenant_id },
                { title: "Policy", text: (row) => row.policy_id },
                { title: "Subject", text: (row) => row.subject },
                { title: "Denied", text: (row) => row.count },
              ]}
            />
          </>
        )
      }
    </Loaded>
  );
}

function FleetHealth(): JSX.Element {
  const { agents, enforcement, link: how, error } = useFleet({ agents: true });
  if (agents === undefined) return error === undefined ? <Waiting /> : <Failure error={error} />;
  const live = agents.filter((agent) => agent.status === "live").length;
  const behind = agents.filter((agent) => agent.status === "live" && agent.lag !== 0).length;
  const degraded = agents.filter((agent) => agent.degraded.length > 0).length;
  if (agents.length === 0) return <p class="quiet">No agent has reported yet.</p>;
  return (
    <>
      <p>
        <a href={link("/fleet")}>
          {live} of {agents.length} agents live
        </a>{" "}
        {behind > 0 && <Badge tone="warn">{behind} behind</Badge>}
        {degraded > 0 && <Badge tone="bad">{degraded} degraded</Badge>}
        {behind === 0 && degraded === 0 && live === agents.length && <Badge tone="good">all in order</Badge>}
        {(how === "lost" || how === "polling") && <LinkText link={how} />}
      </p>
      {enforcement && (
        <p>
          <EnforcedText what="Revision" enforcement={enforcement} />
        </p>
      )}
    </>
  );
}

function LastChanges(): JSX.Element {
  const query = useQuery(
    `changes ${tenant.value}`,
    (signal) =>
      dataOf(api.GET("/v1/admin/audit", { signal, params: { query: { limit: 8, ...given("tenant_id", tenant.value) } } })),
    kEveryMs,
  );
  return (
    <Loaded query={query}>
      {(data) => (
        <ul class="plain" aria-label="Last changes">
          {data.items.map((entry) => (
            <li key={`${entry.organization_id}/${entry.seq}`}>
              <Time at={entry.at} /> {entry.action} {entry.kind} <ObjectLink entry={entry} /> <span class="quiet">by {entry.actor_id}</span>
            </li>
          ))}
        </ul>
      )}
    </Loaded>
  );
}

// To the object where it has a view of its own, else to what the audit trail has about it.
function ObjectLink({ entry }: { entry: Schema<"AuditEntry"> }): JSX.Element {
  const view = entry.action === "delete" ? undefined : ({ policy: "policies", plan: "plans" } as Record<string, string>)[entry.kind];
  const id = entry.object_id;
  const path = view === undefined ? link("/audit", { kind: entry.kind, object: id }) : link(`/${view}/${encodeURIComponent(id)}`, { tenant: entry.tenant_id ?? "" });
  return <a href={path}>{id}</a>;
}
