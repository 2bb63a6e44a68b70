// Which groups of the OpenID provider may sign in, and with which role and scope.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, dataOf, type Schema } from "../api/client";
import { listGroupMappings } from "../api/lists";
import { useQuery } from "../api/query";
import { may, session } from "../session";
import { Confirm, say } from "../ui/dialog";
import { Empty, Heading, Loaded, Time } from "../ui/parts";
import { Table } from "../ui/table";
import { kRoles, scopeText, type Role } from "../words/roles";

type GroupMapping = Schema<"GroupMapping">;

// Groups are the provider's, so only the platform maps them.
const mayMap = (): boolean => may("grant") && session.value?.organization_id === undefined;

export function Groups(): JSX.Element {
  const mappings = useQuery("group-mappings", listGroupMappings, 15_000);
  const [changing, setChanging] = useState<GroupMapping | "new" | null>(null);
  const [removing, setRemoving] = useState<GroupMapping | null>(null);
  return (
    <>
      <Heading title="Groups" below="Which groups of the OpenID provider may sign in here, and what their people may do.">
        {mayMap() && (
          <button type="button" class="primary" onClick={() => setChanging("new")}>
            New mapping
          </button>
        )}
      </Heading>
      <Loaded query={mappings}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty
              title="No group may sign in"
              command={`curl -X POST "$SERVER/v1/admin/group-mappings" -H "Authorization: Bearer $ADMIN" -H 'content-type: application/json' -d '{"group":"sluice-admins","role":"platform_admin"}'`}
            >
              On servers with --oidc-issuer, people sign in by the provider if one of their groups has a mapping. To make
              the group sluice-admins administrators:
            </Empty>
          ) : (
            <Table
              label="Groups"
              rows={items}
              id={(row) => row.id}
              columns={[
                { name: "group", title: "Group", text: (row) => row.group, show: (row) => <code>{row.group}</code> },
                { name: "role", title: "Role", text: (row) => row.role, show: (row) => row.role },
                { name: "scope", title: "Scope", text: scopeText, show: scopeText },
                { name: "made", title: "Made", wide: true, text: (row) => row.created_at, show: (row) => <Time at={row.created_at} /> },
                {
                  name: "do",
                  title: "",
                  text: () => "",
                  show: (row) =>
                    mayMap() && (
                      <>
                        <button type="button" class="small" onClick={() => setChanging(row)}>
                          Change
                        </button>{" "}
                        <button type="button" class="small danger" onClick={() => setRemoving(row)}>
                          Delete
                        </button>
                      </>
                    ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {removing && (
        <Confirm
          title={`Delete the mapping of ${removing.group}`}
          verb="Delete"
          danger
          type={removing.id}
          close={() => setRemoving(null)}
          run={async () => {
            const { id } = removing;
            await dataOf(api.DELETE("/v1/admin/group-mappings/{id}", { params: { path: { id } } }));
            say("The mapping is deleted.", async () => {
              await dataOf(api.PUT("/v1/admin/group-mappings/{id}", { params: { path: { id } }, body: removing }));
              mappings.reload();
            });
            mappings.reload();
          }}
        >
          <p>Whoever is signed in by it is signed out at once.</p>
        </Confirm>
      )}
      {changing && (
        <MappingForm before={changing === "new" ? null : changing} close={() => setChanging(null)} done={mappings.reload} />
      )}
    </>
  );
}

// `before`: null to make a new mapping. The organization of a mapping cannot change.
function MappingForm({ before, close, done }: { before: GroupMapping | null; close: () => void; done: () => void }): JSX.Element {
  const [group, setGroup] = useState(before?.group ?? "");
  const [role, setRole] = useState<Role>(before?.role ?? "auditor");
  const [organization, setOrganization] = useState(before?.organization_id ?? "");
  const [tenants, setTenants] = useState((before?.tenant_ids ?? []).join(", "));
  return (
    <Confirm
      title={before === null ? "New mapping" : `Change the mapping of ${before.group}`}
      verb={before === null ? "Make the mapping" : "Change it"}
      close={close}
      run={async () => {
        const ids = tenants.split(",").map((each) => each.trim()).filter((each) => each !== "");
        const body = { group, role, ...(organization === "" ? {} : { organization_id: organization }), tenant_ids: ids };
        if (before === null) {
          await dataOf(api.POST("/v1/admin/group-mappings", { params: {}, body }));
          say("The mapping is made.");
        } else {
          const params = { path: { id: before.id }, header: { "If-Match": `"${before.version}"` } };
          await dataOf(api.PUT("/v1/admin/group-mappings/{id}", { params, body }));
          say("The mapping is changed.");
        }
        done();
      }}
    >
      <label class="field">
        Group
        <input value={group} required placeholder="as the provider names it" onInput={(event) => setGroup(event.currentTarget.value)} />
      </label>
      <label class="field">
        Role
        <select value={role} onChange={(event) => setRole(event.currentTarget.value as Role)}>
          {kRoles.map((each) => (
            <option key={each.name} value={each.name}>
              {each.name}: {each.can}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        Organization
        <input
          value={organization}
          placeholder="the whole platform"
          disabled={before !== null}
          onInput={(event) => setOrganization(event.currentTarget.value)}
        />
      </label>
      <label class="field">
        Tenants
        <input value={tenants} placeholder="all of them; or ids with commas" onInput={(event) => setTenants(event.currentTarget.value)} />
      </label>
    </Confirm>
  );
}
