"""Callers of one agent: one tenant's or key's flood leaves places, matching time and memory for the others."""

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, concurrency, token_bucket
from support.flood import Flood
from support.process import memory_of, wait_until
from support.raw import RawConnection, check_request
from support.redis_server import RedisServer
from support.timed import p99, times

FULL = os.environ.get("SLUICE_ISOLATION_FULL") == "1"
SECONDS = 8.0 if FULL else 2.0   # of each measurement
PLACES = 64
REPLIES = 16 << 20   # bytes of replies that may wait to be read
POLICIES, PATTERNS = 64, 16   # the most that one tenant can make every check try


def two_tenants(noisy: MintedKey, quiet: MintedKey) -> Bundle:
    """Two tenants, each with a plan `bucket` that is never spent."""
    bundle = Bundle(tenant="noisy").add_tenant("quiet").key(noisy).key(quiet, tenant="quiet")
    for tenant in ("noisy", "quiet"):
        bundle.plan("bucket", token_bucket(1_000_000, "1000000/1s"), tenant=tenant)
    return bundle


def costly_policies(bundle: Bundle) -> Bundle:
    """Policies of the tenant `noisy` that no index helps with; none of them applies."""
    for number in range(POLICIES):
        patterns = " || ".join(f'user =~ "({chr(97 + i)}|{number}x)*{i}y{number}$"' for i in range(PATTERNS))
        bundle.policy(f"costly-{number}", {"resource": "*"}, "bucket", match_expr=patterns)
    return bundle


def overload(agent: Agent, cause: str, tenant: str = "noisy") -> float:
    """How many checks got 503 for this."""
    return agent.metric("sluice_overload_total", tenant=tenant, cause=cause)


def statuses_of(connections: list[RawConnection]) -> list[int]:
    """Of the next answers; 0 where there is none."""
    return [reply.status if (reply := connection.reply()) else 0 for connection in connections]


@pytest.mark.alone
def test_a_flood_of_costly_matches_delays_no_other_tenant(
        key: MintedKey, other_key: MintedKey, make_agent: Callable[..., Agent], sanitized: bool) -> None:
    agent = make_agent(costly_policies(two_tenants(key, other_key)), "memory").start()
    costly = json.dumps({"resource": "any", "user": "ab" * 32, "subject": "s"})
    with agent.client(other_key.text) as client, agent.client(key.text) as noisy:

        def ask() -> Any:
            return client.check(plan_id="bucket", subject="s")

        quiet, _ = times(ask, SECONDS)
        with Flood(agent.port, 30, "/v1/check", headers={"x-api-key": key.text, "Content-Type": "application/json"},
                   body=costly, nice=10) as flood:
            attacked, statuses = times(ask, SECONDS)
            cheap, cheap_statuses = times(lambda: noisy.check(plan_id="bucket", subject="s"), SECONDS / 4)
        assert noisy.check(resource="any", user="ab" * 32, subject="s").status == 200, "back at once"
    print(f"    p50 {quiet[len(quiet) // 2] * 1e3:.2f} ms quiet, {attacked[len(attacked) // 2] * 1e3:.2f} ms attacked; "
          f"p99 {p99(quiet) * 1e3:.2f} and {p99(attacked) * 1e3:.2f} ms; the flood got {dict(flood.statuses)}")
    assert set(statuses) == {200}
    assert set(cheap_statuses) == {200} and cheap, "its checks without patterns go on"
    assert p99(attacked) <= max(3 * p99(quiet), 0.016 if sanitized else 0.002)
    assert set(flood.statuses) == {200, 503} and flood.statuses[200] > 20 * SECONDS
    # The flood did not read the last answer of each connection.
    assert 0 <= overload(agent, "matching") - flood.statuses[503] <= 30
    assert overload(agent, "matching", "quiet") == 0


