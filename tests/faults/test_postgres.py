"""The PostgreSQL of the tests: it starts, keeps databases and roles apart, is killed and recovers."""

from collections.abc import Callable
from contextlib import closing

import psycopg2
import pytest

from support.postgres import APP, OWNER, Database, PostgresServer


def test_neither_role_is_more_than_a_role(postgres: PostgresServer) -> None:
    rows = postgres.execute("SELECT rolname FROM pg_roles WHERE rolname LIKE 'sluice%%' AND rolcanlogin AND NOT"
                            " (rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication)"
                            " ORDER BY rolname")
    assert [name for (name,) in rows] == [APP, OWNER]


def test_each_test_has_a_database_of_its_own(postgres: PostgresServer, database: Database) -> None:
    other = postgres.create_database()
    database.execute("CREATE TABLE t (n int)", role=OWNER)
    assert other.execute("SELECT to_regclass('t')") == [(None,)]
    other.drop()


def test_a_copy_of_a_database_has_its_tables_and_rows(postgres: PostgresServer, database: Database) -> None:
    database.execute("CREATE TABLE t AS SELECT 7 AS n", role=OWNER)
    copy = postgres.create_database(template=database.name)
    assert copy.execute("SELECT n FROM t", role=OWNER) == [(7,)]
    copy.drop()


def test_the_application_touches_only_what_the_owner_grants(database: Database) -> None:
    database.execute("CREATE TABLE t (n int)", role=OWNER)
    with pytest.raises(psycopg2.errors.InsufficientPrivilege):
        database.execute("SELECT n FROM t", role=APP)
    with pytest.raises(psycopg2.errors.InsufficientPrivilege):
        database.execute("CREATE TABLE mine (n int)", role=APP)
    database.execute(f"GRANT SELECT ON t TO {APP}", role=OWNER)
    assert database.execute("SELECT n FROM t", role=APP) == []


@pytest.mark.parametrize("durable", [False, True])
def test_a_killed_server_comes_back_with_what_was_committed(make_postgres: Callable[..., PostgresServer],
                                                            durable: bool) -> None:
    server = make_postgres(durable=durable)
    assert server.execute("SHOW fsync") == [("on" if durable else "off",)]
    database = server.create_database()
    database.execute("CREATE TABLE t (n int)", role=OWNER)
    database.execute("INSERT INTO t VALUES (%s)", [7], role=OWNER)
    with closing(psycopg2.connect(database.url(OWNER))) as open_transaction:
        open_transaction.cursor().execute("INSERT INTO t VALUES (8)")
        server.kill9()
        with pytest.raises(psycopg2.OperationalError):
            database.execute("SELECT 1")
        server.restart()
    assert database.execute("SELECT n FROM t") == [(7,)]


def test_a_stopped_server_lets_go_of_its_clients_and_starts_again(make_postgres: Callable[..., PostgresServer]) -> None:
    server = make_postgres()
    connection = psycopg2.connect(server.url())
    server.stop()
    with pytest.raises(psycopg2.OperationalError):
        connection.cursor().execute("SELECT 1")
    server.restart()
    assert server.execute("SELECT 1") == [(1,)]
