"""Work for callers without a token is cheap: floods of invented tokens, and scrapes in a loop, delay nobody else."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from support.admin import AdminClient, fresh_id
from support.browser_session import BrowserSession
from support.client import Client
from support.flood import Flood, invented_token
from support.process import wait_until
from support.server import Installation, Server
from support.timed import p99, times

Slack = Callable[[float], float]
LOOKUPS_PER_SECOND = 20


def lookups(server: Server) -> float:
    """How often the server has read PostgreSQL because of tokens that it did not know."""
    return server.metric("sluice_auth_token_lookups_total")


def transactions(server: Server) -> int:
    """Of all that use the server's database. PostgreSQL adds those of a session up to a second late."""
    return int(server.database.execute("SELECT xact_commit + xact_rollback FROM pg_stat_database "
                                       "WHERE datname = current_database()")[0][0])


def make_token(admin: AdminClient, path: str = "/tokens", **fields: Any) -> dict[str, Any]:
    """A token with its text."""
    made = admin.post(path, {"name": fresh_id("token"), **({"role": "auditor"} if path == "/tokens" else {}), **fields})
    assert made.status == 201, made
    return dict(made.body)


@pytest.mark.alone
def test_a_flood_of_invented_admin_tokens_delays_no_valid_admin(make_server: Callable[..., Server], slack: Slack) -> None:
    server = make_server().start()
    with server.admin() as admin:
        worked, start = transactions(server), time.monotonic()
        quiet, _ = times(lambda: admin.get("/plans"), 1.5)
        assert p99(quiet) <= slack(0.05)
        looked_up, begin = lookups(server), time.monotonic()
        with Flood(server.port, 30, "/v1/admin/plans", "sla") as flood:
            took, statuses = times(lambda: admin.get("/plans"), 3)
            seconds = time.monotonic() - begin
            asked = lookups(server) - looked_up
        answers = sum(statuses.values())
        assert statuses == {200: answers}
        assert p99(took) <= slack(0.05), (p99(quiet), p99(took))
        assert 1 <= asked <= LOOKUPS_PER_SECOND * seconds + 1
        # Beside the look-ups: the admin's calls, and a few a second of the server's own.
        assert transactions(server) - worked <= asked + 2 * (len(quiet) + answers) + 10 * (time.monotonic() - start)
        # The flood heard honest refusals, and far more of them than there were look-ups.
        assert set(flood.statuses) == {401, 429}
        assert sum(flood.statuses.values()) > 3 * asked
        assert admin.get("/plans").status == 200
    # The flood did not read the last answer of each connection.
    assert 0 <= server.metric("sluice_auth_failures_throttled_total") - flood.statuses[429] <= 30


@pytest.mark.alone
def test_a_flood_of_invented_sessions_delays_no_valid_one(make_server: Callable[..., Server], slack: Slack) -> None:
    server = make_server().start()

    def session_lookups() -> float:
        return server.metric("sluice_auth_session_lookups_total")

    with server.admin() as admin:
        browser = BrowserSession.sign_in(admin)
        quiet, _ = times(lambda: browser.request("GET", "/plans"), 1)
        looked_up, begin = session_lookups(), time.monotonic()
        with Flood(server.port, 30, "/v1/admin/plans", "session") as flood:
            took, statuses = times(lambda: browser.request("GET", "/plans"), 3)
            seconds = time.monotonic() - begin
            asked = session_lookups() - looked_up
            # A session that was just started is not a victim of the flood.
            assert BrowserSession.sign_in(admin).request("GET", "/plans").status == 200
        assert statuses == {200: sum(statuses.values())}
        assert p99(took) <= slack(0.05), (p99(quiet), p99(took))
        assert 1 <= asked <= LOOKUPS_PER_SECOND * seconds + 1
        assert set(flood.statuses) == {401, 429}


@pytest.mark.alone
def test_a_flood_of_invented_agent_tokens_delays_no_agent(make_server: Callable[..., Server], slack: Slack) -> None:
    server = make_server().start()
    with server.admin() as admin, Client(server.port) as client:
        token = make_token(admin, "/agent-tokens")["token"]

        def fetch() -> Any:
            return client.request("GET", "/v1/sync/snapshot", headers={"authorization": f"Bearer {token}"})

        assert fetch().status == 200
        quiet, _ = times(fetch, 1)
        looked_up, begin = lookups(server), time.monotonic()
        with Flood(server.port, 30, "/v1/sync/snapshot", "slg") as flood:
            took, statuses = times(fetch, 2)
            seconds = time.monotonic() - begin
            asked = lookups(server) - looked_up
            # A token that was just made is not a victim of the flood.
            fresh = make_token(admin, "/agent-tokens")["token"]
            new = client.request("GET", "/v1/sync/snapshot", headers={"authorization": f"Bearer {fresh}"})
    assert statuses == {200: sum(statuses.values())}
    assert p99(took) <= slack(0.05), (p99(quiet), p99(took))
    assert 1 <= asked <= LOOKUPS_PER_SECOND * seconds + 1
    assert set(flood.statuses) == {401, 429}
    assert new.status == 200 and new.seconds <= slack(0.5)


