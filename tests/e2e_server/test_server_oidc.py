"""Signing in by a real OpenID provider, over HTTP: who gets in with what, when that ends, and what never gets in."""

import http.client
import socket
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from support.admin import AdminClient, bucket, fresh_id
from support.browser_session import BrowserSession
from support.client import Client
from support.oidc_provider import OidcProvider, Visitor
from support.postgres import APP
from support.process import free_port, wait_until
from support.server import Server, run_command

SIGN_INS = "sluice_oidc_sign_ins_total"


@dataclass
class Place:
    """A server, its provider, and a tenant that groups are mapped to."""

    server: Server
    provider: OidcProvider
    organization: str
    tenant: str

    def visitor(self, *, html: bool = False) -> Visitor:
        """A browser that is not signed in."""
        return Visitor(self.provider, self.server, html=html)


@pytest.fixture(scope="module")
def place(module_server: Callable[..., Server], module_folder: Path) -> Iterator[Place]:
    """ada: platform_admin; olga: operator of one tenant; vera: operator too, and auditor; nora and gus: nothing."""
    provider = OidcProvider(module_folder / "provider")
    server = module_server()
    provider.attach(server).start()
    server.start()
    with server.admin() as admin:
        organization = admin.organization()
        tenant = admin.tenant(organization)
        scope = {"organization_id": organization, "tenant_ids": [tenant]}
        admin.create("/group-mappings", {"group": "sluice-admins", "role": "platform_admin"})
        admin.create("/group-mappings", {"id": "operators", "group": "operators", "role": "operator", **scope})
        admin.create("/group-mappings", {"group": "viewers", "role": "auditor"})
    yield Place(server, provider, organization, tenant)
    provider.stop()


@pytest.fixture
def admin_of_place(place: Place) -> Iterator[AdminClient]:
    """A platform_admin with a token."""
    with place.server.admin() as admin:
        yield admin


def logged(server: Server, event: str) -> dict[str, Any]:
    """The first line of this event since the server's start. Lines come a moment after the answer."""
    return wait_until(event, lambda: next((line for line in server.lines(since_start=True) if line["event"] == event), None))


def trail(admin: AdminClient, session_id: str) -> list[dict[str, Any]]:
    """What the audit trail has of a session, the oldest first."""
    return list(admin.items("/audit", query={"kind": "session", "object_id": session_id}))[::-1]


def test_the_console_is_told_which_ways_there_are(place: Place, server: Server) -> None:
    visitor = place.visitor()
    ways = visitor.get(f"{visitor.origin}/v1/console/sign-in")
    assert (ways.status, ways.body) == (200, {"token": True, "oidc": {"name": "Example Login", "start": "/v1/console/oidc/start"}})
    with Client(server.port) as without:   # started without a provider
        assert without.get("/v1/console/sign-in").body == {"token": True, "oidc": None}
        for path in ("start", "callback"):
            assert without.get(f"/v1/console/oidc/{path}").status == 404


def test_a_person_gets_the_role_and_the_scope_of_their_group(place: Place) -> None:
    visitor = place.visitor()
    done = visitor.sign_in("olga", "/policies?tenant=x")
    assert (done.status, done.location) == (303, f"{visitor.origin}/policies?tenant=x")
    cookie, = [line for line in done.set_cookies if line.startswith("sluice_session=")]
    assert set(cookie.split("; ")[1:]) == {"HttpOnly", "SameSite=Strict", "Path=/"}
    assert any(line.startswith("sluice_sign_in=;") for line in done.set_cookies)
    shown = visitor.session().body
    assert {name: shown[name] for name in ("subject", "name", "email", "role", "organization_id", "tenant_ids", "group_mapping_id")} == {
        "subject": "olga", "name": "Olga", "email": "olga@example.com", "role": "operator", "organization_id": place.organization,
        "tenant_ids": [place.tenant], "group_mapping_id": "operators"}
    assert "token_id" not in shown and "operate" in shown["permissions"] and "configure" not in shown["permissions"]
    assert [tenant["id"] for tenant in visitor.call("/tenants").body["items"]] == [place.tenant]
    assert visitor.call(f"/modes/tenants/{place.tenant}", "PUT", {"mode": "shadow"}).status == 200
    assert visitor.call(f"/plans/pro?tenant_id={place.tenant}", "PUT", bucket()).status == 403
    assert visitor.call("/whoami").status == 404


def test_a_session_of_a_person_changes_nothing_without_its_csrf_token(place: Place) -> None:
    visitor = place.visitor()
    visitor.sign_in("ada")
    cookie = "; ".join(f"{each.name}={each.value}" for each in visitor.jar)
    with place.server.admin("") as client:
        for headers in ({}, {"x-csrf-token": "x"}, {"sec-fetch-site": "cross-site"}):
            answer = client.request("POST", "/organizations", {"id": fresh_id("o")},
                                    headers={"authorization": None, "cookie": cookie, **headers})
            assert answer.status == 403, answer


