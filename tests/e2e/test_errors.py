"""Every row of the error table below 500. Each error is problem+json, leaves the connection usable and never reaches Redis."""

import json
import re
from collections.abc import Callable
from typing import Any, Optional

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, mint_key, token_bucket
from support.client import Answer, Client, fresh_subject
from support.raw import RawConnection
from support.redis_server import RedisServer


@pytest.fixture
def refused(agent: Agent, client: Client, redis: RedisServer) -> Callable[..., Answer]:
    """Sends one bad request and checks what all errors have in common; returns the answer."""

    def run(status: int, send: Callable[[Client], Answer], connection: Optional[Client] = None) -> Answer:
        used = connection or client
        used.check(plan_id="bucket", subject=fresh_subject(), cost=0)
        port, calls = used.local_port, redis.calls("evalsha")
        answer = send(used)
        assert answer.status == status, answer.body
        assert_problem(answer)
        assert used.get(answer.body["type"]).status == 200, "the type is the path of a page"
        assert redis.calls("evalsha") == calls, "a refused request reached Redis"
        after = used.check(plan_id="bucket", subject=fresh_subject(), cost=0)
        assert after.status == 200 and used.local_port == port, "the connection did not survive"
        return answer

    return run


def assert_problem(answer: Answer) -> None:
    """RFC 9457."""
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert set(answer.body) >= {"type", "title", "status", "code", "detail"}
    assert answer.body["status"] == answer.status
    assert answer.body["title"] and answer.body["detail"]


def pointers(answer: Answer) -> list[str]:
    """The fields an error names."""
    return [error["pointer"] for error in answer.body.get("errors", [])]


def posting(body: Any, path: str = "/v1/check") -> Callable[[Client], Answer]:
    """A POST of this body."""
    return lambda client: client.post(path, body if isinstance(body, (bytes, str)) else json.dumps(body))


# --- 400 -------------------------------------------------------------------------------------------------------------

@pytest.mark.fault("bad-json")
@pytest.mark.parametrize("body", ["", "{", "null", "[]", "7", '"text"', "{'subject':'x'}", '{"subject":"x"}garbage',
                                  '{"subject":"x",}', '{"subject":"a\nb"}', "[" * 5000, '{"cost":01,"subject":"x"}',
                                  '{"cost":NaN,"subject":"x"}', '{"tags":{"a":{"b":{"c":"d"}}}}'])
def test_400_what_is_not_a_json_object_of_a_check(refused: Callable[..., Answer], body: str) -> None:
    refused(400, posting(body))


@pytest.mark.fault("bad-json")
def test_400_a_duplicate_field(refused: Callable[..., Answer]) -> None:
    assert "/subject" in pointers(refused(400, posting('{"subject":"a","subject":"b"}')))


@pytest.mark.fault("bad-json")
def test_400_an_unknown_field_is_named(refused: Callable[..., Answer]) -> None:
    answer = refused(400, posting({"resource": "GET:/orders", "subjct": "user:1"}))
    assert pointers(answer) == ["/subjct"]


@pytest.mark.fault("bad-json")
@pytest.mark.parametrize(("field", "value"), [
    ("subject", 7), ("subject", None), ("subject", ["a"]), ("cost", "1"), ("cost", 1.5), ("cost", True), ("costs", []),
    ("costs", {"tokens": "1"}), ("plan_id", {}), ("explain", 1), ("tags", "a"), ("attributes", [])])
def test_400_a_wrong_type(refused: Callable[..., Answer], field: str, value: Any) -> None:
    answer = refused(400, posting({"resource": "GET:/orders", field: value}))
    assert any(pointer.startswith(f"/{field}") for pointer in pointers(answer))


@pytest.mark.fault("bad-json")
def test_400_a_tag_that_is_no_string(refused: Callable[..., Answer]) -> None:
    assert "/tags/env" in pointers(refused(400, posting({"subject": "a", "tags": {"env": 1}})))


