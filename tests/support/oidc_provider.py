"""A real OpenID provider (tests/oidc_provider), and a browser that signs in by it over HTTP."""

import http.cookiejar
import json
import re
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from support.certificate import certificate
from support.process import Process, free_port, wait_until
from support.server import Server

ROOT = Path(__file__).resolve().parents[2]
NODE, PACKAGES = ROOT / ".run/node/bin/node", ROOT / ".run/oidc-provider"
SECONDS = 60.0

# Who can sign in: by login, the claims.
PEOPLE: dict[str, dict[str, Any]] = {
    "ada": {"name": "Ada Lovelace", "email": "ada@example.com", "groups": ["sluice-admins"]},
    "olga": {"name": "Olga", "email": "olga@example.com", "groups": ["staff", "operators"]},
    "vera": {"name": "Vera", "email": "vera@example.com", "groups": ["operators", "viewers"]},
    "nora": {"name": "Nora", "email": "nora@example.com", "groups": ["staff"]},
    "gus": {"name": "Gus", "email": "gus@example.com"},
}


class OidcProvider:
    """A provider over TLS, with a certificate that signs itself. Its address stays over restarts; its keys do not."""

    def __init__(self, folder: Path) -> None:
        assert NODE.exists() and PACKAGES.exists(), "there is no provider: run scripts/setup test"
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.port = free_port()
        self.issuer = f"https://localhost:{self.port}"
        self.certificate, self._key = certificate(folder, "provider")
        self.secret_file = folder / "client.secret"
        self.settings: dict[str, Any] = {
            "issuer": self.issuer, "port": self.port, "key": str(self._key), "certificate": str(self.certificate),
            "packages": str(PACKAGES), "accounts": PEOPLE, "redirect_uris": [], "algorithm": "RS256",
            "secret": "it-is-a-long-client-secret/+ %", "secret_in_body": False}
        self._process: Optional[Process] = None

    def attach(self, server: Server, *more: str) -> "OidcProvider":
        """Gives the server, which is not running, a port of its own and the flags for this provider."""
        port = free_port()
        origin = f"http://127.0.0.1:{port}"
        self.settings["redirect_uris"].append(f"{origin}/v1/console/oidc/callback")
        server.flags += ["--listen", f"127.0.0.1:{port}", "--console-url", origin, "--oidc-issuer", self.issuer,
                         "--oidc-client-id", "sluice", "--oidc-ca", str(self.certificate), "--oidc-name", "Example Login", *more]
        if self.settings["secret"]:
            self.secret_file.write_text(self.settings["secret"] + "\n")
            self.secret_file.chmod(0o600)
            server.flags += ["--oidc-client-secret-file", str(self.secret_file)]
        return self

    def start(self) -> "OidcProvider":
        """Starts it, with new keys."""
        path = self._folder / "settings.json"
        path.write_text(json.dumps(self.settings))
        self._process = Process([str(NODE), str(ROOT / "tests/oidc_provider/provider.mjs"), str(path)], self._folder / "provider.log")
        wait_until("the provider", self._ready, SECONDS)
        return self

    def _ready(self) -> bool:
        assert self._process is not None and self._process.alive(), self._process and self._process.output()[-3000:]
        try:
            with urllib.request.urlopen(f"{self.issuer}/.well-known/openid-configuration", context=self.trust()) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def trust(self) -> ssl.SSLContext:
        """Of a client that trusts the provider."""
        return ssl.create_default_context(cafile=str(self.certificate))

    def stop(self) -> None:
        """Ends it; start() brings it back."""
        if self._process is not None:
            self._process.end()
        self._process = None

    def restart(self) -> "OidcProvider":
        """As a provider that rotates its keys."""
        self.stop()
        return self.start()


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


@dataclass
class Page:
    """What a browser got."""

    status: int
    url: str
    headers: Mapping[str, str]
    text: str
    set_cookies: list[str]

    @property
    def location(self) -> str:
        """Where it is sent, as a whole URL; "" if it is not."""
        target = self.headers.get("location", "")
        return urllib.parse.urljoin(self.url, target) if target else ""

    @property
    def body(self) -> dict[str, Any]:
        """JSON."""
        body: dict[str, Any] = json.loads(self.text)
        return body


class Visitor:
    """A browser that keeps cookies and follows no redirect by itself. `html`: whether it asks for pages, as a person's does."""

    def __init__(self, provider: OidcProvider, server: Server, *, html: bool = False) -> None:
        self.provider, self.server, self.html = provider, server, html
        self.jar = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar), _Stay(),
                                                   urllib.request.HTTPSHandler(context=provider.trust()))

    @property
    def origin(self) -> str:
        """Of the server."""
        return f"http://127.0.0.1:{self.server.port}"

    def get(self, url: str, form: Optional[Mapping[str, str]] = None, headers: Optional[Mapping[str, str]] = None) -> Page:
        """GET, or POST of a form."""
        data = urllib.parse.urlencode(form).encode() if form is not None else None
        request = urllib.request.Request(url, data, {"accept": "text/html" if self.html else "application/json", **(headers or {})})
        try:
            answer: Any = self._opener.open(request, timeout=SECONDS)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            return Page(answer.status, url, {name.lower(): value for name, value in answer.headers.items()}, answer.read().decode(),
                        answer.headers.get_all("set-cookie") or [])

    def begin(self, return_to: str = "/") -> Page:
        """To the provider."""
        return self.get(f"{self.origin}/v1/console/oidc/start?{urllib.parse.urlencode({'return_to': return_to})}")

    def log_in(self, url: str, login: str) -> str:
        """At the provider, from the address that start gave; the address of the callback."""
        page = self.get(url)
        for _ in range(10):
            if page.location.startswith(self.origin):
                return page.location
            if page.location:
                page = self.get(page.location)
                continue
            action = re.search(r'action="([^"]+)"', page.text)
            assert page.status == 200 and action, f"{page.status} {page.url}: {page.text[:1000]}"
            page = self.get(action[1], {"prompt": "login", "login": login, "password": "any"})
        raise AssertionError(f"the provider does not send the browser back: {page}")

    def sign_in(self, login: str, return_to: str = "/") -> Page:
        """The whole way; the answer of the callback."""
        started = self.begin(return_to)
        assert started.status == 303, started
        return self.get(self.log_in(started.location, login))

    def session(self) -> Page:
        """Who the server says this browser is."""
        return self.get(f"{self.origin}/v1/admin/session")

    def call(self, path: str, method: str = "GET", body: Any = None) -> Page:
        """A call of a page of the console."""
        headers = {"accept": "application/json", "sec-fetch-site": "same-origin", "content-type": "application/json"}
        if method != "GET":
            headers["x-csrf-token"] = str(self.session().body["csrf_token"])
        data = None if body is None and method == "GET" else json.dumps(body if body is not None else {}).encode()
        request = urllib.request.Request(f"{self.origin}/v1/admin{path}", None if method == "DELETE" else data, headers, method=method)
        try:
            answer: Any = self._opener.open(request, timeout=SECONDS)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            return Page(answer.status, request.full_url, {name.lower(): value for name, value in answer.headers.items()},
                        answer.read().decode(), answer.headers.get_all("set-cookie") or [])
