// The time that a view is about; it stays in the address.
import type { JSX } from "preact";
import { param, setQuery } from "../router";

const kRanges = [
  { name: "15m", title: "15 minutes", seconds: 900, by: "minute" },
  { name: "1h", title: "1 hour", seconds: 3_600, by: "minute" },
  { name: "6h", title: "6 hours", seconds: 21_600, by: "minute" },
  { name: "24h", title: "24 hours", seconds: 86_400, by: "hour" },
  { name: "7d", title: "7 days", seconds: 604_800, by: "hour" },
  { name: "30d", title: "30 days", seconds: 2_592_000, by: "day" },
] as const;

export type Range = (typeof kRanges)[number];

export const kSecondsOf = { minute: 60, hour: 3_600, day: 86_400 } as const;

export const range = (): Range => kRanges.find((each) => each.name === param("range")) ?? kRanges[1];

export const sinceOf = (each: Range, now = Date.now()): string => new Date(now - each.seconds * 1000).toISOString();

export function RangePicker(): JSX.Element {
  return (
    <select aria-label="Time range" value={range().name} onChange={(event) => setQuery({ range: event.currentTarget.value }, false)}>
      {kRanges.map((each) => (
        <option key={each.name} value={each.name}>
          Last {each.title}
        </option>
      ))}
    </select>
  );
}
