// The outcomes of decisions as the analytics name them, in the groups that the console draws.
export interface Group {
  readonly title: string;
  readonly color: string; // a custom property of the style sheet
  readonly outcomes: readonly string[];
}

export const kGroups: readonly Group[] = [
  {
    title: "allowed",
    color: "--good",
    outcomes: ["allowed", "delayed", "sampled", "downgraded", "passed", "no_policy", "mode_off", "shadow"],
  },
  { title: "denied", color: "--bad", outcomes: ["denied", "dropped", "no_policy_denied"] },
  {
    title: "by failure mode",
    color: "--warn",
    outcomes: ["failed_open", "failed_closed", "degraded_allowed", "degraded_denied"],
  },
];

// Outcomes of checks that no counter judged, in words.
export const kFailureOutcomes: Readonly<Record<string, string>> = {
  failed_open: "let through (fail_open)",
  failed_closed: "refused with 503 (fail_closed)",
  degraded_allowed: "let through by the local limits (fail_degrade)",
  degraded_denied: "denied by the local limits (fail_degrade)",
};

// A shadow policy that was judged beside the deciding one: no answer of its own.
export const isShadow = (outcome: string): boolean => outcome === "shadow_allowed" || outcome === "shadow_denied";

export const groupOf = (outcome: string): number => kGroups.findIndex((group) => group.outcomes.includes(outcome));
