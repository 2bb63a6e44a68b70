// Verifies the audit trail: calls the server step by step, shows how far it is, and what came out.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { api, ApiError, dataOf, errorOf, type Schema } from "../api/client";
import { given } from "../api/lists";
import { session } from "../session";
import { Badge, Code, Failure } from "../ui/parts";
import { numberText } from "../words/limits";
import { timeText } from "../words/time";

type Step = Schema<"AuditVerification">;
type Broken = Schema<"BrokenEntry">;

export function Verify(): JSX.Element {
  const [step, setStep] = useState<Step | null>(null);
  const [running, setRunning] = useState<AbortController | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const latest = useRef<AbortController | null>(null);
  useEffect(() => () => latest.current?.abort(), []);
  const run = async (from: Step | null): Promise<void> => {
    const abort = new AbortController();
    latest.current = abort;
    setRunning(abort);
    setError(null);
    setStep(from);
    let done = from;
    try {
      while (done === null || !done.complete) {
        const query = given("after", done?.next ?? "");
        done = await dataOf(api.GET("/v1/admin/audit/verify", { signal: abort.signal, params: { query } }));
        setStep(done);
      }
    } catch (failure) {
      if (!abort.signal.aborted) setError(errorOf(failure));
    }
    setRunning(null);
  };
  const ofTenants = (session.value?.tenant_ids.length ?? 0) > 0;
  return (
    <section aria-labelledby="verify">
      <h2 id="verify">Verify</h2>
      {ofTenants ? (
        <p class="quiet">A chain is an organization's. Your token is limited to tenants, so it cannot verify one.</p>
      ) : (
        <div class="actions">
          <button type="button" disabled={running !== null} onClick={() => void run(null)}>
            Verify the trail
          </button>
          {running && (
            <button type="button" class="small" onClick={() => running.abort()}>
              Stop
            </button>
          )}
        </div>
      )}
      {step && !step.complete && <Progress step={step} running={running !== null} />}
      {error && <Failure error={error} again={() => void run(step)} />}
      <div role="status">{step?.complete && (step.broken ? <BrokenAt entry={step.broken} /> : <Whole step={step} />)}</div>
      <p class="quiet">
        This finds entries that were changed, removed or added. Where PostgreSQL can be reached, the command also finds entries that were cut off at
        the end together with the stored head, and compares the trail with the objects:
      </p>
      <Code text="sluice-server audit verify --database-url postgresql://ROLE@HOST/NAME --head audit.head" />
    </section>
  );
}

function Progress({ step, running }: { step: Step; running: boolean }): JSX.Element {
  return (
    <p>
      <progress max={Math.max(1, step.total)} value={step.entries} aria-label="Entries verified" /> {numberText(step.entries)} of{" "}
      {numberText(step.total)} entries{running ? " …" : ", then stopped"}
    </p>
  );
}

function Whole({ step }: { step: Step }): JSX.Element {
  if (step.entries === 0) return <p>There are no entries yet.</p>;
  return (
    <p>
      <Badge tone="good">whole</Badge> {numberText(step.entries)} {step.entries === 1 ? "entry" : "entries"} from {timeText(step.from)} to{" "}
      {timeText(step.to)} {step.entries === 1 ? "is" : "are"} whole, in {numberText(step.chains)} {step.chains === 1 ? "chain" : "chains"}.
    </p>
  );
}

function BrokenAt({ entry }: { entry: Broken }): JSX.Element {
  return (
    <div class="notice">
      <p>
        <Badge tone="bad">broken</Badge> Entry {numberText(entry.seq)} of {entry.organization_id ?? "the platform"}: {entry.detail}.
      </p>
      {entry.kind !== undefined && (
        <p>
          It says now: {entry.kind} <b>{entry.object_id}</b>
          {entry.tenant_id && <> of {entry.tenant_id}</>}, {timeText(entry.at)}. Entries before it are as they were written; those after it were not
          checked.
        </p>
      )}
    </div>
  );
}
