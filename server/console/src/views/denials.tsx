// The denials of one subject, as agents have reported them, by the hour.
import type { JSX } from "preact";
import { api, dataOf, type Schema } from "../api/client";
import { useQuery } from "../api/query";
import { link } from "../router";
import { Loaded } from "../ui/parts";
import { range, RangePicker, sinceOf } from "../ui/range";
import { Table } from "../ui/table";
import { numberText } from "../words/limits";
import { timeText } from "../words/time";

type Hour = Schema<"Denials">["items"][number];

const kMost = 1000;

export function Denials({ tenant, subject }: { tenant: string; subject: string }): JSX.Element {
  const denials = useQuery(
    `denials ${tenant} ${subject} ${range().name}`,
    (signal) =>
      dataOf(
        api.GET("/v1/admin/analytics/denials", {
          signal,
          params: { query: { tenant_id: tenant, subject, since: sinceOf(range()), limit: kMost } },
        }),
      ),
    15_000,
  );
  return (
    <section aria-labelledby="denials">
      <header class="heading">
        <h2 id="denials">Recent denials</h2>
        <RangePicker />
      </header>
      <Loaded query={denials}>
        {(data) =>
          data.items.length === 0 ? (
            <p class="quiet">No denial of this subject was reported in this time.</p>
          ) : (
            <Table
              label="Recent denials"
              rows={data.items}
              id={(row) => `${row.at} ${row.policy_id}`}
              columns={[
                { name: "hour", title: "Hour", text: (row) => row.at, show: (row) => <time dateTime={row.at}>{timeText(row.at)}</time> },
                { name: "by", title: "Policy", text: (row) => row.policy_id, show: (row) => <PolicyName row={row} tenant={tenant} /> },
                { name: "denied", title: "Denied", number: true, text: (row) => row.count, show: (row) => numberText(row.count) },
              ]}
            />
          )
        }
      </Loaded>
      <p class="quiet">
        Agents report the subjects that they deny most, once in each report interval. So the numbers are lower bounds, a subject that was seldom
        denied may be missing, and so is one whose policy reports no subjects. Which requests were denied is not stored.
      </p>
    </section>
  );
}

function PolicyName({ row, tenant }: { row: Hour; tenant: string }): JSX.Element {
  if (row.policy_id === "") return <span class="quiet">by a plan</span>;
  return <a href={link(`/policies/${encodeURIComponent(row.policy_id)}`, { tenant })}>{row.policy_id}</a>;
}
