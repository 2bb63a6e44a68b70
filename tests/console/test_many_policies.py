"""Thousands of policies: the table holds few rows at a time, loads page by page, and loads again only after a change.

How fast that is, `scripts/bench console` measures.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support import many_policies
from support.browser import Browser, Console, expect
from support.server import Server

COUNT = 2000
MOST_ROWS = 60     # in the page: a window of 900 px, and some above and below
PAGES = 3          # a short one for the first view, then pages of a thousand
SOON = 40_000      # ms, longer than two of the times at which the list is asked for again


@pytest.fixture(scope="module")
def server(module_server: Callable[..., Server]) -> Server:
    """With so many policies."""
    started = module_server().start()
    with started.admin(timeout=300) as admin:
        many_policies.load(admin, COUNT)
    return started


@pytest.fixture
def page(server: Server, browser: Browser) -> Iterator[Any]:
    """A tab that shows the list, with the calls it has made."""
    console = Console(browser, server).open("/explain").sign_in(server.token)
    console.page.list_calls = []   # type: ignore[attr-defined]
    console.page.on("request", lambda request: console.page.list_calls.append(request.url)   # type: ignore[attr-defined]
                    if "/v1/admin/policies?" in request.url else None)
    console.go(f"/policies?tenant={many_policies.TENANT}")
    expect(footer(console.page)).to_have_text(f"{COUNT} rows")
    yield console.page
    console.close()


def footer(page: Any) -> Any:
    """How many rows there are."""
    return page.locator(".table footer [role=status]")


def rows(page: Any) -> list[str]:
    """The names that are in the page."""
    return [str(text) for text in page.locator("tbody tr:not(.gap) td:first-child").all_inner_texts()]


def name(number: int) -> str:
    """As the table shows it."""
    return f"Orders of customer {number}"


def test_the_page_holds_few_rows_wherever_it_is_scrolled(page: Any) -> None:
    whole = page.evaluate("document.documentElement.scrollHeight")
    assert whole > COUNT * 41, "each row has its place"
    assert rows(page)[0] == name(0) and len(rows(page)) <= MOST_ROWS
    for share in (0.25, 0.5, 0.75):
        page.evaluate("y => scrollTo(0, y)", whole * share)
        there = page.locator("tbody tr:not(.gap)").filter(has_text=name(int(COUNT * share)))
        expect(there.first).to_be_in_viewport()
        assert len(rows(page)) <= MOST_ROWS
        assert page.evaluate("document.documentElement.scrollHeight") == whole
    page.keyboard.press("End")
    expect(page.get_by_role("link", name=name(COUNT - 1), exact=True)).to_be_in_viewport()
    assert len(rows(page)) <= MOST_ROWS
    last = page.get_by_role("row").filter(has=page.get_by_role("link", name=name(COUNT - 1), exact=True))
    expect(last).to_have_attribute("aria-rowindex", str(COUNT + 1))


def test_it_finds_and_sorts_among_all_rows_and_not_among_those_in_the_page(page: Any) -> None:
    search = page.get_by_label("Search in policies")
    search.fill("customer 1999")
    expect(footer(page)).to_have_text("1 row")
    assert rows(page) == [name(1999)]
    search.fill("")
    page.get_by_label("Mode", exact=True).select_option("shadow")
    expect(footer(page)).to_have_text(f"{COUNT // many_policies.SHADOWS} rows")
    page.get_by_label("Mode", exact=True).select_option("")
    sort = page.get_by_role("button", name="Policy", exact=True)
    sort.click()
    sort.click()
    expect(page.locator("tbody a").first).to_have_text(name(COUNT - 1))
    page.get_by_role("button", name="Limits", exact=True).click()
    expect(page.locator("tbody tr:not(.gap)").first).to_contain_text("60 at once, then one each second")
    page.get_by_role("button", name="Limits", exact=True).click()
    expect(page.locator("tbody tr:not(.gap)").first).to_contain_text("2,000 in any minute")


def test_a_copy_as_csv_has_every_row(page: Any) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy as CSV").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    lines = page.evaluate("navigator.clipboard.readText()").split("\r\n")
    assert len(lines) == COUNT + 1 and lines[-1].startswith(many_policies.policy_id(COUNT - 1))


def test_the_list_comes_page_by_page_and_again_only_after_a_change(page: Any, server: Server) -> None:
    assert len(page.list_calls) == PAGES, page.list_calls
    with page.expect_response("**/v1/admin/revision", timeout=SOON):
        pass
    with page.expect_response("**/v1/admin/revision", timeout=SOON):
        pass
    assert len(page.list_calls) == PAGES, "nothing has changed, and yet the list was loaded again"
    with server.admin() as admin:
        changed = admin.patch(f"/policies/{many_policies.policy_id(3)}", {"name": "Changed meanwhile"}, tenant=many_policies.TENANT)
        assert changed.status == 200
    expect(page.get_by_role("link", name="Changed meanwhile")).to_be_visible(timeout=SOON)
