"""Traces of calls over gRPC, and of requests to Envoy's rate limit service."""

import json
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support import rate_limits
from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket
from support.client import Client, fresh_subject
from support.grpc_client import DECISIONS, HEALTH, GrpcClient, grpc, message, message_class
from support.otlp import Collector, Span
from support.process import free_port, wait_until
from support.rate_limits import write_config
from support.redis_server import RedisServer

from envoy.service.auth.v3 import external_auth_pb2 as auth   # of xds-protos
from google.protobuf import json_format

INTERNAL, SERVER, CLIENT = 1, 2, 3
AUTHORIZATION = "envoy.service.auth.v3.Authorization"
RATE_LIMITS = "envoy.service.ratelimit.v3.RateLimitService"
CHECK_CALL, LIMIT_CALL = f"{DECISIONS}/Check", f"{RATE_LIMITS}/ShouldRateLimit"
SOON = {"OTEL_BSP_SCHEDULE_DELAY": "50"}
SHOP = """
domain: shop
descriptors:
  - key: user
    rate_limit: {unit: year, requests_per_unit: 1}
  - key: watched
    rate_limit: {unit: year, requests_per_unit: 1}
    shadow_mode: true
  - key: large
    rate_limit: {unit: year, requests_per_unit: 1000}
"""


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    """One that takes everything."""
    with Collector() as made:
        yield made


@pytest.fixture(scope="module")
def agent(key: MintedKey, redis: RedisServer, collector: Collector, module_agent: Callable[..., Agent],
          tmp_path_factory: pytest.TempPathFactory) -> Agent:
    """An agent that traces what its callers trace, and nothing else."""
    bundle = Bundle().key(key)
    bundle.plan("bucket", token_bucket(5, "1/1h"))
    bundle.policy("orders", {"resource": "GET:/orders"}, "bucket")
    config = write_config(tmp_path_factory.mktemp("limits") / "config", shop=SHOP)
    started: Agent = module_agent(bundle, redis.counters, "--redis-deadline", "5s", "--otlp-endpoint", collector.endpoint, "--trace-sample", "0",
                                  "--decision-log", "all", "--ratelimit-config", str(config), "--trusted-proxies", "127.0.0.1", env=SOON)
    started.grpc_port = free_port()   # type: ignore[attr-defined]
    started.flags += ["--grpc", f"127.0.0.1:{started.grpc_port}"]   # type: ignore[attr-defined]
    started.start()
    started.wait_for_redis(key.text, "bucket")
    return started


@pytest.fixture(scope="module")
def rpc(agent: Agent, key: MintedKey) -> Iterator[GrpcClient]:
    """A channel to it."""
    with GrpcClient(f"127.0.0.1:{agent.grpc_port}", key.text) as client:   # type: ignore[attr-defined]
        yield client


@pytest.fixture
def client(agent: Agent, key: MintedKey) -> Iterator[Client]:
    """A connection to its HTTP port."""
    with agent.client(key.text) as made:
        yield made


def caller() -> tuple[str, str, list[tuple[str, str]]]:
    """An application's span: ids of its trace and of itself, and the metadata it sends."""
    trace, span = secrets.token_hex(16), secrets.token_hex(8)
    return trace, span, [("traceparent", f"00-{trace}-{span}-01"), ("tracestate", "rojo=1")]


def call(rpc: GrpcClient, service: str, method: str, request: Any, metadata: list[tuple[str, str]]) -> Any:
    """One call with the API key and this metadata."""
    return rpc.unary(service, method)(request, timeout=20, metadata=[*rpc.metadata, *metadata])


def limits(*descriptors: tuple[str, str], domain: str = "shop") -> Any:
    """A RateLimitRequest with a descriptor for each pair."""
    entries = [{"entries": [{"key": key, "value": value}]} for key, value in descriptors]
    return message_class("envoy.service.ratelimit.v3.RateLimitRequest")(domain=domain, descriptors=entries)


