// The frame around every view: navigation, the tenant, the state of the connection, the palette.
import type { ComponentType, JSX } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { api, connection, dataOf, sessionEnded } from "./api/client";
import { listTenants } from "./api/lists";
import { useQuery } from "./api/query";
import { kViewPaths, type ViewPath } from "./paths";
import { followLinks, go, match, place, setQuery, tenant } from "./router";
import { may, resume, session, signOut, type Permission } from "./session";
import { say, Toasts } from "./ui/dialog";
import { ChangeNotice } from "./ui/enforced";
import type { IconName } from "./ui/icons";
import { Navigation } from "./ui/navigation";
import { Palette } from "./ui/palette";
import { utc } from "./words/time";
import { Audit } from "./views/audit";
import { Bindings } from "./views/bindings";
import { Explain } from "./views/explain";
import { Fleet } from "./views/fleet";
import { Groups } from "./views/groups";
import { Keys } from "./views/keys";
import { NotFound } from "./views/not_found";
import { Overview } from "./views/overview";
import { Plan } from "./views/plan";
import { Plans } from "./views/plans";
import { Playground, PublicPlayground } from "./views/playground";
import { Policies } from "./views/policies";
import { Policy } from "./views/policy";
import { SignIn } from "./views/sign_in";
import { Subject } from "./views/subject";
import { Tenants } from "./views/tenants";
import { Tokens } from "./views/tokens";

interface View {
  readonly view: ComponentType<{ parts: Record<string, string> }>;
  readonly title: string;
  readonly icon?: IconName; // in the navigation
  readonly needs?: Permission;
}

const kViews: Record<ViewPath, View> = {
  "/": { view: Overview, title: "Overview", icon: "overview" },
  "/policies": { view: Policies, title: "Policies", icon: "policies" },
  "/policies/:id": { view: Policy, title: "Policy" },
  "/plans": { view: Plans, title: "Plans", icon: "plans" },
  "/plans/:id": { view: Plan, title: "Plan" },
  "/explain": { view: Explain, title: "Explain", icon: "explain" },
  "/subject": { view: Subject, title: "Subject", icon: "subject" },
  "/playground": { view: Playground, title: "Playground", icon: "play" },
  "/keys": { view: Keys, title: "API keys", icon: "keys" },
  "/tenants": { view: Tenants, title: "Tenants", icon: "tenants" },
  "/tokens": { view: Tokens, title: "Tokens", icon: "tokens", needs: "read_tokens" },
  "/groups": { view: Groups, title: "Groups", icon: "groups", needs: "read_tokens" },
  "/bindings": { view: Bindings, title: "Bindings", icon: "bindings", needs: "read_tokens" },
  "/fleet": { view: Fleet, title: "Fleet", icon: "fleet" },
  "/audit": { view: Audit, title: "Audit", icon: "audit", needs: "read_audit" },
};

export interface Route extends View {
  readonly path: ViewPath;
}

const kRoutes: readonly Route[] = kViewPaths.map((path) => ({ path, ...kViews[path] }));

const offered = (route: Route): boolean => route.needs === undefined || may(route.needs);

const kResumeEvery = 2_000; // ms, while the server does not answer

export function App(): JSX.Element | null {
  const [resuming, setResuming] = useState(true);
  useEffect(() => {
    const attempt = (): void => {
      resume().then(
        () => setResuming(false),
        () => setTimeout(attempt, kResumeEvery),
      );
    };
    attempt();
  }, []);
  if (resuming) return <Connection />;
  if (sessionEnded.value) return <SignIn />;
  if (session.value === null) return place.value.path === "/playground" ? <PublicPlayground signIn={<SignIn />} /> : <SignIn />;
  return <Frame />;
}

function Frame(): JSX.Element {
  const [searching, setSearching] = useState(false);
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const typing = (event.target as Element).closest("input, textarea, select") !== null;
      if ((event.key === "k" && (event.metaKey || event.ctrlKey)) || (event.key === "/" && !typing)) {
        event.preventDefault();
        setSearching(true);
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);

  const found = findRoute(place.value.path);
  useEffect(() => {
    document.title = `${found?.route.title ?? "Not found"} · Sluice`;
  }, [found?.route.title]);
  const View = found?.route.view ?? NotFound;
  const routes = kRoutes.filter((route) => route.icon !== undefined && offered(route));
  return (
    <div class="frame" onClick={followLinks}>
      <a class="skip" href="#view" data-external>
        Skip to the content
      </a>
      <Navigation routes={routes} search={() => setSearching(true)}>
        <Account />
      </Navigation>
      <main id="view" tabIndex={-1}>
        <Heartbeat />
        <Connection />
        <ChangeNotice />
        <View parts={found?.parts ?? {}} />
      </main>
      {searching && <Palette routes={routes} close={() => setSearching(false)} />}
      <Toasts />
    </div>
  );
}

function findRoute(path: string): { route: Route; parts: Record<string, string> } | null {
  for (const route of kRoutes) {
    const parts = match(route.path, path);
    if (parts !== null && offered(route)) return { route, parts };
  }
  return null;
}

const kBeatEvery = 10_000; // ms

// Notices in every view, also in one that asks for nothing by itself, that the server is away or the session has ended.
function Heartbeat(): null {
  useQuery("session", (signal) => dataOf(api.GET("/v1/admin/session", { signal })), kBeatEvery);
  return null;
}

function Connection(): JSX.Element | null {
  if (connection.value === "fine") return null;
  return (
    <p class="notice" role="status">
      {connection.value === "away"
        ? "The server does not answer. What you see is its last answer; this page tries again by itself."
        : "The server cannot use PostgreSQL now. Agents go on deciding; this page tries again by itself."}
    </p>
  );
}

function Account(): JSX.Element {
  const tenants = useQuery("tenants", listTenants, 60_000);
  const items = tenants.data?.items ?? [];
  return (
    <div class="account">
      <label class="field">
        Tenant
        <select value={tenant.value} onChange={(event) => setQuery({ tenant: event.currentTarget.value }, false)}>
          <option value="">All</option>
          {/* One that the address names, until the list is there, or which does not exist. */}
          {tenant.value !== "" && !items.some((each) => each.id === tenant.value) && <option value={tenant.value}>{tenant.value}</option>}
          {items.map((each) => (
            <option key={each.id} value={each.id}>
              {each.name ? `${each.name} (${each.id})` : each.id}
            </option>
          ))}
        </select>
      </label>
      <label class="check">
        <input type="checkbox" checked={utc.value} onChange={(event) => (utc.value = event.currentTarget.checked)} />
        Times in UTC
      </label>
      <p class="quiet">
        {session.value?.name || session.value?.email || session.value?.subject || session.value?.token_id}, {session.value?.role}
      </p>
      <button
        type="button"
        class="small"
        onClick={() => {
          signOut().then(
            () => go("/"),
            (failure: unknown) => say(`You are still signed in. ${String(failure)}`),
          );
        }}
      >
        Sign out
      </button>
    </div>
  );
}
