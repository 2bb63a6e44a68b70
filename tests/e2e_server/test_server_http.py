"""What all calls have in common: request ids, methods, media types, credentials, errors that name everything at once."""

import json
import re
from typing import Any

import pytest

from support.admin import ADMIN, AdminClient, bucket, fresh_id, pointers
from support.client import Client
from support.process import wait_until
from support.server import CREDENTIAL, Server

PATHS = ["/organizations", "/organizations/x", "/tenants", "/tenants/x", "/plans", "/plans/x", "/policies", "/policies/x"]
MISSING = "Bearer sla_token-000000000000_" + "a" * 49


# --- request ids -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("given", ["a", "A.b_c:d-9", "x" * 128], ids=["short", "every kind", "longest"])
def test_a_request_id_of_the_callers_goes_into_answer_log_and_audit(server: Server, admin: AdminClient, tenant: str,
                                                                    given: str) -> None:
    answer = admin.put(f"/plans/{fresh_id('p')}", bucket(), tenant=tenant, headers={"x-request-id": given})
    assert answer.header("x-request-id") == given
    wait_until("the log's line", lambda: [line for line in server.lines() if line.get("request_id") == given])
    found = server.database.execute("SELECT object_id FROM audit WHERE request_id = %s AND tenant_id = %s", [given, tenant])
    assert found == [(answer.body["id"],)]
    assert admin.get("/plans/none", tenant=tenant, headers={"x-request-id": given}).body["request_id"] == given


@pytest.mark.parametrize("given", ["", "x" * 129, "a b", "ä", "a/b", "\"quoted\"", "a,b", "%0d%0aSet-Cookie: a=b"], ids=ascii)
def test_a_request_id_of_another_form_is_replaced(server: Server, admin: AdminClient, given: str) -> None:
    answer = admin.get("/plans", headers={"x-request-id": given})
    made = answer.header("x-request-id") or ""
    assert answer.status == 200 and re.fullmatch("[0-9a-f]{24}", made) and answer.header("set-cookie") is None
    wait_until("the log's line", lambda: [line for line in server.lines() if line.get("request_id") == made])


def test_every_call_has_a_line_in_the_log_with_route_and_status_and_no_value_of_the_caller(server: Server,
                                                                                          admin: AdminClient) -> None:
    name = fresh_id("secret-name")
    made = admin.get(f"/tenants/{name}").header("x-request-id")
    line = wait_until("the log's line", lambda: [line for line in server.lines() if line.get("request_id") == made])[0]
    assert {"time", "level", "event", "message", "duration_us"} <= set(line)
    assert (line["method"], line["route"], line["status"]) == ("GET", f"{ADMIN}/tenants/{{id}}", 404)
    assert name not in server.process.output()


# --- methods and paths -----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["PUT", "DELETE", "TRACE", "OPTIONS", "HEAD", "PROPFIND", "post", "POST"])
def test_a_method_that_a_path_has_not_is_405_and_allow_says_which_it_has(server: Server, path: str, method: str) -> None:
    allowed = ["GET", "PUT", "PATCH", "DELETE"] if path.endswith("/x") else ["GET", "POST"]
    if method in allowed:
        return
    with Client(server.port) as client:   # without a token: nothing is given away that /openapi.json does not tell
        answer = client.request(method, ADMIN + path)
    assert answer.status == 405 and (answer.header("allow") or "").split(", ") == allowed, answer


@pytest.mark.parametrize("path", ["", "/", "/nothing", "/plans/", "/plans/x/", "/plans//", "/plans/x/y", "//plans", "/Plans",
                                  "/plans/x/versions/1/x", "/plans/x/rollout", "/./plans", "/%70lans/..%2f..", "/plans/%zz",
                                  "/plans/%00", "/plans/%ff", "/plans/a%00b", "/organizations/%C0%AE%C0%AE"])
def test_a_path_that_is_none_is_404_for_every_method(admin: AdminClient, path: str) -> None:
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        answer = admin.request(method, path, None if method in ("GET", "DELETE") else {})
        assert (answer.status, answer.body["type"]) == (404, "/problems/not-found"), (method, answer)


