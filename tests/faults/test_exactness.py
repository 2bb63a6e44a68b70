"""Several agents hammer one subject: what must be exact is exact, and the buckets keep their bound at every instant.

On one Redis and on a Cluster. SLUICE_EXACTNESS_ROUNDS says how often each algorithm is run (10 on each).
"""

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from pathlib import Path

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, concurrency, leaky_bucket, quota, token_bucket, window
from support.client import fresh_subject
from support.cluster import Cluster

ROUNDS = int(os.environ.get("SLUICE_EXACTNESS_ROUNDS", "10"))
AGENTS = 3
CONNECTIONS = 32      # for each agent
REQUESTS = 4          # on each connection
LIMIT = 100
RATE = Fraction(50, 1_000_000)   # units a microsecond: 50 a second

EXACT = {
    "fixed": window("fixed_window", LIMIT, "1d", align="first"),
    "sliding": window("sliding_window", LIMIT, "1d"),
    "log": window("sliding_window_log", LIMIT, "1h"),
    "concurrency": concurrency(LIMIT, "1h"),
    "quota": quota(LIMIT, "year"),
}
BUCKETS = {"token": token_bucket(LIMIT, "50/1s"), "leaky": leaky_bucket(LIMIT, "50/1s")}


@dataclass(frozen=True)
class Admission:
    """An answer: when Redis judged it, what it cost, whether it passed."""

    now_us: int
    cost: int
    admitted: bool


@pytest.fixture(scope="module", params=["single", "cluster"])
def counters(request: pytest.FixtureRequest, module_folder: Path) -> Iterator[str]:
    """Where they count: one Redis, or a Cluster of three."""
    if request.param == "single":
        yield request.getfixturevalue("redis").counters
        return
    with Cluster(module_folder / "cluster", replicas=0) as cluster:
        yield cluster.counters


@pytest.fixture(scope="module")
def agents(key: MintedKey, counters: str, module_agent: Callable[..., Agent]) -> list[Agent]:
    """Three agents."""
    bundle = Bundle().key(key)
    for name, limit in {**EXACT, **BUCKETS}.items():
        bundle.plan(name, limit)
    started = [module_agent(bundle, counters, "--redis-deadline", "10s").start() for _ in range(AGENTS)]
    for agent in started:
        agent.wait_for_redis(key.text, "token")
    return started


def hammer(agents: list[Agent], key: MintedKey, plan: str, costs: list[int]) -> list[Admission]:
    """All connections of all agents at once on one subject; every answer, by Redis' clock."""
    subject = fresh_subject("hammered")
    barrier = threading.Barrier(AGENTS * CONNECTIONS)
    admissions: list[Admission] = []
    failures: list[str] = []

    def run(agent: Agent, number: int) -> None:
        with agent.client(key.text).connect() as client:
            barrier.wait()
            for request in range(REQUESTS):
                cost = costs[(number + request) % len(costs)]
                answer = client.explain(plan_id=plan, subject=subject, cost=cost)
                if answer.status not in (200, 429) or answer.body["reason"] not in ("within_limit", "limit_exceeded"):
                    failures.append(str(answer.body))
                else:
                    admissions.append(Admission(answer.body["now_us"], cost, answer.status == 200))

    threads = [threading.Thread(target=run, args=(agent, number)) for agent in agents for number in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[:3]
    assert len(admissions) == AGENTS * CONNECTIONS * REQUESTS
    return sorted(admissions, key=lambda admission: admission.now_us)


@pytest.mark.fault("exactness")
@pytest.mark.parametrize("plan", EXACT)
@pytest.mark.parametrize("round_number", range(ROUNDS))
def test_windows_quota_and_concurrency_admit_exactly_the_limit(agents: list[Agent], key: MintedKey, plan: str,
                                                              round_number: int) -> None:
    admissions = hammer(agents, key, plan, [1])
    assert sum(admission.admitted for admission in admissions) == LIMIT


@pytest.mark.fault("exactness-bucket")
@pytest.mark.parametrize("plan", BUCKETS)
@pytest.mark.parametrize("round_number", range(ROUNDS))
def test_a_bucket_admits_capacity_and_refill_over_every_interval_and_no_less(
        agents: list[Agent], key: MintedKey, plan: str, round_number: int) -> None:
    admissions = hammer(agents, key, plan, [1])
    passed = [admission for admission in admissions if admission.admitted]
    # Over every interval [i, j]: the sum of costs is at most capacity + rate * length. With prefix sums P this is
    # P(j) - rate*t(j) <= capacity + min over i of (P(i-1) - rate*t(i)), so one pass suffices.
    spent, lowest = 0, Fraction(0)
    for index, admission in enumerate(passed):
        before = Fraction(spent) - RATE * admission.now_us
        lowest = before if index == 0 else min(lowest, before)
        spent += admission.cost
        assert spent - RATE * admission.now_us - lowest <= LIMIT, f"over-admitted by {admission.now_us}"
    # Somebody was denied near the end, so the bucket was empty then: all that could pass did, less a part of one.
    last_denial = max(admission.now_us for admission in admissions if not admission.admitted)
    until_then = sum(admission.cost for admission in passed if admission.now_us <= last_denial)
    could_pass = LIMIT + RATE * (last_denial - passed[0].now_us)
    assert until_then >= floor(could_pass) - 1
    assert until_then <= could_pass


@pytest.mark.fault("exactness-costs")
@pytest.mark.parametrize("plan", EXACT)
def test_mixed_costs_never_pass_the_limit(agents: list[Agent], key: MintedKey, plan: str) -> None:
    admissions = hammer(agents, key, plan, [1, 2, 3, 5])
    total = sum(admission.cost for admission in admissions if admission.admitted)
    # Costs of one were denied in the end, so nothing is left.
    assert total == LIMIT
