// Who is signed in, and what they may do. The browser keeps the session's cookie where no script can read it; this page
// knows only whose it is, and the token that proves that a call comes from this page.
import { computed, signal } from "@preact/signals";
import { api, ApiError, dataOf, sessionEnded, useCsrfToken, type Schema } from "./api/client";
import { setQuery } from "./router";

export type Session = Schema<"Session">;
export type Permission = Session["permissions"][number];

export const session = signal<Session | null>(null);

// Whether a session is worth asking for: asking without one counts as a failed sign-in.
const kMark = "sluice_signed_in";

function begin(begun: Session): void {
  useCsrfToken(begun.csrf_token ?? "");
  localStorage.setItem(kMark, "yes");
  session.value = begun;
  sessionEnded.value = false;
  failedSignIn.value = null;
}

// The way to sign in by the OpenID provider; null if this server has none. Throws ApiError.
export const providerOf = async (): Promise<Schema<"SignInWays">["oidc"]> => (await dataOf(api.GET("/v1/console/sign-in"))).oidc;

// Leaves the page for the provider, which sends the browser back to the view that is open now.
export function signInByProvider(start: string): void {
  const here = new URLSearchParams(location.search);
  for (const name of kOutcome) here.delete(name);
  const query = here.toString();
  localStorage.setItem(kMark, "yes");
  location.assign(`${start}?${new URLSearchParams({ return_to: location.pathname + (query === "" ? "" : `?${query}`) })}`);
}

// With what the server sends a browser back to the console whose sign-in failed.
const kOutcome = ["sign_in", "request_id"] as const;

export interface FailedSignIn {
  readonly code: string;
  readonly requestId: string;
}

// Why the sign-in by the provider failed from which this page came; null if it came from none. A reload does not show it
// again.
export const failedSignIn = signal<FailedSignIn | null>(takeFailedSignIn());

function takeFailedSignIn(): FailedSignIn | null {
  const here = new URLSearchParams(location.search);
  const code = here.get("sign_in");
  if (code === null) return null;
  localStorage.removeItem(kMark);
  setQuery(Object.fromEntries(kOutcome.map((name) => [name, ""])));
  return { code, requestId: here.get("request_id") ?? "" };
}

function forget(): void {
  useCsrfToken("");
  localStorage.removeItem(kMark);
  session.value = null;
}

// Goes on with the session of an earlier visit, if there is one. Throws ApiError if the server cannot say.
export async function resume(): Promise<void> {
  if (localStorage.getItem(kMark) === null) return;
  try {
    begin(await dataOf(api.GET("/v1/admin/session")));
  } catch (failure) {
    if (!(failure instanceof ApiError) || failure.status !== 401) throw failure;
    forget();
  }
}

// Throws ApiError if the token is not valid.
export async function signIn(token: string): Promise<void> {
  const headers = { Authorization: `Bearer ${token.trim()}` };
  begin(await dataOf(api.POST("/v1/admin/session", { headers, body: {} }), "signing in"));
}

// Throws ApiError if the server did not end the session; then this page goes on with it.
export async function signOut(): Promise<void> {
  try {
    await dataOf(api.DELETE("/v1/admin/session"));
  } catch (failure) {
    if (!(failure instanceof ApiError) || failure.status !== 401) throw failure;
  }
  forget();
  sessionEnded.value = false;
}

const permissions = computed(() => new Set<Permission>(session.value?.permissions ?? []));
export const may = (permission: Permission): boolean => permissions.value.has(permission);

// How far the session's token reaches. Some calls need more than a permission: the mode of the platform is nobody's who has one
// tenant only.
const kLevels = ["tenant", "organization", "platform"] as const;
export type Level = (typeof kLevels)[number];

const reach = computed<Level>(() => {
  if ((session.value?.tenant_ids ?? []).length > 0) return "tenant";
  return session.value?.organization_id ? "organization" : "platform";
});
export const mayAt = (level: Level, permission: Permission): boolean =>
  may(permission) && kLevels.indexOf(reach.value) >= kLevels.indexOf(level);
