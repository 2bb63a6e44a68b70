// Which service accounts of a Kubernetes cluster get the policies of which tenants.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, dataOf, type Schema } from "../api/client";
import { listBindings } from "../api/lists";
import { useQuery } from "../api/query";
import { mayAt } from "../session";
import { Confirm, say } from "../ui/dialog";
import { Empty, Heading, Loaded, Time } from "../ui/parts";
import { Table } from "../ui/table";

type Binding = Schema<"Binding">;

export function Bindings(): JSX.Element {
  const bindings = useQuery("bindings", listBindings, 15_000);
  const [removing, setRemoving] = useState<Binding | null>(null);
  const [making, setMaking] = useState(false);
  return (
    <>
      <Heading title="Bindings" below="Which Kubernetes service accounts get the policies of which tenants.">
        {mayAt("platform", "grant") && (
          <button type="button" class="primary" onClick={() => setMaking(true)}>
            New binding
          </button>
        )}
      </Heading>
      <Loaded query={bindings}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty
              title="There are no bindings"
              command={`curl -X POST "$SERVER/v1/admin/bindings" -H "Authorization: Bearer $ADMIN" -H 'content-type: application/json' -d '{"namespace":"shop","tenant_ids":["shop"]}'`}
            >
              Agents in a cluster need no token if their service account has a binding. To give the namespace shop a tenant:
            </Empty>
          ) : (
            <Table
              label="Bindings"
              rows={items}
              id={(row) => row.id}
              columns={[
                { name: "namespace", title: "Namespace", text: (row) => row.namespace, show: (row) => <code>{row.namespace}</code> },
                {
                  name: "account",
                  title: "Service account",
                  text: (row) => row.service_account ?? "*",
                  show: (row) => <code>{row.service_account ?? "*"}</code>,
                },
                {
                  name: "tenants",
                  title: "Tenants",
                  text: (row) => (row.tenant_ids ?? []).join(", "),
                  show: (row) => (row.tenant_ids ?? []).join(", ") || <span class="quiet">all of its organization</span>,
                },
                { name: "made", title: "Made", wide: true, text: (row) => row.created_at, show: (row) => <Time at={row.created_at} /> },
                {
                  name: "do",
                  title: "",
                  text: () => "",
                  show: (row) =>
                    mayAt("platform", "grant") && (
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
      {removing && (
        <Confirm
          title={`Delete the binding ${removing.id}`}
          verb="Delete"
          danger
          type={removing.id}
          close={() => setRemoving(null)}
          run={async () => {
            await dataOf(api.DELETE("/v1/admin/bindings/{id}", { params: { path: { id: removing.id } } }));
            const { id } = removing;
            say("The binding is deleted.", async () => {
              await dataOf(api.PUT("/v1/admin/bindings/{id}", { params: { path: { id } }, body: removing }));
              bindings.reload();
            });
            bindings.reload();
          }}
        >
          <p>Agents of this service account get no policies any more.</p>
        </Confirm>
      )}
      {making && <NewBinding close={() => setMaking(false)} done={bindings.reload} />}
    </>
  );
}

function NewBinding({ close, done }: { close: () => void; done: () => void }): JSX.Element {
  const [namespace, setNamespace] = useState("");
  const [account, setAccount] = useState("*");
  const [tenants, setTenants] = useState("");
  return (
    <Confirm
      title="New binding"
      verb="Make the binding"
      close={close}
      run={async () => {
        const ids = tenants.split(",").map((each) => each.trim()).filter((each) => each !== "");
        const body = { namespace, service_account: account, ...(ids.length === 0 ? {} : { tenant_ids: ids }) };
        await dataOf(api.POST("/v1/admin/bindings", { params: {}, body }));
        say("The binding is made.");
        done();
      }}
    >
      <label class="field">
        Namespace
        <input value={namespace} required onInput={(event) => setNamespace(event.currentTarget.value)} />
      </label>
      <label class="field">
        Service account
        <input value={account} onInput={(event) => setAccount(event.currentTarget.value)} />
        <small>* means every account without a binding of its own</small>
      </label>
      <label class="field">
        Tenants
        <input value={tenants} placeholder="ids with commas" onInput={(event) => setTenants(event.currentTarget.value)} />
      </label>
    </Confirm>
  );
}
