// Who would judge a request, and why every other policy would not. Nothing is counted.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api, ApiError, dataOf, type Schema } from "../api/client";
import { link, param, setQuery, tenant } from "../router";
import { Badge, Code, Failure, Heading, ModeBadge, type Tone } from "../ui/parts";

type Explained = Schema<"Explained">;

const kExample = '{\n  "resource": "GET:/orders",\n  "subject": "user:42"\n}';

const kTones: Record<string, Tone> = { decides: "good", shadow_judged: "warn", shadow_not_judged: "calm" };

export function Explain(): JSX.Element {
  const [answer, setAnswer] = useState<Explained | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const text = param("request") || kExample;
  const ask = async (): Promise<void> => {
    setError(null);
    try {
      const request = JSON.parse(text) as Schema<"Check">;
      const body = { request, ...(tenant.value === "" ? {} : { tenant_id: tenant.value }) };
      setAnswer(await dataOf(api.POST("/v1/admin/explain", { params: {}, body })));
    } catch (failure) {
      setAnswer(null);
      const detail = failure instanceof SyntaxError ? `The request is no JSON yet: ${failure.message}.` : String(failure);
      setError(failure instanceof ApiError ? failure : new ApiError(0, "invalid", detail, "", []));
    }
  };
  // A request that the address brings, after a reload or from a link, is explained at once: nothing is counted.
  useEffect(() => {
    if (param("request") !== "") void ask();
  }, []);
  const submit = (event: Event): void => {
    event.preventDefault();
    setQuery({ request: text });
    void ask();
  };
  return (
    <>
      <Heading title="Explain" below="Who would judge this request, and why. Nothing is counted." />
      <form onSubmit={submit} class="narrow">
        <label class="field">
          The check, as an application sends it
          <textarea
            class="code"
            rows={8}
            value={text}
            spellcheck={false}
            onInput={(event) => setQuery({ request: event.currentTarget.value })}
          />
        </label>
        <div class="actions">
          <button type="submit" class="primary">
            Explain
          </button>
        </div>
      </form>
      {error && <Failure error={error} />}
      {answer && <Verdict answer={answer} check={text} />}
    </>
  );
}

function Verdict({ answer, check }: { answer: Explained; check: string }): JSX.Element {
  const { allowed } = answer;
  return (
    <>
      <section class="card" aria-live="polite">
        <p>
          <Badge tone={allowed === null ? "calm" : allowed ? "good" : "bad"}>
            {allowed === null ? "the counters decide" : allowed ? "allowed" : "denied"}
          </Badge>{" "}
          {answer.policy_id ? (
            <>
              by the policy{" "}
              <a href={link(`/policies/${encodeURIComponent(answer.policy_id)}`, { tenant: answer.tenant_id })}>{answer.policy_id}</a>, version{" "}
              {answer.policy_version}
            </>
          ) : answer.plan_id ? (
            <>
              by the plan <a href={link(`/plans/${encodeURIComponent(answer.plan_id)}`, { tenant: answer.tenant_id })}>{answer.plan_id}</a>
            </>
          ) : (
            "by no policy"
          )}{" "}
          <ModeBadge mode={answer.mode} /> <span class="quiet">reason {answer.reason}</span>
        </p>
        {answer.missing && (
          <p class="notice">
            The check lacks <code>{answer.missing}</code>, which this policy counts by. An agent would refuse it.
          </p>
        )}
        {(answer.uncounted_units?.length ?? 0) > 0 && (
          <p class="notice">No limit counts {answer.uncounted_units?.map((each) => JSON.stringify(each)).join(", ")}.</p>
        )}
      </section>
      <h2>Candidates</h2>
      {(answer.candidates ?? []).length === 0 ? (
        <p class="quiet">No policy has a scope that holds for this request.</p>
      ) : (
        <ol class="plain">
          {answer.candidates?.map((each) => (
            <li key={each.policy_id}>
              <Badge tone={kTones[each.outcome] ?? "calm"}>{each.outcome.replaceAll("_", " ")}</Badge>{" "}
              <a href={link(`/policies/${encodeURIComponent(each.policy_id)}`, { tenant: answer.tenant_id })}>{each.policy_id}</a> {each.why}
            </li>
          ))}
        </ol>
      )}
      {(answer.candidates_omitted ?? 0) > 0 && <p class="quiet">{answer.candidates_omitted} more are not shown.</p>}
      <h2>As a call</h2>
      <Code text={curlOf(check)} />
    </>
  );
}

const curlOf = (check: string): string =>
  `curl http://127.0.0.1:8088/v1/check -H "x-api-key: $KEY" -H 'content-type: application/json' -d '${check.replaceAll("'", `'\\''`)}'`;
