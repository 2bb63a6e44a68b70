// The check that the playground fires: what a policy asks for, as a caller would send it. Pure functions.
import type { Check } from "./calls";

// The dimensions that a check may have besides resource and subject. An agent fills in org, tenant and api_key itself.
export const kOtherDimensions = [
  "user", "method", "endpoint", "operation", "application", "service", "environment", "signal", "client", "client_id",
  "source_ip", "region", "severity", "span_name", "topic", "consumer_group", "job_type", "priority",
] as const;

const kOwn = /^(tag|attr)\..+$/;

const isOther = (name: string): boolean => kOwn.test(name) || (kOtherDimensions as readonly string[]).includes(name);

export interface Judge {
  readonly scope?: unknown;
  readonly match_expr?: unknown;
  readonly key_by?: unknown;
  readonly limits?: unknown;
}

const listOf = (value: unknown): readonly string[] =>
  (Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]).map(String);

// Names of dimensions in a condition; those in quoted values are not looked for. What it names too much is only one field more.
const namesIn = (expression: unknown): string[] =>
  typeof expression === "string" ? (expression.replace(/'[^']*'|"[^"]*"/g, "").match(/[a-z_]+(\.[A-Za-z0-9_.-]+)?/g) ?? []) : [];

// What a policy or plan matches or counts by, besides resource and subject, in the order in which it names them.
export function dimensionsOf(judge: Judge): string[] {
  const limits = Array.isArray(judge.limits) ? (judge.limits as Judge[]) : [];
  const named = [
    ...Object.keys((judge.scope as object | undefined) ?? {}),
    ...namesIn(judge.match_expr),
    ...listOf(judge.key_by),
    ...limits.flatMap((limit) => listOf(limit.key_by)),
  ];
  return [...new Set(named.filter(isOther))];
}

// A value that the scope's first pattern for this dimension matches: "GET:/users/{id}*" gives "GET:/users/11".
export function exampleOf(judge: Judge, name: string): string {
  const scope = (judge.scope as Record<string, unknown> | undefined) ?? {};
  const [pattern] = listOf(scope[name]);
  if (pattern === undefined) return name === "source_ip" ? "192.0.2.1" : name === "resource" ? "" : "playground";
  const value = name === "source_ip" ? pattern.replace(/\/.*$/, "") : pattern;
  return value.replace(/\{[^}]*\}|\*+/g, "1");
}

// `others`: values by the names of dimensions; an empty one is not sent.
export function checkOf(fields: { plan: string; resource: string; subject: string; cost: number; others: Readonly<Record<string, string>> }): Check {
  const check: Record<string, unknown> = {
    ...(fields.plan === "" ? {} : { plan_id: fields.plan }),
    ...(fields.resource === "" ? {} : { resource: fields.resource }),
    subject: fields.subject,
  };
  const own: Record<string, Record<string, string>> = {};
  for (const [name, value] of Object.entries(fields.others)) {
    const [kind, ...rest] = name.split(".");
    if (value === "") continue;
    if (rest.length === 0) check[name] = value;
    else (own[kind === "tag" ? "tags" : "attributes"] ??= {})[rest.join(".")] = value;
  }
  return { ...check, ...own, cost: fields.cost } as Check;
}
