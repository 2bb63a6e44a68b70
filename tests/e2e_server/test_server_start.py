"""Start and stop of the server, its commands, what the command line says."""

import http.client
import re
import signal
import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.admin import ADMIN, bucket
from support.certificate import certificate
from support.client import Answer, Client
from support.locks import held, wait_for_waiters
from support.postgres import APP, OWNER, Database, PostgresServer
from support.process import Process, free_port, wait_until
from support.raw import RawConnection
from support.server import CREDENTIAL, Installation, Server, bootstrap, migrate, run_command

Make = Callable[..., Server]
COMMANDS = [[], ["migrate"], ["bootstrap"], ["audit", "verify"]]
URL = "postgresql://sluice_app@localhost/sluice"
ENVIRONMENT = Server.environment


# --- the command line ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("command", [*COMMANDS, ["audit"], ["make-secrets"]], ids=" ".join)
def test_help_explains_every_flag_with_its_environment_variable(server_program: Path, command: list[str]) -> None:
    done = run_command(server_program, *command, "--help", "--nonsense")
    assert (done.returncode, done.stderr) == (0, ""), "help is what is needed, whatever else is faulty"
    flags = re.findall(r"^  (?:-h,)?--([a-z-]+)", done.stdout, re.MULTILINE)
    assert "help" in flags and f"Usage: sluice-server {' '.join(command)}".strip() in done.stdout
    for flag in set(flags) - {"help", "version"}:
        assert flag.replace("-", "_").upper() + "]" in done.stdout, flag


@pytest.mark.parametrize("command", [*COMMANDS, ["audit"], ["make-secrets"], ["routes"], ["reference"], ["reference", "openapi"]],
                         ids=" ".join)
def test_a_short_h_is_help_before_and_behind_a_command(server_program: Path, command: list[str]) -> None:
    long = run_command(server_program, *command, "--help")
    for arguments in ([*command, "-h"], ["-h", *command], [*command, "-h", "--nonsense"]):
        done = run_command(server_program, *arguments)
        assert (done.returncode, done.stdout, done.stderr) == (0, long.stdout, ""), arguments


def test_a_misspelt_variable_is_a_warning_with_the_right_name(make_server: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Server, "environment", staticmethod(lambda: {
        **ENVIRONMENT(), "SLUICE_SERVER_LISTENN": "s3cret", "SLUICE_DATABASE_POOL": "9", "SLUICE_SERVER_SERVICE_HOST": "10.0.0.1",
        "SLUICE_SERVER_PORT": "tcp://10.0.0.1:8443", "SLUICE_SERVER_PORT_8443_TCP": "tcp://10.0.0.1:8443", "SLUICE_AGENT_LISTNE": "x"}))
    server = make_server().start()
    told = {line["variable"]: line for line in server.lines() if line["event"] == "unknown_variable"}
    assert set(told) == {"SLUICE_SERVER_LISTENN", "SLUICE_DATABASE_POOL"}
    assert told["SLUICE_SERVER_LISTENN"]["level"] == "warn" and "SLUICE_SERVER_LISTEN?" in told["SLUICE_SERVER_LISTENN"]["message"]
    assert "SLUICE_SERVER_DATABASE_POOL?" in told["SLUICE_DATABASE_POOL"]["message"]
    assert "s3cret" not in server.process.output()


def test_a_command_warns_of_a_misspelt_variable_too(server_program: Path) -> None:
    done = run_command(server_program, "routes", env={"SLUICE_SERVER_LISTENN": "1"})
    assert done.returncode == 0 and "did you mean SLUICE_SERVER_LISTEN?" in done.stderr


def test_version_tells_what_was_built(server_program: Path) -> None:
    done = run_command(server_program, "--version", "--database-url", URL)
    assert done.returncode == 0 and re.fullmatch(r"sluice-server \d+\.\d+\.\d+ \(.+\)\n", done.stdout)


