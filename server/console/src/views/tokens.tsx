// Admin tokens and agent tokens: who may change what, and which agents may fetch policies.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, dataOf, type Schema } from "../api/client";
import { listAgentTokens, listTokens } from "../api/lists";
import { useQuery } from "../api/query";
import { may } from "../session";
import { Confirm, say, ShownOnce } from "../ui/dialog";
import { Badge, Heading, Loaded, Time } from "../ui/parts";
import { Table } from "../ui/table";
import { kRoles, scopeText, type Role } from "../words/roles";
import { timeText } from "../words/time";

type Token = Schema<"Token">;
type AgentToken = Schema<"AgentToken">;

export function Tokens(): JSX.Element {
  const tokens = useQuery("tokens", listTokens, 15_000);
  const agents = useQuery("agent-tokens", listAgentTokens, 15_000);
  const [making, setMaking] = useState<"admin" | "agent" | null>(null);
  const [revoking, setRevoking] = useState<{ kind: "admin" | "agent"; token: Token | AgentToken } | null>(null);
  const [shown, setShown] = useState("");
  const revoke = (kind: "admin" | "agent") => (token: Token | AgentToken) => setRevoking({ kind, token });
  return (
    <>
      <Heading title="Tokens" below="Admin tokens give access to this console and its API; with agent tokens agents fetch their policies." />
      <section>
        <header class="heading">
          <h2>Admin tokens</h2>
          {may("grant") && (
            <button type="button" class="primary" onClick={() => setMaking("admin")}>
              New admin token
            </button>
          )}
        </header>
        <Loaded query={tokens}>
          {({ items }) => (
            <Table
              label="Admin tokens"
              rows={items}
              id={(row) => row.id}
              columns={[
                { name: "name", title: "Name", text: (row) => row.name ?? "", show: (row) => row.name || <code>{row.id}</code> },
                { name: "role", title: "Role", text: (row) => row.role, show: (row) => row.role },
                { name: "scope", title: "Scope", wide: true, text: scopeText, show: scopeText },
                { name: "state", title: "State", text: stateText, show: (row) => <State token={row} /> },
                { name: "used", title: "Last used", text: (row) => row.last_used_at ?? "", show: (row) => <Time at={row.last_used_at} /> },
                { name: "made", title: "Made", wide: true, text: (row) => row.created_at, show: (row) => <Time at={row.created_at} /> },
                { name: "do", title: "", text: () => "", show: (row) => <RevokeButton token={row} revoke={revoke("admin")} /> },
              ]}
            />
          )}
        </Loaded>
      </section>
      <section>
        <header class="heading">
          <h2>Agent tokens</h2>
          {may("grant") && (
            <button type="button" class="primary" onClick={() => setMaking("agent")}>
              New agent token
            </button>
          )}
        </header>
        <Loaded query={agents}>
          {({ items }) => (
            <Table
              label="Agent tokens"
              rows={items}
              id={(row) => row.id}
              columns={[
                { name: "name", title: "Name", text: (row) => row.name ?? "", show: (row) => row.name || <code>{row.id}</code> },
                { name: "scope", title: "Scope", text: scopeText, show: scopeText },
                { name: "state", title: "State", text: stateText, show: (row) => <State token={row} /> },
                { name: "made", title: "Made", wide: true, text: (row) => row.created_at, show: (row) => <Time at={row.created_at} /> },
                { name: "do", title: "", text: () => "", show: (row) => <RevokeButton token={row} revoke={revoke("agent")} /> },
              ]}
            />
          )}
        </Loaded>
      </section>
      {making && (
        <NewToken
          kind={making}
          close={() => setMaking(null)}
          made={setShown}
          done={() => {
            tokens.reload();
            agents.reload();
          }}
        />
      )}
      {revoking && (
        <Confirm
          title={`Revoke ${revoking.token.name || revoking.token.id}`}
          verb="Revoke"
          danger
          type={revoking.token.id}
          close={() => setRevoking(null)}
          run={async () => {
            const params = { path: { id: revoking.token.id } };
            await (revoking.kind === "admin"
              ? dataOf(api.DELETE("/v1/admin/tokens/{id}", { params }))
              : dataOf(api.DELETE("/v1/admin/agent-tokens/{id}", { params })));
            say("The token is revoked.");
            tokens.reload();
            agents.reload();
          }}
        >
          <p>
            {revoking.kind === "admin"
              ? "Whoever uses it is signed out at once."
              : "Agents that use it keep their policies, and learn of no change any more."}
          </p>
        </Confirm>
      )}
      {shown !== "" && <ShownOnce title="The new token" what="token" text={shown} close={() => setShown("")} />}
    </>
  );
}

function stateText(token: Token | AgentToken): string {
  if (token.revoked) return "revoked";
  if (token.expires_at && Date.parse(token.expires_at) < Date.now()) return "expired";
  return token.expires_at ? `until ${timeText(token.expires_at)}` : "valid";
}

function State({ token }: { token: Token | AgentToken }): JSX.Element {
  const text = stateText(token);
  return <Badge tone={text === "revoked" || text === "expired" ? "bad" : "good"}>{text}</Badge>;
}

function RevokeButton<T extends Token | AgentToken>({ token, revoke }: { token: T; revoke: (token: T) => void }): JSX.Element | null {
  if (!may("grant") || token.revoked) return null;
  return (
    <button type="button" class="small danger" onClick={() => revoke(token)}>
      Revoke
    </button>
  );
}

function NewToken({ kind, close, made, done }: {
  kind: "admin" | "agent";
  close: () => void;
  made: (token: string) => void;
  done: () => void;
}): JSX.Element {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("auditor");
  const [organization, setOrganization] = useState("");
  const [tenants, setTenants] = useState("");
  return (
    <Confirm
      title={kind === "admin" ? "New admin token" : "New agent token"}
      verb="Make the token"
      close={close}
      run={async () => {
        const ids = tenants.split(",").map((each) => each.trim()).filter((each) => each !== "");
        const body = {
          name,
          ...(organization === "" ? {} : { organization_id: organization }),
          ...(ids.length === 0 ? {} : { tenant_ids: ids }),
        };
        const answer = await (kind === "admin"
          ? dataOf(api.POST("/v1/admin/tokens", { params: {}, body: { ...body, role } }))
          : dataOf(api.POST("/v1/admin/agent-tokens", { params: {}, body })));
        made(answer.token ?? "");
        done();
      }}
    >
      <label class="field">
        Name
        <input value={name} required placeholder="who it is for" onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      {kind === "admin" && (
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
      )}
      <label class="field">
        Organization
        <input value={organization} placeholder="the whole platform" onInput={(event) => setOrganization(event.currentTarget.value)} />
      </label>
      <label class="field">
        Tenants
        <input value={tenants} placeholder="all of them; or ids with commas" onInput={(event) => setTenants(event.currentTarget.value)} />
      </label>
    </Confirm>
  );
}
