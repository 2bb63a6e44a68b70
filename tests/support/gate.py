"""A gate on the wire between an agent and its Redis: it delays, slices, spoils and cuts what Redis answers."""

import contextlib
import socket
import threading
import time
from typing import Optional

from support.process import free_port
from support.redis_server import RedisServer


class Gate:
    """A TCP port that leads to a Redis. Commands always pass; what comes back does so as the gate was told.

    `late`: replies go on so many seconds later. `sliced`: they go on byte by byte. `spoil(data)`: the next reply is replaced by `data`. `cut()`: the connection
    ends instead of the next reply. Whatever Redis was sent it has executed. `accepted` counts connections.
    """

    def __init__(self, server: RedisServer) -> None:
        self.server = server
        self.port = free_port()
        self.sliced = False
        self.late = 0.0
        self.accepted = 0
        self._next: list[Optional[bytes]] = []
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> "Gate":
        return self

    def __exit__(self, *_: object) -> None:
        # A thread in accept() is woken by a shutdown, not by a close.
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    @property
    def counters(self) -> str:
        """The value for --counters."""
        return f"redis://127.0.0.1:{self.port}"

    def spoil(self, data: bytes) -> None:
        """Replaces the next reply."""
        self._next.append(data)

    def cut(self) -> None:
        """Ends the connection instead of the next reply."""
        self._next.append(None)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                agent, _ = self._listener.accept()
                self.accepted += 1
                redis = socket.socket(socket.AF_UNIX)
                redis.connect(str(self.server.socket))
                agent.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._open += [agent, redis]
                for pump in (self._commands, self._replies):
                    threading.Thread(target=pump, args=(agent, redis), daemon=True).start()

    def _commands(self, agent: socket.socket, redis: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := agent.recv(65536):
                redis.sendall(data)
        self._end(agent, redis)

    def _replies(self, agent: socket.socket, redis: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := redis.recv(65536):
                time.sleep(self.late)
                passed = self._next.pop(0) if self._next else data
                if passed is None:
                    break
                pieces = [bytes([byte]) for byte in passed] if self.sliced else [passed]
                for piece in pieces:
                    agent.sendall(piece)
        self._end(agent, redis)

    @staticmethod
    def _end(*ends: socket.socket) -> None:
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
