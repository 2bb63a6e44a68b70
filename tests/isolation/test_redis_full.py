"""One tenant fills Redis with subjects: before Redis is full, the servers' metrics name that tenant."""

import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Optional

import pytest

from support.agent import Agent
from support.cluster import SLOTS, Cluster, slot_of
from support.process import all_of, wait_until
from support.program import metric_sum
from support.redis_server import RedisServer
from support.resp import RespConnection
from support.server import Server

MAXMEMORY = 5 << 20
ALARM = 0.8    # of maxmemory, as in k8s/components/monitoring/alerts-stores.yaml
FLOODED = 0.85
USERS = Path(__file__).resolve().parents[2] / "images/redis/users.acl"
BATCH = 50
LIMITS = [{"name": "n", "algorithm": "token_bucket", "capacity": 1000, "refill": "1/1h"}]


def used(redis: RedisServer) -> float:
    """The part of maxmemory in use."""
    return int(re.findall(r"^used_memory:(\d+)", str(redis.cli("INFO", "memory")), re.M)[0]) / MAXMEMORY


def weights(redis: RedisServer) -> dict[str, int]:
    """The bytes of every tenant's keys, by asking for each key."""
    found: dict[str, int] = {}
    connection = redis.connect()
    try:
        for key in connection.command("KEYS", "*"):
            match = re.match(rb"sl:\{([^|}]+)\|", key if isinstance(key, bytes) else str(key).encode())
            tenant = match[1].decode() if match else ""
            found[tenant] = found.get(tenant, 0) + int(connection.command("MEMORY", "USAGE", key))
    finally:
        connection.close()
    return found


@pytest.fixture
def redis(make_redis: Callable[..., RedisServer]) -> RedisServer:
    """With little memory, and the users of images/redis."""
    server = make_redis(tcp=True, options=["--maxmemory", str(MAXMEMORY)])
    rights = re.findall(r"^user SERVER on #SERVER_HASH (.*)$", USERS.read_text(), re.M)[0]
    server.cli("ACL", "SETUSER", "sluice-server", "on", ">long-and-random-7f3a", *rights.split())
    return server


def shares(server: Server) -> dict[str, float]:
    """By tenant; "": the rest."""
    text = str(server.probe("/metrics").body)
    return {match[1] or "": float(match[2])
            for match in re.finditer(r'^sluice_redis_tenant_share(?:\{tenant="([^"]*)"\})? (\S+)$', text, re.M)}


def samples(server: Server, name: str) -> dict[str, float]:
    """Of a metric with one label, by the label's value."""
    text = str(server.probe("/metrics").body)
    return {match[1]: float(match[2]) for match in re.finditer(rf'^{name}\{{\w+="([^"]*)"\}} (\S+)$', text, re.M)}


def ask(agent: Agent, keys: dict[str, str], tenant: str, first: int, count: int) -> None:
    """Checks of new subjects."""
    with agent.unix_client(keys[tenant]) as client:
        for begin in range(first, first + count, BATCH):
            answer = client.batch(*({"resource": "GET:/", "subject": f"user:{tenant}-{number:032}"}
                                    for number in range(begin, begin + BATCH)))
            assert answer.status == 200 and all(result["allowed"] for result in answer.body["results"]), answer


