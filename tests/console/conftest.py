"""A server with something to show, its agent, and tabs that show it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.admin import AdminClient, bucket
from support.agent import Agent
from support.client import Client
from support.crew import loaded
from support.process import wait_until
from support.redis_server import RedisServer
from support.server import Server

pytest_plugins = ("support.browser",)

SECONDS = 30.0


@dataclass
class Shop:
    """A server whose tenant `shop` has one object of each kind, and an agent that has decided and reported."""

    server: Server
    agent: Agent
    key: str

    def admin(self) -> AdminClient:
        """A client of the admin API, as platform_admin."""
        return self.server.admin()

    def token(self, role: str, **fields: Any) -> str:
        """A new token of this role, of the whole platform unless a scope is named."""
        with self.admin() as admin:
            return str(admin.create("/tokens", {"name": f"a {role}", "role": role, **fields})["token"])

    def check(self, count: int, resource: str = "GET:/orders", subject: str = "user:42") -> list[int]:
        """Statuses of checks at the agent."""
        with Client(self.agent.port, self.key) as client:
            return [client.check(resource=resource, subject=subject).status for _ in range(count)]


def private(path: Path, text: str) -> Path:
    """A file that nobody else may read."""
    path.write_text(text + "\n")
    path.chmod(0o600)
    return path


def furnish(admin: AdminClient) -> str:
    """Makes the tenant's objects; its key."""
    admin.create("/tenants", {"id": "shop", "name": "The shop", "organization_id": admin.organization(), "record_requests": True})
    assert admin.put("/plans/pro", bucket(), tenant="shop").status == 201
    assert admin.put("/policies/orders", {
        "scope": {"resource": "GET:/orders"}, "key_by": ["subject"],
        "limits": [{"name": "day", "algorithm": "fixed_window", "limit": 5, "window": "1d"}]}, tenant="shop").status == 201
    assert admin.put("/policies/search", {
        "scope": {"resource": "GET:/search"}, "key_by": ["subject"], "mode": "shadow",
        "limits": [{"algorithm": "token_bucket", "capacity": 60, "refill": "1/s"}]}, tenant="shop").status == 201
    return str(admin.create("/keys", {"tenant_id": "shop", "name": "application"})["key"])


@pytest.fixture(scope="module")
def shop(program: Path, module_folder: Path, redis: RedisServer, module_server: Callable[..., Server]) -> Iterator[Shop]:
    """One for a module. Tests that break something make their own server."""
    server = module_server("--counters", redis.counters, "--analytics-every", "1s").start()
    with server.admin() as admin:
        key = furnish(admin)
        token = private(module_folder / "agent.token", admin.create("/agent-tokens", {"name": "agents"})["token"])
    # On a busy machine Redis may answer late; that must not become an answer by failure_mode.
    agent = Agent(program, module_folder / "agent-of-the-shop", None, redis.counters, ["--redis-deadline", "5s"])
    server.flags += ["--playground-agent", f"unix:{agent.socket}", "--playground-key-file", str(private(module_folder / "playground.keys", key))]
    server.restart()
    agent.flags += ["--server", f"http://127.0.0.1:{server.port}", "--agent-token-file", str(token), "--agent-id", "agent-1",
                    "--report-interval", "1s", "--record-decisions", "4MiB"]
    agent.launch()
    wait_until("the agent's policies", lambda: agent.process.alive() and loaded(agent), SECONDS)
    made = Shop(server, agent, key)
    wait_until("decisions by the policies", lambda: 429 in made.check(7), SECONDS)
    wait_until("the agent's report", lambda: reported(made), SECONDS)
    yield made
    agent.close()


def reported(shop: Shop) -> bool:
    """Whether the server knows what the agent decided."""
    with shop.admin() as admin:
        rows = admin.get("/analytics", query={"tenant_id": "shop", "by": "outcome"}).body["items"]
    return any(row["outcome"] == "denied" for row in rows)


@pytest.fixture
def open_console(browser: Any, shop: Shop) -> Iterator[Callable[..., Any]]:
    """Opens tabs: open_console(server=shop.server, dark=False, narrow=False)."""
    from support.browser import Console

    tabs: list[Console] = []

    def make(server: Server = shop.server, **options: bool) -> Console:
        tabs.append(Console(browser, server, **options))
        return tabs[-1]

    yield make
    for tab in tabs:
        tab.close()
