"""Browsers that signed in: what the cookie opens, on every server, who cannot use it, and when it ends."""

import http.client
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.admin import AdminClient, bucket, fresh_id
from support.browser_session import BrowserSession
from support.certificate import certificate
from support.client import Answer
from support.postgres import PostgresServer
from support.process import wait_until
from support.server import Installation, Server, run_command
from support.tls_client import context

Make = Callable[..., Server]


@pytest.fixture
def browser(server: Server, admin: AdminClient) -> Iterator[BrowserSession]:
    """A platform_admin who signed in."""
    with server.admin(admin.token) as client:
        yield BrowserSession.sign_in(client)


def detail(answer: Answer) -> str:
    """What a person is told."""
    return str(answer.body["detail"])


def test_the_cookie_stands_for_the_token_and_scripts_cannot_read_it(browser: BrowserSession, admin: AdminClient) -> None:
    answer = admin.post("/session", {})
    attributes = str(answer.header("set-cookie")).split("; ")
    assert attributes[0].startswith("sluice_session=") and set(attributes[1:]) == {"HttpOnly", "SameSite=Strict", "Path=/"}
    assert browser.request("GET", "/whoami").body["id"] == admin.get("/whoami").body["id"]
    shown = browser.request("GET", "/session")
    assert (shown.status, shown.body) == (200, browser.document)
    assert shown.body["role"] == "platform_admin" and "manage_organizations" in shown.body["permissions"]
    made = browser.request("POST", "/organizations", {"id": fresh_id("org")})
    assert made.status == 201
    entry = admin.get("/audit", query={"limit": 1, "kind": "organization", "object_id": made.body["id"]}).body["items"][0]
    assert entry["actor_id"] == browser.document["token_id"] and entry["session_id"] == browser.document["id"]
    assert entry["source"] == "127.0.0.1"


def test_a_role_may_by_session_what_it_may_by_token(server: Server, admin: AdminClient, organization: str, tenant: str) -> None:
    made = admin.create("/tokens", {"name": "viewer", "role": "auditor", "organization_id": organization, "tenant_ids": [tenant]})
    assert admin.put("/plans/pro", bucket(), tenant=tenant).status == 201
    with server.admin(made["token"]) as client:
        auditor = BrowserSession.sign_in(client)
        assert auditor.request("GET", "/plans/pro", tenant=tenant).status == 200
        refused = auditor.request("PUT", "/plans/pro", bucket(), tenant=tenant)
        assert refused.status == 403 and "configure" in detail(refused)
        assert auditor.request("GET", f"/tenants/{admin.tenant()}").status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_change_without_the_sessions_csrf_token_is_refused_and_not_done(browser: BrowserSession, admin: AdminClient,
                                                                        method: str) -> None:
    name = admin.organization()
    path, body = ("/organizations", {"id": fresh_id("org")}) if method == "POST" else (f"/organizations/{name}", {"name": "x"})
    before = admin.get("/revision").body["revision"]
    other = BrowserSession.sign_in(admin)
    for csrf in (None, "", browser.csrf[:-1], other.csrf):
        answer = browser.request(method, path, None if method == "DELETE" else body, headers={"x-csrf-token": csrf})
        assert (answer.status, answer.body["type"]) == (403, "/problems/csrf-token"), answer
        assert "X-CSRF-Token" in detail(answer) and "/v1/admin/session" in detail(answer)
    assert admin.get("/revision").body["revision"] == before
    assert browser.request(method, path, None if method == "DELETE" else body).status in (200, 201, 204)


def test_a_page_of_another_site_cannot_use_the_session(server: Server, browser: BrowserSession) -> None:
    own = f"http://127.0.0.1:{server.port}"
    foreign: list[dict[str, Any]] = [
        {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}, {"sec-fetch-site": None, "origin": "null"},
        {"sec-fetch-site": None, "origin": "https://evil.example"}, {"sec-fetch-site": None, "origin": own + "0"}]
    for headers in foreign:
        for method in ("GET", "DELETE"):
            answer = browser.request(method, "/session", headers=headers)
            assert (answer.status, answer.body["type"]) == (403, "/problems/cross-site"), (headers, answer)
            assert "Bearer" in detail(answer) and "--console-url" in detail(answer)
    assert browser.request("GET", "/session", headers={"sec-fetch-site": None, "origin": own}).status == 200
    assert browser.request("GET", "/session", headers={"sec-fetch-site": "none"}).status == 200


def test_a_call_with_a_token_is_the_tokens_whatever_cookie_it_has(server: Server, browser: BrowserSession,
                                                                  admin: AdminClient) -> None:
    other = admin.create("/tokens", {"name": "ci", "role": "auditor"})
    headers = {"authorization": f"Bearer {other['token']}", "x-csrf-token": None, "sec-fetch-site": "cross-site"}
    assert browser.request("GET", "/whoami", headers=headers).body["id"] == other["id"]
    wrong = browser.request("GET", "/whoami", headers={"authorization": f"Bearer {other['token'][:-1]}"})
    assert (wrong.status, wrong.body["code"]) == (401, "malformed")
    assert browser.request("POST", "/session", headers=headers).status == 200, "the token signs in, the session stays"


