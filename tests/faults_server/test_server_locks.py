"""A stuck writer, a frozen PostgreSQL, more calls than it takes: each delays whom it must, for as long as it may, and then the
answer is a clean 503."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from support.admin import AdminClient, bucket
from support.client import Answer
from support.locks import held, wait_for_waiters
from support.postgres import PostgresServer
from support.process import freeze, wait_until
from support.server import Server
from support.writers import assert_whole

Start = Callable[..., Server]


@dataclass
class Place:
    """Two tenants of one organization and one of another, each with a plan."""

    server: Server
    organization: str
    mine: str
    beside: str
    elsewhere: str

    @staticmethod
    def make(server: Server) -> "Place":
        """On a running server."""
        with server.admin() as admin:
            organization = admin.organization()
            place = Place(server, organization, admin.tenant(organization), admin.tenant(organization), admin.tenant())
            for tenant in (place.mine, place.beside, place.elsewhere):
                assert admin.put("/plans/pro", bucket(), tenant=tenant).status == 201
        return place


def rename(admin: AdminClient, tenant: str) -> Answer:
    """A write to one row of a tenant."""
    plan = admin.get("/plans/pro", tenant=tenant).body
    return admin.patch("/plans/pro", {"name": f"after {plan['version']}"}, tenant=tenant)


def assert_busy(answer: Answer, least: float, most: float) -> None:
    """A clean refusal after the lock's time-out."""
    assert (answer.status, answer.body["type"]) == (503, "/problems/busy"), answer
    assert answer.header("retry-after") and "nothing was changed" in answer.body["detail"]
    assert least <= answer.seconds < most, answer.seconds


@pytest.fixture
def place(make_server: Start) -> Iterator[Place]:
    """A server with half a second of patience for locks."""
    made = Place.make(make_server("--database-lock-timeout", "500ms").start())
    yield made
    assert_whole(made.server.database)


LOCKS = [("row", "SELECT FROM plans WHERE tenant_id = %s FOR UPDATE", "mine", ["beside", "elsewhere"]),
         ("audit head", "SELECT FROM audit_heads WHERE organization_id = %s FOR UPDATE", "organization", ["elsewhere"]),
         ("revision", "SELECT FROM revision FOR UPDATE", "", [])]


@pytest.mark.fault("lock-held")
@pytest.mark.parametrize(("statement", "parameter", "free"), [lock[1:] for lock in LOCKS], ids=[lock[0] for lock in LOCKS])
def test_a_held_lock_delays_only_whom_the_order_of_locks_says_and_then_they_hear_503(place: Place, statement: str, parameter: str,
                                                                                  free: list[str]) -> None:
    tenants = {"mine": place.mine, "beside": place.beside, "elsewhere": place.elsewhere}
    with place.server.admin() as admin, held(place.server.database, statement, *([getattr(place, parameter)] if parameter else [])):
        for name, tenant in tenants.items():
            assert admin.get("/plans/pro", tenant=tenant).status == 200, "nobody waits to read"
            answer = rename(admin, tenant)
            if name in free:
                assert (answer.status, answer.body["version"]) == (200, 2), name
            else:
                assert_busy(answer, 0.5, 10)
    with place.server.admin() as admin:
        for name, tenant in tenants.items():
            answer = rename(admin, tenant)
            assert (answer.status, answer.body["version"]) == (200, 3 if name in free else 2), "a refused write left a trace"
    assert place.server.metric("sluice_postgres_errors_total", **{"class": "timeout"}) == 3 - len(free)


def test_who_waits_for_a_lock_goes_on_as_soon_as_it_is_free(make_server: Start) -> None:
    place = Place.make(make_server("--database-lock-timeout", "30s").start())
    answers: list[Answer] = []

    def change() -> None:
        with place.server.admin() as client:
            answers.append(rename(client, place.elsewhere))

    with held(place.server.database, "SELECT FROM revision FOR UPDATE"):
        threads = [threading.Thread(target=change) for _ in range(2)]
        for thread in threads:
            thread.start()
        wait_for_waiters(place.server.database, 2)
    for thread in threads:
        thread.join()
    assert [answer.status for answer in answers] == [200, 200]
    assert_whole(place.server.database)


