// Fires real checks at an agent, and shows what the limiter holds meanwhile.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, ApiError, dataOf, type Schema } from "../api/client";
import { listPlans, listPolicies } from "../api/lists";
import { useQuery } from "../api/query";
import { publicPlayground, readState, type Check, type Player, type Shot, type State, fire } from "../playground/calls";
import { checkOf, dimensionsOf, exampleOf, kOtherDimensions, type Judge } from "../playground/request";
import { kMostAtOnce, run, shotsOf } from "../playground/run";
import { kLanguages, snippet, type Language } from "../playground/snippets";
import { field, param, place, setField, setQuery, tenant } from "../router";
import { may } from "../session";
import { Choose, type Choice } from "../ui/choose";
import { LimiterPictures } from "../ui/limiter_picture";
import { Code, Empty, Failure, Heading, Loaded } from "../ui/parts";
import { Shots } from "../ui/shots";

// What a person can choose between.
interface Choices {
  readonly plans: readonly Named[];
  readonly policies: readonly Named[];
}
interface Named extends Judge {
  readonly id: string;
  readonly name?: string | undefined;
}

const kStateEveryMs = 1000;
const kWatchMs = 60_000; // how long after the last burst the state is read again and again

// A subject that no application has, so that a burst spends the budget of no real user.
const kOwnSubject = `playground:${Math.random().toString(36).slice(2, 8)}`;

export function Playground(): JSX.Element {
  const about = useQuery("playground", (signal) => dataOf(api.GET("/v1/admin/playground", { signal })));
  return (
    <>
      <Heading title="Playground" below="Fire checks at an agent and watch the limiter. They are real: they count for the subject that you name." />
      <Loaded query={about}>{(found) => <SignedIn about={found} />}</Loaded>
    </>
  );
}

function SignedIn({ about }: { about: Schema<"Playground"> }): JSX.Element {
  const [key, setKey] = useState("");
  const chosen = tenant.value !== "" ? tenant.value : about.tenants.length === 1 ? (about.tenants[0] ?? "") : "";
  const choices = useQuery(`playground of ${chosen}`, async (signal): Promise<Choices> => {
    if (chosen === "") return { plans: [], policies: [] };
    const [plans, policies] = await Promise.all([listPlans(chosen, signal), listPolicies(chosen, signal)]);
    return { plans: plans.items, policies: policies.items };
  });
  if (!about.agent) {
    return (
      <Empty title="This server has no agent for the playground" command="sluice-server … --playground-agent http://127.0.0.1:8088 --playground-key-file FILE">
        Start it with the URL of an agent, and a file with an API key of each tenant to play with.
      </Empty>
    );
  }
  if (!may("operate")) return <p class="notice">Your role may not make checks here, because they count. It needs the permission operate.</p>;
  if (chosen === "") return <p class="notice">Choose a tenant at the left.</p>;
  const needsKey = !about.tenants.includes(chosen) && key === "";
  return (
    <>
      {needsKey && <KeyForm tenant={chosen} use={setKey} />}
      <Loaded query={choices}>
        {(found) => <Range key={chosen} player={{ visitor: false, tenant: chosen, key }} choices={found} counters={about.counters} disabled={needsKey} />}
      </Loaded>
    </>
  );
}

// The key stays in this page's memory.
function KeyForm({ tenant: of, use }: { tenant: string; use: (key: string) => void }): JSX.Element {
  const [text, setText] = useState("");
  const [error, setError] = useState<ApiError | null>(null);
  const make = async (): Promise<void> => {
    setError(null);
    try {
      const ends = new Date(Date.now() + 3_600_000).toISOString();
      const made = await dataOf(api.POST("/v1/admin/keys", { body: { tenant_id: of, name: "playground", expires_at: ends } }));
      use(String((made as { key?: unknown }).key ?? ""));
    } catch (failure) {
      setError(failure instanceof ApiError ? failure : new ApiError(0, "bug", String(failure), "", []));
    }
  };
  return (
    <form
      class="card"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== "") use(text.trim());
      }}
    >
      <p>
        An agent judges by an API key, and this server has none of <strong>{of}</strong>. The key stays in this page until you leave it.
      </p>
      <div class="row">
        <label class="field">
          API key
          <input type="password" autocomplete="off" spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <button type="submit">Use it</button>
        {may("configure") && (
          <button type="button" onClick={() => void make()}>
            Make one that ends in an hour
          </button>
        )}
      </div>
      {error && <Failure error={error} />}
    </form>
  );
}

