"""The audit view verifies the trail and says plainly what came out."""

from collections.abc import Callable, Iterator

import pytest

from console.conftest import furnish
from support.audit_rows import add_entries
from support.browser import Console, Route, expect
from support.server import Server

OpenConsole = Callable[..., Console]
MORE_THAN_ONE_STEP = 30_000


@pytest.fixture
def spoilt(make_server: Callable[..., Server]) -> Iterator[Server]:
    """A server whose trail may be spoilt."""
    server = make_server().start()
    with server.admin() as admin:
        furnish(admin)
    yield server


def test_a_whole_trail_and_a_changed_row(spoilt: Server, open_console: OpenConsole) -> None:
    console = open_console(server=spoilt)
    page = console.open("/audit").sign_in(spoilt.token).page
    page.get_by_role("button", name="Verify the trail").click()
    result = page.get_by_role("region", name="Verify").get_by_role("status")
    expect(result).to_contain_text("are whole, in ")
    assert console.serious_findings() == []
    with spoilt.admin() as admin:
        entry = next(each for each in admin.items("/audit") if each["object_id"] == "orders")
    spoilt.database.execute("UPDATE audit SET actor_id = 'nobody' WHERE organization_id = %s AND seq = %s",
                            (entry["organization_id"], entry["seq"]))
    page.get_by_role("button", name="Verify the trail").click()
    expect(result).to_contain_text(f"Entry {entry['seq']} of {entry['organization_id']}: row {entry['seq']} was changed")
    expect(result).to_contain_text("It says now: policy orders of shop")
    assert console.serious_findings() == []


def test_progress_is_shown_and_a_failure_goes_on_where_it_stopped(spoilt: Server, open_console: OpenConsole) -> None:
    with spoilt.admin() as admin:
        organization = admin.get("/tenants/shop").body["organization_id"]
    add_entries(spoilt.database, organization, MORE_THAN_ONE_STEP)
    console = open_console(server=spoilt)
    console.allowed.add("net::ERR_FAILED")
    page = console.open("/audit").sign_in(spoilt.token).page
    asked: list[str] = []

    def answer(route: Route) -> None:
        """The line breaks after the first step."""
        asked.append(route.request.url)
        if len(asked) == 2:
            route.abort()
        else:
            route.continue_()

    page.route("**/v1/admin/audit/verify*", answer)
    page.get_by_role("button", name="Verify the trail").click()
    region = page.get_by_role("region", name="Verify")
    expect(region).to_contain_text("entries, then stopped")
    expect(region.get_by_role("progressbar")).to_be_visible()
    expect(region).to_contain_text("The server does not answer.")
    region.get_by_role("button", name="Try again").click()
    expect(region.get_by_role("status")).to_contain_text(f"{MORE_THAN_ONE_STEP // 1000},0")
    expect(region.get_by_role("status")).to_contain_text("are whole")
    assert asked[1] == asked[2] and "after=" in asked[1], asked


def test_who_sees_only_tenants_is_told_why_it_cannot(spoilt: Server, open_console: OpenConsole) -> None:
    with spoilt.admin() as admin:
        owner = admin.get("/tenants/shop").body["organization_id"]
        token = admin.create("/tokens", {"name": "t", "role": "auditor", "organization_id": owner, "tenant_ids": ["shop"]})["token"]
    page = open_console(server=spoilt).open("/audit").sign_in(token).page
    expect(page.get_by_text("Your token is limited to tenants, so it cannot verify one.")).to_be_visible()
    expect(page.get_by_role("button", name="Verify the trail")).to_have_count(0)
