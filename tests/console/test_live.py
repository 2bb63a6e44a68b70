"""What moves by itself: the fleet, on how many agents a change is enforced, and the overview's numbers."""

import contextlib
import re
from collections.abc import Callable, Iterator

import pytest

from console.conftest import SECONDS, Shop
from support.admin import ONE_PER_SECOND, fresh_id
from support.browser import Console, expect
from support.event_stream import EventStream
from support.process import wait_until
from support.sync_client import SyncAgent

OpenConsole = Callable[..., Console]
MINUTE = 60_000   # ms


@pytest.fixture
def slow_agent(shop: Shop) -> Iterator[SyncAgent]:
    """An agent that enforces only what the test says, beside the real one."""
    with shop.admin() as admin:
        token = admin.create("/agent-tokens", {"name": "slow"})["token"]
    made = SyncAgent(shop.server.port, token, fresh_id("slow"))
    yield made
    made.report(leaving=True)


def at_head(shop: Shop, agent: SyncAgent) -> int:
    """Takes the agent to the newest revision, by its own word."""
    with shop.admin() as admin:
        newest = admin.get("/revision").body
    agent.position = newest["revision"], newest["chain"]
    assert agent.report().status == 200
    return int(newest["revision"])


def mark(console: Console) -> None:
    """Leaves a mark that a reload would take away."""
    console.page.evaluate("window.unchanged = true")


def still_there(console: Console) -> bool:
    """Whether the page was not loaded anew since mark()."""
    return bool(console.page.evaluate("window.unchanged === true"))


def test_agents_come_change_and_go_without_a_reload(shop: Shop, open_console: OpenConsole, slow_agent: SyncAgent) -> None:
    console = open_console().open("/fleet").sign_in(shop.server.token)
    page = console.page
    expect(page.get_by_text("live", exact=True).first).to_be_visible()
    mark(console)
    polled: list[str] = []
    page.on("request", lambda request: polled.append(request.url) if "/v1/admin/agents" in request.url else None)
    row = page.locator("tr", has_text=slow_agent.agent_id)
    expect(row).to_have_count(0)
    revision = at_head(shop, slow_agent)
    expect(row).to_contain_text(str(revision))
    newest = page.get_by_label("The newest revision")
    expect(newest).to_contain_text("is enforced on 2 of 2 agents everywhere", timeout=MINUTE)
    slow_agent.report(degraded=["redis: no answer"])
    expect(row).to_contain_text("redis: no answer")
    slow_agent.report(leaving=True)
    expect(row).to_have_count(0)
    expect(newest).to_contain_text("1 of 1 agents", timeout=MINUTE)
    assert still_there(console) and polled == []


def policy(shop: Shop) -> str:
    """A policy of the test's own, in shadow; its id."""
    name = fresh_id("policy")
    with shop.admin() as admin:
        assert admin.put(f"/policies/{name}", {"scope": {"resource": f"GET:/{name}"}, "key_by": ["subject"], "mode": "shadow",
                                               "limits": [ONE_PER_SECOND]}, tenant="shop").status == 201
    return name


def enforce_in_the_row(console: Console, name: str) -> None:
    """Switches the policy's mode."""
    page = console.go(f"/policies?tenant=shop&q={name}").page
    page.get_by_role("group", name=f"Mode of {name}").get_by_role("button", name="enforce").click()
    page.get_by_role("dialog").get_by_role("button", name="Enforce").click()


def roll_back(console: Console, name: str) -> None:
    """Rolls the policy back to its first version."""
    page = console.go(f"/policies/{name}?tenant=shop").page
    page.get_by_text("Version 1", exact=True).click()
    page.get_by_role("button", name="Roll back to this version").first.click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("[Rr]oll back")).click()


def test_a_mode_switch_and_a_rollback_are_followed_until_all_agents_enforce_them(shop: Shop, open_console: OpenConsole,
                                                                               slow_agent: SyncAgent) -> None:
    name = policy(shop)
    at_head(shop, slow_agent)
    console = open_console().open("/").sign_in(shop.server.token)
    mark(console)
    change = console.page.get_by_label("Your change")
    for act in (enforce_in_the_row, roll_back):
        act(console, name)
        expect(change).to_contain_text("is enforced on 1 of 2 agents not everywhere yet", timeout=MINUTE)
        at_head(shop, slow_agent)
        expect(change).to_contain_text("is enforced on 2 of 2 agents everywhere", timeout=MINUTE)
        expect(change).to_have_count(0, timeout=MINUTE)   # it goes by itself
    assert still_there(console)


def test_a_page_that_gets_no_stream_asks_again_and_says_so(shop: Shop, open_console: OpenConsole) -> None:
    token = shop.token("auditor")
    console = open_console().open("/keys").sign_in(token)
    console.allowed.add("status of 429")   # the browser's own line
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            stream = stack.enter_context(EventStream(shop.server.port, token, "?only=enforcement"))
            assert stream.status == 200
        console.go("/fleet")
        expect(console.page.get_by_text("no live events: asked for every 5 s")).to_be_visible()
        expect(console.page.locator("tr", has_text="agent-1")).to_be_visible()
    expect(console.page.get_by_text("live", exact=True).first).to_be_visible(timeout=MINUTE)


def near_limit_of_the_agent(shop: Shop) -> int:
    """Its own count."""
    return int(shop.agent.metric("sluice_decisions_near_limit_total", tenant="shop"))


def test_the_overview_says_how_near_the_limits_are_and_agrees_with_the_agents_metrics(shop: Shop, open_console: OpenConsole) -> None:
    shop.check(7, subject=fresh_id("user"))   # of five a day: the last is near its limit, and so are two over it

    def stored() -> int:
        with shop.admin() as admin:
            return int(admin.get("/analytics/utilization", query={"tenant_id": "shop"}).body["totals"]["near_limit"])
    wait_until("what the agent counted", lambda: near_limit_of_the_agent(shop) == stored() >= 3, SECONDS)
    count = near_limit_of_the_agent(shop)
    console = open_console().open("/?tenant=shop").sign_in(shop.server.token)
    section = console.page.locator("section", has=console.page.get_by_role("heading", name="Near the limit"))
    expect(section).to_contain_text(f"{count} of ")
    row = section.locator("tr", has_text="orders")
    expect(row).to_be_visible()
    row.get_by_role("link", name="orders").click()
    expect(console.page.locator("main h1")).to_contain_text("orders")
    console.page.go_back()
    changes = console.page.get_by_label("Last changes")
    changes.get_by_role("link").first.click()
    expect(console.page.locator("main h1")).not_to_contain_text("Overview")
