"""The clock that counters are judged by jumps: no limit admits more than the jump accounts for, and nobody is stuck after it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket, window
from support.client import Client
from support.driven_clock import DrivenClock
from support.faults import Fault
from support.process import wait_until
from support.redis_server import RedisServer

LIMIT = 20
HOUR = 3600.0
JUMP = 10.0   # seconds
RATE = 1.0    # requests a second of the bucket
Ask = Callable[[str], int]


@pytest.fixture(params=["redis", "memory"])
def judged(request: pytest.FixtureRequest, key: MintedKey, make_agent: Callable[..., Agent], make_redis: Callable[..., RedisServer],
           tmp_path: Path) -> tuple[DrivenClock, Client]:
    """A clock, and a client of an agent whose counters live by it."""
    clock = DrivenClock(tmp_path, 2026)
    bundle = Bundle().key(key).plan("window", window("fixed_window", LIMIT, "1h")).plan("log", window("sliding_window_log", LIMIT, "1h"))
    bundle.plan("bucket", token_bucket(LIMIT, f"{RATE:g}/1s"))
    counters = request.param if request.param == "memory" else make_redis(env=clock.env).counters
    agent = make_agent(bundle, counters, "--redis-deadline", "5s", env=clock.env).start()
    if request.param == "redis":
        wait_until("the connection to Redis", lambda: agent.metric("sluice_redis_connected") == 1, 30)
    return clock, agent.client(key.text)


def admitted(client: Client, plan: str) -> int:
    """Of three times as many as the limit."""
    answers = [client.check(plan_id=plan, subject="one") for _ in range(3 * LIMIT)]
    assert {answer.status for answer in answers} <= {200, 429}, answers[0]
    return sum(answer.status == 200 for answer in answers)


@pytest.mark.fault("clock-jump")
def test_a_jump_gives_a_window_or_what_the_bucket_gains_in_it_and_a_jump_back_gives_nothing(
        judged: tuple[DrivenClock, Client], fault: Fault) -> None:
    clock, client = judged
    for plan in ("window", "log", "bucket"):
        fault.admitted(admitted(client, plan), LIMIT, least=LIMIT)
    clock.advance(JUMP)
    assert (admitted(client, "window"), admitted(client, "log")) == (0, 0)
    fault.admitted(admitted(client, "bucket"), round(RATE * JUMP), least=round(RATE * JUMP))
    clock.advance(-JUMP)
    assert [admitted(client, plan) for plan in ("window", "log", "bucket")] == [0, 0, 0]
    clock.advance(JUMP / 2)   # the bucket fills from the earlier time on: nobody waits until the clock is where it was
    fault.admitted(admitted(client, "bucket"), round(RATE * JUMP / 2), least=round(RATE * JUMP / 2))
    clock.advance(HOUR)
    for plan in ("window", "log", "bucket"):
        fault.admitted(admitted(client, plan), LIMIT, least=LIMIT)
    clock.advance(-HOUR)   # a window, at most, for a step of one
    fault.admitted(admitted(client, "window"), LIMIT)
    fault.admitted(admitted(client, "log"), LIMIT)
    assert admitted(client, "bucket") == 0