@pytest.mark.fault("bad-json")
@pytest.mark.parametrize("text", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xc0\x80"])
def test_400_not_utf8(refused: Callable[..., Answer], text: bytes) -> None:
    refused(400, posting(b'{"subject":"' + text + b'"}'))


@pytest.mark.fault("bad-json")
def test_400_half_a_surrogate_pair(refused: Callable[..., Answer]) -> None:
    refused(400, posting('{"subject":"\\ud800"}'))


@pytest.mark.fault("bad-json")
def test_400_cost_together_with_costs_requests(refused: Callable[..., Answer]) -> None:
    refused(400, posting({"subject": "a", "cost": 1, "costs": {"requests": 1}}))


@pytest.mark.fault("bad-json")
def test_422_an_api_key_sent_by_the_caller(refused: Callable[..., Answer]) -> None:
    assert pointers(refused(422, posting({"subject": "a", "api_key": "k"}))) == ["/api_key"]


@pytest.mark.fault("bad-json")
def test_400_neither_a_dimension_nor_a_plan(refused: Callable[..., Answer]) -> None:
    assert pointers(refused(400, posting({"cost": 1}))) == ["/resource"]


@pytest.mark.fault("bad-json")
def test_400_all_faulty_fields_are_named_at_once(refused: Callable[..., Answer]) -> None:
    answer = refused(400, posting({"resource": "GET:/", "subjct": "a", "cost": "1", "explain": 3}))
    assert set(pointers(answer)) == {"/subjct", "/cost", "/explain"}


def test_an_error_echoes_the_request_id(refused: Callable[..., Answer]) -> None:
    assert refused(422, posting({"subject": "a", "cost": -1, "request_id": "r-7"})).body["request_id"] == "r-7"


@pytest.mark.fault("bad-json")
def test_400_a_lease_body_with_an_unknown_field(refused: Callable[..., Answer]) -> None:
    refused(400, posting({"lease": "x"}, "/v1/release"))
    refused(400, posting("{", "/v1/renew"))


# --- 401 -------------------------------------------------------------------------------------------------------------

def wrong_keys(key: MintedKey) -> dict[str, str]:
    """Keys that are none."""
    flipped = "B" if key.text[-20] == "A" else "A"
    return {
        "none": "", "empty prefix": "slk_", "not ours": "sk_live_1234", "no secret": f"slk_{key.id}_",
        "cut": key.text[:-1], "longer": key.text + "A", "mistyped": key.text[:-20] + flipped + key.text[-19:],
        "spaces": f" {key.text[:10]}", "very long": "slk_" + "a" * 4000, "other case": key.text.upper(),
    }


@pytest.mark.fault("foreign-and-expired-credentials")
@pytest.mark.parametrize("case", ["none", "empty prefix", "not ours", "no secret", "cut", "longer", "mistyped", "spaces",
                                  "very long", "other case"])
def test_401_a_missing_or_malformed_key(refused: Callable[..., Answer], key: MintedKey, case: str) -> None:
    wrong = wrong_keys(key)[case]
    refused(401, lambda client: client.check({"x-api-key": wrong}, subject="a"))


@pytest.mark.fault("foreign-and-expired-credentials")
def test_401_an_unknown_key(refused: Callable[..., Answer], agent: Agent) -> None:
    stranger = mint_key(agent.program)
    refused(401, lambda client: client.check({"x-api-key": stranger.text}, subject="a"))


@pytest.mark.fault("foreign-and-expired-credentials")
def test_401_says_what_is_wrong_with_the_key(client: Client, key: MintedKey, agent: Agent) -> None:
    codes = {case: client.check({"x-api-key": text}, subject="a").body["code"] for case, text in wrong_keys(key).items()}
    assert codes.pop("none") == "missing"
    assert set(codes.values()) == {"malformed"}
    stranger = client.check({"x-api-key": mint_key(agent.program).text}, subject="a").body
    assert stranger["code"] == "unknown"


@pytest.mark.fault("foreign-and-expired-credentials")
def test_401_on_every_route_that_needs_a_key(client: Client) -> None:
    for path in ("/v1/check", "/v1/release", "/v1/renew"):
        assert client.post(path, "{}", {"x-api-key": ""}).status == 401


@pytest.mark.fault("foreign-and-expired-credentials")
def test_401_an_expired_and_a_revoked_key(program: Any, make_agent: Callable[..., Agent]) -> None:
    good, expired, revoked = (mint_key(program) for _ in range(3))
    bundle = Bundle().key(good).key(expired, expires_at="2020-01-01T00:00:00Z").plan("bucket", token_bucket(5, "1/1h"))
    agent = make_agent(bundle, "memory").start()     # the revoked one is simply not in the bundle any more
    with agent.client() as client:
        answers = [client.check({"x-api-key": key.text}, plan_id="bucket", subject="a")
                   for key in (good, expired, revoked)]
    assert [answer.status for answer in answers] == [200, 401, 401]
    assert [answer.body["code"] for answer in answers[1:]] == ["expired", "unknown"]


# --- 404 -------------------------------------------------------------------------------------------------------------

def test_404_an_unknown_plan_and_another_tenants_look_the_same(refused: Callable[..., Answer]) -> None:
    unknown = refused(404, posting({"subject": "a", "plan_id": "nowhere"})).body
    foreign = refused(404, posting({"subject": "a", "plan_id": "rivals"})).body
    assert json.dumps(unknown).replace("nowhere", "rivals") == json.dumps(foreign)


def test_404_another_tenants_lease(refused: Callable[..., Answer], client: Client, rival: Client) -> None:
    lease = client.check(plan_id="leases", subject=fresh_subject()).body["lease_id"]
    for path in ("/v1/release", "/v1/renew"):
        assert rival.post(path, json.dumps({"lease_id": lease})).status == 404
    assert client.release(lease).body["released"] is True, "the stranger's call must not have released it"


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/", "/v1/chec", "/v1/check/", "/v1/checks", "/v2/check", "/V1/CHECK",
                                  "/v1/%63heck", "//v1/check", "/metrics"])
