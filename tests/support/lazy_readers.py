"""Callers that send without end and read late: many connections, each with a stream of pipelined checks."""

import json
import selectors
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Optional

from support.agent import Agent

BURST = 100          # checks in one piece of the stream
READ = 16384         # bytes that a connection reads at once, and then not for READ_EVERY seconds
READ_EVERY = 0.02


@dataclass
class LazyReaders:
    """`with LazyReaders(...)`: every connection sends the same check as fast as the agent takes it."""

    agent: Agent
    key: str
    check: dict[str, Any]
    connections: int = 50
    received: int = 0        # bytes of answers that were read
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: Optional[threading.Thread] = None

    def __enter__(self) -> "LazyReaders":
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        assert self._thread is not None
        self._thread.join(30)

    def _run(self) -> None:
        text = json.dumps(self.check).encode()
        request = (f"POST /v1/check HTTP/1.1\r\nHost: localhost\r\nx-api-key: {self.key}\r\n"
                   f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n").encode() + text
        piece = request * BURST
        selector = selectors.DefaultSelector()
        for _ in range(self.connections):
            opened = socket.create_connection(("127.0.0.1", self.agent.port), timeout=10)
            opened.setblocking(False)
            selector.register(opened, selectors.EVENT_WRITE, {"rest": b"", "read_at": 0.0})
        while not self._stop.is_set():
            now = time.monotonic()
            for ready, _ in selector.select(0.005):
                self._send(ready.fileobj, ready.data, piece)
            for mapped in selector.get_map().values():
                if now - mapped.data["read_at"] >= READ_EVERY:
                    mapped.data["read_at"] = now
                    self._read(mapped.fileobj)
            time.sleep(0.001)
        for mapped in list(selector.get_map().values()):
            mapped.fileobj.close()  # type: ignore[union-attr]
        selector.close()

    def _send(self, connection: Any, state: dict[str, Any], piece: bytes) -> None:
        rest = state["rest"] or piece
        try:
            state["rest"] = rest[connection.send(rest):]
        except BlockingIOError:
            state["rest"] = rest

    def _read(self, connection: Any) -> None:
        try:
            self.received += len(connection.recv(READ))
        except BlockingIOError:
            pass
