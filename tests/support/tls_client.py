"""HTTPS requests of a client that has a certificate, or has none."""

import http.client
import ssl
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Optional

Identity = Optional[tuple[Path, Path]]   # certificate and key


def context(trusted: Path, identity: Identity = None) -> ssl.SSLContext:
    """Trusts that certificate, and presents that identity."""
    made = ssl.create_default_context(cafile=str(trusted))
    if identity is not None:
        made.load_cert_chain(*identity)
    return made


class TlsClient:
    """Connections to one listener."""

    def __init__(self, port: int, trusted: Path, path: str, headers: "Mapping[str, str] | None" = None,
                 body: "str | None" = None) -> None:
        self._port, self._trusted = port, trusted
        self._request = ("GET" if body is None else "POST", path, body, dict(headers or {}))

    def open(self, identity: Identity = None) -> http.client.HTTPSConnection:
        """A connection that is kept. With TLS 1.3 a client does not know yet whether it is admitted."""
        made = http.client.HTTPSConnection("127.0.0.1", self._port, timeout=30, context=context(self._trusted, identity))
        made.connect()
        return made

    def ask(self, over: http.client.HTTPSConnection) -> int:
        """The status of one request."""
        over.request(*self._request)
        answer = over.getresponse()
        answer.read()
        return answer.status

    def status(self, identity: Identity = None) -> int:
        """Of a request on a new connection; 0 where the listener refused the client."""
        try:
            over = self.open(identity)
        except ssl.SSLCertVerificationError:
            raise   # the listener's own certificate
        except OSError:
            return 0
        try:
            return self.ask(over)
        except OSError:   # also http.client.RemoteDisconnected
            return 0
        finally:
            over.close()


class Callers:
    """Threads that open one connection after the other with an identity, and note every status."""

    def __init__(self, client: TlsClient, identity: Identity, threads: int = 2) -> None:
        self.statuses: list[int] = []
        self._status: Callable[[], int] = lambda: client.status(identity)
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(threads)]

    def __enter__(self) -> "Callers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self.statuses.append(self._status())
