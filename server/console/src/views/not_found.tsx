import type { JSX } from "preact";
import { link } from "../router";
import { Empty } from "../ui/parts";

export function NotFound(): JSX.Element {
  return (
    <Empty title="There is no such view">
      It may have another address now, or your token may not see it. <a href={link("/")}>To the overview</a>
    </Empty>
  );
}
