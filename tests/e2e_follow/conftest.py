"""A server, a relay and agents that follow."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.agent import Agent
from support.crew import Crew
from support.postgres import PostgresServer
from support.relay import Relay
from support.server import Installation, Server

# Reports often: what the fleet's view is tested for is not how seldom they come.
REPORTS = ("--report-interval", "1s")


@pytest.fixture
def make_relay() -> Iterator[Callable[[int], Relay]]:
    """Makes relays: make_relay(port of the server)."""
    relays: list[Relay] = []

    def make(target: int) -> Relay:
        relays.append(Relay(target))
        return relays[-1]

    yield make
    for relay in relays:
        relay.__exit__()


@pytest.fixture
def make_crew(make_server: Callable[..., Server], make_agent: Callable[..., Agent], make_relay: Callable[[int], Relay],
              tmp_path: Path) -> Callable[..., Crew]:
    """A crew without agents: make_crew(server=None, *, flags)."""

    def make(*flags: str, server: "Server | None" = None) -> Crew:
        started = server or make_server(*flags).start()
        return Crew(started, make_relay(started.port), make_agent, tmp_path).settle()

    return make


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
