"""Back, forward, reload and a copied link lead to the same place: each view with its filters, its order and its tenant."""

from collections.abc import Iterator
from typing import Any

import pytest

from console.conftest import Shop
from support.browser import Browser, Console, expect

# Path and query, and what shows that the view has read them: the label of a field with its value, or None for a heading.
PLACES: dict[str, tuple[str, dict[str, str]]] = {
    "overview": ("/?tenant=shop&range=24h", {"Tenant": "shop"}),
    "policies": ("/policies?tenant=shop&q=ord&mode=enforce&state=enabled&sort=-id",
                 {"Search in policies": "ord", "Mode": "enforce", "State": "enabled", "Tenant": "shop"}),
    "policy": ("/policies/orders?tenant=shop", {"Tenant": "shop"}),
    "plans": ("/plans?tenant=shop&q=pro&sort=id", {"Search in plans": "pro", "Tenant": "shop"}),
    "plan": ("/plans/pro?tenant=shop", {"Tenant": "shop"}),
    "explain": ("/explain?tenant=shop&request=%7B%22resource%22%3A%22GET%3A%2Forders%22%2C%22subject%22%3A%22me%22%7D",
                {"The check, as an application sends it": '{"resource":"GET:/orders","subject":"me"}', "Tenant": "shop"}),
    "subject": ("/subject?tenant=shop&of=shop%2Fpolicy%2Forders&k.subject=user%3A42",
                {"Under": "policy orders (shop)", "subject": "user:42", "Tenant": "shop"}),
    "playground": ("/playground?tenant=shop&judge=policy%2Forders&burst=3&subject=me&cost=2&d.region=eu",
                   {"Judged by": "policy orders", "At once": "3", "Cost of each": "2", "Subject": "me", "region": "eu"}),
    "keys": ("/keys?tenant=shop&sort=name", {"Tenant": "shop"}),
    "tenants": ("/tenants?sort=-id", {}),
    "tokens": ("/tokens?sort=role", {}),
    "fleet": ("/fleet?q=agent&state=live&sort=-report", {"Search in agents": "agent", "State": "live"}),
    "audit": ("/audit?tenant=shop&kind=policy", {"Tenant": "shop"}),
    "bindings": ("/bindings?tenant=shop", {"Tenant": "shop"}),
    "groups": ("/groups?sort=role", {}),
}


@pytest.fixture(scope="module")
def console(browser: Browser, shop: Shop) -> Iterator[Console]:
    """One tab for all."""
    tab = Console(browser, shop.server).open("/").sign_in(shop.server.token)
    yield tab
    tab.close()


def assert_there(page: Any, place: str, fields: dict[str, str]) -> None:
    """The address is as it was, and the fields show it."""
    for label, value in fields.items():
        shown = page.get_by_label(label, exact=True)
        if label == "Tenant":   # whose label holds its choices too
            shown = page.get_by_role("combobox", name="Tenant", exact=True)
        expect(shown).to_have_value(value)
    path, _, query = place.partition("?")
    url = page.evaluate("location.pathname + location.search")
    assert url.partition("?")[0] == path and set(url.partition("?")[2].split("&")) == set(query.split("&")), url


@pytest.mark.parametrize("name", PLACES)
def test_reload_back_and_forward_lead_to_the_same_place(name: str, console: Console) -> None:
    place, fields = PLACES[name]
    page = console.go(place).page
    assert_there(page, place, fields)
    title = console.heading()
    page.reload()
    assert_there(page, place, fields)
    expect(page.locator("main h1")).to_have_text(title)
    page.get_by_role("navigation").get_by_role("link", name="Policies" if name == "plans" else "Plans").click()
    expect(page.locator("main h1")).not_to_have_text(title)
    page.go_back()
    assert_there(page, place, fields)
    expect(page.locator("main h1")).to_have_text(title)
    page.go_forward()
    expect(page.locator("main h1")).not_to_have_text(title)


def test_a_sorted_column_stays_sorted(console: Console) -> None:
    page = console.go("/policies?tenant=shop").page
    page.get_by_role("button", name="Policy", exact=True).click()
    page.get_by_role("button", name="Policy", exact=True).click()
    head = page.get_by_role("columnheader", name="Policy", exact=False).first
    expect(head).to_have_attribute("aria-sort", "descending")
    links = page.locator("tbody a")
    expect(links.first).to_have_text("search")
    page.reload()
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(links.first).to_have_text("search")
