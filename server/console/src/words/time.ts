// Times for people, in the zone of the reader or in UTC.
import { signal } from "@preact/signals";

export const utc = signal(false);

export function timeText(instant: string | number | null | undefined): string {
  if (instant === null || instant === undefined || instant === "") return "never";
  const date = new Date(instant);
  const options: Intl.DateTimeFormatOptions = {
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
    ...(utc.value ? { timeZone: "UTC" } : {}),
  };
  return new Intl.DateTimeFormat("sv-SE", options).format(date) + (utc.value ? " UTC" : "");
}

const kSteps: readonly [number, string][] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
  [1, "s"],
];

// "2 h 5 min"; at most two units.
export function spanText(seconds: number): string {
  if (seconds < 1) return seconds <= 0 ? "0 s" : `${Math.ceil(seconds * 1000)} ms`;
  const parts: string[] = [];
  let rest = Math.round(seconds);
  for (const [size, unit] of kSteps) {
    const count = Math.floor(rest / size);
    if (count > 0) parts.push(`${count} ${unit}`);
    rest -= count * size;
    if (parts.length === 2) break;
  }
  return parts.join(" ");
}

// One unit: how long ago it was is not exact anyway.
export function agoText(instant: string, now = Date.now()): string {
  const seconds = (now - Date.parse(instant)) / 1000;
  const step = kSteps.find(([size]) => seconds >= size);
  return step === undefined ? "now" : `${Math.floor(seconds / step[0])} ${step[1]} ago`;
}