@pytest.mark.parametrize("path", ["/plans/..", "/plans/..%2f..%2fetc%2fpasswd", "/plans/%2e%2e", "/plans/%252e%252e", "/plans/a%2fb",
                                  "/plans/%5c..%5c", "/plans/..;", "/plans/*", "/plans/%2a", "/plans/'%20OR%201=1--"])
def test_a_path_that_climbs_is_an_id_that_is_not_there(admin: AdminClient, tenant: str, path: str) -> None:
    assert admin.get(path, tenant=tenant).status == 404
    assert admin.delete(path, tenant=tenant).status == 404
    assert admin.put(path, bucket(), tenant=tenant).status == 422


def test_an_escaped_path_is_the_path_it_stands_for(admin: AdminClient, tenant: str) -> None:
    admin.put("/plans/pro", bucket(), tenant=tenant)
    assert admin.get("/plans/%70%72o", tenant=tenant).body["id"] == "pro"


# --- media types -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/yaml",
                                  "application/jsonp", "application/problem+json", "application", "a b", "application/json,x"])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_a_body_of_another_media_type_is_415(admin: AdminClient, tenant: str, method: str, kind: str) -> None:
    path = "/plans" if method == "POST" else "/plans/p"
    answer = admin.request(method, path, bucket(), tenant=tenant, headers={"content-type": kind})
    assert (answer.status, answer.body["type"]) == (415, "/problems/unsupported-media-type")


@pytest.mark.parametrize("coding", ["gzip", "identity, gzip", "br"])
def test_a_coded_body_is_415_and_says_which_coding_is_taken(admin: AdminClient, tenant: str, coding: str) -> None:
    answer = admin.post("/plans", bucket(), tenant=tenant, headers={"content-encoding": coding})
    assert (answer.status, answer.body["type"]) == (415, "/problems/unsupported-media-type")
    assert answer.header("accept-encoding") == "identity" and coding in answer.body["detail"]
    assert admin.post("/plans", bucket(), tenant=tenant, headers={"content-encoding": "identity"}).status == 201


@pytest.mark.parametrize("kind", ["application/json", "APPLICATION/JSON", "application/json; charset=utf-8",
                                  "application/json;charset=\"utf-8\"", None])
def test_json_is_taken_however_it_is_spelled(admin: AdminClient, tenant: str, kind: Any) -> None:
    assert admin.post("/plans", bucket(), tenant=tenant, headers={"content-type": kind}).status == 201


def test_a_merge_patch_is_for_patch_only(admin: AdminClient, tenant: str) -> None:
    merge = {"content-type": "application/merge-patch+json"}
    admin.put("/plans/p", bucket(), tenant=tenant)
    assert admin.patch("/plans/p", {"name": "x"}, tenant=tenant, headers=merge).status == 200
    assert admin.put("/plans/p", bucket(), tenant=tenant, headers=merge).status == 415


def test_the_port_of_the_api_says_where_the_metrics_are(server: Server) -> None:
    with Client(server.port) as client:
        answer = client.get("/metrics")
    assert answer.status == 404 and "--admin" in answer.body["detail"], answer


@pytest.mark.parametrize(("path", "says"), [
    ("/v1/check", "This is the server"), ("/v1/check/batch", "by default port 8088"), ("/v1/release", "of an agent"),
    ("/readyz", "--admin"), ("/livez", "--admin")])
def test_a_path_of_an_agent_or_of_the_probes_says_where_it_is(server: Server, path: str, says: str) -> None:
    with Client(server.port) as client:
        answer = client.post(path, "{}")
    assert answer.status == 404 and says in answer.body["detail"], answer


def test_a_form_as_curl_sends_it_is_415_with_the_header_to_add(admin: AdminClient, tenant: str) -> None:
    answer = admin.post("/plans", bucket(), tenant=tenant, headers={"content-type": "application/x-www-form-urlencoded"})
    assert answer.status == 415 and "-H 'Content-Type: application/json'" in answer.body["detail"], answer


