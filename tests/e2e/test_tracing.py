"""Traces of checks: what a collector gets, and that a collector which is away, slow or refuses changes no decision."""

import http.server
import json
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey
from support.client import Client, fresh_subject
from support.metrics_table import AGENT, types_of
from support.otlp import Collector
from support.process import free_port, wait_until
from support.redis_server import RedisServer

INTERNAL, SERVER, CLIENT = 1, 2, 3
SOON = {"OTEL_BSP_SCHEDULE_DELAY": "50"}


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    """One that takes everything."""
    with Collector() as made:
        yield made


@pytest.fixture(scope="module")
def agent(bundle: Bundle, key: MintedKey, redis: RedisServer, collector: Collector, module_agent: Callable[..., Agent]) -> Agent:
    """An agent that traces to the collector what its callers trace, and nothing else."""
    started: Agent = module_agent(bundle, redis.counters, "--redis-deadline", "5s", "--otlp-endpoint", collector.endpoint,
                                  "--trace-sample", "0", "--decision-log", "all", env=SOON | {"OTEL_RESOURCE_ATTRIBUTES": "team=a%20b"}).start()
    started.wait_for_redis(key.text, "bucket")
    return started


def caller() -> tuple[str, str, dict[str, str]]:
    """An application's span: ids of its trace and of itself, and the headers it sends."""
    trace, span = secrets.token_hex(16), secrets.token_hex(8)
    return trace, span, {"traceparent": f"00-{trace}-{span}-01", "tracestate": "rojo=1"}


def logged(agent: Agent, trace: str) -> list[dict[str, Any]]:
    """Lines of the decision log with this trace."""
    lines = (json.loads(line) for line in agent.process.output().splitlines() if line.startswith("{"))
    return [line for line in lines if line.get("trace_id") == trace]


def test_a_check_is_one_trace_from_the_application_to_redis(agent: Agent, client: Client, collector: Collector, redis: RedisServer) -> None:
    trace, application, headers = caller()
    subject = fresh_subject()
    decision = client.check(headers, resource="GET:/orders", subject=subject, request_id="r-1").body
    spans = collector.wait_for(3, trace)
    request, check, call = spans["POST /v1/check"], spans["ratelimit.check"], spans["EVALSHA"]
    assert (request.parent_id, check.parent_id, call.parent_id) == (application, request.span_id, check.span_id)
    assert (request.kind, check.kind, call.kind) == (SERVER, INTERNAL, CLIENT)
    assert {span.trace_state for span in spans.values()} == {"rojo=1"}
    assert request.attributes == {"http.request.method": "POST", "http.route": "/v1/check", "url.path": "/v1/check",
                                  "network.peer.address": "127.0.0.1", "http.response.status_code": 200}
    assert check.attributes.pop("ratelimit.subject_hash") not in ("", subject)
    assert check.attributes == {
        "ratelimit.tenant": "acme", "ratelimit.policy": "orders", "ratelimit.plan": "bucket", "ratelimit.outcome": "allowed",
        "ratelimit.reason": "within_limit", "ratelimit.cost": 1, "ratelimit.algorithm": "token_bucket",
        "ratelimit.remaining": decision["remaining"], "ratelimit.request_id": "r-1"}
    assert call.attributes == {"db.system.name": "redis", "db.operation.name": "EVALSHA", "server.address": redis.counters.removeprefix("unix:").split("?")[0]}
    assert request.seconds >= check.seconds >= call.seconds > 0
    assert not any(span.failed for span in spans.values())
    resource = request.resource
    assert resource["service.name"] == "sluice-agent" and resource["service.instance.id"] and resource["service.version"]
    assert resource["team"] == "a b"
    assert collector.requests[-1][0] == "/v1/traces"
    assert collector.requests[-1][1]["content-type"] == "application/x-protobuf"


def test_a_denial_says_what_was_over_the_limit(client: Client, collector: Collector) -> None:
    subject = fresh_subject()
    for _ in range(5):
        client.check(plan_id="bucket", subject=subject)
    trace, _, headers = caller()
    assert client.check(headers, plan_id="bucket", subject=subject, resource="GET:/orders").status == 429
    spans = collector.wait_for(3, trace)
    check = spans["ratelimit.check"].attributes
    assert (check["ratelimit.outcome"], check["ratelimit.reason"]) == ("denied", "limit_exceeded")
    assert check["ratelimit.over_limit"] == "GET:/orders"
    assert spans["POST /v1/check"].attributes["http.response.status_code"] == 429
    assert not spans["POST /v1/check"].failed


def test_each_check_of_a_batch_has_its_span_below_that_of_the_batch(client: Client, collector: Collector) -> None:
    trace, _, headers = caller()
    checks = [{"plan_id": "bucket", "subject": fresh_subject()} for _ in range(3)]
    client.post("/v1/check/batch", json.dumps({"checks": checks}), headers)
    wait_until("the spans", lambda: len(collector.spans(trace)) == 7)
    (batch,) = [span for span in collector.spans(trace) if span.name == "POST /v1/check/batch"]
    children = [span for span in collector.spans(trace) if span.name == "ratelimit.check"]
    assert [span.parent_id for span in children] == [batch.span_id] * 3


def test_what_the_caller_does_not_trace_is_not_traced(agent: Agent, client: Client, collector: Collector) -> None:
    """Nor what has no caller's trace, with a share of 0."""
    trace, _, headers = caller()
    unsampled = headers["traceparent"][:-1] + "0"
    client.check({"traceparent": unsampled}, plan_id="bucket", subject=fresh_subject())
    client.check(plan_id="bucket", subject=fresh_subject())
    before = agent.metric("sluice_trace_spans_exported_total")
    last, _, headers = caller()
    client.check(headers, plan_id="bucket", subject=fresh_subject())
    collector.wait_for(3, last)
    assert collector.spans(trace) == []
    wait_until("the metric", lambda: agent.metric("sluice_trace_spans_exported_total") >= before + 3)
    assert agent.metric("sluice_trace_spans_exported_total") == len(collector.spans())