def test_the_metrics_name_the_tenant_that_fills_redis_before_it_is_full(
        make_server: Callable[..., Server], make_agent: Callable[..., Agent], redis: RedisServer, tmp_path: Path) -> None:
    counters = f"redis://sluice-server:long-and-random-7f3a@127.0.0.1:{redis.port}/0"
    server = make_server("--counters", counters, "--redis-survey-every", "500ms").start()
    with server.admin() as admin:
        organization = admin.organization()
        noisy, quiet = admin.tenant(organization), admin.tenant(organization)
        keys = {}
        for tenant in (noisy, quiet):
            admin.create("/policies", {"id": "p", "scope": {"resource": "GET:/"}, "limits": LIMITS}, tenant=tenant)
            keys[tenant] = admin.create("/keys", {"tenant_id": tenant, "name": "app"})["key"]
        (tmp_path / "token").write_text(admin.create("/agent-tokens", {"name": "agents"})["token"])
        (tmp_path / "token").chmod(0o600)
    agent = make_agent(None, redis.counters, "--server", f"http://127.0.0.1:{server.port}", "--agent-token-file",
                       str(tmp_path / "token")).start()
    with agent.unix_client(keys[quiet]) as client:
        wait_until("the policies", lambda: client.check(resource="GET:/", subject="user:0").header("x-ratelimit-limit") == "1000")
    assert server.metric("sluice_redis_memory_max_bytes") == MAXMEMORY
    ask(agent, keys, quiet, 1, 1_000)
    wait_until("the quiet one", lambda: shares(server).get(quiet, 0) > 0.9)
    asked = 0
    while used(redis) < FLOODED:
        ask(agent, keys, noisy, asked, 500)
        asked += 500
    # A survey that began after the flood.
    surveys = redis.calls("dbsize")
    wait_until("two surveys", lambda: redis.calls("dbsize") >= surveys + 2)
    fullness = server.metric("sluice_redis_memory_used_bytes") / server.metric("sluice_redis_memory_max_bytes")
    assert ALARM < fullness < 1
    truth = weights(redis)
    seen = shares(server)
    total = sum(truth.values())
    print(f"full: {fullness:.2f}; shares of {noisy}: {seen[noisy]:.3f} seen, {truth[noisy] / total:.3f} true")
    assert max(seen, key=lambda tenant: seen[tenant]) == noisy
    for tenant in (noisy, quiet):
        assert abs(seen[tenant] - truth[tenant] / total) < 0.1
        assert abs(metric_sum(str(server.probe("/metrics").body), "sluice_redis_tenant_bytes", tenant=tenant)
                   - truth[tenant]) < 0.1 * total
    assert abs(sum(seen.values()) - 1) < 1e-9
    ask(agent, keys, quiet, 9_000, BATCH)   # nobody was harmed


def microseconds(redis: RedisServer, *commands: str) -> Optional[float]:
    """Redis' time for these commands since it started."""
    text = str(redis.cli("INFO", "commandstats"))
    return sum(float(match[2]) for match in re.finditer(r"^cmdstat_([^:]+):calls=\d+,usec=(\d+)", text, re.M)
               if match[1] in commands)


def fill(connection: RespConnection, tenant: str, count: int) -> None:
    """Keys as an agent writes them."""
    for number in range(count):
        connection.command("SET", f"sl:{{{tenant}|subject=user:{number}}}:p=p", "x" * 40)


def test_a_survey_costs_redis_less_than_a_thousandth_of_its_time(make_server: Callable[..., Server], redis: RedisServer) -> None:
    connection = redis.connect()
    for tenant in ("a", "b"):
        fill(connection, tenant, 5_000)
    connection.close()
    every = 0.5
    server = make_server("--counters", redis.counters, "--redis-survey-every", f"{int(every * 1000)}ms").start()
    wait_until("a survey", lambda: set(shares(server)) == {"a", "b"})
    redis.cli("CONFIG", "RESETSTAT")
    begin = time.monotonic()
    wait_until("ten surveys", lambda: redis.calls("dbsize") >= 10, 60)
    surveys = redis.calls("dbsize")
    spent = microseconds(redis, "randomkey", "memory|usage", "dbsize")
    assert spent is not None and redis.calls("randomkey") >= 400 * (surveys - 1)
    one = spent / surveys
    print(f"one survey: {one:.0f} µs of Redis, {one / 60e6:.6%} of a minute; {time.monotonic() - begin:.1f} s for {surveys}")
    assert one < 60e6 / 1000


