"""What the log says about an outage of Redis: a line at its start, one a minute, one at its end, however busy the agent is."""

import json
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from faults.conftest import CAPACITY
from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket
from support.load import Load
from support.process import wait_until
from support.redis_server import RedisServer
from support.reload import events

SETTLED_SECONDS = 5   # what works again must work for so long
BACK_WITHIN = 20.0


def lines(agent: Agent) -> list[dict[str, Any]]:
    """The whole lines of the log so far."""
    text = agent.log.read_text()
    return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines() if line.startswith("{")]


def after_start(agent: Agent) -> int:
    """How many lines the log has once all of the start is in it."""
    wait_until("the last line of the start", lambda: events(agent, "snapshot_loaded"), BACK_WITHIN)
    return len(lines(agent))


@pytest.mark.alone   # on a crowded machine calls wait too long for their turn, and the log says so too
@pytest.mark.fault("redis-killed-log", least=500)
def test_an_outage_of_redis_under_traffic_is_one_line_at_its_start_and_one_at_its_end(
        key: MintedKey, make_redis: Callable[..., RedisServer], connected: Callable[..., Agent]) -> None:
    server = make_redis()
    agent = connected(server, "--workers", "4")
    before = after_start(agent)
    with Load(agent, key.text, lambda number: {"plan_id": "closed", "subject": f"s{number % 7}"}):
        killed = time.monotonic()
        server.kill9()
        wait_until("attempts that fail", lambda: agent.metric("sluice_redis_errors_total", **{"class": "disconnected"}) >= 20)
        server.restart()
        wait_until("the end", lambda: events(agent, "redis_back"), BACK_WITHIN)
        away_ms = 1000 * (time.monotonic() - killed)
    told = lines(agent)[before:]
    assert Counter(line["event"] for line in told) == {"redis_disconnected": 1, "redis_back": 1}, told
    assert told[0]["level"] == "warn" and told[0]["code"] == "disconnected" and told[0]["reason"], told
    assert told[1]["level"] == "info" and told[1]["failures"] >= 10, told
    assert 0 < told[1]["duration_ms"] <= away_ms - 1000 * (SETTLED_SECONDS - 1), told


@pytest.mark.fault("redis-frozen-log", least=500)
def test_an_outage_ends_in_the_log_when_redis_decides_again_and_not_with_the_connection(
        key: MintedKey, make_redis: Callable[..., RedisServer], connected: Callable[..., Agent]) -> None:
    server = make_redis()
    agent = connected(server)
    before = after_start(agent)
    with Load(agent, key.text, lambda _: {"plan_id": "closed", "subject": "a"}):
        server.pause()
        wait_until("an open breaker", lambda: agent.metric("sluice_breaker_state") == 2)
        time.sleep(2 * SETTLED_SECONDS)   # the kernel accepts connections all the while
        assert not events(agent, "redis_back")
        server.resume()
        wait_until("the end", lambda: events(agent, "redis_back"), BACK_WITHIN)
    told = lines(agent)[before:]
    assert len(told) == 2, told
    assert told[1]["duration_ms"] >= 2000 * SETTLED_SECONDS, told


def test_a_connection_that_comes_and_goes_is_one_outage(
        key: MintedKey, make_redis: Callable[..., RedisServer], make_agent: Callable[..., Agent]) -> None:
    server = make_redis()
    agent = make_agent(Bundle().key(key).plan("closed", token_bucket(CAPACITY, "1/1h")), server.counters).start()
    agent.wait_for_redis(key.text, "closed")
    wait_until("the line about the connection", lambda: events(agent, "redis_connected"), BACK_WITHIN)
    ours = server.connect()
    for _ in range(10):
        wait_until("the connection", lambda: ours.command("CLIENT", "KILL", "TYPE", "normal"))
    wait_until("the end", lambda: events(agent, "redis_back"), BACK_WITHIN)
    told = [line for line in lines(agent) if line["event"].startswith("redis_")]
    assert [line["event"] for line in told] == ["redis_connected", "redis_disconnected", "redis_back"], told
    assert told[-1]["failures"] == 10, told