// For people without a token: works where the server allows it.
export function PublicPlayground({ signIn }: { signIn: JSX.Element }): JSX.Element {
  const found = useQuery("public playground", publicPlayground);
  if (found.data === null) return signIn;
  return (
    <main id="view" class="alone" tabIndex={-1}>
      <Heading title="Playground" below="Fire checks at an agent and watch the limiter. They are real: they count for the subject that you name.">
        <a class="button" href="/">
          Sign in
        </a>
      </Heading>
      <Loaded query={found}>
        {(about) =>
          about && <Range player={{ visitor: true }} choices={about as unknown as Choices} counters={about.counters} disabled={false} />
        }
      </Loaded>
    </main>
  );
}

const whole = (text: string, fallback: number, least: number, most: number): number => {
  const number = Number.parseInt(text, 10);
  return Number.isFinite(number) ? Math.min(most, Math.max(least, number)) : fallback;
};

const kAny = "any";

// "plan/ID", "policy/ID", or "any" for whatever the resource matches. Of the address; else the first there is, so that the first
// burst meets a limit.
function judgeOf(choices: Choices): string {
  const chosen = param("judge");
  if (chosen !== "") return chosen;
  const [plan] = choices.plans;
  const [policy] = choices.policies;
  return plan ? `plan/${plan.id}` : policy ? `policy/${policy.id}` : kAny;
}

interface Asked {
  readonly check: Check;
  readonly others: Readonly<Record<string, string>>; // what is sent besides resource and subject
  readonly fault: string | null;
}

const kOther = "d."; // in the address, before the name of a dimension

function askedOf(choices: Choices): Asked {
  const [kind, ...rest] = judgeOf(choices).split("/");
  const id = rest.join("/");
  const judge: Judge = (kind === "plan" ? choices.plans : kind === "policy" ? choices.policies : []).find((each) => each.id === id) ?? {};
  const resource = field("resource", exampleOf(judge, "resource"));
  const added = [...place.value.query.keys()].filter((name) => name.startsWith(kOther)).map((name) => name.slice(kOther.length));
  const names = [...new Set([...dimensionsOf(judge), ...added])];
  const others = Object.fromEntries(names.map((name) => [name, field(kOther + name, exampleOf(judge, name))]));
  const check = checkOf({
    plan: kind === "plan" ? id : "",
    resource,
    subject: field("subject", kOwnSubject),
    cost: whole(param("cost"), 1, 0, 2_147_483_647),
    others,
  });
  const empty = kind !== "plan" && resource === "" && Object.values(others).every((value) => value === "");
  return { check, others, fault: empty ? "Name a resource, or choose a policy or a plan." : null };
}

// What a new judge brings is not what the former one asked for.
function chooseJudge(judge: string): void {
  const others = [...place.value.query.keys()].filter((name) => name.startsWith(kOther));
  setQuery({ judge, resource: "", ...Object.fromEntries(others.map((name) => [name, ""])) });
}

interface Watched {
  readonly state: State;
  readonly arrived: number; // performance.now()
}

