"""Killed in the middle of writes: what was acknowledged is there whole, everything else is whole or absent, and a retry with
the same Idempotency-Key does it once."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.admin import bucket, fresh_id
from support.faults import Fault
from support.postgres import APP, PostgresServer
from support.postgres_gate import PostgresGate
from support.process import wait_until
from support.server import Installation, Server, run_command
from support.writers import Crowd, assert_whole

Start = Callable[..., Server]
ROUNDS = 3
WRITES = 24   # between two faults


def crowd_faults(crowd: Crowd) -> list[str]:
    """What the writers were told that they should not be."""
    return [told for writer in crowd.writers for told in writer.faults]


def survive(crowd: Crowd, fault: Callable[[], None]) -> None:
    """Breaks something again and again while all write, and looks at the database each time."""
    for _ in range(ROUNDS):
        enough = len(crowd.done) + WRITES
        wait_until("writes", lambda count=enough: len(crowd.done) >= count or any(w.faults for w in crowd.writers), 60)
        fault()
        assert_whole(crowd.server.database)
    enough = len(crowd.done) + WRITES
    wait_until("writes after the last fault", lambda: len(crowd.done) >= enough or any(w.faults for w in crowd.writers), 60)
    crowd.finish()
    crowd.assert_each_once()
    verified = run_command(crowd.server.program, "audit", "verify", "--database-url", crowd.server.database.url(APP))
    assert verified.returncode == 0, verified


@pytest.mark.fault("postgres-killed")
def test_writes_survive_a_killed_postgresql(on_own: Start, own_postgres: PostgresServer) -> None:
    server = on_own()
    crowd = Crowd(server)

    def fault() -> None:
        own_postgres.kill9()
        own_postgres.restart()

    survive(crowd, fault)
    assert server.metric("sluice_postgres_errors_total") >= ROUNDS
    assert sum(write.unanswered for write in crowd.done) >= 1, "nobody noticed: the test would prove nothing"


@pytest.mark.fault("postgres-restarted")
def test_writes_survive_restarts_of_postgresql(on_own: Start, own_postgres: PostgresServer) -> None:
    server = on_own()
    crowd = Crowd(server)
    survive(crowd, own_postgres.restart)
    assert server.metric("sluice_postgres_errors_total") >= ROUNDS
    assert sum(write.unanswered for write in crowd.done) >= 1, "nobody noticed: the test would prove nothing"


@pytest.mark.fault("postgres-disk-full")
def test_writes_that_a_full_disk_refuses_are_503_and_none_is_lost(
        make_postgres: Callable[..., PostgresServer], server_program: Path, make_server: Start, fault: Fault) -> None:
    try:
        postgres = make_postgres(disk_mb=160)
    except subprocess.CalledProcessError:
        pytest.skip("a small disk cannot be mounted here")
    made = Installation.make(server_program, postgres)
    server = make_server(database=made.database, token=made.token, allow=("database_failure", "feed_lost")).start()
    crowd = Crowd(server)
    wait_until("writes", lambda: len(crowd.done) >= WRITES, 60)
    with postgres.full_disk():
        wait_until("writes that are refused", lambda: server.metric("sluice_postgres_errors_total") >= 10 or crowd_faults(crowd), 60)
        assert server.probe("/livez").status == server.probe("/readyz").status == 200
    postgres.revive()
    full = time.monotonic()
    before = len(crowd.done)
    wait_until("writes afterwards", lambda: len(crowd.done) >= before + WRITES or crowd_faults(crowd), 60)
    fault.recovered(time.monotonic() - full, 30)
    survive(crowd, lambda: None)
    assert sum(write.unanswered for write in crowd.done) >= 1, "nobody noticed: the test would prove nothing"


@pytest.mark.fault("server-killed-writes")
def test_writes_survive_a_killed_server(make_server: Start) -> None:
    server = make_server().start()
    crowd = Crowd(server)

    def fault() -> None:
        server.kill9()
        server.start()

    survive(crowd, fault)
    assert sum(write.unanswered for write in crowd.done) >= 1, "nobody noticed: the test would prove nothing"


@pytest.mark.fault("postgres-sessions-ended")
def test_writes_survive_the_end_of_all_sessions(make_server: Start) -> None:
    server = make_server().start()
    crowd = Crowd(server)

    def fault() -> None:
        ended = server.database.execute("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = %s AND"
                                        " application_name = 'sluice-server'", [server.database.name])
        assert ended[0][0] >= 1

    survive(crowd, fault)
    errors = server.metric("sluice_postgres_errors_total", **{"class": "unreachable"})
    assert errors + server.metric("sluice_postgres_errors_total", **{"class": "in_doubt"}) >= 1


@pytest.mark.fault("postgres-cut-before-commit")
def test_a_connection_lost_before_its_commit_is_made_again_unseen(make_server: Start) -> None:
    server = make_server()
    with PostgresGate(server.database) as gate:
        server.url = gate.url(APP)
        server.start()
        with server.admin() as admin:
            tenant = admin.tenant()
            gate.cut_before_commit()
            answer = admin.put("/plans/p", bucket(), tenant=tenant, key="k")
            assert gate.has_cut
            # Whether COMMIT was executed cannot be told from here: the caller must be told so, or it must have been done.
            if answer.status == 503:
                assert answer.body["type"] == "/problems/in-doubt" and answer.header("retry-after")
                answer = admin.put("/plans/p", bucket(), tenant=tenant, key="k")
            assert (answer.status, answer.body["version"]) == (201, 1)
        assert_whole(server.database)
        assert server.database.execute("SELECT count(*) FROM audit WHERE kind = 'plan'") == [(1,)]


@pytest.mark.fault("postgres-cut-at-commit")
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_connection_lost_after_its_commit_is_in_doubt_and_a_repeat_with_the_key_tells(make_server: Start,
                                                                                      method: str) -> None:
    server = make_server()
    with PostgresGate(server.database) as gate:
        server.url = gate.url(APP)
        server.start()
        with server.admin() as admin:
            tenant = admin.tenant()
            if method in ("PATCH", "DELETE"):
                admin.put("/plans/pro", bucket(), tenant=tenant)
            before = server.database.execute("SELECT revision FROM revision")[0][0]
            path = "/plans" if method == "POST" else "/plans/pro"
            body = {"POST": bucket(), "PUT": bucket(), "PATCH": {"name": "new"}, "DELETE": None}[method]
            key = fresh_id("key")
            gate.cut_after_commit()
            lost = admin.request(method, path, body, tenant=tenant, key=key)
            assert gate.has_cut
            assert (lost.status, lost.body["type"]) == (503, "/problems/in-doubt"), lost
            assert "Idempotency-Key" in lost.body["detail"] and lost.header("retry-after")
            again = admin.request(method, path, body, tenant=tenant, key=key)
            assert again.status < 300 and again.header("idempotency-replayed") == "true", again
            assert again.header("sluice-revision") == str(before + 1)
        assert server.database.execute("SELECT revision FROM revision") == [(before + 1,)]
        assert_whole(server.database)
        assert server.metric("sluice_postgres_errors_total", **{"class": "in_doubt"}) == 1


@pytest.mark.parametrize("damage", ["DELETE FROM audit WHERE kind = 'plan'", "DELETE FROM changes WHERE kind = 'plan'",
                                    "DELETE FROM versions WHERE kind = 'plan'", "DELETE FROM plans", "UPDATE plans SET version = 2",
                                    "UPDATE revision SET revision = revision + 1", "UPDATE audit_heads SET seq = seq + 1",
                                    "UPDATE plans SET document = '{}'"])
def test_the_check_of_these_tests_notices_what_does_not_fit(make_server: Start, damage: str) -> None:
    server = make_server().start()
    with server.admin() as admin:
        assert admin.put("/plans/p", bucket(), tenant=admin.tenant()).status == 201
    assert_whole(server.database)
    server.database.execute(damage)
    with pytest.raises(AssertionError):
        assert_whole(server.database)
