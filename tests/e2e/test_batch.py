"""POST /v1/check/batch: each check on its own, in its place; all of them one write to Redis, in their order."""

import json
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket, window
from support.client import Answer, Client, fresh_subject
from support.process import wait_until
from support.raw import RawConnection
from support.redis_server import RedisServer

MOST = 256


@pytest.fixture(params=["redis", "memory"])
def anywhere(request: pytest.FixtureRequest, bundle: Bundle, key: MintedKey,
             make_agent: Callable[..., Agent]) -> Iterator[Client]:
    """A connection to an agent whose counters are in Redis, and to one that has them in memory."""
    if request.param == "redis":
        agent: Agent = request.getfixturevalue("agent")
    else:
        agent = make_agent(bundle, "memory").start()
    with agent.client(key.text) as connection:
        yield connection


def results(answer: Answer) -> list[dict[str, Any]]:
    """The results of a batch that was answered."""
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"] == "application/json"
    assert set(answer.body) == {"results"}
    found: list[dict[str, Any]] = answer.body["results"]
    return found


def subjects(count: int = MOST) -> list[str]:
    """So many subjects nobody has used."""
    return [fresh_subject() for _ in range(count)]


def batch_request(key: str, body: bytes) -> bytes:
    """A batch by hand."""
    return (b"POST /v1/check/batch HTTP/1.1\r\nHost: x\r\nx-api-key: " + key.encode() +
            b"\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


# --- each on its own, in its place -----------------------------------------------------------------------------------

def test_results_come_in_the_order_of_the_checks(anywhere: Client) -> None:
    checks = [{"plan_id": "bucket", "subject": subject, "cost": number % 6, "request_id": f"r{number}"}
              for number, subject in enumerate(subjects())]
    found = results(anywhere.batch(*checks))
    assert [result["request_id"] for result in found] == [check["request_id"] for check in checks]
    assert [result["remaining"] for result in found] == [5 - number % 6 for number in range(MOST)]


def test_a_result_has_what_the_reply_to_a_single_check_has(anywhere: Client) -> None:
    for check in ({"plan_id": "two", "subject": fresh_subject(), "explain": True},
                  {"resource": "GET:/orders", "subject": fresh_subject(), "request_id": "x"},
                  {"resource": "GET:/shadow", "subject": fresh_subject()}, {"resource": "GET:/off", "subject": "a"},
                  {"resource": "GET:/unknown"}, {"plan_id": "tokens", "subject": fresh_subject(), "costs": {"tokens": 7}}):
        in_batch, = results(anywhere.batch({**check, "cost": 0} if "costs" not in check else check))
        alone = anywhere.check(**({**check, "cost": 0} if "costs" not in check else check)).body
        assert set(in_batch) == set(alone)
        for moving in ("now_us", "reset_at", "limits", "remaining"):
            in_batch.pop(moving, None), alone.pop(moving, None)
        assert in_batch == alone


def test_bad_checks_get_their_own_errors_and_the_others_are_judged(anywhere: Client) -> None:
    subject = fresh_subject()
    good = {"plan_id": "bucket", "subject": subject}
    found = results(anywhere.batch(good, 7, {**good, "cost": -1, "request_id": "r-2"}, good, {**good, "plan_id": "nowhere"},
                                   {"resource": "GET:/x", "plan_id": "strict-identity"}, {**good, "colour": "red"},
                                   {**good, "tags": {"long": "x" * (16 << 10)}}, good))
    assert [result.get("remaining") for result in found] == [4, None, None, 3, None, None, None, None, 2]
    assert [result.get("status") for result in found] == [None, 400, 422, None, 404, 422, 400, 413, None]
    for place, pointer in {1: "", 2: "/cost", 4: "/plan_id", 5: "/subject", 6: "/colour", 7: ""}.items():
        error = found[place]
        assert {"type", "title", "detail"} <= set(error) and "allowed" not in error
        assert [fault["pointer"] for fault in error["errors"]] == [f"/checks/{place}{pointer}"]
    assert found[2]["request_id"] == "r-2"


@pytest.mark.parametrize("bad", [b'{"subject":"\xff"}', b'{"subject":"\\ud800"}', b'{"subject":"a","cost":1e999}',
                                 b'{"subject":"a","cost":' + b"9" * 400 + b"}", b"[" * 2000 + b"]" * 2000,
                                 b'{"tags":{"a":{"b":{"c":"d"}}}}', b"null", b'"text"', b"{}", b"1e999"])
def test_whatever_a_check_holds_costs_no_other_its_answer(anywhere: Client, bad: bytes) -> None:
    good = b'{"plan_id":"bucket","subject":"%s"}' % fresh_subject().encode()
    found = results(anywhere.post("/v1/check/batch", b'{"checks":[' + b",".join([good, bad, good]) + b"]}"))
    assert [result.get("remaining") for result in found] == [4, None, 3]
    assert found[1]["status"] in (400, 422)
    assert all(fault["pointer"].startswith("/checks/1") for fault in found[1]["errors"])


def test_one_budget_named_again_and_again_is_charged_in_order(anywhere: Client) -> None:
    check = {"plan_id": "fixed", "subject": fresh_subject()}
    found = results(anywhere.batch(*[{**check, "cost": cost} for cost in (2, 2, 2, 1, 1)]))
    assert [(result["allowed"], result["remaining"]) for result in found] == [
        (True, 3), (True, 1), (False, 1), (True, 0), (False, 0)]


def test_a_denied_check_takes_nothing_back_from_the_others(anywhere: Client) -> None:
    spent, fresh = {"plan_id": "bucket", "subject": fresh_subject()}, {"plan_id": "bucket", "subject": fresh_subject()}
    found = results(anywhere.batch(fresh, {**spent, "cost": 5}, spent, {**spent, "cost": 99}, fresh))
    assert [result["allowed"] for result in found] == [True, True, False, False, True]
    assert anywhere.check(**fresh, cost=0).body["remaining"] == 3
    assert found[3]["retry_after_ms"] is None


def test_leases_are_taken_and_given_back_one_by_one(anywhere: Client) -> None:
    check = {"plan_id": "leases", "subject": fresh_subject()}
    found = results(anywhere.batch(check, check, check, {**check, "subject": fresh_subject()}))
    assert [result["allowed"] for result in found] == [True, True, False, True]
    leases = [result.get("lease_id") for result in found]
    assert leases[2] is None and len(set(leases)) == 4
    assert anywhere.release(leases[0]).body == {"released": True}
    assert [result["allowed"] for result in results(anywhere.batch(check, check))] == [True, False]


def test_explain_works_for_each_check(anywhere: Client) -> None:
    plain = {"plan_id": "two", "subject": fresh_subject()}
    found = results(anywhere.batch(plain, {**plain, "explain": True}, plain))
    assert ["limits" in result for result in found] == [False, True, False]
    assert [limit["name"] for limit in found[1]["limits"]] == ["burst", "daily"]
    assert found[1]["now_us"] > 1e15


def test_batches_on_one_connection_are_answered_in_order(agent: Agent, key: MintedKey) -> None:
    names = subjects(40)
    with RawConnection(agent.port) as raw:
        raw.send(b"".join(batch_request(key.text, json.dumps({"checks": [
            {"plan_id": "bucket", "subject": name, "request_id": f"{name} {number}"} for number in range(8)]}).encode())
            for name in names))
        for name in names:
            reply = raw.reply()
            assert reply and reply.status == 200
            found = reply.json()["results"]
            assert [result["request_id"] for result in found] == [f"{name} {number}" for number in range(8)]
            assert [result["allowed"] for result in found] == [True] * 5 + [False] * 3


# --- one write -------------------------------------------------------------------------------------------------------

@pytest.fixture(params=["unix", "tcp"])
def alone(request: pytest.FixtureRequest, key: MintedKey, make_redis: Callable[..., RedisServer],
          make_agent: Callable[..., Agent]) -> tuple[Agent, RedisServer]:
    """An agent and a Redis with no other traffic."""
    limits = [window("fixed_window", 5, "1d", name=f"limit-{number}", key_by=["resource"] if number % 2 else [])
              for number in range(4)]
    bundle = Bundle().key(key).plan("bucket", token_bucket(5, "1/1h")).plan("wide", *limits)
    redis = make_redis(tcp=request.param == "tcp")
    agent = make_agent(bundle, redis.counters, "--redis-deadline", "5s").start()
    agent.wait_for_redis(key.text, "bucket")
    return agent, redis


def writes(agent: Agent) -> float:
    """How often the agent has written to Redis. The counter follows four times a second, with that of connections."""
    before = agent.metric("sluice_http_connections_total", result="accepted")
    with agent.client() as probe:
        probe.get("/v1/health")
    wait_until("the workers' own numbers", lambda: agent.metric("sluice_http_connections_total", result="accepted") > before)
    return agent.metric("sluice_redis_writes_total")


def test_a_batch_of_256_is_256_evalsha_in_the_order_of_the_checks(
        alone: tuple[Agent, RedisServer], key: MintedKey) -> None:
    agent, redis = alone
    names = [f"s{number:03}" for number in range(MOST)]
    with agent.client(key.text) as client:
        results(client.batch({"plan_id": "bucket", "subject": "warm-up", "cost": 0}))
        calls = redis.calls("evalsha")
        found = results(client.batch(*[{"plan_id": "bucket", "subject": name} for name in names]))
        assert [result["remaining"] for result in found] == [4] * MOST
        assert redis.calls("evalsha") == calls + MOST
        with redis.monitor() as monitor:
            results(client.batch(*[{"plan_id": "bucket", "subject": name} for name in reversed(names)]))
    commands = monitor.commands()
    assert all('"EVALSHA"' in command for command in commands)
    assert [found[1] for command in commands if (found := re.search(r"subject=(s\d+)", command))] == names[::-1]


def short_names() -> list[dict]:
    return [{"plan_id": "bucket", "subject": name} for name in subjects()]


def long_names_and_many_limits() -> list[dict]:
    return [{"plan_id": "wide", "subject": f"{number:03}" + "s" * 150, "resource": "r" * 150} for number in range(MOST)]


@pytest.mark.parametrize("checks", [short_names, long_names_and_many_limits])
def test_a_batch_is_one_write(alone: tuple[Agent, RedisServer], key: MintedKey,
                              checks: Callable[[], list[dict]]) -> None:
    agent, _ = alone
    answers, taken = [], []
    with agent.client(key.text) as client:
        results(client.batch({**checks()[0], "cost": 0}))
        for _ in range(9):
            before = writes(agent)
            answers.append(results(client.batch(*checks())))
            taken.append(writes(agent) - before)
    assert [result["allowed"] for result in answers[0]] == [True] * MOST
    # The kernel takes a batch in parts while Redis is late to read the one before: so it is what is usual that counts.
    assert median(taken) == 1, taken


# --- refused as a whole ----------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("body", "status", "pointer"), [
    ("", 400, ""), ("{", 400, ""), ("[]", 400, ""), ("null", 400, ""), ("{}", 400, "/checks"),
    ('{"checks":[{"subject":"a"}]}x', 400, ""), ('{"checks":[{"subject":"a"},]}', 400, ""),
    ('{"checks":[{"subject":"a"}],"checks":[]}', 400, "/checks"), ('{"checks":{}}', 400, "/checks"),
    ('{"checks":[{"subject":"a"}],"explain":true}', 400, "/explain"), ('{"checks":[]}', 422, "/checks"),
    (json.dumps({"checks": [{"subject": "a"}] * (MOST + 1)}), 422, "/checks")])
