"""Redis users per scope: a server with `--redis-users per-scope`, its agents, and what Redis says of the users."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

from support.admin import AdminClient, bucket, fresh_id
from support.agent import Agent
from support.client import Client, fresh_subject
from support.load import Load
from support.process import wait_until
from support.redis_server import RedisServer
from support.resp import RedisError, Reply, RespConnection
from support.server import Server
from support.sync_client import SyncAgent

BACK_WITHIN = 2.0   # seconds
DEADLINE = ["--redis-deadline", "250ms"]
SECRET = "first secret, which is long enough"
DECIDED = {"within_limit", "limit_exceeded"}


@dataclass
class Tenant:
    """A tenant with a plan, an API key and an agent token of its own."""

    id: str
    key: str
    token: dict[str, Any]


@dataclass
class Site:
    """A server that makes Redis users, and what is needed for agents of it."""

    server: Server
    secret_file: Path
    make_agent: Callable[..., Agent]
    folder: Path

    def tenant(self, tenant: str = "") -> Tenant:
        """A new tenant."""
        with self.server.admin() as admin:
            tenant = tenant or admin.tenant()
            assert admin.put("/plans/pro", bucket(bucket_capacity=1_000_000), tenant=tenant).status == 201
            key = str(admin.create("/keys", {"tenant_id": tenant, "name": "app"})["key"])
            token = admin.create("/agent-tokens", {"name": "agents", **scope_of(admin, tenant)})
        return Tenant(tenant, key, token)

    def token(self, **scope: Any) -> dict[str, Any]:
        """A new agent token."""
        with self.server.admin() as admin:
            return admin.create("/agent-tokens", {"name": "agents", **scope})

    def login(self, token: dict[str, Any]) -> dict[str, Any]:
        """What an agent of this token is told."""
        answer = SyncAgent(self.server.port, token["token"]).request("GET", "/counters?functions=1")
        assert answer.status == 200, answer
        return dict(answer.body)

    def agent(self, token: dict[str, Any], counters: str, *flags: str) -> Agent:
        """An agent that takes its login from the server, not started yet."""
        name = fresh_id("agent")
        file = self.folder / f"{name}.token"
        file.write_text(token["token"])
        file.chmod(0o600)
        return self.make_agent(None, re.sub("//.*@", "//", counters), "--server", f"http://127.0.0.1:{self.server.port}", "--agent-token-file", str(file),
                               "--snapshot-cache", str(self.folder / name), "--redis-password-from-server", "--agent-id", name,
                               "--workers", "1", *flags)


def scope_of(admin: AdminClient, tenant: str) -> dict[str, Any]:
    """The scope of a token for one tenant."""
    return {"organization_id": admin.get(f"/tenants/{tenant}").body["organization_id"], "tenant_ids": [tenant]}


def user_of(token: dict[str, Any]) -> str:
    """The name of its Redis user."""
    return f"sluice-agent-t-{token['id']}"


def users(redis: RedisServer) -> set[str]:
    """Those that servers have made."""
    found = redis.cli("ACL", "USERS")
    assert isinstance(found, list)
    return {str(name) for name in found if str(name).startswith("sluice-agent-")}


def passwords(redis: RedisServer, user: str) -> list[Reply]:
    """The hashes of a user's passwords."""
    found = redis.cli("ACL", "GETUSER", user)
    if found is None:
        return []
    assert isinstance(found, list)
    listed = found[found.index("passwords") + 1]
    assert isinstance(listed, list)
    return listed


def library_of(redis: RedisServer) -> str:
    """The name of the one library of functions."""
    found = redis.cli("FUNCTION", "LIST")
    assert isinstance(found, list) and len(found) == 1 and isinstance(found[0], list)
    return str(found[0][1])


def connected(redis: RedisServer, login: dict[str, Any]) -> RespConnection:
    """A connection with a login, as soon as Redis takes it."""
    connection = RespConnection(redis.address())

    def accepted() -> bool:
        try:
            return connection.command("AUTH", login["username"], login["password"]) == "OK"
        except RedisError as error:
            assert str(error).startswith("WRONGPASS"), error
            return False

    wait_until("the user", accepted)
    return connection


def refusal(connection: RespConnection, *words: Union[str, int]) -> str:
    """The first word of Redis' refusal, or "none"."""
    try:
        connection.command(*words)
    except RedisError as error:
        return str(error).split()[0]
    return "none"


def check(agent: Agent, key: str) -> str:
    """How a check is decided now."""
    with Client(agent.port, key) as client:
        return str(client.check(plan_id="pro", subject=fresh_subject()).body.get("reason"))


def wait_for_decision(agent: Agent, key: str) -> None:
    """Until Redis decides."""
    wait_until(f"a decision by Redis (log {agent.log})", lambda: check(agent, key) in DECIDED, 30)


def load_on(agent: Agent, key: str) -> Load:
    """Many subjects, so that each node of a Cluster has some."""
    return Load(agent, key, lambda number: {"plan_id": "pro", "subject": f"load{number % 97}"}, rate=200)
