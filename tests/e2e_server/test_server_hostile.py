"""What nobody well-meaning sends: each is a 4xx, breaks nothing, and costs no more memory than anything else."""

import json
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from support.admin import ADMIN, AdminClient, bucket, fresh_id, pointers
from support.client import Answer
from support.raw import RawConnection, RawReply
from support.server import Server

pytestmark = pytest.mark.fault("server-hostile-input")
MIB = 1 << 20
INJECTIONS = ["'; DROP TABLE plans; --", "' OR '1'='1", "\\'; DROP TABLE plans; --", "$1", "$$; DROP TABLE plans; $$", "%s%n",
              "{},{}", "\"}],\"x\":[{\"", "<script>alert(1)</script>", "${jndi:ldap://x/a}", "\\x00\\xff", "a\tb\r\nc: d",
              "\u202e\u0007\u2028", "🐘" * 20, "{{app}}", "NULL", ",", "\\"]


@pytest.fixture
def whole(server: Server, admin: AdminClient, organization: str) -> Callable[[], None]:
    """Checks that all tables stand and that everything still works."""

    def check() -> None:
        tenant = admin.tenant(organization)
        assert admin.put("/plans/after", bucket(), tenant=tenant).status == 201
        tables = server.database.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")[0][0]
        assert tables >= 16

    return check


def posted(server: Server, path: str, body: bytes, extra: bytes = b"", length: int = -1) -> bytes:
    """A POST with a token, by hand."""
    size = len(body) if length < 0 else length
    return (f"POST {ADMIN}{path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {size}\r\n").encode() + extra + b"\r\n" + body


def framed(server: Server, request: bytes) -> "RawReply | None":
    """Sends bytes and reads one answer."""
    with RawConnection(server.port) as connection:
        return connection.send(request).reply()


# --- JSON ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("body", ["[" * 10_000 + "]" * 10_000, '{"a":' * 10_000 + "1" + "}" * 10_000, "[" * 10_000,
                                  '{"scope":' * 65 + "1" + "}" * 65, '{"a":[' * 5_000],
                         ids=["lists", "objects", "open lists", "65 deep", "both open"])
def test_json_ten_thousand_deep_is_400(admin: AdminClient, tenant: str, body: str) -> None:
    admin.put("/plans/p", bucket(), tenant=tenant)
    for method, path in (("POST", "/plans"), ("PUT", "/plans/p"), ("PATCH", "/plans/p")):
        answer = admin.request(method, path, body, tenant=tenant)
        assert (answer.status, answer.body["type"]) == (400, "/problems/invalid")


def test_a_patch_cannot_nest_deeper_than_a_document_may(admin: AdminClient, tenant: str) -> None:
    admin.put("/policies/p", {"resource": "x", "limit": 1, "window": "1s"}, tenant=tenant)
    body = '{"metadata":' + '{"a":' * 62 + "1" + "}" * 62 + "}"
    assert admin.patch("/policies/p", body, tenant=tenant).status in (400, 422)


@pytest.mark.parametrize("text", [b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"a\xe2\x82", b"\\ud800",
                                  b"\\udc00\\ud800", b"\x00", b"\x1f", b"\\u00"],
                         ids=repr)
def test_text_that_is_no_unicode_is_400(admin: AdminClient, tenant: str, text: bytes) -> None:
    admin.put("/plans/p", bucket(), tenant=tenant)
    body = b'{"name":"' + text + b'","limit":1,"window":"1s"}'
    for method, path in (("POST", "/plans"), ("PUT", "/plans/p"), ("PATCH", "/plans/p")):
        assert admin.request(method, path, body, tenant=tenant).status == 400, (method, body)
    assert admin.get("/plans/p", tenant=tenant).body["version"] == 1


