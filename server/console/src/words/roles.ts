// Roles and scopes in words.
import type { Schema } from "../api/client";

export type Role = Schema<"Role">;

export const kRoles: readonly { readonly name: Role; readonly can: string }[] = [
  { name: "auditor", can: "reads everything in its scope" },
  { name: "operator", can: "also changes modes, rollouts, overrides and counters" },
  { name: "org_admin", can: "also changes plans, policies, keys and tokens of its organization" },
  { name: "platform_admin", can: "may do everything" },
];

// Of a token, a person or a mapping.
export function scopeText(holder: { readonly organization_id?: string; readonly tenant_ids: readonly string[] }): string {
  if (holder.tenant_ids.length > 0) return holder.tenant_ids.join(", ");
  return holder.organization_id ? `organization ${holder.organization_id}` : "the whole platform";
}
