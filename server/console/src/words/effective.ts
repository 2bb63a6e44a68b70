// The limits in force for a request, in words.
import type { Schema } from "../api/client";
import { limitText } from "./limits";
import { timeText } from "./time";

export type Rulebook = Schema<"EffectiveRulebook">;
type EffectiveLimit = Schema<"EffectiveLimit">;

const kModes: Record<Rulebook["mode"], string> = {
  enforce: "It is enforced.",
  shadow: "It is judged and counted, and denies nothing.",
  off: "Its mode is off: it is not judged, and allows everything.",
};

const kActions: Record<string, string> = {
  allow: "Over a limit, requests still pass.",
  deny: "Over a limit, requests are denied.",
  delay: "Over a limit, requests are told to wait.",
  sample: "Over a limit, a share of requests passes.",
  drop: "Over a limit, requests are dropped.",
  downgrade: "Over a limit, requests are told to use something else.",
  drop_low_priority: "Over a limit, requests of low priority are dropped.",
  shadow_only: "Over a limit, requests still pass, and are reported.",
};

// How far the policy is in force now: mode, rollout, validity, and what happens over a limit.
export function forceText(rulebook: Rulebook): string {
  const sentences = [kModes[rulebook.mode]];
  if (rulebook.role === "decides" && rulebook.mode === "enforce") sentences.push(kActions[rulebook.action] ?? "");
  const rollout = rulebook.rollout_percent ?? 100;
  if (rollout < 100) sentences.push(`It applies to ${rollout} % of subjects, and this is one of them.`);
  if (rulebook.valid_from) sentences.push(`It is valid since ${timeText(rulebook.valid_from)}.`);
  if (rulebook.valid_to) sentences.push(`It ends at ${timeText(rulebook.valid_to)}.`);
  return sentences.filter((each) => each !== "").join(" ");
}

// "subject user:42 and resource GET:/orders"; whose counter a limit is.
export function identityText(identity: EffectiveLimit["identity"]): string {
  const parts = Object.entries(identity).map(([name, value]) => (value === null ? `requests without ${name}` : `${name} ${value}`));
  return parts.length === 0 ? "all requests together" : parts.join(" and ");
}

// What an override has changed; "" without one.
export function overrideText({ override }: EffectiveLimit): string {
  if (override === null) return "";
  const end = override.expires_at === null ? "without an end" : `until ${timeText(override.expires_at)}`;
  return `By the override ${override.id}, ${end}. Without it: ${limitText(override.instead_of)}.`;
}
