"""The navigation on a narrow screen: a bar, and a menu that a keyboard and a screen reader can use."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from console.conftest import Shop
from support.browser import Browser, Console, expect


@pytest.fixture(scope="module")
def console(browser: Browser, shop: Shop) -> Iterator[Console]:
    """One narrow tab for all."""
    tab = Console(browser, shop.server, narrow=True).open("/").sign_in(shop.server.token)
    yield tab
    tab.close()


@pytest.fixture
def page(console: Console) -> Any:
    """At the list of policies, with the menu closed."""
    console.page.goto(console.origin + "/policies?tenant=shop")
    expect(console.page.locator("main h1")).to_have_text("Policies")
    return console.page


def menu(page: Any) -> Any:
    """Its button."""
    return page.get_by_role("button", name="Menu", exact=True)


def links(page: Any) -> Any:
    """What can be chosen in it."""
    return page.get_by_role("navigation").get_by_role("listitem").get_by_role("link")


def test_the_bar_leaves_the_screen_to_the_view_and_stays_while_it_scrolls(page: Any) -> None:
    bar = page.get_by_role("navigation")
    assert bar.bounding_box()["height"] < 64
    assert page.locator("main h1").bounding_box()["y"] < 130
    page.goto(page.url.replace("/policies", "/policies/orders"))
    expect(page.locator("main h1")).to_have_text("orders")
    page.evaluate("scrollTo(0, 600)")
    assert bar.bounding_box()["y"] == 0


def test_the_menu_opens_and_closes_by_keyboard_and_a_link_leads_into_the_view(page: Any, console: Console) -> None:
    expect(links(page)).to_have_count(0)
    expect(menu(page)).to_have_attribute("aria-expanded", "false")
    menu(page).focus()
    page.keyboard.press("Enter")
    expect(menu(page)).to_have_attribute("aria-expanded", "true")
    expect(links(page).first).to_be_visible()
    assert console.serious_findings() == []
    page.keyboard.press("Tab")
    expect(links(page).first).to_be_focused()
    page.keyboard.press("Escape")
    expect(links(page)).to_have_count(0)
    expect(menu(page)).to_be_focused()
    page.keyboard.press("Enter")
    links(page).filter(has_text="Plans").focus()
    page.keyboard.press("Enter")
    expect(page.locator("main h1")).to_have_text("Plans")
    expect(links(page)).to_have_count(0)
    expect(page.locator("main")).to_be_focused()


def test_the_menu_closes_when_somebody_goes_on_in_the_view(page: Any) -> None:
    menu(page).click()
    expect(links(page).first).to_be_visible()
    page.locator("main").click(position={"x": 100, "y": 700})
    expect(links(page)).to_have_count(0)
    menu(page).click()
    page.get_by_role("button", name="Sign out").focus()
    page.keyboard.press("Tab")
    expect(links(page)).to_have_count(0)


def test_the_menu_has_the_tenant_and_the_way_out(page: Any) -> None:
    menu(page).click()
    page.get_by_role("combobox", name="Tenant", exact=True).select_option("")
    expect(page).not_to_have_url(re.compile("tenant="))
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


@pytest.mark.parametrize("view", ["/keys?tenant=shop", "/tenants", "/tokens"])
def test_buttons_of_a_row_are_in_sight(view: str, page: Any, console: Console) -> None:
    console.go(view)
    button = page.locator("tbody").get_by_role("button", name="Revoke" if view != "/tenants" else "Delete", exact=True).first
    box = button.bounding_box()
    assert box["x"] + box["width"] <= 390, "a button of the row is beyond the screen"
