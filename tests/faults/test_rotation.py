"""The password of Redis is changed while an agent decides: it uses the new one without a restart, and no caller notices."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket
from support.cluster import Cluster
from support.load import Load
from support.process import all_of, wait_until
from support.redis_server import RedisServer
from support.sentinel import SentinelSet

RIGHTS = ["~*", "resetchannels", "+@all"]


@dataclass
class Topology:
    """Some Redis: its data nodes, and the value for --counters of the user `agent`."""

    nodes: list[RedisServer]
    counters: str


@pytest.fixture(params=["single", "sentinel", "cluster"])
def redis(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Topology]:
    """Each of the forms that --counters can name, running."""
    if request.param == "single":
        server = RedisServer(tmp_path / "redis", tcp=True)
        with contextlib.closing(server):
            server.start()
            yield Topology([server], f"redis://agent:@127.0.0.1:{server.port}")
    elif request.param == "sentinel":
        with contextlib.closing(SentinelSet(tmp_path / "set")) as sentinels:
            sentinels.start()
            yield Topology(sentinels.nodes, sentinels.url("agent:@"))
    else:
        with Cluster(tmp_path / "cluster", replicas=0) as cluster:
            yield Topology(cluster.nodes, cluster.counters.replace("://", "://agent:@"))


@pytest.fixture
def bundle(key: MintedKey) -> Bundle:
    """A plan that never fills up."""
    return Bundle().key(key).plan("closed", token_bucket(300_000, "1/1h"))


def connections(redis: Topology) -> set[tuple[int, str]]:
    """Port and id of each connection of the agent's to a data node."""
    found = set()
    for node in redis.nodes:
        for line in str(node.cli("CLIENT", "LIST")).splitlines():
            fields = dict(word.split("=", 1) for word in line.split())
            if fields["user"] == "agent":
                found.add((node.port, fields["id"]))
    return found


def events(agent: Agent, event: str) -> list[str]:
    """The lines of the agent's log about an event."""
    return [line for line in agent.log.read_text().splitlines() if f'"{event}"' in line]


def put(file: Path, password: str) -> None:
    """Replaces the file in one step, as a mounted Secret changes."""
    fresh = file.with_suffix(".new")
    fresh.write_text(password)
    fresh.rename(file)


@pytest.mark.fault("password-rotated", least=500)
def test_a_password_changes_and_no_caller_notices(
        redis: Topology, key: MintedKey, bundle: Bundle, make_agent: Callable[..., Agent], tmp_path: Path) -> None:
    for node in redis.nodes:
        node.cli("ACL", "SETUSER", "agent", "on", ">first", *RIGHTS)
    file = tmp_path / "password"
    put(file, "first")
    agent = make_agent(bundle, redis.counters, "--redis-password-file", file, "--redis-deadline", "250ms",
                       "--workers", "2").start()

    def decides(who: str) -> bool:
        with agent.client(key.text) as client:
            return client.check(plan_id="closed", subject=who, cost=0).body["reason"] == "within_limit"

    wait_until("decisions by all nodes", lambda: all_of([f"s{i}" for i in range(24)], decides))
    old = connections(redis)
    assert len(old) == 2 * (3 if "cluster" in redis.counters else 1)   # one for each worker and primary
    load = Load(agent, key.text, lambda number: {"plan_id": "closed", "subject": f"s{number % 24}"}, rate=400)
    with load:
        put(file, "mistyped")
        wait_until("the refusal", lambda: len(events(agent, "redis_credentials_rejected")) >= 2)
        assert connections(redis) == old
        for node in redis.nodes:
            node.cli("ACL", "SETUSER", "agent", ">second")
        put(file, "second")
        wait_until("new connections", lambda: not connections(redis) & old and len(connections(redis)) >= len(old))
        for node in redis.nodes:
            node.cli("ACL", "SETUSER", "agent", "<first")
        sent = len(load.samples)
        wait_until("decisions by the new connections", lambda: len(load.samples) > sent + 500)
    assert load.reasons().keys() == {"within_limit"}
    assert not events(agent, "redis_disconnected") and not events(agent, "redis_connect_failed")
    # Twice where an attempt to use the mistyped password happens to read the next one before the change is noticed.
    assert len(old) <= len(events(agent, "redis_credentials_renewed")) <= 2 * len(old)
    assert "mistyped" not in agent.log.read_text() and "second" not in "".join(events(agent, "redis_credentials_renewed"))


def test_a_sentinel_password_changes_and_a_failover_is_followed_at_any_time(
        key: MintedKey, bundle: Bundle, make_agent: Callable[..., Agent], tmp_path: Path) -> None:
    rights = ("-@all +info +ping +client|setname +subscribe +unsubscribe +sentinel|master "
              "+sentinel|get-master-addr-by-name resetchannels &+switch-master")
    with contextlib.closing(SentinelSet(tmp_path / "set", sentinel_lines=[f"user watcher on >first {rights}"])) as redis:
        redis.start()
        login = tmp_path / "login"
        put(login, "watcher\nfirst\n")
        agent = make_agent(bundle, redis.url(), "--redis-sentinel-login-file", login, "--redis-deadline", "250ms").start()

        def links() -> set[tuple[int, str]]:
            return {(sentinel.port, line.split()[0]) for sentinel in redis.sentinels
                    for line in str(sentinel.cli("CLIENT", "LIST")).splitlines() if "user=watcher" in line}

        def follows_a_failover() -> None:
            redis.failover()
            with agent.client(key.text) as client:
                wait_until("a decision by the new primary", lambda: client.check(
                    plan_id="closed", subject="a", cost=0).body["reason"] == "within_limit")
            port = redis.primary().port
            wait_until("the new primary", lambda: any(f":{port}/" in line for line in events(agent, "redis_connected")))

        agent.wait_for_redis(key.text, "closed")
        wait_until("the links", lambda: len(links()) == 3)
        old = links()
        put(login, "watcher\nmistyped\n")
        wait_until("the refusals", lambda: len(events(agent, "redis_sentinel_failed")) >= 3)
        assert links() == old
        follows_a_failover()
        for sentinel in redis.sentinels:
            sentinel.cli("ACL", "SETUSER", "watcher", ">second")
        put(login, "watcher\nsecond\n")
        wait_until("new links", lambda: len(links()) == 3 and not links() & old, 20)
        follows_a_failover()
