"""Limits that a trusted caller brings with a check: `limit_override`, `may_override` of the key, `max_override` of the plan."""

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, concurrency, leaky_bucket, mint_key, quota, token_bucket, window
from support.client import Answer, Client, fresh_subject
from support.process import wait_until
from support.redis_server import RedisServer

PLAN = 3      # the limit of every plan
MOST = 10     # what a check may bring
BROUGHT = 6

# Windows so long that no test meets their end, and rates so low that nothing comes back during one.
LIMITS: dict[str, dict[str, Any]] = {
    "token_bucket": token_bucket(PLAN, "1/1h", name="the"),
    "leaky_bucket": leaky_bucket(PLAN, "1/1h", name="the"),
    "fixed_window": window("fixed_window", PLAN, "1d", name="the", align="first"),
    "sliding_window": window("sliding_window", PLAN, "365d", name="the"),
    "sliding_window_log": window("sliding_window_log", PLAN, "1h", name="the"),
    "concurrency": concurrency(PLAN, "1h", name="the"),
    "quota": quota(PLAN, "year", name="the"),
}


def plan_of(algorithm: str, kind: str = "open") -> str:
    """The plan of an algorithm: `open`, or `stored`, which has overrides for user:1 to user:10."""
    return f"{algorithm.replace('_', '-')}-{kind}"


@pytest.fixture(scope="module")
def plain_key(program: Path) -> MintedKey:
    """A key without the right."""
    return mint_key(program)


@pytest.fixture(scope="module")
def bundle(key: MintedKey, plain_key: MintedKey) -> Bundle:
    """A plan for each algorithm, open to the trusted key."""
    bundle = Bundle().key(key, may_override=True).key(plain_key)
    for algorithm, limit in LIMITS.items():
        bundle.plan(plan_of(algorithm), limit, max_override={"the": MOST})
        bundle.plan(plan_of(algorithm, "stored"), limit, max_override={"the": MOST})
    for number in range(1, MOST + 1):
        for algorithm in LIMITS:
            amount = "capacity" if "bucket" in algorithm else "limit"
            bundle.override(plan_of(algorithm, str(number)), plan_id=plan_of(algorithm, "stored"), limit_name="the",
                            identity={"subject": f"user:{number}"}, set={amount: number})
    bundle.plan("closed", token_bucket(PLAN, "1/1h", name="burst"))
    bundle.plan("two", token_bucket(PLAN, "1/1h", name="burst"), window("fixed_window", 50, "1d", name="daily"),
                max_override={"burst": MOST})
    bundle.plan("all", token_bucket(PLAN, "1/1h", name="burst"), window("fixed_window", 5, "1d", name="daily"),
                max_override=20)
    bundle.plan("degrading", token_bucket(4, "1/1h", name="burst"), max_override=MOST, failure_mode="fail_degrade",
                degrade_share=0.5)
    bundle.plan("second", window("fixed_window", 1, "1s", name="the", align="first"), max_override=MOST)
    bundle.plan("trial", token_bucket(1, "1/1h", name="burst"), max_override=5)
    bundle.plan("wide", window("fixed_window", PLAN, "1m", name="the", align="first"), max_override=MOST)
    bundle.override("windowed", plan_id="wide", limit_name="the", identity={"subject": "user:windowed"},
                    set={"limit": 2, "window": "1d"})
    bundle.policy("orders", {"resource": "orders"}, "two")
    bundle.policy("watched", {"resource": "orders"}, "trial", mode="shadow", priority=1)
    bundle.policy("trial", {"resource": "trial"}, "trial", mode="shadow")
    bundle.policy("off", {"resource": "off"}, "two", mode="off")
    return bundle


@pytest.fixture(scope="module")
def agent(bundle: Bundle, key: MintedKey, redis: RedisServer, module_agent: Callable[..., Agent]) -> Agent:
    """Sanitizers are slow: its deadline is generous."""
    started: Agent = module_agent(bundle, redis.counters, "--redis-deadline", "2s").start()
    started.wait_for_redis(key.text, "closed")
    with started.client(key.text) as connection:
        wait_until_published(connection)
    return started


def wait_until_published(client: Client) -> None:
    """Until every stored override is in force."""
    for algorithm in LIMITS:
        for number in range(1, MOST + 1):
            asked = {"plan_id": plan_of(algorithm, "stored"), "subject": f"user:{number}", "cost": 0}
            wait_until("the override is published",
                       lambda asked=asked, number=number: client.check(**asked).body["limit"] == number)  # type: ignore[misc]
    wait_until("the override of the window is published",
               lambda: client.check(plan_id="wide", subject="user:windowed", cost=0).body["limit"] == 2)


