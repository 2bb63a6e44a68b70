// What a policy is for, in words.
import type { Schema } from "../api/client";

export type Policy = Schema<"PolicyDocument">;

// "GET:/orders", "user alice, region eu*"; every request if there is no scope.
export function scopeText(scope: Policy["scope"]): string {
  const parts = Object.entries(scope ?? {}).map(([name, value]) => {
    const text = Array.isArray(value) ? value.join(" or ") : String(value);
    return name === "resource" ? text : `${name} ${text}`;
  });
  return parts.length === 0 ? "every request" : parts.join(", ");
}

export const keyText = (keys: readonly string[] | undefined): string => {
  const all = keys ?? ["resource", "subject"];
  if (all.length === 0) return "one counter for all";
  return `one counter for each ${all.join(" and ")}`;
};
