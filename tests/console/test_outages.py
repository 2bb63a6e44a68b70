"""Something goes away while a page is open: the page says so, and goes on by itself when it is back."""

from collections.abc import Callable

from support.browser import Console, expect
from support.postgres import PostgresServer
from support.server import Installation, Server

OpenConsole = Callable[..., Console]
PROVOKED = ("Failed to load resource", )   # the browser's own lines about answers that the page handles
MINUTE = 60_000   # ms


def test_a_server_that_restarts_is_said_and_the_page_goes_on(make_server: Callable[..., Server], open_console: OpenConsole) -> None:
    server = make_server().start()
    port = server.port
    console = open_console(server=server).open("/fleet").sign_in(server.token)
    console.allowed.update(PROVOKED)
    assert server.stop() == 0
    notice = console.page.get_by_text("What you see is its last answer")
    expect(notice).to_be_visible(timeout=MINUTE)
    server.flags += ["--listen", f"127.0.0.1:{port}"]
    server.start()
    expect(notice).to_have_count(0, timeout=MINUTE)
    expect(console.page.locator("main h1")).to_contain_text("Fleet")


def test_postgres_that_is_away_is_said_and_the_page_goes_on(make_postgres: Callable[..., PostgresServer], server_program: object,
                                                           make_server: Callable[..., Server], open_console: OpenConsole) -> None:
    postgres = make_postgres()
    made = Installation.make(server_program, postgres)   # type: ignore[arg-type]
    server = make_server(database=made.database, token=made.token, allow=("database_failure", "feed_lost")).start()
    console = open_console(server=server).open("/policies").sign_in(made.token)
    console.allowed.update(PROVOKED)
    postgres.stop()
    expect(console.page.get_by_text("The server cannot use PostgreSQL now.")).to_be_visible(timeout=MINUTE)
    postgres.start()
    expect(console.page.get_by_text("The server cannot use PostgreSQL now.")).to_have_count(0, timeout=MINUTE)
