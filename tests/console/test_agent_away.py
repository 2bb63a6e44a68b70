"""An agent or its Redis is away while a page is open: the page says so, and goes on by itself when it is back."""

from collections.abc import Callable, Iterator

import pytest

from console.conftest import SECONDS, Shop
from support.browser import Console, expect
from support.crew import loaded
from support.process import wait_until
from support.redis_server import RedisServer

OpenConsole = Callable[..., Console]
PROVOKED = ("Failed to load resource", )   # the browser's own lines about answers that the page handles
MINUTE = 60_000   # ms


@pytest.fixture(autouse=True)
def all_is_back(shop: Shop, redis: RedisServer) -> Iterator[None]:
    """Each test leaves the module's shop as it found it."""
    yield
    if not shop.agent.process.alive():
        start(shop)
    assert redis.cli("PING")


def start(shop: Shop) -> None:
    """The agent again, until it decides."""
    shop.agent.launch()
    wait_until("the agent's policies", lambda: shop.agent.process.alive() and loaded(shop.agent), SECONDS)
    wait_until("decisions", lambda: bool(shop.check(1, subject="waiter")), SECONDS)


def open_page(shop: Shop, open_console: OpenConsole, path: str) -> Console:
    """A tab of a platform_admin."""
    console = open_console().open(path).sign_in(shop.server.token)
    console.allowed.update(PROVOKED)
    return console


def test_the_playground_says_that_its_agent_is_away_and_fires_again_when_it_is_back(shop: Shop, open_console: OpenConsole) -> None:
    page = open_page(shop, open_console, "/playground?tenant=shop&judge=policy%2Forders&burst=3&subject=away").page
    figures = page.locator("dl.figures div")
    assert shop.agent.stop() == 0
    page.get_by_role("button", name="Fire").click()
    expect(page.get_by_text("was not made").first).to_be_visible()
    expect(figures.filter(has_text="Allowed").locator("dd")).to_have_text("0")
    start(shop)
    page.get_by_role("button", name="Fire").click()
    expect(figures.filter(has_text="Allowed").locator("dd")).to_have_text("3")


def test_the_fleet_says_that_an_agent_is_missing_and_that_it_is_back(shop: Shop, open_console: OpenConsole) -> None:
    page = open_page(shop, open_console, "/fleet").page
    row = page.get_by_role("row").filter(has_text="agent-1")
    expect(row).to_contain_text("live")
    shop.agent.kill9()
    expect(row).to_contain_text("missing", timeout=MINUTE)
    expect(page.locator("main")).to_contain_text("1 missing", timeout=MINUTE)
    start(shop)
    expect(row).to_contain_text("live", timeout=MINUTE)
    expect(page.locator("main")).not_to_contain_text("1 missing", timeout=MINUTE)


def test_a_subjects_page_needs_no_agent_and_sees_what_it_counts_when_it_is_back(shop: Shop, open_console: OpenConsole) -> None:
    page = open_page(shop, open_console, "/subject?tenant=shop&of=shop%2Fpolicy%2Forders&k.subject=patient").page
    card = page.locator("section.card")
    expect(card).to_contain_text("5 of 5")
    assert shop.agent.stop() == 0
    page.reload()
    expect(card).to_contain_text("5 of 5")
    start(shop)
    assert shop.check(2, subject="patient") == [200, 200]
    expect(card).to_contain_text("3 of 5", timeout=MINUTE)


@pytest.mark.parametrize(("path", "shown"), [
    ("/subject?tenant=shop&of=shop%2Fpolicy%2Forders&k.subject=fresh", "5 of 5"),
    ("/playground?tenant=shop&judge=policy%2Forders&subject=fresh&cost=0", "0 of 5 used"),
], ids=["subject", "playground"])
def test_redis_that_is_away_is_said_and_the_state_comes_back(path: str, shown: str, shop: Shop, redis: RedisServer,
                                                            open_console: OpenConsole) -> None:
    page = open_page(shop, open_console, path).page
    expect(page.locator("main")).to_contain_text(shown)
    if path.startswith("/playground"):
        page.get_by_role("button", name="Fire").click()   # the state is read again and again after a burst
    redis.pause()
    try:
        expect(page.get_by_role("alert")).to_contain_text("Redis could not be read", timeout=MINUTE)
    finally:
        redis.resume()
    expect(page.get_by_role("alert")).to_have_count(0, timeout=MINUTE)
    expect(page.locator("main")).to_contain_text(shown)
