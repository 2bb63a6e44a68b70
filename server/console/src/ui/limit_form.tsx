// The limits of a plan or policy: fields that know each algorithm, and what they say in words.
import type { JSX } from "preact";
import { kAlgorithms, limitText, type Algorithm, type Limit } from "../words/limits";
import { Field, NumberInput, SelectInput, TextInput, withMember, type Draft, type Verdict } from "./editor";

const kFresh: Record<Algorithm, Draft> = {
  token_bucket: { algorithm: "token_bucket", capacity: 60, refill: "1/s" },
  leaky_bucket: { algorithm: "leaky_bucket", capacity: 60, leak: "1/s" },
  fixed_window: { algorithm: "fixed_window", limit: 100, window: "1m" },
  sliding_window: { algorithm: "sliding_window", limit: 100, window: "1m" },
  sliding_window_log: { algorithm: "sliding_window_log", limit: 100, window: "1m" },
  concurrency: { algorithm: "concurrency", limit: 10, lease_ttl: "30s" },
  quota: { algorithm: "quota", limit: 10_000, period: "month" },
};

const kFields: Record<Algorithm, readonly { name: string; title: string; kind: "number" | "text"; hint: string }[]> = {
  token_bucket: [
    { name: "capacity", title: "At once", kind: "number", hint: "how many may come together" },
    { name: "refill", title: "Then", kind: "text", hint: "units and a time: 1/s, 10/minute, 7/3s" },
  ],
  leaky_bucket: [
    { name: "leak", title: "Pace", kind: "text", hint: "units and a time: 1/s, 10/minute" },
    { name: "capacity", title: "Queue", kind: "number", hint: "how many may wait" },
  ],
  fixed_window: [
    { name: "limit", title: "Limit", kind: "number", hint: "how many in each window" },
    { name: "window", title: "Window", kind: "text", hint: "10s, 1m, 1h, 1d" },
  ],
  sliding_window: [
    { name: "limit", title: "Limit", kind: "number", hint: "how many in any such time" },
    { name: "window", title: "Window", kind: "text", hint: "10s, 1m, 1h, 1d" },
  ],
  sliding_window_log: [
    { name: "limit", title: "Limit", kind: "number", hint: "how many in any such time, up to 10,000" },
    { name: "window", title: "Window", kind: "text", hint: "10s, 1m, 1h, 1d" },
  ],
  concurrency: [
    { name: "limit", title: "At the same time", kind: "number", hint: "up to 10,000" },
    { name: "lease_ttl", title: "Lease", kind: "text", hint: "a lease that nobody releases ends after this time" },
  ],
  quota: [{ name: "limit", title: "Quota", kind: "number", hint: "how many in each period" }],
};

export function LimitList({ draft, change, verdict }: { draft: Draft; change: (draft: Draft) => void; verdict: Verdict }): JSX.Element {
  const limits = Array.isArray(draft["limits"]) ? (draft["limits"] as Draft[]) : [];
  const set = (next: Draft[]): void => change(withMember(draft, "limits", next));
  return (
    <fieldset>
      <legend>Limits</legend>
      {limits.map((limit, index) => (
        <LimitFields
          key={index}
          limit={limit}
          pointer={`/limits/${index}`}
          verdict={verdict}
          change={(next) => set(limits.map((each, at) => (at === index ? next : each)))}
          remove={() => set(limits.filter((_, at) => at !== index))}
        />
      ))}
      <button type="button" class="small" onClick={() => set([...limits, kFresh.token_bucket])}>
        Add a limit
      </button>
      {limits.length > 1 && <p class="quiet">A request must fit into all of them; then all are charged together.</p>}
    </fieldset>
  );
}

function LimitFields({ limit, pointer, verdict, change, remove }: {
  limit: Draft;
  pointer: string;
  verdict: Verdict;
  change: (limit: Draft) => void;
  remove: () => void;
}): JSX.Element {
  const algorithm = limit["algorithm"] as Algorithm;
  const fields = kFields[algorithm] ?? [];
  const known = kAlgorithms.find((each) => each.name === algorithm);
  const choose = (next: Algorithm): void => {
    const kept = Object.fromEntries(Object.entries(limit).filter(([name]) => name === "name" || name === "unit" || name === "key_by"));
    change({ ...kept, ...kFresh[next] });
  };
  return (
    <div class="limit">
      <p class="words">{wordsOf(limit)}</p>
      <div class="row">
        <label class="field">
          Algorithm
          <select value={algorithm} onChange={(event) => choose(event.currentTarget.value as Algorithm)}>
            {kAlgorithms.map((each) => (
              <option key={each.name} value={each.name}>
                {each.title}
              </option>
            ))}
          </select>
          {known && <small>{known.when}</small>}
        </label>
        {fields.map((field) => (
          <Field key={field.name} title={field.title} pointer={`${pointer}/${field.name}`} verdict={verdict} hint={field.hint}>
            {field.kind === "number" ? (
              <NumberInput draft={limit} name={field.name} change={change} />
            ) : (
              <TextInput draft={limit} name={field.name} change={change} />
            )}
          </Field>
        ))}
        {algorithm === "fixed_window" && (
          <Field title="Begins" pointer={`${pointer}/align`} verdict={verdict}>
            <SelectInput draft={limit} name="align" change={change} options={["epoch", "first"]} fallback="epoch" />
          </Field>
        )}
        {algorithm === "quota" && (
          <Field title="Period" pointer={`${pointer}/period`} verdict={verdict}>
            <SelectInput draft={limit} name="period" change={change} options={["hour", "day", "week", "month", "year"]} fallback="" />
          </Field>
        )}
        <Field title="Name" pointer={`${pointer}/name`} verdict={verdict}>
          <TextInput draft={limit} name="name" change={change} placeholder={algorithm} />
        </Field>
        <button type="button" class="small" onClick={remove} aria-label={`Remove the limit ${String(limit["name"] ?? algorithm)}`}>
          Remove
        </button>
      </div>
    </div>
  );
}

function wordsOf(limit: Draft): string {
  try {
    return limitText(limit as unknown as Limit);
  } catch {
    return "…"; // a field is not filled in yet
  }
}
