"""Envoy's external authorization over gRPC, asked with Envoy's own messages. tests/proxies asks through the real Envoy."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Optional

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket
from support.client import fresh_subject
from support.grpc_client import GrpcClient, grpc
from support.process import free_port, wait_until

from envoy.service.auth.v3 import external_auth_pb2 as auth   # of xds-protos
from google.protobuf import json_format

SERVICE = "envoy.service.auth.v3.Authorization"
OVERWRITE = 2   # HeaderValueOption.OVERWRITE_IF_EXISTS_OR_ADD
FLAGS = ("--trusted-proxies", "127.0.0.1,10.9.0.0/16,unix", "--authz-map", "x-user-id=subject,x-plan=plan_id", "--workers", "1")

Make = Callable[..., Agent]
_addresses = iter(f"198.51.{third}.{fourth}" for third in range(256) for fourth in range(1, 255))


def fresh_address() -> str:
    """A client that nobody was yet."""
    return next(_addresses)


def bundle_for(key: MintedKey) -> Bundle:
    """Two requests an hour for each subject."""
    bundle = Bundle().key(key)
    bundle.plan("two", token_bucket(2, "1/1h"))
    bundle.plan("gold", token_bucket(50, "1/1h"))
    bundle.policy("orders", {"resource": "GET:/orders"}, "two", metadata={"team": "web"})
    bundle.policy("hosts", {"service": "pay.example"}, "two", key_by=["service"])
    bundle.policy("long", {"resource": "GET:/files/*"}, "two")
    bundle.policy("user", {"resource": "GET:/mine"}, "two", key_by=["user"], require_key_by=True)
    return bundle


def start(agent: Agent) -> Agent:
    """Starts it with a port for gRPC."""
    agent.grpc_port = free_port()   # type: ignore[attr-defined]
    agent.flags += ["--grpc", f"127.0.0.1:{agent.grpc_port}"]   # type: ignore[attr-defined]
    return agent.start()


def connect(agent: Agent, key: str = "") -> GrpcClient:
    """A channel to it."""
    return GrpcClient(f"127.0.0.1:{agent.grpc_port}", key)   # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def agent(key: MintedKey, module_agent: Make) -> Agent:
    """One with counters in memory."""
    return start(module_agent(bundle_for(key), "memory", *FLAGS))


@pytest.fixture
def envoy(agent: Agent, key: MintedKey) -> Iterator[GrpcClient]:
    """The connection of a trusted Envoy."""
    with connect(agent, key.text) as client:
        yield client


def request(path: str = "/orders", method: str = "GET", source: str = "", headers: Optional[Mapping[str, str]] = None,
            host: str = "shop.example", **extensions: str) -> auth.CheckRequest:
    """What Envoy sends; extensions as x_plan="gold"."""
    asked = auth.CheckRequest()
    http = asked.attributes.request.http
    http.method, http.path, http.host, http.id = method, path, host, "4711"
    http.headers.update({":path": path, ":method": method, ":authority": host, **(headers or {})})
    asked.attributes.source.address.socket_address.address = source or fresh_address()
    asked.attributes.source.address.socket_address.port_value = 40000
    asked.attributes.context_extensions.update({name.replace("_", "-"): text for name, text in extensions.items()})
    return asked


def check(client: GrpcClient, asked: auth.CheckRequest) -> auth.CheckResponse:
    """One call."""
    return client.channel.unary_unary(f"/{SERVICE}/Check", auth.CheckRequest.SerializeToString, auth.CheckResponse.FromString)(
        asked, timeout=20, metadata=client.metadata)


def status(answer: auth.CheckResponse) -> int:
    """The status that Envoy's client gets."""
    if answer.WhichOneof("http_response") == "ok_response":
        assert answer.status.code == 0
        return 200
    assert answer.status.code != 0
    return int(answer.denied_response.status.code)


def statuses(client: GrpcClient, *asked: auth.CheckRequest) -> list[int]:
    """Those of several calls."""
    return [status(check(client, each)) for each in asked]


