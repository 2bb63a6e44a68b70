"""The document beside the form, as JSON and as YAML: one document, comments that stay, and faults that name their line."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from console.conftest import Shop
from support.admin import fresh_id
from support.browser import Console, expect

OpenConsole = Callable[..., Console]

WITH_COMMENTS = """# ticket 7
scope:
  resource: GET:/yaml # all of it
key_by: [subject]
limits:
  # cheap and good enough
  - algorithm: fixed_window
    limit: 5 # five
    window: 1d
"""


def holding(part: str) -> "re.Pattern[str]":
    """A pattern for a value that holds this text."""
    return re.compile(re.escape(part))


@pytest.fixture
def policy_id(shop: Shop) -> str:
    """A policy of the test's own."""
    name = fresh_id("policy")
    with shop.admin() as admin:
        assert admin.put(f"/policies/{name}", {"scope": {"resource": f"GET:/{name}"}, "key_by": ["subject"], "limits": [
            {"algorithm": "fixed_window", "limit": 5, "window": "1d"}]}, tenant="shop").status == 201
    return name


@pytest.fixture
def page(shop: Shop, open_console: OpenConsole, policy_id: str) -> Any:
    """The policy's form, in YAML."""
    console = open_console()
    console.allowed.add("status of 422")   # the answer to a document with faults
    console.open(f"/policies/{policy_id}?tenant=shop").sign_in(shop.server.token)
    console.page.get_by_role("button", name="YAML").click()
    expect(console.page.get_by_label("The same as YAML")).to_have_value(holding("algorithm: fixed_window"))
    return console.page


def limit_field(page: Any) -> Any:
    """Of the form: the number of the only limit."""
    return page.get_by_role("textbox", name="Limit how many in each window")


def test_yaml_and_form_are_one_document_and_it_is_saved(shop: Shop, page: Any, policy_id: str) -> None:
    text = page.get_by_label("The same as YAML")
    limit_field(page).fill("7")
    expect(text).to_have_value(holding("limit: 7"))
    text.fill(text.input_value().replace("limit: 7", "limit: 9"))
    expect(limit_field(page)).to_have_value("9")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    with shop.admin() as admin:
        assert admin.get(f"/policies/{policy_id}", tenant="shop").body["limits"][0]["limit"] == 9
    page.reload()
    expect(page.get_by_label("The same as YAML")).to_have_value(holding("limit: 9"))


def test_comments_stay_while_the_form_is_edited_and_through_json(page: Any) -> None:
    text = page.get_by_label("The same as YAML")
    text.fill(WITH_COMMENTS)
    expect(limit_field(page)).to_have_value("5")
    limit_field(page).fill("6")
    page.get_by_role("textbox", name="Priority the highest decides").fill("3")
    expect(text).to_have_value(WITH_COMMENTS.replace("limit: 5", "limit: 6") + "priority: 3\n")
    page.get_by_role("button", name="JSON").click()
    as_json = page.get_by_label("The same as JSON")
    expect(as_json).to_have_value(holding('"limit": 6'))
    as_json.fill(as_json.input_value().replace('"limit": 6', '"limit": 8'))
    page.get_by_role("button", name="YAML").click()
    expect(text).to_have_value(WITH_COMMENTS.replace("limit: 5", "limit: 8") + "priority: 3\n")


def test_a_removed_limit_takes_no_other_comments_along(page: Any) -> None:
    text = page.get_by_label("The same as YAML")
    text.fill(WITH_COMMENTS + "  - {algorithm: token_bucket, capacity: 60, refill: 1/s} # bursts\n")
    page.get_by_role("button", name="Remove the limit fixed_window").click()
    expect(text).to_have_value(holding("capacity: 60, refill: 1/s} # bursts"))
    expect(text).not_to_have_value(holding("fixed_window"))
    expect(text).to_have_value(holding("# ticket 7"))


def test_a_fault_names_its_line_and_leads_there(page: Any) -> None:
    text = page.get_by_label("The same as YAML")
    text.fill(WITH_COMMENTS.replace("window: 1d", "window: 5 parsecs"))
    fault = page.locator(".faults li").filter(has_text="/limits/0/window")
    expect(fault).to_contain_text("line 9")
    fault.get_by_role("button", name="line 9").click()
    chosen = text.evaluate("area => area.value.slice(area.selectionStart, area.selectionEnd)")
    assert chosen == "    window: 5 parsecs"
    page.get_by_role("button", name="JSON").click()
    as_json = page.get_by_label("The same as JSON")
    fault.get_by_role("button").click()
    assert "5 parsecs" in as_json.evaluate("area => area.value.slice(area.selectionStart, area.selectionEnd)")


def test_what_is_no_yaml_yet_says_where_and_changes_nothing(page: Any) -> None:
    text = page.get_by_label("The same as YAML")
    text.fill("scope:\n  resource: [GET:/a\nkey_by: x")
    expect(page.locator("p.fault")).to_contain_text("This is no YAML yet: Line 3")
    expect(page.get_by_role("button", name="JSON")).to_be_disabled()
    expect(limit_field(page)).to_have_value("5")
    text.fill("- a list")
    expect(page.locator("p.fault")).to_contain_text("must be a mapping")
    text.fill(WITH_COMMENTS)
    expect(page.locator("p.fault")).to_have_count(0)


def test_without_the_file_of_yaml_json_still_works(shop: Shop, open_console: OpenConsole, policy_id: str) -> None:
    console = open_console()
    console.allowed.add("Failed to load resource")
    console.allowed.add("net::ERR_FAILED")
    console.page.route("**/assets/yaml_text-*", lambda route: route.abort())
    page = console.open(f"/policies/{policy_id}?tenant=shop&as=yaml").sign_in(shop.server.token).page
    expect(page.get_by_text("YAML cannot be loaded now.")).to_be_visible()
    expect(page.get_by_label("The same as JSON")).to_have_value(holding('"limit": 5'))
    limit_field(page).fill("6")
    expect(page.get_by_label("The same as JSON")).to_have_value(holding('"limit": 6'))


def test_everybody_can_read_it(shop: Shop, open_console: OpenConsole) -> None:
    for narrow in (False, True):
        console = open_console(narrow=narrow)
        page = console.open("/plans/pro?tenant=shop&as=yaml").sign_in(shop.server.token).page
        expect(page.get_by_label("The same as YAML")).to_have_value(holding("token_bucket"))
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the screen"
        assert console.serious_findings() == []
