"""A batch while Redis fails: every check is answered in time, by the failure mode of its own plan."""

from collections.abc import Callable
from typing import Any

import pytest

from faults.conftest import CAPACITY
from support.agent import Agent
from support.bundle import MintedKey
from support.client import Client
from support.process import wait_until
from support.redis_server import RedisServer

pytestmark = pytest.mark.alone   # answers within 50 ms

Connect = Callable[..., Agent]
CHECKS = [{"plan_id": "open" if number % 2 else "closed", "subject": f"b{number}", "request_id": f"r{number}"}
          for number in range(256)]
MODES = ["fail_open" if number % 2 else "fail_closed" for number in range(256)]


def read_by_redis(client: Client) -> list[dict[str, Any]]:
    """What Redis says of all of them, once it decides (again); charges nothing."""
    def ask() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = client.batch(*[{**check, "cost": 0} for check in CHECKS]).body["results"]
        return found if {result["reason"] for result in found} == {"within_limit"} else []

    return wait_until("Redis' decisions", ask)


def assert_failure_modes(answer: Any) -> None:
    """Each check by its plan's failure mode, in its place."""
    assert answer.status == 200
    results = answer.body["results"]
    assert [result["reason"] for result in results] == MODES
    assert [result["allowed"] for result in results] == [mode == "fail_open" for mode in MODES]
    assert [result["request_id"] for result in results] == [check["request_id"] for check in CHECKS]


@pytest.mark.fault("redis-killed-batches")
def test_every_check_of_a_batch_gets_its_failure_mode_in_time_when_redis_is_killed(
        key: MintedKey, make_redis: Callable[..., RedisServer], connected: Connect, answer_within: float) -> None:
    server = make_redis()
    agent = connected(server)
    with agent.client(key.text) as client:
        read_by_redis(client)
        server.kill9()
        for _ in range(5):
            answer = client.batch(*CHECKS)
            assert_failure_modes(answer)
            assert answer.seconds <= answer_within
        server.restart()
        read_by_redis(client)


@pytest.mark.fault("redis-frozen-batches")
def test_a_frozen_redis_costs_a_batch_one_deadline_and_no_check_is_charged_twice(
        key: MintedKey, make_redis: Callable[..., RedisServer], connected: Connect, answer_within: float) -> None:
    server = make_redis()
    agent = connected(server)
    with agent.client(key.text) as client:
        read_by_redis(client)
        server.pause()
        try:
            answer = client.batch(*CHECKS)
        finally:
            server.resume()
        assert_failure_modes(answer)
        assert answer.seconds <= answer_within
        assert {result["remaining"] for result in read_by_redis(client)} <= {CAPACITY, CAPACITY - 1}
