// What a policy denied, or would have denied in shadow mode, in the last day.
import type { JSX } from "preact";
import { api, dataOf } from "../api/client";
import { useQuery } from "../api/query";
import { Loaded } from "../ui/parts";
import { numberText } from "../words/limits";
import { groupOf, isShadow } from "../words/outcomes";

const kDayMs = 86_400_000;

export function WouldDeny({ policy }: { policy: { tenant_id: string; id: string } }): JSX.Element {
  const query = useQuery(`would ${policy.tenant_id}/${policy.id}`, (signal) =>
    dataOf(
      api.GET("/v1/admin/analytics", {
        signal,
        params: {
          query: {
            tenant_id: policy.tenant_id,
            policy_id: policy.id,
            by: "outcome",
            since: new Date(Date.now() - kDayMs).toISOString(),
          },
        },
      }),
    ),
  );
  return (
    <Loaded query={query}>
      {(data) => {
        let decided = 0;
        let denied = 0;
        let wouldDeny = 0;
        let wouldAllow = 0;
        for (const row of data.items) {
          const outcome = row.outcome ?? "";
          if (outcome === "shadow_denied") wouldDeny += row.count;
          if (outcome === "shadow_allowed") wouldAllow += row.count;
          if (!isShadow(outcome)) decided += row.count;
          if (groupOf(outcome) === 1) denied += row.count;
        }
        if (decided + wouldDeny + wouldAllow === 0) return <p class="quiet">It judged no request in the last 24 hours.</p>;
        return (
          <p>
            {decided > 0 && (
              <>
                In the last 24 hours it decided {numberText(decided)} requests and denied <b>{numberText(denied)}</b>.{" "}
              </>
            )}
            {wouldDeny + wouldAllow > 0 && (
              <>
                In shadow it judged {numberText(wouldDeny + wouldAllow)} requests, and would have denied <b>{numberText(wouldDeny)}</b> (
                {((100 * wouldDeny) / (wouldDeny + wouldAllow)).toFixed(1)} %).
              </>
            )}
          </p>
        );
      }}
    </Loaded>
  );
}