def test_what_is_no_batch_is_refused_as_a_whole(client: Client, redis: RedisServer, body: str, status: int,
                                                pointer: str) -> None:
    client.check(plan_id="bucket", subject=fresh_subject(), cost=0)
    port, calls = client.local_port, redis.calls("evalsha")
    answer = client.post("/v1/check/batch", body)
    assert answer.status == status == answer.body["status"]
    assert answer.headers["content-type"] == "application/problem+json"
    assert [error["pointer"] for error in answer.body["errors"]] == [pointer]
    assert redis.calls("evalsha") == calls
    assert results(client.batch({"resource": "GET:/unknown"})) and client.local_port == port


def test_a_body_of_1_mib_is_taken_and_one_byte_more_is_413(agent: Agent, key: MintedKey) -> None:
    body = b'{"checks":[{"plan_id":"bucket","subject":"%s"}]}' % fresh_subject().encode()
    with RawConnection(agent.port) as raw:
        raw.send(batch_request(key.text, body + b" " * ((1 << 20) - len(body))))
        reply = raw.reply()
        assert reply and reply.json()["results"][0]["remaining"] == 4
        raw.send(batch_request(key.text, body + b" " * ((1 << 20) + 1 - len(body))))
        reply = raw.reply()
        assert reply and reply.status == 413


