"""The subject page says which limits are in force for a subject, and what it was denied."""

import re
from collections.abc import Callable

import pytest

from console.conftest import SECONDS, Shop
from support.admin import fresh_id
from support.browser import Console, expect
from support.process import wait_until

OpenConsole = Callable[..., Console]


@pytest.fixture
def console(shop: Shop, open_console: OpenConsole) -> Console:
    """A tab of an auditor: whoever may read sees all of it."""
    return open_console().open("/").sign_in(shop.token("auditor"))


def test_the_policy_in_force_is_said_in_words_with_its_override(shop: Shop, console: Console) -> None:
    subject = fresh_id("user")
    page = console.go(f"/subject?tenant=shop&k.subject={subject}&k.resource=GET%3A%2Forders").page
    force = page.get_by_role("region", name="In force now")
    expect(force).to_contain_text("policy orders, version 1")
    expect(force).to_contain_text("It is enforced. Over a limit, requests are denied.")
    expect(force).to_contain_text(f"5 each day for subject {subject}")
    expect(force).not_to_contain_text("overridden")
    with shop.admin() as admin:
        made = admin.create("/overrides", {"tenant_id": "shop", "policy_id": "orders", "limit_name": "day", "identity": {"subject": subject},
                                           "set": {"limit": 50}, "ttl": "1h"})
    expect(force).to_contain_text(f"50 each day for subject {subject} overridden")
    expect(force).to_contain_text(f"By the override {made['id']}, until ")
    expect(force).to_contain_text("Without it: 5 each day.")
    force.get_by_role("button", name="What is left of it").click()
    expect(page.locator("section.card")).to_contain_text("of 50")
    assert console.serious_findings() == []


def test_a_shadow_a_rollout_and_no_policy_are_said(shop: Shop, console: Console) -> None:
    name = fresh_id("policy")
    with shop.admin() as admin:
        assert admin.put(f"/policies/{name}", {"scope": {"resource": f"GET:/{name}"}, "mode": "shadow", "valid_to": "2099-01-01T00:00:00Z",
                                               "limits": [{"algorithm": "token_bucket", "capacity": 60, "refill": "1/s"}]}, tenant="shop").status == 201
    page = console.go(f"/subject?tenant=shop&k.subject=u&k.resource=GET%3A%2F{name}").page
    force = page.get_by_role("region", name="In force now")
    expect(force).to_contain_text("It is judged and counted, and denies nothing. It ends at 2099-01-01")
    expect(force).to_contain_text("Nothing denies these requests.")
    expect(force).to_contain_text("60 at once, then one each second")
    page.get_by_label("resource", exact=True).fill("GET:/nowhere-at-all")
    page.get_by_label("resource", exact=True).press("Tab")
    expect(force).to_contain_text("No policy applies")
    page.get_by_label("Another dimension").fill("region")
    page.get_by_label("Another dimension").press("Tab")
    page.get_by_label("region", exact=True).fill("eu")
    page.get_by_label("region", exact=True).press("Tab")
    expect(page).to_have_url(re.compile("k.region=eu"))


def test_denials_of_a_subject_are_listed_by_the_hour(shop: Shop, console: Console) -> None:
    subject = fresh_id("user")
    denied = shop.check(9, subject=subject).count(429)
    assert denied > 0

    def reported() -> bool:
        with shop.admin() as admin:
            rows = admin.get("/analytics/denials", query={"tenant_id": "shop", "subject": subject}).body["items"]
        return sum(row["count"] for row in rows) == denied

    wait_until("the report of the denials", reported, SECONDS)
    page = console.go(f"/subject?tenant=shop&k.subject={subject}").page
    row = page.get_by_role("table", name="Recent denials").locator("tbody tr")
    expect(row).to_contain_text("orders")
    expect(row.locator("td").last).to_have_text(str(denied))
    expect(page.get_by_role("region", name="Recent denials")).to_contain_text("the numbers are lower bounds")
    page.get_by_role("textbox", name="subject", exact=True).fill(fresh_id("nobody"))
    page.get_by_role("textbox", name="subject", exact=True).press("Tab")
    expect(page.get_by_text("No denial of this subject was reported in this time.")).to_be_visible()
    assert console.serious_findings() == []