def test_the_audit_trail_names_the_person_who_signed_in_did_something_and_signed_out(place: Place, admin_of_place: AdminClient) -> None:
    visitor = place.visitor()
    visitor.sign_in("ada")
    session = visitor.session().body
    name = fresh_id("org")
    assert visitor.call("/organizations", "POST", {"id": name}).status == 201
    assert visitor.call("/session", "DELETE").status == 204
    assert visitor.session().status == 401
    began, ended = trail(admin_of_place, session["id"])
    assert (began["action"], began["actor_id"], began["session_id"]) == ("sign-in", "oidc:ada", session["id"])
    assert began["after"] == {"id": session["id"], "subject": "ada", "name": "Ada Lovelace", "email": "ada@example.com",
                              "group_mapping_id": "sluice-admins", "role": "platform_admin", "tenant_ids": [],
                              "expires_at": session["expires_at"]}
    assert (ended["action"], ended["actor_id"], ended["before"], ended["after"]) == ("sign-out", "oidc:ada", began["after"], None)
    made, = admin_of_place.items("/audit", query={"kind": "organization", "object_id": name})
    assert (made["actor_id"], made["actor_role"], made["session_id"]) == ("oidc:ada", "platform_admin", session["id"])
    assert list(admin_of_place.items("/audit", query={"actor_id": "oidc:ada"}))


def test_the_trail_of_sign_ins_is_a_whole_chain(place: Place) -> None:
    visitor = place.visitor()
    visitor.sign_in("olga")
    assert visitor.call("/session", "DELETE").status == 204
    place.visitor().sign_in("nora")
    done = run_command(place.server.program, "audit", "verify", "--database-url", place.server.database.url(APP))
    assert done.returncode == 0, done.stdout + done.stderr


def test_of_several_mappings_the_strongest_counts_alone(place: Place) -> None:
    visitor = place.visitor()
    visitor.sign_in("vera")   # operators and viewers
    shown = visitor.session().body
    assert (shown["role"], shown["tenant_ids"]) == ("operator", [place.tenant])


@pytest.mark.parametrize(("login", "words"), [("nora", "none of your groups"), ("gus", "names no groups")])
def test_who_has_no_mapping_is_told_so_and_recorded(place: Place, admin_of_place: AdminClient, login: str, words: str) -> None:
    before = place.server.metric(SIGN_INS, result="refused")
    visitor = place.visitor()
    refused = visitor.sign_in(login)
    assert (refused.status, refused.body["type"]) == (403, "/problems/sign-in-refused") and words in refused.body["detail"]
    assert not any(line.startswith("sluice_session=") for line in refused.set_cookies)
    assert visitor.session().status == 401
    assert place.server.metric(SIGN_INS, result="refused") == before + 1
    entry = next(admin_of_place.items("/audit", query={"actor_id": f"oidc:{login}"}))
    assert entry["action"] == "refuse" and entry["after"]["subject"] == login
    assert entry["after"]["groups"] == (["staff"] if login == "nora" else [])
    page = place.visitor(html=True).sign_in(login)
    assert page.status == 303 and f"/?sign_in={'unmapped' if login == 'nora' else 'no-groups'}&request_id=" in page.location


def test_a_session_follows_its_mapping_and_ends_with_it(place: Place, admin_of_place: AdminClient) -> None:
    scope = {"organization_id": place.organization}
    made = admin_of_place.create("/group-mappings", {"group": "staff", "role": "auditor", **scope})
    path = f"/group-mappings/{made['id']}"
    visitor = place.visitor()
    assert visitor.sign_in("nora").status == 303
    assert "operate" not in visitor.session().body["permissions"]
    assert admin_of_place.patch(path, {"role": "operator"}).status == 200
    assert "operate" in visitor.session().body["permissions"]
    assert visitor.call(f"/modes/tenants/{place.tenant}", "PUT", {"mode": "enforce"}).status == 200
    assert admin_of_place.patch(path, {"group": "others"}).status == 200
    assert visitor.session().status == 401, "the mapping is for another group"
    assert admin_of_place.patch(path, {"group": "staff"}).status == 200
    assert visitor.sign_in("nora").status == 303
    assert admin_of_place.delete(path).status == 204
    assert visitor.session().status == 401