def test_only_the_batch_takes_more_than_16_kib(client: Client) -> None:
    body = b'{"checks":[{"plan_id":"bucket","subject":"a","cost":0}]}' + b" " * (16 << 10)
    assert client.post("/v1/check/batch", body).status == 200
    for path in ("/v1/check", "/v1/release", "/v1/check/batch/", "/"):
        assert client.post(path, body).status == 413


def test_a_check_of_16_kib_is_judged_in_a_batch_and_a_longer_one_is_413_in_its_place(client: Client) -> None:
    check = b'{"plan_id":"bucket","subject":"a","cost":0}'
    whole = check[:-1] + b" " * ((16 << 10) - len(check)) + b"}"
    found = results(client.post("/v1/check/batch", b'{"checks":[' + b",".join([whole, whole[:-1] + b" }", whole]) + b"]}"))
    assert [result.get("status") for result in found] == [None, 413, None]


def test_a_chunked_batch_is_a_batch(agent: Agent, key: MintedKey) -> None:
    with RawConnection(agent.port) as raw:
        raw.send(b"POST /v1/check/batch HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nx-api-key: " + key.text.encode() +
                 b"\r\n\r\n" + b'd\r\n{"checks":[7,\r\n' + b'16\r\n{"resource":"unknown"}\r\n' + b"2\r\n]}\r\n0\r\n\r\n")
        reply = raw.reply()
        assert reply and reply.status == 200
        assert [result.get("reason") for result in reply.json()["results"]] == [None, "no_policy"]


