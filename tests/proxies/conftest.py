"""The application behind the proxies, and the agent that they ask."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from proxies.front import App, Front
from proxies.fronts import proxy_program
from proxies.policies import Policies
from support.agent import Agent
from support.bundle import MintedKey
from support.process import free_port


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    """An nginx that answers every request, and notes it."""
    server = App(proxy_program("nginx"), tmp_path / "app").start()
    yield server
    server.close()


@pytest.fixture
def policies(tmp_path: Path, key: MintedKey) -> Policies:
    """The policies of docs/proxies/README.md in a file."""
    return Policies(tmp_path / "policies.yaml", key)


@pytest.fixture
def grpc_port() -> int:
    """Where the agent answers gRPC."""
    return free_port()


@pytest.fixture
def gate(program: Path, tmp_path: Path, key: MintedKey, policies: Policies, grpc_port: int) -> Iterator[Agent]:
    """The agent, started as docs/proxies/README.md says, with a port for gRPC. Clients come from 127.0.0.5 and so on: proxies alone are trusted."""
    file = tmp_path / "api-key"
    file.write_text(key.text + "\n")
    agent = Agent(program, tmp_path / "agent", policies.path, "memory",
                  ["--authz-key-file", str(file), "--trusted-proxies", "127.0.0.1", "--grpc", f"127.0.0.1:{grpc_port}"])
    yield agent.start()
    agent.close()


@pytest.fixture
def make_front(tmp_path: Path, app: App, gate: Agent, grpc_port: int) -> Iterator[Callable[..., Front]]:
    """Starts a proxy in front of both: make_front(kind, variant)."""
    fronts: list[Front] = []

    def make(kind: type[Front], variant: str = "") -> Front:
        front = kind(proxy_program(kind.name), tmp_path / f"front-{len(fronts)}", variant, agent_port=gate.port, app_port=app.port,
                     grpc_port=grpc_port)
        fronts.append(front)
        return front.start()

    yield make
    for front in fronts:
        front.close()