def test_a_session_of_a_person_ends_after_eight_hours(place: Place) -> None:
    visitor = place.visitor()
    visitor.sign_in("olga")
    session = visitor.session().body
    assert 8 * 3600 - 60 < time_until(session["expires_at"]) <= 8 * 3600
    place.server.database.execute("UPDATE console_sessions SET expires_at = now() - interval '1 second' WHERE subject = 'olga'")
    assert visitor.session().status == 401


def time_until(text: str) -> float:
    """Seconds."""
    return (datetime.fromisoformat(text.replace("Z", "+00:00")) - datetime.now(timezone.utc)).total_seconds()


def test_a_person_has_at_most_twenty_sessions(place: Place) -> None:
    visitors = [place.visitor() for _ in range(21)]
    for visitor in visitors:
        assert visitor.sign_in("ada").status == 303
    assert [visitor.session().status for visitor in (visitors[0], visitors[1], visitors[-1])] == [401, 200, 200]


def test_a_callback_ends_no_other_browsers_sign_in_and_none_twice(place: Place) -> None:
    visitor, other = place.visitor(), place.visitor()
    callback = visitor.log_in(visitor.begin().location, "ada")
    other.begin()
    for url in (callback, callback.split("?")[0], callback.split("?")[0] + "?state=&code=x"):
        stolen = other.get(url)
        assert (stolen.status, stolen.body["type"]) == (400, "/problems/sign-in"), stolen
    forged = urllib.parse.urlsplit(callback)
    query = dict(urllib.parse.parse_qsl(forged.query))
    changed = visitor.get(callback.split("?")[0] + "?" + urllib.parse.urlencode({**query, "state": query["state"][:-1] + "x"}))
    assert (changed.status, changed.body["type"]) == (400, "/problems/sign-in")
    cookies = "; ".join(f"{each.name}={each.value}" for each in visitor.jar if each.name == "sluice_sign_in")
    assert visitor.get(callback).status == 303
    assert visitor.get(callback).body["type"] == "/problems/sign-in", "its cookie is gone"
    again = other.get(callback, headers={"cookie": cookies})   # a thief of the cookie: the code is used
    assert again.status in (400, 403) and not any(line.startswith("sluice_session=") for line in again.set_cookies)


def test_an_answer_of_another_provider_or_of_nobody_signs_nobody_in(place: Place) -> None:
    for change, status in (({"iss": "https://evil.example.com"}, 403), ({"iss": ""}, 403), ({"code": "invented"}, 403),
                           ({"error": "access_denied"}, 403), ({"code": ""}, 400)):
        visitor = place.visitor()
        callback = visitor.log_in(visitor.begin().location, "ada")
        query = {**dict(urllib.parse.parse_qsl(callback.split("?")[1])), **change}
        answer = visitor.get(callback.split("?")[0] + "?" + urllib.parse.urlencode(query))
        assert answer.status == status and visitor.session().status == 401, (change, answer)


@pytest.mark.parametrize("target", ["https://evil.example.com/", "//evil.example.com/", "/\\evil.example.com", "/v1/admin/session",
                                    "/policies\r\nset-cookie: a=b", "/nowhere", ""])
def test_a_browser_is_sent_to_the_consoles_own_views_only(place: Place, target: str) -> None:
    answer = place.visitor().begin(target)
    assert (answer.status, answer.body["type"]) == (400, "/problems/invalid") and not answer.location


def test_the_routes_take_no_other_method_and_no_other_path(place: Place) -> None:
    with Client(place.server.port) as client:
        for path in ("sign-in", "oidc/start", "oidc/callback"):
            for method in ("POST", "PUT", "DELETE", "OPTIONS"):
                answer = client.request(method, f"/v1/console/{path}", b"" if method in ("POST", "PUT") else None)
                assert answer.status == 405 and str(answer.header("allow")).startswith("GET"), answer
    visitor = place.visitor()
    assert visitor.get(f"{visitor.origin}/v1/console/nothing").status == 404
    assert visitor.get(f"{visitor.origin}/v1/console/oidc/start?x=y").status == 400
    assert visitor.get(f"{visitor.origin}/v1/console/oidc/callback?%zz").status == 400


def test_keys_that_the_provider_has_rotated_are_read_anew(place: Place) -> None:
    assert place.visitor().sign_in("ada").status == 303
    place.provider.restart()
    assert place.visitor().sign_in("ada").status == 303


