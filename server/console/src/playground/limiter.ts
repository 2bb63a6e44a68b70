// What a limiter's state will be some time after it was read, if nothing more is charged: the arithmetic of the scripts
// that Redis runs. All times are µs of the store's clock.
import { numberText } from "../words/limits";
import { spanText } from "../words/time";
import type { LimiterState } from "./calls";

export type Mark = readonly [number, number]; // a time and units

export type Picture =
  | { readonly kind: "bucket"; readonly left: number; readonly limit: number }
  | { readonly kind: "window"; readonly count: number; readonly limit: number; readonly into: number } // share that has passed
  | { readonly kind: "sliding"; readonly previous: number; readonly count: number; readonly limit: number; readonly into: number }
  | { readonly kind: "log"; readonly entries: readonly Mark[]; readonly windowUs: number; readonly limit: number }
  | { readonly kind: "leases"; readonly leases: readonly Mark[]; readonly ttlUs: number; readonly limit: number };

const sum = (marks: readonly Mark[]): number => marks.reduce((total, [, units]) => total + units, 0);

export function pictureOf(state: LimiterState, now: number, readAt: number): Picture {
  const { limit } = state;
  if (state.entries !== undefined) {
    const windowUs = state.window_us ?? 1;
    const entries = (state.entries as unknown as Mark[]).filter(([at]) => at > now - windowUs);
    return { kind: "log", entries, windowUs, limit };
  }
  if (state.leases !== undefined) {
    const leases = (state.leases as unknown as Mark[]).filter(([expires]) => expires > now);
    return { kind: "leases", leases, ttlUs: state.ttl_us ?? 1, limit };
  }
  if (state.used !== undefined) {
    const used = Math.max(0, state.used - ((now - readAt) / 1e6) * (state.units_per_second ?? 0));
    return { kind: "bucket", left: Math.max(0, limit - used), limit };
  }
  const from = state.from_us ?? 0;
  const length = state.window_us ?? (state.until_us ?? from + 1) - from;
  const windows = Math.floor((now - from) / length); // that have ended since
  const into = (now - from) / length - windows;
  const count = state.count ?? 0;
  if (state.previous === undefined) return { kind: "window", count: windows > 0 ? 0 : count, limit, into };
  return {
    kind: "sliding",
    previous: windows === 0 ? state.previous : windows === 1 ? count : 0,
    count: windows === 0 ? count : 0,
    limit,
    into,
  };
}

export function usedOf(picture: Picture): number {
  switch (picture.kind) {
    case "bucket":
      return picture.limit - picture.left;
    case "window":
      return picture.count;
    case "sliding":
      return picture.count + picture.previous * (1 - picture.into);
    case "log":
      return sum(picture.entries);
    case "leases":
      return sum(picture.leases);
  }
}

// For people who cannot see the picture, and for those who can.
export function pictureText(state: LimiterState, picture: Picture, now: number): string {
  const { limit } = picture;
  const shown = (units: number): string => numberText(Math.round(units * 10) / 10);
  const of = `of ${numberText(limit)}`;
  switch (picture.kind) {
    case "bucket": {
      const rate = state.units_per_second ?? 0;
      const full = rate > 0 ? (limit - picture.left) / rate : 0;
      return picture.left >= limit ? `Full: ${numberText(limit)} left` : `${shown(picture.left)} ${of} left, full again in ${spanText(full)}`;
    }
    case "window": {
      const end = state.until_us ?? (state.from_us ?? 0) + (state.window_us ?? 0);
      const rest = end > now ? `; it ends in ${spanText((end - now) / 1e6)}` : "";
      return `${numberText(picture.count)} ${of} used in this ${state.until_us === undefined ? "window" : "period"}${rest}`;
    }
    case "sliding":
      return `${shown(usedOf(picture))} ${of} used: ${numberText(picture.count)} in this window, and ${Math.round(
        (1 - picture.into) * 100,
      )} % of the ${numberText(picture.previous)} in the window before`;
    case "log":
      return `${numberText(usedOf(picture))} ${of} used, in ${numberText(picture.entries.length)} entries${state.more ? " and more" : ""}`;
    case "leases": {
      const next = picture.leases[0];
      const ends = next === undefined ? "" : `; the next one ends in ${spanText((next[0] - now) / 1e6)}`;
      return `${numberText(usedOf(picture))} ${of} in use, by ${numberText(picture.leases.length)} leases${state.more ? " and more" : ""}${ends}`;
    }
  }
}
