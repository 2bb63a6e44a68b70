// Icons, drawn here so that the page needs nothing else. 16 × 16.
import type { JSX } from "preact";

const kPaths = {
  overview: "M2 13V8m4 5V3m4 10V6m4 7V9",
  policies: "M3 3h10M3 8h10M3 13h6",
  plans: "M2 4h12v8H2zM2 7h12",
  explain: "M6 6a2 2 0 1 1 3 1.7c-.7.4-1 .8-1 1.6M8 12v.2M8 15A7 7 0 1 0 8 1a7 7 0 0 0 0 14z",
  subject: "M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14a5.5 5.5 0 0 1 11 0",
  keys: "M10 6a3 3 0 1 1-6 0 3 3 0 0 1 6 0zM9.5 8l4.5 4.5M12 10.5l1.5-1.5",
  tokens: "M3 7V5a5 5 0 0 1 10 0v2M2.5 7h11v7h-11z",
  tenants: "M2 14V4l6-2v12M8 6l6 2v6M4 6h2M4 9h2M10 10h2",
  groups: "M5.5 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5M1 13.5a4.5 4.5 0 0 1 9 0M11 8.2a2.2 2.2 0 1 0-.8-4.3M11.5 10a4 4 0 0 1 3.5 3.5",
  bindings: "M6 10l4-4M5 8L3 10a2.8 2.8 0 0 0 4 4l2-2M7 4l2-2a2.8 2.8 0 0 1 4 4l-2 2",
  fleet: "M2 3h12v4H2zM2 9h12v4H2zM4 5h1M4 11h1",
  audit: "M4 2h6l3 3v9H4zM6 7h5M6 10h5",
  play: "M4 2.5v11l9-5.5z",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM11 11l3.5 3.5",
  menu: "M2 4h12M2 8h12M2 12h12",
  copy: "M6 6h8v8H6zM10 6V2H2v8h4",
  close: "M3 3l10 10M13 3L3 13",
  warning: "M8 2l6.5 12h-13zM8 6.5v3.5M8 12v.2",
} as const;

export type IconName = keyof typeof kPaths;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={kPaths[name]} />
    </svg>
  );
}
