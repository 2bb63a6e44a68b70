"""Leases of concurrency plans: acquire, renew, release, double release, foreign, malformed, expiry."""

import base64
import re
import time
from collections.abc import Callable

from support.agent import Agent
from support.bundle import MintedKey
from support.client import Client, fresh_subject
from support.redis_server import RedisServer


def acquire(client: Client, subject: str, plan: str = "leases") -> str:
    """Takes a lease and returns its id."""
    answer = client.check(plan_id=plan, subject=subject)
    assert answer.status == 200
    return str(answer.body["lease_id"])


def test_a_lease_names_itself_and_its_end(client: Client) -> None:
    before = time.time()
    body = client.explain(plan_id="leases", subject=fresh_subject()).body
    assert re.match(r"^[\x21-\x7e]{20,2000}$", body["lease_id"])
    assert before + 3590 < body["lease_expires_at"] < before + 3700


def test_two_leases_are_never_the_same(client: Client) -> None:
    assert len({acquire(client, fresh_subject()) for _ in range(20)}) == 20


def test_no_more_than_the_limit_are_held_at_once_and_a_release_makes_room(client: Client) -> None:
    subject = fresh_subject()
    first, second = acquire(client, subject), acquire(client, subject)
    denied = client.check(plan_id="leases", subject=subject)
    assert (denied.status, denied.body["remaining"]) == (429, 0)
    assert "lease_id" not in denied.body
    released = client.release(first)
    assert (released.status, released.body["released"]) == (200, True)
    third = acquire(client, subject)
    assert client.check(plan_id="leases", subject=subject).status == 429
    assert client.release(second).body["released"] and client.release(third).body["released"]


def test_a_lease_of_a_cost_frees_all_of_it(client: Client) -> None:
    subject = fresh_subject()
    lease = client.check(plan_id="leases", subject=subject, cost=2).body["lease_id"]
    assert client.check(plan_id="leases", subject=subject, cost=0).body["remaining"] == 0
    client.release(lease)
    assert client.check(plan_id="leases", subject=subject, cost=0).body["remaining"] == 2


def test_releasing_twice_is_200_and_frees_once(client: Client) -> None:
    subject = fresh_subject()
    first, second = acquire(client, subject), acquire(client, subject)
    assert client.release(first).body["released"] is True
    again = client.release(first)
    assert (again.status, again.body["released"]) == (200, False)
    assert client.check(plan_id="leases", subject=subject, cost=0).body["remaining"] == 1
    client.release(second)


def test_renew_prolongs_a_lease(client: Client) -> None:
    subject = fresh_subject()
    taken = client.check(plan_id="short-leases", subject=subject).body
    end = time.monotonic() + 1.0
    # Three times as long as the lease would live: it lives because it is renewed, and it stays one lease.
    while time.monotonic() < end:
        answer = client.renew(taken["lease_id"])
        assert answer.status == 200
        assert answer.body["renewed"] is True
        assert answer.body["lease_expires_at"] >= taken["lease_expires_at"]
        assert client.check(plan_id="short-leases", subject=subject, cost=0).body["remaining"] == 1
        time.sleep(0.02)


def test_renewing_what_was_released_does_not_bring_it_back(client: Client) -> None:
    subject = fresh_subject()
    lease = acquire(client, subject)
    client.release(lease)
    answer = client.renew(lease)
    assert (answer.status, answer.body["renewed"]) == (200, False)
    assert client.check(plan_id="leases", subject=subject, cost=0).body["remaining"] == 2


def test_a_lease_that_is_not_given_back_ends_by_itself_at_its_time_and_not_before(client: Client) -> None:
    subject = fresh_subject()
    answers = [client.explain(plan_id="short-leases", subject=subject) for _ in range(2)]
    lease = answers[0].body["lease_id"]
    due = answers[0].body["now_us"] + 300_000
    while True:
        read = client.explain(plan_id="short-leases", subject=subject, cost=0).body
        if read["now_us"] >= due:
            break
        assert read["remaining"] == 0
    assert read["remaining"] >= 1
    released = client.release(lease)
    assert (released.status, released.body["released"]) == (200, False)
    assert client.renew(lease).body["renewed"] is False


def test_any_agent_can_release_a_lease(agent: Agent, client: Client, key: MintedKey, redis: RedisServer,
                                       make_agent: Callable[..., Agent], bundle: object) -> None:
    other = make_agent(bundle, redis.counters, "--redis-deadline", "2s").start()
    other.wait_for_redis(key.text, "leases")
    subject = fresh_subject()
    lease = acquire(client, subject)
    with other.client(key.text) as elsewhere:
        assert elsewhere.renew(lease).body["renewed"] is True
        assert elsewhere.release(lease).body["released"] is True
    assert client.release(lease).body["released"] is False


def test_another_tenant_gets_404_and_changes_nothing(client: Client, rival: Client) -> None:
    subject = fresh_subject()
    lease = acquire(client, subject)
    assert (rival.renew(lease).status, rival.release(lease).status) == (404, 404)
    assert client.check(plan_id="leases", subject=subject, cost=0).body["remaining"] == 1
    assert client.release(lease).body["released"] is True


def test_a_lease_id_that_was_tampered_with_frees_nobody_elses_lease(client: Client) -> None:
    subject = fresh_subject()
    lease = acquire(client, subject)
    for position in range(0, len(lease), 3):
        other = lease[:position] + ("A" if lease[position] != "A" else "B") + lease[position + 1:]
        answer = client.release(other)
        assert answer.status in (200, 404, 422)
        assert answer.status != 200 or answer.body["released"] is False or same_bytes(other, lease)
    assert client.check(plan_id="leases", subject=subject, cost=0).body["remaining"] == 1
    assert client.release(lease).body["released"] is True


def same_bytes(one: str, other: str) -> bool:
    """Whether two ids differ in nothing but the unused bits of base 64."""
    try:
        return base64.urlsafe_b64decode(one + "==") == base64.urlsafe_b64decode(other + "==")
    except ValueError:
        return False
