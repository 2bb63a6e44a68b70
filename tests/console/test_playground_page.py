"""The playground's page: a burst is fired, and its bars and numbers are what the agent counted."""

from collections.abc import Callable

from console.conftest import SECONDS, Shop
from support.admin import fresh_id
from support.browser import Console, expect

OpenConsole = Callable[..., Console]


def test_bars_and_numbers_of_bursts_are_what_the_agent_counted(shop: Shop, open_console: OpenConsole) -> None:
    def counted(outcome: str) -> float:
        return shop.agent.metric("sluice_decisions_total", tenant="shop", outcome=outcome)

    page = open_console().open("/").sign_in(shop.server.token).page
    before = {outcome: counted(outcome) for outcome in ("allowed", "denied")}
    allowed = denied = 0
    for size in (1, 3, 5, 6, 12, 25):
        page.goto(f"http://127.0.0.1:{shop.server.port}/playground?tenant=shop&judge=policy%2Forders&burst={size}"
                  f"&subject={fresh_id('player')}")
        page.get_by_role("button", name="Fire").click()
        bars = page.get_by_role("list", name="Calls, in the order in which they were sent").get_by_role("button")
        expect(bars).to_have_count(size)
        expect(bars.and_(page.get_by_label("waiting"))).to_have_count(0, timeout=SECONDS * 1000)
        shown = {title: int(page.locator("dl.figures div", has_text=title).locator("dd").inner_text()) for title in ("Allowed", "Denied")}
        assert shown == {"Allowed": min(size, 5), "Denied": max(size - 5, 0)}
        allowed, denied = allowed + shown["Allowed"], denied + shown["Denied"]
    assert counted("allowed") - before["allowed"] == allowed
    assert counted("denied") - before["denied"] == denied


def test_a_first_visit_meets_a_limit_at_the_first_burst(shop: Shop, open_console: OpenConsole) -> None:
    page = open_console().open("/").sign_in(shop.server.token).go("/playground?tenant=shop").page
    expect(page.get_by_label("Judged by")).to_have_value("plan/pro")
    expect(page.get_by_text("Name a resource")).to_have_count(0)