@pytest.mark.fault("server-frozen")
def test_a_server_frozen_in_the_middle_of_a_write_stops_the_others_for_seconds_only(make_server: Start) -> None:
    frozen = make_server("--database-lock-timeout", "30s").start()
    place = Place.make(frozen)
    other = make_server("--database-lock-timeout", "500ms", database=frozen.database).start()
    answers: list[Answer] = []

    def change() -> None:
        with frozen.admin() as client:
            answers.append(client.patch("/plans/pro", {"name": "frozen"}, tenant=place.mine))

    thread = threading.Thread(target=change)
    with held(frozen.database, "SELECT FROM audit_heads WHERE organization_id = %s FOR UPDATE", place.organization):
        thread.start()
        wait_for_waiters(frozen.database)
        freeze(frozen.process.pid)
    # It has the lock now, and does nothing more.
    with other.admin() as admin:
        assert rename(admin, place.elsewhere).status == 200, "who needs nothing of what it holds goes on"
        assert_busy(rename(admin, place.beside), 0.5, 10)
        wait_until("the end of the forgotten transaction", lambda: rename(admin, place.beside).status == 200, 30)
    frozen.process.send(signal.SIGCONT)
    thread.join()
    assert answers[0].status in (200, 503), answers
    with other.admin() as admin:
        assert admin.get("/plans/pro", tenant=place.mine).body["version"] == (2 if answers[0].status == 200 else 1)
        assert rename(admin, place.mine).status == 200
    assert_whole(frozen.database)


@pytest.mark.fault("pool-exhausted")
def test_calls_beyond_the_pool_wait_and_those_beyond_the_queue_hear_503_at_once(make_server: Start) -> None:
    server = make_server("--database-pool", "1", "--database-waiting", "1", "--database-lock-timeout", "30s").start()
    place = Place.make(server)
    answers: list[Answer] = []

    def change() -> None:
        with server.admin() as client:
            answers.append(client.patch("/plans/pro", {"name": "x"}, tenant=place.mine))

    with held(server.database, "SELECT FROM plans WHERE tenant_id = %s FOR UPDATE", place.mine):
        busy = threading.Thread(target=change)
        busy.start()
        wait_for_waiters(server.database)
        waiting = threading.Thread(target=change)
        waiting.start()
        wait_until("a call that waits", lambda: server.metric("sluice_postgres_waiting_requests") == 1)
        with server.admin() as admin:
            for answer in (admin.get("/plans"), admin.put("/plans/new", bucket(name="new"), tenant=place.elsewhere)):
                assert (answer.status, answer.body["type"]) == (503, "/problems/overload")
                assert answer.header("retry-after") and answer.seconds < 5
        assert server.probe("/readyz").status == 200 and server.probe("/livez").status == 200
    for thread in (busy, waiting):
        thread.join()
    assert [answer.status for answer in answers] == [200, 200]
    with server.admin() as admin:
        assert admin.put("/plans/new", bucket(name="new"), tenant=place.elsewhere).status == 201
    assert_whole(server.database)


@contextlib.contextmanager
def calls_in_background(calls: list[Callable[[], Answer]]) -> Iterator[list[Answer]]:
    """Runs calls, each on a thread; their answers, once the block has ended."""
    answers: list[Answer] = []
    threads = [threading.Thread(target=lambda call=call: answers.append(call())) for call in calls]
    for thread in threads:
        thread.start()
    yield answers
    for thread in threads:
        thread.join()


@pytest.mark.fault("postgres-frozen")
def test_a_frozen_postgresql_is_503_within_the_time_of_a_call_and_all_goes_on_when_it_thaws(
        on_own: Start, own_postgres: PostgresServer) -> None:
    server = on_own("--database-pool", "2", "--call-timeout", "1s")
    place = Place.make(server)

    def change() -> Answer:
        with server.admin() as client:
            return client.patch("/plans/pro", {"name": "frozen"}, tenant=place.mine)

    def read() -> Answer:
        with server.admin() as client:
            return client.get("/plans/pro", tenant=place.mine)

    with own_postgres.frozen():
        # Two sessions that hang, and calls that wait for one.
        with calls_in_background([change, read, change, read, read]) as answers:
            pass
        for answer in answers:
            assert answer.status == 503 and answer.header("retry-after"), answer
            assert answer.body["type"] in ("/problems/busy", "/problems/in-doubt", "/problems/unavailable")
            assert answer.seconds < 10
        assert server.probe("/readyz").status == 200 and server.probe("/livez").status == 200
    with server.admin() as admin:
        wait_until("the recovery", lambda: admin.get("/plans/pro", tenant=place.mine).status == 200, 30)
        assert rename(admin, place.beside).status == 200
        # A change that was in doubt may have come, once; one that still waited was never made.
        assert admin.get("/plans/pro", tenant=place.mine).body["version"] in (1, 2)
    assert_whole(server.database)


def test_a_server_on_a_frozen_postgresql_ends_when_it_is_told(on_own: Start, own_postgres: PostgresServer) -> None:
    server = on_own("--drain-timeout", "200ms")
    place = Place.make(server)

    def change() -> Answer:
        with server.admin(timeout=20) as client:
            with contextlib.suppress(OSError):
                return client.patch("/plans/pro", {"name": "frozen"}, tenant=place.mine)
        return Answer(0, {}, None, 0)

    with own_postgres.frozen(), calls_in_background([change]):
        wait_until("a call in PostgreSQL", lambda: server.metric("sluice_postgres_connections", state="busy") >= 1)
        assert server.stop(15) == 0
