"""Checks over gRPC, asked by a stock client: the same decisions, refusals and leases as over HTTP."""

import queue
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey
from support.client import Client, fresh_subject
from support.grpc_client import DECISIONS, GrpcClient, details, grpc, message
from support.http2_frames import DATA, END_HEADERS, END_STREAM, HEADERS, Http2Connection, frame, request_fields
from support.process import free_port, wait_until

OPEN_SECONDS = 10.0


@pytest.fixture(scope="module")
def agent(bundle: Bundle, module_agent: Callable[..., Agent]) -> Agent:
    """An agent with gRPC, counting in memory."""
    port = free_port()
    made: Agent = module_agent(bundle, "memory", "--grpc", f"127.0.0.1:{port}")
    made.grpc_port = port  # type: ignore[attr-defined]
    return made.start()


@pytest.fixture
def rpc(agent: Agent, key: MintedKey) -> Iterator[GrpcClient]:
    """A channel of tenant acme."""
    with GrpcClient(f"127.0.0.1:{agent.grpc_port}", key.text) as client:  # type: ignore[attr-defined]
        yield client


def fails(call: Callable[[], Any], code: grpc.StatusCode) -> grpc.RpcError:
    """The error with which a call fails."""
    with pytest.raises(grpc.RpcError) as raised:
        call()
    assert raised.value.code() == code, raised.value
    return raised.value


def test_a_check_is_decided_as_over_http(rpc: GrpcClient, client: Client) -> None:
    """The same policy, the same counter, the same numbers."""
    subject = fresh_subject()
    over_http = client.check(resource="GET:/orders", subject=subject).body
    decision = rpc.check(resource="GET:/orders", subject=subject, request_id="r-1")
    assert (decision.allowed, decision.action, decision.reason) == (True, "allow", "within_limit")
    assert decision.limit == over_http["limit"] == 5
    assert decision.remaining == over_http["remaining"] - 1
    assert decision.reset_at > over_http["reset_at"] - 1
    assert decision.retry_after_ms == 0
    assert (decision.policy_id, decision.policy_version, decision.plan_id) == ("orders", 7, "bucket")
    assert dict(decision.metadata) == {"team": "sales"}
    assert decision.request_id == "r-1"


def test_a_denial_is_a_message_with_the_wait(rpc: GrpcClient) -> None:
    """The status is OK."""
    subject = fresh_subject()
    for _ in range(5):
        assert rpc.check(plan_id="bucket", subject=subject).allowed
    denied = rpc.check(plan_id="bucket", subject=subject)
    assert (denied.allowed, denied.reason, denied.remaining) == (False, "limit_exceeded", 0)
    assert 0 < denied.retry_after_ms <= 3_600_000
    never = rpc.check(plan_id="bucket", subject=subject, cost=6)
    assert not never.HasField("retry_after_ms")


@pytest.mark.parametrize("how", ["field", "metadata"])
def test_a_denial_is_a_status_for_callers_that_ask(rpc: GrpcClient, how: str) -> None:
    """RESOURCE_EXHAUSTED, with how long to wait and what ran out."""
    subject = fresh_subject()
    asked = {"deny_with_status": True} if how == "field" else {}
    metadata = [*rpc.metadata, ("sluice-deny-with-status", "true")] if how == "metadata" else None
    assert rpc.check(metadata, plan_id="bucket", subject=subject, cost=5, **asked).allowed
    error = fails(lambda: rpc.check(metadata, plan_id="bucket", subject=subject, **asked),
                  grpc.StatusCode.RESOURCE_EXHAUSTED)
    found = details(error)
    assert 0 < found["RetryInfo"].retry_delay.seconds <= 3600
    assert found["QuotaFailure"].violations[0].subject == "burst"
    assert found["ErrorInfo"].reason == "limit_exceeded"
    assert dict(found["ErrorInfo"].metadata) == {"plan_id": "bucket", "limit_name": "burst"}


def test_the_key_may_come_as_a_bearer_token(rpc: GrpcClient, key: MintedKey) -> None:
    """Instead of x-api-key."""
    assert rpc.check([("authorization", f"Bearer {key.text}")], resource="GET:/orders", subject=fresh_subject()).allowed


