"""Every view: it opens by its address, says what is there, breaks no rule, and can be read by everybody."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from console.conftest import Shop
from support.browser import Console, expect

OpenConsole = Callable[..., Console]
SCREENSHOTS = os.environ.get("CONSOLE_SCREENSHOTS")   # a folder for pictures of each view, to be looked at

# Path, heading, and a text that only the shop's data can have put there.
VIEWS = {
    "overview": ("/", "Overview", "denied"),
    "policies": ("/policies", "Policies", "GET:/orders"),
    "policy": ("/policies/orders?tenant=shop", "orders", "fixed_window"),
    "new policy": ("/policies/new?tenant=shop", "New policy", "Limits from"),
    "plans": ("/plans", "Plans", "pro"),
    "plan": ("/plans/pro?tenant=shop", "pro", "token_bucket"),
    "explain": ("/explain?tenant=shop", "Explain", "Nothing is counted."),
    "subject": ("/subject?tenant=shop&of=shop%2Fpolicy%2Forders&k.subject=user%3A42", "Subject", "0 of 5"),
    "playground": ("/playground?tenant=shop", "Playground", "What the limiter holds"),
    "keys": ("/keys", "API keys", "application"),
    "tenants": ("/tenants", "Tenants", "The shop"),
    "tokens": ("/tokens", "Tokens", "agents"),
    "groups": ("/groups", "Groups", "sluice-admins"),
    "bindings": ("/bindings", "Bindings", "Kubernetes"),
    "fleet": ("/fleet", "Fleet", "agent-1"),
    "audit": ("/audit", "Audit", "policy"),
}


@pytest.mark.parametrize("narrow", [False, True], ids=["wide", "narrow"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_opens_by_its_address_and_everybody_can_read_it(name: str, dark: bool, narrow: bool, shop: Shop,
                                                               open_console: OpenConsole) -> None:
    path, heading, text = VIEWS[name]
    console = open_console(dark=dark, narrow=narrow)
    console.allowed.add("status of 403")   # the playground asks, before anybody signs in, whether it is public
    page = console.open(path).sign_in(shop.server.token).page
    expect(page.locator("main h1")).to_contain_text(heading)
    expect(page.locator("main")).to_contain_text(text)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the screen"
    if SCREENSHOTS:
        page.wait_for_load_state("networkidle")
        folder = Path(SCREENSHOTS)
        folder.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=folder / f"{name.replace(' ', '_')}-{'dark' if dark else 'light'}-{'narrow' if narrow else 'wide'}.png",
                        full_page=True)
    assert console.serious_findings() == []


def test_reload_back_and_forward_keep_the_place(shop: Shop, open_console: OpenConsole) -> None:
    console = open_console().open("/policies?tenant=shop").sign_in(shop.server.token)
    page = console.page
    page.get_by_label("Search in policies").fill("orders")
    page.get_by_role("link", name="orders").click()
    expect(page.locator("main h1")).to_contain_text("orders")
    page.reload()
    expect(page.locator("main h1")).to_contain_text("orders")
    page.go_back()
    expect(page.get_by_label("Search in policies")).to_have_value("orders")
    expect(page.get_by_role("link", name="search")).to_have_count(0)
    page.go_forward()
    expect(page.locator("main h1")).to_contain_text("orders")


def test_an_address_that_is_no_view_says_so(shop: Shop, open_console: OpenConsole) -> None:
    console = open_console().open("/").sign_in(shop.server.token).go("/no-such-view")
    expect(console.page.locator("main h1")).to_contain_text("There is no such view")
