// Who is signed in, and what they may do. The token stays in memory: a reload asks for it again.
import { computed, signal } from "@preact/signals";
import { api, dataOf, signedOut, useToken, type Schema } from "./api/client";

export type Caller = Schema<"Caller">;
export type Permission = Caller["permissions"][number];

export const caller = signal<Caller | null>(null);

// Throws ApiError if the token is not valid.
export async function signIn(token: string): Promise<void> {
  useToken(token.trim());
  signedOut.value = "";
  try {
    caller.value = await dataOf(api.GET("/v1/admin/whoami"));
  } catch (failure) {
    useToken("");
    signedOut.value = "";
    throw failure;
  }
}

export function signOut(): void {
  useToken("");
  caller.value = null;
}

const permissions = computed(() => new Set<Permission>(caller.value?.permissions ?? []));
export const may = (permission: Permission): boolean => permissions.value.has(permission);
