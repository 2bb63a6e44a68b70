"""A server on a PostgreSQL that may be killed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.postgres import PostgresServer
from support.server import Installation, Server


@pytest.fixture
def own_postgres(make_postgres: Callable[..., PostgresServer]) -> PostgresServer:
    """A PostgreSQL of the test's own."""
    return make_postgres()


@pytest.fixture
def on_own(own_postgres: PostgresServer, server_program: Path,
           make_server: Callable[..., Server]) -> Callable[..., Server]:
    """Starts a server on that: on_own(*flags)."""

    def start(*flags: str) -> Server:
        made = Installation.make(server_program, own_postgres)
        return make_server(*flags, database=made.database, token=made.token).start()

    return start
