"""The console in a headless Chromium, driven by Playwright (.run/playwright, by scripts/setup test)."""

import copy
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.server import Server

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / f".run/playwright/lib/python3.{sys.version_info.minor}/site-packages"))

from axe_playwright_python.sync_playwright import Axe  # noqa: E402
from playwright.sync_api import Browser, Page, Request, Route, expect, sync_playwright  # noqa: E402

expect.set_options(timeout=30_000)   # ms, for what takes milliseconds on a machine that is not busy

WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
# What axe calls a finding that keeps people out.
SERIOUS = {"serious", "critical"}

# Runs before the page's own script: every breach of the Content Security Policy is kept.
WATCH = """
window.breaches = [];
addEventListener("securitypolicyviolation", (event) => breaches.push(`${event.effectiveDirective} ${event.blockedURI}`));
"""


class Console:
    """A tab with the console of one server. What goes wrong in it is kept, and close() looks at it. `others`: sites that the tab may
    visit; `trusting`: whatever their certificate is."""

    def __init__(self, browser: Browser, server: Server, *, dark: bool = False, narrow: bool = False,
                 others: tuple[str, ...] = (), trusting: bool = False) -> None:
        self.server = server
        self.allowed: set[str] = set()   # parts of complaints that the test provokes
        self.complaints: list[str] = []
        self._context = browser.new_context(color_scheme="dark" if dark else "light", viewport=NARROW if narrow else WIDE,
                                            ignore_https_errors=trusting)
        self._context.add_init_script(WATCH)
        self.origin = f"http://127.0.0.1:{server.port}"
        self._may_visit = (self.origin, "data:", "blob:", *others)
        self.page: Page = self._new_page()

    def _new_page(self) -> Page:
        page = self._context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("console", lambda line: self.complaints.append(f"{line.type}: {line.text}") if line.type in ("error", "warning") else None)
        page.on("request", self._look_at)
        return page

    def tab(self) -> "Console":
        """Another tab of the same browser, with the same session. It is closed with this one, which looks at its complaints too."""
        other = copy.copy(self)
        other.page = self._new_page()
        return other

    def _look_at(self, request: Request) -> None:
        if not request.url.startswith(self._may_visit):
            self.complaints.append(f"request to another site: {request.url}")

    def open(self, path: str = "/") -> "Console":
        """Loads the page at this path."""
        self.page.goto(self.origin + path)
        return self

    def sign_in(self, token: str) -> "Console":
        """By the form, which must be there."""
        self.page.get_by_label("Admin token").fill(token)
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.page.get_by_role("navigation")).to_be_visible()
        return self

    def go(self, path: str) -> "Console":
        """To a view of the page that is open, as a link does."""
        self.page.evaluate("path => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }", path)
        return self

    def heading(self) -> str:
        """Of the view that is shown, once it is there."""
        return str(self.page.locator("main h1").inner_text())

    def serious_findings(self) -> list[str]:
        """Of axe: what hinders people with a screen reader or weak sight."""
        found: list[dict[str, Any]] = Axe().run(self.page).response["violations"]
        return [f"{each['id']}: {each['help']}: {each['nodes'][0]['html'][:200]}" for each in found if each["impact"] in SERIOUS]

    def close(self) -> None:
        """Nothing may have gone wrong that the test did not provoke."""
        breaches = self.page.evaluate("window.breaches ?? []")
        self._context.close()
        wrong = [text for text in self.complaints if not any(part in text for part in self.allowed)]
        assert not wrong, wrong
        assert not breaches, f"the Content Security Policy was breached: {breaches}"


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's Chromium."""
    program = shutil.which("chromium")
    assert program, "there is no Chromium: run scripts/setup test"
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield made
        made.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """For all tests, which have tabs of their own."""
    with chromium() as made:
        yield made
