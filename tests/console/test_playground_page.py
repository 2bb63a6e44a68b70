"""The playground's page: a burst is fired, and its bars and numbers are what the agent counted."""

from collections.abc import Callable

from console.conftest import SECONDS, Shop
from support.admin import fresh_id
from support.browser import Console, expect
from support.client import Client
from support.process import wait_until

OpenConsole = Callable[..., Console]


def test_bars_and_numbers_of_bursts_are_what_the_agent_counted(shop: Shop, open_console: OpenConsole) -> None:
    def counted(outcome: str) -> float:
        return shop.agent.metric("sluice_decisions_total", tenant="shop", outcome=outcome)

    page = open_console().open("/").sign_in(shop.server.token).page
    before = {outcome: counted(outcome) for outcome in ("allowed", "denied")}
    allowed = denied = 0
    for size in (1, 3, 5, 6, 12, 25):
        page.goto(f"http://127.0.0.1:{shop.server.port}/playground?tenant=shop&judge=policy%2Forders&burst={size}"
                  f"&subject={fresh_id('player')}")
        page.get_by_role("button", name="Fire").click()
        bars = page.get_by_role("list", name="Calls, in the order in which they were sent").get_by_role("button")
        expect(bars).to_have_count(size)
        expect(bars.and_(page.get_by_label("waiting"))).to_have_count(0, timeout=SECONDS * 1000)
        shown = {title: int(page.locator("dl.figures div", has_text=title).locator("dd").inner_text()) for title in ("Allowed", "Denied")}
        assert shown == {"Allowed": min(size, 5), "Denied": max(size - 5, 0)}
        allowed, denied = allowed + shown["Allowed"], denied + shown["Denied"]
    assert counted("allowed") - before["allowed"] == allowed
    assert counted("denied") - before["denied"] == denied


def test_a_first_visit_meets_a_limit_at_the_first_burst(shop: Shop, open_console: OpenConsole) -> None:
    page = open_console().open("/").sign_in(shop.server.token).go("/playground?tenant=shop").page
    expect(page.get_by_label("Judged by")).to_have_value("plan pro – pro")
    expect(page.get_by_text("Name a resource")).to_have_count(0)


def test_a_policy_with_several_dimensions_is_played_with_what_it_asks_for(shop: Shop, open_console: OpenConsole) -> None:
    name = fresh_id("narrow")
    with shop.admin() as admin:
        assert admin.put(f"/policies/{name}", {
            "scope": {"resource": f"GET:/{name}/*", "region": ["eu-west-1", "us-east-1"], "source_ip": "192.0.2.0/24", "tag.env": "prod*"},
            "match_expr": "attr.shard != '9'", "key_by": ["subject", "method"],
            "limits": [{"algorithm": "fixed_window", "limit": 2, "window": "1d"}]}, tenant="shop").status == 201
    wait_until("the policy at the agent", lambda: loaded_policy(shop, name), SECONDS)
    page = open_console().open("/").sign_in(shop.server.token).go(f"/playground?tenant=shop&burst=3&subject={name}").page
    page.get_by_label("Judged by").click()
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    for label, value in {"Resource": f"GET:/{name}/1", "region": "eu-west-1", "source_ip": "192.0.2.0", "tag.env": "prod1",
                         "method": "playground", "attr.shard": "playground"}.items():
        expect(page.get_by_label(label, exact=True)).to_have_value(value)
    figures = page.locator("dl.figures div")
    page.get_by_role("button", name="Fire").click()
    expect(figures.filter(has_text="Denied").locator("dd")).to_have_text("1")
    expect(page.locator("section[aria-label=State]")).to_contain_text("2 of 2 used")
    page.get_by_label("attr.shard", exact=True).fill("9")
    expect(page.get_by_text("No policy matches this check")).to_be_visible()
    page.get_by_label("region", exact=True).fill("")
    expect(page.get_by_label("region", exact=True)).to_have_value("")
    page.get_by_label("Also send").select_option("priority")
    page.get_by_label("priority", exact=True).fill("low")
    expect(page.locator("section[aria-label=Code] pre")).to_contain_text('"priority":"low"')
    expect(page.locator("section[aria-label=Code] pre")).not_to_contain_text('"region"')


def loaded_policy(shop: Shop, name: str) -> bool:
    """Whether the agent judges by it."""
    with Client(shop.agent.port, shop.key) as client:
        answer = client.check(resource=f"GET:/{name}/1", region="eu-west-1", source_ip="192.0.2.1", subject="looker", cost=0,
                              method="GET", tags={"env": "prod"})
    return answer.header("x-ratelimit-limit") == "2"
