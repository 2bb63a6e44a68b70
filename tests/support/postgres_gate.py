"""A gate on the wire between a server and its PostgreSQL: it cuts a connection around a COMMIT."""

import contextlib
import shutil
import socket
import tempfile
import threading
from pathlib import Path
from typing import Optional

from support.postgres import Database

COMMIT = b"Q\x00\x00\x00\x0bCOMMIT\x00"   # the protocol's message for this statement


class PostgresGate:
    """A Unix socket that leads to the one of a database's server.

    `cut_before_commit()`: the next COMMIT never gets there. `cut_after_commit()`: it does, and its answer is not passed on.
    Either ends that connection for both sides.
    """

    def __init__(self, database: Database) -> None:
        self._target = database.server.socket
        self._folder = Path(tempfile.mkdtemp(prefix="sluice-gate-", dir="/tmp"))
        self._database = database
        self._next: Optional[str] = None
        self._open: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._folder / ".s.PGSQL.5432"))
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> "PostgresGate":
        return self

    def __exit__(self, *_: object) -> None:
        # A thread in accept() is woken by a shutdown, not by a close.
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def url(self, role: str) -> str:
        """Where a role finds the database through the gate."""
        return f"postgresql:///{self._database.name}?host={self._folder}&port=5432&user={role}"

    def cut_before_commit(self) -> None:
        """Ends a connection instead of passing on its next COMMIT."""
        self._next = "before"

    def cut_after_commit(self) -> None:
        """Passes on the next COMMIT, and ends the connection instead of passing on the answer."""
        self._next = "after"

    @property
    def has_cut(self) -> bool:
        """Whether what it was told has happened."""
        return self._next is None

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                try:
                    server.connect(str(self._target))
                except OSError:
                    client.close()
                    continue
                self._open += [client, server]
                cut = threading.Event()
                threading.Thread(target=self._asks, args=(client, server, cut), daemon=True).start()
                threading.Thread(target=self._answers, args=(client, server, cut), daemon=True).start()

    def _asks(self, client: socket.socket, server: socket.socket, cut: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                if COMMIT in data and self._next:
                    how, self._next = self._next, None
                    if how == "before":
                        break
                    cut.set()
                server.sendall(data)
                if cut.is_set():
                    return   # the answer's side ends it
        _end(client, server)

    def _answers(self, client: socket.socket, server: socket.socket, cut: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                if cut.is_set():
                    break
                client.sendall(data)
        _end(client, server)


def _end(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
