"""What the tests of agents that follow a server share; make_crew() is in support/crew.py."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.postgres import PostgresServer
from support.server import Installation, Server

# Reports often: what the fleet's view is tested for is not how seldom they come.
REPORTS = ("--report-interval", "1s")


@pytest.fixture
def own_postgres(make_postgres: Callable[..., PostgresServer]) -> PostgresServer:
    """A PostgreSQL of the test's own, which may be killed and put back."""
    return make_postgres()


@pytest.fixture
def own_server(own_postgres: PostgresServer, server_program: Path, make_server: Callable[..., Server]) -> Server:
    """A server on that."""
    made = Installation.make(server_program, own_postgres)
    return make_server(database=made.database, token=made.token,
                       allow=("database_failure", "feed_lost")).start()
