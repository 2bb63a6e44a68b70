// On how many agents a revision is enforced, as it becomes so.
import { effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { newestChange } from "../api/client";
import { useFleet, type Enforcement, type Fleet } from "../api/fleet";
import { link } from "../router";
import { Icon } from "./icons";
import { Badge } from "./parts";

export function EnforcedText({ what, enforcement }: { what: string; enforcement: Enforcement }): JSX.Element {
  const { agents, enforced_by_all } = enforcement;
  return (
    <>
      {what} {enforcement.revision} is enforced on <b>{agents.enforcing}</b> of {agents.total} agents{" "}
      {agents.total > 0 && <Badge tone={enforced_by_all ? "good" : "warn"}>{enforced_by_all ? "everywhere" : "not everywhere yet"}</Badge>}
      {agents.refusing > 0 && <Badge tone="bad">{agents.refusing} refuse it</Badge>}
      {agents.missing > 0 && <Badge tone="warn">{agents.missing} missing</Badge>}
    </>
  );
}

// How current what is shown is, where that is worth saying.
export function LinkText({ link: how }: { link: Fleet["link"] }): JSX.Element {
  switch (how) {
    case "live":
      return <Badge tone="good">live</Badge>;
    case "connecting":
      return <Badge tone="calm">connecting</Badge>;
    case "polling":
      return <Badge tone="warn">no live events: asked for every 5 s</Badge>;
    case "lost":
      return <Badge tone="bad">connection lost: what you see is the last that came</Badge>;
  }
}

const kShownMs = 8_000; // after all agents enforce it

// The revision of the last change that was made in this tab, until all agents enforce it.
const shown = signal<number | null>(null);
effect(() => {
  shown.value = newestChange.value;
});

export function ChangeNotice(): JSX.Element | null {
  return shown.value === null ? null : <Change key={shown.value} revision={shown.value} />;
}

function Change({ revision }: { revision: number }): JSX.Element {
  const fleet = useFleet({ agents: false, revision });
  const done = fleet.enforcement?.enforced_by_all === true || fleet.enforcement?.agents.total === 0;
  const close = (): void => {
    if (shown.value === revision) shown.value = null;
  };
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(close, kShownMs);
    return () => clearTimeout(timer);
  }, [done]);
  return (
    <p class="change" role="status" aria-label="Your change">
      <span>
        {fleet.enforcement === undefined ? (
          `Your change, revision ${revision}, is stored.`
        ) : (
          <EnforcedText what="Your change, revision" enforcement={fleet.enforcement} />
        )}{" "}
        {(fleet.link === "lost" || fleet.link === "polling") && <LinkText link={fleet.link} />} <a href={link("/fleet")}>Fleet</a>
      </span>
      <button type="button" class="small" aria-label="Close" onClick={close}>
        <Icon name="close" />
      </button>
    </p>
  );
}
