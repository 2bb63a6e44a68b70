"""Fixtures of the tests that talk to a running agent or server."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Optional

import pytest

from support.admin import AdminClient
from support.agent import Agent
from support.bundle import Bundle, MintedKey, mint_key
from support.postgres import Database, PostgresServer
from support.program import is_sanitized, program_path
from support.redis_server import RedisServer
from support.server import Installation, Server

pytest_plugins = ("support.kube",     # control_plane, cluster, make_cluster, make_namespace, kubectl
                  "support.crew",     # make_crew, make_relay
                  "support.faults",   # fault, and the options of scripts/faults
                  "support.alone")    # the marker of tests that need the machine for themselves


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test that needs a cluster starts it, and may have to build it: half an hour instead of pytest.ini's limit."""
    for item in items:
        of_cluster = {"control_plane", "cluster", "make_cluster"} & set(getattr(item, "fixturenames", ()))
        if of_cluster or item.path.parent.name in ("testbed", "e2e_cluster", "manifests"):
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(1800))


@pytest.fixture(scope="session")
def program() -> Path:
    """The agent's binary."""
    path = program_path("sluice-agent")
    assert path.is_file(), f"there is no agent at {path}: build it, or name it with SLUICE_AGENT_BIN"
    return path


@pytest.fixture(scope="session")
def sanitized(program: Path) -> bool:
    """Whether times and memory of this binary mean little."""
    return is_sanitized(program)


@pytest.fixture(scope="session")
def key(program: Path) -> MintedKey:
    """The key of the tests' own tenant."""
    return mint_key(program)


@pytest.fixture(scope="session")
def other_key(program: Path) -> MintedKey:
    """The key of another tenant."""
    return mint_key(program)


@pytest.fixture(scope="module")
def module_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what lives as long as a module."""
    return tmp_path_factory.mktemp("module")


@pytest.fixture(scope="module")
def redis(module_folder: Path) -> Iterator[RedisServer]:
    """One Redis for a module, on a Unix socket."""
    server = RedisServer(module_folder / "redis").start()
    yield server
    server.close()


@pytest.fixture
def make_redis(tmp_path: Path) -> Iterator[Callable[..., RedisServer]]:
    """Makes servers for one test: the arguments are RedisServer's."""
    servers: list[RedisServer] = []

    def make(**options: Any) -> RedisServer:
        server = RedisServer(tmp_path / f"redis{len(servers)}", **options)
        servers.append(server)
        return server.start()

    yield make
    for server in servers:
        server.close()


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """One PostgreSQL for all tests, which keep apart by their databases. Who kills or stops one makes its own."""
    server = PostgresServer(tmp_path_factory.mktemp("postgres")).start()
    yield server
    server.close()


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[Database]:
    """An empty database for one test."""
    made = postgres.create_database()
    yield made
    made.drop()


@pytest.fixture
def make_postgres(tmp_path: Path) -> Iterator[Callable[..., PostgresServer]]:
    """Makes servers for one test: the arguments are PostgresServer's."""
    servers: list[PostgresServer] = []

    def make(**options: Any) -> PostgresServer:
        server = PostgresServer(tmp_path / f"postgres{len(servers)}", **options)
        servers.append(server)
        return server.start()

    yield make
    for server in servers:
        server.close()


@pytest.fixture
def make_agent(program: Path, tmp_path: Path) -> Iterator[Callable[..., Agent]]:
    """Makes agents for one test, not started yet: make(bundle, counters, *flags); without a bundle flags say where
    policies come from."""
    agents: list[Agent] = []

    def make(bundle: Optional[Bundle], counters: str, *flags: str, **options: Any) -> Agent:
        folder = tmp_path / f"agent{len(agents)}"
        folder.mkdir()
        written = bundle.write(folder / "bundle.json") if bundle else None
        agent = Agent(program, folder, written, counters, flags, **options)
        agents.append(agent)
        return agent

    yield make
    close_all(agents)


def close_all(programs: "Sequence[Agent | Server]") -> None:
    """Ends all of them, also where one of them has something to complain about."""
    failures: list[str] = []
    for program in programs:
        try:
            program.close()
        except AssertionError as failure:
            failures.append(str(failure))
    assert not failures, "; ".join(failures)


@pytest.fixture(scope="module")
def module_agent(program: Path, module_folder: Path) -> Iterator[Callable[..., Agent]]:
    """As make_agent, for agents that serve a whole module."""
    agents: list[Agent] = []

    def make(bundle: Bundle, counters: str, *flags: str, **options: Any) -> Agent:
        folder = module_folder / f"agent{len(agents)}"
        folder.mkdir()
        agent = Agent(program, folder, bundle.write(folder / "bundle.json"), counters, flags, **options)
        agents.append(agent)
        return agent

    yield make
    close_all(agents)


@pytest.fixture(scope="session")
def server_program() -> Path:
    """The server's binary."""
    path = program_path("sluice-server")
    assert path.is_file(), f"there is no server at {path}: build it, or name it with SLUICE_SERVER_BIN"
    return path


@pytest.fixture(scope="session")
def sluicectl_program() -> Path:
    """The command line's binary."""
    path = program_path("sluicectl")
    assert path.is_file(), f"there is no sluicectl at {path}: build it, or name it with SLUICECTL_BIN"
    return path


@pytest.fixture(scope="session")
def installation(server_program: Path, postgres: PostgresServer) -> Installation:
    """A database with the schema and a first token, to be copied."""
    return Installation.make(server_program, postgres)


@pytest.fixture
def make_server(server_program: Path, installation: Installation, tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Makes servers for one test, not started yet: make(*flags, database=None, allow=()). Without a database of the
    test's own each gets a copy of the installation."""
    servers: list[Server] = []
    yield _server_maker(server_program, installation, tmp_path, servers)
    close_all(servers)


@pytest.fixture(scope="module")
def module_server(server_program: Path, installation: Installation,
                  module_folder: Path) -> Iterator[Callable[..., Server]]:
    """As make_server, for servers that serve a whole module."""
    servers: list[Server] = []
    yield _server_maker(server_program, installation, module_folder, servers)
    close_all(servers)


@pytest.fixture(scope="module")
def server(module_server: Callable[..., Server]) -> Server:
    """One server for a module."""
    return module_server().start()


@pytest.fixture
def admin(server: Server) -> Iterator[AdminClient]:
    """A connection of a platform_admin."""
    with server.admin() as client:
        yield client


def _server_maker(program: Path, installation: Installation, folder: Path,
                  servers: list[Server]) -> Callable[..., Server]:
    def make(*flags: str, database: Optional[Database] = None, **options: Any) -> Server:
        options.setdefault("token", installation.token)
        server = Server(program, folder / f"server{len(servers)}", database or installation.copy(), flags=flags, **options)
        servers.append(server)
        return server

    return make


@pytest.fixture(scope="session")
def valkey() -> str:
    """The program of a Valkey server (scripts/setup test fetches one)."""
    path = os.environ.get("SLUICE_VALKEY") or str(Path(__file__).resolve().parents[1] / ".run/valkey/valkey-server")
    if shutil.which(path) is None:
        pytest.skip(f"no Valkey at {path}: run scripts/setup test")
    return path
