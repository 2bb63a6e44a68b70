"""Agents that follow one server through a relay, with a policy whose limit tells which revision decides."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

import pytest

from support.admin import AdminClient
from support.agent import Agent
from support.client import Client
from support.process import wait_until
from support.relay import Relay
from support.server import Server

SECONDS = 30.0   # for what takes milliseconds, on a machine that may be busy


@dataclass
class Crew:
    """A server that runs, a tenant with a policy and a key, and agents. Agents are started by hire()."""

    server: Server
    relay: Relay
    make_agent: Callable[..., Agent]
    folder: Path
    tenant: str = ""
    key: str = ""
    key_id: str = ""
    token_file: Optional[Path] = None
    agents: list[Agent] = field(default_factory=list)

    def settle(self) -> "Crew":
        """Makes the tenant, its key and the agents' token."""
        with self.admin() as admin:
            self.tenant = admin.tenant()
            made = admin.create("/keys", {"tenant_id": self.tenant, "name": "application"})
            self.key, self.key_id = made["key"], made["id"]
            self.set_limit(admin, 1000)
            self.token_file = self.new_token(admin)
        return self

    def admin(self) -> AdminClient:
        """A client of the admin API."""
        return self.server.admin()

    def new_token(self, admin: AdminClient, name: str = "agents", **scope: Any) -> Path:
        """A file with a new agent token; of the whole platform unless a scope is named."""
        path = self.folder / f"{name}.token"
        path.write_text(admin.create("/agent-tokens", {"name": name, **scope})["token"] + "\n")
        path.chmod(0o600)
        return path

    def set_limit(self, admin: AdminClient, limit: int) -> int:
        """Writes the policy anew with this limit; the revision it became."""
        answer = admin.put("/policies/probe", {
            "scope": {"resource": "GET:/probe"}, "key_by": ["subject"],
            "limits": [{"name": "probe", "algorithm": "fixed_window", "limit": limit, "window": "1h"}]}, tenant=self.tenant)
        assert answer.status in (200, 201), answer
        return int(answer.body["revision"])

    def hire(self, count: int = 1, *flags: str, relay: Optional[Relay] = None, token_file: Optional[Path] = None,
             counters: str = "memory", env: Optional[Mapping[str, str]] = None) -> list[Agent]:
        """Starts agents and waits until each decides by the server's policies."""
        made = []
        for _ in range(count):
            name = f"agent-{len(self.agents)}"
            agent = self.make_agent(
                None, counters, "--server", (relay or self.relay).url, "--agent-token-file", str(token_file or self.token_file),
                "--agent-id", name, "--snapshot-cache", str(self.folder / f"{name}.snapshot"), *flags,
                env=env)
            made.append(agent.launch())
            self.agents.append(agent)
        for agent in made:
            wait_until(f"policies at {agent.log}", lambda agent=agent: agent.process.alive() and loaded(agent), SECONDS)
        return made

    def limit_at(self, agent: Agent) -> Optional[int]:
        """The limit by which an agent decides now; None where it does not decide by the policy."""
        with Client(agent.port, self.key) as client:
            answer = client.check(resource="GET:/probe", subject="probe", cost=0)
        text = answer.header("x-ratelimit-limit")
        return int(text) if answer.status == 200 and text is not None else None

    def await_limit(self, limit: int, agents: "Optional[list[Agent]]" = None, seconds: float = SECONDS) -> None:
        """Waits until all decide by it."""
        for agent in self.agents if agents is None else agents:
            wait_until(f"the limit {limit} at {agent.log}", lambda agent=agent: self.limit_at(agent) == limit, seconds)

    def await_head(self, seconds: float = SECONDS) -> dict[str, Any]:
        """Waits until all agents are at the server's head: number and chain. That head."""
        with self.admin() as admin:
            head = admin.get("/revision").body
        for agent in self.agents:
            wait_until(f"the head {head} at {agent.log}", lambda agent=agent: position(agent) == (head["revision"], head["chain"]),
                       seconds)
        return dict(head)


def loaded(agent: Agent) -> bool:
    """Whether it has policies."""
    try:
        with agent.client() as client:
            return bool(client.get("/v1/snapshot").body.get("loaded"))
    except OSError:
        return False


def position(agent: Agent) -> tuple[int, str]:
    """Where in the history it is."""
    with agent.client() as client:
        body = client.get("/v1/snapshot").body
    return int(body["revision"]), str(body["chain"])


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

    def make(*flags: str, server: Optional[Server] = None) -> Crew:
        started = server or make_server(*flags).start()
        return Crew(started, make_relay(started.port), make_agent, tmp_path).settle()

    return make
