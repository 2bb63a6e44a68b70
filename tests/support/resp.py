"""A small RESP2 client: what the tests say to Redis themselves, and MONITOR."""

import contextlib
import socket
import threading
from pathlib import Path
from typing import Optional, Union

from support.process import wait_until

Reply = Union[int, str, None, list["Reply"]]


class RedisError(Exception):
    """An error reply."""


class RespConnection:
    """One connection; an instance belongs to one thread at a time."""

    def __init__(self, address: Union[Path, tuple[str, int]], password: str = "", timeout: float = 10.0) -> None:
        family = socket.AF_UNIX if isinstance(address, Path) else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        self._socket.connect(str(address) if isinstance(address, Path) else address)
        self._reader = self._socket.makefile("rb")
        if password:
            self.command("AUTH", password)

    def command(self, *words: Union[str, int, bytes]) -> Reply:
        """Sends one command and returns its reply; raises RedisError for an error reply."""
        self.send(*words)
        return self.read()

    def send(self, *words: Union[str, int, bytes]) -> None:
        """Sends one command and does not wait."""
        encoded = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        parts = [b"*%d\r\n" % len(encoded)] + [b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded]
        self._socket.sendall(b"".join(parts))

    def read(self) -> Reply:
        """Reads one reply."""
        line = self._reader.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("Redis closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest.decode(errors="surrogateescape")
        if kind == b"-":
            raise RedisError(rest.decode(errors="surrogateescape"))
        if kind == b":":
            return int(rest)
        if kind == b"$":
            size = int(rest)
            return None if size < 0 else self._reader.read(size + 2)[:-2].decode(errors="surrogateescape")
        if kind == b"*":
            return None if int(rest) < 0 else [self.read() for _ in range(int(rest))]
        raise ConnectionError(f"not RESP: {line!r}")

    def close(self) -> None:
        """Closes the connection, also under a thread that is reading from it."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._reader.close()
        self._socket.close()


class Monitor:
    """Collects what MONITOR prints between entering and leaving a `with` block, complete to the last command."""

    def __init__(self, watched: RespConnection, other: RespConnection) -> None:
        self._watched = watched
        self._other = other
        self._lines: list[str] = []
        self._thread: Optional[threading.Thread] = None

    def __enter__(self) -> "Monitor":
        self._watched.command("MONITOR")
        self._thread = threading.Thread(target=self._collect, daemon=True)
        self._thread.start()
        return self

    def _collect(self) -> None:
        try:
            while True:
                self._lines.append(str(self._watched.read()))
        except (OSError, ValueError):
            return

    def __exit__(self, *_: object) -> None:
        # A marker of our own: once it is seen, everything before it has been.
        self._other.command("ECHO", "end-of-monitor")
        wait_until("the marker in MONITOR", lambda: any("end-of-monitor" in line for line in self._lines))
        self._watched.close()
        assert self._thread is not None
        self._thread.join(10)

    def commands(self) -> list[str]:
        """What clients sent: everything but what scripts called, and our own marker."""
        return [line for line in self._lines if " lua] " not in line and "end-of-monitor" not in line]
