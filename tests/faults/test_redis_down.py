"""Redis killed or frozen under load: every request is answered in time, honestly, by its own reply; service comes back."""

import os
import time
from collections import Counter
from collections.abc import Callable

import pytest

from faults.conftest import CAPACITY
from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket
from support.client import Answer, Client
from support.faults import Fault
from support.load import Load, Sample
from support.process import wait_until
from support.redis_server import RedisServer

Connect = Callable[..., Agent]
FROZEN_SECONDS = float(os.environ.get("SLUICE_FROZEN_SECONDS", "10"))
BACK_WITHIN = 2.0   # seconds after Redis


def alternating(number: int) -> dict[str, object]:
    """Every other request fails open."""
    return {"plan_id": "open" if number % 2 else "closed", "subject": f"load{number % 7}"}


def assert_answered_honestly(samples: list[Sample]) -> None:
    """All answered; without Redis by the failure mode of their plan, and each by its own reply."""
    assert samples
    for sample in samples:
        expected = {"within_limit": 200, "fail_open": 200, "fail_closed": 503}
        assert sample.status == expected.get(sample.reason), (sample.status, sample.body)
        if sample.reason.startswith("fail_"):
            assert sample.reason == ("fail_open" if sample.plan == "open" else "fail_closed")
        assert sample.body["plan_id"] == sample.plan
        assert sample.body["request_id"] == sample.request_id


