"""Signing in: by token, for a session that outlives a reload and ends with its token."""

from collections.abc import Callable

import pytest

from console.conftest import Shop
from support.browser import Console, expect
from support.roles import PERMISSIONS

OpenConsole = Callable[..., Console]
# The browser's own line for an answer that the page handles.
REFUSED = "Failed to load resource: the server responded with a status of 401"


def test_a_wrong_token_is_refused_in_words_and_a_right_one_signs_in(shop: Shop, open_console: OpenConsole) -> None:
    console = open_console().open("/fleet")
    console.allowed.add(REFUSED)
    page = console.page
    page.get_by_label("Admin token").fill("sla_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("token")
    console.sign_in(shop.server.token)
    expect(page.locator("main h1")).to_contain_text("Fleet")


def test_no_script_can_read_what_signs_the_page_in(shop: Shop, open_console: OpenConsole) -> None:
    console = open_console().open("/").sign_in(shop.server.token)
    everything = console.page.evaluate("JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}])")
    assert "sluice_session" not in everything
    assert shop.server.token not in everything
    cookie, = [each for each in console.page.context.cookies() if each["name"] == "sluice_session"]
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict"


def test_a_reload_and_another_tab_are_signed_in_until_somebody_signs_out(shop: Shop, open_console: OpenConsole) -> None:
    console = open_console().open("/plans").sign_in(shop.server.token)
    console.allowed.add(REFUSED)
    page = console.page
    page.reload()
    expect(page.locator("main h1")).to_contain_text("Plans")
    other = page.context.new_page()
    other.goto(console.origin + "/keys")
    expect(other.locator("main h1")).to_contain_text("API keys")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Admin token")).to_be_visible()
    other.reload()
    expect(other.get_by_label("Admin token")).to_be_visible()


def test_a_token_that_is_revoked_while_a_page_is_open_is_said_and_another_one_goes_on_there(
        shop: Shop, open_console: OpenConsole) -> None:
    with shop.admin() as admin:
        made = admin.create("/tokens", {"name": "leaver", "role": "auditor"})
    console = open_console().open("/fleet").sign_in(made["token"])
    console.allowed.add(REFUSED)
    with shop.admin() as admin:
        assert admin.delete(f"/tokens/{made['id']}").status == 204
    expect(console.page.get_by_text("Your session has ended.")).to_be_visible(timeout=30_000)
    console.sign_in(shop.server.token)
    expect(console.page.locator("main h1")).to_contain_text("Fleet")


# What the navigation offers, and a button that changes something.
OFFERED = {"Tokens": "read_tokens", "Groups": "read_tokens", "Bindings": "read_tokens", "Audit": "read_audit"}


@pytest.mark.parametrize("role", sorted(PERMISSIONS["read"]))
def test_what_a_role_may_not_do_is_not_offered_and_refused_if_tried(role: str, shop: Shop, open_console: OpenConsole) -> None:
    scope = {"organization_id": organization_of(shop)} if role == "org_admin" else {}
    console = open_console().open("/policies?tenant=shop").sign_in(shop.token(role, **scope))
    page = console.page
    expect(page.get_by_role("link", name="orders")).to_be_visible()
    navigation = page.get_by_role("navigation")
    for title, permission in OFFERED.items():
        assert navigation.get_by_role("link", name=title).count() == int(role in PERMISSIONS[permission]), title
    may_configure = role in PERMISSIONS["configure"]
    assert page.get_by_role("link", name="New policy").count() == int(may_configure)
    status = page.evaluate("""async () => {
        const session = await (await fetch("/v1/admin/session")).json();
        const answer = await fetch("/v1/admin/policies/search?tenant_id=shop", {
          method: "PATCH", body: '{"name":"renamed"}',
          headers: {"content-type": "application/json", "x-csrf-token": session.csrf_token}});
        return answer.status; }""")
    assert status == (200 if may_configure else 403)
    console.allowed.add("status of 403")


def organization_of(shop: Shop) -> str:
    """The shop's."""
    with shop.admin() as admin:
        return str(admin.get("/tenants/shop").body["organization_id"])
