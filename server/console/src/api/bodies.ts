// A draft as the body of a call. While it is edited it may break every rule, and then the server says which. So only its
// type's name is promised here: if the API has another body one day, these lines do not compile.
import type { Schema } from "./client";

// A document while it is edited.
export type Draft = Record<string, unknown>;

export const planBody = (draft: Draft): Schema<"PlanBody"> => draft as Schema<"PlanBody">;
export const policyBody = (draft: Draft): Schema<"PolicyBody"> => draft as Schema<"PolicyBody">;

// `tenant`: "" leaves it to the draft.
export function questionOf(kind: "plan" | "policy", tenant: string, draft: Draft): Schema<"PlanQuestion"> | Schema<"PolicyQuestion"> {
  const owner = tenant === "" ? {} : { tenant_id: tenant };
  return kind === "plan" ? { kind, ...owner, object: planBody(draft) } : { kind, ...owner, object: policyBody(draft) };
}