def test_the_decision_log_names_trace_and_span(agent: Agent, client: Client, collector: Collector) -> None:
    trace, _, headers = caller()
    client.check(headers, plan_id="bucket", subject=fresh_subject())
    check = collector.wait_for(3, trace)["ratelimit.check"]
    (line,) = wait_until("the line", lambda: logged(agent, trace))
    assert line["span_id"] == check.span_id
    assert line["traceparent"] == headers["traceparent"]


def test_without_a_caller_a_check_begins_a_trace_of_its_own(bundle: Bundle, key: MintedKey, collector: Collector,
                                                            make_agent: Callable[..., Agent]) -> None:
    """In memory there is no call of a database."""
    agent = make_agent(bundle, "memory", env=SOON | {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint, "OTEL_SERVICE_NAME": "own",
                                                     "OTEL_EXPORTER_OTLP_HEADERS": "x-token=word%3d1"}).start()
    with agent.client(key.text) as client:
        client.check(plan_id="bucket", subject=fresh_subject())
    spans = wait_until("the spans", lambda: [span for span in collector.spans() if span.resource["service.name"] == "own"])
    wait_until("both spans", lambda: len([span for span in collector.spans() if span.resource["service.name"] == "own"]) == 2)
    spans = [span for span in collector.spans() if span.resource["service.name"] == "own"]
    assert {span.name for span in spans} == {"POST /v1/check", "ratelimit.check"}
    assert len({span.trace_id for span in spans}) == 1
    assert [span.parent_id for span in spans if span.name == "POST /v1/check"] == [""]
    assert collector.requests[-1][1]["x-token"] == "word=1"
    assert "word=1" not in agent.process.output() and "word%3d1" not in agent.process.output()
    assert "unknown_variable" not in agent.process.output()
    assert types_of(agent.metrics()).items() >= {name: kind for name, kind in AGENT.types.items() if name.startswith("sluice_trace_")}.items()


def test_what_waits_is_sent_before_the_agent_ends(bundle: Bundle, key: MintedKey, make_agent: Callable[..., Agent]) -> None:
    with Collector() as collector:
        agent = make_agent(bundle, "memory", "--otlp-endpoint", collector.endpoint, env={"OTEL_BSP_SCHEDULE_DELAY": "3600000"}).start()
        with agent.client(key.text) as client:
            client.check(plan_id="bucket", subject=fresh_subject())
        assert collector.spans() == []
        agent.stop()
        assert {span.name for span in collector.spans()} == {"POST /v1/check", "ratelimit.check"}


def garbage(handler: http.server.BaseHTTPRequestHandler) -> None:
    """Answers with something else than HTTP."""
    handler.wfile.write(b"\x00\xff not HTTP\r\n\r\n")
    handler.close_connection = True


@pytest.mark.parametrize("answer", [503, garbage, None, "stopped", 400], ids=["503", "garbage", "silent", "stopped", "400"])
def test_a_collector_that_does_not_take_spans_changes_no_decision(answer: Any, bundle: Bundle, key: MintedKey,
                                                                  make_agent: Callable[..., Agent]) -> None:
    """The queue stays within its bound, and what is dropped is counted."""
    with Collector(None if answer == "stopped" else answer) as collector:
        endpoint = f"http://127.0.0.1:{free_port()}" if answer == "stopped" else collector.endpoint
        agent = make_agent(bundle, "memory", "--otlp-endpoint", endpoint,
                           env=SOON | {"OTEL_BSP_MAX_QUEUE_SIZE": "20", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "10",
                                       "OTEL_EXPORTER_OTLP_TIMEOUT": "300", "OTEL_BSP_EXPORT_TIMEOUT": "600"}).start()
        made = 0
        with agent.client(key.text) as client:
            def dropped() -> bool:
                nonlocal made
                for _ in range(20):
                    assert client.check(plan_id="bucket", subject=fresh_subject()).status == 200
                made += 40
                assert agent.metric("sluice_trace_spans_waiting") <= 20
                return bool(agent.metric("sluice_trace_spans_dropped_total", cause="queue_full") > 0 and
                            agent.metric("sluice_trace_spans_dropped_total", cause="refused" if answer == 400 else "export_failed") > 0)

            wait_until("spans to be dropped for both causes", dropped, 60.0)
        assert agent.metric("sluice_trace_export_failures_total") > 0
        assert agent.metric("sluice_trace_spans_exported_total") == 0
        assert agent.metric("sluice_trace_spans_dropped_total") <= made
        assert agent.process.output().count('"event":"trace_export_failed"') == 1


def test_a_collector_that_comes_back_gets_spans_again(bundle: Bundle, key: MintedKey, make_agent: Callable[..., Agent]) -> None:
    with Collector(503) as collector:
        agent = make_agent(bundle, "memory", "--otlp-endpoint", collector.endpoint, env=SOON).start()
        with agent.client(key.text) as client:
            client.check(plan_id="bucket", subject=fresh_subject())
        wait_until("a failure", lambda: agent.metric("sluice_trace_export_failures_total") > 0)
        collector.answer = 200
        collector.wait_for(2)


def test_another_protocol_is_refused_at_the_start(bundle: Bundle, make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(bundle, "memory", env={"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4317",
                                              "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}).launch()
    assert agent.process.wait(30) == 2
    assert 'OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" must be http/protobuf' in agent.process.output()
