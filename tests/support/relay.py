"""A relay on the wire between agents and their servers: it leads to whichever server lives, cuts, falls silent and rewrites."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from typing import Optional

Rewrite = Callable[[bytes], bytes]
_PLAIN = (b"accept-encoding", b"x-not-encoding-")   # of one length: what is rewritten must not be packed


class Relay:
    """A port of the loopback that leads to a server's, wherever that is at the time: set `target` after each start.

    `close()`/`open()`: nobody gets through, open connections end. `rewrite`: what the server sends is put through it, piece
    by piece, and no answer is compressed meanwhile. `opened` has the time of each connection that was made.
    """

    def __init__(self, target: int) -> None:
        self.target = target
        self.scheme = "http"   # of the server there
        self.rewrite: Optional[Rewrite] = None
        self.opened: list[float] = []
        self._through = True
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """The value for --server."""
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def __enter__(self) -> "Relay":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)   # wakes the thread in accept()
        self._listener.close()

    def close(self) -> None:
        """Cuts everything, and lets nobody through from now on."""
        self._through = False
        self.cut()

    def open(self) -> None:
        """Lets them through again."""
        self._through = True

    def cut(self) -> None:
        """Cuts what is open; who comes again gets through."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            _end(*pair)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                agent, _ = self._listener.accept()
                self.opened.append(time.monotonic())
                server = self._connect() if self._through else None
                if server is None:
                    agent.close()
                    continue
                with self._lock:
                    self._pairs.append((agent, server))
                if not self._through:   # closed meanwhile
                    self.cut()
                threading.Thread(target=self._pump, args=(agent, server, False), daemon=True).start()
                threading.Thread(target=self._pump, args=(server, agent, True), daemon=True).start()

    def _connect(self) -> Optional[socket.socket]:
        try:
            return socket.create_connection(("127.0.0.1", self.target), timeout=5)
        except OSError:
            return None

    def _pump(self, source: socket.socket, sink: socket.socket, from_server: bool) -> None:
        with contextlib.suppress(OSError):   # also where it was cut before this began
            source.settimeout(None)
            while data := source.recv(1 << 20):
                if self.rewrite is not None:
                    data = self.rewrite(data) if from_server else _unpacked(data)
                sink.sendall(data)
        _end(source, sink)


def _unpacked(request: bytes) -> bytes:
    """A request that asks for no compression."""
    at = request.lower().find(_PLAIN[0])
    return request if at < 0 else request[:at] + _PLAIN[1] + request[at + len(_PLAIN[0]):]


def _end(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
