"""A receiver of webhooks, as a customer would write one, and the passing of time in the outbox."""

import base64
import hashlib
import hmac
import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Optional

from support.postgres import Database


def signature_of(secret: str, event_id: str, timestamp: str, body: bytes) -> str:
    """One signature of a delivery."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return "v1," + base64.b64encode(hmac.new(key, f"{event_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()).decode()


class Delivery:
    """What the receiver got."""

    def __init__(self, path: str, headers: dict[str, str], body: bytes) -> None:
        self.path, self.headers, self.body = path, headers, body

    @property
    def id(self) -> str:
        """The event's."""
        return self.headers["webhook-id"]

    @property
    def event(self) -> dict[str, Any]:
        """The body."""
        event: dict[str, Any] = json.loads(self.body)
        return event

    def signed_by(self, secret: str) -> bool:
        """Whether one of its signatures is of this secret."""
        expected = signature_of(secret, self.id, self.headers["webhook-timestamp"], self.body)
        return expected in self.headers["webhook-signature"].split(" ")


class Receiver:
    """Answers every POST with `status`, after `gate` is open. `identity`: certificate and key; with them it speaks TLS, and `asked_for`
    has the server names of handshakes."""

    def __init__(self, port: int = 0, identity: Optional[tuple[Path, Path]] = None) -> None:
        self.asked_for: list[Optional[str]] = []
        self.deliveries: list[Delivery] = []
        self.status, self.answer, self.location = 200, b"thanks", ""
        self.gate = threading.Event()
        self.gate.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            """One connection."""

            def do_POST(self) -> None:
                """Keeps the delivery."""
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.deliveries.append(Delivery(self.path, {name.lower(): value for name, value in self.headers.items()}, body))
                receiver.gate.wait(60)
                try:
                    self.send_response(receiver.status)
                    if receiver.location:
                        self.send_header("location", receiver.location)
                    self.send_header("content-length", str(len(receiver.answer)))
                    self.end_headers()
                    self.wfile.write(receiver.answer)
                except OSError:
                    pass   # the server was killed meanwhile

            def handle(self) -> None:
                """A client that does not like the certificate goes away in the handshake."""
                try:
                    super().handle()
                except (ssl.SSLError, ConnectionError):
                    pass

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        if identity is not None:
            self._server.socket = self._encrypted(identity)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def _encrypted(self, identity: tuple[Path, Path]) -> ssl.SSLSocket:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*identity)
        context.sni_callback = lambda _socket, name, _context: self.asked_for.append(name)
        # The thread of a connection does the handshake, so that one that fails does not end the receiver.
        return context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}/in?team=7"

    def close(self) -> None:
        """Stops listening."""
        self.gate.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def ids(self) -> list[str]:
        """Of all deliveries."""
        return [delivery.id for delivery in self.deliveries]


def pass_time(database: Database, seconds: float) -> None:
    """Lets time pass for the outbox: its times are PostgreSQL's, and all of them move into the past."""
    past = ", ".join(f"{column} = {column} - %(seconds)s * interval '1 s'" for column in
                     ("created_at", "tried_since", "next_at", "leased_until", "last_at"))
    database.execute(f"UPDATE webhook_deliveries SET {past}", {"seconds": seconds})


def row_of(database: Database, event_id: str) -> Optional[tuple[Any, ...]]:
    """(status, attempts, whether it is being sent) of an event in the outbox."""
    rows = database.execute("SELECT status, attempts - attempts_before, leased_until IS NOT NULL FROM webhook_deliveries WHERE id = %s", (event_id,))
    return rows[0] if rows else None