def test_all_faults_of_the_flags_are_told_at_once_and_nothing_starts(server_program: Path, tmp_path: Path) -> None:
    done = run_command(server_program, "--database-url", "postgresql://sluice_app:hunter2@[::1/x", "--database-pool", "0",
                       "--database-waiting", "many", "--database-lock-timeout", "1ns", "--listen", "here", "--tls-cert",
                       str(tmp_path / "none.crt"), "--drain-timeout", "-1s", "--log-level", "loud", "--colour", "red",
                       env={"SLUICE_SERVER_DATABASE_STATEMENT_TIMEOUT": "soon"})
    assert (done.returncode, done.stdout) == (2, "")
    for flag in ("--database-url", "--database-pool", "--database-waiting", "--database-lock-timeout", "--listen", "--tls-cert",
                 "--drain-timeout", "--log-level", "--colour", "SLUICE_SERVER_DATABASE_STATEMENT_TIMEOUT"):
        assert re.search(rf"^  {flag}: ", done.stderr, re.MULTILINE), flag
    assert "hunter2" not in done.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_postgresql_elsewhere_needs_tls_or_a_word(server_program: Path, command: list[str]) -> None:
    owner = ["--database-owner-url", URL.replace(APP, OWNER)] if command == ["migrate"] else []

    def told(url: str, *flags: str, **env: str) -> tuple[int, str]:
        done = run_command(server_program, *command, "--database-url", url, *owner, *flags, env=env)
        return done.returncode, done.stderr
    url = f"postgresql://{APP}:hunter2@db.invalid/sluice"
    for said in (told(url), told(f"{url}?sslmode=prefer"), told(f"postgresql://{APP}@/sluice", PGHOST="db.invalid"),
                 told(f"postgresql://{APP}@localhost/sluice", PGHOSTADDR="192.0.2.1")):
        assert said[0] == 2 and "  --database-url: may send passwords and policies" in said[1], said
        assert "add sslmode=verify-full" in said[1] and "--insecure-database" in said[1] and "hunter2" not in said[1], said
    if command == []:
        return   # it would run
    for said in (told(url, "--insecure-database"), told(url, SLUICE_SERVER_INSECURE_DATABASE="true"),
                 told(f"{url}?sslmode=verify-full"), told(f"postgresql://{APP}@/sluice", PGHOST="db.invalid", PGSSLMODE="require")):
        assert said[0] != 0 and "cannot start" not in said[1], said   # it tried


def test_a_redis_elsewhere_needs_tls_or_a_word_and_so_does_that_of_pods(server_program: Path, tmp_path: Path) -> None:
    cert, key = certificate(tmp_path, "server")
    flags = ["--database-url", URL]
    done = run_command(server_program, *flags, "--counters", "redis+sentinel://localhost,b.invalid/main")
    assert done.returncode == 2 and "  --counters: would send passwords and subjects" in done.stderr, done.stderr
    assert "to b.invalid;" in done.stderr and "--insecure-redis" in done.stderr, done.stderr
    done = run_command(server_program, *flags, "--webhook", "127.0.0.1:0", "--inject-image", "x", "--inject-counters",
                       "redis://redis.invalid", "--tls-cert", str(cert), "--tls-key", str(key))
    assert done.returncode == 2 and "  --inject-counters: would send passwords" in done.stderr, done.stderr


def test_a_server_runs_with_clear_text_that_was_allowed_and_with_tls(make_server: Make) -> None:
    for counters in (["--counters", "redis://redis.invalid", "--insecure-redis"], ["--counters", "rediss://redis.invalid"]):
        server = make_server(*counters, "--insecure-database").start()
        assert server.stop() == 0


@pytest.mark.parametrize(("word", "meant"), [("migrat", "did you mean migrate?"), ("serve", "there is: migrate, bootstrap,")])
def test_a_command_that_there_is_not_is_all_that_is_told(server_program: Path, word: str, meant: str) -> None:
    done = run_command(server_program, word, "--nonsense")
    assert done.returncode == 2
    assert "1 fault\n" in done.stderr and f'"{word}": is not a command' in done.stderr and meant in done.stderr
    assert "--database-url" not in done.stderr and "--nonsense" not in done.stderr


def test_a_server_without_a_database_is_told_how_to_name_one(server_program: Path) -> None:
    for command in COMMANDS:
        done = run_command(server_program, *command)
        assert done.returncode == 2 and "--database-url: is missing" in done.stderr, command


@pytest.mark.parametrize("password", ["changeme", "password", "secret", "postgres", "<password>", "%63hangeme"])
def test_a_placeholder_for_a_password_is_refused_and_not_shown(server_program: Path, tmp_path: Path, password: str) -> None:
    done = run_command(server_program, "--database-url", URL.replace("@", f":{password}@"))
    assert done.returncode == 2 and "--database-url: has a placeholder" in done.stderr
    done = run_command(server_program, "migrate", "--database-url", URL, "--database-owner-url", URL.replace("@", f":{password}@"))
    assert done.returncode == 2 and "--database-owner-url: has a placeholder" in done.stderr
    file = tmp_path / "kept"
    file.write_text(password.replace("%63", "c") + "\n")
    done = run_command(server_program, "--database-url", URL, "--database-password-file", str(file))
    assert done.returncode == 2 and "--database-password-file: " in done.stderr and f'"{password}"' not in done.stderr