@pytest.mark.parametrize("presented, code", [("", "missing"), ("slk_nobody_x", "malformed")])
def test_a_call_without_a_good_key_is_unauthenticated(rpc: GrpcClient, presented: str, code: str) -> None:
    """With the code that HTTP answers with."""
    error = fails(lambda: rpc.check([("x-api-key", presented)] if presented else [], resource="GET:/orders"),
                  grpc.StatusCode.UNAUTHENTICATED)
    assert details(error)["ErrorInfo"].reason == code


def test_all_fields_that_are_faulty_are_named(rpc: GrpcClient) -> None:
    """In the message for people, and in a BadRequest for programs."""
    error = fails(lambda: rpc.check(resource="GET:/orders", cost=-1, source_ip="nowhere", wait="soon"),
                  grpc.StatusCode.INVALID_ARGUMENT)
    assert "cost: a cost is not negative" in error.details()
    assert {v.field for v in details(error)["BadRequest"].field_violations} == {"cost", "source_ip", "wait"}


def test_refusals_have_the_status_that_fits(rpc: GrpcClient) -> None:
    """As the HTTP problems."""
    fails(lambda: rpc.check(plan_id="none", subject="s"), grpc.StatusCode.NOT_FOUND)
    fails(lambda: rpc.check(resource="GET:/orders", tenant_id="rival"), grpc.StatusCode.INVALID_ARGUMENT)
    fails(lambda: rpc.check(resource="GET:/orders", subject="s", limit_override={"burst": 9}),
          grpc.StatusCode.PERMISSION_DENIED)
    fails(lambda: rpc.check(plan_id="strict-identity"), grpc.StatusCode.INVALID_ARGUMENT)
    error = fails(lambda: rpc.unary(DECISIONS, "Check")(message("CheckRequest"), timeout=20, metadata=rpc.metadata),
                  grpc.StatusCode.INVALID_ARGUMENT)
    assert "resource: is required" in error.details()


def test_costs_tags_and_explain_arrive(rpc: GrpcClient) -> None:
    """Maps and sub-messages in both directions."""
    decision = rpc.check(plan_id="tokens", subject=fresh_subject(), costs={"requests": 2, "tokens": 7},
                         tags={"env": "test"}, attributes={"a": "b"}, explain=True)
    assert {limit.name: (limit.cost, limit.remaining, limit.admitted) for limit in decision.limits} == {
        "burst": (2, 3, True), "tokens": (7, 993, True)}
    assert decision.now_us > 0 and not decision.uncounted_units


def test_explain_names_units_that_no_limit_counts(rpc: GrpcClient) -> None:
    decision = rpc.check(plan_id="tokens", subject=fresh_subject(), costs={"tokns": 7}, explain=True)
    assert [each.unit for each in decision.uncounted_units] == ["tokns"]
    assert 'Did you mean "tokens"?' in decision.uncounted_units[0].why


def test_a_batch_answers_each_check_in_order(rpc: GrpcClient) -> None:
    """A faulty one gets its own refusal."""
    subject = fresh_subject()
    checks = [message("CheckRequest", plan_id="bucket", subject=subject, cost=3),
              message("CheckRequest", plan_id="bucket", subject=subject, cost=3),
              message("CheckRequest", plan_id="none", subject=subject),
              message("CheckRequest", plan_id="bucket", subject=subject, wait="2s")]
    results = rpc.call("CheckBatch", message("CheckBatchRequest", checks=checks)).results
    assert [r.WhichOneof("result") for r in results] == ["decision", "decision", "refusal", "refusal"]
    assert [r.decision.allowed for r in results[:2]] == [True, False]
    assert (results[2].refusal.code, results[2].refusal.reason) == (5, "unknown_plan")
    assert results[3].refusal.faults[0].field == "wait"
    fails(lambda: rpc.call("CheckBatch", message("CheckBatchRequest")), grpc.StatusCode.INVALID_ARGUMENT)


