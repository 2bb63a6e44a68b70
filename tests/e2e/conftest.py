"""The agent and the clients most end-to-end tests share."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey
from support.client import Client
from support.redis_server import RedisServer
from support.standard import standard_bundle

@pytest.fixture(scope="module")
def bundle(key: MintedKey, other_key: MintedKey) -> Bundle:
    """The standard bundle."""
    return standard_bundle(key, other_key)


@pytest.fixture(scope="module")
def agent(bundle: Bundle, key: MintedKey, redis: RedisServer, module_agent: Callable[..., Agent]) -> Agent:
    """An agent with the standard bundle on the module's Redis. Sanitizers are slow: its deadline is generous."""
    started: Agent = module_agent(bundle, redis.counters, "--redis-deadline", "2s").start()
    started.wait_for_redis(key.text, "bucket")
    return started


@pytest.fixture
def client(agent: Agent, key: MintedKey) -> Iterator[Client]:
    """A connection of tenant acme."""
    with agent.client(key.text) as connection:
        yield connection


@pytest.fixture
def rival(agent: Agent, other_key: MintedKey) -> Iterator[Client]:
    """A connection of another tenant."""
    with agent.client(other_key.text) as connection:
        yield connection


@pytest.fixture
def spend(client: Client) -> Callable[..., None]:
    """Spends a budget: spend(times, subject=…, plan_id=…)."""

    def run(times: int, **fields: Any) -> None:
        for _ in range(times):
            assert client.check(**fields).status == 200

    return run