def test_a_listener_that_others_can_reach_needs_tls_or_the_word_that_it_is_meant(server_program: Path) -> None:
    done = run_command(server_program, "--database-url", URL, "--listen", "0.0.0.0:0")
    assert done.returncode == 2 and "--listen" in done.stderr and "--insecure-listen" in done.stderr


def test_flags_can_come_from_the_environment(make_server: Make) -> None:
    server = make_server(env={"SLUICE_SERVER_DATABASE_POOL": "3", "SLUICE_SERVER_LOG_LEVEL": "debug"}).start()
    assert server.metric("sluice_postgres_max_connections") == 3


def test_a_port_that_is_taken_is_told_with_the_flag_and_ends_with_1(make_server: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        server = make_server("--listen", f"127.0.0.1:{taken.getsockname()[1]}", allow=["listen_failed"])
        process = Process([word for word in server.command() if word != "127.0.0.1:0"][:3] + server.flags, server.log)
        assert process.wait(30) == 1
    assert [line["event"] for line in server.lines()][-1] == "listen_failed" and "--listen" in server.lines()[-1]["message"]


# --- schema ----------------------------------------------------------------------------------------------------------

def test_a_server_without_a_schema_says_what_to_do_and_ends(make_server: Make, database: Database) -> None:
    server = make_server(database=database, allow=["schema_failed"]).launch()
    assert server.process.wait(30) == 1
    assert server.lines()[-1]["event"] == "schema_failed" and "sluice-server migrate" in server.lines()[-1]["message"]


def test_bootstrap_without_a_schema_says_what_to_do(server_program: Path, database: Database) -> None:
    done = run_command(server_program, "bootstrap", "--database-url", database.url())
    assert (done.returncode, done.stdout) == (1, "") and "sluice-server migrate" in done.stderr, done


def test_a_server_with_the_owners_url_makes_the_schema_at_its_start(make_server: Make, database: Database) -> None:
    server = make_server("--database-owner-url", database.url(OWNER), database=database).start()
    with server.admin(bootstrap(server.program, database)) as admin:
        assert admin.put("/plans/p", bucket(), tenant=admin.tenant()).status == 201


def test_migrate_tells_what_it_applied_and_applies_it_once(server_program: Path, database: Database) -> None:
    arguments = ["migrate", "--database-url", database.url(APP), "--database-owner-url", database.url(OWNER)]
    dry = run_command(server_program, *arguments, "--dry-run")
    assert dry.returncode == 0 and "dry run" in dry.stdout and "0001 store" in dry.stdout
    assert database.execute("SELECT to_regclass('schema_migrations')") == [(None,)]
    first = run_command(server_program, *arguments)
    assert first.returncode == 0 and "0001 store" in first.stdout
    second = run_command(server_program, *arguments)
    assert second.returncode == 0 and "0001" not in second.stdout


def test_migrate_waits_for_postgres_as_long_as_it_is_told_to(server_program: Path, tmp_path: Path,
                                                            make_postgres: Callable[..., PostgresServer]) -> None:
    postgres = make_postgres()
    database = postgres.create_database()
    arguments = ["migrate", "--database-url", database.url(APP), "--database-owner-url", database.url(OWNER)]
    postgres.stop()
    assert run_command(server_program, *arguments, "--wait", "600ms").returncode == 1
    waiting = Process([str(server_program), *arguments, "--wait", "5m"], tmp_path / "migrate.log", Server.environment())
    wait_until("word that it waits", lambda: "waiting for PostgreSQL" in waiting.output())
    postgres.start()
    assert waiting.wait(60) == 0, waiting.output()
    assert database.execute("SELECT count(*) > 0 FROM schema_migrations") == [(True,)]
    postgres.stop()
    ended = Process([str(server_program), *arguments, "--wait", "5m"], tmp_path / "ended.log", Server.environment())
    wait_until("word that it waits", lambda: "waiting for PostgreSQL" in ended.output())
    assert ended.end(10) == 1, "SIGTERM ends it"


def test_servers_that_migrate_at_the_same_time_make_one_schema(make_server: Make, database: Database) -> None:
    servers = [make_server("--database-owner-url", database.url(OWNER), database=database).launch() for _ in range(3)]
    for server in servers:
        wait_until("readiness", server._ready, 60)   # pylint: disable=protected-access
    applied = database.execute("SELECT version FROM schema_migrations ORDER BY version")
    assert applied == [(number,) for number in range(1, len(applied) + 1)]
    assert sum(line.get("applied", 0) for server in servers for line in server.lines()) == len(applied)


def test_a_migration_that_was_changed_afterwards_is_refused(make_server: Make, server_program: Path, database: Database) -> None:
    migrate(server_program, database)
    database.execute("UPDATE schema_migrations SET checksum = 'x'")
    server = make_server("--database-owner-url", database.url(OWNER), database=database, allow=["schema_failed"]).launch()
    assert server.process.wait(30) == 1
    assert server.lines()[-1]["code"] == "migration_changed"


def test_a_server_works_with_a_schema_one_version_later_and_not_two(make_server: Make, server_program: Path,
                                                                    database: Database) -> None:
    migrate(server_program, database)
    newest = database.execute("SELECT max(version) FROM schema_migrations")[0][0]
    database.execute("INSERT INTO schema_migrations (version, name, checksum) VALUES (%s, 'later', 'x')", [newest + 1])
    assert make_server(database=database).start().stop() == 0
    database.execute("INSERT INTO schema_migrations (version, name, checksum) VALUES (%s, 'latest', 'x')", [newest + 2])
    server = make_server(database=database, allow=["schema_failed"]).launch()
    assert server.process.wait(30) == 1 and server.lines()[-1]["code"] == "schema_new"


# --- bootstrap -------------------------------------------------------------------------------------------------------

def test_bootstrap_prints_a_token_once_that_works_and_is_in_the_trail(make_server: Make, server_program: Path,
                                                                      database: Database) -> None:
    migrate(server_program, database)
    token = bootstrap(server_program, database, "--name", "Ops \"team\"")
    assert token.startswith("sla_")
    again = run_command(server_program, "bootstrap", "--database-url", database.url())
    assert (again.returncode, again.stdout) == (1, "") and "--again" in again.stderr
    more = bootstrap(server_program, database, "--again")
    server = make_server(database=database).start()
    for good in (token, more):
        with server.admin(good) as admin:
            assert admin.get("/organizations").status == 200
    rows = database.execute("SELECT action, kind, after FROM audit ORDER BY seq")
    assert [row[:2] for row in rows] == [("create", "token")] * 2 and 'Ops \\"team\\"' in rows[0][2]
    stored = str(database.execute("SELECT document::text, secret_hash FROM tokens")) + str(rows)
    assert token.rsplit("_", 1)[1] not in stored and "sha256:" in stored


def test_bootstrap_while_postgresql_is_away_says_so(server_program: Path, tmp_path: Path) -> None:
    done = run_command(server_program, "bootstrap", "--database-url", f"postgresql:///x?host={tmp_path}&user=sluice_app")
    assert done.returncode == 1 and "database_away" in done.stderr


# --- PostgreSQL away -------------------------------------------------------------------------------------------------

def test_a_server_starts_without_postgresql_answers_503_and_recovers_by_itself(
        make_server: Make, make_postgres: Callable[..., PostgresServer], server_program: Path) -> None:
    postgres = make_postgres()
    installation = Installation.make(server_program, postgres)
    postgres.stop()
    server = make_server(database=installation.database, token=installation.token).start()
    assert server.probe("/readyz").body["degraded"] != []
    assert server.probe("/livez").status == 200
    with server.admin() as admin:
        for answer in (admin.get("/plans"), admin.post("/plans", bucket())):
            assert (answer.status, answer.body["type"]) == (503, "/problems/unavailable")
            assert int(answer.header("retry-after") or 0) >= 1
        assert server.metric("sluice_postgres_errors_total", **{"class": "unreachable"}) >= 1
        postgres.restart()
        wait_until("the recovery", lambda: admin.get("/plans").status == 200)
        assert admin.put("/plans/p", bucket(), tenant=admin.tenant()).status == 201
        assert server.probe("/readyz").body["degraded"] == []


# --- stop ------------------------------------------------------------------------------------------------------------

def test_sigterm_lets_a_call_in_flight_finish(make_server: Make) -> None:
    server = make_server("--database-lock-timeout", "30s").start()
    with server.admin() as admin:
        tenant = admin.tenant()
        admin.put("/plans/p", bucket(), tenant=tenant)
    answers: list[Answer] = []

    def change() -> None:
        with server.admin() as client:
            answers.append(client.put("/plans/p", bucket(name="last"), tenant=tenant))

    with held(server.database, "SELECT FROM plans WHERE tenant_id = %s FOR UPDATE", tenant):
        thread = threading.Thread(target=change)
        thread.start()
        wait_for_waiters(server.database)
        server.process.send(signal.SIGTERM)
        wait_until("the drain", lambda: any(line["event"] == "draining" for line in server.lines()))
        assert server.process.alive() and not answers
    thread.join()
    assert [answer.status for answer in answers] == [200]
    assert server.process.wait(30) == 0
    assert server.database.execute("SELECT version FROM plans WHERE tenant_id = %s", [tenant]) == [(2,)]
    assert server.lines()[-1]["event"] == "stopped"


def test_a_drain_that_takes_too_long_ends_at_its_time_out(make_server: Make) -> None:
    server = make_server("--database-lock-timeout", "1m", "--drain-timeout", "100ms").start()
    with server.admin() as admin:
        tenant = admin.tenant()
        admin.put("/plans/p", bucket(), tenant=tenant)
    with held(server.database, "SELECT FROM plans WHERE tenant_id = %s FOR UPDATE", tenant), \
            RawConnection(server.port) as connection:
        connection.send(f"DELETE {ADMIN}/plans/p?tenant_id={tenant} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
                        f"{server.token}\r\n\r\n".encode())
        wait_for_waiters(server.database)
        server.process.send(signal.SIGTERM)
        assert server.process.wait(20) == 0, "the process waits for PostgreSQL for the whole minute"
    assert server.lines()[-1]["event"] == "calls_abandoned"
    assert server.database.execute("SELECT count(*) FROM plans WHERE tenant_id = %s", [tenant]) == [(1,)]


def test_idle_connections_do_not_delay_the_end(make_server: Make) -> None:
    server = make_server().start()
    with server.admin() as admin:
        admin.get("/plans")
        assert server.stop(10) == 0


# --- TLS -------------------------------------------------------------------------------------------------------------

def secure_get(server: Server, trusted: Path) -> int:
    """The status of a GET over TLS; raises ssl.SSLError where the certificate is not the trusted one."""
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=30,
                                             context=ssl.create_default_context(cafile=str(trusted)))
    connection.request("GET", f"{ADMIN}/plans", headers={"authorization": f"Bearer {server.token}"})
    status = connection.getresponse().status
    connection.close()
    return status


