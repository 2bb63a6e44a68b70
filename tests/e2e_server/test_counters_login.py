"""The login to the counters' Redis: handed out by the server, kept by the agent, used at each connect."""

import json
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.admin import AdminClient, bucket, fresh_id
from support.agent import Agent
from support.client import Client, fresh_subject
from support.process import wait_until
from support.redis_server import RedisServer
from support.server import Server
from support.sync_client import SyncAgent

MakeAgent = Callable[..., Agent]
USER, PASSWORD = "sluice-agent", "first: with spaces and ünïcode"


@pytest.fixture
def password_file(tmp_path: Path) -> Path:
    """The password that the server hands out."""
    path = tmp_path / "agents-redis"
    path.write_text(PASSWORD + "\n")
    return path


@pytest.fixture
def server(make_server: Callable[..., Server], password_file: Path) -> Server:
    """A server that hands out a login."""
    return make_server("--agents-redis-user", USER, "--agents-redis-password-file", str(password_file), allow=["counters_login_failed"]).start()


@pytest.fixture
def admin(server: Server) -> Iterator[AdminClient]:
    """A connection of a platform_admin."""
    with server.admin() as client:
        yield client


@pytest.fixture
def redis(make_redis: Callable[..., RedisServer]) -> RedisServer:
    """One that lets in nobody but that user."""
    made = make_redis(password="the-tests-own")
    set_password(made, PASSWORD)
    return made


def set_password(redis: RedisServer, password: str) -> None:
    """The user's; who is connected stays."""
    redis.cli("ACL", "SETUSER", USER, "on", "resetpass", f">{password}", "~*", "&*", "+@all")


def token_of(admin: AdminClient, folder: Path) -> Path:
    """An agent token in its file."""
    path = folder / "token"
    path.write_text(admin.create("/agent-tokens", {"name": "agents"})["token"])
    path.chmod(0o600)
    return path


def agent_flags(server: Server, token: Path, folder: Path) -> list[str]:
    """Of an agent that takes its login from the server."""
    return ["--server", f"http://127.0.0.1:{server.port}", "--agent-token-file", str(token), "--snapshot-cache", str(folder / "kept"),
            "--redis-password-from-server", "--agent-id", fresh_id("agent")]


def test_an_agent_is_handed_the_login_as_it_is_now(server: Server, admin: AdminClient, password_file: Path) -> None:
    agent = SyncAgent(server.port, admin.create("/agent-tokens", {"name": "agents"})["token"])
    answer = agent.request("GET", "/counters")
    assert (answer.status, answer.body) == (200, {"username": USER, "password": PASSWORD})
    assert answer.headers["cache-control"] == "no-store"
    password_file.write_text("second")
    assert agent.request("GET", "/counters").body["password"] == "second"
    password_file.unlink()
    gone = agent.request("GET", "/counters")
    assert (gone.status, gone.headers["retry-after"]) == (503, "1") and "second" not in json.dumps(gone.body)
    assert "second" not in server.log.read_text() and PASSWORD not in server.log.read_text()


def test_strangers_and_other_methods_get_no_login(server: Server, admin: AdminClient) -> None:
    for token in ("slg_x_y", server.token, ""):
        assert SyncAgent(server.port, token).request("GET", "/counters").status == 401
    agent = SyncAgent(server.port, admin.create("/agent-tokens", {"name": "agents"})["token"])
    assert agent.request("POST", "/counters", b"{}").status == 405


def test_a_server_that_has_none_says_so(make_server: Callable[..., Server]) -> None:
    server = make_server().start()
    with server.admin() as admin:
        agent = SyncAgent(server.port, admin.create("/agent-tokens", {"name": "agents"})["token"])
    answer = agent.request("GET", "/counters")
    assert (answer.status, answer.body["type"]) == (404, "/problems/no-counters-login")
    assert "--agents-redis-password-file" in answer.body["detail"]


def key_of_shop(admin: AdminClient) -> str:
    """An API key of a tenant with the plan pro."""
    tenant = admin.tenant()
    assert admin.put("/plans/pro", bucket(), tenant=tenant).status == 201
    return str(admin.create("/keys", {"tenant_id": tenant, "name": "app"})["key"])


def reason(agent: Agent, key: str) -> Any:
    """How a check is decided now."""
    with Client(agent.port, key) as client:
        return client.check(plan_id="pro", subject=fresh_subject()).body.get("reason")


