"""Checks and batches against a real agent, and what the members of a decision are (sdk/CONTRACT.md, Checks)."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
import time
from typing import Any

import pytest

from sdk.adapter import Adapter, ClientUnderTest
from sdk.rogue import ALLOWED, DENIED, Rogue, raw, reply
from support.agent import Agent
from support.bundle import Bundle, MintedKey
from support.certificate import Authority
from support.client import fresh_subject

MakeClient = Callable[..., ClientUnderTest]


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Signs the certificates of agent and client."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def tls_agent(program: Path, sdk_bundle: Bundle, authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """An agent with TLS."""
    folder = tmp_path_factory.mktemp("tls-agent")
    cert, key = authority.sign(folder, "agent", datetime.now(timezone.utc) + timedelta(days=1))
    agent = Agent(program, folder, sdk_bundle.write(folder / "bundle.json"), "memory",
                  ["--tls-cert", str(cert), "--tls-key", str(key)]).start()
    yield agent
    agent.close()


@pytest.mark.parametrize("way", ["tcp", "socket", "unix-url", "tls"])
def test_a_limit_admits_its_requests_and_no_more(make_client: MakeClient, agent: Agent, tls_agent: Agent, authority: Authority,
                                                 key: MintedKey, adapter: Adapter, way: str) -> None:
    if way == "tls" and not adapter.sdk.tls:
        pytest.skip("what runs this SDK here has no TLS that works")
    where: dict[str, dict[str, Any]] = {
        "tcp": {"url": f"http://localhost:{agent.port}"}, "socket": {"socket": str(agent.socket)},
        "unix-url": {"url": f"unix://{agent.socket}"},
        "tls": {"url": f"https://localhost:{tls_agent.port}", "ca_file": str(authority.cert)}}
    client = make_client(api_key=key.text, **where[way])
    subject = fresh_subject()
    decisions = [client.check(resource="GET:/orders", subject=subject) for _ in range(7)]
    assert [one["allowed"] for one in decisions] == [True] * 5 + [False] * 2
    assert all(one["decided"] and one["success"] == one["allowed"] for one in decisions)


def test_the_members_of_an_allowed_check(client: ClientUnderTest) -> None:
    decision = client.check(resource="GET:/orders", subject=fresh_subject(), request_id="try-1")
    expected = {"allowed": True, "success": True, "reason": "within_limit", "action": "allow", "limit": 5, "remaining": 4,
                "retry_after_ms": 0, "delay_ms": 0, "waited_ms": 0, "policy": "orders", "policy_version": 7, "plan": "bucket",
                "limit_name": "burst", "shadow": False, "would_allow": True, "over_limit": False, "sample_rate": None,
                "downgrade_to": None, "metadata": {"team": "sales"}, "lease_id": None, "lease_expires_at": None, "status": 200,
                "request_id": "try-1", "decided": True, "error": None}
    assert {name: decision[name] for name in expected} == expected
    assert time.time() < decision["reset"] < time.time() + 5 * 3600
    assert decision["raw"]["policy_id"] == "orders"
    assert decision["headers"]["x-ratelimit-limit"] == "5" and decision["headers"]["x-ratelimit-remaining"] == "4"
    assert set(decision["headers"]) == {"ratelimit", "ratelimit-policy", "x-ratelimit-limit", "x-ratelimit-remaining",
                                        "x-ratelimit-reset"}


def test_the_members_of_a_denied_check(client: ClientUnderTest) -> None:
    subject = fresh_subject()
    client.check(resource="GET:/orders", subject=subject, cost=5)
    decision = client.check(resource="GET:/orders", subject=subject)
    assert (decision["allowed"], decision["reason"], decision["action"], decision["status"]) == (False, "limit_exceeded", "deny", 429)
    assert (decision["over_limit"], decision["would_allow"], decision["remaining"]) == (True, False, 0)
    assert 3_500_000 < decision["retry_after_ms"] <= 3_600_000
    assert decision["headers"]["retry-after"] == "3600"


def test_what_can_never_pass_has_no_retry_after(client: ClientUnderTest) -> None:
    decision = client.check(resource="GET:/orders", subject=fresh_subject(), cost=6)
    assert (decision["allowed"], decision["retry_after_ms"]) == (False, None)


def test_actions_and_shadows_say_what_they_did(client: ClientUnderTest) -> None:
    subject = fresh_subject()
    for plan in ("delaying", "sampling", "downgrading"):
        client.check(plan_id=plan, subject=subject, cost=2 if plan == "delaying" else 1)
    delayed = client.check(plan_id="delaying", subject=subject)
    assert delayed["allowed"] and delayed["delay_ms"] > 3_000_000
    sampled = client.check(plan_id="sampling", subject=subject)
    assert (sampled["allowed"], sampled["reason"], sampled["sample_rate"], sampled["over_limit"]) == (True, "sampled", 1, True)
    downgraded = client.check(plan_id="downgrading", subject=subject)
    assert (downgraded["allowed"], downgraded["downgrade_to"]) == (True, "basic")
    client.check(resource="GET:/shadow", subject=subject, cost=5)
    shadowed = client.check(resource="GET:/shadow", subject=subject)
    assert (shadowed["allowed"], shadowed["shadow"], shadowed["would_allow"], shadowed["over_limit"]) == (True, True, False, True)


def test_explain_is_in_raw(client: ClientUnderTest) -> None:
    decision = client.check(plan_id="two", subject=fresh_subject(), explain=True)
    assert [one["name"] for one in decision["raw"]["limits"]] == ["burst", "daily"]


def test_a_field_that_the_agent_does_not_know_is_refused_by_the_agent(client: ClientUnderTest) -> None:
    decision = client.check(subject="a", subjekt="b", cost=1)
    assert (decision["decided"], decision["error"]["kind"], decision["error"]["status"]) == (False, "refused", 400)
    assert decision["status"] == 400 and "subjekt" in str(decision["error"])


def test_the_check_arrives_as_it_was_given(make_client: MakeClient, rogue: Rogue) -> None:
    check = {"resource": "GET:/orders", "subject": "user:42 äöü 🙂 \"\\", "costs": {"requests": 0, "tokens": 1200}, "plan_id": "pro",
             "tags": {"a": "b"}, "attributes": {"c": "d"}, "request_id": "r", "explain": True, "limit_override": {"burst": 200},
             "method": "GET", "endpoint": "/orders", "source_ip": "203.0.113.7"}
    make_client(rogue, api_key="the-key").check(**check)
    seen = rogue.requests[-1]
    assert (seen.method, seen.path, seen.body) == ("POST", "/v1/check", check)
    assert (seen.headers["x-api-key"], seen.headers["content-type"].split(";")[0]) == ("the-key", "application/json")
    assert seen.headers["host"] == f"127.0.0.1:{rogue.port}"
    assert "authorization" not in seen.headers


def test_every_call_names_the_sdk_and_carries_the_trace_that_it_is_given(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue)
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    client.send(check={"subject": "a"}, traceparent=trace, tracestate="a=b").decision()
    client.check(subject="a")
    traced, plain = rogue.requests
    assert (traced.headers["traceparent"], traced.headers["tracestate"]) == (trace, "a=b")
    assert "traceparent" not in plain.headers and "tracestate" not in plain.headers
    greeting = client.adapter.greeting
    assert traced.headers["user-agent"] == f"sluice-{greeting['sdk']}/{greeting['version']}"


def test_members_of_the_future_are_no_error_and_stay_in_raw(make_client: MakeClient, rogue: Rogue) -> None:
    body = {**ALLOWED, "mood": {"good": [1, 2.5, None, "ü"]}, "action": "applaud", "reason": "sunshine"}
    decision = make_client(rogue.then(reply(200, body))).check(subject="a")
    assert (decision["decided"], decision["allowed"], decision["action"], decision["reason"]) == (True, True, "applaud", "sunshine")
    assert decision["raw"] == body


def test_what_a_reply_does_not_say_has_its_default(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue.then(reply(200, {"allowed": True}), reply(429, {"allowed": False, "reason": "limit_exceeded"})))
    allowed, denied = client.check(subject="a"), client.check(subject="a")
    for decision in (allowed, denied):
        assert decision["decided"]
        for name in ("limit", "remaining", "reset", "policy", "plan", "limit_name", "lease_id", "request_id", "metadata"):
            assert decision[name] is None, name
        assert (decision["delay_ms"], decision["waited_ms"], decision["shadow"], decision["headers"]) == (0, 0, False, {})
    assert (allowed["would_allow"], allowed["over_limit"], allowed["retry_after_ms"]) == (True, False, 0)
    assert (denied["would_allow"], denied["over_limit"], denied["retry_after_ms"]) == (False, True, None)


def test_only_rate_limit_headers_are_handed_on(make_client: MakeClient, rogue: Rogue) -> None:
    sent = {"RateLimit": '"burst";r=1;t=5', "RateLimit-Policy": '"burst";q=5', "X-RateLimit-Limit": "5", "Retry-After": "3",
            "RateLimit-Partition": "a", "X-Request-Id": "abc", "Set-Cookie": "a=b", "X-RateLimiting": "no"}
    decision = make_client(rogue.then(reply(429, DENIED, sent))).check(subject="a")
    assert decision["headers"] == {"ratelimit": '"burst";r=1;t=5', "ratelimit-policy": '"burst";q=5', "x-ratelimit-limit": "5",
                                   "retry-after": "3", "ratelimit-partition": "a"}
    assert decision["request_id"] == "abc"


def test_a_reply_may_come_in_any_pieces_and_codings(make_client: MakeClient, rogue: Rogue) -> None:
    body = b'{"allowed":true,"reason":"within_limit"}'
    head = b"HTTP/1.1 200 OK\r\n"
    replies = [head + b"Transfer-Encoding: chunked\r\n\r\n5\r\n" + body[:5] + b"\r\n%x;a=b\r\n" % (len(body) - 5) + body[5:] +
               b"\r\n0\r\nTrailer: a\r\n\r\n",
               head + b"content-length:%d\r\n\r\n" % len(body) + body,
               b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + head +
               b"Content-Length: %d\r\n\r\n" % len(body) + body,
               b"HTTP/1.0 200 OK\r\n\r\n" + body,
               head + b"Connection: close\r\n\r\n" + body]
    for one in replies:
        # A client of its own: a former connection may be closed just when it is used again.
        assert make_client(rogue.then(raw(one))).check(subject="a")["decided"], one


def test_a_batch_keeps_the_order(client: ClientUnderTest) -> None:
    subject = fresh_subject()
    decisions = client.batch({"plan_id": "bucket", "subject": subject, "cost": 5}, {"plan_id": "bucket", "subject": subject},
                             {"plan_id": "fixed", "subject": subject}, {"subject": subject, "cost": -1})
    assert [one["allowed"] for one in decisions] == [True, False, True, True]
    assert [one["status"] for one in decisions] == [200, 429, 200, 422]
    assert [one["decided"] for one in decisions] == [True, True, True, False]
    assert decisions[3]["error"]["kind"] == "refused" and "/cost" in str(decisions[3]["error"])
    assert not any(one["headers"] for one in decisions)


def test_an_empty_batch_makes_no_call(make_client: MakeClient, rogue: Rogue) -> None:
    assert make_client(rogue).batch() == []
    assert rogue.connections == 0


def results(count: int) -> dict[str, Any]:
    """The body of a reply to a batch of so many checks; `remaining` is the place in it."""
    return {"results": [{**ALLOWED, "remaining": place} for place in range(count)]}


def test_a_long_batch_is_sent_in_parts_of_256_one_after_the_other(make_client: MakeClient, rogue: Rogue) -> None:
    rogue.then(reply(200, results(256)), reply(200, results(256)), reply(200, results(88)))
    decisions = make_client(rogue).batch(*({"subject": f"user:{number}"} for number in range(600)))
    assert [one["remaining"] for one in decisions] == [*range(256), *range(256), *range(88)]
    sent = [one["subject"] for seen in rogue.requests for one in seen.body["checks"]]
    assert sent == [f"user:{number}" for number in range(600)]
    assert [len(seen.body["checks"]) for seen in rogue.requests] == [256, 256, 88]
    assert {seen.path for seen in rogue.requests} == {"/v1/check/batch"}
    assert rogue.most_open == 1


def test_a_part_of_a_batch_that_fails_gives_only_its_own_checks_to_on_error(make_client: MakeClient, rogue: Rogue) -> None:
    rogue.then(reply(200, results(256)), reply(500, {"status": 500}), reply(200, results(10)))
    decisions = make_client(rogue, on_error="deny").batch(*[{"subject": "a"}] * 522)
    assert [one["decided"] for one in decisions] == [True] * 256 + [False] * 256 + [True] * 10
    assert [one["allowed"] for one in decisions] == [True] * 256 + [False] * 256 + [True] * 10
    assert {one["error"]["kind"] for one in decisions if one["error"]} == {"unavailable"}
    assert len(rogue.requests) == 3


@pytest.mark.parametrize("body", [{"results": []}, results(3), {"results": {}}, {"allowed": True}, []])
def test_a_batch_with_another_number_of_results_is_no_decision(make_client: MakeClient, rogue: Rogue, body: Any) -> None:
    decisions = make_client(rogue.then(reply(200, body)), on_error="deny").batch({"subject": "a"}, {"subject": "b"})
    assert [(one["allowed"], one["decided"], one["error"]["kind"]) for one in decisions] == [(False, False, "protocol")] * 2


def test_with_raise_a_batch_raises_for_a_call_that_failed_and_not_for_a_faulty_check(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue, on_error="raise")
    refused = {"status": 422, "code": "invalid", "detail": "cost", "errors": [{"pointer": "/checks/1"}]}
    rogue.then(reply(200, {"results": [ALLOWED, refused]}))
    allowed, faulty = client.batch({"subject": "a"}, {"subject": "a", "cost": -1})
    assert (allowed["decided"], faulty["decided"], faulty["error"]["kind"], faulty["error"]["code"]) == (True, False, "refused", "invalid")
    rogue.then(reply(422, {"status": 422, "code": "invalid", "detail": "no batch"}))
    raised = client.raised("check_batch", checks=[{"subject": "a"}])
    assert (raised["kind"], raised["status"], raised["code"]) == ("refused", 422, "invalid")


def test_a_certificate_that_is_not_trusted_or_of_another_name_gives_no_connection(
        make_client: MakeClient, tls_agent: Agent, program: Path, sdk_bundle: Bundle, authority: Authority, tmp_path: Path) -> None:
    decision = make_client(url=f"https://127.0.0.1:{tls_agent.port}").check(subject="a")
    assert (decision["error"]["kind"], decision["decided"]) == ("unreachable", False)
    folder = tmp_path / "other"
    folder.mkdir()
    cert, key = authority.sign(folder, "other", datetime.now(timezone.utc) + timedelta(days=1), names="DNS:other.example")
    agent = Agent(program, folder, sdk_bundle.write(folder / "bundle.json"), "memory", ["--tls-cert", str(cert), "--tls-key", str(key)])
    agent.start()
    try:
        decision = make_client(url=f"https://127.0.0.1:{agent.port}", ca_file=str(authority.cert)).check(subject="a")
        assert decision["error"]["kind"] == "unreachable"
    finally:
        agent.close()


def test_a_client_certificate_is_presented(make_client: MakeClient, program: Path, sdk_bundle: Bundle, authority: Authority,
                                           key: MintedKey, adapter: Adapter, tmp_path: Path) -> None:
    if not adapter.sdk.tls:
        pytest.skip("what runs this SDK here has no TLS that works")
    ends = datetime.now(timezone.utc) + timedelta(days=1)
    agent_cert, agent_key = authority.sign(tmp_path, "agent", ends)
    cert, cert_key = authority.sign(tmp_path, "caller", ends)
    agent = Agent(program, tmp_path / "agent", sdk_bundle.write(tmp_path / "bundle.json"), "memory",
                  ["--tls-cert", str(agent_cert), "--tls-key", str(agent_key), "--tls-client-ca", str(authority.cert)]).start()
    try:
        url = f"https://127.0.0.1:{agent.port}"
        known = make_client(url=url, ca_file=str(authority.cert), client_certificate=str(cert), client_key=str(cert_key),
                            api_key=key.text)
        assert known.check(plan_id="bucket", subject=fresh_subject())["decided"]
        unknown = make_client(url=url, ca_file=str(authority.cert), api_key=key.text).check(plan_id="bucket", subject="a")
        kinds = ("unreachable",) if adapter.sdk.alerts else ("unreachable", "protocol")
        assert not unknown["decided"] and unknown["error"]["kind"] in kinds
    finally:
        agent.close()
