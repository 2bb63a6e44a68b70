"""The part of a Kubernetes API that reviews tokens, played by the test: what it says of each, how often it was asked, and
how it fails. The real one is in tests/e2e_cluster."""

import base64
import json
import ssl
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Optional

from support.certificate import certificate

PATH = "/apis/authentication.k8s.io/v1/tokenreviews"


def _part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def token_of(name: str, audience: str = "sluice", seconds: float = 3600) -> str:
    """A token of the form of a signed one, which ends in so many seconds. `name` makes it another."""
    claims = {"aud": [audience], "exp": int(time.time() + seconds), "sub": name}
    return f"{_part({'alg': 'RS256'})}.{_part(claims)}.{base64.urlsafe_b64encode(name.encode()).rstrip(b'=').decode()}"


@dataclass
class Pod:
    """Whose a token is."""

    namespace: str
    account: str = "default"
    name: str = "pod-1"


@dataclass
class FakeKubernetes:
    """On a port of its own, with TLS. `pods`: by token; any other token is refused."""

    folder: Path
    pods: dict[str, Pod] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)   # the tokens, in order
    delay: float = 0                                 # before each answer
    status: int = 201                                # of each answer

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.ca, key = certificate(self.folder, "kubernetes")
        self.token_file = self.folder / "server-token"
        self.token_file.write_text("the-servers-own")
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(self.ca, key)
        self._server: Optional[ThreadingHTTPServer] = None
        self.port = 0
        self.start()

    def start(self) -> None:
        """Listens; on the same port as before."""
        fake = self

        class Handler(BaseHTTPRequestHandler):
            """Answers with what the fake says."""

            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                """A review."""
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                assert self.path == PATH and self.headers["authorization"] == "Bearer the-servers-own"
                answer = json.dumps(fake.review(body)).encode()
                self.send_response(fake.status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.send_header("connection", "close")   # one that stayed would be answered after stop()
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: Any) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler, bind_and_activate=False)
        self._server.allow_reuse_address = True
        self._server.daemon_threads = True
        self._server.server_bind()
        self._server.server_activate()
        self.port = self._server.server_port
        self._server.socket = self._tls.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def review(self, body: dict[str, Any]) -> dict[str, Any]:
        """What is said of the token that is asked about."""
        spec = body["spec"]
        self.asked.append(spec["token"])
        time.sleep(self.delay)
        if self.status >= 400:
            return {"kind": "Status", "status": "Failure", "message": "the test says so", "code": self.status}
        pod = self.pods.get(spec["token"])
        if pod is None:
            return {**body, "status": {"user": {}, "error": "[invalid bearer token, the test does not know it]"}}
        extra = {"authentication.kubernetes.io/pod-name": [pod.name], "authentication.kubernetes.io/pod-uid": ["uid"]}
        return {**body, "status": {"authenticated": True, "audiences": spec["audiences"], "user": {
            "username": f"system:serviceaccount:{pod.namespace}:{pod.account}", "extra": extra}}}

    def add(self, namespace: str, account: str = "default", name: str = "pod-1", seconds: float = 3600) -> str:
        """A token that is accepted."""
        token = token_of(f"{namespace}/{account}/{name}/{len(self.pods)}", seconds=seconds)
        self.pods[token] = Pod(namespace, account, name)
        return token

    def flags(self) -> list[str]:
        """What a server is told of it."""
        return ["--kubernetes", f"https://127.0.0.1:{self.port}", "--kubernetes-ca", str(self.ca), "--kubernetes-token-file",
                str(self.token_file), "--kubernetes-namespace", "sluice-system"]

    def stop(self) -> None:
        """Refuses connections."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