def test_a_token_in_x_api_key_is_missing_and_the_answer_says_where_to_put_it(server: Server, admin: AdminClient) -> None:
    answer = admin.get("/plans", headers={"authorization": None, "x-api-key": server.token})
    assert (answer.status, answer.body["code"]) == (401, "missing")
    assert "Authorization: Bearer" in answer.body["detail"] and "has x-api-key" in answer.body["detail"]
    assert server.token not in str(answer.body)


# --- credentials -----------------------------------------------------------------------------------------------------

def test_every_way_of_having_no_good_token_has_a_code_and_a_fix_that_names_the_header(
        server: Server, admin: AdminClient, tenant: str) -> None:
    head, secret = server.token.rsplit("_", 1)
    flipped = secret[:-1] + ("a" if secret[-1] != "a" else "b")
    api_key = admin.create("/keys", {"tenant_id": tenant, "name": "app"})["key"]
    for header, code in ((None, "missing"), ("", "missing"), ("Bearer", "malformed"), ("Bearer nonsense", "malformed"),
                         (f"Basic {server.token}", "malformed"), (server.token, "malformed"), (MISSING, "malformed"),
                         (f"Bearer {head}_{flipped}", "malformed"), (f"Bearer {server.token}x", "malformed"),
                         (f"Bearer slk{server.token[3:]}", "wrong_kind"), (f"Bearer {api_key}", "wrong_kind"),
                         (f"Bearer  {server.token}", "malformed"), (f"Bearer {server.token},{server.token}", "malformed")):
        answer = admin.get("/plans", headers={"authorization": header})
        assert (answer.status, answer.body["code"]) == (401, code), (header, answer)
        assert "Authorization" in answer.body["detail"] and answer.body["type"] == "/problems/unauthorized"
        assert answer.header("www-authenticate") == 'Bearer realm="sluice"'
    assert admin.get("/plans", headers={"authorization": f"bEaReR {server.token}"}).status == 200


def test_who_fails_too_often_hears_429_and_the_owner_still_gets_in(make_server: Any) -> None:
    server = make_server().start()
    with server.admin() as admin, server.admin("") as stranger:
        answers = [stranger.get("/plans", headers={"authorization": MISSING}) for _ in range(40)]
        statuses = [answer.status for answer in answers]
        assert statuses[:20] == [401] * 20 and statuses[-1] == 429
        assert all(int(answer.header("retry-after") or 0) >= 1 for answer in answers if answer.status == 429)
        assert admin.get("/plans").status == 200
    assert server.metric("sluice_auth_failures_throttled_total") == statuses.count(429)


def test_what_does_not_exist_is_not_told_to_strangers(server: Server, tenant: str, admin: AdminClient) -> None:
    admin.put("/plans/pro", bucket(), tenant=tenant)
    with server.admin("") as stranger:
        answers = [stranger.get(path, tenant=tenant) for path in ("/plans/pro", "/plans/none")]
    assert {answer.status for answer in answers} == {401}
    assert len({json.dumps({**answer.body, "request_id": ""}) for answer in answers}) == 1


# --- errors ----------------------------------------------------------------------------------------------------------

def test_a_body_with_five_faults_gets_five_named_errors(admin: AdminClient, tenant: str) -> None:
    faulty = {"tenant_id": tenant, "id": "Not An Id", "mode": "loud", "colour": "red", "scope": {"resource": 7},
              "limits": [{"algorithm": "fixed_window", "limit": -1, "window": "10s"}]}
    for answer in (admin.post("/policies", faulty), admin.put("/policies/Not%20An%20Id", faulty)):
        assert answer.status == 422, answer
        assert sorted(pointers(answer)) == ["/colour", "/id", "/limits/0/limit", "/mode", "/scope/resource"]


