// The first calls of README and guides with the clients that openapi-typescript makes.
import createClient from "openapi-fetch";
import type { paths as AgentPaths } from "./agent.js";
import type { paths as ServerPaths } from "./server.js";

const given = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
};
const made = <T>(value: T | undefined): T => {
  if (value === undefined) throw new Error("the call failed");
  return value;
};

const name = given("SLUICE_NAME");
const agent = createClient<AgentPaths>({ baseUrl: given("SLUICE_AGENT_URL"), headers: { "x-api-key": given("SLUICE_KEY") } });
const server = createClient<ServerPaths>({
  baseUrl: given("SLUICE_SERVER_URL"),
  headers: { authorization: `Bearer ${given("SLUICE_TOKEN")}` },
});

const check = { resource: "GET:/orders", subject: name, cost: 1 };
const allowed = await agent.POST("/v1/check", { body: check });
const denied = await agent.POST("/v1/check", { body: check });
// A decision, and not the text of `Accept: text/plain`, nor a problem.
const reason = (answer: object | string | undefined): unknown =>
  typeof answer === "object" && "reason" in answer ? answer.reason : undefined;

const organization = made((await server.POST("/v1/admin/organizations", { body: { id: name } })).data);
const tenant = made((await server.POST("/v1/admin/tenants", { body: { id: name, organization_id: organization.id } })).data);
const tenant_id = tenant.id;
const bucket = { algorithm: "token_bucket" as const, capacity: 100, refill: "20/s" };
made((await server.POST("/v1/admin/plans", { body: { tenant_id, id: "pro", limits: [bucket] } })).data);
const policy = made((await server.PUT("/v1/admin/policies/{id}", {
  params: { path: { id: "pay" }, query: { tenant_id } },
  body: { endpoint: "/v1/pay", strategy: "token_bucket", key_by: "api_key", limit: 100, window: "10s", fail_open: false },
})).data);
const plans = made((await server.GET("/v1/admin/plans", { params: { query: { tenant_id } } })).data);
const limit = plans.items[0]?.limits[0];
const refused = await server.POST("/v1/admin/plans", { body: { tenant_id, limits: [{ ...bucket, capacity: -1 }] } });

console.log(JSON.stringify({
  allowed: [allowed.response.status, reason(allowed.data)],
  denied: [denied.response.status, reason(denied.error)],
  plans: plans.items.map((plan) => plan.id),
  capacity: limit?.algorithm === "token_bucket" ? limit.capacity : null,
  policy: policy.limits?.[0]?.algorithm,
  problem: [refused.error?.status, refused.error?.errors?.[0]?.pointer],
}));
