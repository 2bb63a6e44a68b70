"""Faults on the wire to Redis: replies in slices, replies that are none, connections cut in between, a slow server."""

import threading
from collections.abc import Callable

import pytest

from faults.conftest import CAPACITY
from support.agent import Agent
from support.bundle import Bundle, MintedKey, window
from support.client import Client
from support.faults import Fault
from support.gate import Gate
from support.load import Load
from support.process import wait_until
from support.redis_server import RedisServer

Make = Callable[..., Agent]
LIMIT = 50
ONE_CONNECTION = ["--workers", "1"]   # so that the gate's next reply is the one a test means


def heal(client: Client, seconds: float = 5.0) -> None:
    """Waits, without charging anything, until Redis decides again."""
    wait_until("Redis' decisions", lambda: client.check(
        plan_id="closed", subject="x", cost=0).body["reason"] == "within_limit", seconds)


def errors(agent: Agent, fault: str) -> float:
    """How often this class of error was counted."""
    return agent.metric("sluice_redis_errors_total", **{"class": fault})


@pytest.mark.fault("replies-sliced")
def test_replies_that_come_byte_by_byte_are_read(key: MintedKey, both_modes: Bundle, make_agent: Make,
                                                 make_redis: Callable[..., RedisServer]) -> None:
    with Gate(make_redis()) as gate:
        gate.sliced = True
        agent = make_agent(both_modes, gate.counters, *ONE_CONNECTION, "--redis-deadline", "5s").start()
        agent.wait_for_redis(key.text, "closed")
        remaining: list[int] = []

        def run() -> None:
            with agent.client(key.text) as client:
                remaining.extend(client.check(plan_id="closed", subject="sliced").body["remaining"] for _ in range(25))

        threads = [threading.Thread(target=run) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(remaining, reverse=True) == list(range(CAPACITY - 1, CAPACITY - 201, -1))


@pytest.mark.fault("cut-after-sending")
def test_a_call_whose_connection_was_cut_after_sending_is_never_sent_again(
        key: MintedKey, both_modes: Bundle, make_agent: Make, make_redis: Callable[..., RedisServer]) -> None:
    with Gate(make_redis()) as gate:
        agent = make_agent(both_modes, gate.counters, *ONE_CONNECTION, "--redis-deadline", "5s").start()
        agent.wait_for_redis(key.text, "closed")
        with agent.client(key.text) as client:
            for round_number in range(1, 11):
                gate.cut()
                answer = client.check(plan_id="closed", subject="x")
                assert (answer.status, answer.body["reason"]) == (503, "fail_closed")
                heal(client)
                read = client.check(plan_id="closed", subject="x", cost=0)
                assert read.body["remaining"] == CAPACITY - round_number, "charged once: it had been executed"
        assert errors(agent, "disconnected") >= 10


@pytest.mark.fault("malformed-resp")
@pytest.mark.parametrize("garbage", [b"!!!\r\n", b"$-7\r\n", b":12x\r\n", b"*-2\r\n", b"*1000000000\r\n", b"$999999999999\r\n",
                                     b"*1\r\n" * 200, b"HTTP/1.1 200 OK\r\n\r\n", b"\x00" * 64, b":1", b"+OK\r\n" * 3])
def test_a_reply_that_is_none_fails_its_call_and_the_connection_is_made_anew(
        key: MintedKey, both_modes: Bundle, make_agent: Make, make_redis: Callable[..., RedisServer],
        garbage: bytes) -> None:
    with Gate(make_redis()) as gate:
        agent = make_agent(both_modes, gate.counters, *ONE_CONNECTION).start()
        agent.wait_for_redis(key.text, "closed")
        with agent.client(key.text) as client:
            gate.spoil(garbage)
            answer = client.check(plan_id="closed", subject="x")
            assert (answer.status, answer.body["reason"]) == (503, "fail_closed")
            heal(client)
        assert errors(agent, "protocol") + errors(agent, "timeout") + errors(agent, "disconnected") >= 1


@pytest.mark.fault("reply-of-another-shape")
@pytest.mark.parametrize("shape", [b"+OK\r\n", b":1\r\n", b"$-1\r\n", b"*0\r\n", b"*2\r\n:1\r\n:2\r\n", b"*1\r\n$1\r\nx\r\n",
                                   b"*8\r\n:1\r\n:1\r\n:99\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n"])
def test_a_reply_of_another_shape_fails_its_own_call_only(
        key: MintedKey, both_modes: Bundle, make_agent: Make, make_redis: Callable[..., RedisServer],
        shape: bytes) -> None:
    with Gate(make_redis()) as gate:
        agent = make_agent(both_modes, gate.counters, *ONE_CONNECTION, "--redis-deadline", "5s").start()
        agent.wait_for_redis(key.text, "closed")
        with agent.client(key.text) as client:
            gate.spoil(shape)
            assert client.check(plan_id="closed", subject="x").body["reason"] == "fail_closed"
            assert client.check(plan_id="closed", subject="x").body["reason"] == "within_limit"
        assert errors(agent, "protocol") == 1


@pytest.mark.alone
@pytest.mark.fault("client-pause", least=300)
def test_a_slow_redis_delays_nobody_beyond_the_deadline(key: MintedKey, make_redis: Callable[..., RedisServer],
                                                        connected: Make, answer_within: float) -> None:
    server = make_redis()
    agent = connected(server)
    with Load(agent, key.text, lambda number: {"plan_id": "closed", "subject": "slow"}) as load:
        for milliseconds in (20, 60, 120, 240):
            wait_until("decisions", lambda: bool(load.samples) and load.samples[-1].reason == "within_limit", 5)
            server.cli("CLIENT", "PAUSE", milliseconds, "ALL")
            server.cli("PING")   # answered when the pause is over
        wait_until("decisions", lambda: load.samples[-1].reason == "within_limit", 5)
    # overload: on a crowded machine a call may wait too long for its turn.
    assert {"within_limit", "fail_closed"} <= set(load.reasons()) <= {"within_limit", "fail_closed", "overload"}
    assert load.slowest()[max(1, len(load.samples) // 10_000)] <= answer_within
    assert all(sample.body["request_id"] == sample.request_id for sample in load.samples)


@pytest.mark.fault("flushall", least=200)
def test_redis_flushed_k_times_admits_at_most_1_plus_k_times_the_limit(
        key: MintedKey, make_redis: Callable[..., RedisServer], make_agent: Make, fault: Fault) -> None:
    flushes = 3
    server = make_redis()
    bundle = Bundle().key(key).plan("closed", window("fixed_window", LIMIT, "1d", align="first"))
    agent = make_agent(bundle, server.counters, "--redis-deadline", "2s").start()
    agent.wait_for_redis(key.text, "closed")
    with Load(agent, key.text, lambda number: {"plan_id": "closed", "subject": "flushed"}) as load:
        for flush in range(flushes + 1):
            wait_until("the limit", lambda: sum(s.reason == "within_limit" for s in load.samples) >= (flush + 1) * LIMIT)
            if flush < flushes:
                server.cli("FLUSHALL")
        sent = len(load.samples)
        wait_until("requests above the limit", lambda: len(load.samples) > sent + 200)
    assert set(load.reasons()) == {"within_limit", "limit_exceeded"}
    fault.admitted(load.reasons()["within_limit"], LIMIT * (1 + flushes), least=LIMIT * (1 + flushes))