TEXT_FIELDS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("/organizations", {}, ["id", "name"]),
    ("/tenants", {}, ["id", "name", "organization_id", "mode", "default"]),
    ("/plans", {"limit": 1, "window": "1s"}, ["id", "name", "tenant_id", "algorithm", "window", "unit", "key_by", "action"]),
    ("/policies", {"limit": 1, "window": "1s", "resource": "x"},
     ["id", "name", "tenant_id", "plan_id", "match_expr", "resource", "region", "tag.x", "metadata", "valid_from",
      "key_by", "mode", "failure_mode"]),
]
FIELDS = [pytest.param(path, body, field, id=f"{path}-{field}") for path, body, fields in TEXT_FIELDS for field in fields]


@pytest.mark.parametrize(("path", "body", "field"), FIELDS)
def test_the_character_nul_is_refused_in_every_text_and_named(admin: AdminClient, tenant: str, organization: str, path: str,
                                                              body: dict[str, Any], field: str) -> None:
    answer = written(admin, tenant, organization, path, body, field, "a\u0000b")
    pointer = "/metadata/m" if field == "metadata" else f"/{field}"
    assert (answer.status, pointers(answer)) == (422, [pointer]), answer


def test_a_name_with_the_character_nul_is_refused_wherever_it_stands(admin: AdminClient, tenant: str) -> None:
    admin.put("/policies/p", {"resource": "x", "limit": 1, "window": "1s"}, tenant=tenant)
    for body, pointer in (({"metadata": {"a\u0000": "b"}}, "/metadata"), ({"a\u0000": 1}, "")):
        answer = admin.patch("/policies/p", body, tenant=tenant)
        assert answer.status == 422 and pointer in pointers(answer), answer


@pytest.mark.parametrize(("path", "body", "field"), FIELDS)
def test_sql_and_markup_in_every_text_field_is_stored_as_it_is_or_refused(admin: AdminClient, whole: Callable[[], None],
                                                                          tenant: str, organization: str, path: str,
                                                                          body: dict[str, Any], field: str) -> None:
    for text in INJECTIONS:
        answer = written(admin, tenant, organization, path, body, field, text)
        assert answer.status in (201, 422), (text, answer)
        if answer.status == 201:
            shown = answer.body["metadata"]["m"] if field == "metadata" else answer.body.get(field)
            if field in ("name", "metadata"):
                assert shown == text
            options = {"tenant": tenant} if path in ("/plans", "/policies") else {}
            assert admin.delete(f"{path}/{answer.body['id']}", **options).status == 204
    whole()


def written(admin: AdminClient, tenant: str, organization: str, path: str, body: dict[str, Any], field: str,
            text: str) -> Answer:
    """POSTs a body with a text in one of its fields."""
    whole = {"id": fresh_id("x"), **body, field: {"m": text} if field == "metadata" else text}
    if path == "/tenants":
        whole.setdefault("organization_id", organization)
    if path in ("/plans", "/policies"):
        whole.setdefault("tenant_id", tenant)
    if field == "plan_id":
        del whole["limit"], whole["window"]
    return admin.post(path, whole)


@pytest.mark.parametrize("parameter", ["tenant_id", "plan_id", "mode", "enabled", "cursor", "limit"])
def test_sql_in_every_parameter_finds_nothing(admin: AdminClient, whole: Callable[[], None], parameter: str) -> None:
    for text in INJECTIONS:
        answer = admin.get("/policies", query={parameter: text})
        if parameter in ("cursor", "limit", "mode", "enabled"):
            assert (answer.status, pointers(answer)) == (400, [f"?{parameter}"])
        else:
            assert (answer.status, answer.body["items"]) == (200, []), (text, answer)
    whole()


@pytest.mark.parametrize("query", ["limit=%00", "tenant_id=%00", "tenant_id=a%00b", "tenant_id=%ff", "cursor=%ff", "limit=%zz",
                                   "%00=1", "=1", "tenant_id=%ed%a0%80", "plan_id=%C0%80"])
def test_a_query_that_is_no_text_is_400(admin: AdminClient, query: str) -> None:
    answer = admin.get(f"/policies?{query}")
    assert (answer.status, answer.body["type"]) == (400, "/problems/invalid"), answer


