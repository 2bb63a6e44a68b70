"""More calls than Redis can take at once: they wait for their turn, and a flood of one caller costs the others little."""

import math
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from faults.conftest import CAPACITY
from support.agent import Agent
from support.bundle import Bundle, MintedKey, mint_key, token_bucket
from support.lazy_readers import LazyReaders
from support.load import Load
from support.process import wait_until
from support.redis_server import RedisServer

pytestmark = pytest.mark.alone   # as many calls as the machine takes, held to times

BATCHES, SIZE = 40, 256


@pytest.fixture
def others_key(both_modes: Bundle, program: Path) -> MintedKey:
    """A second key of the same tenant."""
    minted = mint_key(program)
    both_modes.key(minted)
    return minted


@pytest.fixture
def foreign_key(both_modes: Bundle, program: Path) -> MintedKey:
    """A key of another tenant, which has a plan of the same name."""
    minted = mint_key(program)
    both_modes.add_tenant("other").key(minted, tenant="other").plan("closed", token_bucket(CAPACITY, "1/1h"), tenant="other")
    return minted


def slow_machine(sanitized: bool) -> list[str]:
    """Flags with which a sanitizer's agent decides a burst, too."""
    return ["--redis-deadline", "2s", "--batch-queue-wait", "10s"] if sanitized else []


@pytest.mark.fault("burst-of-batches")
def test_a_burst_of_batches_is_decided_by_limits(key: MintedKey, make_redis: Callable[..., RedisServer],
                                                 connected: Callable[..., Agent], sanitized: bool) -> None:
    server = make_redis()
    agent = connected(server, *slow_machine(sanitized))
    before = server.calls("evalsha")

    def batch(number: int) -> Counter[str]:
        with agent.client(key.text) as client:
            client.connect()
            answer = client.batch(*[{"plan_id": "closed", "subject": f"{number}.{at}"} for at in range(SIZE)])
            return Counter(result["reason"] for result in answer.body["results"])

    with ThreadPoolExecutor(BATCHES) as pool:
        begun = time.monotonic()
        reasons = sum(pool.map(batch, range(BATCHES)), Counter[str]())
        took = time.monotonic() - begun
    assert reasons == {"within_limit": BATCHES * SIZE}
    assert server.calls("evalsha") - before == BATCHES * SIZE
    assert took <= (20 if sanitized else 2)  # most of it is this test's own: it writes and reads 4 MB of JSON


@pytest.mark.fault("lazy-readers", least=300)
@pytest.mark.parametrize("neighbour", ["another key", "another tenant"])
def test_lazy_readers_of_one_key_cost_the_others_little(
        neighbour: str, key: MintedKey, others_key: MintedKey, foreign_key: MintedKey,
        make_redis: Callable[..., RedisServer], connected: Callable[..., Agent], sanitized: bool) -> None:
    agent = connected(make_redis())
    asker = others_key if neighbour == "another key" else foreign_key

    def ask(seconds: float) -> Load:
        with Load(agent, asker.text, lambda _: {"plan_id": "closed", "subject": "n"}, connections=4, rate=300) as load:
            time.sleep(seconds)
        return load

    quiet = ask(2)
    least = 0.9 if sanitized else 0.999
    longest = math.inf if sanitized else max(3 * quiet.slowest()[len(quiet.samples) // 100], 0.010)
    with LazyReaders(agent, key.text, {"plan_id": "closed", "subject": "greedy"}) as greedy:
        wait_until("answers to the lazy readers", lambda: greedy.received > 1_000_000)
        for _ in range(3):   # the machine's own noise only ever adds: one look within the bounds shows that the agent keeps them
            loud = ask(4)
            reasons = loud.reasons()
            decided = reasons["within_limit"] / reasons.total()
            p99 = loud.slowest()[len(loud.samples) // 100]
            if decided >= least and p99 <= longest:
                return
    pytest.fail(f"{decided:.2%} decided, least {least:.1%}; p99 {p99:.4f} s, bound {longest:.4f} s; {reasons}")