def test_a_stream_answers_every_check_by_its_id(rpc: GrpcClient) -> None:
    """More checks than may be under way at once."""
    subject = fresh_subject()

    def ask() -> Iterator[Any]:
        for i in range(600):
            yield message("CheckStreamRequest", id=i + 1, check=message(
                "CheckRequest", plan_id="none" if i == 3 else "bucket", subject=subject))

    answers = {answer.id: answer.result for answer in rpc.check_stream(ask())}
    assert set(answers) == set(range(1, 601))
    assert answers[4].refusal.reason == "unknown_plan"
    assert sum(result.decision.allowed for result in answers.values()) == 5


def test_leases_are_renewed_and_released(rpc: GrpcClient) -> None:
    """By the ids of the decisions."""
    subject = fresh_subject()
    first = rpc.check(plan_id="leases", subject=subject)
    assert first.lease_id and first.lease_expires_at > 0
    renewed = rpc.call("Renew", message("RenewRequest", lease_id=first.lease_id))
    assert renewed.renewed and renewed.lease_expires_at >= first.lease_expires_at
    assert rpc.call("Release", message("ReleaseRequest", lease_id=first.lease_id)).released
    assert not rpc.call("Release", message("ReleaseRequest", lease_id=first.lease_id)).released
    fails(lambda: rpc.call("Release", message("ReleaseRequest", lease_id="x")), grpc.StatusCode.INVALID_ARGUMENT)
    fails(lambda: rpc.call("Renew", message("RenewRequest")), grpc.StatusCode.INVALID_ARGUMENT)


def hold(agent: Agent, rpc: GrpcClient, subject: str, **fields: Any) -> Any:
    """A check that the agent holds: the future of its answer."""
    call = rpc.unary(DECISIONS, "Check").future(
        message("CheckRequest", plan_id="leases", subject=subject, wait="60s", **fields), metadata=rpc.metadata,
        timeout=60)
    wait_until("a check that is held", lambda: agent.metric("sluice_checks_held") == 1, OPEN_SECONDS)
    return call


def test_a_check_waits_until_it_fits(agent: Agent, rpc: GrpcClient) -> None:
    """Both places are taken; one comes free."""
    subject = fresh_subject()
    leases = [rpc.check(plan_id="leases", subject=subject).lease_id for _ in range(2)]
    held = hold(agent, rpc, subject)
    rpc.call("Release", message("ReleaseRequest", lease_id=leases[0]))
    decision = held.result(timeout=20)
    assert decision.allowed and decision.HasField("waited_ms")


def test_a_cancelled_call_gives_its_place_in_the_line_back(agent: Agent, rpc: GrpcClient) -> None:
    """Its check is abandoned, not decided later."""
    subject = fresh_subject()
    for _ in range(2):
        rpc.check(plan_id="leases", subject=subject)
    held = hold(agent, rpc, subject)
    held.cancel()
    wait_until("an empty line", lambda: agent.metric("sluice_checks_held") == 0, OPEN_SECONDS)
    assert agent.metric("sluice_grpc_requests_total", method=f"{DECISIONS}/Check", code="CANCELLED") >= 1


def test_a_deadline_ends_the_wait(agent: Agent, rpc: GrpcClient) -> None:
    """The client's own clock says DEADLINE_EXCEEDED, and the agent stops holding the check."""
    subject = fresh_subject()
    for _ in range(2):
        rpc.check(plan_id="leases", subject=subject)
    fails(lambda: rpc.check(plan_id="leases", subject=subject, wait="60s", timeout=1), grpc.StatusCode.DEADLINE_EXCEEDED)
    wait_until("an empty line", lambda: agent.metric("sluice_checks_held") == 0, OPEN_SECONDS)


def test_the_agent_ends_a_call_right_after_its_deadline(agent: Agent, rpc: GrpcClient, key: MintedKey) -> None:
    """Asked by frames, because a stock client ends the call by its own clock. A busy machine may disturb some of the tries."""
    subject = fresh_subject()
    for _ in range(2):
        rpc.check(plan_id="leases", subject=subject)
    held = message("CheckRequest", plan_id="leases", subject=subject, wait="60s").SerializeToString()
    fields = request_fields(f"/{DECISIONS}/Check", ("x-api-key", key.text), ("grpc-timeout", "100m"))
    took = []
    with Http2Connection(agent.grpc_port) as raw:  # type: ignore[attr-defined]
        frames = raw.frames()
        for stream in (1, 3, 5, 7, 9):
            began = time.monotonic()
            raw.send(frame(HEADERS, END_HEADERS, stream, fields)
                     + frame(DATA, END_STREAM, stream, b"\0" + struct.pack(">I", len(held)) + held))
            while next(frames)[0::2] != (HEADERS, stream):
                pass
            took.append(time.monotonic() - began)
    assert 0.1 <= min(took) < 0.13, took


