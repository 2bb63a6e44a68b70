"""The circuit breaker: a Redis that does not answer in time is asked no more, nobody waits for it, and it is found again."""

import time
from collections.abc import Callable

import pytest

from faults.conftest import CAPACITY
from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket
from support.gate import Gate
from support.load import Load
from support.process import wait_until
from support.redis_server import RedisServer
from support.reload import events

CLOSED, OPEN = 0, 2
BACK_WITHIN = 2.0   # seconds after Redis
DEADLINE = 0.025


def opens(agent: Agent, within: float = 10.0) -> None:
    """Waits until the breaker is open."""
    wait_until("an open breaker", lambda: agent.metric("sluice_breaker_state") == OPEN, within)


@pytest.fixture
def when_open(key: MintedKey) -> Bundle:
    """A plan that fails closed, and open while the breaker is open."""
    return Bundle().key(key).plan("closed", token_bucket(CAPACITY, "1/1h"), failure_mode="fail_closed",
                                  failure_mode_when_open="fail_open")


@pytest.mark.alone
@pytest.mark.fault("always-late", least=1000)
def test_a_redis_that_is_always_late_is_asked_no_more(
        key: MintedKey, make_redis: Callable[..., RedisServer], both_modes: Bundle, make_agent: Callable[..., Agent],
        sanitized: bool) -> None:
    with Gate(make_redis()) as gate:
        agent = make_agent(both_modes, gate.counters).start()
        agent.wait_for_redis(key.text, "closed")
        with Load(agent, key.text, lambda _: {"plan_id": "closed", "subject": "late"}):
            gate.late = 4 * DEADLINE
            late = time.monotonic()
            opens(agent)
            assert time.monotonic() - late < (5 if sanitized else 1)
            charged, accepted = gate.server.calls("time"), gate.accepted
            time.sleep(3)
            # About one PING or connection a second; a decision would come only after one that was in time.
            assert gate.server.calls("time") - charged <= 2 * 3
            assert gate.accepted - accepted <= 2 * 3
            gate.late = 0.0
            wait_until("a closed breaker", lambda: agent.metric("sluice_breaker_state") == CLOSED, BACK_WITHIN + 1)
        with agent.client(key.text) as client:
            wait_until("Redis' decision", lambda: client.check(plan_id="closed", subject="b").status == 200, BACK_WITHIN)


@pytest.mark.alone
@pytest.mark.fault("breaker-open", least=500)
def test_while_it_is_open_nobody_waits(key: MintedKey, make_redis: Callable[..., RedisServer],
                                       connected: Callable[..., Agent], sanitized: bool) -> None:
    server = make_redis()
    agent = connected(server)
    with Load(agent, key.text, lambda _: {"plan_id": "closed", "subject": "a"}) as load:
        server.pause()
        opens(agent)
        opened = time.monotonic()
        time.sleep(1.5)
        until = time.monotonic()
        server.resume()
    during = sorted(sample.least_seconds for sample in load.samples if opened < sample.sent < until)
    assert len(during) > 100
    assert during[len(during) * 99 // 100] <= (0.02 if sanitized else 0.001)


def test_failure_mode_when_open_applies_only_while_it_is_open(
        key: MintedKey, make_redis: Callable[..., RedisServer], when_open: Bundle,
        make_agent: Callable[..., Agent]) -> None:
    server = make_redis()
    agent = make_agent(when_open, server.counters).start()
    agent.wait_for_redis(key.text, "closed")
    server.pause()
    with agent.client(key.text) as client:
        assert client.check(plan_id="closed", subject="a").body["reason"] == "fail_closed"
        wait_until("the other mode", lambda: client.check(plan_id="closed", subject="a").body["reason"] == "fail_open")
        assert agent.metric("sluice_breaker_state") == OPEN
        assert client.get("/v1/snapshot").body["breaker"] == "open"
        server.resume()
        wait_until("Redis' decision", lambda: client.check(plan_id="closed", subject="a").body["reason"] == "within_limit",
                   BACK_WITHIN + 1)
        assert client.get("/v1/snapshot").body["breaker"] == "closed"
    wait_until("the end of the outage", lambda: events(agent, "redis_back"), BACK_WITHIN + 10)
    started = [event for event in ("breaker_opened", "redis_disconnected", "redis_connect_failed") for _ in events(agent, event)]
    assert len(started) == len(events(agent, "redis_back")) == 1, started
