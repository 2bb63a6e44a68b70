// Tenants, with the mode of each and of the whole platform.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, dataOf, type Schema } from "../api/client";
import { listTenants } from "../api/lists";
import { useQuery } from "../api/query";
import { link } from "../router";
import { may, mayAt } from "../session";
import { Confirm, say } from "../ui/dialog";
import { Empty, Heading, Loaded, ModeBadge, Time } from "../ui/parts";
import { Table } from "../ui/table";
import type { Mode } from "./policies";

type Tenant = Schema<"Tenant">;

const kMeaning: Record<Mode, string> = {
  enforce: "Its policies decide as they say.",
  shadow: "Nothing is denied; what would be denied is counted.",
  off: "Nothing is counted, and every request is allowed.",
};

export function Tenants(): JSX.Element {
  const tenants = useQuery("tenants", listTenants, 15_000);
  const modes = useQuery("modes", (signal) => dataOf(api.GET("/v1/admin/modes", { signal, params: { query: { limit: 1000 } } })), 15_000);
  const [change, setChange] = useState<{ tenant: string | null; from: Mode } | null>(null);
  const [making, setMaking] = useState(false);
  const [removing, setRemoving] = useState<Tenant | null>(null);
  const effective = new Map((modes.data?.items ?? []).map((each) => [each.tenant_id, each]));
  return (
    <>
      <Heading title="Tenants" below="Customers or teams; each has its own plans, policies and keys.">
        {mayAt("organization", "configure") && (
          <button type="button" class="primary" onClick={() => setMaking(true)}>
            New tenant
          </button>
        )}
      </Heading>
      <Loaded query={modes}>
        {(data) => (
          <p>
            The whole platform: <ModeBadge mode={data.global.mode} />{" "}
            {mayAt("platform", "operate") && (
              <button type="button" class="small" onClick={() => setChange({ tenant: null, from: data.global.mode })}>
                Change
              </button>
            )}
          </p>
        )}
      </Loaded>
      <Loaded query={tenants}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="There are no tenants yet">A tenant is whoever has limits of its own: a customer, a team, an application.</Empty>
          ) : (
            <Table<Tenant>
              label="Tenants"
              rows={items}
              id={(row) => row.id}
              columns={[
                { name: "id", title: "Tenant", text: (row) => row.id, show: (row) => <a href={link("/", { tenant: row.id })}>{row.name || row.id}</a> },
                { name: "organization", title: "Organization", wide: true, text: (row) => row.organization_id, show: (row) => row.organization_id },
                {
                  name: "mode",
                  title: "Mode",
                  text: (row) => effective.get(row.id)?.effective ?? "",
                  show: (row) => (
                    <>
                      <ModeBadge mode={effective.get(row.id)?.effective ?? row.mode} />
                      {may("operate") && (
                        <button type="button" class="small" onClick={() => setChange({ tenant: row.id, from: effective.get(row.id)?.mode ?? "enforce" })}>
                          Change
                        </button>
                      )}
                    </>
                  ),
                },
                { name: "updated", title: "Changed", wide: true, text: (row) => row.updated_at, show: (row) => <Time at={row.updated_at} /> },
                {
                  name: "do",
                  title: "",
                  text: () => "",
                  show: (row) =>
                    mayAt("organization", "configure") && (
                      <button type="button" class="small danger" onClick={() => setRemoving(row)}>
                        Delete
                      </button>
                    ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {change && (
        <ChangeMode
          tenant={change.tenant}
          from={change.from}
          close={() => setChange(null)}
          done={() => {
            modes.reload();
            tenants.reload();
          }}
        />
      )}
      {removing && (
        <Confirm
          title={`Delete the tenant ${removing.id}`}
          verb="Delete"
          danger
          type={removing.id}
          close={() => setRemoving(null)}
          run={async () => {
            const { id } = removing;
            await dataOf(api.DELETE("/v1/admin/tenants/{id}", { params: { path: { id }, header: { "If-Match": `"${removing.version}"` } } }));
            say(`The tenant ${id} is deleted.`, async () => {
              await dataOf(api.PUT("/v1/admin/tenants/{id}", { params: { path: { id } }, body: removing }));
              tenants.reload();
            });
            tenants.reload();
          }}
        >
          <p>Only a tenant without plans, policies, keys, overrides, tokens and bindings can be deleted.</p>
        </Confirm>
      )}
      {making && <NewTenant close={() => setMaking(false)} done={tenants.reload} />}
    </>
  );
}

function ChangeMode({ tenant, from, close, done }: { tenant: string | null; from: Mode; close: () => void; done: () => void }): JSX.Element {
  const [mode, setMode] = useState<Mode>(from === "enforce" ? "shadow" : "enforce");
  const set = async (wanted: Mode): Promise<void> => {
    const body = { mode: wanted };
    await (tenant === null
      ? dataOf(api.PUT("/v1/admin/modes/global", { params: {}, body }))
      : dataOf(api.PUT("/v1/admin/modes/tenants/{id}", { params: { path: { id: tenant } }, body })));
    done();
  };
  return (
    <Confirm
      title={tenant === null ? "The mode of the whole platform" : `The mode of ${tenant}`}
      verb="Change the mode"
      danger
      {...(tenant === null ? { type: mode } : {})}
      close={close}
      run={async () => {
        await set(mode);
        say(`The mode is ${mode}.`, () => set(from));
      }}
    >
      <select aria-label="Mode" value={mode} onChange={(event) => setMode(event.currentTarget.value as Mode)}>
        <option value="enforce">enforce</option>
        <option value="shadow">shadow</option>
        <option value="off">off</option>
      </select>
      <p>{kMeaning[mode]}</p>
    </Confirm>
  );
}

function NewTenant({ close, done }: { close: () => void; done: () => void }): JSX.Element {
  const organizations = useQuery("organizations", (signal) =>
    dataOf(api.GET("/v1/admin/organizations", { signal, params: { query: { limit: 1000 } } })),
  );
  const [id, setId] = useState("");
  const [name, setName] = useState("");
  const [organization, setOrganization] = useState("");
  const owner = organization || organizations.data?.items[0]?.id || "";
  return (
    <Confirm
      title="New tenant"
      verb="Make the tenant"
      close={close}
      run={async () => {
        await dataOf(
          api.POST("/v1/admin/tenants", {
            params: {},
            body: { organization_id: owner, ...(id === "" ? {} : { id }), ...(name === "" ? {} : { name }) },
          }),
        );
        say("The tenant is made.");
        done();
      }}
    >
      <label class="field">
        Organization
        <select value={owner} onChange={(event) => setOrganization(event.currentTarget.value)}>
          {(organizations.data?.items ?? []).map((each) => (
            <option key={each.id} value={each.id}>
              {each.name || each.id}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        Id
        <input value={id} onInput={(event) => setId(event.currentTarget.value)} />
      </label>
      <label class="field">
        Name
        <input value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </label>
    </Confirm>
  );
}