@pytest.mark.alone
def test_a_new_token_works_at_once_on_another_replica_also_under_a_flood(make_server: Callable[..., Server],
                                                                         slack: Slack) -> None:
    one = make_server().start()
    two = make_server(database=one.database, token=one.token).start()

    def first_use() -> float:
        with one.admin() as admin:
            token = make_token(admin)["token"]
        with two.admin(token) as auditor:
            answer = auditor.get("/plans")
        assert answer.status == 200, answer
        return answer.seconds

    for _ in range(5):
        assert first_use() <= slack(0.5)
    with Flood(two.port, 30, "/v1/admin/plans", "sla"):
        for _ in range(5):
            assert first_use() <= slack(0.5)


def test_a_revoked_token_ends_at_once_on_every_replica(make_server: Callable[..., Server]) -> None:
    one = make_server().start()
    two = make_server(database=one.database, token=one.token).start()
    with one.admin() as admin:
        for _ in range(10):
            made = make_token(admin)
            with two.admin(made["token"]) as auditor:
                assert auditor.get("/plans").status == 200
                assert admin.patch(f"/tokens/{made['id']}", {"revoked": True}).status == 200
                assert auditor.get("/plans").status == 401
            made = make_token(admin)
            with two.admin(made["token"]) as auditor:
                assert auditor.get("/plans").status == 200
                assert admin.delete(f"/tokens/{made['id']}").status == 204
                assert auditor.get("/plans").status == 401


@pytest.mark.alone
def test_a_token_that_is_sent_again_and_again_is_looked_up_once_a_second(make_server: Callable[..., Server]) -> None:
    server = make_server().start()
    before, begin = lookups(server), time.monotonic()
    with server.admin(invented_token("sla", 1)) as stranger:
        _, statuses = times(lambda: stranger.get("/plans"), 2)
    assert set(statuses) == {401, 429} and sum(statuses.values()) > 40
    assert 1 <= lookups(server) - before <= (time.monotonic() - begin) + 1


def test_while_postgresql_is_away_an_unknown_token_hears_503_and_a_wrong_one_401(
        make_server: Callable[..., Server], make_postgres: Callable[..., Any], server_program: Any) -> None:
    own = make_postgres()
    made = Installation.make(server_program, own)
    server = make_server(database=made.database, token=made.token).start()
    with server.admin() as admin:
        assert admin.get("/plans").status == 200
        own.kill9()
        wait_until("the loss to be noticed", lambda: server.metric("sluice_feed_up") == 0)
        with server.admin(invented_token("sla", 1)) as stranger:
            answer = stranger.get("/plans")
        assert (answer.status, answer.body["type"]) == (503, "/problems/unavailable")
        with server.admin("sla_nonsense") as stranger:
            assert stranger.get("/plans").status == 401
        assert admin.get("/plans").status == 503
        own.revive()
        assert wait_until("PostgreSQL again", lambda: admin.get("/plans").status == 200, 30)


@pytest.mark.alone
@pytest.mark.timeout(120)
def test_scrapes_in_a_loop_delay_neither_admins_nor_probes(make_server: Callable[..., Server], slack: Slack) -> None:
    server = make_server().start()
    with server.admin() as admin, Client(server.admin_port) as probes:
        for path in ("/organizations", "/tenants", "/plans", "/policies", "/keys", "/tokens", "/agents", "/audit"):
            admin.get(path)   # more time series to render
        quiet, _ = times(lambda: admin.get("/plans"), 1.5)
        with Flood(server.admin_port, 10, "/metrics") as flood:
            took, statuses = times(lambda: admin.get("/plans"), 2)
            alive, health = times(lambda: probes.get("/livez"), 1)
            # A scrape shows everything that happened before it was sent.
            counted = server.metric("sluice_http_request_duration_seconds_count", route="GET /v1/admin/plans")
            assert counted == 1 + len(quiet) + len(took)
        assert set(flood.statuses) == {200}
    assert statuses == {200: len(took)} and health == {200: len(alive)}
    assert p99(took) <= max(3 * p99(quiet), slack(0.02)), (p99(quiet), p99(took))
    assert p99(alive) <= slack(0.05), p99(alive)
