// Chooses one of many: a field that lists what matches the letters typed into it. A <select> with ten thousand options would
// hold the page up for half a second.
import type { JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { best } from "../words/search";

export interface Choice {
  readonly value: string;
  readonly text: string;
}

const kShown = 50;

// `value`: of one of `choices`, or "" while none is chosen.
export function Choose({ label, choices, value, choose, placeholder }: {
  label: string;
  choices: readonly Choice[];
  value: string;
  choose: (value: string) => void;
  placeholder: string;
}): JSX.Element {
  const [typed, setTyped] = useState<string | null>(null); // null: the list is closed
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const id = useId();
  const chosen = choices.find((each) => each.value === value);
  const found = typed === null ? [] : best(typed, choices, (each) => each.text, kShown);
  useEffect(() => list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }), [at, typed]);

  const open = (): void => {
    if (typed !== null) return;
    setTyped("");
    setAt(0);
  };
  const take = (choice: Choice | undefined): void => {
    setTyped(null);
    if (choice !== undefined && choice.value !== value) choose(choice.value);
  };
  const press = (event: KeyboardEvent): void => {
    if (typed === null) {
      if (event.key !== "ArrowDown" && event.key !== "Enter") return;
      open();
    } else if (event.key === "ArrowDown") setAt(Math.min(at + 1, found.length - 1));
    else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
    else if (event.key === "Enter") take(found[at]);
    else if (event.key === "Escape") setTyped(null);
    else return;
    event.preventDefault();
  };
  return (
    <div class="field choose">
      <label for={`${id}-text`}>{label}</label>
      <input
        id={`${id}-text`}
        role="combobox"
        aria-expanded={typed !== null}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={found[at] ? `${id}-${at}` : undefined}
        autocomplete="off"
        spellcheck={false}
        placeholder={chosen?.text ?? placeholder}
        value={typed ?? chosen?.text ?? ""}
        onClick={open}
        onFocus={(event) => event.currentTarget.select()}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={press}
        onBlur={() => setTyped(null)}
      />
      {/* A press of the mouse must not take the focus from the field, and close the list with it. */}
      <div class="choices" hidden={typed === null} onMouseDown={(event) => event.preventDefault()}>
        <ul id={`${id}-list`} ref={list} role="listbox" aria-label="Found" class="plain">
          {found.map((choice, index) => (
            <li key={choice.value} id={`${id}-${index}`} role="option" aria-selected={index === at} onClick={() => take(choice)}>
              {choice.text}
            </li>
          ))}
        </ul>
        {typed !== null && found.length === 0 && <p class="quiet">Nothing is called so.</p>}
        {found.length === kShown && <p class="quiet">Type more letters to see others.</p>}
      </div>
    </div>
  );
}
