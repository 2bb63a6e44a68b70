// The fleet as it is now: the server tells what changes (server-sent events). Where a stream cannot be had, because too
// many are open or something between holds it back, the same is asked for again and again.
import { useEffect, useState } from "preact/hooks";
import { api, connection, dataOf, errorOf, type ApiError, type Schema, sessionEnded } from "./client";
import { listAgents } from "./lists";

export type Agent = Schema<"Agent">;
export type Enforcement = Schema<"FleetEnforcement">;
type AgentsEvent = Schema<"FleetAgents">;
type StaleEvent = Schema<"FleetStale">;

export interface Fleet {
  readonly agents: readonly Agent[] | undefined; // by id; undefined: not known yet, or not asked for
  readonly enforcement: Enforcement | undefined;
  // live: changes come by themselves. polling: they are asked for. lost: what is here is the last that came.
  readonly link: "connecting" | "live" | "polling" | "lost";
  readonly error: ApiError | undefined; // of the newest try, if it failed
}

export interface Wanted {
  readonly agents: boolean;
  readonly revision?: number; // whose enforcement; left out: of the newest revision
}

const kFirstEventMs = 6_000; // the first events come at once, unless something between holds them back
const kPollMs = 5_000;
const kPollsBeforeStream = 3; // then a stream is tried again

export const keyOf = (agent: { readonly id: string; readonly scope: Agent["scope"] }): string =>
  `${agent.id} ${agent.scope.organization_id ?? ""} ${agent.scope.tenant_ids.join()}`;

// Follows the fleet while the view is shown and its tab can be seen: browsers give a server six connections in all.
export function useFleet(wanted: Wanted): Fleet {
  const [fleet, setFleet] = useState<Fleet>({ agents: undefined, enforcement: undefined, link: "connecting", error: undefined });
  const { agents, revision } = wanted;
  useEffect(() => {
    let ended = false;
    const abort = new AbortController();
    let source: EventSource | undefined;
    let timer = 0;
    let polls = 0;
    let known = new Map<string, Agent>();

    const change = (parts: Partial<Fleet>): void => {
      if (!ended) setFleet((old) => ({ ...old, ...parts }));
    };
    const stop = (): void => {
      clearTimeout(timer);
      source?.close();
      source = undefined;
    };
    const later = (act: () => void, ms: number): void => {
      clearTimeout(timer);
      timer = window.setTimeout(act, ms);
    };

    const take = (event: AgentsEvent): void => {
      known = event.whole ? new Map() : new Map(known);
      for (const agent of event.items) known.set(keyOf(agent), agent);
      for (const gone of event.gone) known.delete(keyOf(gone));
      if (!event.more) change({ agents: [...known.values()].sort((left, right) => (left.id < right.id ? -1 : 1)) });
    };

    const follow = (): void => {
      stop();
      polls = 0;
      const query = new URLSearchParams({
        ...(agents ? {} : { only: "enforcement" }),
        ...(revision === undefined ? {} : { revision: String(revision) }),
      });
      const opened = new EventSource(`/v1/admin/fleet/events?${query}`);
      source = opened;
      const on = <Data>(name: string, act: (data: Data) => void): void =>
        opened.addEventListener(name, (event) => {
          if (ended || source !== opened) return;
          clearTimeout(timer);
          act(JSON.parse((event as MessageEvent<string>).data) as Data);
        });
      const live = (parts: Partial<Fleet>): void => {
        connection.value = "fine";
        change({ ...parts, link: "live", error: undefined });
      };
      on<AgentsEvent>("agents", (event) => {
        live({});
        take(event);
      });
      on<Enforcement>("enforcement", (enforcement) => live({ enforcement }));
      on<StaleEvent>("stale", ({ stale }) => {
        connection.value = stale ? "database_away" : "fine";
        change({ link: stale ? "lost" : "live" });
      });
      on<Schema<"Problem">>("end", ({ status }) => {
        stop();
        if (status === 401) sessionEnded.value = true;
        else void poll();
      });
      // While it is CONNECTING, the browser tries again by itself. A poll says meanwhile what is wrong.
      opened.onerror = () => {
        if (ended || source !== opened) return;
        change({ link: "lost" });
        if (opened.readyState === EventSource.CLOSED) stop();
        void poll();
      };
      later(() => {
        stop();
        void poll();
      }, kFirstEventMs);
    };

    // Asks once, and again later unless a stream is being tried meanwhile.
    const poll = async (): Promise<void> => {
      try {
        const [list, enforcement] = await Promise.all([agents ? listAgents(abort.signal) : undefined, enforcementOf(revision, abort.signal)]);
        if (ended) return;
        if (source === undefined) change({ ...(list === undefined ? {} : { agents: list.items }), enforcement, link: "polling", error: undefined });
      } catch (failure) {
        change({ link: "lost", error: errorOf(failure) });
      }
      if (ended || source !== undefined || document.hidden) return;
      later(() => (++polls < kPollsBeforeStream ? void poll() : follow()), kPollMs);
    };

    const seen = (): void => (document.hidden ? stop() : follow());
    document.addEventListener("visibilitychange", seen);
    seen();
    return () => {
      ended = true;
      abort.abort();
      stop();
      document.removeEventListener("visibilitychange", seen);
    };
  }, [agents, revision]);
  return fleet;
}

async function enforcementOf(revision: number | undefined, signal: AbortSignal): Promise<Enforcement> {
  const newest = revision ?? (await dataOf(api.GET("/v1/admin/revision", { signal }))).revision;
  const { current, enforced_by_all, agents } = await dataOf(
    api.GET("/v1/admin/revisions/{revision}", { signal, params: { path: { revision: newest } } }),
  );
  return { newest: current, revision: newest, enforced_by_all, agents };
}