def test_what_is_too_large_or_unknown_is_refused_by_itself(rpc: GrpcClient) -> None:
    """The channel goes on."""
    error = fails(lambda: rpc.check(resource="x" * 20_000), grpc.StatusCode.RESOURCE_EXHAUSTED)
    assert "at most 16384 bytes" in error.details()
    large = [*rpc.metadata, *((f"x-filler-{i}", "y" * 1000) for i in range(9))]
    error = fails(lambda: rpc.check(large, resource="GET:/orders"), grpc.StatusCode.RESOURCE_EXHAUSTED)
    assert "metadata" in error.details()
    unknown = rpc.channel.unary_unary("/sluice.v1.Decisions/Guess")
    assert "/sluice.v1.Decisions/Guess" in fails(lambda: unknown(b"", timeout=20), grpc.StatusCode.UNIMPLEMENTED).details()
    broken = rpc.channel.unary_unary("/sluice.v1.Decisions/Check")
    fails(lambda: broken(b"\x0a\xff", timeout=20, metadata=rpc.metadata), grpc.StatusCode.INVALID_ARGUMENT)
    compressed = rpc.channel.unary_unary(*rpc.method(DECISIONS, "Check"))
    fails(lambda: compressed(message("CheckRequest", resource="GET:/orders", subject="s" * 200), timeout=20,
                             metadata=rpc.metadata, compression=grpc.Compression.Gzip), grpc.StatusCode.UNIMPLEMENTED)
    assert rpc.check(resource="GET:/orders", subject=fresh_subject()).allowed


def test_a_stream_of_bytes_that_are_no_messages_is_refused_and_counted(agent: Agent, rpc: GrpcClient) -> None:
    refused = agent.metric("sluice_http_refused_total", code="invalid")
    broken = rpc.channel.stream_stream(f"/{DECISIONS}/CheckStream")
    error = fails(lambda: list(broken(iter([b"\x0a\xff"]), timeout=20, metadata=rpc.metadata)), grpc.StatusCode.INVALID_ARGUMENT)
    assert "CheckStreamRequest" in error.details()
    assert agent.metric("sluice_http_refused_total", code="invalid") == refused + 1


def test_many_calls_of_one_channel_are_answered(agent: Agent, rpc: GrpcClient) -> None:
    """64 at a time; each is charged once."""
    subject = fresh_subject()
    answers: "queue.Queue[bool]" = queue.Queue()

    def ask() -> None:
        for _ in range(10):
            answers.put(rpc.check(plan_id="bucket", subject=subject).allowed)

    threads = [threading.Thread(target=ask) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers.qsize() == 640
    assert sum(answers.queue) == 5


def test_calls_are_counted_by_method_and_status(agent: Agent, rpc: GrpcClient) -> None:
    """With refusals under the same codes as HTTP's."""
    refused = agent.metric("sluice_http_refused_total", code="unknown_plan")
    answered = agent.metric("sluice_grpc_requests_total", method=f"{DECISIONS}/Check", code="OK")
    rpc.check(resource="GET:/orders", subject=fresh_subject())
    fails(lambda: rpc.check(plan_id="none", subject="s"), grpc.StatusCode.NOT_FOUND)
    assert agent.metric("sluice_grpc_requests_total", method=f"{DECISIONS}/Check", code="OK") == answered + 1
    assert agent.metric("sluice_http_refused_total", code="unknown_plan") == refused + 1
    assert agent.metric("sluice_grpc_requests_total", method=f"{DECISIONS}/Check", code="NOT_FOUND") >= 1
    wait_until("an open connection", lambda: agent.metric("sluice_grpc_open_connections") >= 1, OPEN_SECONDS)
