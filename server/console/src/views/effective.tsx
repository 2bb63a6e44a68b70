// Which policy would judge requests with these dimensions, and with which limits, as agents have it in force now.
import type { JSX } from "preact";
import { api, dataOf, type Schema } from "../api/client";
import { useQuery } from "../api/query";
import { link, setQuery } from "../router";
import { Badge, Loaded, ModeBadge } from "../ui/parts";
import { forceText, identityText, overrideText, type Rulebook } from "../words/effective";
import { limitText } from "../words/limits";

type Explained = Schema<"Explained">;
type ExplainBody = Schema<"ExplainBody">;

// By name, as checks have them, also "tag.NAME" and "attr.NAME".
export type Dimensions = Readonly<Record<string, string>>;

function questionOf(tenant: string, dimensions: Dimensions): ExplainBody {
  const tags: Record<string, string> = {};
  const attributes: Record<string, string> = {};
  const plain: Record<string, string> = {};
  let key: string | undefined;
  for (const [name, value] of Object.entries(dimensions)) {
    if (name.startsWith("tag.")) tags[name.slice(4)] = value;
    else if (name.startsWith("attr.")) attributes[name.slice(5)] = value;
    else if (name === "api_key") key = value;
    else if (name !== "org" && name !== "tenant") plain[name] = value;
  }
  const request: ExplainBody["request"] = {
    ...plain,
    ...(Object.keys(tags).length > 0 ? { tags } : {}),
    ...(Object.keys(attributes).length > 0 ? { attributes } : {}),
  };
  return { tenant_id: tenant, request, effective: true, ...(key === undefined ? {} : { key_id: key }) };
}

const kEveryMs = 10_000; // overrides end, and policies begin

export function Effective({ tenant, dimensions }: { tenant: string; dimensions: Dimensions }): JSX.Element {
  const body = questionOf(tenant, dimensions);
  const answer = useQuery(
    `effective ${JSON.stringify(body)}`,
    (signal) => dataOf(api.POST("/v1/admin/explain", { signal, params: {}, body })),
    kEveryMs,
  );
  return (
    <section aria-labelledby="in-force">
      <h2 id="in-force">In force now</h2>
      <Loaded query={answer}>{(explained) => <Answer explained={explained} />}</Loaded>
    </section>
  );
}

function Answer({ explained }: { explained: Explained }): JSX.Element {
  const rulebooks = explained.effective ?? [];
  const others = (explained.candidates ?? []).filter((each) => each.outcome !== "decides" && each.outcome !== "shadow_judged");
  return (
    <>
      {rulebooks.length === 0 && (
        <p>
          <Badge tone={explained.allowed ? "good" : "bad"}>{explained.allowed ? "allowed" : "denied"}</Badge> No policy applies to requests with
          these dimensions: the tenant's default decides. Name more dimensions, such as the resource, if requests have them.
        </p>
      )}
      {rulebooks.length > 0 && explained.allowed === true && <p>Nothing denies these requests.</p>}
      {explained.missing && (
        <p class="notice">
          Requests lack <code>{explained.missing}</code>, which this policy counts by. Agents refuse them.
        </p>
      )}
      {rulebooks.map((each) => (
        <RulebookCard key={`${each.policy_id} ${each.plan_id}`} rulebook={each} tenant={explained.tenant_id} />
      ))}
      {others.length > 0 && (
        <details>
          <summary>{others.length === 1 ? "One other policy does not apply" : `${others.length} other policies do not apply`}</summary>
          <ul class="plain">
            {others.map((each) => (
              <li key={each.policy_id}>
                <a href={link(`/policies/${encodeURIComponent(each.policy_id)}`, { tenant: explained.tenant_id })}>{each.policy_id}</a> {each.why}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function RulebookCard({ rulebook, tenant }: { rulebook: Rulebook; tenant: string }): JSX.Element {
  const kind = rulebook.policy_id === undefined ? "plan" : "policy";
  const id = rulebook.policy_id ?? rulebook.plan_id ?? "";
  const path = kind === "policy" ? "/policies" : "/plans";
  const look = (): void => {
    const keys = Object.entries(rulebook.limits[0]?.identity ?? {}).map(([name, value]) => [`k.${name}`, value ?? ""]);
    setQuery({ of: `${tenant}/${kind}/${id}`, ...Object.fromEntries(keys) }, false);
  };
  return (
    <div class="card">
      <p>
        <ModeBadge mode={rulebook.mode} /> {kind}{" "}
        <a href={link(`${path}/${encodeURIComponent(id)}`, { tenant })}>{id}</a>
        {kind === "policy" && (
          <>
            , version {rulebook.policy_version}
            {rulebook.plan_id && (
              <>
                , plan <a href={link(`/plans/${encodeURIComponent(rulebook.plan_id)}`, { tenant })}>{rulebook.plan_id}</a>
              </>
            )}
          </>
        )}
        . {forceText(rulebook)}
      </p>
      <ul class="plain">
        {rulebook.limits.map((each) => (
          <li key={each.limit.name}>
            <b>{limitText(each.limit)}</b> for {identityText(each.identity)} {each.override && <Badge tone="warn">overridden</Badge>}
            {each.override && <p class="quiet">{overrideText(each)}</p>}
          </li>
        ))}
      </ul>
      <button type="button" class="small" onClick={look}>
        What is left of it
      </button>
    </div>
  );
}
