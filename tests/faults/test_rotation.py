"""The password of Redis is changed while an agent decides: it uses the new one without a restart, and no caller notices."""

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
        server = RedisServer(tmp_path / "redis", tcp=True).start()
        yield Topology([server], f"redis://agent:@127.0.0.1:{server.port}")
        server.close()
    elif request.param == "sentinel":
        sentinels = SentinelSet(tmp_path / "set").start()
        yield Topology(sentinels.nodes, sentinels.url("agent:@"))
        sentinels.close()
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
    assert len(old) >= 2   # one for each worker and primary
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
        wait_until("decisions by the new connections", lambda: len(load.samples) > sent + 200)
    assert load.reasons().keys() == {"within_limit"}
    assert not events(agent, "redis_disconnected") and not events(agent, "redis_connect_failed")
    assert len(events(agent, "redis_credentials_renewed")) == len(old)
    assert "mistyped" not in agent.log.read_text() and "second" not in "".join(events(agent, "redis_credentials_renewed"))