def test_an_agent_counts_with_the_login_from_the_server_and_keeps_it_for_a_start_without(
        server: Server, admin: AdminClient, redis: RedisServer, make_agent: MakeAgent, tmp_path: Path) -> None:
    key = key_of_shop(admin)
    flags = agent_flags(server, token_of(admin, tmp_path), tmp_path)
    agent = make_agent(None, redis.counters, *flags).start()
    wait_until("decisions by Redis", lambda: reason(agent, key) == "within_limit")
    kept = tmp_path / "kept.redis"
    assert kept.read_text() == f"{USER}\n{PASSWORD}\n"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    told = agent.log.read_text()
    assert PASSWORD not in told and "redis_connect_failed" not in told, "waiting for the login is no failure"
    assert agent.stop() == 0
    assert server.stop() == 0
    again = make_agent(None, redis.counters, *flags).start()
    wait_until("decisions by Redis without the server", lambda: reason(again, key) == "within_limit")


def test_a_login_that_redis_refuses_is_asked_for_again(server: Server, admin: AdminClient, redis: RedisServer, make_agent: MakeAgent,
                                                       tmp_path: Path, password_file: Path) -> None:
    key = key_of_shop(admin)
    agent = make_agent(None, redis.counters, *agent_flags(server, token_of(admin, tmp_path), tmp_path)).start()
    wait_until("decisions by Redis", lambda: reason(agent, key) == "within_limit")
    password_file.write_text("second")
    set_password(redis, "second")
    redis.cli("CLIENT", "KILL", "USER", USER)
    wait_until("the second password", lambda: (tmp_path / "kept.redis").read_text() == f"{USER}\nsecond\n", 30)
    wait_until("decisions by Redis", lambda: reason(agent, key) == "within_limit")


def test_a_login_that_was_lost_is_had_again(server: Server, admin: AdminClient, redis: RedisServer, make_agent: MakeAgent,
                                             tmp_path: Path) -> None:
    key = key_of_shop(admin)
    agent = make_agent(None, redis.counters, *agent_flags(server, token_of(admin, tmp_path), tmp_path)).start()
    wait_until("decisions by Redis", lambda: reason(agent, key) == "within_limit")
    kept = tmp_path / "kept.redis"
    kept.unlink()
    redis.cli("CLIENT", "KILL", "USER", USER)
    wait_until("the login", kept.exists, 30)
    wait_until("decisions by Redis", lambda: reason(agent, key) == "within_limit")


def test_an_agent_without_its_server_says_once_that_it_waits_for_the_login(make_agent: MakeAgent, redis: RedisServer,
                                                                           tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("a.b.c")
    agent = make_agent(None, redis.counters, "--server", "http://127.0.0.1:1", "--agent-token-file", str(token), "--agent-id", "a",
                       "--snapshot-cache", str(tmp_path / "kept"), "--redis-password-from-server", "--workers", "1").start_without_policies()
    wait_until("that it waits", lambda: agent.log.read_text().count("redis_login_awaited") == 1)
    wait_until("why", lambda: "redis_login_failed" in agent.log.read_text())
    assert agent.metric("sluice_redis_connected") == 0
    assert "redis_connect_failed" not in agent.log.read_text()


def startup(agent: Agent) -> tuple[int, Any]:
    """What the startup probe is told."""
    with Client(agent.admin_port) as client:
        answer = client.get("/startupz")
    return answer.status, answer.body


def test_an_agent_has_started_when_it_decides_by_policies_and_its_counters_have_answered(
        server: Server, admin: AdminClient, redis: RedisServer, make_agent: MakeAgent, tmp_path: Path) -> None:
    key = key_of_shop(admin)
    agent = make_agent(None, redis.counters, *agent_flags(server, token_of(admin, tmp_path), tmp_path), "--startup-wait", "1m").start()
    wait_until("the start", lambda: startup(agent)[0] == 200)
    assert reason(agent, key) == "within_limit"   # the first request behind it


def test_a_start_waits_so_long_and_no_longer(make_agent: MakeAgent, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("a.b.c")
    flags = ["--server", "http://127.0.0.1:1", "--agent-token-file", str(token), "--agent-id", "a"]
    patient = make_agent(None, "redis://127.0.0.1:1/0", *flags, "--startup-wait", "1m").start_without_policies()
    assert startup(patient) == (503, {"status": "starting", "waits_for": ["policies", "the first answer of the counter store"]})
    agent = make_agent(None, "redis://127.0.0.1:1/0", *flags, "--startup-wait", "0s").start_without_policies()
    assert startup(agent) == (200, {"status": "started", "waits_for": []})


@pytest.mark.parametrize(("flags", "mode"), [((), 0o660), (("--listen-unix-mode", "0666"), 0o666)])
def test_a_unix_socket_has_the_mode_that_was_asked_for(make_agent: MakeAgent, flags: tuple[str, ...], mode: int) -> None:
    agent = make_agent(None, "memory", *flags).start_without_policies()
    assert stat.S_IMODE(agent.socket.stat().st_mode) == mode
    with agent.unix_client() as client:
        assert client.get("/v1/health").status == 200