def test_404_an_unknown_path(refused: Callable[..., Answer], path: str) -> None:
    refused(404, posting({"subject": "a"}, path))


@pytest.mark.parametrize(("path", "says"), [
    ("/v1/admin/plans", "This is an agent"), ("/v1/sync/snapshot", "of the server"), ("/readyz", "--admin"), ("/livez", "--admin")])
def test_a_path_of_another_listener_says_where_it_is(refused: Callable[..., Answer], path: str, says: str) -> None:
    assert says in refused(404, posting({}, path)).body["detail"]


@pytest.mark.parametrize("path", ["/v1/check", "/v1/check/batch", "/v1/release", "/v1/renew"])
def test_400_a_query_that_would_be_ignored_names_the_parameter_and_the_fix(refused: Callable[..., Answer], path: str) -> None:
    answer = refused(400, posting({"subject": "a"}, f"{path}?explain=true"))
    assert answer.body["errors"] == [{"pointer": "?explain", "detail": answer.body["errors"][0]["detail"]}]
    assert "send it in the body" in answer.body["errors"][0]["detail"]


# --- 405, 411, 413, 431 ----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "HEAD", "BREW"])
def test_405_another_method_than_the_routes(agent: Agent, client: Client, method: str) -> None:
    answer = client.request(method, "/v1/check", None, {"x-api-key": client.key})
    assert answer.status == 405
    assert answer.header("allow") == "POST"
    assert client.check(plan_id="bucket", subject=fresh_subject(), cost=0).status == 200


def test_405_posting_to_what_is_read(refused: Callable[..., Answer]) -> None:
    refused(405, posting("{}", "/v1/health"))


