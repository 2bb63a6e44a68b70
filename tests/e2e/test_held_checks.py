"""Checks that the agent holds until they fit: `wait` of a check, and the action delay."""

import json
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, concurrency, quota, token_bucket, window
from support.client import Answer, Client, fresh_subject
from support.process import wait_until
from support.raw import RawConnection, check_request
from support.redis_server import RedisServer

SECOND = 1.0   # the window of most plans here
SLACK = 3.0    # seconds that a busy machine may take longer
MOST_OF_COUNTER = 100


@pytest.fixture(scope="module")
def bundle(key: MintedKey, other_key: MintedKey) -> Bundle:
    """Plans that fit again after a second, or much later."""
    bundle = Bundle().key(key).add_tenant("rival").key(other_key, tenant="rival")
    bundle.plan("bucket", token_bucket(1, "1/1s"))
    bundle.plan("fixed", window("fixed_window", 1, "1s", align="first"))
    bundle.plan("sliding", window("sliding_window", 1, "1s"))
    bundle.plan("log", window("sliding_window_log", 1, "1s"))
    bundle.plan("minute", window("fixed_window", 1, "1m", align="first"))
    bundle.plan("monthly", quota(1, "month"))
    bundle.plan("leases", concurrency(1, "1h"))
    bundle.plan("dropping", window("fixed_window", 1, "1s", align="first"), action="drop")
    bundle.plan("delay-fixed", window("fixed_window", 1, "1s", align="first"), action="delay", max_delay="10s")
    bundle.plan("delay-log", window("sliding_window_log", 1, "1s"), action="delay", max_delay="10s")
    bundle.plan("delay-leases", concurrency(1, "1h"), action="delay", max_delay="10s")
    bundle.plan("delay-minute", window("fixed_window", 1, "1m", align="first"), action="delay", max_delay="1s")
    bundle.plan("delay-bucket", token_bucket(1, "1/1h"), action="delay", max_delay="2h")
    bundle.plan("delay-both", token_bucket(1, "1/1s"), window("fixed_window", 2, "1s", align="first"),
                action="delay", max_delay="5s")
    bundle.plan("rivals", window("fixed_window", 1, "1s", align="first"), tenant="rival")
    bundle.policy("orders", {"resource": "orders"}, "fixed")
    bundle.policy("watched", {"resource": "orders"}, "minute", mode="shadow", priority=1)
    return bundle


@pytest.fixture(scope="module")
def agent(bundle: Bundle, key: MintedKey, redis: RedisServer, module_agent: Callable[..., Agent]) -> Agent:
    """One worker, because each worker has lines of its own. Sanitizers are slow: its deadline is generous."""
    started: Agent = module_agent(bundle, redis.counters, "--workers", "1", "--redis-deadline", "2s").start()
    started.wait_for_redis(key.text, "bucket")
    return started


class Asking:
    """One check on a connection and a thread of its own."""

    def __init__(self, agent: Agent, key: MintedKey, **fields: Any) -> None:
        self.client = agent.client(key.text)
        self.answered_at = 0.0
        self._answer: list[Answer] = []
        self._thread = threading.Thread(target=self._ask, kwargs=fields)
        self._thread.start()

    def _ask(self, **fields: Any) -> None:
        self._answer.append(self.client.check(**fields))
        self.answered_at = time.monotonic()

    def answer(self) -> Answer:
        """Waits for it."""
        self._thread.join(60)
        self.client.close()
        return self._answer[0]


def held(agent: Agent) -> float:
    """How many checks the agent holds."""
    return agent.metric("sluice_checks_held")


def until_held(agent: Agent, count: int) -> None:
    """Waits until the agent holds so many."""
    wait_until(f"{count} held checks", lambda: held(agent) == count)


def ended(agent: Agent, outcome: str, tenant: str = "acme") -> float:
    """How many held checks ended so."""
    return agent.metric("sluice_held_checks_total", tenant=tenant, outcome=outcome)


def raw(key: MintedKey, **fields: Any) -> bytes:
    """A check as bytes."""
    return check_request(key.text, json.dumps(fields).encode())