def assert_in_time(load: Load, seconds: float) -> None:
    """At most one in 10,000 takes longer: of the agent's time all of them, as we see it 99 of 100."""
    slowest = load.slowest()
    allowed = max(1, len(slowest) // 10_000)
    assert slowest[allowed] <= seconds, f"slowest of {len(slowest)}: {slowest[:5]}"
    assert load.percentile(99) <= seconds


def back_in_service(load: Load, since: float) -> float:
    """Seconds from `since` until the last request that Redis did not decide."""
    failed = [sample.sent for sample in load.samples if sample.sent > since and sample.reason != "within_limit"]
    return max(failed, default=since) - since


@pytest.mark.alone
@pytest.mark.fault("redis-killed", least=1000)
def test_redis_killed_under_load_every_request_is_answered_and_service_is_back(
        key: MintedKey, make_redis: Callable[..., RedisServer], connected: Connect, answer_within: float,
        fault: Fault) -> None:
    server = make_redis(appendonly=True)
    agent = connected(server)
    with Load(agent, key.text, alternating) as load:
        time.sleep(0.5)
        server.kill9()
        killed = time.monotonic()
        time.sleep(2.0)
        server.restart()
        returned = time.monotonic()
        time.sleep(BACK_WITHIN + 1.0)
    assert_answered_honestly(load.samples)
    assert_in_time(load, answer_within)
    down = load.reasons(killed + 0.1, returned - 0.5)
    assert down["within_limit"] == 0 and down["fail_open"] > 10 and down["fail_closed"] > 10
    assert load.reasons(until=killed - 0.1)["within_limit"] > 10
    fault.recovered(back_in_service(load, returned), BACK_WITHIN)
    assert load.reasons(returned + BACK_WITHIN)["within_limit"] > 10


@pytest.mark.fault("redis-killed-metrics", least=100)
def test_metrics_by_reason_add_up_to_all_requests_of_an_outage(
        key: MintedKey, make_redis: Callable[..., RedisServer], connected: Connect) -> None:
    server = make_redis()
    agent = connected(server)

    def counted() -> Counter[str]:
        return Counter({reason: int(agent.metric("sluice_decisions_total", tenant="acme", reason=reason))
                        for reason in ("within_limit", "fail_open", "fail_closed")})

    before = counted()
    with Load(agent, key.text, alternating, rate=300) as load:
        time.sleep(0.3)
        server.kill9()
        time.sleep(0.7)
    assert counted() - before == load.reasons()


@pytest.mark.alone
@pytest.mark.fault("redis-down")
def test_redis_down_answers_at_once(key: MintedKey, make_redis: Callable[..., RedisServer], connected: Connect,
                                    answer_within: float) -> None:
    server = make_redis()
    agent = connected(server)
    server.kill9()
    with agent.client(key.text) as client:
        wait_until("the agent to notice", lambda: client.check(plan_id="closed", subject="a").status == 503)
        times = sorted(client.check(plan_id="closed", subject="a").seconds for _ in range(200))
    assert times[100] < answer_within / 5, "while Redis is known to be down nobody waits for it"


@pytest.mark.alone
@pytest.mark.fault("redis-frozen", least=2000)
def test_redis_stopped_for_10_s_no_reply_is_ever_paired_with_another_request(
        key: MintedKey, make_redis: Callable[..., RedisServer], make_agent: Callable[..., Agent],
        answer_within: float, fault: Fault) -> None:
    # Each plan has a capacity of its own, so that every reply of Redis tells whose it is.
    capacities = {f"p{number}": 100_000 + 1000 * number for number in range(40)}
    bundle = Bundle().key(key)
    for name, capacity in capacities.items():
        bundle.plan(name, token_bucket(capacity, "1/1h"))
    server = make_redis()
    agent = make_agent(bundle, server.counters).start()
    agent.wait_for_redis(key.text, "p0")

    def body(number: int) -> dict[str, object]:
        return {"plan_id": f"p{number % 40}", "subject": "one", "cost": number % 3}

    with Load(agent, key.text, body) as load:
        time.sleep(0.5)
        for seconds in (0.03, 0.04, 0.06, 0.2, FROZEN_SECONDS):
            server.pause()
            time.sleep(seconds)
            server.resume()
            time.sleep(0.5)
        resumed = time.monotonic()
        time.sleep(BACK_WITHIN + 1.0)
    # When Redis is back, a sanitizer's agent may be slower than the load for a moment.
    assert {sample.reason for sample in load.samples} <= {"within_limit", "fail_closed", "overload"}
    for sample in load.samples:
        assert (sample.body["plan_id"], sample.body["request_id"]) == (sample.plan, sample.request_id)
        if sample.reason == "within_limit":
            capacity = capacities[sample.plan]
            assert sample.body["limit"] == capacity
            assert capacity - 1000 < sample.body["remaining"] <= capacity
    assert load.reasons()["fail_closed"] > 100
    assert_in_time(load, answer_within)
    fault.recovered(back_in_service(load, resumed), BACK_WITHIN)


@pytest.mark.fault("redis-frozen-charges", least=500)
def test_what_was_charged_by_late_replies_is_never_more_than_what_was_sent(
        key: MintedKey, make_redis: Callable[..., RedisServer], connected: Connect, fault: Fault) -> None:
    server = make_redis()
    agent = connected(server)
    with Load(agent, key.text, lambda number: {"plan_id": "closed", "subject": "late"}) as load:
        for _ in range(5):
            time.sleep(0.2)
            server.pause()
            time.sleep(0.1)
            server.resume()
        time.sleep(1.0)
    with agent.client(key.text) as client:
        spent = CAPACITY - client.check(plan_id="closed", subject="late", cost=0).body["remaining"]
    # A retried command would be charged twice.
    fault.admitted(spent, len(load.samples), least=load.reasons()["within_limit"])


def first_decision(client: Client) -> Answer:
    """The restarted Redis' first decision in time. The calls cost nothing, as one that is late is charged too."""
    return wait_until("Redis' decisions", lambda: next(
        (a for a in [client.check(plan_id="closed", subject="a", cost=0)] if a.status == 200), None), BACK_WITHIN + 1)


@pytest.mark.fault("redis-restarted-empty")
def test_redis_restarted_empty_starts_counting_anew(key: MintedKey, make_redis: Callable[..., RedisServer],
                                                    connected: Connect) -> None:
    server = make_redis()
    agent = connected(server)
    with agent.client(key.text) as client:
        assert client.check(plan_id="closed", subject="a", cost=9).body["remaining"] == CAPACITY - 9
        server.kill9()
        server.restart()
        assert first_decision(client).body["remaining"] == CAPACITY


@pytest.mark.fault("redis-restarted-with-aof")
def test_redis_restarted_with_its_log_remembers(key: MintedKey, make_redis: Callable[..., RedisServer],
                                                connected: Connect) -> None:
    server = make_redis(appendonly=True, options=["--appendfsync", "always"])
    agent = connected(server)
    with agent.client(key.text) as client:
        client.check(plan_id="closed", subject="a", cost=9)
        server.kill9()
        server.restart()
        assert first_decision(client).body["remaining"] == CAPACITY - 9


@pytest.mark.fault("nothing-at-start")
def test_an_agent_that_started_without_redis_decides_once_it_is_there(
        key: MintedKey, make_redis: Callable[..., RedisServer], both_modes: Bundle,
        make_agent: Callable[..., Agent]) -> None:
    server = make_redis()
    server.kill9()
    agent = make_agent(both_modes, server.counters).start()
    with agent.client(key.text) as client:
        assert client.check(plan_id="closed", subject="a").status == 503
        server.restart()
        wait_until("Redis' decisions", lambda: client.check(plan_id="closed", subject="a").status == 200, BACK_WITHIN + 1)
