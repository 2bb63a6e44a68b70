// API keys: shown once, rotated with an overlap.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, dataOf, type Schema } from "../api/client";
import { listKeys } from "../api/lists";
import { useQuery } from "../api/query";
import { tenant } from "../router";
import { may } from "../session";
import { Confirm, say, ShownOnce } from "../ui/dialog";
import { Badge, Empty, Heading, Loaded, Time } from "../ui/parts";
import { Table } from "../ui/table";
import { timeText } from "../words/time";

type Key = Schema<"Key">;

export function Keys(): JSX.Element {
  const keys = useQuery(`keys ${tenant.value}`, (signal) => listKeys(tenant.value, signal), 15_000);
  const [making, setMaking] = useState(false);
  const [rotating, setRotating] = useState<Key | null>(null);
  const [revoking, setRevoking] = useState<Key | null>(null);
  const [shown, setShown] = useState("");
  return (
    <>
      <Heading title="API keys" below="With a key an application calls the agents. The server keeps only a hash of it.">
        {may("configure") && (
          <button type="button" class="primary" onClick={() => setMaking(true)}>
            New key
          </button>
        )}
      </Heading>
      <Loaded query={keys}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty
              title="There are no keys yet"
              command={`curl -X POST "$SERVER/v1/admin/keys" -H "Authorization: Bearer $ADMIN" -H 'content-type: application/json' -d '{"tenant_id":"demo","name":"prod-app"}'`}
            />
          ) : (
            <Table
              label="API keys"
              rows={items}
              id={(row) => row.id}
              columns={[
                { name: "name", title: "Name", text: (row) => row.name ?? "", show: (row) => row.name || <span class="quiet">no name</span> },
                { name: "id", title: "Id", text: (row) => row.id, show: (row) => <code>{row.id}</code> },
                { name: "tenant", title: "Tenant", wide: true, text: (row) => row.tenant_id, show: (row) => row.tenant_id },
                { name: "made", title: "Made", wide: true, text: (row) => row.created_at, show: (row) => <Time at={row.created_at} /> },
                { name: "used", title: "Last used", text: (row) => row.last_used_at ?? "", show: (row) => <Time at={row.last_used_at} /> },
                { name: "expires", title: "Expires", text: (row) => row.expires_at ?? "", show: (row) => <Expiry at={row.expires_at} /> },
                {
                  name: "do",
                  title: "",
                  text: () => "",
                  show: (row) =>
                    may("configure") && (
                      <>
                        <button type="button" class="small" onClick={() => setRotating(row)}>
                          Rotate
                        </button>
                        <button type="button" class="small danger" onClick={() => setRevoking(row)}>
                          Revoke
                        </button>
                      </>
                    ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {making && <NewKey close={() => setMaking(false)} made={setShown} done={keys.reload} />}
      {rotating && <Rotate of={rotating} close={() => setRotating(null)} made={setShown} done={keys.reload} />}
      {revoking && (
        <Confirm
          title={`Revoke ${revoking.name || revoking.id}`}
          verb="Revoke"
          danger
          type={revoking.id}
          close={() => setRevoking(null)}
          run={async () => {
            await dataOf(api.DELETE("/v1/admin/keys/{id}", { params: { path: { id: revoking.id } } }));
            say("The key is revoked; agents refuse it within seconds.");
            keys.reload();
          }}
        >
          <p>Applications that use it get 401 from then on.</p>
        </Confirm>
      )}
      {shown !== "" && <ShownOnce title="Your new key" what="key" text={shown} close={() => setShown("")} />}
    </>
  );
}

function Expiry({ at }: { at: string | undefined }): JSX.Element {
  if (at === undefined) return <span class="quiet">never</span>;
  const over = Date.parse(at) < Date.now();
  return <span title={timeText(at)}>{over ? <Badge tone="bad">expired</Badge> : timeText(at)}</span>;
}

async function makeKey(body: { tenant_id: string; name: string }): Promise<string> {
  const made = await dataOf(api.POST("/v1/admin/keys", { params: {}, body }));
  return made.key ?? "";
}

function NewKey({ close, made, done }: { close: () => void; made: (key: string) => void; done: () => void }): JSX.Element {
  const [name, setName] = useState("");
  const [owner, setOwner] = useState(tenant.value);
  return (
    <Confirm
      title="New key"
      verb="Make the key"
      close={close}
      run={async () => {
        made(await makeKey({ tenant_id: owner, name }));
        done();
      }}
    >
      <label class="field">
        Tenant
        <input value={owner} required onInput={(event) => setOwner(event.currentTarget.value)} />
      </label>
      <label class="field">
        Name
        <input value={name} placeholder="prod-app" onInput={(event) => setName(event.currentTarget.value)} />
      </label>
    </Confirm>
  );
}

const kOverlaps = [
  { title: "1 hour", hours: 1 },
  { title: "1 day", hours: 24 },
  { title: "7 days", hours: 168 },
] as const;

function Rotate({ of, close, made, done }: { of: Key; close: () => void; made: (key: string) => void; done: () => void }): JSX.Element {
  const [hours, setHours] = useState(24);
  return (
    <Confirm
      title={`Rotate ${of.name || of.id}`}
      verb="Make the new key"
      close={close}
      run={async () => {
        const key = await makeKey({ tenant_id: of.tenant_id, name: of.name ?? "" });
        await dataOf(
          api.PATCH("/v1/admin/keys/{id}", {
            params: { path: { id: of.id } },
            body: { expires_at: new Date(Date.now() + hours * 3_600_000).toISOString() },
          }),
        );
        made(key);
        done();
      }}
    >
      <p>A new key is made. The old one goes on working for:</p>
      <select aria-label="Overlap" value={hours} onChange={(event) => setHours(Number(event.currentTarget.value))}>
        {kOverlaps.map((each) => (
          <option key={each.hours} value={each.hours}>
            {each.title}
          </option>
        ))}
      </select>
    </Confirm>
  );
}