def test_a_check_over_grpc_is_one_trace_from_the_application_to_redis(agent: Agent, rpc: GrpcClient, collector: Collector) -> None:
    trace, application, metadata = caller()
    call(rpc, DECISIONS, "Check", message("CheckRequest", resource="GET:/orders", subject=fresh_subject()), metadata)
    spans = collector.wait_for(3, trace)
    request, check, redis_call = spans[CHECK_CALL], spans["ratelimit.check"], spans["EVALSHA"]
    assert (request.parent_id, check.parent_id, redis_call.parent_id) == (application, request.span_id, check.span_id)
    assert (request.kind, check.kind, redis_call.kind) == (SERVER, INTERNAL, CLIENT)
    assert {span.trace_state for span in spans.values()} == {"rojo=1"}
    assert request.attributes == {"rpc.system.name": "grpc", "rpc.method": CHECK_CALL, "rpc.response.status_code": "OK",
                                  "network.peer.address": "127.0.0.1"}
    assert check.attributes["ratelimit.policy"] == "orders"
    assert not request.failed
    (line,) = wait_until("the line", lambda: [line for line in map(json.loads, filter(lambda text: text.startswith("{"),
                                              agent.process.output().splitlines())) if line.get("trace_id") == trace])
    assert line["span_id"] == check.span_id


def test_the_checks_of_a_batch_and_of_a_traced_stream_are_below_their_call(rpc: GrpcClient, collector: Collector) -> None:
    trace, _, metadata = caller()
    checks = [message("CheckRequest", plan_id="bucket", subject=fresh_subject()) for _ in range(3)]
    call(rpc, DECISIONS, "CheckBatch", message("CheckBatchRequest", checks=checks), metadata)
    wait_until("the batch", lambda: len(collector.spans(trace)) == 7)
    (batch,) = [span for span in collector.spans(trace) if span.name == f"{DECISIONS}/CheckBatch"]
    assert [span.parent_id for span in collector.spans(trace) if span.name == "ratelimit.check"] == [batch.span_id] * 3
    trace, _, metadata = caller()
    path, serialize, parse = rpc.method(DECISIONS, "CheckStream")
    stream = rpc.channel.stream_stream(path, serialize, parse)
    sent = (message("CheckStreamRequest", id=number, check=check) for number, check in enumerate(checks))
    assert len(list(stream(sent, metadata=[*rpc.metadata, *metadata], timeout=20))) == 3
    wait_until("the stream", lambda: len(collector.spans(trace)) == 7)
    (whole,) = [span for span in collector.spans(trace) if span.name == f"{DECISIONS}/CheckStream"]
    assert [span.parent_id for span in collector.spans(trace) if span.name == "ratelimit.check"] == [whole.span_id] * 3


def test_a_call_fails_its_span_only_if_the_agent_is_to_blame(rpc: GrpcClient, collector: Collector) -> None:
    """As OpenTelemetry's conventions say: neither a bad request nor a denial is a failure of the server."""
    trace, _, metadata = caller()
    with pytest.raises(grpc.RpcError):
        call(rpc, DECISIONS, "Check", message("CheckRequest", plan_id="no-such", subject="s"), metadata)
    refused = collector.wait_for(2, trace)[CHECK_CALL]
    assert (refused.attributes["rpc.response.status_code"], refused.failed) == ("NOT_FOUND", False)
    subject = fresh_subject()
    for _ in range(5):
        call(rpc, DECISIONS, "Check", message("CheckRequest", plan_id="bucket", subject=subject), [])
    trace, _, metadata = caller()
    with pytest.raises(grpc.RpcError):
        call(rpc, DECISIONS, "Check", message("CheckRequest", plan_id="bucket", subject=subject, cost=1), [*metadata, ("sluice-deny-with-status", "true")])
    denied = collector.wait_for(3, trace)[CHECK_CALL]
    assert (denied.attributes["rpc.response.status_code"], denied.failed) == ("RESOURCE_EXHAUSTED", False)


def test_health_has_no_span(rpc: GrpcClient, collector: Collector) -> None:
    trace, _, metadata = caller()
    call(rpc, HEALTH, "Check", message_class("grpc.health.v1.HealthCheckRequest")(), metadata)
    last, _, metadata = caller()
    call(rpc, DECISIONS, "Check", message("CheckRequest", plan_id="bucket", subject=fresh_subject()), metadata)
    collector.wait_for(3, last)
    assert collector.spans(trace) == []


def authorize(rpc: GrpcClient, headers: dict[str, str], metadata: list[tuple[str, str]]) -> None:
    """One call of Envoy for a request with these headers."""
    request = json_format.ParseDict({"attributes": {
        "source": {"address": {"socketAddress": {"address": "198.51.100.7", "portValue": 1}}},
        "request": {"http": {"method": "GET", "path": "/orders", "host": "shop.example", "headers": headers}}}}, auth.CheckRequest())
    method = rpc.channel.unary_unary(f"/{AUTHORIZATION}/Check", auth.CheckRequest.SerializeToString, auth.CheckResponse.FromString)
    assert method(request, metadata=[*rpc.metadata, *metadata], timeout=20).status.code == 0


