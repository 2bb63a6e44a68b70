"""Receives syslog over datagrams or TCP, as syslogd does, and reads messages by the grammar of RFC 5424."""

import re
import select
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

# RFC 5424, section 6: HEADER SP STRUCTURED-DATA SP MSG. This one takes no structured data but "-".
MESSAGE = re.compile(
    r"<(?P<priority>0|[1-9][0-9]{0,2})>(?P<version>[1-9][0-9]?) "
    r"(?P<time>-|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)) "
    r"(?P<host>[!-~]{1,255}) (?P<app>[!-~]{1,48}) (?P<process>[!-~]{1,128}) (?P<id>[!-~]{1,32}) - (?P<text>[^\x00-\x1f]*)")


@dataclass(frozen=True)
class Message:
    """One message. `host`, `app`, `process` and `id` are "-" where they are not known."""

    facility: int
    severity: int
    time: str
    host: str
    app: str
    process: str
    id: str
    text: str


def parse(datagram: bytes) -> Message:
    """Reads a whole datagram as one message."""
    found = MESSAGE.fullmatch(datagram.decode())
    assert found, datagram
    assert found["version"] == "1" and int(found["priority"]) <= 191, datagram
    facility, severity = divmod(int(found["priority"]), 8)
    return Message(facility, severity, found["time"], found["host"], found["app"], found["process"], found["id"], found["text"])


class SyslogReceiver:
    """A socket at `path`, or on UDP with a port of the system's choice."""

    def __init__(self, path: Optional[Path] = None) -> None:
        family = socket.AF_INET if path is None else socket.AF_UNIX
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        if path is None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self._socket.bind(("127.0.0.1", 0) if path is None else str(path))
        self._socket.settimeout(30)
        self._path = path

    @property
    def port(self) -> int:
        """The port of UDP."""
        return int(self._socket.getsockname()[1])

    def receive(self, count: int) -> list[Message]:
        """The next messages."""
        return [parse(self._socket.recv(65536)) for _ in range(count)]

    def is_empty(self) -> bool:
        """Whether nothing waits now."""
        return not select.select([self._socket], [], [], 0)[0]

    def close(self) -> None:
        """Ends, and takes its socket away."""
        self._socket.close()
        if self._path is not None:
            self._path.unlink()


class SyslogStreamReceiver:
    """Listens on TCP, and reads frames of RFC 6587 (octet counting) of one connection after another."""

    def __init__(self, port: int = 0) -> None:
        self._listener = socket.create_server(("127.0.0.1", port))
        self._listener.settimeout(30)
        self._peer: Optional[socket.socket] = None
        self._bytes = b""

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._listener.getsockname()[1])

    def receive(self, count: int) -> list[Message]:
        """The next messages. Half a frame at the end of a connection is dropped, as syslogd does."""
        messages: list[Message] = []
        while len(messages) < count:
            head, space, rest = self._bytes.partition(b" ")
            if space and len(rest) >= int(head):
                messages.append(parse(rest[:int(head)]))
                self._bytes = rest[int(head):]
            else:
                self._read()
        return messages

    def _read(self) -> None:
        if self._peer is None:
            self._peer, _ = self._listener.accept()
            self._peer.settimeout(30)
        more = self._peer.recv(65536)
        self._bytes += more
        if not more:
            self.hang_up()

    def is_empty(self) -> bool:
        """Whether nothing waits now."""
        return not self._bytes and (self._peer is None or not select.select([self._peer], [], [], 0)[0])

    def hang_up(self) -> None:
        """Ends the connection."""
        if self._peer is not None:
            self._peer.close()
        self._peer, self._bytes = None, b""

    def close(self) -> None:
        """Ends the connection, and listens no more."""
        self.hang_up()
        self._listener.close()
