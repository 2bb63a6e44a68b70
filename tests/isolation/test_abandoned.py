"""Writes that were given up while PostgreSQL stood still: they change nothing afterwards, and what their clients were told is
true."""

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.admin import AdminClient, bucket
from support.client import Answer
from support.locks import held, wait_for_waiters
from support.postgres import PostgresServer
from support.process import wait_until
from support.server import Installation, Server
from support.writers import assert_whole

ROUNDS = int(os.environ.get("SLUICE_ISOLATION_ROUNDS", "15"))
WRITERS = 3
PLAN = "/plans/pro"


@pytest.fixture
def postgres_of_mine(make_postgres: Callable[..., PostgresServer]) -> PostgresServer:
    """A PostgreSQL that the test may stop."""
    return make_postgres()


@pytest.fixture
def impatient(postgres_of_mine: PostgresServer, server_program: Path, make_server: Callable[..., Server]) -> Iterator[Server]:
    """A server on it that gives up soon, and leaves statements to PostgreSQL for long."""
    made = Installation.make(server_program, postgres_of_mine)
    server = make_server("--call-timeout", "300ms", "--database-pool", str(WRITERS + 2), "--database-lock-timeout", "30s",
                         database=made.database, token=made.token).start()
    yield server
    assert_whole(server.database)


def put(admin: AdminClient, tenant: str, name: str) -> Answer:
    """Gives the plan a name."""
    return admin.put(PLAN, bucket(name=name), tenant=tenant)


def make_plan(server: Server) -> str:
    """A tenant with the plan."""
    with server.admin() as admin:
        tenant = wait_until("a tenant", lambda: _tenant(admin), 30)
        wait_until("the plan", lambda: put(admin, tenant, "first").status < 300, 30)
    return tenant


def _tenant(admin: AdminClient) -> str:
    """A new tenant; "" where the server gave up."""
    try:
        return admin.tenant()
    except AssertionError:
        return ""


def write_at_once(server: Server, tenant: str, names: list[str], latest: float) -> tuple[list[threading.Thread], dict[str, Answer]]:
    """PUTs, each on a thread, at random moments within `latest` seconds; the answers come into the dictionary."""
    answers: dict[str, Answer] = {}

    def write(name: str) -> None:
        with server.admin() as admin:
            time.sleep(random.uniform(0, latest))   # so that PostgreSQL stops at all places of a write
            answers[name] = put(admin, tenant, name)

    threads = [threading.Thread(target=write, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    return threads, answers


def stored_names(server: Server) -> list[str]:
    """The names that the plan had, in the order of their commits."""
    return [row[0] for row in server.database.execute(
        "SELECT document ->> 'name' FROM versions WHERE kind = 'plan' AND id = 'pro' ORDER BY revision")]


def assert_true(answers: dict[str, Answer], names: list[str]) -> None:
    """What was said to be stored is, what was said to have changed nothing is not."""
    for name, answer in answers.items():
        if answer.status < 300:
            assert name in names, answer
        elif answer.body["type"] != "/problems/in-doubt":
            assert answer.status in (409, 503) and name not in names, answer


@pytest.mark.timeout(300)
def test_what_was_given_up_while_postgresql_stood_still_never_overwrites_a_newer_value(
        impatient: Server, postgres_of_mine: PostgresServer) -> None:
    tenant = make_plan(impatient)
    told: dict[str, Answer] = {}
    given_up = 0
    with impatient.admin() as admin:
        for turn in range(ROUNDS):
            threads, answers = write_at_once(impatient, tenant, [f"old-{turn}-{i}" for i in range(WRITERS)], 0.01)
            with postgres_of_mine.frozen():
                for thread in threads:
                    thread.join()
            newest = f"new-{turn}"
            wait_until("the newer value", lambda name=newest: put(admin, tenant, name).status == 200, 30)
            given_up += sum(answer.status == 503 for answer in answers.values())
            told |= answers
        assert given_up >= ROUNDS, "too few writes were given up: the test would prove nothing"
        wait_until("the end of all calls", lambda: impatient.metric("sluice_postgres_connections", state="busy") == 0, 30)
        assert admin.get(PLAN, tenant=tenant).body["name"] == f"new-{ROUNDS - 1}"
    names = stored_names(impatient)
    for turn in range(ROUNDS):
        after = names[names.index(f"new-{turn}"):]
        assert not [name for name in after if name.startswith(f"old-{turn}-")], "an abandoned write came after a newer one"
    assert_true(told, names)


def test_quiet_writes_are_all_acknowledged_and_the_last_one_stays(impatient: Server) -> None:
    tenant = make_plan(impatient)
    told: dict[str, Answer] = {}
    with impatient.admin() as admin:
        for turn in range(3):
            names = [f"old-{turn}-{i}" for i in range(WRITERS)]
            threads, answers = write_at_once(impatient, tenant, names, 0.01)
            for thread in threads:
                thread.join()
            assert put(admin, tenant, f"new-{turn}").status == 200
            assert stored_names(impatient)[-1] == f"new-{turn}"
            told |= answers
    assert_true(told, stored_names(impatient))
    assert sum(answer.status == 200 for answer in told.values()) >= 3


def test_the_statement_of_a_write_that_was_given_up_is_cancelled(impatient: Server) -> None:
    tenant = make_plan(impatient)
    with impatient.admin() as admin:
        with held(impatient.database, "SELECT FROM revision FOR UPDATE"):
            threads, answers = write_at_once(impatient, tenant, ["old"], 0)
            wait_for_waiters(impatient.database)
            threads[0].join()
            assert (answers["old"].status, answers["old"].body["type"]) == (503, "/problems/busy"), answers
            assert "nothing will be changed" in answers["old"].body["detail"]
            # Without a cancel request it would wait for the lock for 30 s.
            wait_until("the end of the statement", lambda: impatient.database.execute(
                "SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = %s AND application_name = 'sluice-server'"
                " AND wait_event_type = 'Lock'", [impatient.database.name])[0][0], 10)
        assert put(admin, tenant, "new").status == 200
        assert "old" not in stored_names(impatient)


def test_a_write_whose_commit_is_not_confirmed_is_in_doubt_and_is_not_cancelled(impatient: Server,
                                                                              postgres_of_mine: PostgresServer) -> None:
    tenant = make_plan(impatient)

    def wait_for_standby(name: str) -> None:
        """A COMMIT ends only when a standby of this name has it; "": at once."""
        postgres_of_mine.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
        postgres_of_mine.execute("SELECT pg_reload_conf()")
        wait_until("the setting", lambda: postgres_of_mine.execute("SHOW synchronous_standby_names") == [(name,)])

    with impatient.admin() as admin:
        wait_for_standby("nobody")
        answer = put(admin, tenant, "doubtful")
        assert (answer.status, answer.body["type"]) == (503, "/problems/in-doubt"), answer
        assert "doubtful" not in stored_names(impatient), "nobody sees it before it is confirmed"
        newer = put(admin, tenant, "too early")   # waits for the same row
        assert (newer.status, newer.body["type"]) == (503, "/problems/busy"), newer
        assert postgres_of_mine.execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == [(1,)]
        wait_for_standby("")
        wait_until("the newer value", lambda: put(admin, tenant, "new").status == 200, 30)
    assert stored_names(impatient) == ["first", "doubtful", "new"]
