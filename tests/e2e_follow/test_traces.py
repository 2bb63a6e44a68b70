"""Traces that begin at the server: an admin call through SQL and the change feed to the agents, and an injected pod."""

import base64
import contextlib
import json
import re
import ssl
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Optional

import pytest

from e2e_follow.conftest import REPORTS
from support.admin import fresh_id
from support.agent import Agent
from support.crew import SECONDS, Crew
from support.injector import InjectorServer, pod, review
from support.otlp import Collector, Span
from support.process import wait_until
from support.server import CREDENTIAL, Server

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{CALLER}-01"
UNSAMPLED = f"00-{TRACE[::-1]}-{CALLER}-00"
SERVER, CLIENT = 2, 3   # kinds of spans


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """Where all programs of the test send their spans, at once."""
    with Collector() as made:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", made.endpoint)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        yield made


def named(spans: list[Span], name: str) -> list[Span]:
    """The spans of this name."""
    return [span for span in spans if span.name == name]


def service(span: Span) -> str:
    """The program that it comes from."""
    return str(span.resource["service.name"])


def child_of(spans: list[Span], parent: Span, name: str) -> Span:
    """The only span of this name below another one."""
    found = [span for span in named(spans, name) if span.parent_id == parent.span_id]
    assert len(found) == 1, (name, found, spans)
    return found[0]


def write_policy(crew: Crew, limit: int, note: str = "", headers: Optional[dict[str, str]] = None) -> None:
    """Writes the crew's policy anew, in a trace where `headers` name one."""
    with crew.admin() as admin:
        answer = admin.put("/policies/probe", {
            **({"name": note} if note else {}), "scope": {"resource": "GET:/probe"}, "key_by": ["subject"],
            "limits": [{"name": "probe", "algorithm": "fixed_window", "limit": limit, "window": "1h"}]},
            tenant=crew.tenant, headers=headers or {"traceparent": TRACEPARENT})
    assert answer.status == 200, answer


def test_one_trace_leads_from_an_admin_call_through_sql_and_the_feed_to_its_being_in_force(
        make_crew: Callable[..., Crew], collector: Collector) -> None:
    crew = make_crew()
    crew.hire(1, *REPORTS)
    crew.await_limit(1000)
    write_policy(crew, 41)
    crew.await_limit(41)
    wait_until("the report's spans", lambda: len(named(collector.spans(TRACE), "POST /v1/sync/report")) == 2, SECONDS)
    spans = collector.spans(TRACE)

    call, = named(spans, "PUT /v1/admin/policies/{id}")
    assert call.kind == SERVER and service(call) == "sluice-server" and call.parent_id == CALLER
    assert call.attributes["http.route"] == "/v1/admin/policies/{id}" and call.attributes["http.response.status_code"] == 200

    statements = [span for span in spans if span.attributes.get("db.system.name") == "postgresql"]
    assert len(statements) > 3 and all(span.parent_id == call.span_id and span.kind == CLIENT for span in statements)
    assert any("INSERT audit" in span.name for span in statements) and named(statements, "COMMIT")

    published = child_of(spans, call, "sync publish")
    fetch = child_of(spans, published, "GET /v1/sync/snapshot")
    assert service(fetch) == "sluice-agent" and fetch.kind == CLIENT
    served = child_of(spans, fetch, "GET /v1/sync/snapshot")
    assert service(served) == "sluice-server" and served.kind == SERVER
    in_force = child_of(spans, fetch, "snapshot in force")
    assert in_force.attributes["sluice.revision"] == published.attributes["sluice.revision"]
    report = child_of(spans, in_force, "POST /v1/sync/report")
    assert service(child_of(spans, report, "POST /v1/sync/report")) == "sluice-server"


def test_every_server_publishes_a_change_in_its_trace(
        make_crew: Callable[..., Crew], make_server: Callable[..., Server], collector: Collector) -> None:
    crew = make_crew()
    make_server(database=crew.server.database, token=crew.server.token).start()
    write_policy(crew, 41)
    wait_until("both servers' spans", lambda: len(named(collector.spans(TRACE), "sync publish")) == 2, SECONDS)
    call, = wait_until("the call", lambda: named(collector.spans(TRACE), "PUT /v1/admin/policies/{id}"), SECONDS)
    assert {span.parent_id for span in named(collector.spans(TRACE), "sync publish")} == {call.span_id}


def test_no_span_has_a_value_a_token_or_a_key(make_crew: Callable[..., Crew], collector: Collector) -> None:
    crew = make_crew()
    crew.hire(1, *REPORTS)
    secret = "hunter2-swordfish"
    write_policy(crew, 41, note=secret)
    crew.await_limit(41)
    with crew.admin() as admin:
        admin.create("/keys", {"tenant_id": crew.tenant, "name": secret})
        admin.get("/policies", query={"prefix": secret})
    wait_until("the spans of the last call", lambda: named(collector.spans(), "GET /v1/admin/policies"), SECONDS)
    spans = collector.spans()
    assert len(spans) > 10
    for span in spans:
        text = str(span)
        assert secret not in text and crew.key not in text and not re.search(CREDENTIAL, text), text
        assert span.name == "ratelimit.check" or crew.tenant not in text, text   # that one names its tenant


