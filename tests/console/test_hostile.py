"""Whatever callers and admins write is shown as text; other sites can neither frame the console nor act through it."""

from collections.abc import Callable

from console.conftest import SECONDS, Shop
from support.browser import Console, expect
from support.process import wait_until

OpenConsole = Callable[..., Console]

ATTACK = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>'
VIEWS = ["/?tenant=shop", "/policies?tenant=shop", "/policies/hostile?tenant=shop", "/policies/hostile?tenant=shop&as=yaml",
         "/plans?tenant=shop", "/keys?tenant=shop",
         "/tenants", "/tokens", "/fleet", "/audit", "/explain?tenant=shop", "/bindings", "/groups",
         "/subject?tenant=shop&of=shop%2Fpolicy%2Fhostile&k.subject=" + "%3Cimg%20src%3Dx%20onerror%3D%22window.hit%3D1%22%3E"]


def write_it_everywhere(shop: Shop) -> None:
    """In every field that takes a text."""
    with shop.admin() as admin:
        assert admin.put("/policies/hostile", {
            "name": ATTACK, "scope": {"resource": "GET:/hostile"}, "key_by": ["subject"], "match_expr": 'region!=\'<img>\'',
            "metadata": {"note": ATTACK},
            "limits": [{"algorithm": "fixed_window", "limit": 1, "window": "1d"}]}, tenant="shop").status == 201
        assert admin.put("/plans/hostile", {"name": ATTACK, "algorithm": "token_bucket", "capacity": 1, "refill": "1/s"},
                         tenant="shop").status == 201
        admin.create("/keys", {"tenant_id": "shop", "name": ATTACK})
        admin.create("/tokens", {"name": ATTACK, "role": "auditor"})
        assert admin.patch("/tenants/shop", {"name": ATTACK}).status == 200
        admin.create("/group-mappings", {"group": ATTACK, "role": "auditor"})
    statuses = shop.check(3, resource="GET:/hostile", subject=ATTACK)
    assert 429 in statuses, statuses


def reported(shop: Shop) -> bool:
    """Whether the server has heard of what the hostile subject was denied."""
    with shop.admin() as admin:
        rows = admin.get("/analytics", query={"tenant_id": "shop", "by": "policy"}).body["items"]
    return any(row["policy_id"] == "hostile" for row in rows)


def test_nothing_runs_that_somebody_wrote(shop: Shop, open_console: OpenConsole) -> None:
    write_it_everywhere(shop)
    wait_until("the report", lambda: reported(shop), SECONDS)
    console = open_console().open("/").sign_in(shop.server.token)
    page = console.page
    for view in VIEWS:
        page.goto(console.origin + view)
        expect(page.locator("main h1")).to_be_visible()
        page.wait_for_load_state("networkidle")
        assert page.evaluate("window.hit") is None, view
        assert page.locator("main img").count() == 0, view
    expect(console.go("/policies?tenant=shop&q=hostile").page.get_by_role("link", name="<img src=x")).to_be_visible()


def test_another_site_cannot_frame_the_console(shop: Shop, open_console: OpenConsole) -> None:
    console = open_console()
    console.allowed.update(("frame", "another site", "Failed to load"))
    page = console.page
    page.route("http://other.example/**", lambda route: route.fulfill(
        content_type="text/html", body=f'<iframe src="{console.origin}/"></iframe>'))
    page.goto("http://other.example/")
    frame = page.frames[1]
    assert frame.locator("#console").count() == 0


def test_another_site_cannot_act_through_a_session(shop: Shop, open_console: OpenConsole) -> None:
    console = open_console().open("/").sign_in(shop.server.token)
    console.allowed.update(("another site", "Failed to load", "CORS", "Access to fetch"))
    page = console.page
    page.route("http://other.example/**", lambda route: route.fulfill(content_type="text/html", body="<p>other</p>"))
    page.goto("http://other.example/")
    page.evaluate("""async (origin) => {
        await fetch(`${origin}/v1/admin/policies/orders?tenant_id=shop`, {
          method: "DELETE", credentials: "include", mode: "no-cors"}).catch(() => null);
        await fetch(`${origin}/v1/admin/tenants`, {
          method: "POST", credentials: "include", mode: "no-cors", headers: {"content-type": "text/plain"}, body: '{"id":"stolen"}'}).catch(() => null);
    }""", console.origin)
    with shop.admin() as admin:
        assert admin.get("/policies/orders", query={"tenant_id": "shop"}).status == 200
        assert admin.get("/tenants/stolen").status == 404
