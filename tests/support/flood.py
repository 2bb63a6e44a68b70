"""A flood: a process of its own that sends requests on many keep-alive connections as fast as it gets answers, and counts
the answers by status. A process of its own, so that its work does not delay the client that a test measures."""

import json
import os
import random
import selectors
import socket
import string
import subprocess
import sys
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import Any, Optional

DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase


def invented_token(kind: str, number: int) -> str:
    """A well-formed token that nobody made, with its right checksum. `kind`: sla or slg."""
    text = f"{kind}_token-{number:012x}_" + "".join(random.choices(DIGITS, k=43))
    checksum, digits = zlib.crc32(text.encode()), ""
    for _ in range(6):
        checksum, digit = divmod(checksum, 62)
        digits = DIGITS[digit] + digits
    return text + digits


def credential(kind: str, number: int) -> str:
    """The header line with an invented token, or with an invented cookie of the kind "session"; "" for no kind."""
    if kind == "session":
        return "Cookie: sluice_session=" + "".join(random.choices(DIGITS, k=43)) + "\r\n"
    return f"Authorization: Bearer {invented_token(kind, number)}\r\n" if kind else ""


class Flood:
    """`with Flood(port, 30, "/path"):` floods until the block is left; then `statuses` is complete.

    `kind`: every request carries another invented token of this kind, or another cookie ("session"); "": none. `body`: of a POST; "": a GET.
    `nice`: how far the flood stands back for other programs, as for nice(1).
    """

    def __init__(self, port: int, connections: int, target: str, kind: str = "", *, headers: Optional[dict[str, str]] = None,
                 body: str = "", nice: int = 0) -> None:
        self._plan = {"port": port, "connections": connections, "target": target, "kind": kind, "headers": headers or {},
                      "body": body, "nice": nice}
        self._child: Optional[subprocess.Popen[str]] = None
        self.statuses: Counter[int] = Counter()

    def __enter__(self) -> "Flood":
        self._child = subprocess.Popen([sys.executable, "-B", "-m", "support.flood", json.dumps(self._plan)], text=True,
                                       cwd=Path(__file__).resolve().parents[1], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._child.stdout is not None
        assert self._child.stdout.readline() == "flooding\n"   # its first answer has come
        return self

    def __exit__(self, *_: object) -> None:
        assert self._child is not None
        try:
            report, _ = self._child.communicate("", timeout=30)   # the end of its input ends it
        finally:
            self._child.kill()
        self.statuses.update({int(status): count for status, count in json.loads(report).items()})


class _Connection:
    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""

    def status(self) -> int:
        """Of a whole answer, once it is there; else 0. −1: the connection has ended."""
        data = self.socket.recv(1 << 18)
        if not data:
            return -1
        self.received += data
        head, found, rest = self.received.partition(b"\r\n\r\n")
        if not found:
            return 0
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        if len(rest) < length:
            return 0
        self.received = rest[length:]
        return int(head.split(b" ", 2)[1])


def flood(plan: dict[str, Any]) -> Counter[int]:
    """Floods until the input ends."""
    statuses: Counter[int] = Counter()
    number = 0
    os.nice(plan["nice"])
    method = "POST" if plan["body"] else "GET"
    headers = {"Host": "localhost", "Content-Length": len(plan["body"].encode()), **plan["headers"]}
    head = f"{method} {plan['target']} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with selectors.DefaultSelector() as selector:
        selector.register(sys.stdin, selectors.EVENT_READ)

        def send(connection: _Connection) -> None:
            nonlocal number
            number += 1
            token = credential(plan["kind"], number)
            connection.socket.sendall(f"{head}{token}\r\n{plan['body']}".encode())

        def open_one() -> None:
            connection = _Connection(plan["port"])
            selector.register(connection.socket, selectors.EVENT_READ, connection)
            send(connection)

        for _ in range(plan["connections"]):
            open_one()
        while True:
            for ready, _ in selector.select(1):
                if ready.data is None:
                    return statuses
                status = ready.data.status()
                if status == 0:
                    continue
                if not statuses:
                    print("flooding", flush=True)
                statuses[status] += 1
                if status > 0:
                    send(ready.data)
                    continue
                selector.unregister(ready.data.socket)
                ready.data.socket.close()
                time.sleep(0.01)
                open_one()


if __name__ == "__main__":
    print(json.dumps(flood(json.loads(sys.argv[1]))))