def test_a_call_that_is_not_sampled_leaves_no_span_anywhere(make_crew: Callable[..., Crew], collector: Collector) -> None:
    crew = make_crew()
    crew.hire(1, *REPORTS)
    write_policy(crew, 41, headers={"traceparent": UNSAMPLED})
    crew.await_limit(41)
    write_policy(crew, 42)
    crew.await_limit(42)
    wait_until("the later trace", lambda: named(collector.spans(TRACE), "snapshot in force"), SECONDS)
    assert collector.spans(TRACE[::-1]) == []
    assert crew.server.database.execute("SELECT count(*) FROM revisions WHERE traceparent LIKE %s", (f"%{TRACE[::-1]}%",))[0][0] == 0


def test_agents_of_an_earlier_release_follow_a_server_that_traces(
        make_crew: Callable[..., Crew], collector: Collector) -> None:
    crew = make_crew()
    seen: list[bytes] = []

    def rename(data: bytes) -> bytes:
        seen.append(data)
        return data.replace(b'"traceparent":', b'"tracefather":')

    crew.relay.rewrite = rename
    crew.hire(1, *REPORTS)
    write_policy(crew, 41)
    crew.await_limit(41)
    assert any(b'"traceparent":' in data for data in seen)
    assert named(collector.spans(TRACE), "snapshot in force") == []


def test_a_refused_call_is_a_span_and_a_path_of_nobody_has_no_name_of_its_own(
        make_crew: Callable[..., Crew], collector: Collector) -> None:
    crew = make_crew()
    with crew.admin() as admin:
        refused = admin.get("/policies/none", tenant=crew.tenant, headers={"traceparent": TRACEPARENT})
        assert refused.status == 404
        assert admin.get("/nowhere/hunter2", headers={"traceparent": TRACEPARENT}).status == 404
    wait_until("both spans", lambda: len([each for each in collector.spans(TRACE) if each.kind == SERVER]) == 2, SECONDS)
    span, = named(collector.spans(TRACE), "GET /v1/admin/policies/{id}")
    assert span.attributes["http.response.status_code"] == 404 and not span.failed
    assert span.attributes["ratelimit.request_id"] == refused.header("x-request-id")
    nowhere, = named(collector.spans(TRACE), "HTTP")
    assert "hunter2" not in str(nowhere)


def sidecar_env(answer: dict[str, Any]) -> dict[str, str]:
    """The variables that the webhook gives the agent."""
    patch = json.loads(base64.b64decode(answer["response"]["patch"]))
    added = next(each["value"] for each in patch if each["path"] == "/spec/initContainers")
    return {each["name"]: each["value"] for each in added[0]["env"] if "value" in each}


def test_one_trace_leads_from_a_pods_admission_to_its_agents_first_policies(
        make_server: Callable[..., Server], make_agent: Callable[..., Agent], tmp_path: Path, collector: Collector) -> None:
    injector = InjectorServer(make_server, tmp_path, "--inject-settings", f"otlp-endpoint={collector.endpoint};trace-sample=0")
    server = injector.server.launch()
    with contextlib.closing(injector.webhook()) as webhook:
        wait_until("the webhook", lambda: server.port, SECONDS)
        answer = webhook.ask(review(pod("cart-1")), traceparent=TRACEPARENT)
    assert answer.status == 200, answer
    env = sidecar_env(answer.body)
    assert env["TRACEPARENT"].startswith(f"00-{TRACE}-") and env["SLUICE_AGENT_OTLP_ENDPOINT"] == collector.endpoint

    token_file = tmp_path / "agent.token"
    token_file.write_text(agent_token(server, injector.authority))
    token_file.chmod(0o600)
    ours = {name: value for name, value in env.items() if "REDIS" not in name and name != "SLUICE_AGENT_COUNTERS"}
    agent = make_agent(None, "memory", "--server", f"https://127.0.0.1:{server.port}", "--server-tls-ca", str(injector.authority),
                       "--agent-token-file", str(token_file), "--snapshot-cache", str(tmp_path / "snapshot"), env=ours)
    agent.start()
    wait_until("the start's span", lambda: named(collector.spans(TRACE), "agent start"), SECONDS)
    spans = collector.spans(TRACE)
    asked, = named(spans, "POST /v1/inject")
    assert asked.parent_id == CALLER and asked.attributes["k8s.namespace.name"] == "shop"
    assert asked.attributes["k8s.pod.name"] == "cart-1" and asked.attributes["sluice.inject.result"] == "injected"
    started = child_of(spans, asked, "agent start")
    fetch = child_of(spans, started, "GET /v1/sync/snapshot")
    child_of(spans, fetch, "snapshot in force")
    assert service(child_of(spans, fetch, "GET /v1/sync/snapshot")) == "sluice-server"


def agent_token(server: Server, authority: Path) -> str:
    """A new agent token of the whole platform, over TLS."""
    request = urllib.request.Request(f"https://127.0.0.1:{server.port}/v1/admin/agent-tokens",
                                     json.dumps({"name": fresh_id("agents")}).encode(),
                                     {"authorization": f"Bearer {server.token}", "content-type": "application/json"})
    with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=str(authority))) as answer:
        return str(json.load(answer)["token"])


def test_a_review_that_is_not_traced_gives_the_agent_no_trace(
        make_server: Callable[..., Server], tmp_path: Path, collector: Collector) -> None:
    injector = InjectorServer(make_server, tmp_path)
    server = injector.server.launch()
    with contextlib.closing(injector.webhook()) as webhook:
        wait_until("the webhook", lambda: server.port, SECONDS)
        assert "TRACEPARENT" not in sidecar_env(webhook.ask(review(pod("cart-1")), traceparent=UNSAMPLED).body)
        assert "TRACEPARENT" in sidecar_env(webhook.ask(review(pod("cart-2"))).body)
    wait_until("the second review's span", lambda: named(collector.spans(), "POST /v1/inject"), SECONDS)