def test_who_signs_out_is_signed_out_on_every_server(make_server: Make) -> None:
    one = make_server().start()
    two = make_server(database=one.database).start()
    with one.admin() as first, two.admin() as second:
        browser = BrowserSession.sign_in(first)
        assert browser.request("GET", "/whoami", client=second).status == 200
        out = browser.request("DELETE", "/session", client=second)
        assert out.status == 204 and "Max-Age=0" in str(out.header("set-cookie"))
        for client in (first, second):
            answer = browser.request("GET", "/whoami", client=client)
            assert answer.status == 401 and "sign in again" in detail(answer), answer


@pytest.mark.parametrize("end", ["revoke", "delete", "expire"])
def test_a_session_ends_with_its_token_from_the_next_call_on(server: Server, admin: AdminClient, end: str) -> None:
    made = admin.create("/tokens", {"name": "t", "role": "auditor"})
    at = f"/tokens/{made['id']}"
    with server.admin(made["token"], source=f"127.3.{len(end)}.1") as client:
        browser = BrowserSession.sign_in(client)
        assert browser.request("GET", "/whoami").status == 200
        done = {"revoke": lambda: admin.patch(at, {"revoked": True}), "delete": lambda: admin.delete(at),
                "expire": lambda: admin.patch(at, {"expires_at": "2021-01-01T00:00:00Z"})}[end]()
        assert done.status in (200, 204)
        assert browser.request("GET", "/whoami").status == 401
    rows = server.database.execute("SELECT count(*) FROM console_sessions WHERE token_id = %s", [made["id"]])
    assert rows == [(0,)], "and no row is left behind"


def test_invented_cookies_cost_few_reads_and_are_throttled_as_invented_tokens_are(make_server: Make) -> None:
    server = make_server().start()
    with server.admin(source="127.4.0.1") as client, server.admin() as admin:
        browser = BrowserSession.sign_in(admin)
        assert browser.request("GET", "/whoami").status == 200
        reads = server.metric("sluice_auth_session_lookups_total")
        statuses = [client.get("/whoami", headers={"authorization": None, "cookie": "sluice_session=" + "0" * 43}).status
                    for _ in range(25)]
        assert statuses[:20] == [401] * 20 and statuses[-1] == 429
        assert server.metric("sluice_auth_session_lookups_total") - reads <= 25 / 20
        malformed = client.get("/whoami", headers={"authorization": None, "cookie": "sluice_session=none"})
        assert malformed.status == 429, "a cookie of another form is no session, and counts as a missing token"
        reads = server.metric("sluice_auth_session_lookups_total")
        for _ in range(20):
            assert browser.request("GET", "/whoami").status == 200
        assert server.metric("sluice_auth_session_lookups_total") == reads, "a known session is not looked up again"


def test_over_tls_the_cookie_is_for_this_host_and_for_tls_only(make_server: Make, tmp_path: Path) -> None:
    cert, key = certificate(tmp_path, "server")
    server = make_server("--tls-cert", str(cert), "--tls-key", str(key)).start()
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=30, context=context(cert))

    def ask(method: str, headers: dict[str, str]) -> http.client.HTTPResponse:
        connection.request(method, "/v1/admin/session", headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 404 or json.loads(body), body
        return answer

    try:
        line = str(ask("POST", {"authorization": f"Bearer {server.token}"}).headers["set-cookie"])
        assert line.startswith("__Host-sluice_session=") and "; Secure" in line
        cookie = line.split(";", 1)[0]
        assert ask("GET", {"cookie": cookie}).status == 200
        assert ask("GET", {"cookie": cookie.removeprefix("__Host-")}).status == 401, "another host could have set it"
    finally:
        connection.close()


def test_behind_something_that_terminates_tls_the_cookie_is_for_tls_only(make_server: Make) -> None:
    server = make_server("--console-url", "https://console.example.com").start()
    with server.admin() as client:
        browser = BrowserSession.sign_in(client)
        assert browser.cookie.startswith("__Host-sluice_session=")
        headers = {"sec-fetch-site": None, "origin": "https://console.example.com"}
        assert browser.request("GET", "/session", headers=headers).status == 200
        assert browser.request("GET", "/session", headers={**headers, "origin": "http://console.example.com"}).status == 403


@pytest.mark.parametrize("url", ["console.example.com", "https://console.example.com/console", "unix:/run/x", "https://"])
def test_an_address_that_browsers_cannot_open_is_refused_at_the_start(server_program: Path, url: str) -> None:
    done = run_command(server_program, "--database-url", "postgresql://sluice_app@localhost/sluice", "--console-url", url)
    assert done.returncode == 2 and "--console-url" in done.stderr and "https://sluice.example.com" in done.stderr


def test_while_postgresql_is_away_a_session_is_not_called_ended_and_it_works_again_afterwards(
        make_server: Make, make_postgres: Callable[..., PostgresServer], server_program: Path) -> None:
    postgres = make_postgres()
    made = Installation.make(server_program, postgres)
    server = make_server(database=made.database, token=made.token).start()
    with server.admin() as client:
        known, unknown = BrowserSession.sign_in(client), BrowserSession.sign_in(client)
        assert known.request("GET", "/whoami").status == 200
        postgres.kill9()
        for browser in (known, unknown):
            answer = browser.request("GET", "/whoami")
            assert answer.status == 503 and answer.header("retry-after"), answer
        postgres.start()
        for browser in (known, unknown):
            wait_until("the session works again", lambda asked=browser: asked.request("GET", "/whoami").status == 200, 30)