function Range({ player, choices, counters, disabled }: { player: Player; choices: Choices; counters: boolean; disabled: boolean }): JSX.Element {
  const [shots, setShots] = useState<readonly (Shot | undefined)[]>([]);
  const [running, setRunning] = useState<AbortController | null>(null);
  const [firedAt, setFiredAt] = useState(0);
  const judges = useMemo(
    () => [{ value: kAny, text: "whatever matches the resource" }, ...named("policy", choices.policies), ...named("plan", choices.plans)],
    [choices],
  );
  const { check, others, fault } = askedOf(choices);
  const plan = {
    burst: whole(param("burst"), 12, 1, kMostAtOnce),
    perSecond: whole(param("rate"), 0, 0, 20),
    seconds: whole(param("seconds"), 5, 1, 15),
  };
  const watched = useWatch(player, check, counters && !disabled, firedAt);
  useEffect(() => () => running?.abort(), [running]);

  const start = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (running !== null || disabled) return;
    const control = new AbortController();
    setRunning(control);
    setShots(Array.from({ length: shotsOf(plan) }));
    setFiredAt(performance.now());
    await run(plan, () => fire(player, check), (index, shot) => setShots((old) => old.map((each, at) => (at === index ? shot : each))), control.signal);
    setRunning(null);
    setFiredAt(performance.now());
  };
  return (
    <>
      <form onSubmit={(event) => void start(event)}>
        <div class="row">
          <Choose
            label="Judged by"
            choices={judges}
            value={judgeOf(choices)}
            choose={chooseJudge}
            placeholder="Choose a policy or plan"
          />
          <label class="field">
            Resource
            <input
              value={check.resource ?? ""}
              onInput={(event) => setField("resource", event.currentTarget.value)}
              placeholder={check.plan_id === undefined ? "GET:/orders" : "not needed with a plan"}
              spellcheck={false}
            />
          </label>
          <label class="field">
            Subject
            <input value={check.subject} onInput={(event) => setField("subject", event.currentTarget.value)} spellcheck={false} />
          </label>
          <label class="field">
            Also send
            <select value="" onChange={(event) => setField(kOther + event.currentTarget.value, "")}>
              <option value="">nothing more</option>
              {kOtherDimensions.filter((name) => !(name in others)).map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        </div>
        <Others others={others} />
        <div class="row">
          <Whole title="Cost of each" name="cost" fallback={1} least={0} most={2_147_483_647} />
          <Whole title="At once" name="burst" fallback={12} least={1} most={kMostAtOnce} />
          <Whole title="Then each second" name="rate" fallback={0} least={0} most={20} />
          <Whole title="For seconds" name="seconds" fallback={5} least={1} most={15} />
          {running === null ? (
            <button type="submit" class="primary" disabled={disabled}>
              Fire
            </button>
          ) : (
            <button type="button" onClick={() => running.abort()}>
              Stop
            </button>
          )}
        </div>
        {fault !== null && <p class="notice">{fault}</p>}
      </form>
      {shots.length > 0 && (
        <section aria-label="Answers">
          <h2>Answers</h2>
          <Shots shots={shots} />
        </section>
      )}
      <section aria-label="State">
        <h2>What the limiter holds</h2>
        <StateOf watched={watched} counters={counters} shots={shots} />
      </section>
      <section aria-label="Code">
        <h2>The same in a program</h2>
        <Snippets check={check} />
      </section>
    </>
  );
}

// What the chosen policy matches or counts by besides resource and subject, and what was added.
function Others({ others }: { others: Readonly<Record<string, string>> }): JSX.Element | null {
  if (Object.keys(others).length === 0) return null;
  return (
    <div class="row">
      {Object.entries(others).map(([name, value]) => (
        <label class="field" key={name}>
          {name}
          <input value={value} onInput={(event) => setField(kOther + name, event.currentTarget.value)} spellcheck={false} />
        </label>
      ))}
    </div>
  );
}

const named = (kind: string, of: readonly Named[]): Choice[] =>
  of.map(({ id, name }) => ({ value: `${kind}/${id}`, text: `${kind} ${id}${name ? ` – ${name}` : ""}` }));

