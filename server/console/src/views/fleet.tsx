// The agents: what they enforce, how far they are behind, what they refuse.
import type { JSX } from "preact";
import { keyOf, useFleet, type Agent } from "../api/fleet";
import { param, setQuery } from "../router";
import { EnforcedText, LinkText } from "../ui/enforced";
import { Badge, Empty, Failure, Heading, Time, Waiting } from "../ui/parts";
import { Table } from "../ui/table";
import { spanText } from "../words/time";

export function Fleet(): JSX.Element {
  const fleet = useFleet({ agents: true });
  return (
    <>
      <Heading title="Fleet" below="The agents that report to the servers.">
        <LinkText link={fleet.link} />
      </Heading>
      {fleet.error && <Failure error={fleet.error} />}
      {fleet.enforcement && (
        <p role="status" aria-label="The newest revision">
          <EnforcedText what="Revision" enforcement={fleet.enforcement} />
        </p>
      )}
      <div class="filters" role="search">
        <input
          type="search"
          placeholder="Agent, pod or version"
          aria-label="Search in agents"
          value={param("q")}
          onInput={(event) => setQuery({ q: event.currentTarget.value })}
        />
        <select aria-label="State" value={param("state")} onChange={(event) => setQuery({ state: event.currentTarget.value })}>
          <option value="">All</option>
          <option value="live">live</option>
          <option value="missing">missing</option>
          <option value="troubled">with trouble</option>
        </select>
      </div>
      {fleet.agents === undefined ? (
        fleet.error === undefined && <Waiting />
      ) : fleet.agents.length === 0 ? (
        <Empty title="No agent has reported yet" command={`sluice-agent --server ${location.origin} --agent-token-file agent.token`}>
          Start an agent with a token of this server:
        </Empty>
      ) : (
        <Table
          label="Agents"
          rows={fleet.agents.filter(isWanted)}
          id={keyOf}
          columns={[
            { name: "id", title: "Agent", text: (row) => row.id, show: (row) => <code>{row.id}</code> },
            { name: "pod", title: "Pod", wide: true, text: (row) => row.pod ?? "", show: (row) => row.pod ?? "" },
            { name: "version", title: "Version", wide: true, text: (row) => row.version ?? "", show: (row) => row.version ?? "" },
            { name: "state", title: "State", text: (row) => row.status, show: (row) => <State agent={row} /> },
            {
              name: "revision",
              title: "Revision",
              number: true,
              text: (row) => row.revision ?? -1,
              show: (row) => row.revision ?? <span class="quiet">none</span>,
            },
            { name: "lag", title: "Behind", text: (row) => row.lag ?? -1, show: (row) => lagText(row) },
            { name: "report", title: "Last report", wide: true, text: (row) => row.last_report ?? "", show: (row) => <Time at={row.last_report} /> },
          ]}
        />
      )}
    </>
  );
}

function isWanted(agent: Agent): boolean {
  const text = `${agent.id} ${agent.pod ?? ""} ${agent.version ?? ""}`.toLowerCase();
  if (!text.includes(param("q").toLowerCase())) return false;
  switch (param("state")) {
    case "live":
    case "missing":
      return agent.status === param("state");
    case "troubled":
      return agent.degraded.length > 0 || agent.refusal !== null || agent.status !== "live";
    default:
      return true;
  }
}

function State({ agent }: { agent: Agent }): JSX.Element {
  return (
    <>
      <Badge tone={agent.status === "live" ? "good" : "bad"}>{agent.status}</Badge>
      {!agent.connected && agent.status === "live" && <Badge tone="warn">no watch</Badge>}
      {agent.refusal !== null && <Badge tone="bad">refuses a snapshot</Badge>}
      {agent.degraded.map((why) => (
        <small key={why} class="fault">
          {why}
        </small>
      ))}
    </>
  );
}

function lagText(agent: Agent): string {
  if (agent.lag === null) return "unknown";
  if (agent.lag === 0) return "no";
  return `${agent.lag} revisions, ${spanText(agent.lag_seconds ?? 0)}`;
}