@pytest.mark.parametrize("may_read", [True, False], ids=["readable", "not readable"])
def test_keys_of_others_are_never_a_tenants_and_an_empty_redis_has_no_shares(
        make_server: Callable[..., Server], redis: RedisServer, may_read: bool) -> None:
    """With the rights of images/redis, the server may not read keys of others."""
    user = "" if may_read else "sluice-server:long-and-random-7f3a@"
    server = make_server("--counters", f"redis://{user}127.0.0.1:{redis.port}/0", "--redis-survey-every", "200ms").start()
    wait_until("a survey", lambda: samples(server, "sluice_redis_memory_used_bytes"))
    redis.cli("FLUSHALL")
    wait_until("no shares, or the marker's", lambda: set(shares(server)) <= {""})
    connection = redis.connect()
    fill(connection, "a", 300)
    for number in range(300):
        connection.command("SET", f"cache:{number}", "x" * 60)
    connection.close()
    wait_until("the tenant's half of the keys",
               lambda: abs(samples(server, "sluice_redis_tenant_keys").get("a", 0) - 300) < 60)
    share = 0.5 if may_read else 1.0   # of what the server may read
    wait_until("the tenant's share", lambda: abs(shares(server)["a"] - share) < 0.1)
    assert set(samples(server, "sluice_redis_tenant_bytes")) == {"a"}


def test_without_surveys_there_are_no_metrics_of_memory(make_server: Callable[..., Server], redis: RedisServer) -> None:
    server = make_server("--counters", redis.counters, "--redis-survey-every", "0s").start()
    wait_until("the marker", lambda: redis.calls("rename") >= 1)
    assert "sluice_redis_memory_used_bytes{" not in str(server.probe("/metrics").body)
    assert redis.calls("randomkey") == 0


def test_in_a_cluster_every_primary_is_asked_and_weighs_what_it_holds(make_server: Callable[..., Server]) -> None:
    with tempfile.TemporaryDirectory(prefix="sluice-cluster-", dir="/dev/shm") as folder:
        cluster = Cluster(Path(folder), replicas=0, options=["--maxmemory", str(MAXMEMORY)]).start()
        try:
            server = make_server("--counters", cluster.counters, "--redis-survey-every", "300ms").start()
            nodes = [node.connect() for node in cluster.nodes]
            expected = {"": 0.0}
            for tenant, count in (("a", 300), ("b", 900), ("c", 1800)):
                # A tenant's counters are on all nodes, because their hash tags have the subject.
                for number in range(count):
                    key = f"sl:{{{tenant}|subject=user:{number}}}:p=p"
                    nodes[slot_of(key) * 3 // SLOTS].command("SET", key, "x" * 40)
                expected[tenant] = count / 3000
            wait_until("all three", lambda: all_of(expected, lambda tenant: abs(
                shares(server).get(tenant, 0) - expected[tenant]) < 0.06), 20)
            for node in nodes:
                node.close()
            limits = samples(server, "sluice_redis_memory_max_bytes")
            assert len(limits) == 3 and set(limits.values()) == {MAXMEMORY}, limits
            assert set(samples(server, "sluice_redis_memory_used_bytes")) == set(limits)
            assert sum(samples(server, "sluice_redis_tenant_keys").values()) == pytest.approx(3000, rel=0.1)
        finally:
            cluster.stop()


def test_what_redis_no_longer_says_is_no_longer_shown(make_server: Callable[..., Server], redis: RedisServer) -> None:
    server = make_server("--counters", redis.counters, "--redis-survey-every", "200ms").start()
    wait_until("a survey", lambda: samples(server, "sluice_redis_memory_used_bytes"))
    redis.kill9()
    wait_until("nothing to be shown", lambda: not samples(server, "sluice_redis_memory_used_bytes") and not shares(server), 20)
    redis.start()
    wait_until("a survey", lambda: samples(server, "sluice_redis_memory_used_bytes"), 20)