def test_a_batch_needs_a_key_and_the_method_post(client: Client) -> None:
    for wrong in ("", "slk_", client.key[:-1]):
        answer = client.post("/v1/check/batch", '{"checks":[{"subject":"a"}]}', {"x-api-key": wrong})
        assert (answer.status, answer.headers["www-authenticate"][:6]) == (401, "ApiKey")
    assert client.get("/v1/check/batch").header("allow") == "POST"


def test_another_tenants_plan_is_unknown_in_a_batch_too(client: Client, rival: Client) -> None:
    unknown, foreign = results(client.batch({"plan_id": "nowhere", "subject": "a"}, {"plan_id": "rivals", "subject": "a"}))
    assert json.dumps(unknown).replace("/0/", "/1/") == json.dumps(foreign)
    assert results(rival.batch({"plan_id": "rivals", "subject": fresh_subject()}))[0]["remaining"] == 4


# --- without policies, without places, at the end --------------------------------------------------------------------

@pytest.mark.parametrize("allow", [False, True])
def test_before_any_policies_were_loaded_a_batch_is_no_snapshot(program: Path, tmp_path: Path, key: MintedKey,
                                                               allow: bool) -> None:
    agent = Agent(program, tmp_path / "agent", None, "memory", ["--no-snapshot", "allow"] if allow else [])
    agent.start_without_policies()
    try:
        with agent.client(key.text) as client:
            answer = client.batch({"subject": "a"}, {"subject": "b"})
        if allow:
            assert [(result["allowed"], result["reason"]) for result in results(answer)] == [(True, "no_snapshot")] * 2
        else:
            assert (answer.status, answer.body["reason"]) == (503, "no_snapshot")
            assert int(answer.headers["retry-after"]) >= 1
    finally:
        agent.close()