def headers(options: Any) -> dict[str, str]:
    """HeaderValueOptions by name in lower case. All replace what is there."""
    assert all(option.append_action == OVERWRITE and not option.HasField("append") for option in options)
    return {option.header.key.lower(): option.header.value for option in options}


def metadata(answer: auth.CheckResponse) -> dict[str, Any]:
    """The dynamic metadata."""
    return dict(json_format.MessageToDict(answer.dynamic_metadata))


def test_a_request_within_its_limit_passes_with_headers_for_both_sides(envoy: GrpcClient) -> None:
    answer = check(envoy, request())
    assert (answer.status.code, answer.WhichOneof("http_response")) == (0, "ok_response")
    for options in (answer.ok_response.response_headers_to_add, answer.ok_response.headers):
        added = headers(options)
        assert (added["x-ratelimit-limit"], added["x-ratelimit-remaining"]) == ("2", "1")
        assert "ratelimit" in added and "retry-after" not in added


def test_a_request_over_its_limit_gets_what_http_answers(envoy: GrpcClient, agent: Agent, key: MintedKey) -> None:
    client = fresh_address()
    assert statuses(envoy, *[request(source=client)] * 2) == [200, 200]
    answer = check(envoy, request(source=client))
    assert answer.status.code == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
    denied = answer.denied_response
    assert denied.status.code == 429
    with agent.client(key.text) as http:
        over_http = http.request("GET", "/v1/authz", None, {"x-api-key": key.text, "x-forwarded-uri": "/orders", "x-forwarded-for": client})
    assert over_http.status == 429
    body = json.loads(denied.body)
    assert body.keys() == over_http.body.keys() and body["reason"] == "limit_exceeded"
    got = headers(denied.headers)
    assert got["content-type"] == "application/json" and int(got["retry-after"]) > 3000
    assert {name for name in got if name != "content-type"} <= set(over_http.headers)
    assert got["x-ratelimit-remaining"] == "0"
    text = check(envoy, request(source=client, headers={"accept": "text/plain"})).denied_response
    assert text.body == "Rate limit exceeded" and headers(text.headers)["content-type"].startswith("text/plain")


def test_dynamic_metadata_has_the_decision(envoy: GrpcClient) -> None:
    client = fresh_address()
    said = [metadata(check(envoy, request(source=client, headers={"x-request-id": "abc"}))) for _ in range(3)]
    assert [each["allowed"] for each in said] == [True, True, False]
    assert [each["remaining"] for each in said] == [1, 0, 0]
    assert [each["reason"] for each in said] == ["within_limit", "within_limit", "limit_exceeded"]
    for each in said:
        assert (each["policy_id"], each["plan_id"], each["limit"]) == ("orders", "two", 2)
        assert each["reset_at"] > 1e9 and each["metadata"] == {"team": "web"} and each["request_id"] == "abc"


def test_it_counts_with_checks_and_sub_requests_of_the_same_client(envoy: GrpcClient, agent: Agent, key: MintedKey) -> None:
    client = fresh_address()
    assert statuses(envoy, request(source=client)) == [200]
    with agent.client(key.text) as http:
        assert http.check(resource="GET:/orders", subject=client).body["remaining"] == 0
    assert statuses(envoy, request(path="/a/../orders?page=2", source=client)) == [429]


def test_the_host_is_the_service(envoy: GrpcClient) -> None:
    assert statuses(envoy, request("/x", host="pay.example"), request("/y", host="Pay.Example:8443"),
                    request("/z", host="pay.example")) == [200, 200, 429]


def test_a_forged_x_forwarded_for_changes_nothing(envoy: GrpcClient) -> None:
    client = fresh_address()
    forged = [request(source=client, headers={"x-forwarded-for": fresh_address(), "x-original-uri": "/free", "forwarded": "for=6.6.6.6"})
              for _ in range(3)]
    assert statuses(envoy, *forged) == [200, 200, 429]


