"""Something goes away while a page is open: the page says so, and goes on by itself when it is back."""

from collections.abc import Callable

from support.browser import Console, expect
from support.postgres import PostgresServer
from support.server import Installation, Server

OpenConsole = Callable[..., Console]
PROVOKED = ("Failed to load resource", )   # the browser's own lines about answers that the page handles
MINUTE = 60_000   # ms


# Views, and something of each that stays on the screen.
VIEWS = {"/": "Overview", "/policies": "Policies", "/policies/new": "New policy", "/explain": "Explain", "/subject": "Subject",
         "/playground": "Playground", "/keys": "API keys", "/tenants": "Tenants", "/tokens": "Tokens", "/groups": "Groups", "/fleet": "Fleet", "/audit": "Audit"}
AWAY = "What you see is its last answer"
NO_DATABASE = "The server cannot use PostgreSQL now."


def open_all(server: Server, token: str, open_console: OpenConsole) -> list[Console]:
    """A tab with each view; all of them are one session."""
    first = open_console(server=server).open("/").sign_in(token)
    first.allowed.update(PROVOKED)
    tabs = [first, *(first.tab() for _ in range(len(VIEWS) - 1))]
    for tab, (path, heading) in zip(tabs, VIEWS.items()):
        expect(tab.open(path).page.locator("main h1")).to_have_text(heading)
    return tabs


def expect_said(tabs: list[Console], notice: str) -> None:
    """In every tab, with the view as it was."""
    for tab, heading in zip(tabs, VIEWS.values()):
        expect(tab.page.get_by_text(notice)).to_be_visible(timeout=MINUTE)
        expect(tab.page.locator("main h1")).to_have_text(heading)


def expect_recovered(tabs: list[Console], notice: str) -> None:
    """In every tab, without a reload: nothing of what was wrong is left."""
    for tab, heading in zip(tabs, VIEWS.values()):
        expect(tab.page.get_by_text(notice)).to_have_count(0, timeout=MINUTE)
        expect(tab.page.get_by_role("alert")).to_have_count(0, timeout=MINUTE)
        expect(tab.page.locator("main h1")).to_have_text(heading)


def test_a_server_that_restarts_is_said_in_every_view_and_each_goes_on(make_server: Callable[..., Server], open_console: OpenConsole) -> None:
    server = make_server().start()
    port = server.port
    tabs = open_all(server, server.token, open_console)
    form = tabs[list(VIEWS).index("/policies/new")].page
    form.get_by_role("textbox", name="Id left out").fill("half-written")
    assert server.stop() == 0
    expect_said(tabs, AWAY)
    server.flags += ["--listen", f"127.0.0.1:{port}"]
    server.start()
    expect_recovered(tabs, AWAY)
    expect(form.get_by_role("textbox", name="Id left out")).to_have_value("half-written")


def test_postgres_that_is_away_is_said_in_every_view_and_each_goes_on(make_postgres: Callable[..., PostgresServer], server_program: object,
                                                                     make_server: Callable[..., Server], open_console: OpenConsole) -> None:
    postgres = make_postgres()
    made = Installation.make(server_program, postgres)   # type: ignore[arg-type]
    server = make_server(database=made.database, token=made.token, allow=("database_failure", "feed_lost")).start()
    tabs = open_all(server, made.token, open_console)
    postgres.stop()
    expect_said(tabs, NO_DATABASE)
    postgres.start()
    expect_recovered(tabs, NO_DATABASE)


def test_a_revoked_token_is_said_in_every_view_and_another_one_goes_on_there(make_server: Callable[..., Server],
                                                                           open_console: OpenConsole) -> None:
    server = make_server().start()
    with server.admin() as admin:
        leaver = admin.create("/tokens", {"name": "leaver", "role": "platform_admin"})
        tabs = open_all(server, leaver["token"], open_console)
        assert admin.delete(f"/tokens/{leaver['id']}").status == 204
    for tab in tabs:
        expect(tab.page.get_by_text("Your session has ended.")).to_be_visible(timeout=MINUTE)
    tabs[0].sign_in(server.token)
    for tab, heading in zip(tabs[1:], list(VIEWS.values())[1:]):
        tab.page.reload()   # another tab has signed in for all
        expect(tab.page.locator("main h1")).to_have_text(heading)
