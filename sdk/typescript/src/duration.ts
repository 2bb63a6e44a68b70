const pattern = /^(\d+(?:\.\d+)?|\.\d+)(ms|s|m|h|d)$/;
const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of a duration with a unit, such as `50ms` or `1.5s`; undefined if it is none. */
export function parseDuration(text: string): number | undefined {
  const match = pattern.exec(text.trim());
  return match ? Number(match[1]) * units[match[2]!]! : undefined;
}

/** Milliseconds of a check's `wait`, as the agent reads it: text with a unit, or seconds. 0 if it is neither; the agent judges it. */
export function waitMilliseconds(wait: unknown): number {
  if (typeof wait === 'number') return Number.isFinite(wait) && wait > 0 ? wait * 1000 : 0;
  if (typeof wait !== 'string') return 0;
  return parseDuration(wait) ?? (/^\d+$/.test(wait) ? Number(wait) * 1000 : 0);
}
