"""What is listed can be copied as CSV, also where it is not a table."""

from collections.abc import Callable

import pytest

from console.conftest import SECONDS, Shop
from support.browser import Console, expect
from support.process import wait_until

OpenConsole = Callable[..., Console]

# Path, where the list is, its first line, and a text that the shop's data has put there.
LISTS = {
    "policies": ("/policies?tenant=shop", "main", "Policy", "orders"),
    "keys": ("/keys", "main", "Name,Id,Tenant,Made,Last used,Expires", "application"),
    "audit": ("/audit", "main", "At,Action,Kind,Object", "policy"),
    "throttled": ("/?tenant=shop", "section:has-text('sha256:')", "Tenant,Policy,Subject,Denied", "shop,orders,sha256:"),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_copied(name: str, shop: Shop, open_console: OpenConsole) -> None:
    path, where, first, text = LISTS[name]
    console = open_console()
    console.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    with shop.admin() as admin:
        wait_until("the report of the throttled", lambda: admin.get("/analytics/subjects").body["items"], SECONDS)
    page = console.open(path).sign_in(shop.server.token).page
    page.locator(where).last.get_by_role("button", name="Copy as CSV").last.click()
    expect(page.get_by_text("Copied").last).to_be_visible()
    copied = str(page.evaluate("navigator.clipboard.readText()"))
    lines = copied.split("\r\n")
    assert lines[0].startswith(first) and len(lines) > 1, copied
    assert any(text in line for line in lines[1:]), copied
