"""Locks that a test holds in PostgreSQL, as a stuck writer would."""

import contextlib
from collections.abc import Iterator
from typing import Any

import psycopg2

from support.postgres import SUPERUSER, Database
from support.process import wait_until


@contextlib.contextmanager
def held(database: Database, statement: str, *parameters: Any) -> Iterator[None]:
    """Runs a statement in a transaction that stays open, and rolls it back at the end."""
    with contextlib.closing(psycopg2.connect(database.url(SUPERUSER))) as connection:
        with connection.cursor() as cursor:
            cursor.execute(statement, parameters or None)
            yield
        connection.rollback()


def wait_for_waiters(database: Database, number: int = 1) -> None:
    """Waits until so many of the server's sessions wait for a lock."""
    wait_until(f"{number} sessions that wait for a lock", lambda: database.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND application_name = 'sluice-server'"
        " AND wait_event_type = 'Lock'", [database.name])[0][0] >= number, 30)