@pytest.fixture(params=["redis", "memory"])
def anywhere(request: pytest.FixtureRequest, bundle: Bundle, key: MintedKey,
             make_agent: Callable[..., Agent]) -> Iterator[Client]:
    """A connection to an agent whose counters are in Redis, and to one that has them in memory."""
    chosen = request.getfixturevalue("agent") if request.param == "redis" else make_agent(bundle, "memory").start()
    with chosen.client(key.text) as connection:
        wait_until_published(connection)
        yield connection


def fault_of(answer: Answer, status: int = 422) -> tuple[str, str]:
    """The pointer and text of the only fault."""
    assert answer.status == status, answer.body
    error, = answer.body["errors"]
    return error["pointer"], error["detail"]


# --- the number judges -----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("algorithm", LIMITS)
def test_a_check_is_judged_by_the_number_that_it_brings(anywhere: Client, algorithm: str) -> None:
    asked: dict[str, Any] = {"plan_id": plan_of(algorithm), "subject": fresh_subject(), "limit_override": {"the": BROUGHT}}
    for left in reversed(range(BROUGHT)):
        answer = anywhere.check(**asked)
        assert (answer.status, answer.body["limit"], answer.body["remaining"]) == (200, BROUGHT, left)
        assert answer.headers["x-ratelimit-limit"] == str(BROUGHT)
    denied = anywhere.check(**asked)
    assert (denied.status, denied.body["limit_name"], denied.body["limit"]) == (429, "the", BROUGHT)


@pytest.mark.parametrize("algorithm", LIMITS)
def test_checks_with_and_without_a_number_share_one_counter(anywhere: Client, algorithm: str) -> None:
    asked = {"plan_id": plan_of(algorithm), "subject": fresh_subject()}
    assert anywhere.check(**asked).body["remaining"] == PLAN - 1
    assert anywhere.check(**asked, limit_override={"the": BROUGHT}).body["remaining"] == BROUGHT - 2
    assert anywhere.check(**asked).body["remaining"] == PLAN - 3
    assert anywhere.check(**asked).status == 429
    assert anywhere.check(**asked, limit_override={"the": 4}).body["remaining"] == 0
    assert anywhere.check(**asked, limit_override={"the": 2}).status == 429


@pytest.mark.parametrize("algorithm", LIMITS)
def test_a_number_answers_as_a_stored_override_of_the_same_number(agent: Agent, key: MintedKey, algorithm: str) -> None:
    """A random history of costs, on a counter with a stored override and on one whose checks bring the number."""
    choose = random.Random(algorithm)
    clock = ("reset_at", "retry_after_ms", "delay_ms", "lease_id", "lease_expires_at", "plan_id")
    with agent.client(key.text) as client:
        for number in range(1, MOST + 1):
            subject = fresh_subject()
            for _ in range(12):
                cost = choose.choice([0, 1, 1, 1, 2, 3, number, number + 1])
                stored = client.check(plan_id=plan_of(algorithm, "stored"), subject=f"user:{number}", cost=cost)
                brought = client.check(plan_id=plan_of(algorithm), subject=subject, cost=cost, limit_override={"the": number})
                assert stored.status == brought.status
                assert {name: value for name, value in stored.body.items() if name not in clock} == \
                    {name: value for name, value in brought.body.items() if name not in clock}


@pytest.mark.parametrize("algorithm", LIMITS)
def test_a_number_takes_the_place_of_a_stored_override(anywhere: Client, algorithm: str) -> None:
    asked = {"plan_id": plan_of(algorithm, "stored"), "subject": "user:9", "cost": 0}
    assert anywhere.check(**asked).body["limit"] == 9
    assert anywhere.check(**asked, limit_override={"the": 4}).body["limit"] == 4
    assert anywhere.check(**asked, limit_override={"the": MOST}).body["limit"] == MOST
    assert anywhere.check(**asked).body["limit"] == 9


def test_a_stored_window_stays_and_its_counter_with_it(anywhere: Client) -> None:
    asked: dict[str, Any] = {"plan_id": "wide", "subject": "user:windowed"}
    first = anywhere.check(**asked)
    assert (first.body["limit"], first.body["remaining"]) == (2, 1)
    brought = anywhere.check(**asked, limit_override={"the": 7})
    assert (brought.body["limit"], brought.body["remaining"]) == (7, 5)
    assert brought.body["reset_at"] == first.body["reset_at"]
    assert anywhere.check(**asked).status == 429
    assert anywhere.check(**asked, limit_override={"the": 3}).body["remaining"] == 0


