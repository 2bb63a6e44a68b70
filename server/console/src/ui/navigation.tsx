// The navigation: a column beside the view; on narrow screens a bar above it, with a menu.
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Route } from "../app";
import { link, place } from "../router";
import { Icon } from "./icons";

const isUnder = (route: Route): boolean =>
  route.path === "/" ? place.value.path === "/" : `${place.value.path}/`.startsWith(`${route.path}/`);

// `children`: what stands below the views.
export function Navigation({ routes, search, children }: {
  routes: readonly Route[];
  search: () => void;
  children: ComponentChildren;
}): JSX.Element {
  const [open, setOpen] = useState(false);
  const bar = useRef<HTMLElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  // The focus would be lost with the menu: it goes on in the view.
  const leaveMenu = (): void => {
    if (!open) return;
    setOpen(false);
    document.getElementById("view")?.focus({ preventScroll: true });
  };
  // Before the menu is painted: a key or a click right after it opened counts too.
  useLayoutEffect(() => {
    if (!open) return;
    const press = (event: KeyboardEvent): void => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      setOpen(false);
      button.current?.focus();
    };
    // The menu covers the view: it closes when the focus or a click goes there.
    const leave = (event: Event): void => {
      if (event.target instanceof Node && !bar.current?.contains(event.target)) setOpen(false);
    };
    addEventListener("keydown", press);
    addEventListener("focusin", leave);
    addEventListener("pointerdown", leave);
    return () => {
      removeEventListener("keydown", press);
      removeEventListener("focusin", leave);
      removeEventListener("pointerdown", leave);
    };
  }, [open]);
  return (
    <nav ref={bar} aria-label="Views" data-open={open ? "" : undefined}>
      <a class="brand" href={link("/")}>
        Sluice
      </a>
      <button type="button" class="search" aria-label="Search" onClick={search}>
        <Icon name="search" /> <span>Search</span> <kbd>/</kbd>
      </button>
      <button
        type="button"
        class="menu-button"
        ref={button}
        aria-expanded={open}
        aria-controls="menu"
        onClick={() => setOpen(!open)}
      >
        <Icon name={open ? "close" : "menu"} /> Menu
      </button>
      <div id="menu" class="menu">
        <ul>
          {routes.map((route) => (
            <li key={route.path}>
              <a href={link(route.path)} aria-current={isUnder(route) ? "page" : undefined} onClick={leaveMenu}>
                {route.icon && <Icon name={route.icon} />}
                {route.title}
              </a>
            </li>
          ))}
        </ul>
        {children}
      </div>
    </nav>
  );
}
