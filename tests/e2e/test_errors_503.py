"""The 503 row of the error table: no counter store, too much in flight, no snapshot. All carry the decision."""

from collections.abc import Callable
from pathlib import Path

from support.agent import Agent
from support.bundle import Bundle, MintedKey, concurrency, token_bucket
from support.client import Answer, Client
from support.process import wait_until
from support.raw import RawConnection, check_request
from support.redis_server import RedisServer


def assert_refusal(answer: Answer, reason: str) -> None:
    """A 503 says why in the body of a decision, and when to come back."""
    assert (answer.status, answer.body["allowed"], answer.body["reason"]) == (503, False, reason)
    assert answer.body["retry_after_ms"] == 1000 * int(answer.headers["retry-after"]) >= 1000


def test_503_fail_closed_without_a_counter_store_and_fail_open_is_200(
        key: MintedKey, make_redis: Callable[..., RedisServer], make_agent: Callable[..., Agent]) -> None:
    server = make_redis()
    bundle = Bundle().key(key).plan("closed", token_bucket(5, "1/1h"))
    bundle.plan("open", token_bucket(5, "1/1h"), failure_mode="fail_open")
    agent = make_agent(bundle, server.counters).start()
    agent.wait_for_redis(key.text, "closed")
    before = {reason: agent.metric("sluice_decisions_total", reason=reason) for reason in ("fail_closed", "fail_open")}
    server.kill9()
    with agent.client(key.text) as client:
        assert_refusal(client.check(plan_id="closed", subject="a"), "fail_closed")
        text = client.check({"accept": "text/plain"}, plan_id="closed", subject="a")
        assert (text.status, text.body) == (503, "Rate limiter unavailable")
        opened = client.check(plan_id="open", subject="a")
    assert (opened.status, opened.body["allowed"], opened.body["reason"]) == (200, True, "fail_open")
    for reason, calls in (("fail_closed", 2), ("fail_open", 1)):
        assert agent.metric("sluice_decisions_total", reason=reason) == before[reason] + calls


def test_503_release_and_renew_without_a_counter_store(key: MintedKey, make_redis: Callable[..., RedisServer],
                                                       make_agent: Callable[..., Agent]) -> None:
    server = make_redis()
    agent = make_agent(Bundle().key(key).plan("leases", concurrency(2, "1h")), server.counters).start()
    agent.wait_for_redis(key.text, "leases")
    with agent.client(key.text) as client:
        lease = client.check(plan_id="leases", subject="a").body["lease_id"]
        server.kill9()
        for answer in (client.release(lease), client.renew(lease)):
            assert answer.status == 503
            assert int(answer.headers["retry-after"]) >= 1


def test_503_overload_for_all_above_max_in_flight_and_for_them_only(
        key: MintedKey, make_redis: Callable[..., RedisServer], make_agent: Callable[..., Agent]) -> None:
    server = make_redis()
    bundle = Bundle().key(key).plan("bucket", token_bucket(100, "1/1h"))
    agent = make_agent(bundle, server.counters, "--max-in-flight", "4", "--redis-deadline", "10s").start()
    agent.wait_for_redis(key.text, "bucket")
    request = check_request(key.text, b'{"plan_id":"bucket","subject":"a"}')
    server.pause()
    connections = [RawConnection(agent.port) for _ in range(10)]
    try:
        for connection in connections:
            connection.send(request)
        # Four wait for Redis, six are refused at once.
        answered = wait_until("six refusals", lambda: [c for c in connections if c.readable()] if
                              sum(c.readable() for c in connections) == 6 else None)
        for connection in answered:
            reply = connection.reply()
            assert reply and reply.status == 503 and reply.json()["reason"] == "overload"
            assert int(reply.headers["retry-after"]) >= 1
        server.resume()
        waited = [c.reply() for c in connections if c not in answered]
        assert [reply and reply.status for reply in waited] == [200] * 4
        assert agent.metric("sluice_decisions_total", reason="overload") == 6
    finally:
        server.resume()
        for connection in connections:
            connection.close()


def test_503_no_snapshot_before_any_was_loaded(program: Path, tmp_path: Path, key: MintedKey) -> None:
    agent = Agent(program, tmp_path / "agent", None, "memory").start_without_policies()
    try:
        with agent.client(key.text) as client:
            answer = client.check(subject="a")
        assert_refusal(answer, "no_snapshot")
        assert answer.body["cause"] == "the agent was started without --server and --policies"
        assert readyz(agent).status == 503 and "no policies are loaded" in str(readyz(agent).body)
    finally:
        agent.close()


def test_no_snapshot_allow_turns_that_into_200(program: Path, tmp_path: Path, key: MintedKey) -> None:
    agent = Agent(program, tmp_path / "agent", None, "memory", ["--no-snapshot", "allow"]).start()
    try:
        with agent.client(key.text) as client:
            answer = client.check(subject="a")
        assert (answer.status, answer.body["allowed"], answer.body["reason"]) == (200, True, "no_snapshot")
        assert readyz(agent).status == 200
    finally:
        agent.close()


def readyz(agent: Agent) -> Answer:
    """What /readyz says."""
    with Client(agent.admin_port) as admin:
        return admin.get("/readyz")
