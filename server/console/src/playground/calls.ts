// Calls of the playground: with a session in the caller's scope, or of a visitor for the public tenant.
import { api, ApiError, dataOf, sessionEnded, type Schema } from "../api/client";

export type Check = Schema<"PlaygroundCheck">;
export type State = Schema<"PlaygroundState">;
export type LimiterState = Schema<"LimiterState">;

// Who plays. `key`: an API key of the tenant, if the server has none.
export type Player = { readonly visitor: true } | { readonly visitor: false; readonly tenant: string; readonly key: string };

export type Outcome = "allowed" | "denied" | "failed";

// One call with all that came of it.
export interface Shot {
  readonly outcome: Outcome; // failed: there is no decision
  readonly status: number; // of the agent; 0: it did not answer
  readonly agentMs: number; // from sending the check to the agent's whole answer; 0: none came
  readonly serverMs: number;
  readonly totalMs: number; // as this page measured it, with the wait for a connection of the browser
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
  readonly reason: string; // of the decision
  readonly remaining: number | null;
  readonly retryAfterMs: number | null;
  readonly problem: string; // why there is no decision
}

type Answer = Schema<"PlaygroundAnswer">;

export async function fire(player: Player, request: Check): Promise<Shot> {
  const began = performance.now();
  const took = (): number => performance.now() - began;
  try {
    const { data, error, response } = player.visitor
      ? await api.POST("/v1/playground/check", { body: { request } })
      : await api.POST("/v1/admin/playground/check", {
          body: { tenant_id: player.tenant, request, ...(player.key === "" ? {} : { key: player.key }) },
        });
    if (data !== undefined) return shotOf(data, took());
    if (response.status === 401) sessionEnded.value = true;
    return failed(detailOf(error) || `The server answered ${response.status}.`, took());
  } catch {
    return failed("The server does not answer.", took());
  }
}

const detailOf = (problem: unknown): string => {
  if (typeof problem !== "object" || problem === null) return "";
  const { detail, errors } = problem as { detail?: unknown; errors?: { pointer?: string; detail?: string }[] };
  const faults = (errors ?? []).map((each) => `${each.pointer ?? ""} ${each.detail ?? ""}`.trim());
  return faults.length > 0 ? faults.join("; ") : typeof detail === "string" ? detail : "";
};

const failed = (problem: string, totalMs: number): Shot => ({
  outcome: "failed", status: 0, agentMs: 0, serverMs: 0, totalMs, headers: [], body: "", reason: "", remaining: null, retryAfterMs: null, problem,
});

// The agent's answer to a check is a decision, or a problem such as an unknown API key.
export function shotOf(answer: Answer, totalMs: number): Shot {
  const decision = decisionOf(answer.body);
  const { allowed } = decision;
  return {
    outcome: allowed === undefined ? "failed" : allowed ? "allowed" : "denied",
    status: answer.status,
    agentMs: answer.agent_us / 1000,
    serverMs: answer.server_us / 1000,
    totalMs,
    headers: answer.headers as [string, string][],
    body: answer.body,
    reason: decision.reason ?? "",
    remaining: decision.remaining ?? null,
    retryAfterMs: decision.retry_after_ms ?? null,
    problem: allowed === undefined ? (decision.detail ?? `The agent answered ${answer.status} without a decision.`) : "",
  };
}

interface Decision {
  readonly allowed?: boolean;
  readonly reason?: string;
  readonly remaining?: number;
  readonly retry_after_ms?: number;
  readonly detail?: string;
}

function decisionOf(body: string): Decision {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === "object" && parsed !== null ? (parsed as Decision) : {};
  } catch {
    return {};
  }
}

export const readState = (player: Player, request: Check, signal: AbortSignal): Promise<State> =>
  player.visitor
    ? dataOf(api.POST("/v1/playground/state", { signal, body: { request } }))
    : dataOf(api.POST("/v1/admin/playground/state", { signal, body: { tenant_id: player.tenant, request } }));

// null: the playground needs signing in.
export async function publicPlayground(signal: AbortSignal): Promise<Schema<"PublicPlayground"> | null> {
  try {
    return await dataOf(api.GET("/v1/playground", { signal }));
  } catch (failure) {
    if (failure instanceof ApiError && failure.status === 403) return null;
    throw failure;
  }
}