def test_a_flood_of_one_key_leaves_places_for_other_keys_and_tenants(
        key: MintedKey, other_key: MintedKey, make_redis: Callable[..., RedisServer],
        make_agent: Callable[..., Agent]) -> None:
    server = make_redis()
    agent = make_agent(two_tenants(key, other_key), server.counters, "--max-in-flight", str(PLACES),
                       "--redis-deadline", "10s", "--queue-wait", "10s").start()
    agent.wait_for_redis(key.text, "bucket")
    body = b'{"plan_id":"bucket","subject":"a"}'
    server.pause()   # so that what is in flight stays there
    noisy = [RawConnection(agent.port) for _ in range(2 * PLACES)]
    quiet = [RawConnection(agent.port) for _ in range(PLACES // 8)]
    try:
        for connection in noisy:
            connection.send(check_request(key.text, body))
        # Its one key takes seven eighths, because no other key could come; the last eighth is for other tenants.
        taken = PLACES - PLACES // 8
        wait_until("refusals", lambda: overload(agent, "tenant_share") == len(noisy) - taken)
        for connection in quiet:
            connection.send(check_request(other_key.text, body))
        with agent.client(other_key.text) as one_more:
            assert one_more.check(plan_id="bucket", subject="a").status == 503, "all places are taken"
    finally:
        server.resume()
    try:
        assert statuses_of(quiet) == [200] * len(quiet)
        statuses = statuses_of(noisy)
    finally:
        for connection in noisy + quiet:
            connection.close()
    assert statuses.count(200) == taken and statuses.count(503) == len(noisy) - taken
    assert overload(agent, "in_flight", "") == 1
    with agent.client(key.text) as client:
        assert client.check(plan_id="bucket", subject="a").status == 200, "back at once"


def test_a_flood_of_held_checks_leaves_places_for_other_tenants(
        key: MintedKey, other_key: MintedKey, redis: RedisServer, make_agent: Callable[..., Agent]) -> None:
    bundle = two_tenants(key, other_key)
    for tenant in ("noisy", "quiet"):
        bundle.plan("leases", concurrency(1, "1h"), tenant=tenant)
    agent = make_agent(bundle, redis.counters, "--max-waiting", str(PLACES), "--redis-deadline", "2s").start()
    agent.wait_for_redis(key.text, "bucket")
    taken = PLACES - PLACES // 8   # its one key takes seven eighths; the last eighth is for other tenants

    def held_checks(count: int, of: MintedKey) -> list[RawConnection]:
        """Checks of so many subjects that wait for a lease."""
        with agent.client(of.text) as client:
            for number in range(count):
                assert client.check(plan_id="leases", subject=f"{number}").status == 200
        return [RawConnection(agent.port).send(check_request(of.text, json.dumps(
            {"plan_id": "leases", "subject": f"{number}", "wait": "25s"}).encode())) for number in range(count)]

    connections = held_checks(2 * PLACES, key)
    try:
        wait_until("refusals", lambda: agent.metric("sluice_held_checks_total", tenant="noisy", outcome="full") ==
                   2 * PLACES - taken)
        connections += held_checks(PLACES // 8, other_key)
        wait_until("all places to be taken", lambda: agent.metric("sluice_checks_held") == PLACES)
        assert agent.metric("sluice_held_checks_total", tenant="quiet", outcome="full") == 0
        with agent.client(other_key.text) as client:
            assert client.check(plan_id="bucket", subject="a").status == 200, "checks that do not wait go on"
    finally:
        for connection in connections:
            connection.close()
    wait_until("no held checks", lambda: agent.metric("sluice_checks_held") == 0)


def test_callers_that_read_no_replies_take_a_bounded_memory(
        key: MintedKey, other_key: MintedKey, make_agent: Callable[..., Agent], tmp_path: Path, sanitized: bool) -> None:
    bundle = two_tenants(key, other_key)
    limits = [{"name": f"limit-{i}", "algorithm": "fixed_window", "limit": 1_000_000, "window": "1d"} for i in range(16)]
    bundle.plan("wide", *limits, tenant="noisy")
    path = tmp_path / "checks.sock"   # the kernel keeps less for a Unix socket than for TCP
    agent = make_agent(bundle, "memory", "--listen-unix", str(path)).start()
    checks = [{"plan_id": "wide", "subject": "s", "explain": True}] * 256
    text = json.dumps({"checks": checks}).encode()
    request = (f"POST /v1/check/batch HTTP/1.1\r\nHost: localhost\r\nx-api-key: {key.text}\r\n"
               f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n").encode() + text
    lazy: list[socket.socket] = []
    try:
        with agent.client(other_key.text) as client, agent.client(key.text) as noisy:
            assert noisy.check(plan_id="wide", subject="s").status == 200
            before, most = memory_of(agent.process.pid), 0.0
            while len(lazy) < 60:
                lazy.append(socket.socket(socket.AF_UNIX))
                lazy[-1].connect(str(path))
                lazy[-1].sendall(request + request)
                assert client.check(plan_id="bucket", subject="s").status == 200
                most = max(most, agent.metric("sluice_http_waiting_output_bytes"))
            wait_until("closed connections", lambda: agent.metric("sluice_http_slow_readers_total") >= 10)
            after = memory_of(agent.process.pid)
            assert noisy.check(plan_id="wide", subject="s").status == 200, "who reads is served"
    finally:
        for connection in lazy:
            connection.close()
    print(f"    {most / (1 << 20):.1f} MiB of replies waited at most; resident memory {before >> 20} and {after >> 20} MiB")
    assert REPLIES / 2 < most < REPLIES + (2 << 20)
    if not sanitized:
        assert after - before <= REPLIES + (16 << 20)
    wait_until("no replies to wait", lambda: agent.metric("sluice_http_waiting_output_bytes") == 0)
