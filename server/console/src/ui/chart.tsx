// Counts over time as stacked bars, by uPlot.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { numberText } from "../words/limits";
import { utc } from "../words/time";

export interface Series {
  readonly title: string;
  readonly color: string; // a custom property of the style sheet, such as --good
  readonly values: readonly number[];
}

// `times`: Unix seconds, of the same number as each series' values.
export function Chart({ times, series, label }: { times: readonly number[]; series: readonly Series[]; label: string }): JSX.Element {
  const holder = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = holder.current;
    if (element === null || times.length === 0) return;
    const style = getComputedStyle(element);
    const ink = (name: string): string => style.getPropertyValue(name).trim();
    const stacked = stack(series);
    const axis = { stroke: ink("--quiet"), grid: { stroke: ink("--line"), width: 1 }, ticks: { stroke: ink("--line") } };
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: 220,
        cursor: { y: false },
        legend: { live: true },
        ...(utc.value ? { tzDate: (at: number) => uPlot.tzDate(new Date(at * 1000), "UTC") } : {}),
        scales: { y: { range: (_, __, most) => [0, Math.max(1, most)] } },
        axes: [{ ...axis, values: (_, ticks) => ticks.map(tickText) }, { ...axis, size: 60, values: (_, ticks) => ticks.map((tick) => numberText(tick)) }],
        series: [
          {},
          ...[...series].reverse().map((each, index) => ({
            label: each.title,
            stroke: ink(each.color),
            fill: ink(each.color),
            width: 0,
            points: { show: false },
            paths: uPlot.paths.bars?.({ size: [0.9, 40], align: 0 }) ?? null,
            value: (_: uPlot, __: number, ___: number, at: number | null) =>
              at === null ? "" : numberText(series[series.length - 1 - index]?.values[at] ?? 0),
          })),
        ],
      } as uPlot.Options,
      [times as number[], ...[...stacked].reverse()] as uPlot.AlignedData,
      element,
    );
    const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: 220 }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      plot.destroy();
    };
  }, [times, series, utc.value]);
  return <div ref={holder} class="chart" role="img" aria-label={label} />;
}

// The time of day; the day too where it begins.
function tickText(at: number): string {
  const date = new Date(at * 1000);
  const zone = utc.value ? { timeZone: "UTC" } : {};
  const time = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", ...zone }).format(date);
  return time === "00:00" ? new Intl.DateTimeFormat("en-GB", { day: "2-digit", month: "2-digit", ...zone }).format(date) : time;
}

// Each series on top of those before it.
export function stack(series: readonly Series[]): number[][] {
  const sums: number[] = [];
  return series.map((each) =>
    each.values.map((value, index) => {
      sums[index] = (sums[index] ?? 0) + value;
      return sums[index] ?? 0;
    }),
  );
}