def test_behind_a_trusted_proxy_the_client_is_the_right_most_that_is_none(envoy: GrpcClient) -> None:
    client = fresh_address()
    chained = [request(source="10.9.0.1", headers={"x-forwarded-for": f"{fresh_address()}, {client}, 10.9.3.4"}) for _ in range(3)]
    assert statuses(envoy, *chained) == [200, 200, 429]
    assert statuses(envoy, request(source=client)) == [429]


def test_mapped_names_come_from_extensions_before_headers(envoy: GrpcClient) -> None:
    user = fresh_subject()
    by_header = [request(headers={"x-user-id": user}) for _ in range(2)]
    assert statuses(envoy, *by_header, request(headers={"x-user-id": "invented"}, x_user_id=user)) == [200, 200, 429]
    answer = check(envoy, request(x_plan="gold", headers={"x-plan": "two"}))
    assert metadata(answer)["plan_id"] == "gold"


def test_raw_headers_are_read_too(envoy: GrpcClient) -> None:
    user = fresh_subject()
    asked = request()
    asked.attributes.request.http.ClearField("headers")
    for name, text in (("x-user-id", user), ("accept", "text/plain")):
        asked.attributes.request.http.header_map.headers.add(key=name, raw_value=text.encode())
    assert statuses(envoy, asked, asked, asked) == [200, 200, 429]
    assert check(envoy, asked).denied_response.body == "Rate limit exceeded"


def test_no_request_that_a_client_can_make_is_a_failed_call(envoy: GrpcClient) -> None:
    for path in ("", "*", "orders", "http://", "/" + "a" * 60_000, "/\u00e9\u0000", "//..//%ff%zz"):
        for method in ("GET", "CONNECT", "OPTIONS", "x" * 500, "G\u00e9T"):
            asked = request(path, method, headers={f"x-{number}": "v" * 500 for number in range(100)})
            assert status(check(envoy, asked)) == 200, (path[:20], method[:20])
    odd = [request("/free", source="no address"), request("/free", headers={"x-user-id": "x" * 50_000, "x-forwarded-for": ",,,"})]
    assert statuses(envoy, *odd) == [200, 200]
    assert statuses(envoy, *[request("/files/" + "a" * 50_000, source=fresh_address())] * 3) == [200, 200, 429]
    raw = request().SerializeToString().replace(b"/orders", b"/\xff\xfe\xff\xff\xff\xff")
    answer = envoy.channel.unary_unary(f"/{SERVICE}/Check", None, auth.CheckResponse.FromString)(raw, timeout=20, metadata=envoy.metadata)
    assert status(answer) == 200


@pytest.mark.parametrize("asked, code, says", [
    (request("/mine"), 422, "user is required"), (request(headers={"x-plan": "golden"}), 404, "golden")])
def test_a_request_that_no_policy_can_judge_is_denied_and_not_failed(envoy: GrpcClient, asked: auth.CheckRequest, code: int,
                                                                     says: str) -> None:
    denied = check(envoy, asked).denied_response
    assert denied.status.code == code
    assert headers(denied.headers) == {"content-type": "application/problem+json"}
    assert json.loads(denied.body)["status"] == code and (says in denied.body or "plan" in denied.body)


def test_a_wrong_key_lets_nothing_pass_and_counts_as_a_refusal(agent: Agent) -> None:
    before = agent.metric("sluice_http_refused_total", code="missing")
    with connect(agent) as stranger:
        # The header of a client is no credential of Envoy.
        denied = check(stranger, request(headers={"x-api-key": "slk_a_b"})).denied_response
    assert denied.status.code == 401 and "www-authenticate" not in headers(denied.headers)
    assert agent.metric("sluice_http_refused_total", code="missing") == before + 1


def test_bytes_that_are_no_message_fail_the_call(agent: Agent, envoy: GrpcClient) -> None:
    refused = agent.metric("sluice_http_refused_total", code="invalid")
    with pytest.raises(grpc.RpcError) as raised:
        envoy.channel.unary_unary(f"/{SERVICE}/Check")(b"\x0a\xff", timeout=20, metadata=envoy.metadata)
    assert raised.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert agent.metric("sluice_http_refused_total", code="invalid") == refused + 1