def test_numbers_beyond_every_bound_are_refused_by_field(admin: AdminClient, tenant: str) -> None:
    for number in ("-1", "9007199254740993", "99999999999999999999999999", "0.5", "1e-400", '"1"', "null", "[]"):
        answer = admin.post("/plans", f'{{"algorithm":"fixed_window","limit":{number},"window":"1s"}}', tenant=tenant)
        assert (answer.status, pointers(answer)) == (422, ["/limit"]), (number, answer)


def test_more_than_ten_thousand_faults_are_answered_with_the_first_of_them(admin: AdminClient) -> None:
    body = {f"unknown{number}": 1 for number in range(11_000)}
    answer = admin.post("/organizations", body)
    assert answer.status == 422 and 1 <= len(answer.body["errors"]) <= 10_001


# --- size and memory -------------------------------------------------------------------------------------------------

def test_a_body_of_ten_megabytes_is_413_and_leaves_memory_as_it_was(server: Server, admin: AdminClient, tenant: str,
                                                                    sanitized_server: bool) -> None:
    body = json.dumps({"name": "x" * (10 * MIB)}).encode()
    admin.put("/plans/p", bucket(), tenant=tenant)

    def crowd(_: int = 0) -> None:
        with server.admin() as client:
            for method, path in (("POST", "/plans"), ("PUT", "/plans/p"), ("PATCH", "/plans/p")):
                try:
                    assert client.request(method, path, body, tenant=tenant).status == 413
                except (BrokenPipeError, ConnectionResetError):   # it did not wait for the rest, and closed
                    client.close()

    crowd()
    before = server.process.resident_kb()
    threads = [threading.Thread(target=crowd, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    grown = server.process.resident_kb() - before
    # Twenty-four of them at once would be 240 MB. A sanitizer keeps what was freed for a while.
    assert grown < (120_000 if sanitized_server else 20_000), f"{grown} KB"
    assert admin.get("/plans/p", tenant=tenant).body["version"] == 1


def test_a_length_that_is_too_much_is_413_before_anything_is_sent(server: Server) -> None:
    for path in ("/plans", "/policies", "/organizations", "/nothing"):
        reply = framed(server, posted(server, path, b"", length=10 * MIB))
        assert reply is not None and reply.status == 413, path
        assert reply.headers["content-type"] == "application/problem+json" and reply.json()["status"] == 413


def test_large_bundles_are_refused_before_they_are_sent_to_those_who_may_not(server: Server) -> None:
    with server.admin() as admin:
        reader = admin.create("/tokens", {"name": "reader", "role": "auditor", "organization_id": admin.organization()})["token"]
    for path in ("/apply", "/validate"):
        for token, status in (("", 401), ("sla_" + "x" * 43, 401), (reader, 403)):
            if (path, status) == ("/validate", 403):
                continue   # an auditor may
            request = posted(server, path, b"", length=60 * MIB).replace(server.token.encode(), token.encode())
            reply = framed(server, request)
            assert reply is not None and reply.status == status, (path, token)
            assert reply.headers["connection"] == "close" and reply.headers["x-request-id"]


def test_a_large_bundle_of_somebody_who_may_is_read(admin: AdminClient) -> None:
    organization = fresh_id("org")
    bundle = json.dumps({"format": "sluice/v1", "organizations": [{"id": organization}]})
    assert admin.post("/apply", bundle + " " * (20 * MIB)).status == 200
    assert admin.get(f"/organizations/{organization}").status == 200


def test_a_refusal_of_framing_has_the_headers_of_every_answer(server: Server) -> None:
    reply = framed(server, posted(server, "/plans", b"", length=10 * MIB))
    assert reply is not None and f"The limit is {MIB} bytes." in reply.json()["detail"]
    assert (reply.headers["cache-control"], reply.headers["x-content-type-options"]) == ("no-store", "nosniff")


def test_a_body_just_below_the_limit_is_read(admin: AdminClient, tenant: str) -> None:
    body = '{"limit":1,"window":"1s"' + " " * (MIB - 100) + "}"
    assert admin.put("/plans/p", body, tenant=tenant).status == 201


def test_a_long_list_of_limits_or_values_is_refused_or_stored_but_never_an_error(admin: AdminClient, tenant: str) -> None:
    many = [{"name": f"l{number}", "limit": 1, "window": "1s"} for number in range(17)]
    answer = admin.post("/plans", {"limits": many}, tenant=tenant)
    assert (answer.status, pointers(answer)) == (422, ["/limits"])
    answer = admin.post("/policies", {"id": "p", "scope": {"resource": [f"r{number}" for number in range(5_000)]},
                                      "limit": 1, "window": "1s"}, tenant=tenant)
    assert answer.status in (201, 422)


# --- headers and framing ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("header", [b"X-Request-Id: a\r\nb: c", b"X-Request-Id: a\nSet-Cookie: x=y", b"X-Request-Id: a\rb",
                                    b"Idempotency-Key: a\nSet-Cookie: x=y", b"If-Match: \"1\"\nSet-Cookie: x=y",
                                    b"X-Request-Id: \x00", b"Idempotency-Key: a\x00b", b"X-Request-Id: a\x7f"],
                         ids=repr)
