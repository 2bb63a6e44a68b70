// An address that is of no view, or of one that the role may not see.
import type { JSX } from "preact";
import { link } from "../router";
import { Heading } from "../ui/parts";

export function NotFound(): JSX.Element {
  return (
    <>
      <Heading title="There is no such view" below="It may have another address now, or your token may not see it." />
      <p>
        <a href={link("/")}>To the overview</a>
      </p>
    </>
  );
}
