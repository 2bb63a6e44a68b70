"""Embedded mode: a bundle and counters in memory, and no other process at all."""

import threading
from collections.abc import Callable, Iterator

import pytest

from support.agent import Agent
from support.bundle import MintedKey
from support.client import Client, fresh_subject
from support.process import wait_until
from support.standard import standard_bundle


@pytest.fixture(scope="module")
def embedded(key: MintedKey, other_key: MintedKey, module_agent: Callable[..., Agent]) -> Agent:
    """An agent that counts in its own memory."""
    started: Agent = module_agent(standard_bundle(key, other_key), "memory").start()
    return started


@pytest.fixture
def local(embedded: Agent, key: MintedKey) -> Iterator[Client]:
    """A connection to it."""
    with embedded.client(key.text) as connection:
        yield connection


def test_it_is_ready_at_once_and_says_nothing_is_degraded(embedded: Agent) -> None:
    with Client(embedded.admin_port) as admin:
        answer = admin.get("/readyz")
    assert answer.status == 200
    assert "redis" not in str(answer.body).lower()


@pytest.mark.parametrize("plan", ["bucket", "leaky", "fixed", "sliding", "log", "monthly"])
def test_each_algorithm_admits_its_limit_and_no_more(local: Client, plan: str) -> None:
    subject = fresh_subject()
    statuses = [local.check(plan_id=plan, subject=subject).status for _ in range(8)]
    assert statuses == [200] * 5 + [429] * 3


def test_leases_are_taken_renewed_released_and_expire(local: Client) -> None:
    subject = fresh_subject()
    leases = [local.check(plan_id="short-leases", subject=subject).body["lease_id"] for _ in range(2)]
    assert local.renew(leases[0]).status == 200
    assert local.release(leases[0]).status == 200
    wait_until("the other lease's end", lambda: local.check(
        plan_id="short-leases", subject=subject, cost=0).body["remaining"] == 2)


def test_an_override_of_the_bundle_is_in_force(local: Client) -> None:
    assert local.check(resource="GET:/orders", subject="user:vip", cost=0).body["limit"] == 50


def test_several_workers_share_one_count(key: MintedKey, other_key: MintedKey,
                                         make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(standard_bundle(key, other_key), "memory", "--workers", "4").start()
    statuses: list[int] = []

    def run() -> None:
        with agent.client(key.text) as client:
            statuses.extend(client.check(plan_id="log", subject="one").status for _ in range(10))

    threads = [threading.Thread(target=run) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses.count(200) == 5
    assert statuses.count(429) == 155
