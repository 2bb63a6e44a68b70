"""What an administrator does in the console is done: changes, and all that destroys something."""

from collections.abc import Callable
from typing import Any

import pytest

from console.conftest import SECONDS, Shop
from support.admin import ONE_PER_SECOND, fresh_id
from support.browser import Console, expect
from support.client import Client
from support.process import wait_until

OpenConsole = Callable[..., Console]


@pytest.fixture
def console(shop: Shop, open_console: OpenConsole) -> Console:
    """A tab of a platform_admin."""
    return open_console().open("/").sign_in(shop.server.token)


def stored(shop: Shop, path: str) -> dict[str, Any]:
    """An object of the shop as the admin API has it."""
    with shop.admin() as admin:
        answer = admin.get(path, query={"tenant_id": "shop"})
    return dict(answer.body) if answer.status == 200 else {}


def policy(shop: Shop, **fields: Any) -> str:
    """A policy of the test's own; its id."""
    name = fresh_id("policy")
    with shop.admin() as admin:
        assert admin.put(f"/policies/{name}", {"scope": {"resource": f"GET:/{name}"}, "key_by": ["subject"],
                                               **{"limits": [ONE_PER_SECOND], **fields}}, tenant="shop").status == 201
    return name


def test_a_mode_is_switched_in_the_row_after_a_question_and_can_be_undone(shop: Shop, console: Console) -> None:
    name = policy(shop, mode="shadow")
    page = console.go(f"/policies?tenant=shop&q={name}").page
    page.get_by_role("group", name=f"Mode of {name}").get_by_role("button", name="enforce").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Requests over the limit are denied from now on.")
    assert stored(shop, f"/policies/{name}")["mode"] == "shadow"
    dialog.get_by_role("button", name="Enforce").click()
    expect(page.get_by_text(f"{name} is in mode enforce.")).to_be_visible()
    assert stored(shop, f"/policies/{name}").get("mode", "enforce") == "enforce"
    page.get_by_role("button", name="Undo").click()
    wait_until("the mode as before", lambda: stored(shop, f"/policies/{name}").get("mode") == "shadow", SECONDS)


def test_a_policy_is_deleted_only_by_who_types_its_id(shop: Shop, console: Console) -> None:
    name = policy(shop)
    page = console.go(f"/policies/{name}?tenant=shop").page
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Delete")).to_be_disabled()
    dialog.get_by_role("textbox").fill(name)
    dialog.get_by_role("button", name="Delete").click()
    expect(page.locator("main h1")).to_contain_text("Policies")
    assert stored(shop, f"/policies/{name}") == {}


def test_a_policy_is_made_with_its_faults_beside_the_fields(shop: Shop, console: Console) -> None:
    name = fresh_id("made")
    console.allowed.add("status of 422")   # the browser's own line: the server judges the draft as it is typed
    page = console.go("/policies/new?tenant=shop").page
    page.get_by_role("textbox", name="Id left out").fill(name)
    page.get_by_label("And if").fill("region==")
    fault = page.locator("label.field", has_text="And if").get_by_text("a value belongs behind ==")
    expect(fault).to_be_visible()
    page.get_by_label("And if").fill("region==eu-west-1")
    expect(fault).to_have_count(0)
    page.locator("form button[type=submit]").click()
    wait_until("the policy", lambda: stored(shop, f"/policies/{name}").get("match_expr") == "region==eu-west-1", SECONDS)


def test_a_key_is_shown_once_rotated_with_an_overlap_and_revoked(shop: Shop, console: Console) -> None:
    name = fresh_id("key")
    page = console.go("/keys?tenant=shop").page
    page.get_by_role("button", name="New key").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Make the key").click()
    shown = page.get_by_role("dialog", name="Your new key")
    key = shown.locator("pre").inner_text().strip()
    assert key.startswith("slk_")
    shown.get_by_role("button", name="I have it").click()
    expect(page.get_by_text(key)).to_have_count(0)
    row = page.get_by_role("row").filter(has_text=name)
    row.get_by_role("button", name="Rotate").click()
    page.get_by_role("button", name="Make the new key").click()
    page.get_by_role("button", name="I have it").click()
    expect(row).to_have_count(2)
    with shop.admin() as admin:
        expiries = [each.get("expires_at") for each in admin.items("/keys", query={"tenant_id": "shop"}) if each.get("name") == name]
    assert sorted(each is None for each in expiries) == [False, True], expiries
    row.first.get_by_role("button", name="Revoke").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill(dialog.locator("label code").inner_text())
    dialog.get_by_role("button", name="Revoke").click()
    expect(row).to_have_count(1)


def test_a_subjects_counters_are_overridden_and_reset(shop: Shop, console: Console) -> None:
    subject = fresh_id("user")
    assert shop.check(6, subject=subject) == [200] * 5 + [429]
    page = console.go(f"/subject?tenant=shop&of=shop%2Fpolicy%2Forders&k.subject={subject}").page
    card = page.locator("section.card")
    expect(card).to_contain_text("0 of 5")
    card.get_by_role("button", name="Override").click()
    page.get_by_label("Limit", exact=True).fill("8")
    page.get_by_role("dialog").get_by_role("button", name="Override").click()
    expect(card).to_contain_text("3 of 8")
    page.get_by_role("button", name="End it").click()
    page.get_by_role("dialog").get_by_role("button", name="End it").click()
    expect(card).to_contain_text("of 5")
    page.get_by_role("button", name="Reset the counters").click()
    page.get_by_role("dialog").get_by_role("button", name="Reset").click()
    expect(card).to_contain_text("5 of 5")
    assert shop.check(1, subject=subject) == [200]


def test_what_an_edited_policy_would_have_denied_is_asked_before_it_is_saved(shop: Shop, console: Console) -> None:
    name = policy(shop, limits=[{"algorithm": "fixed_window", "limit": 10, "window": "1d"}])

    def in_force() -> bool:
        with Client(shop.agent.port, shop.key) as client:
            return client.check(resource=f"GET:/{name}", subject="looker", cost=0).header("x-ratelimit-limit") == "10"

    wait_until("the policy at the agent", in_force, SECONDS)
    assert shop.check(5, resource=f"GET:/{name}") == [200] * 5
    page = console.go(f"/policies/{name}?tenant=shop").page
    page.get_by_role("textbox", name="Limit how many in each window").fill("2")
    page.get_by_role("button", name="Ask the agents").click()
    expect(page.get_by_role("status").filter(has_text="It would have judged")).to_contain_text("denied 3 (", timeout=SECONDS * 1000)
    assert stored(shop, f"/policies/{name}")["limits"][0]["limit"] == 10


def test_the_palette_leads_everywhere_by_keyboard(console: Console) -> None:
    page = console.page
    expect(page.locator("main h1")).to_contain_text("Overview")
    page.keyboard.press("/")
    expect(page.get_by_role("combobox", name="A view, a policy or a plan")).to_be_focused()
    page.keyboard.type("fleet")
    expect(page.get_by_role("listbox", name="Found").get_by_role("option").first).to_contain_text("Fleet")
    page.keyboard.press("Enter")
    expect(page.locator("main h1")).to_contain_text("Fleet")
