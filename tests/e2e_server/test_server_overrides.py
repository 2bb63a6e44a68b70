"""Overrides and counters: a server, a Redis, and an agent that knows nothing of the server."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.admin import AdminClient, fresh_id
from support.agent import Agent
from support.bundle import Bundle
from support.client import Answer, Client
from support.process import wait_until
from support.redis_server import RedisServer
from support.server import Server, run_command

BURST = {"name": "burst", "algorithm": "fixed_window", "limit": 10, "window": "1h"}


@dataclass
class Shop:
    """A tenant with a policy of ten requests an hour, and an agent that judges by an export of it."""

    server: Server
    redis: RedisServer
    agent: Agent
    admin: AdminClient
    tenant: str
    key: str

    def put(self, subject: str, limit: int, name: str = "", **fields: Any) -> Answer:
        """PUT of an override for a subject."""
        return self.admin.put(f"/overrides/{name or subject}", {
            "policy_id": "orders", "limit_name": "burst", "identity": {"subject": subject}, "set": {"limit": limit}, **fields},
            tenant=self.tenant)

    def published(self, name: str) -> bool:
        """What the server says of an override."""
        answer = self.admin.get(f"/overrides/{name}", tenant=self.tenant)
        assert answer.status == 200, answer
        return bool(answer.body["published"])

    def limit(self, subject: str) -> int:
        """What the agent's next decision says."""
        with Client(self.agent.port, self.key) as client:
            answer = client.check(subject=subject, resource="orders", cost=0)
        assert answer.status == 200 and answer.body["reason"] == "within_limit", answer
        return int(answer.body["limit"])


@pytest.fixture
def shop(make_server: Callable[..., Server], make_redis: Callable[..., RedisServer],
         make_agent: Callable[..., Agent]) -> Iterator[Shop]:
    """One for a test."""
    redis = make_redis()
    server = make_server("--counters", redis.counters, "--redis-deadline", "2s").start()
    with server.admin() as admin:
        tenant = admin.tenant()
        assert admin.put("/policies/orders", {"scope": {"resource": "orders"}, "key_by": ["subject"], "limits": [BURST]},
                         tenant=tenant).status == 201
        key = admin.create("/keys", {"tenant_id": tenant, "name": "agent"})["key"]
        exported = admin.get("/export", tenant=tenant)
        assert exported.status == 200, exported
        bundle = Bundle()
        bundle.document = exported.body
        agent = make_agent(bundle, redis.counters).start()
        made = Shop(server, redis, agent, admin, tenant, key)
        wait_until("decisions by Redis", lambda: agent.metric("sluice_redis_connected") == 1)
        yield made


def test_an_override_is_in_force_on_the_agents_next_decision(shop: Shop) -> None:
    assert shop.limit("ann") == 10
    made = shop.put("ann", 500, ttl="24h")
    assert (made.status, made.body["published"]) == (201, True)
    assert shop.limit("ann") == 500
    assert shop.limit("bob") == 10
    assert shop.admin.delete("/overrides/ann", tenant=shop.tenant).body["published"] is True
    assert shop.limit("ann") == 10


def test_an_override_for_a_pattern_is_stored_with_a_warning(shop: Shop) -> None:
    answer = shop.put("user:*", 500, "all")
    assert answer.status == 201 and [each["pointer"] for each in answer.body["warnings"]] == ["/identity/subject"], answer
    assert "one exact subject" in answer.body["warnings"][0]["detail"]
    assert shop.limit("user:42") == 10
    assert "warnings" not in shop.put("user:42", 500).body


def test_after_flushall_every_live_override_is_back_within_five_seconds(shop: Shop) -> None:
    names = [f"s{number}" for number in range(50)]
    for number, name in enumerate(names):
        assert shop.put(name, 100 + number).status == 201
    wait_until("the marker", lambda: shop.redis.cli("EXISTS", "sl:{marker}") == 1)
    shop.redis.cli("FLUSHALL")
    wait_until("the marker again", lambda: shop.redis.cli("EXISTS", "sl:{marker}") == 1, 5)
    assert [shop.limit(name) for name in names] == [100 + number for number in range(50)]
    assert shop.server.metric("sluice_override_republications_total") >= 1


def test_a_server_killed_between_commit_and_redis_publishes_after_its_restart(shop: Shop) -> None:
    assert shop.put("ann", 100).body["published"] is True
    shop.redis.pause()
    waiting = shop.put("ann", 500)
    assert (waiting.status, waiting.body["published"]) == (200, False)
    shop.server.kill9()
    shop.redis.resume()
    assert shop.limit("ann") in (100, 500), "what was on its way may or may not have arrived"
    shop.server.start()
    with shop.server.admin() as shop.admin:
        wait_until("publication", lambda: shop.published("ann"))
        assert shop.limit("ann") == 500
        assert shop.server.metric("sluice_override_outbox_rows") == 0