function Whole({ title, name, fallback, least, most }: { title: string; name: string; fallback: number; least: number; most: number }): JSX.Element {
  return (
    <label class="field">
      {title}
      <input type="number" min={least} max={most} step={1} value={param(name) || String(fallback)} onInput={(event) => setQuery({ [name]: event.currentTarget.value })} />
    </label>
  );
}

interface Watch {
  readonly watched: Watched | null;
  readonly error: ApiError | null;
}

// Reads the state when the check changes, and each second for a while after the last burst.
function useWatch(player: Player, check: Check, wanted: boolean, firedAt: number): Watch {
  const [watch, setWatch] = useState<Watch>({ watched: null, error: null });
  const asked = JSON.stringify([player, { ...check, cost: undefined }]);
  const latest = useRef({ player, check });
  latest.current = { player, check };
  useEffect(() => {
    if (!wanted) return;
    const abort = new AbortController();
    let timer = 0;
    const read = async (): Promise<void> => {
      const { cost: _, ...request } = latest.current.check;
      let failed = false;
      try {
        const state = await readState(latest.current.player, request, abort.signal);
        setWatch({ watched: { state, arrived: performance.now() }, error: null });
      } catch (failure) {
        if (abort.signal.aborted) return;
        failed = true;
        setWatch({ watched: null, error: failure instanceof ApiError ? failure : new ApiError(0, "bug", String(failure), "", []) });
      }
      const again = failed || (firedAt > 0 && performance.now() - firedAt < kWatchMs);
      if (again && !abort.signal.aborted) timer = window.setTimeout(() => void read(), kStateEveryMs);
    };
    timer = window.setTimeout(() => void read(), firedAt > 0 ? 0 : 300); // not for each letter that is typed
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [asked, wanted, firedAt]);
  return watch;
}

function StateOf({ watched: { watched, error }, counters, shots }: { watched: Watch; counters: boolean; shots: readonly (Shot | undefined)[] }): JSX.Element {
  if (!counters) {
    return <p class="notice">This server cannot read the agent's counters: it was started without --counters. The answers show what is left.</p>;
  }
  if (error !== null) return <Failure error={error} />;
  if (watched === null) return <p class="quiet">Nothing is read yet.</p>;
  const { state } = watched;
  if (state.limits === undefined) return <p class="quiet">{whyNone(state.reason)}</p>;
  return (
    <>
      {elsewhere(state, shots) && (
        <p class="notice">
          Checks passed, and yet nothing is counted in this server's Redis: the agent counts elsewhere, in its own memory or in another Redis. The answers show what is left.
        </p>
      )}
      <LimiterPictures state={state} arrived={watched.arrived} />
    </>
  );
}

const kWhyNone: Record<string, string> = {
  no_policy: "No policy matches this check, so no limit judges it.",
  mode_off: "The policy is switched off, so no limit judges the check.",
  unknown_plan: "The tenant has no such plan, or lets no check choose one: an agent refuses this check.",
  missing_key: "The check lacks a dimension that the policy counts by: an agent refuses it.",
};
const whyNone = (reason: string): string => kWhyNone[reason] ?? `No limit judges this check (${reason}).`;

function elsewhere(state: State, shots: readonly (Shot | undefined)[]): boolean {
  const passed = shots.some((shot) => shot?.outcome === "allowed" && shot.remaining !== null && shot.reason === "within_limit");
  const untouched = (state.limits ?? []).every(
    (limit) => !limit.used && !limit.count && !limit.previous && !limit.entries?.length && !limit.leases?.length && limit.units_per_second === undefined,
  );
  return passed && shots.every((shot) => shot !== undefined) && untouched;
}

function Snippets({ check }: { check: Check }): JSX.Element {
  const [language, setLanguage] = useState<Language>("curl");
  return (
    <>
      <div class="switch" role="group" aria-label="Language">
        {kLanguages.map((each) => (
          <button key={each} type="button" aria-pressed={language === each} onClick={() => setLanguage(each)}>
            {each}
          </button>
        ))}
      </div>
      <Code text={snippet(language, check)} />
    </>
  );
}
