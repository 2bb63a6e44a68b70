"""HTTP by hand: for requests that no well-behaved client would send."""

import json
import select
import socket
from dataclasses import dataclass
from typing import Any, Optional


@dataclass
class RawReply:
    """One reply as it came."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class RawConnection:
    """A TCP connection that sends exactly the bytes it is given."""

    def __init__(self, port: int, timeout: float = 20.0) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self._reader = self._socket.makefile("rb")

    def __enter__(self) -> "RawConnection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        self._reader.close()
        self._socket.close()

    def send(self, data: bytes) -> "RawConnection":
        """Sends bytes; a connection that the agent has closed already is for the reader to notice."""
        try:
            self._socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return self

    def finish_sending(self) -> None:
        """Half-closes: the agent reads the end, we still read."""
        self._socket.shutdown(socket.SHUT_WR)

    def reply(self) -> Optional[RawReply]:
        """The next reply; None where the agent closed the connection instead."""
        try:
            line = self._reader.readline()
            if not line:
                return None
            version, status = line.split(b" ", 2)[:2]
            assert version in (b"HTTP/1.1", b"HTTP/1.0"), line
            headers: dict[str, str] = {}
            while (field := self._reader.readline()) not in (b"\r\n", b""):
                name, value = field.decode("latin-1").split(":", 1)
                headers[name.strip().lower()] = value.strip()
            body = self._reader.read(int(headers.get("content-length", "0")))
        except ConnectionResetError:
            return None
        return RawReply(int(status), headers, body)

    def readable(self) -> bool:
        """Whether something has come that reply() was not asked for yet."""
        return bool(select.select([self._socket], [], [], 0)[0])

    def closed(self) -> bool:
        """Whether the agent closes (or has closed) the connection without another byte."""
        try:
            return self._reader.read(1) == b""
        except ConnectionResetError:
            return True


def check_request(key: str, body: bytes = b'{"subject":"raw"}', extra: bytes = b"", version: bytes = b"HTTP/1.1",
                  host: bytes = b"Host: localhost\r\n", length: bool = True) -> bytes:
    """A POST /v1/check, well-formed unless asked otherwise. `extra` holds whole header lines."""
    size = b"Content-Length: %d\r\n" % len(body) if length else b""
    return (b"POST /v1/check " + version + b"\r\n" + host + b"x-api-key: " + key.encode() +
            b"\r\nContent-Type: application/json\r\n" + size + extra + b"\r\n" + body)