def test_a_provider_that_is_away_stops_sign_ins_only(place: Place, admin_of_place: AdminClient) -> None:
    signed_in = place.visitor()
    assert signed_in.sign_in("ada").status == 303
    waiting = place.visitor()
    callback = waiting.log_in(waiting.begin().location, "ada")
    place.provider.stop()
    try:
        refused = waiting.get(callback)
        assert (refused.status, refused.body["type"]) == (503, "/problems/provider-unavailable")
        page = place.visitor(html=True)
        assert signed_in.session().status == 200 and admin_of_place.get("/whoami").status == 200
        assert page.begin().status == 303   # the discovery document is known for ten minutes
        assert place.server.restart()
        fresh = place.visitor().begin()
        assert (fresh.status, fresh.body["type"]) == (503, "/problems/provider-unavailable"), "the server started without its provider"
        assert "/?sign_in=provider&" in place.visitor(html=True).begin().location
        with place.server.admin() as admin:
            assert admin.get("/whoami").status == 200
            BrowserSession.sign_in(admin)
        assert logged(place.server, "oidc_provider_away")["code"] == "refused"
    finally:
        place.provider.start()
    wait_until("sign-ins again", lambda: place.visitor().begin().status == 303)
    assert place.visitor().sign_in("ada").status == 303
    logged(place.server, "oidc_provider_back")


@pytest.mark.parametrize("settings", [{"algorithm": "ES256"}, {"secret_in_body": True}, {"secret": ""}],
                         ids=["elliptic curve", "secret in the body", "public client"])
def test_other_algorithms_and_clients_work_too(make_server: Callable[..., Server], tmp_path: Path, settings: dict[str, object]) -> None:
    provider = OidcProvider(tmp_path / "provider")
    provider.settings.update(settings)
    server = make_server()
    provider.attach(server).start()
    server.start()
    try:
        with server.admin() as admin:
            admin.create("/group-mappings", {"group": "sluice-admins", "role": "platform_admin"})
        visitor = Visitor(provider, server)
        assert visitor.sign_in("ada").status == 303
        assert visitor.session().body["role"] == "platform_admin"
    finally:
        provider.stop()


def test_another_server_finishes_what_one_began_and_knows_the_session(place: Place, make_server: Callable[..., Server]) -> None:
    """The same address, as behind a load balancer."""
    visitor = place.visitor()
    callback = visitor.log_in(visitor.begin().location, "ada")
    with place.server.admin() as admin:
        before = admin.get("/revision").body["revision"]
    assert place.server.restart()   # nothing of the sign-in was in its memory that the other would lack
    assert visitor.get(callback).status == 303
    assert visitor.session().status == 200
    with place.server.admin() as admin:
        assert admin.get("/revision").body["revision"] == before + 1


def test_a_wrong_secret_or_an_authority_that_is_not_trusted_is_said_in_the_log_only(make_server: Callable[..., Server], tmp_path: Path) -> None:
    provider = OidcProvider(tmp_path / "provider")
    server = make_server()
    provider.attach(server).start()
    provider.secret_file.write_text("another one\n")
    server.start()
    try:
        refused = Visitor(provider, server).sign_in("ada")
        assert refused.status == 403 and "invalid_client" not in refused.text, refused
        line = logged(server, "oidc_sign_in_refused")
        assert "invalid_client" in line["reason"]
        text = server.log.read_text()
        assert "another one" not in text and provider.settings["secret"] not in text
        server.flags[server.flags.index("--oidc-ca") + 1] = "/etc/ssl/certs/ca-certificates.crt"
        server.restart()
        assert Visitor(provider, server).begin().status == 503
        away = logged(server, "oidc_provider_away")
        assert away["code"] == "tls"
    finally:
        provider.stop()


def test_no_code_token_or_cookie_is_in_the_log(place: Place) -> None:
    visitor = place.visitor()
    callback = visitor.log_in(visitor.begin().location, "ada")
    done = visitor.get(callback)
    query = dict(urllib.parse.parse_qsl(callback.split("?")[1]))
    text = place.server.log.read_text()
    for secret in (query["code"], query["state"], done.set_cookies[0].split("=")[1].split(";")[0], str(place.provider.settings["secret"])):
        assert secret not in text


def test_a_provider_that_never_answers_delays_nobody_else(make_server: Callable[..., Server], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", free_port())) as silent:
        port = free_port()
        server = make_server("--listen", f"127.0.0.1:{port}", "--console-url", f"http://127.0.0.1:{port}", "--oidc-client-id", "sluice",
                             "--oidc-issuer", f"http://127.0.0.1:{silent.getsockname()[1]}").start()
        answers: list[int] = []

        def ask() -> None:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("GET", "/v1/console/oidc/start")
            answers.append(connection.getresponse().status)
            connection.close()

        threads = [threading.Thread(target=ask) for _ in range(20)]
        for thread in threads:
            thread.start()
        with server.admin() as admin:
            begin = time.monotonic()
            for _ in range(20):
                assert admin.get("/whoami").status == 200
            assert time.monotonic() - begin < 5 and not answers, "other calls are answered meanwhile"
        for thread in threads:
            thread.join()
        assert answers == [503] * 20