def test_counters_are_read_and_reset(shop: Shop) -> None:
    with Client(shop.agent.port, shop.key) as client:
        assert client.check(subject="ann", resource="orders", cost=7).body["remaining"] == 3
    who = {"tenant_id": shop.tenant, "policy_id": "orders", "identity": {"subject": "ann"}}
    read = shop.admin.post("/counters/read", who)
    assert read.status == 200
    assert [(limit["name"], limit["limit"], limit["remaining"], limit["used"]) for limit in read.body["limits"]] == [
        ("burst", 10, 3, 7)]
    reset = shop.admin.post("/counters/reset", who)
    assert (reset.status, reset.body["published"]) == (200, True)
    assert shop.admin.post("/counters/read", who).body["limits"][0]["used"] == 0
    entry = next(shop.admin.items("/audit", query={"tenant_id": shop.tenant, "kind": "counter"}))
    assert entry["action"] == "reset" and json.loads(json.dumps(entry["after"])) is not None


def test_a_server_without_redis_says_so_and_serves_the_rest(make_server: Callable[..., Server]) -> None:
    server = make_server().start()
    with server.admin() as admin:
        tenant = admin.tenant()
        refused = admin.get("/overrides", tenant=tenant)
        assert (refused.status, refused.body["type"]) == (503, "/problems/no-counters")
        assert "--counters" in refused.body["detail"]


def test_a_redis_that_may_drop_overrides_is_refused_at_the_start(make_server: Callable[..., Server],
                                                                 make_redis: Callable[..., RedisServer]) -> None:
    redis = make_redis(options=["--maxmemory-policy", "volatile-lru"])
    server = make_server("--counters", redis.counters, allow=["redis_refused", "redis_evicts"]).launch()
    wait_until("the server's end", lambda: not server.process.alive())
    assert server.process.exit_code() == 1
    refusal = next(line for line in server.lines() if line["event"] == "redis_refused")
    assert "volatile-lru" in refusal["message"] and "--allow-evicting-redis" in refusal["message"]
    server.flags.append("--allow-evicting-redis")
    server.start()
    assert server.probe("/readyz").body["degraded"] == []
    assert server.metric("sluice_redis_eviction_policy_ok") == 0


def test_a_server_starts_without_its_redis_and_finds_it_later(make_server: Callable[..., Server],
                                                              make_redis: Callable[..., RedisServer]) -> None:
    redis = make_redis()
    redis.stop()
    server = make_server("--counters", redis.counters).start()
    assert server.probe("/readyz").body["degraded"] == ["Redis is not reachable: changes of overrides are published once it is"]
    assert server.metric("sluice_redis_connected") == 0
    with server.admin() as admin:
        tenant = admin.tenant()
        assert admin.put("/plans/pro", {"key_by": ["subject"], "limits": [BURST]}, tenant=tenant).status == 201
        name = fresh_id("o")
        made = admin.put(f"/overrides/{name}", {"plan_id": "pro", "limit_name": "burst", "identity": {"subject": "ann"},
                                                "set": {"limit": 50}}, tenant=tenant)
        assert (made.status, made.body["published"]) == (201, False)
        redis.start()
        wait_until("publication", lambda: admin.get(f"/overrides/{name}", tenant=tenant).body["published"])
    assert server.probe("/readyz").body["degraded"] == []
    assert server.metric("sluice_redis_connected") == 1
    assert server.metric("sluice_override_publications_total", result="ok") >= 1


@pytest.mark.parametrize("flags, names", [
    (["--counters", "memory"], ["--counters"]),
    (["--counters", "redis://:changeme@127.0.0.1"], ["--counters"]),
    (["--redis-deadline", "1us", "--allow-evicting-redis"], ["--redis-deadline", "--allow-evicting-redis"]),
    (["--counters", "redis://127.0.0.1", "--redis-tls-cert", "/nowhere"], ["--redis-tls-cert"])])
def test_faulty_flags_of_redis_are_told(server_program: Path, flags: list[str], names: list[str]) -> None:
    done = run_command(server_program, "--database-url", "postgresql://sluice_app@localhost/sluice", *flags)
    assert (done.returncode, done.stdout) == (2, "")
    for name in names:
        assert f"  {name}: " in done.stderr, done.stderr
    assert "changeme" not in done.stderr


def test_an_id_that_is_taken_is_409_also_where_the_body_would_break_its_override(shop: Shop) -> None:
    assert shop.put("a", 500).status in (200, 201)
    plan = {"scope": {"resource": "orders"}, "limits": [{**BURST, "name": "another"}]}
    answer = shop.admin.post("/policies", {"id": "orders", **plan}, tenant=shop.tenant)
    assert (answer.status, answer.body["type"]) == (409, "/problems/exists"), answer
