"""The console as the server sends it: its page, the files of the page, and the headers that keep a browser safe."""

import gzip
import hashlib
import http.client
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional

import pytest

from support.server import Server

VIEWS = ("/", "/policies", "/policies/orders", "/policies/new", "/policies/a%2Fb", "/plans", "/plans/gold", "/explain", "/subject", "/keys",
         "/tenants", "/tokens", "/groups", "/bindings", "/fleet", "/audit", "/?tenant=acme")
NO_VIEWS = ("/nothing", "/policies/", "/policies/a/b", "/Policies", "/index.html", "/assets", "/assets/", "/assets/console.js",
            "/assets/console-0000000000000000.js", "/v1", "/v1/", "/v1/policies", "//", "/..", "/console")
TYPES = {"js": "text/javascript", "css": "text/css", "txt": "text/plain"}   # txt: the licences of what is bundled
KB = 1000   # bytes
OVER_THE_WIRE = 150 * KB

POLICY = {"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "connect-src": "'self'", "img-src": "'self' data:",
          "base-uri": "'none'", "form-action": "'self'", "frame-ancestors": "'none'"}


@dataclass
class Bytes:
    """An answer, not decoded."""

    status: int
    headers: dict[str, str]
    body: bytes


Ask = Callable[..., Bytes]


@pytest.fixture
def ask(server: Server) -> Ask:
    """Sends one request on a connection of its own, without a token."""
    def send(path: str, method: str = "GET", body: Optional[bytes] = None, **headers: str) -> Bytes:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        reply = connection.getresponse()
        answer = Bytes(reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read())
        connection.close()
        return answer
    return send


def files_of(ask: Ask) -> list[str]:
    """The paths of what the page loads."""
    return re.findall(r'(?:src|href)="(/assets/[^"]+)"', ask("/").body.decode())


def test_every_view_can_be_opened_by_its_address(ask: Ask) -> None:
    page = ask("/")
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert b'<div id="console">' in page.body
    for path in VIEWS:
        answer = ask(path)
        assert (answer.status, answer.body) == (200, page.body), path


def test_a_path_that_is_no_view_stays_a_problem(ask: Ask) -> None:
    for path in NO_VIEWS:
        answer = ask(path)
        assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json"), path
        assert answer.headers["cache-control"] == "no-store", path


def test_what_the_api_has_is_not_the_consoles(ask: Ask) -> None:
    assert ask("/v1/health").headers["content-type"] == "application/json"
    assert ask("/v1/admin/policies").status == 401
    assert ask("/openapi.json").headers["content-type"] == "application/json"
    assert b"console" not in ask("/docs").body


def test_the_page_may_load_only_its_own_files_and_be_in_no_frame(ask: Ask) -> None:
    for path in VIEWS:
        headers = ask(path).headers
        given = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert given == POLICY, path
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "camera=()" in headers["permissions-policy"]


def test_the_page_is_asked_for_again_and_is_304_while_it_is_the_same(ask: Ask) -> None:
    page = ask("/")
    assert page.headers["cache-control"] == "no-cache"
    tag = page.headers["etag"]
    for listed in (tag, f'"other", {tag}', f"W/{tag}"):
        again = ask("/policies", if_none_match=listed)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag), listed
        assert again.headers["content-security-policy"] == page.headers["content-security-policy"]
    for listed in ('"other"', tag.strip('"'), tag[:-2] + '"'):
        assert ask("/", if_none_match=listed).status == 200, listed


def test_a_file_is_kept_forever_because_its_name_is_of_its_content(ask: Ask) -> None:
    files = files_of(ask)
    assert sorted(path.rsplit(".", 1)[1] for path in files) == sorted(TYPES)
    for path in files:
        answer = ask(path)
        assert answer.status == 200
        assert answer.headers["content-type"] == TYPES[path.rsplit(".", 1)[1]] + "; charset=utf-8"
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert hashlib.sha256(answer.body).hexdigest()[:16] == path.rsplit("-", 1)[1].split(".")[0]


def test_a_file_comes_in_the_coding_that_the_caller_takes(ask: Ask) -> None:
    for path in files_of(ask):
        plain = ask(path)
        assert "content-encoding" not in plain.headers and plain.headers["vary"] == "Accept-Encoding"
        zipped = ask(path, accept_encoding="gzip, deflate")
        assert (zipped.headers["content-encoding"], zipped.headers["vary"]) == ("gzip", "Accept-Encoding")
        assert gzip.decompress(zipped.body) == plain.body
        brotli = ask(path, accept_encoding="gzip, deflate, br")
        assert brotli.headers["content-encoding"] == "br" and 0 < len(brotli.body) < len(zipped.body)
        for refused in ("gzip;q=0", "identity", "zstd"):
            assert ask(path, accept_encoding=refused).body == plain.body, refused


def test_the_console_takes_at_most_150_kb_over_the_wire(ask: Ask) -> None:
    sizes = {path: len(ask(path, accept_encoding="gzip").body) for path in ["/", *files_of(ask)]}
    assert sum(sizes.values()) <= OVER_THE_WIRE, sizes


def test_head_is_get_without_the_body(ask: Ask) -> None:
    for path in ["/", "/policies/orders", *files_of(ask)]:
        got, head = ask(path, accept_encoding="gzip"), ask(path, "HEAD", accept_encoding="gzip")
        assert (head.status, head.body) == (200, b"")
        for name in ("content-type", "content-length", "cache-control", "etag", "content-encoding", "content-security-policy"):
            assert head.headers.get(name) == got.headers.get(name), (path, name)


def test_nothing_else_can_be_done_with_a_view_or_a_file(ask: Ask) -> None:
    for path in ["/", "/policies/orders", *files_of(ask)]:
        for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"):
            answer = ask(path, method, b"{}" if method in ("POST", "PUT", "PATCH") else None)
            assert (answer.status, answer.headers.get("allow")) == (405, "GET, HEAD"), (method, path)
            assert answer.headers["content-type"] == "application/problem+json"


def test_an_answer_has_the_id_of_its_request(ask: Ask) -> None:
    for path in ["/", *files_of(ask)]:
        assert ask(path, x_request_id="r-1").headers["x-request-id"] == "r-1"
        assert len(ask(path).headers["x-request-id"]) >= 16


def test_the_page_has_no_script_or_style_of_its_own_and_nothing_is_asked_of_others(ask: Ask) -> None:
    page = ask("/").body.decode()
    assert not re.search(r"<style|<script(?![^>]*\ssrc=)|\sstyle=|\son\w+=", page)
    for path in ["/", *files_of(ask)]:
        text = ask(path).body.decode()
        # Names of XML namespaces are no addresses, and the loopback is in the commands that views show to be copied.
        hosts = set(re.findall(r"https?://([\w.-]+)", text))
        assert hosts <= {"www.w3.org", "127.0.0.1"}, path
        assert not re.search(r"\b(eval|importScripts)\(|new Function\(|WebSocket\(|sendBeacon\(|sourceMappingURL", text), path


def test_the_licences_of_what_is_bundled_are_served_with_it(ask: Ask) -> None:
    path, = [path for path in files_of(ask) if path.endswith(".txt")]
    text = ask(path).body.decode()
    for package in ("preact", "@preact/signals", "openapi-fetch", "uplot"):
        assert re.search(rf"^{re.escape(package)} [0-9.]+$", text, re.M), package
    assert text.count("Permission is hereby granted") >= 4