def test_411_a_post_without_a_length(agent: Agent, key: MintedKey) -> None:
    with RawConnection(agent.port) as raw:
        raw.send(b"POST /v1/check HTTP/1.1\r\nHost: x\r\nx-api-key: " + key.text.encode() + b"\r\n\r\n")
        reply = raw.reply()
        assert reply and reply.status == 411
        assert reply.headers["content-type"].startswith("application/problem+json")


@pytest.mark.parametrize(("path", "status"), [("/v1/health", 405), ("/v1/snapshot", 405), ("/nowhere", 404), ("/v1/check/batch", 411)])
def test_a_post_without_a_length_hears_first_that_its_path_takes_none(agent: Agent, path: str, status: int) -> None:
    with RawConnection(agent.port) as raw:
        raw.send(f"POST {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        reply = raw.reply()
        assert reply and reply.status == status
        assert reply.headers.get("allow") == ("GET, HEAD" if status == 405 else None)
        raw.send(b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n")
        after = raw.reply()
        assert after and after.status == 200


@pytest.mark.fault("too-large")
def test_413_a_body_over_16_kib(agent: Agent, client: Client) -> None:
    body = json.dumps({"subject": "a", "tags": {f"t{i}": "x" * 200 for i in range(90)}})
    assert len(body) > 16 * 1024
    answer = client.post("/v1/check", body)
    assert answer.status == 413
    assert_problem(answer)
    # Whether this connection lives on or is closed and said to be, the next request is answered.
    assert client.check(plan_id="bucket", subject=fresh_subject(), cost=0).status == 200


@pytest.mark.fault("too-large")
def test_413_is_said_before_a_huge_body_is_sent(agent: Agent, key: MintedKey) -> None:
    with RawConnection(agent.port) as raw:
        raw.send(b"POST /v1/check HTTP/1.1\r\nHost: x\r\nx-api-key: " + key.text.encode() +
                 b"\r\nContent-Length: 9999999999\r\n\r\n")
        reply = raw.reply()
        assert reply and reply.status == 413


@pytest.mark.fault("too-large")
def test_413_a_chunked_body_over_16_kib(agent: Agent, key: MintedKey) -> None:
    with RawConnection(agent.port) as raw:
        raw.send(b"POST /v1/check HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nx-api-key: " + key.text.encode() +
                 b"\r\n\r\n" + b"1000\r\n" + b" " * 4096 + b"\r\n" + b"4000\r\n" + b" " * 16384 + b"\r\n0\r\n\r\n")
        reply = raw.reply()
        assert reply and reply.status == 413


def test_a_body_of_exactly_16_kib_is_read(client: Client) -> None:
    body = b'{"subject":"a","plan_id":"bucket","cost":0}'
    assert client.post("/v1/check", body + b" " * (16 * 1024 - len(body))).status == 200


@pytest.mark.fault("too-large")
def test_431_headers_over_8_kib(agent: Agent, client: Client) -> None:
    with RawConnection(agent.port) as raw:
        raw.send(b"POST /v1/check HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * 9000 + b"\r\n\r\n")
        reply = raw.reply()
        assert reply and reply.status == 431
        assert reply.headers["content-type"].startswith("application/problem+json")
        assert raw.closed()
    assert client.check(plan_id="bucket", subject=fresh_subject(), cost=0).status == 200


# --- 415 -------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("headers", [{"content-type": "text/plain"}, {"content-type": "application/xml"},
                                     {"content-encoding": "gzip"}, {"content-encoding": "identity, gzip"}])
def test_415_a_body_that_is_coded_or_not_json(refused: Callable[..., Answer], headers: dict[str, str]) -> None:
    for path in ("/v1/check", "/v1/check/batch", "/v1/release", "/v1/renew"):
        answer = refused(415, lambda client, path=path: client.post(path, "{}", headers))
        assert next(iter(headers.values())) in answer.body["detail"]


@pytest.mark.parametrize("sent", ["", "application/x-www-form-urlencoded", "application/json; charset=utf-8"])
def test_a_check_as_curl_sends_it_is_understood(client: Client, sent: str) -> None:
    body = json.dumps({"plan_id": "bucket", "subject": fresh_subject(), "cost": 0})
    assert client.post("/v1/check", body, {"content-type": sent}).status == 200


# --- request ids -----------------------------------------------------------------------------------------------------

def test_the_callers_request_id_is_echoed_by_every_route(client: Client) -> None:
    lease = client.check(plan_id="leases", subject=fresh_subject()).body["lease_id"]
    for path, body in (("/v1/check", {"plan_id": "bucket", "subject": fresh_subject()}), ("/v1/check", {}), ("/nowhere", {}),
                       ("/v1/check/batch", {"checks": [{"subject": "a"}]}), ("/v1/release", {"lease_id": lease})):
        answer = client.post(path, json.dumps(body), {"x-request-id": "trace:7.a_b-C"})
        assert answer.header("x-request-id") == "trace:7.a_b-C", path
    assert client.post("/v1/check", "{}").header("x-request-id") is None


@pytest.mark.parametrize("bad", ["a b", "<script>", "x" * 129, "a,b"])
def test_a_request_id_that_is_long_or_odd_is_replaced_and_the_caller_sees_by_what(client: Client, bad: str) -> None:
    first, second = (client.check({"x-request-id": bad}, plan_id="bucket", subject=fresh_subject()) for _ in range(2))
    made = [answer.header("x-request-id") for answer in (first, second)]
    assert first.status == 200 and re.fullmatch("[0-9a-f]{24}", made[0] or "") and first.body["request_id"] == made[0]
    assert made[0] != made[1]


# --- 422 -------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("fields", "pointer"), [
    ({"cost": -1}, "/cost"), ({"cost": 2**31}, "/cost"), ({"cost": 10**30}, "/cost"),
    ({"costs": {"tokens": -1}}, "/costs/tokens"), ({"costs": {"tokens": 2**31}}, "/costs/tokens"),
    ({"resource": "x" * 257}, "/resource"), ({"tags": {"env": "x" * 257}}, "/tags/env"),
    ({"request_id": "x" * 257}, "/request_id")])
