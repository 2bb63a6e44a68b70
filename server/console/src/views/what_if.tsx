// What an edited policy would have denied of the requests that agents have recorded, before anything is enforced.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { policyBody } from "../api/bodies";
import { api, dataOf, type Schema } from "../api/client";
import { useAction } from "../ui/action";
import { Chart } from "../ui/chart";
import type { Draft } from "../ui/editor";
import { Failure } from "../ui/parts";
import { CopyCsv } from "../ui/table";
import { numberText } from "../words/limits";

type Answer = Schema<"WhatIf">;

const kMinutes = [5, 15, 60] as const;

// `disabled`: the draft has faults.
export function WhatIf({ draft, owner, disabled }: { draft: Draft; owner: string; disabled: boolean }): JSX.Element {
  const [minutes, setMinutes] = useState<number>(kMinutes[1]);
  const [answer, setAnswer] = useState<Answer | null>(null);
  const asking = useAction();
  const ask = async (): Promise<void> => {
    setAnswer(await dataOf(api.POST("/v1/admin/whatif", { params: {}, body: { tenant_id: owner, policy: policyBody(draft), minutes } })));
  };
  return (
    <section aria-labelledby="what-if">
      <h2 id="what-if">What if</h2>
      <p class="quiet">Agents judge the requests of the last minutes by the form as it is now. Nothing is stored, and nobody is denied.</p>
      <div class="row">
        <label class="field">
          Requests of
          <select value={minutes} onChange={(event) => setMinutes(Number(event.currentTarget.value))}>
            {kMinutes.map((each) => (
              <option key={each} value={each}>
                the last {each} minutes
              </option>
            ))}
          </select>
        </label>
        <button type="button" disabled={asking.busy || disabled} onClick={() => void asking.run(ask)}>
          {asking.busy ? "Asking the agents …" : "Ask the agents"}
        </button>
      </div>
      {asking.error && <Failure error={asking.error} />}
      {answer && <Result answer={answer} />}
    </section>
  );
}

function Result({ answer }: { answer: Answer }): JSX.Element {
  const { totals } = answer;
  const judged = totals.admitted + totals.denied + totals.held + totals.refused;
  return (
    <div role="status">
      <p>
        {judged === 0 ? (
          "It would have judged none of the recorded requests."
        ) : (
          <>
            It would have judged {numberText(judged)} requests and denied <b>{numberText(answer.would_deny)}</b> (
            {(100 * answer.denied_share).toFixed(1)} %), {numberText(totals.newly_denied)} of which were not denied.
          </>
        )}{" "}
        {totals.not_matched > 0 && <>It would not have judged {numberText(totals.not_matched)} others.</>}
      </p>
      {answer.reasons.length > 0 && (
        <div class="notice">
          <p>Enforcing it may give other numbers:</p>
          <ul>
            {answer.reasons.map((reason) => (
              <li key={reason.code}>{reason.text}</li>
            ))}
          </ul>
        </div>
      )}
      {judged > 0 && <Minutes answer={answer} />}
      {judged > 0 && (
        <CopyCsv
          rows={answer.minutes}
          columns={[
            { title: "Minute", text: (row) => row.at ?? "" },
            { title: "Admitted", text: (row) => row.admitted },
            { title: "Denied", text: (row) => row.denied },
            { title: "Newly denied", text: (row) => row.newly_denied },
            { title: "Not judged", text: (row) => row.not_matched },
          ]}
        />
      )}
      {answer.subjects.length > 0 && (
        <>
          <h3>Denied most</h3>
          <ul class="plain">
            {answer.subjects.map((each) => (
              <li key={each.subject}>
                <code>{each.subject}</code> {numberText(each.denied)} of {numberText(each.admitted + each.denied)} denied
              </li>
            ))}
          </ul>
          <CopyCsv
            rows={answer.subjects}
            columns={[
              { title: "Subject", text: (row) => row.subject },
              { title: "Admitted", text: (row) => row.admitted },
              { title: "Denied", text: (row) => row.denied },
            ]}
          />
        </>
      )}
    </div>
  );
}

function Minutes({ answer }: { answer: Answer }): JSX.Element {
  const { times, series } = useMemo(
    () => ({
      times: answer.minutes.map((each) => Date.parse(each.at ?? "") / 1000),
      series: [
        { title: "admitted", color: "--good", values: answer.minutes.map((each) => each.admitted) },
        { title: "denied", color: "--bad", values: answer.minutes.map((each) => each.denied) },
      ],
    }),
    [answer],
  );
  return <Chart times={times} series={series} label="What it would have done, by minute" />;
}