def test_limits_that_are_not_named_keep_their_numbers(anywhere: Client) -> None:
    answer = anywhere.check(plan_id="two", subject=fresh_subject(), limit_override={"burst": 9}, explain=True)
    limits = {limit["name"]: limit for limit in answer.body["limits"]}
    assert (limits["burst"]["limit"], limits["daily"]["limit"]) == (9, 50)
    assert limits["burst"]["limit_from"] == "limit_override"
    assert "limit_from" not in limits["daily"]


def test_one_max_override_is_for_all_limits(anywhere: Client) -> None:
    answer = anywhere.check(plan_id="all", subject=fresh_subject(), limit_override={"burst": 20, "daily": 19}, explain=True)
    assert [limit["limit"] for limit in answer.body["limits"]] == [20, 19]


def test_an_empty_limit_override_changes_nothing(anywhere: Client) -> None:
    assert anywhere.check(plan_id="closed", subject=fresh_subject(), limit_override={}).body["limit"] == PLAN


# --- who may bring what ----------------------------------------------------------------------------------------------

def test_a_key_without_may_override_is_refused_and_nothing_is_charged(agent: Agent, plain_key: MintedKey) -> None:
    subject = fresh_subject()
    with agent.client(plain_key.text) as client:
        answer = client.check(plan_id="two", subject=subject, limit_override={"burst": 5}, request_id="r1")
        pointer, text = fault_of(answer, 403)
        assert (answer.body["type"], answer.body["code"]) == ("/problems/may-not-override", "may_not_override")
        assert (pointer, answer.body["request_id"]) == ("/limit_override", "r1")
        assert "may_override" in text and "leave it out" in text
        assert client.check(plan_id="two", subject=subject, cost=0).body["remaining"] == PLAN
        assert client.check(resource="off", limit_override={"burst": 5}).status == 403
        assert client.get("/problems/may-not-override").status == 200


def test_an_unknown_limit_is_refused_with_the_nearest_names(client: Client) -> None:
    pointer, text = fault_of(client.check(plan_id="two", subject=fresh_subject(), limit_override={"brust": 5}))
    assert pointer == "/limit_override/brust"
    assert text == 'there is no limit "brust" in the plan that decides. Did you mean "burst"?'


def test_a_number_above_max_override_is_refused_with_the_bound(client: Client) -> None:
    subject = fresh_subject()
    assert client.check(plan_id="two", subject=subject, limit_override={"burst": MOST}).status == 200
    pointer, text = fault_of(client.check(plan_id="two", subject=subject, limit_override={"burst": MOST + 1}))
    assert (pointer, text) == ("/limit_override/burst", f"must be at most {MOST}, the max_override of the plan")
    assert client.check(plan_id="two", subject=subject, cost=0, limit_override={"burst": MOST}).body["remaining"] == MOST - 1


@pytest.mark.parametrize(("plan", "limit"), [("closed", "burst"), ("two", "daily")])
def test_a_limit_without_max_override_takes_no_number(client: Client, plan: str, limit: str) -> None:
    pointer, text = fault_of(client.check(plan_id=plan, subject=fresh_subject(), limit_override={limit: 1}))
    assert pointer == f"/limit_override/{limit}"
    assert "no max_override" in text


def test_all_faulty_numbers_are_named_at_once(client: Client) -> None:
    answer = client.check(plan_id="two", subject=fresh_subject(), limit_override={"burst": 99, "daily": 1, "b": 2})
    assert answer.status == 422
    assert [error["pointer"] for error in answer.body["errors"]] == [f"/limit_override/{name}" for name in ("burst", "daily", "b")]


@pytest.mark.parametrize(("value", "status", "pointer"), [
    (0, 422, "/limit_override/burst"), (-1, 422, "/limit_override/burst"), (2 ** 50 + 1, 422, "/limit_override/burst"),
    (1.5, 400, "/limit_override/burst"), ("5", 400, "/limit_override/burst"), (True, 400, "/limit_override/burst"),
    (None, 400, "/limit_override/burst"), ({"limit": 5}, 400, "/limit_override/burst")])
def test_a_number_is_a_positive_integer(client: Client, value: Any, status: int, pointer: str) -> None:
    assert fault_of(client.check(plan_id="two", subject="a", limit_override={"burst": value}), status)[0] == pointer


def test_a_bare_number_is_refused_with_the_form(client: Client) -> None:
    pointer, text = fault_of(client.check(plan_id="two", subject="a", limit_override=5), 400)
    assert pointer == "/limit_override"
    assert '{"burst":500}' in text


@pytest.mark.parametrize("name", ["limit", "limits", "max_requests", "override"])
def test_other_names_lead_to_limit_override(client: Client, name: str) -> None:
    assert "write it as limit_override" in fault_of(client.check(plan_id="two", subject="a", **{name: 5}), 400)[1]


# --- policies, batches, waiting, failures ----------------------------------------------------------------------------

