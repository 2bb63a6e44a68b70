"""Lists of keys and tokens say when each was last used."""

from collections.abc import Callable

from console.conftest import SECONDS, Shop
from support.admin import fresh_id
from support.browser import Console, expect
from support.process import wait_until

OpenConsole = Callable[..., Console]


def test_a_used_key_has_a_time_and_an_idle_one_never(shop: Shop, open_console: OpenConsole) -> None:
    idle = fresh_id("idle")
    with shop.admin() as admin:
        admin.create("/keys", {"tenant_id": "shop", "name": idle})
        wait_until("the agent's report of its key", lambda: any("last_used_at" in each for each in admin.items("/keys")), SECONDS)
    page = open_console().open("/keys?sort=-used").sign_in(shop.server.token).page
    rows = page.get_by_role("table", name="API keys").locator("tbody tr")
    expect(rows.first).to_contain_text("application")
    expect(rows.first.locator("time").nth(1)).to_be_visible()
    expect(rows.filter(has_text=idle)).to_contain_text("never")


def test_the_token_of_this_session_was_used_just_now(shop: Shop, open_console: OpenConsole) -> None:
    name = fresh_id("token")
    with shop.admin() as admin:
        admin.create("/tokens", {"name": name, "role": "auditor"})
        used = admin.create("/tokens", {"name": f"{name}-used", "role": "platform_admin"})["token"]
    page = open_console().open("/tokens").sign_in(used).page
    rows = page.get_by_role("table", name="Admin tokens").locator("tbody tr")
    expect(rows.filter(has=page.get_by_text(f"{name}-used", exact=True)).locator("time").first).to_be_visible()
    expect(rows.filter(has=page.get_by_text(name, exact=True))).to_contain_text("never")