@pytest.mark.parametrize("plan", ["bucket", "fixed", "sliding", "log", "dropping"])
def test_a_check_that_waits_passes_when_its_limit_frees(client: Client, plan: str) -> None:
    subject = fresh_subject()
    assert client.check(plan_id=plan, subject=subject).status == 200
    answer = client.check(plan_id=plan, subject=subject, wait="10s")
    assert (answer.status, answer.body["reason"], answer.body["action"]) == (200, "within_limit", "allow")
    assert answer.body["delay_ms"] == 0 and answer.body["retry_after_ms"] == 0
    least = 0.2 if plan == "sliding" else 0.5   # the first check took a part of the window
    assert least <= (answer.body["waited_ms"] - 1) / 1000 <= answer.seconds <= 2 * SECOND + SLACK
    refused = client.check(plan_id=plan, subject=subject)
    assert refused.status == 429 and "waited_ms" not in refused.body, "without wait it is answered at once"


@pytest.mark.parametrize("plan", ["delay-fixed", "delay-log"])
def test_the_action_delay_holds_what_is_over_a_window(client: Client, plan: str) -> None:
    subject = fresh_subject()
    first = client.check(plan_id=plan, subject=subject)
    assert first.status == 200 and "waited_ms" not in first.body
    second = client.check(plan_id=plan, subject=subject)
    assert second.status == 200 and second.body["waited_ms"] >= 500 and second.seconds <= SECOND + SLACK


def test_the_action_delay_holds_for_a_lease_until_one_is_released(agent: Agent, client: Client, key: MintedKey) -> None:
    subject = fresh_subject()
    lease = client.check(plan_id="delay-leases", subject=subject).body["lease_id"]
    waiting = Asking(agent, key, plan_id="delay-leases", subject=subject)
    until_held(agent, 1)
    released_at = time.monotonic()
    assert client.release(lease).body == {"released": True}
    answer = waiting.answer()
    assert answer.status == 200 and client.release(answer.body["lease_id"]).body == {"released": True}
    assert waiting.answered_at - released_at <= 0.3 + SLACK, "it asks every 250 ms"


def test_a_bucket_with_the_action_delay_still_goes_into_debt_at_once(client: Client) -> None:
    subject = fresh_subject()
    client.check(plan_id="delay-bucket", subject=subject)
    answer = client.check(plan_id="delay-bucket", subject=subject)
    assert (answer.status, answer.body["action"]) == (200, "delay")
    assert answer.body["delay_ms"] > 3_000_000 and "waited_ms" not in answer.body
    assert client.check(plan_id="delay-bucket", subject=subject, cost=2).status == 429


def test_a_plan_that_mixes_them_passes_when_all_limits_fit(client: Client) -> None:
    subject = fresh_subject()
    answers = [client.check(plan_id="delay-both", subject=subject).body for _ in range(3)]
    assert [answer["action"] for answer in answers[:2]] == ["allow", "delay"]
    assert "waited_ms" not in answers[1] and answers[1]["delay_ms"] > 0
    assert answers[2]["allowed"] and answers[2]["waited_ms"] > 0, "the window holds it, the bucket then delays it or not"


@pytest.mark.parametrize(("fields", "seconds"), [
    ({"plan_id": "minute", "wait": "2s"}, 0), ({"plan_id": "monthly", "wait": "2s"}, 0), ({"plan_id": "delay-minute"}, 0),
    ({"plan_id": "delay-fixed", "wait": 0}, 0), ({"plan_id": "fixed", "wait": "3s", "cost": 2}, 0),
    ({"plan_id": "leases", "wait": "1s"}, 1), ({"plan_id": "leases", "wait": 1}, 1)])
def test_a_check_is_denied_once_it_cannot_fit_in_its_time(client: Client, fields: dict[str, Any], seconds: float) -> None:
    subject = fresh_subject()
    assert client.check(plan_id=fields["plan_id"], subject=subject).status == 200
    answer = client.check(subject=subject, **fields)
    assert (answer.status, answer.body["reason"]) == (429, "limit_exceeded")
    assert seconds <= answer.seconds <= seconds + SLACK / 2
    assert (answer.body.get("waited_ms", 0) >= 1000) == (seconds > 0)
    assert fields.get("cost") or int(answer.headers["retry-after"]) >= 1