def test_the_application_gets_no_key_of_sluice_and_no_invented_limits(envoy: GrpcClient, key: MintedKey) -> None:
    sent = {"x-api-key": key.text, "authorization": f"Bearer {key.text}", "x-ratelimit-reset": "1", "ratelimit-limit": "9"}
    removed = {name.lower() for name in check(envoy, request("/free", headers=sent)).ok_response.headers_to_remove}
    assert {"x-api-key", "authorization", "x-ratelimit-reset", "ratelimit-limit"} <= removed
    own = {"x-api-key": "of-the-application", "authorization": "Bearer eyJ"}
    assert not {"x-api-key", "authorization"} & set(check(envoy, request(headers=own)).ok_response.headers_to_remove)


def test_an_untrusted_caller_is_the_client_itself(make_agent: Make, key: MintedKey) -> None:
    agent = start(make_agent(bundle_for(key), "memory", "--trusted-proxies", "10.9.0.0/16", "--authz-map", "x-user-id=subject"))
    with connect(agent, key.text) as stranger:
        said = [request(headers={"x-user-id": fresh_subject(), "x-forwarded-for": fresh_address()}) for _ in range(3)]
        assert statuses(stranger, *said) == [200, 200, 429]


def test_the_key_file_stands_in_for_trusted_proxies(make_agent: Make, key: MintedKey, other_key: MintedKey, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(key.text + "\n")
    bundle = bundle_for(key).add_tenant("rival").key(other_key, tenant="rival")
    agent = start(make_agent(bundle, "memory", "--authz-key-file", str(file), "--trusted-proxies", "127.0.0.1"))
    client = fresh_address()
    with connect(agent) as without, connect(agent, other_key.text) as with_other:
        assert statuses(without, *[request(source=client)] * 2) == [200, 200]
        assert statuses(with_other, request(source=client)) == [429], "the agent's key counts, not that of the call"
        file.write_text(other_key.text + "\n")
        wait_until("the new key", lambda: statuses(without, request(source=client)) == [200], 15)


def test_a_policy_that_fails_closed_denies_where_a_failed_call_would_pass(make_agent: Make, key: MintedKey) -> None:
    bundle = bundle_for(key)
    bundle.policy("closed", {"resource": "GET:/closed"}, "two", failure_mode="fail_closed")
    agent = start(make_agent(bundle, f"redis://127.0.0.1:{free_port()}/0", "--trusted-proxies", "127.0.0.1"))
    with connect(agent, key.text) as envoy:
        answer = check(envoy, request("/closed"))
    assert (status(answer), answer.status.code) == (503, grpc.StatusCode.UNAVAILABLE.value[0])
    assert metadata(answer)["reason"] == "fail_closed"


@pytest.mark.parametrize("answer, expected", [("deny", 503), ("allow", 200)])
def test_without_policies_the_flag_decides(make_agent: Make, answer: str, expected: int) -> None:
    agent = make_agent(None, "memory", "--no-snapshot", answer)
    agent.grpc_port = free_port()   # type: ignore[attr-defined]
    agent.flags += ["--grpc", f"127.0.0.1:{agent.grpc_port}"]   # type: ignore[attr-defined]
    agent.start_without_policies()
    with connect(agent) as envoy:
        said = check(envoy, request())
    assert status(said) == expected and metadata(said)["reason"] == "no_snapshot"


def test_calls_are_counted_and_the_service_is_healthy_and_listed(agent: Agent, envoy: GrpcClient) -> None:
    before = agent.metric("sluice_grpc_requests_total", method=f"{SERVICE}/Check", code="OK")
    check(envoy, request())
    assert agent.metric("sluice_grpc_requests_total", method=f"{SERVICE}/Check", code="OK") == before + 1
    assert envoy.health(SERVICE) == "SERVING"
