"""The console with 10,000 policies in Chromium: the first view, and pauses in scrolling, filtering, sorting and the palette."""

import time
from dataclasses import asdict
from typing import Any

from bench.report import Report, median, number
from bench.rig import Rig
from support import many_policies
from support.page_timing import WATCH, FirstView, Pauses, Timing
from support.postgres import PostgresServer
from support.server import Installation, Server

ORDER = 65
ABOUT = "the console in Chromium with 10,000 policies: first view, scrolling, filtering, sorting"
PROGRAMS = ["sluice-server"]
SETUP = ["test"]   # Chromium and Playwright

COUNT = 10_000
LONGEST_PAUSE, FIRST_VIEW = 100, 1000   # ms
WHEEL = 1200   # px a turn of the wheel


def scroll(page: Any) -> None:
    """With the wheel through some hundred rows, to the end at once, and back."""
    page.mouse.move(640, 600)
    for _ in range(20):
        page.mouse.wheel(0, WHEEL)
        page.evaluate("() => new Promise(requestAnimationFrame)")
    for key in ("End", "Home"):
        page.keyboard.press(key)
        page.evaluate("() => new Promise(requestAnimationFrame)")


def type_slowly(page: Any, text: str) -> None:
    """As a person does who types fast."""
    page.keyboard.type(text, delay=60)


def filter_rows(page: Any) -> None:
    """By a text that is typed and taken back, and by mode."""
    page.get_by_label("Search in policies").focus()
    type_slowly(page, "customer 99")
    for _ in "customer 99":
        page.keyboard.press("Backspace", delay=60)
    for mode in ("shadow", ""):
        page.get_by_label("Mode", exact=True).select_option(mode)


def sort_rows(page: Any) -> None:
    """Up, down and not at all, by text and by what is computed of limits."""
    for title in ("Policy", "Limits"):
        for _ in range(3):
            page.get_by_role("button", name=title, exact=True).click()


def use_palette(page: Any) -> None:
    """Opened, typed into, closed."""
    page.locator("main h1").click()
    page.keyboard.press("/")
    type_slowly(page, "customer 77")
    page.keyboard.press("Escape")


def choose_subject(page: Any) -> None:
    """A subject's policy, out of all."""
    page.evaluate("path => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }",
                  f"/subject?tenant={many_policies.TENANT}")
    page.get_by_label("Under").click()
    page.get_by_role("option", name="policy").first.wait_for()
    type_slowly(page, many_policies.policy_id(COUNT - 1))
    page.keyboard.press("Enter")
    page.get_by_label("subject", exact=True).wait_for()


PHASES = {"scrolling": scroll, "filtering": filter_rows, "sorting": sort_rows, "the palette": use_palette,
          "choosing a subject's policy": choose_subject}


def measure_lists(report: Report, server: Server) -> None:
    """What the server needs for the list, and how many bytes it is."""
    with server.admin() as admin:
        took, size = [], 0
        cursor = ""
        while cursor is not None:
            begin = time.monotonic()
            answer = admin.get("/policies", query={"tenant_id": many_policies.TENANT, "limit": "1000", **({"cursor": cursor} if cursor else {})})
            took.append(1000 * (time.monotonic() - begin))
            size += int(answer.header("content-length") or 0)
            cursor = answer.body["next"]
    report.raw["console_list"] = {"pages_ms": took, "bytes": size}
    report.measured(f"the list of {COUNT:,} policies", f"{len(took)} pages", f"{number(median(took))} ms each", f"{number(size / 1e6)} MB")


def judge(report: Report, first: list[FirstView], pauses: list[dict[str, Pauses]]) -> None:
    """The median of the rounds."""
    report.raw["console"] = {"first": [asdict(each) for each in first],
                             "pauses": [{name: asdict(each) for name, each in found.items()} for found in pauses]}
    report.at_most("first view: first rows of the table", FIRST_VIEW, median(each.rows for each in first), "ms",
                   f"first paint {number(median(each.contentful for each in first))} ms, largest {number(median(each.largest for each in first))} ms, "
                   f"all rows {number(median(each.whole for each in first))} ms")
    for name in pauses[0]:
        each = [found[name] for found in pauses]
        report.at_most(f"{name}: longest pause", LONGEST_PAUSE, median(max(one.task, one.event, one.frame) for one in each), "ms",
                       " · ".join(f"{what} {number(median(getattr(one, what) for one in each))} ms" for what in ("cpu", "task", "frame", "event")))


def run(rig: Rig, report: Report) -> None:
    """One server, one tab for each round."""
    from support.browser import Console, chromium   # Playwright is there once SETUP has run

    postgres = PostgresServer(rig.folder / "postgres").start()
    try:
        made = Installation.make(rig.program("sluice-server"), postgres)
        server = Server(rig.program("sluice-server"), rig.folder / "server", made.database, made.token, []).start()
        try:
            with server.admin(timeout=600) as admin:
                many_policies.load(admin, COUNT)
            measure_lists(report, server)
            first: list[FirstView] = []
            pauses: list[dict[str, Pauses]] = []
            with chromium() as browser:
                for _ in range(rig.rounds):
                    console = Console(browser, server)
                    console.page.add_init_script(WATCH)
                    console.open(f"/policies?tenant={many_policies.TENANT}").sign_in(server.token)
                    timing = Timing(browser, console.page)
                    first.append(timing.first_view())
                    found: dict[str, Pauses] = {}
                    for name, phase in PHASES.items():
                        with timing.phase(found, name):
                            phase(console.page)
                    pauses.append(found)
                    console.close()
            judge(report, first, pauses)
        finally:
            server.close()
    finally:
        postgres.close()
