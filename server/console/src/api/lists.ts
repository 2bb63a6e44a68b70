// Whole lists, page by page. A view shows at most kMost rows, and says when there are more.
import { api, dataOf, type Schema } from "./client";
import type { Load } from "./query";

const kFirstPage = 200; // fills a screen, and is there soon
const kPage = 1000;
const kMost = 20_000;

export interface List<Item> {
  readonly items: readonly Item[];
  readonly more: boolean; // than these: they are still being loaded, or there are more than kMost
  readonly loading?: boolean;
}

interface Page<Item> {
  readonly items: readonly Item[];
  readonly next: string | null;
}

interface At {
  readonly limit: number;
  readonly cursor?: string;
}

// `arrived` gets what is there after each page but the last.
async function all<Item>(load: (at: At) => Promise<Page<Item>>, arrived?: (list: List<Item>) => void): Promise<List<Item>> {
  const items: Item[] = [];
  let next: string | null = null;
  do {
    const limit: number = arrived !== undefined && next === null ? kFirstPage : kPage;
    const page: Page<Item> = await load(next === null ? { limit } : { limit, cursor: next });
    items.push(...page.items);
    next = page.next;
    if (next !== null) arrived?.({ items: [...items], more: true, loading: true });
  } while (next !== null && items.length < kMost);
  return { items, more: next !== null };
}

// Loads again only after a commit, because a list of ten thousand objects is megabytes. Made once for each list that is shown.
export function afterCommits<Data>(load: Load<Data>): Load<Data> {
  let kept: { readonly chain: string; readonly data: Data } | null = null;
  return async (signal, arrived) => {
    // Before the list: what is committed in between is loaded with it, and once more the next time.
    const { chain } = await dataOf(api.GET("/v1/admin/revision", { signal }));
    if (kept?.chain !== chain) kept = { chain, data: await load(signal, arrived) };
    return kept.data;
  };
}

// Leaves a filter out that is "".
export const given = <Name extends string>(name: Name, value: string): { [Key in Name]?: string } =>
  (value === "" ? {} : { [name]: value }) as { [Key in Name]?: string };

export const listTenants = (signal: AbortSignal): Promise<List<Schema<"Tenant">>> =>
  all((at) => dataOf(api.GET("/v1/admin/tenants", { signal, params: { query: at } })));

export const listPolicies = (
  tenant: string,
  signal: AbortSignal,
  arrived?: (list: List<Schema<"Policy">>) => void,
): Promise<List<Schema<"Policy">>> =>
  all(
    (at) => dataOf(api.GET("/v1/admin/policies", { signal, params: { query: { ...given("tenant_id", tenant), ...at } } })),
    arrived,
  );

export const listPlans = (tenant: string, signal: AbortSignal): Promise<List<Schema<"Plan">>> =>
  all((at) =>
    dataOf(api.GET("/v1/admin/plans", { signal, params: { query: { ...given("tenant_id", tenant), ...at } } })),
  );

export const listOverrides = (tenant: string, signal: AbortSignal): Promise<List<Schema<"OverrideDocument">>> =>
  all((at) =>
    dataOf(api.GET("/v1/admin/overrides", { signal, params: { query: { ...given("tenant_id", tenant), ...at } } })),
  );

export const listKeys = (tenant: string, signal: AbortSignal): Promise<List<Schema<"Key">>> =>
  all((at) =>
    dataOf(api.GET("/v1/admin/keys", { signal, params: { query: { ...given("tenant_id", tenant), ...at } } })),
  );

export const listTokens = (signal: AbortSignal): Promise<List<Schema<"Token">>> =>
  all((at) => dataOf(api.GET("/v1/admin/tokens", { signal, params: { query: at } })));

export const listAgentTokens = (signal: AbortSignal): Promise<List<Schema<"AgentToken">>> =>
  all((at) => dataOf(api.GET("/v1/admin/agent-tokens", { signal, params: { query: at } })));

export const listGroupMappings = (signal: AbortSignal): Promise<List<Schema<"GroupMapping">>> =>
  all((at) => dataOf(api.GET("/v1/admin/group-mappings", { signal, params: { query: at } })));

export const listBindings = (signal: AbortSignal): Promise<List<Schema<"Binding">>> =>
  all((at) => dataOf(api.GET("/v1/admin/bindings", { signal, params: { query: at } })));

export const listAgents = (signal: AbortSignal): Promise<List<Schema<"Agent">>> =>
  all((at) => dataOf(api.GET("/v1/admin/agents", { signal, params: { query: at } })));
