// The versions of a policy or plan: what each changed, and the way back.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { may } from "../session";
import { Confirm, say } from "./dialog";
import { Badge, Time } from "./parts";
import { differences } from "./diff";

export interface Version {
  readonly version: number;
  readonly at: string;
  readonly actor_id: string;
  readonly removed?: boolean;
  readonly document: unknown;
}

export function Versions({ versions, rollback }: {
  versions: readonly Version[]; // newest first
  rollback: (version: number) => Promise<void>;
}): JSX.Element {
  const [chosen, setChosen] = useState<Version | null>(null);
  const newest = versions[0];
  return (
    <ol class="versions">
      {versions.map((each, index) => (
        <li key={each.version}>
          <details open={index === 0}>
            <summary>
              <b>Version {each.version}</b> <Time at={each.at} /> by {each.actor_id} {index === 0 && <Badge tone="good">in force</Badge>}
              {each.removed && <Badge tone="bad">removed</Badge>}
            </summary>
            <Diff before={versions[index + 1]?.document} after={each.document} />
            {index > 0 && !each.removed && may("configure") && (
              <button type="button" class="small" onClick={() => setChosen(each)}>
                Roll back to this version
              </button>
            )}
          </details>
        </li>
      ))}
      {chosen && (
        <Confirm
          title={`Roll back to version ${chosen.version}`}
          verb="Roll back"
          close={() => setChosen(null)}
          run={async () => {
            await rollback(chosen.version);
            say(`Version ${chosen.version} is in force again.`, newest && (() => rollback(newest.version)));
          }}
        >
          <p>This makes a new version, equal to version {chosen.version}. It would change:</p>
          <Diff before={newest?.document} after={chosen.document} />
        </Confirm>
      )}
    </ol>
  );
}

export function Diff({ before, after }: { before: unknown; after: unknown }): JSX.Element {
  const changes = differences(before ?? {}, after ?? {});
  if (changes.length === 0) return <p class="quiet">Nothing differs.</p>;
  return (
    <table class="diff" aria-label="Differences">
      <tbody>
        {changes.map((change) => (
          <tr key={change.pointer}>
            <th scope="row">
              <code>{change.pointer || "/"}</code>
            </th>
            <td class="old">{change.before === undefined ? "" : <code>{JSON.stringify(change.before)}</code>}</td>
            <td class="new">{change.after === undefined ? "" : <code>{JSON.stringify(change.after)}</code>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
