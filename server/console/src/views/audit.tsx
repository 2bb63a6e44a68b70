// Who changed what, when, from where.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, type ApiError, dataOf, errorOf, type Schema } from "../api/client";
import { given } from "../api/lists";
import { useQuery } from "../api/query";
import { param, setQuery, tenant } from "../router";
import { Badge, Empty, Failure, Heading, Loaded } from "../ui/parts";
import { range, RangePicker, sinceOf } from "../ui/range";
import { CopyCsv } from "../ui/table";
import { Diff } from "../ui/versions";
import { timeText } from "../words/time";
import { Verify } from "./verify";

type Entry = Schema<"AuditEntry">;
type Kind = Schema<"Kind">;

const kKinds: readonly Kind[] = ["organization", "tenant", "plan", "policy", "override", "key", "token", "agent-token", "binding"];
const kPage = 100;

const load = (cursor: string, signal?: AbortSignal): Promise<Schema<"AuditEntries">> =>
  dataOf(
    api.GET("/v1/admin/audit", {
      ...(signal ? { signal } : {}),
      params: {
        query: {
          limit: kPage,
          since: sinceOf(range()),
          ...given("tenant_id", tenant.value),
          ...(param("kind") === "" ? {} : { kind: param("kind") as Kind }),
          ...given("object_id", param("object")),
          ...given("actor_id", param("actor")),
          ...given("cursor", cursor),
        },
      },
    }),
  );

export function Audit(): JSX.Element {
  const key = `${tenant.value} ${range().name} ${param("kind")} ${param("object")} ${param("actor")}`;
  const first = useQuery(`audit ${key}`, (signal) => load("", signal));
  return (
    <>
      <Heading title="Audit" below="Every change, in a chain of hashes that nobody can alter unseen.">
        <RangePicker />
      </Heading>
      <div class="filters" role="search">
        <select aria-label="Kind" value={param("kind")} onChange={(event) => setQuery({ kind: event.currentTarget.value }, false)}>
          <option value="">All kinds</option>
          {kKinds.map((kind) => (
            <option key={kind} value={kind}>
              {kind}
            </option>
          ))}
        </select>
        <input
          placeholder="Id of the object"
          aria-label="Object"
          value={param("object")}
          onChange={(event) => setQuery({ object: event.currentTarget.value }, false)}
        />
        <input
          placeholder="Id of the token"
          aria-label="Actor"
          value={param("actor")}
          onChange={(event) => setQuery({ actor: event.currentTarget.value }, false)}
        />
      </div>
      <Loaded query={first}>{(data) => <Entries key={key} first={data} />}</Loaded>
      <Verify />
    </>
  );
}

const kCsv: readonly { readonly title: string; readonly text: (entry: Entry) => string | number }[] = [
  { title: "At", text: (entry) => entry.at },
  { title: "Action", text: (entry) => entry.action },
  { title: "Kind", text: (entry) => entry.kind },
  { title: "Object", text: (entry) => entry.object_id },
  { title: "Tenant", text: (entry) => entry.tenant_id ?? "" },
  { title: "Organization", text: (entry) => entry.organization_id ?? "" },
  { title: "Actor", text: (entry) => entry.actor_id },
  { title: "Role", text: (entry) => entry.actor_role },
  { title: "Source", text: (entry) => entry.source },
  { title: "Request", text: (entry) => entry.request_id },
  { title: "Revision", text: (entry) => entry.revision },
  { title: "Entry", text: (entry) => entry.seq },
];

function Entries({ first }: { first: Schema<"AuditEntries"> }): JSX.Element {
  const [more, setMore] = useState<readonly Entry[]>([]);
  const [next, setNext] = useState(first.next);
  const [error, setError] = useState<ApiError | null>(null);
  const items = [...first.items, ...more];
  const loadMore = async (): Promise<void> => {
    try {
      const page = await load(next ?? "");
      setMore((old) => [...old, ...page.items]);
      setNext(page.next);
      setError(null);
    } catch (failure) {
      setError(errorOf(failure));
    }
  };
  if (items.length === 0) return <Empty title="Nothing was changed in this time" />;
  return (
    <>
      <ol class="versions">
        {items.map((entry) => (
          <li key={`${entry.organization_id}/${entry.seq}`}>
            <details>
              <summary>
                <time dateTime={entry.at}>{timeText(entry.at)}</time> <Badge tone={entry.action === "delete" || entry.action === "revoke" ? "bad" : "calm"}>{entry.action}</Badge>{" "}
                {entry.kind} <b>{entry.object_id}</b> {entry.tenant_id && <span class="quiet">of {entry.tenant_id}</span>}{" "}
                <span class="quiet">
                  by {entry.actor_id} ({entry.actor_role})
                </span>
              </summary>
              <p class="quiet">
                From {entry.source}, request <code>{entry.request_id}</code>, revision {entry.revision}, entry {entry.seq} of{" "}
                {entry.organization_id ?? "the platform"}
              </p>
              <Diff before={entry.before} after={entry.after} />
            </details>
          </li>
        ))}
      </ol>
      <CopyCsv rows={items} columns={kCsv} />
      {error && <Failure error={error} />}
      {next !== null && (
        <button type="button" onClick={() => void loadMore()}>
          Older entries
        </button>
      )}
    </>
  );
}