def test_max_wait_bounds_what_a_check_asks_for(bundle: Bundle, key: MintedKey, redis: RedisServer,
                                               make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(bundle, redis.counters, "--redis-deadline", "2s", "--max-wait", "600ms").start()
    agent.wait_for_redis(key.text, "bucket")
    subject = fresh_subject()
    with agent.client(key.text) as client:
        client.check(plan_id="leases", subject=subject)
        answer = client.check(plan_id="leases", subject=subject, wait="1h")
    assert answer.status == 429 and 600 <= answer.body["waited_ms"] <= 600 + 1000 * SLACK
    assert ended(agent, "timed_out") == 1


def test_checks_of_one_subject_pass_in_order_of_arrival_and_only_the_first_asks(
        agent: Agent, client: Client, key: MintedKey, redis: RedisServer) -> None:
    subject = fresh_subject()
    lease = client.check(plan_id="leases", subject=subject).body["lease_id"]
    waiting = []
    for number in range(4):
        waiting.append(Asking(agent, key, plan_id="leases", subject=subject, wait="20s", request_id=str(number)))
        until_held(agent, number + 1)
    began = time.monotonic()
    with redis.monitor() as monitor:
        wait_until("a second to pass", lambda: time.monotonic() - began >= SECOND)
    asked = [line for line in monitor.commands() if subject.split(":")[1] in line]
    passed = time.monotonic() - began
    askers = {line.rsplit(' "', 1)[1] for line in asked}   # each check has a lease name of its own
    assert len(askers) == 1, f"who waits in line has asked: {asked}"
    assert len(asked) <= passed / 0.25 + 1, asked
    for each in waiting:
        client.release(lease)
        lease = each.answer().body["lease_id"]
    client.release(lease)
    order = [each.answered_at for each in waiting]
    assert order == sorted(order)
    # Who comes while others wait does not overtake them, and is told what they were told when its time is over.
    assert client.check(plan_id="leases", subject=subject).status == 200


def test_who_stands_in_line_is_denied_with_the_numbers_of_its_limit(agent: Agent, client: Client, key: MintedKey) -> None:
    subject = fresh_subject()
    lease = client.check(plan_id="leases", subject=subject).body["lease_id"]
    first = Asking(agent, key, plan_id="leases", subject=subject, wait="20s")
    until_held(agent, 1)
    second = client.check(plan_id="leases", subject=subject, wait="1s", explain=True)
    assert (second.status, second.body["limit_name"], second.body["limit"]) == (429, "at_once", 1)
    assert second.body["waited_ms"] >= 1000 and 0 < second.body["retry_after_ms"] <= 3_600_000
    assert second.header("retry-after") and second.body["limits"] == []
    client.release(lease)
    assert client.release(first.answer().body["lease_id"]).body == {"released": True}


def test_a_shadow_policy_is_charged_once_for_a_check_that_was_held(client: Client) -> None:
    subject = fresh_subject()
    first = client.check(resource="orders", subject=subject)
    assert first.body["shadow_result"]["remaining"] == 0
    second = client.check(resource="orders", subject=subject, wait="10s")
    assert second.status == 200 and second.body["waited_ms"] > 0
    assert not second.body["shadow_result"]["allowed"] and second.body["policy_id"] == "orders"


def test_replies_stay_in_order_behind_a_held_check(agent: Agent, client: Client, key: MintedKey) -> None:
    subject = fresh_subject()
    lease = client.check(plan_id="leases", subject=subject).body["lease_id"]
    with RawConnection(agent.port) as connection:
        connection.send(raw(key, plan_id="leases", subject=subject, wait="25s", request_id="held") +
                        raw(key, plan_id="fixed", subject=fresh_subject(), request_id="behind"))
        until_held(agent, 1)
        assert not connection.readable(), "the second is decided, and waits for the first"
        client.release(lease)
        replies = [connection.reply() for _ in range(2)]
    assert [reply and reply.json()["request_id"] for reply in replies] == ["held", "behind"]
    assert [reply and reply.status for reply in replies] == [200, 200]


@pytest.mark.parametrize("close", [b"", b"Connection: close\r\n"])
def test_a_caller_that_leaves_frees_its_place_and_is_not_charged(agent: Agent, client: Client, key: MintedKey,
                                                                 close: bytes) -> None:
    subject = fresh_subject()
    lease = client.check(plan_id="leases", subject=subject).body["lease_id"]
    before = ended(agent, "left")
    body = json.dumps({"plan_id": "leases", "subject": subject, "wait": "25s"}).encode()
    connection = RawConnection(agent.port).send(check_request(key.text, body, close))
    until_held(agent, 1)
    connection.close()
    until_held(agent, 0)
    assert ended(agent, "left") == before + 1
    client.release(lease)
    again = client.check(plan_id="leases", subject=subject)
    assert again.status == 200, "nobody took the lease"
    client.release(again.body["lease_id"])


def test_the_next_in_line_asks_when_the_first_leaves(agent: Agent, client: Client, key: MintedKey) -> None:
    subject = fresh_subject()
    lease = client.check(plan_id="leases", subject=subject).body["lease_id"]
    gone = RawConnection(agent.port).send(raw(key, plan_id="leases", subject=subject, wait="25s"))
    until_held(agent, 1)
    second = Asking(agent, key, plan_id="leases", subject=subject, wait="25s")
    until_held(agent, 2)
    gone.close()
    until_held(agent, 1)
    client.release(lease)
    answer = second.answer()
    assert answer.status == 200 and answer.seconds < 20, "it does not wait until its time is over"
    client.release(answer.body["lease_id"])


def test_one_counter_has_at_most_100_waiting_checks(agent: Agent, client: Client, key: MintedKey) -> None:
    subject = fresh_subject()
    lease = client.check(plan_id="leases", subject=subject).body["lease_id"]
    request = raw(key, plan_id="leases", subject=subject, wait="25s")
    connections = [RawConnection(agent.port).send(request) for _ in range(MOST_OF_COUNTER)]
    try:
        until_held(agent, MOST_OF_COUNTER)
        before = ended(agent, "full")
        more = client.check(plan_id="leases", subject=subject, wait="25s")
        assert more.status == 429 and more.seconds < SLACK and "waited_ms" not in more.body
        assert more.body["limit"] == 1 and ended(agent, "full") == before + 1
        other = fresh_subject()
        other_lease = client.check(plan_id="leases", subject=other).body["lease_id"]
        waiting = Asking(agent, key, plan_id="leases", subject=other, wait="25s")
        until_held(agent, MOST_OF_COUNTER + 1)
        client.release(other_lease)
        client.release(waiting.answer().body["lease_id"])
    finally:
        for connection in connections:
            connection.close()
    until_held(agent, 0)
    client.release(lease)


def test_a_full_waiting_room_denies_at_once(bundle: Bundle, key: MintedKey, redis: RedisServer,
                                            make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(bundle, redis.counters, "--redis-deadline", "2s", "--max-waiting", "3").start()
    agent.wait_for_redis(key.text, "bucket")
    with agent.client(key.text) as client:
        waiting = []
        for number in range(4):
            subject = fresh_subject()
            client.check(plan_id="leases", subject=subject)
            if number < 3:
                waiting.append(RawConnection(agent.port).send(raw(key, plan_id="leases", subject=subject, wait="25s")))
                until_held(agent, number + 1)
            else:
                answer = client.check(plan_id="leases", subject=subject, wait="25s")
                assert answer.status == 429 and answer.seconds < SLACK and answer.body["retry_after_ms"] > 0
        assert ended(agent, "full") == 1
        for connection in waiting:
            connection.close()


def test_held_checks_are_outside_max_in_flight_and_the_latency(bundle: Bundle, key: MintedKey, redis: RedisServer,
                                                               make_agent: Callable[..., Agent]) -> None:
    # One worker has one line, whose first check alone asks Redis. So it and the client need two places at most.
    agent = make_agent(bundle, redis.counters, "--workers", "1", "--redis-deadline", "2s",
                       "--max-in-flight", "2").start()
    agent.wait_for_redis(key.text, "bucket")
    subject = fresh_subject()
    with agent.client(key.text) as client:
        lease = client.check(plan_id="leases", subject=subject).body["lease_id"]
        waiting = []
        for number in range(3):
            waiting.append(Asking(agent, key, plan_id="leases", subject=subject, wait="20s"))
            until_held(agent, number + 1)
        assert client.check(plan_id="fixed", subject=subject).status == 200, "held checks take no place"
        counted = agent.metric("sluice_decision_duration_seconds_count")
        for each in waiting:
            client.release(lease)
            lease = each.answer().body["lease_id"]
        client.release(lease)
        assert agent.metric("sluice_decision_duration_seconds_count") == counted
        assert ended(agent, "allowed") == 3


def test_sigterm_answers_held_checks_at_once(bundle: Bundle, key: MintedKey, redis: RedisServer,
                                             make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(bundle, redis.counters, "--redis-deadline", "2s").start()
    agent.wait_for_redis(key.text, "bucket")
    subject = fresh_subject()
    with agent.client(key.text) as client:
        client.check(plan_id="minute", subject=subject)
        connections = [RawConnection(agent.port).send(raw(key, plan_id="minute", subject=subject, wait="10m"))
                       for _ in range(3)]
        # The wait of a minute is longer than --max-wait, so a lease is what they wait for.
        replies = [connection.reply() for connection in connections]
        assert [reply and reply.status for reply in replies] == [429] * 3
        client.check(plan_id="leases", subject=subject)
        for connection in connections:
            connection.send(raw(key, plan_id="leases", subject=subject, wait="25s"))
        until_held(agent, 3)
    began = time.monotonic()
    agent.process.send(signal.SIGTERM)
    replies = [connection.reply() for connection in connections]
    assert [reply and (reply.status, reply.json()["reason"], reply.headers["connection"]) for reply in replies] == [
        (429, "limit_exceeded", "close")] * 3
    assert all(reply and reply.json()["retry_after_ms"] > 0 and "waited_ms" in reply.json() for reply in replies)
    assert agent.process.wait(20) == 0 and time.monotonic() - began < 10
    for connection in connections:
        connection.close()


def test_a_failed_store_answers_the_whole_line_at_once(bundle: Bundle, key: MintedKey, make_redis: Callable[..., RedisServer],
                                                       make_agent: Callable[..., Agent]) -> None:
    server = make_redis()
    agent = make_agent(bundle, server.counters, "--redis-deadline", "2s").start()
    agent.wait_for_redis(key.text, "bucket")
    subject = fresh_subject()
    with agent.client(key.text) as client:
        client.check(plan_id="leases", subject=subject)
    waiting = [Asking(agent, key, plan_id="leases", subject=subject, wait="25s") for _ in range(5)]
    until_held(agent, 5)
    server.kill9()
    answers = [each.answer() for each in waiting]
    assert [(answer.status, answer.body["reason"]) for answer in answers] == [(503, "fail_closed")] * 5
    assert max(answer.seconds for answer in answers) < 10
    assert ended(agent, "failed") == 5


def test_counters_in_memory_hold_checks_too(bundle: Bundle, key: MintedKey, make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(bundle, "memory", "--workers", "2").start()
    subject = fresh_subject()
    with agent.client(key.text) as client:
        client.check(plan_id="fixed", subject=subject)
        waiting = [Asking(agent, key, plan_id="fixed", subject=subject, wait="20s") for _ in range(3)]
        answers = [each.answer() for each in waiting]
    assert [answer.status for answer in answers] == [200] * 3
    assert max(answer.seconds for answer in answers) >= 2.5 * SECOND, "one a second"


def test_wait_in_a_batch_is_refused_with_the_fix(client: Client) -> None:
    subject = fresh_subject()
    answer = client.batch({"plan_id": "fixed", "subject": subject, "wait": "2s"}, {"plan_id": "delay-fixed", "subject": subject},
                          {"plan_id": "delay-fixed", "subject": subject})
    refused, first, second = answer.body["results"]
    assert refused["status"] == 422 and refused["errors"][0]["pointer"] == "/checks/0/wait"
    assert "leave it out, or send the check alone" in refused["errors"][0]["detail"]
    assert first["allowed"] and not second["allowed"] and "waited_ms" not in second, "a batch is answered at once"
    assert answer.seconds < SECOND


@pytest.mark.parametrize(("wait", "status", "says"), [
    ("soon", 422, "a duration is a whole number and a unit"), ("-2s", 422, "got \"-2s\""), ("2 fortnights", 422, "/wait"),
    (True, 400, "must be a duration"), (1.5, 400, "whole number of seconds"), (-1, 400, "whole number"), ({}, 400, "duration"),
    (2000, 422, "write \"2000ms\" for milliseconds"), ("2000", 422, "\"2000s\" for seconds")])
def test_a_wait_that_is_no_duration_names_field_rule_and_fix(client: Client, wait: Any, status: int, says: str) -> None:
    answer = client.check(plan_id="fixed", subject="a", wait=wait)
    assert answer.status == status and answer.body["errors"][0]["pointer"] == "/wait"
    assert says in str(answer.body["errors"][0]), answer.body


def test_a_wait_is_read_as_durations_are_elsewhere(client: Client) -> None:
    for wait in ("2s", "250ms", "1 minute", "60", 60, 0, "0s"):
        assert client.check(plan_id="fixed", subject=fresh_subject(), wait=wait).status == 200