def test_envoys_authorization_takes_the_trace_of_the_metadata_before_that_of_the_request(rpc: GrpcClient, collector: Collector) -> None:
    theirs, their_span, of_request = caller()
    authorize(rpc, dict(of_request), [])
    spans = collector.wait_for(3, theirs)
    assert spans[f"{AUTHORIZATION}/Check"].parent_id == their_span
    assert spans["ratelimit.check"].parent_id == spans[f"{AUTHORIZATION}/Check"].span_id
    assert {span.trace_state for span in spans.values()} == {"rojo=1"}
    envoys, envoys_span, of_envoy = caller()
    ignored, _, of_request = caller()
    authorize(rpc, dict(of_request), of_envoy)
    assert collector.wait_for(3, envoys)[f"{AUTHORIZATION}/Check"].parent_id == envoys_span
    assert collector.spans(ignored) == []


def checked(spans: dict[str, Span], request: str) -> dict[str, Any]:
    """The attributes of the check below this request, whose call of Redis is below it."""
    check = spans["ratelimit.check"]
    assert (check.parent_id, check.kind) == (spans[request].span_id, INTERNAL)
    assert (spans["EVALSHA"].parent_id, spans["EVALSHA"].kind) == (check.span_id, CLIENT)
    return check.attributes


@pytest.mark.parametrize("transport", ["grpc", "json"])
def test_a_request_for_rate_limits_has_one_check_with_the_rule_that_decided(transport: str, rpc: GrpcClient, client: Client,
                                                                            collector: Collector) -> None:
    """Users' values are in none of the attributes."""
    user = fresh_subject()

    def should_limit(*descriptors: tuple[str, str]) -> tuple[dict[str, Span], str]:
        trace, application, metadata = caller()
        if transport == "grpc":
            call(rpc, RATE_LIMITS, "ShouldRateLimit", limits(*descriptors), metadata)
        else:
            client.post("/json", rate_limits.message("shop", *([pair] for pair in descriptors)), dict(metadata))
        spans = collector.wait_for(3, trace)
        name = LIMIT_CALL if transport == "grpc" else "POST /json"
        assert (spans[name].parent_id, spans[name].kind) == (application, SERVER)
        return spans, name

    allowed = checked(*should_limit(("user", user), ("large", user), ("unknown", user)))
    common = {"ratelimit.tenant": "default", "ratelimit.domain": "shop", "ratelimit.algorithm": "fixed_window"}
    assert allowed == common | {"ratelimit.descriptors": 3, "ratelimit.descriptors_over_limit": 0, "ratelimit.outcome": "allowed",
                                "ratelimit.reason": "within_limit", "ratelimit.policy": "shop.user", "ratelimit.remaining": 0}
    denied = checked(*should_limit(("large", user), ("user", user)))
    assert denied == common | {"ratelimit.descriptors": 2, "ratelimit.descriptors_over_limit": 1, "ratelimit.outcome": "denied",
                               "ratelimit.reason": "limit_exceeded", "ratelimit.policy": "shop.user", "ratelimit.remaining": 0,
                               "ratelimit.over_limit": "shop.user"}
    should_limit(("watched", user))
    shadowed = checked(*should_limit(("watched", user)))
    assert shadowed == common | {"ratelimit.descriptors": 1, "ratelimit.descriptors_over_limit": 1, "ratelimit.outcome": "allowed",
                                 "ratelimit.reason": "shadow", "ratelimit.policy": "shop.watched", "ratelimit.remaining": 0,
                                 "ratelimit.over_limit": "shop.watched", "ratelimit.shadow": True}


def test_a_request_for_rate_limits_that_is_not_judged_fails_its_spans(key: MintedKey, collector: Collector, tmp_path: Any, program: Any) -> None:
    """Here nothing listens where Redis should be."""
    config = write_config(tmp_path / "config", shop=SHOP)
    agent = Agent(program, tmp_path / "agent", None, f"redis://127.0.0.1:{free_port()}",
                  ["--ratelimit-config", str(config), "--otlp-endpoint", collector.endpoint, "--trace-sample", "0"], env=SOON)
    trace, _, metadata = caller()
    try:
        agent.start()
        with agent.client() as client:
            assert client.post("/json", rate_limits.message("shop", [("user", "u")]), dict(metadata)).status == 503
        spans = collector.wait_for(3, trace)
    finally:
        agent.close()
    assert [spans[name].failed for name in ("POST /json", "ratelimit.check", "EVALSHA")] == [True] * 3
    assert spans["ratelimit.check"].attributes["error.type"] == "unavailable"
