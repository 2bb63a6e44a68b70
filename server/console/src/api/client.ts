// Calls to the admin API. The types come from the server's OpenAPI document, so a change of the API is a compile error
// here.
import createClient from "openapi-fetch";
import { signal } from "@preact/signals";
import type { components, paths } from "./schema";

export type Schema<Name extends keyof components["schemas"]> = components["schemas"][Name];

// Why a call failed, for people. `status` 0: no answer came.
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly requestId: string,
    readonly faults: readonly Fault[],
  ) {
    super(detail);
  }
}

// What was caught, as an ApiError. Anything else that is thrown is a fault of this page.
export const errorOf = (failure: unknown): ApiError =>
  failure instanceof ApiError ? failure : new ApiError(0, "bug", String(failure), "", []);

export interface Fault {
  readonly pointer: string;
  readonly detail: string;
}

// The server's health as the calls of this page see it.
export const connection = signal<"fine" | "away" | "database_away">("fine");
export const sessionEnded = signal(false); // since it was used last

// Codes of 503 that are about PostgreSQL. Others are about one thing only, such as the playground's agent.
const kDatabaseAway: ReadonlySet<string> = new Set(["unavailable", "busy", "overload"]);

let csrfToken = "";
export function useCsrfToken(value: string): void {
  csrfToken = value;
}

export const newestChange = signal<number | null>(null); // the revision of the last change that this tab made

// The browser adds the session's cookie by itself.
const request = async (made: Request): Promise<Response> => {
  if (made.method !== "GET" && csrfToken !== "") made.headers.set("X-CSRF-Token", csrfToken);
  const response = await fetch(made);
  const revision = response.headers.get("Sluice-Revision");
  if (response.ok && revision !== null) newestChange.value = Number(revision);
  return response;
};

export const api = createClient<paths>({ baseUrl: location.origin, fetch: request });

interface Answer<Data> {
  data?: Data;
  error?: unknown;
  response: Response;
}

// The data of a call, or an ApiError thrown. A 401 means that the session has ended, but for the call that starts one.
export async function dataOf<Data>(call: Promise<Answer<Data>>, purpose?: "signing in"): Promise<NonNullable<Data>> {
  let answer: Answer<Data>;
  try {
    answer = await call;
  } catch (failure) {
    if (failure instanceof DOMException && failure.name === "AbortError") throw failure;
    connection.value = "away";
    throw new ApiError(0, "no_answer", "The server does not answer.", "", []);
  }
  const { response } = answer;
  if (response.ok) {
    connection.value = "fine";
    return answer.data as NonNullable<Data>;
  }
  const error = problemOf(response, answer.error);
  connection.value = kDatabaseAway.has(error.code) ? "database_away" : "fine";
  if (response.status === 401 && purpose !== "signing in") sessionEnded.value = true;
  throw error;
}

function problemOf(response: Response, body: unknown): ApiError {
  const problem = typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
  const text = (name: string): string => (typeof problem[name] === "string" ? (problem[name] as string) : "");
  const errors = Array.isArray(problem["errors"]) ? (problem["errors"] as Record<string, unknown>[]) : [];
  return new ApiError(
    response.status,
    text("code"),
    text("detail") || `The server answered ${response.status}.`,
    text("request_id") || (response.headers.get("x-request-id") ?? ""),
    errors.map((each) => ({ pointer: String(each["pointer"] ?? ""), detail: String(each["detail"] ?? "") })),
  );
}
