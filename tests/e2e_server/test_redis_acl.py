"""The users that the image of Redis makes (images/redis/users.acl), against the programs that log in as them."""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, concurrency, leaky_bucket, quota, token_bucket, window
from support.process import wait_until
from support.redis_server import RedisServer
from support.server import Server

ROOT = Path(__file__).resolve().parents[2]
PASSWORDS = {"SERVER": "of-servers", "AGENT": "of-agents", "NODE": "of-nodes"}

LIMITS = {"token": token_bucket(2, "1/1h"), "leaky": leaky_bucket(2, "1/1h"), "fixed": window("fixed_window", 2, "1h"),
          "sliding": window("sliding_window", 2, "1h"), "log": window("sliding_window_log", 2, "1h"),
          "leases": concurrency(2, "1h"), "quota": quota(2, "day")}


def allowed(user: str) -> set[str]:
    """The commands that a user may call, by name."""
    lines = (ROOT / "images/redis/users.acl").read_text().splitlines()
    words = next(line for line in lines if line.startswith(f"user {user} ")).split()
    return {word[1:] for word in words if word.startswith("+") and not word.startswith("+@")}


@pytest.fixture
def redis_with_users(make_redis: Callable[..., RedisServer], tmp_path: Path) -> RedisServer:
    """One as the image's entrypoint starts it; users are server and agent."""
    text = (ROOT / "images/redis/users.acl").read_text()
    for name, password in PASSWORDS.items():
        text = text.replace(f"#{name}_HASH", "#" + hashlib.sha256(password.encode()).hexdigest()).replace(name, name.lower())
    users = tmp_path / "users.acl"
    users.write_text(text)
    return make_redis(tcp=True, options=("--aclfile", str(users)))


def test_agents_may_call_what_their_scripts_call_and_no_more() -> None:
    called = set()
    for script in (*(ROOT / "lua/check").iterdir(), ROOT / "lua/release.lua", ROOT / "lua/renew.lua"):
        text = script.read_text()
        called |= {word.lower() for word in re.findall(r"\bcall\(\s*['\"]([A-Z]+)['\"]", text)}
    assert len(called) > 10
    of_a_connection = {"ping", "info", "select", "client|setname"}
    of_a_redis_cluster = {"cluster|slots", "asking"}
    assert allowed("AGENT") == called | of_a_connection | of_a_redis_cluster | {"evalsha", "script|load"}


def test_an_agent_judges_by_every_algorithm_with_the_rights_of_agents(
        redis_with_users: RedisServer, make_agent: Callable[..., Agent], key: MintedKey) -> None:
    bundle = Bundle().key(key)
    for name, limit in LIMITS.items():
        bundle.plan(name, limit)
    url = f"redis://agent:{PASSWORDS['AGENT']}@127.0.0.1:{redis_with_users.port}/0"
    agent = make_agent(bundle, url).start()
    agent.wait_for_redis(key.text, "token")
    client = agent.client(key.text)
    for name in LIMITS:
        statuses = [client.check(plan_id=name, subject="user:1").status for _ in range(3)]
        assert statuses == [200, 200, 429], name
    lease = client.check(plan_id="leases", subject="user:2").body["lease_id"]
    assert client.renew(lease).status == 200
    assert client.release(lease).body["released"] is True
    assert "NOPERM" not in agent.process.output()


def test_a_server_tells_redis_its_overrides_with_the_rights_of_servers(
        redis_with_users: RedisServer, make_server: Callable[..., Server]) -> None:
    url = f"redis://server:{PASSWORDS['SERVER']}@127.0.0.1:{redis_with_users.port}/0"
    server = make_server("--counters", url).start()
    wait_until("the marker in Redis", lambda: "NOPERM" in server.process.output() or server.metric(
        "sluice_override_republications_total") > 0, 20)
    assert "NOPERM" not in server.process.output()
