// What a limit allows, in words: "60 at once, then one a second".
import type { Schema } from "../api/client";

export type Limit = Schema<"LimitDocument">;
export type Algorithm = Limit["algorithm"];

export const kAlgorithms: readonly { readonly name: Algorithm; readonly title: string; readonly when: string }[] = [
  { name: "token_bucket", title: "Token bucket", when: "short bursts are fine, and a steady rate after them" },
  { name: "leaky_bucket", title: "Leaky bucket", when: "work must flow evenly" },
  { name: "fixed_window", title: "Fixed window", when: "a number for each minute or hour, and cheap" },
  { name: "sliding_window", title: "Sliding window", when: "a number for any minute, nearly exact, and cheap" },
  { name: "sliding_window_log", title: "Sliding window log", when: "a number for any minute, exact" },
  { name: "concurrency", title: "Concurrency", when: "so many at the same time" },
  { name: "quota", title: "Quota", when: "a number for each day, month or year" },
];

const kUnitSeconds: Record<string, number> = { us: 1e-6, µs: 1e-6, μs: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600, d: 86400 };

const kNamedUnits: readonly [RegExp, number][] = [
  [/^(us|µs|μs|microseconds?)$/, 1e-6],
  [/^(ms|milliseconds?)$/, 1e-3],
  [/^(s|secs?|seconds?|)$/, 1],
  [/^(m|mins?|minutes?)$/, 60],
  [/^(h|hours?)$/, 3600],
  [/^(d|days?)$/, 86400],
];

// Seconds of a duration such as "250ms"; null if it is none.
export function secondsOf(duration: string): number | null {
  const parts = /^([0-9]+)(us|µs|μs|ms|s|m|h|d)$/.exec(duration.trim());
  if (parts === null) return null;
  return Number(parts[1]) * (kUnitSeconds[parts[2] ?? ""] ?? 1);
}

export interface Rate {
  readonly units: number;
  readonly seconds: number;
}

// "10/minute", "7/3s", "5/2"; null if it is no rate.
export function rateOf(text: string): Rate | null {
  const parts = /^0*([1-9][0-9]*)\/([0-9]*) ?([a-zµμ]*)$/.exec(text.trim());
  if (parts === null || (parts[2] === "" && parts[3] === "")) return null;
  const unit = kNamedUnits.find(([name]) => name.test(parts[3] ?? ""));
  if (unit === undefined) return null;
  return { units: Number(parts[1]), seconds: (parts[2] === "" ? 1 : Number(parts[2])) * unit[1] };
}

const kNumber = new Intl.NumberFormat("en");
export const numberText = (value: number): string => kNumber.format(value);

const kPeriods: readonly [number, string][] = [
  [86400, "day"],
  [3600, "hour"],
  [60, "minute"],
  [1, "second"],
];

// "each minute", "each 90 seconds", "each 250 ms"
function eachText(seconds: number): string {
  for (const [size, name] of kPeriods) {
    const count = seconds / size;
    if (Number.isInteger(count)) return count === 1 ? `each ${name}` : `each ${numberText(count)} ${name}s`;
  }
  return `each ${numberText(Math.round(seconds * 1000))} ms`;
}

function windowText(duration: string): string {
  const seconds = secondsOf(duration);
  return seconds === null ? `each ${duration}` : eachText(seconds);
}

function thenText(rate: string): string {
  const parsed = rateOf(rate);
  if (parsed === null) return rate;
  const count = parsed.units === 1 ? "one" : numberText(parsed.units);
  return `${count} ${eachText(parsed.seconds)}`;
}

// `noun`: what is counted.
const counted = (count: number, noun: string): string =>
  noun === "requests" ? numberText(count) : `${numberText(count)} ${noun}`;

export function limitText(limit: Limit): string {
  const noun = limit.unit ?? "requests";
  switch (limit.algorithm) {
    case "token_bucket":
      return limit.capacity === 0
        ? "nothing"
        : `${counted(limit.capacity, noun)} at once, then ${thenText(limit.refill)}`;
    case "leaky_bucket":
      return limit.capacity === 0
        ? "nothing"
        : `${thenText(limit.leak)}, and up to ${counted(limit.capacity, noun)} in the queue`;
    case "fixed_window":
      return `${counted(limit.limit, noun)} ${windowText(limit.window)}${
        limit.align === "first" ? ", from the first one" : ""
      }`;
    case "sliding_window":
      return `${counted(limit.limit, noun)} in any ${windowText(limit.window).slice(5)}, weighted`;
    case "sliding_window_log":
      return `${counted(limit.limit, noun)} in any ${windowText(limit.window).slice(5)}, exactly`;
    case "concurrency":
      return `${counted(limit.limit, noun)} at the same time; a lease ends after ${windowText(limit.lease_ttl).slice(5)}`;
    case "quota":
      return `${counted(limit.limit, noun)} each ${limit.period}`;
  }
}

// The number that a limit is about: its capacity, or its limit.
export const sizeOf = (limit: Limit): number => ("capacity" in limit ? limit.capacity : limit.limit);

export const titleOf = (algorithm: string): string =>
  kAlgorithms.find((each) => each.name === algorithm)?.title ?? algorithm;
