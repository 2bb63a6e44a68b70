"""A keep-alive HTTP client for the agent, over TCP or a Unix socket."""

import http.client
import itertools
import json
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

Address = Union[int, Path]   # a port of the loopback, or a Unix socket
_subjects = itertools.count(1)


def fresh_subject(prefix: str = "user") -> str:
    """A subject nobody has used yet."""
    return f"{prefix}:{time.time_ns()}.{next(_subjects)}"


@dataclass
class Answer:
    """One reply. `body` is the JSON where it is some, else the text."""

    status: int
    headers: Mapping[str, str]
    body: Any
    seconds: float

    def header(self, name: str) -> Optional[str]:
        """A header by its name in lower case; None where it is absent."""
        return self.headers.get(name)


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


class Client:
    """One connection that stays open. `key` goes with every request unless one names other headers. `source`: the address
    of the loopback that it comes from."""

    def __init__(self, address: Address, key: str = "", timeout: float = 30.0, source: str = "") -> None:
        if isinstance(address, Path):
            self._connection: http.client.HTTPConnection = _UnixConnection(address, timeout)
        else:
            self._connection = http.client.HTTPConnection("127.0.0.1", address, timeout=timeout,
                                                          source_address=(source, 0) if source else None)
        self.key = key

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    def connect(self) -> "Client":
        """Opens the connection now, so that the first request does not."""
        self._connection.connect()
        return self

    @property
    def local_port(self) -> int:
        """Which connection this is: it changes when the agent closed the last one."""
        return int(self._connection.sock.getsockname()[1]) if self._connection.sock else 0

    def request(self, method: str, path: str, body: Union[bytes, str, None] = None,
                headers: Optional[Mapping[str, str]] = None) -> Answer:
        """Sends one request as it is. Of a stream of events, which does not end by itself, it takes only the head."""
        started = time.perf_counter()
        self._connection.request(method, path, body, dict(headers or {}))
        reply = self._connection.getresponse()
        text = b"" if reply.getheader("content-type") == "text/event-stream" else reply.read()
        if not reply.isclosed():
            self._connection.close()
        seconds = time.perf_counter() - started
        try:
            parsed: Any = json.loads(text)
        except ValueError:
            parsed = text.decode(errors="replace")
        return Answer(reply.status, {name.lower(): value for name, value in reply.getheaders()}, parsed, seconds)

    def get(self, path: str) -> Answer:
        """GET without a key."""
        return self.request("GET", path)

    def post(self, path: str, body: Union[bytes, str], headers: Optional[Mapping[str, str]] = None) -> Answer:
        """POST with the key and a JSON content type; `headers` replace or add."""
        sent = {"content-type": "application/json", "x-api-key": self.key, **(headers or {})}
        return self.request("POST", path, body, {name: value for name, value in sent.items() if value})

    def check(self, headers: Optional[Mapping[str, str]] = None, **fields: Any) -> Answer:
        """POST /v1/check."""
        return self.post("/v1/check", json.dumps(fields), headers)

    def explain(self, **fields: Any) -> Answer:
        """POST /v1/check with `explain`."""
        return self.check(explain=True, **fields)

    def batch(self, *checks: Any) -> Answer:
        """POST /v1/check/batch."""
        return self.post("/v1/check/batch", json.dumps({"checks": checks}))

    def release(self, lease_id: str) -> Answer:
        """POST /v1/release."""
        return self.post("/v1/release", json.dumps({"lease_id": lease_id}))

    def renew(self, lease_id: str) -> Answer:
        """POST /v1/renew."""
        return self.post("/v1/renew", json.dumps({"lease_id": lease_id}))
