import type { JSX } from "preact";
import { listPlans } from "../api/lists";
import { useQuery } from "../api/query";
import { link, param, setQuery, tenant } from "../router";
import { may } from "../session";
import { Empty, Heading, Loaded, ModeBadge, Time } from "../ui/parts";
import { Table } from "../ui/table";
import { limitText } from "../words/limits";

export function Plans(): JSX.Element {
  const plans = useQuery(`plans ${tenant.value}`, (signal) => listPlans(tenant.value, signal), 15_000);
  return (
    <>
      <Heading title="Plans" below="Lists of limits that policies and checks name.">
        {may("configure") && (
          <a class="button primary" href={link("/plans/new")}>
            New plan
          </a>
        )}
      </Heading>
      <div class="filters" role="search">
        <input
          type="search"
          placeholder="Name or id"
          aria-label="Search in plans"
          value={param("q")}
          onInput={(event) => setQuery({ q: event.currentTarget.value })}
        />
      </div>
      <Loaded query={plans}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty
              title="There are no plans yet"
              command={`curl -X POST "$SERVER/v1/admin/plans" -H "Authorization: Bearer $ADMIN" -H 'content-type: application/json' -d '{"tenant_id":"demo","id":"free","capacity":60,"refill":"1/s"}'`}
            >
              A plan is a list of limits. Policies share it, and a check may name it. Make one here, or by the API:
            </Empty>
          ) : (
            <Table
              label="Plans"
              rows={items.filter((each) => `${each.id} ${each.name ?? ""}`.toLowerCase().includes(param("q").toLowerCase()))}
              id={(row) => `${row.tenant_id}/${row.id}`}
              columns={[
                {
                  name: "id",
                  title: "Plan",
                  text: (row) => row.id,
                  show: (row) => <a href={link(`/plans/${encodeURIComponent(row.id)}`, { tenant: row.tenant_id })}>{row.name || row.id}</a>,
                },
                { name: "tenant", title: "Tenant", wide: true, text: (row) => row.tenant_id, show: (row) => row.tenant_id },
                {
                  name: "limits",
                  title: "Limits",
                  text: (row) => row.limits.map(limitText).join("; "),
                  show: (row) => row.limits.map(limitText).join("; "),
                },
                { name: "mode", title: "Mode", text: (row) => row.mode ?? "enforce", show: (row) => <ModeBadge mode={row.mode} /> },
                { name: "updated", title: "Changed", wide: true, text: (row) => row.updated_at, show: (row) => <Time at={row.updated_at} /> },
              ]}
            />
          )
        }
      </Loaded>
    </>
  );
}