def test_tls_is_served_and_a_renewed_certificate_is_taken_without_a_restart(make_server: Make, tmp_path: Path) -> None:
    cert, key = certificate(tmp_path, "first")
    server = make_server("--tls-cert", str(cert), "--tls-key", str(key)).start()
    with RawConnection(server.port) as connection:   # in clear: of no effect on others
        connection.send(b"GET /v1/admin/plans HTTP/1.1\r\nHost: x\r\n\r\n")
        assert secure_get(server, cert) == 200
    first = tmp_path / "trusted.crt"
    first.write_bytes(cert.read_bytes())
    new_cert, new_key = certificate(tmp_path, "second")
    new_key.replace(key)
    new_cert.replace(cert)

    def renewed() -> bool:
        try:
            return secure_get(server, cert) == 200
        except ssl.SSLError:
            return False

    wait_until("the renewed certificate", renewed, 30)
    with pytest.raises(ssl.SSLError):
        secure_get(server, first)


def test_a_certificate_without_its_key_or_of_another_is_refused_at_the_start(make_server: Make, server_program: Path,
                                                                             tmp_path: Path) -> None:
    cert, _ = certificate(tmp_path, "one")
    _, key = certificate(tmp_path, "two")
    done = run_command(server_program, "--database-url", URL, "--tls-cert", str(cert))
    assert done.returncode == 2 and "--tls-key" in done.stderr
    server = make_server("--tls-cert", str(cert), "--tls-key", str(key), allow=["tls_failed"]).launch()
    assert server.process.wait(30) == 1 and server.lines()[-1]["event"] == "tls_failed"


@pytest.mark.fault("log-injection")
def test_every_line_of_the_log_is_json_and_no_credential_is_in_it(make_server: Make) -> None:
    server = make_server().start()
    with server.admin() as admin:
        admin.put("/plans/p", bucket(name="line\nbreak \u2028"), tenant=admin.tenant())
        admin.get("/plans")
    with Client(server.port) as client:
        client.request("GET", f"/{server.token}")
    assert server.stop() == 0
    lines = server.lines()
    assert len(lines) == len([line for line in server.process.output().split("\n") if line])
    assert [line["event"] for line in lines[:3]] == ["starting", "feed_loaded", "listening"] and lines[-1]["event"] == "stopped"
    assert all({"time", "level", "event", "message"} <= set(line) for line in lines)
    assert all(line.get("request_id") for line in lines if line["event"] == "request")
    assert not CREDENTIAL.search(server.process.output())