def test_pointers_lead_into_the_body_as_it_was_sent(admin: AdminClient, tenant: str) -> None:
    answer = admin.post("/policies", {"tenant_id": tenant, "id": "p", "match_expr": "region ==", "metadata": {"a/b~c": 1},
                                      "limits": [{"limit": 1, "window": "1s"}, {"limit": 1, "window": "soon"}]})
    assert sorted(pointers(answer)) == ["/limits/1/window", "/match_expr", "/metadata/a~1b~0c"]
    detail = next(error["detail"] for error in answer.body["errors"] if error["pointer"] == "/match_expr")
    assert "column" in detail


@pytest.mark.parametrize("body", ["", "{", "null", "[]", "7", '"text"', "{'name':'x'}", '{"name":"x"}garbage', '{"name":"x",}',
                                  '{"name":"a\nb"}', '{"priority":01}', '{"priority":NaN}', "{}{}"])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_a_body_that_is_no_json_object_is_400(admin: AdminClient, tenant: str, method: str, body: str) -> None:
    admin.put("/plans/p", bucket(), tenant=tenant)
    answer = admin.request(method, "/plans" if method == "POST" else "/plans/p", body, tenant=tenant)
    assert (answer.status, answer.body["type"]) == (400, "/problems/invalid"), answer
    assert admin.get("/plans/p", tenant=tenant).body["version"] == 1


def test_a_member_given_twice_is_refused_in_every_kind_of_body(admin: AdminClient, tenant: str) -> None:
    body = '{"name":"a","name":"b","limit":1,"window":"1s"}'
    admin.put("/plans/p", bucket(), tenant=tenant)
    for answer in (admin.post("/plans", body, tenant=tenant), admin.put("/plans/p", body, tenant=tenant),
                   admin.patch("/plans/p", '{"name":"a","name":"b"}', tenant=tenant)):
        assert 400 <= answer.status <= 422 and "/name" in pointers(answer), answer
    assert admin.get("/plans/p", tenant=tenant).body["version"] == 1


def test_no_answer_and_no_log_holds_the_token(server: Server, admin: AdminClient) -> None:
    for path in PATHS:
        assert not CREDENTIAL.search(json.dumps(admin.get(path).body))
    admin.get(f"/plans/{server.token}")
    admin.get("/plans", query={server.token: server.token})
    admin.post("/plans", {"name": server.token})
    assert not CREDENTIAL.search(server.process.output())


# --- the rest of the surface -----------------------------------------------------------------------------------------

def test_health_tells_the_version_to_anybody(server: Server) -> None:
    with Client(server.port) as client:
        answer = client.get("/v1/health")
        assert (answer.status, answer.body["status"]) == (200, "ok") and answer.body["version"]
        for path in ("/livez", "/readyz", "/metrics"):
            assert client.get(path).status == 404, "probes have a port of their own"


def test_probes_and_metrics_are_served_on_their_own_port(server: Server, admin: AdminClient) -> None:
    admin.get("/plans")
    admin.get("/plans/none", tenant="nobody")
    assert server.probe("/livez").status == 200
    assert server.probe("/readyz").body == {"status": "ready", "degraded": []}
    assert server.metric("sluice_build_info") == 1
    assert server.metric("sluice_postgres_max_connections") == 8
    assert 1 <= server.metric("sluice_postgres_connections") <= 8
    assert server.metric("sluice_http_request_duration_seconds_count", route=f"GET {ADMIN}/plans") >= 1


def test_requests_are_counted_by_route_and_status_whatever_the_path(server: Server, admin: AdminClient) -> None:
    route = f"GET {ADMIN}/plans/{{id}}"
    text = str(server.probe("/metrics").body)
    name = next(line.split()[2] for line in text.splitlines() if line.startswith("# TYPE sluice_") and "requests_total" in line)
    before = server.metric(name)
    for number in range(5):
        admin.get(f"/plans/p{number}", tenant="nobody")
        admin.get(f"/nothing-{number}")
    text = str(server.probe("/metrics").body)
    assert server.metric(name) == before + 10
    assert route in text and "nothing-" not in text and "nobody" not in text