def test_a_header_cannot_smuggle_another_into_the_answer(server: Server, tenant: str, header: bytes) -> None:
    body = json.dumps(bucket(tenant_id=tenant, id=fresh_id("p"))).encode()
    with RawConnection(server.port) as connection:
        reply = connection.send(posted(server, "/plans", body, header + b"\r\n")).reply()
    assert reply is not None and reply.status in (201, 400), reply
    assert "set-cookie" not in reply.headers and reply.headers.get("b") is None


def test_ids_and_names_cannot_break_out_of_the_location(admin: AdminClient, tenant: str) -> None:
    for name in ("x\r\nSet-Cookie: a=b", "x?y#z", "../../etc"):
        made = admin.post("/plans", bucket(name=name), tenant=tenant)
        assert made.status == 201 and made.header("set-cookie") is None
        assert (made.header("location") or "").startswith(f"{ADMIN}/plans/{made.body['id']}?tenant_id={tenant}")
        assert admin.delete(f"/plans/{made.body['id']}", tenant=tenant).status == 204


def test_framing_that_two_readers_could_read_differently_is_400(server: Server) -> None:
    body = b"{}"
    for extra in (b"Transfer-Encoding: chunked\r\n", b"Content-Length: 3\r\n", b"Host: other\r\n", b"X_Y: 1\r\n",
                  b"Transfer-Encoding: identity\r\n", b"X: a\r\n b\r\n"):
        reply = framed(server, posted(server, "/plans", body, extra))
        assert reply is not None and reply.status == 400 and reply.headers.get("connection") == "close", extra


def test_a_post_without_a_length_is_411(server: Server) -> None:
    reply = framed(server, f"POST {ADMIN}/plans HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode())
    assert reply is not None and reply.status == 411


def test_a_post_without_a_length_to_an_object_is_405_with_the_methods(server: Server) -> None:
    reply = framed(server, f"POST {ADMIN}/plans/x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode())
    assert reply is not None and reply.status == 405 and reply.headers["allow"] == "GET, PUT, PATCH, DELETE"


def test_headers_without_end_are_431(server: Server) -> None:
    reply = framed(server, f"GET {ADMIN}/plans HTTP/1.1\r\nHost: x\r\nX: {'a' * 20_000}\r\n\r\n".encode())
    assert reply is not None and reply.status == 431


def test_a_caller_who_leaves_before_the_answer_is_no_trouble(server: Server, whole: Callable[[], None]) -> None:
    for _ in range(50):
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(posted(server, "/plans", json.dumps(bucket()).encode()) * 3)
    whole()


def test_pipelined_calls_are_answered_in_their_order(server: Server, tenant: str) -> None:
    ids = [fresh_id("p") for _ in range(20)]
    with RawConnection(server.port) as connection:
        for name in ids:
            connection.send(posted(server, "/plans", json.dumps(bucket(tenant_id=tenant, id=name)).encode()))
        for name in ids:
            reply = connection.reply()
            assert reply is not None and reply.status == 201 and reply.json()["id"] == name
