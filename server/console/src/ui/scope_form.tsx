// The scope of a policy, as rows of a dimension and its values; and the dimensions that name its counters.
import type { JSX } from "preact";
import { Field, withMember, type Draft, type Verdict } from "./editor";

export const kDimensions = [
  "resource", "subject", "user", "method", "endpoint", "operation", "application", "service", "environment", "signal",
  "client", "client_id", "source_ip", "region", "api_key", "severity", "span_name", "topic", "consumer_group", "job_type",
  "priority", "org", "tenant",
] as const;

export function DimensionNames(): JSX.Element {
  return (
    <datalist id="dimensions">
      {kDimensions.map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}

const valuesText = (value: unknown): string => (Array.isArray(value) ? value.map(String).join(", ") : String(value ?? ""));

function valuesOf(text: string): string | string[] {
  const values = text.split(",").map((each) => each.trim());
  return values.length === 1 ? (values[0] ?? "") : values.filter((each) => each !== "");
}

export function ScopeForm({ draft, change, verdict }: { draft: Draft; change: (draft: Draft) => void; verdict: Verdict }): JSX.Element {
  const scope = (typeof draft["scope"] === "object" && draft["scope"] !== null ? draft["scope"] : {}) as Record<string, unknown>;
  const rows = Object.entries(scope);
  const set = (next: [string, unknown][]): void =>
    change(withMember(draft, "scope", next.length === 0 ? undefined : Object.fromEntries(next)));
  return (
    <fieldset>
      <legend>For requests with</legend>
      <DimensionNames />
      {rows.length === 0 && <p class="quiet">Every request.</p>}
      {rows.map(([name, value], index) => (
        <div class="row" key={index}>
          <label class="field">
            Dimension
            <input
              list="dimensions"
              value={name}
              onChange={(event) => set(rows.map((row, at) => (at === index ? [event.currentTarget.value, row[1]] : row)))}
            />
          </label>
          <Field title="Value" pointer={`/scope/${name}`} verdict={verdict} hint="several with commas; * at the end matches the rest">
            <input
              value={valuesText(value)}
              onInput={(event) => set(rows.map((row, at) => (at === index ? [row[0], valuesOf(event.currentTarget.value)] : row)))}
            />
          </Field>
          <button type="button" class="small" aria-label={`Remove ${name} from the scope`} onClick={() => set(rows.filter((_, at) => at !== index))}>
            Remove
          </button>
        </div>
      ))}
      <button
        type="button"
        class="small"
        onClick={() => set([...rows, [kDimensions.find((name) => !(name in scope)) ?? "tag.", ""]])}
      >
        Add a condition
      </button>
    </fieldset>
  );
}

export function KeyForm({ draft, change, verdict }: { draft: Draft; change: (draft: Draft) => void; verdict: Verdict }): JSX.Element {
  return (
    <Field title="A counter for each" pointer="/key_by" verdict={verdict} hint="dimensions with commas: subject; or resource, subject">
      <input
        list="dimensions"
        value={valuesText(draft["key_by"] ?? ["resource", "subject"])}
        onChange={(event) => {
          const names = event.currentTarget.value.split(",").map((each) => each.trim()).filter((each) => each !== "");
          change(withMember(draft, "key_by", names));
        }}
      />
    </Field>
  );
}
