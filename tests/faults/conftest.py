"""What the fault tests share: a bundle with both failure modes and how slow an answer may be."""

from collections.abc import Callable

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket
from support.redis_server import RedisServer

CAPACITY = 300_000


@pytest.fixture
def both_modes(key: MintedKey) -> Bundle:
    """Two plans that never fill up: one fails closed, one open."""
    bundle = Bundle().key(key)
    bundle.plan("closed", token_bucket(CAPACITY, "1/1h"))
    bundle.plan("open", token_bucket(CAPACITY, "1/1h"), failure_mode="fail_open")
    return bundle


@pytest.fixture
def answer_within(sanitized: bool) -> float:
    """Seconds within which every answer must come: the promise, or what a sanitizer makes of it."""
    return 0.5 if sanitized else 0.05


@pytest.fixture
def connected(both_modes: Bundle, key: MintedKey, make_agent: Callable[..., Agent]) -> Callable[[RedisServer], Agent]:
    """Starts an agent on a Redis and waits until it decides there."""

    def start(server: RedisServer, *flags: str) -> Agent:
        agent = make_agent(both_modes, server.counters, *flags).start()
        agent.wait_for_redis(key.text, "closed")
        return agent

    return start