def test_422_a_value_out_of_range(refused: Callable[..., Answer], fields: dict[str, Any], pointer: str) -> None:
    assert pointers(refused(422, posting({"subject": "a", **fields}))) == [pointer]


def test_a_string_of_256_bytes_and_the_highest_cost_are_in_range(client: Client) -> None:
    assert client.check(plan_id="bucket", subject="x" * 256, cost=0).status == 200
    assert client.check(plan_id="bucket", subject=fresh_subject(), cost=2**31 - 1).status == 429


def test_422_a_string_is_measured_in_bytes(refused: Callable[..., Answer]) -> None:
    refused(422, posting({"subject": "é" * 129}))
    refused(422, posting(('{"subject":"' + "é" * 129 + '"}').encode()))


def test_422_a_required_dimension_is_missing(refused: Callable[..., Answer]) -> None:
    refused(422, posting({"resource": "GET:/x", "plan_id": "strict-identity"}))


@pytest.mark.parametrize("lease", ["", "x", "lease", "AAAA", "x" * 200, "../../etc", "%00", "slk_a_b"])
def test_422_a_malformed_lease_id(refused: Callable[..., Answer], lease: str) -> None:
    refused(422, posting({"lease_id": lease}, "/v1/release"))
    refused(422, posting({"lease_id": lease}, "/v1/renew"))


@pytest.mark.fault("bad-json")
def test_400_before_422_where_both_are_wrong(refused: Callable[..., Answer]) -> None:
    refused(400, posting({"subject": "a", "cost": -1, "colour": "red"}))