def test_a_shadow_takes_a_number_that_it_may_have_and_else_its_own(client: Client) -> None:
    asked: dict[str, Any] = {"resource": "orders", "subject": fresh_subject(), "cost": 0}
    both = client.check(**asked, limit_override={"burst": 5}).body
    assert (both["limit"], both["shadow_result"]["limit"]) == (5, 5)
    own = client.check(**asked, limit_override={"burst": 6}).body
    assert (own["limit"], own["shadow_result"]["limit"]) == (6, 1)


def test_a_shadow_that_is_alone_takes_and_bounds_the_number(client: Client) -> None:
    subject = fresh_subject()
    assert client.check(resource="trial", subject=subject, limit_override={"burst": 5}).body["limit"] == 5
    assert client.check(resource="trial", subject=subject, limit_override={"burst": 6}).status == 422


@pytest.mark.parametrize(("resource", "reason"), [("off", "mode_off"), ("nobody", "no_policy")])
def test_where_no_limit_judges_a_number_has_nothing_to_change(client: Client, resource: str, reason: str) -> None:
    answer = client.check(resource=resource, subject="a", limit_override={"burst": 5})
    assert (answer.status, answer.body["reason"]) == (200, reason)


def test_each_check_of_a_batch_brings_its_own_number(anywhere: Client) -> None:
    subject = fresh_subject()
    answer = anywhere.batch({"plan_id": "two", "subject": subject, "limit_override": {"burst": 9}},
                            {"plan_id": "two", "subject": subject},
                            {"plan_id": "two", "subject": subject, "limit_override": {"burst": 11}},
                            {"plan_id": "two", "subject": subject, "limit_override": {"burst": 4}})
    first, second, refused, last = answer.body["results"]
    assert [first["limit"], second["limit"], last["limit"]] == [9, 3, 4]
    assert [first["remaining"], second["remaining"], last["remaining"]] == [8, 1, 1]
    assert refused["errors"][0]["pointer"] == "/checks/2/limit_override/burst"


def test_a_batch_of_a_key_without_the_right_has_403_in_the_places_that_bring_numbers(agent: Agent,
                                                                                     plain_key: MintedKey) -> None:
    with agent.client(plain_key.text) as client:
        refused, judged = client.batch({"plan_id": "two", "subject": "a", "limit_override": {"burst": 9}},
                                       {"plan_id": "two", "subject": fresh_subject()}).body["results"]
    assert (refused["status"], judged["allowed"]) == (403, True)


def test_a_check_that_waits_keeps_its_number(client: Client) -> None:
    subject = fresh_subject()
    assert client.check(plan_id="second", subject=subject, cost=2, limit_override={"the": 2}).status == 200
    answer = client.check(plan_id="second", subject=subject, cost=2, limit_override={"the": 2}, wait="20s")
    assert (answer.status, answer.body["limit"], answer.body["remaining"]) == (200, 2, 0)
    assert answer.body["waited_ms"] >= 0


def test_a_number_that_fits_does_not_wait_behind_checks_that_do_not(agent: Agent, key: MintedKey) -> None:
    asked: dict[str, Any] = {"plan_id": plan_of("concurrency"), "subject": fresh_subject(), "wait": "20s"}
    with agent.client(key.text) as client, agent.client(key.text) as other, ThreadPoolExecutor(1) as threads:
        leases = [client.check(**asked).body["lease_id"] for _ in range(PLAN)]
        held = threads.submit(other.check, **asked)
        wait_until("a check is held", lambda: agent.metric("sluice_checks_held") == 1)
        brought = client.check(**asked, limit_override={"the": MOST})
        assert (brought.status, brought.body["limit"]) == (200, MOST)
        assert "waited_ms" not in brought.body
        for lease in (*leases, brought.body["lease_id"]):
            client.release(lease)
        assert held.result(60).status == 200


def test_while_redis_is_away_the_agent_takes_its_share_of_the_number(make_agent: Callable[..., Agent], bundle: Bundle,
                                                                     key: MintedKey, make_redis: Callable[..., RedisServer]) -> None:
    own_redis = make_redis()
    agent: Agent = make_agent(bundle, own_redis.counters, "--redis-deadline", "20ms").start()
    agent.wait_for_redis(key.text, "closed")
    own_redis.kill9()
    subject = fresh_subject()
    with agent.client(key.text) as client:
        def degraded() -> dict[str, Any]:
            return client.check(plan_id="degrading", subject=subject, cost=0, limit_override={"burst": 10}).body
        wait_until("the agent judges by its share", lambda: degraded()["reason"] == "degraded")
        assert degraded()["limit"] == 5
        assert client.check(plan_id="degrading", subject=subject, cost=0).body["limit"] == 2
