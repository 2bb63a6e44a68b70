// Whole lists, page by page. A view shows at most kMost rows, and says when there are more.
import { api, dataOf, type Schema } from "./client";

const kPage = 1000;
const kMost = 20_000;

export interface List<Item> {
  readonly items: readonly Item[];
  readonly more: boolean;
}

interface Page<Item> {
  readonly items: readonly Item[];
  readonly next: string | null;
}

async function all<Item>(load: (cursor: { cursor?: string }) => Promise<Page<Item>>): Promise<List<Item>> {
  const items: Item[] = [];
  let next: string | null = null;
  do {
    const page: Page<Item> = await load(next === null ? {} : { cursor: next });
    items.push(...page.items);
    next = page.next;
  } while (next !== null && items.length < kMost);
  return { items, more: next !== null };
}

// Leaves a filter out that is "".
export const given = <Name extends string>(name: Name, value: string): { [Key in Name]?: string } =>
  (value === "" ? {} : { [name]: value }) as { [Key in Name]?: string };

export const listTenants = (signal: AbortSignal): Promise<List<Schema<"Tenant">>> =>
  all((at) => dataOf(api.GET("/v1/admin/tenants", { signal, params: { query: { limit: kPage, ...at } } })));

export const listPolicies = (tenant: string, signal: AbortSignal): Promise<List<Schema<"Policy">>> =>
  all((at) =>
    dataOf(api.GET("/v1/admin/policies", { signal, params: { query: { limit: kPage, ...given("tenant_id", tenant), ...at } } })),
  );

export const listPlans = (tenant: string, signal: AbortSignal): Promise<List<Schema<"Plan">>> =>
  all((at) =>
    dataOf(api.GET("/v1/admin/plans", { signal, params: { query: { limit: kPage, ...given("tenant_id", tenant), ...at } } })),
  );

export const listOverrides = (tenant: string, signal: AbortSignal): Promise<List<Schema<"OverrideDocument">>> =>
  all((at) =>
    dataOf(api.GET("/v1/admin/overrides", { signal, params: { query: { limit: kPage, ...given("tenant_id", tenant), ...at } } })),
  );

export const listKeys = (tenant: string, signal: AbortSignal): Promise<List<Schema<"Key">>> =>
  all((at) =>
    dataOf(api.GET("/v1/admin/keys", { signal, params: { query: { limit: kPage, ...given("tenant_id", tenant), ...at } } })),
  );

export const listTokens = (signal: AbortSignal): Promise<List<Schema<"Token">>> =>
  all((at) => dataOf(api.GET("/v1/admin/tokens", { signal, params: { query: { limit: kPage, ...at } } })));

export const listAgentTokens = (signal: AbortSignal): Promise<List<Schema<"AgentToken">>> =>
  all((at) => dataOf(api.GET("/v1/admin/agent-tokens", { signal, params: { query: { limit: kPage, ...at } } })));

export const listBindings = (signal: AbortSignal): Promise<List<Schema<"Binding">>> =>
  all((at) => dataOf(api.GET("/v1/admin/bindings", { signal, params: { query: { limit: kPage, ...at } } })));

export const listAgents = (signal: AbortSignal): Promise<List<Schema<"Agent">>> =>
  all((at) => dataOf(api.GET("/v1/admin/agents", { signal, params: { query: { limit: kPage, ...at } } })));