def test_checks_that_find_no_place_are_overload_and_the_others_are_judged(
        key: MintedKey, make_redis: Callable[..., RedisServer], make_agent: Callable[..., Agent]) -> None:
    redis = make_redis()
    bundle = Bundle().key(key).plan("bucket", token_bucket(100, "1/1h"))
    agent = make_agent(bundle, redis.counters, "--max-in-flight", "4", "--redis-deadline", "10s").start()
    agent.wait_for_redis(key.text, "bucket")
    checks = [{"plan_id": "bucket", "subject": f"s{number}"} for number in range(10)]
    with agent.client(key.text) as client:
        found = results(client.batch(*checks))
        assert [result["reason"] for result in found] == ["within_limit"] * 4 + ["overload"] * 6
        assert not any(result["allowed"] for result in found[4:])
        assert results(client.batch(*checks[6:])) == [{**result, "remaining": 99} for result in results(
            client.batch(*[{**check, "cost": 0} for check in checks[6:]]))]
    assert agent.metric("sluice_decisions_total", reason="overload") == 6


def test_each_check_counts_as_a_decision_and_the_batch_as_one_request(agent: Agent, client: Client) -> None:
    def counted() -> tuple[float, float, float]:
        return (agent.metric("sluice_decisions_total", tenant="acme", reason="within_limit"),
                agent.metric("sluice_decisions_total", tenant="acme", reason="limit_exceeded"),
                agent.metric("sluice_http_requests_total", route="/v1/check/batch", status="200"))

    before = counted()
    results(client.batch(*[{"plan_id": "bucket", "subject": fresh_subject(), "cost": cost} for cost in (1, 9, 1, 0)], 7))
    assert tuple(after - earlier for after, earlier in zip(counted(), before)) == (3, 1, 1)


def test_the_decision_log_has_a_line_for_each_check(key: MintedKey, make_agent: Callable[..., Agent]) -> None:
    bundle = Bundle().key(key).plan("bucket", token_bucket(1, "1/1h"))
    agent = make_agent(bundle, "memory", "--decision-log", "all").start()
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    body = json.dumps({"checks": [{"plan_id": "bucket", "subject": "secret", "request_id": f"r{n}"} for n in range(3)]})
    with agent.client(key.text) as client:
        results(client.post("/v1/check/batch", body, {"traceparent": parent}))

    def lines() -> list[dict[str, Any]]:
        return [json.loads(line) for line in agent.log.read_text().splitlines() if '"event":"check"' in line]

    wait_until("the lines", lambda: len(lines()) == 3)
    assert [(line["request_id"], line["outcome"]) for line in lines()] == [("r0", "allowed"), ("r1", "denied"), ("r2", "denied")]
    assert {line["traceparent"] for line in lines()} == {parent}
    assert "secret" not in agent.log.read_text()


def test_a_batch_in_flight_at_sigterm_is_answered(key: MintedKey, make_redis: Callable[..., RedisServer],
                                                  make_agent: Callable[..., Agent]) -> None:
    redis = make_redis()
    bundle = Bundle().key(key).plan("bucket", token_bucket(5, "1/1h"))
    agent = make_agent(bundle, redis.counters, "--redis-deadline", "10s").start()
    agent.wait_for_redis(key.text, "bucket")
    body = json.dumps({"checks": [{"plan_id": "bucket", "subject": name} for name in subjects()]}).encode()
    redis.pause()
    try:
        with RawConnection(agent.port) as raw:
            raw.send(batch_request(key.text, body))
            wait_until("the batch in flight", lambda: agent.metric("sluice_checks_in_flight") == MOST)
            agent.process.send(signal.SIGTERM)
            wait_until("the drain", lambda: "drain" in agent.log.read_text())
            redis.resume()
            reply = raw.reply()
            assert reply and reply.status == 200
            assert [result["remaining"] for result in reply.json()["results"]] == [4] * MOST
            assert raw.closed()
    finally:
        redis.resume()


def test_a_client_that_goes_away_leaves_nothing_in_flight(agent: Agent, key: MintedKey, redis: RedisServer) -> None:
    body = json.dumps({"checks": [{"plan_id": "bucket", "subject": name} for name in subjects()]}).encode()
    redis.pause()
    try:
        with RawConnection(agent.port) as raw:
            raw.send(batch_request(key.text, body))
            wait_until("the batch in flight", lambda: agent.metric("sluice_checks_in_flight") == MOST)
    finally:
        redis.resume()
    wait_until("its end", lambda: agent.metric("sluice_checks_in_flight") == 0)
    with agent.client(key.text) as client:
        assert results(client.batch({"plan_id": "bucket", "subject": fresh_subject()}))[0]["remaining"] == 4
