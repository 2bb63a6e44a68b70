"""An agent that misbehaves as a test wants. It counts connections and requests.

Each request takes the next turn of the script, and then the default: an allowed check.
"""

import asyncio
import json
import socket
import ssl
import struct
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

ALLOWED = {"allowed": True, "action": "allow", "reason": "within_limit", "retry_after_ms": 0, "delay_ms": 0, "shadow": False,
           "limit": 10, "remaining": 9}
DENIED = {"allowed": False, "action": "deny", "reason": "limit_exceeded", "retry_after_ms": 1500, "delay_ms": 0, "shadow": False,
          "limit": 10, "remaining": 0}
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Turn = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bool]]   # whether the connection stays open


@dataclass(frozen=True)
class Seen:
    """One request that arrived whole. `connection`: its number, from 1."""

    connection: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


def http(status: int, body: Any, headers: Optional[Mapping[str, str]] = None) -> bytes:
    """A reply with a length. A body that is no bytes is sent as JSON."""
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = {"Content-Type": "application/json", "Content-Length": str(len(sent)), **(headers or {})}
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{name}: {value}" for name, value in head.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + sent


def chunked(status: int, *pieces: bytes) -> bytes:
    """A reply in the chunked coding."""
    head = f"HTTP/1.1 {status} Whatever\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    return head + b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def raw(data: bytes, keep: bool = False) -> Turn:
    """Writes these bytes, and closes the connection unless it is kept."""

    async def turn(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        writer.write(data)
        await writer.drain()
        return keep

    return turn


def reply(status: int, body: Any, headers: Optional[Mapping[str, str]] = None) -> Turn:
    """A reply, on a connection that stays open."""
    return raw(http(status, body, headers), keep=True)


def slowly(data: bytes, size: int, pause: float, keep: bool = True) -> Turn:
    """Writes pieces of so many bytes, with a pause of so many seconds between them."""

    async def turn(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        for start in range(0, len(data), size):
            writer.write(data[start:start + size])
            await writer.drain()
            await asyncio.sleep(pause)
        return keep

    return turn


def later(seconds: float, then: Turn) -> Turn:
    """Another turn, after a pause."""

    async def turn(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        await asyncio.sleep(seconds)
        return await then(reader, writer)

    return turn


async def silence(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> bool:
    """Never answers; ends when the client closes the connection."""
    await reader.read(1)
    return False


async def reset(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Resets the connection."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
    return False


def endless(start: bytes, piece: bytes) -> Turn:
    """Writes until the client closes the connection."""

    async def turn(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        writer.write(start)
        while not writer.is_closing():
            writer.write(piece)
            await writer.drain()
        return False

    return turn


class Rogue:
    """The server. Listens on a port of the loopback, or on a Unix socket."""

    def __init__(self, path: Optional[Path] = None, port: int = 0, tls: Optional[ssl.SSLContext] = None) -> None:
        self.requests: list[Seen] = []
        self.connections = 0
        self.open = 0
        self.most_open = 0
        self.port = 0
        self.default: Turn = reply(200, ALLOWED)
        self.on_connect: Optional[Turn] = None   # before anything is read
        self._script: deque[Turn] = deque()
        self._path, self._wanted_port, self._tls = path, port, tls
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._held: list[asyncio.Event] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._started = threading.Event()
        self._failure: Optional[OSError] = None
        self._thread.start()
        self._started.wait()
        if self._failure is not None:
            raise self._failure

    @property
    def url(self) -> str:
        """Where it is."""
        return f"unix://{self._path}" if self._path else f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def then(self, *turns: Turn) -> "Rogue":
        """Adds turns to the script."""
        self._script.extend(turns)
        return self

    def hold(self) -> Turn:
        """A turn that allows, but not before `let_go`."""
        event = asyncio.Event()
        self._held.append(event)

        async def turn(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
            await event.wait()
            return await reply(200, ALLOWED)(reader, writer)

        return turn

    def let_go(self) -> None:
        """Lets all held turns answer."""
        for event in self._held:
            self._loop.call_soon_threadsafe(event.set)
        self._held.clear()

    def hang_up(self) -> None:
        """Closes all connections."""
        done = threading.Event()

        def close() -> None:
            for writer in self._writers:
                writer.close()
            done.set()

        self._loop.call_soon_threadsafe(close)
        done.wait()

    def say(self, data: bytes) -> None:
        """Writes to all connections, unasked."""
        done = threading.Event()

        def write() -> None:
            for writer in self._writers:
                writer.write(data)
            done.set()

        self._loop.call_soon_threadsafe(write)
        done.wait()

    def close(self) -> None:
        """Ends it, and waits for that."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            if self._path:
                server = self._loop.run_until_complete(asyncio.start_unix_server(self._serve, str(self._path), ssl=self._tls))
            else:
                server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", self._wanted_port, ssl=self._tls,
                                                                            backlog=1024))
                self.port = server.sockets[0].getsockname()[1]
        except OSError as failure:
            self._failure = failure
            self._started.set()
            return
        self._started.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        for writer in self._writers:
            writer.transport.abort()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        self._writers.add(writer)
        try:
            if self.on_connect is None or await self.on_connect(reader, writer):
                while await self._one(number, reader, writer):
                    pass
        except (OSError, asyncio.IncompleteReadError):
            pass   # the client went away
        finally:
            self.open -= 1
            self._writers.discard(writer)
            writer.close()

    async def _one(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        if headers.get("transfer-encoding", "") == "chunked":
            body = b""
            while size := int((await reader.readuntil(b"\r\n")).strip(), 16):
                body += (await reader.readexactly(size + 2))[:-2]
            await reader.readuntil(b"\r\n")
        else:
            body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.requests.append(Seen(number, method, path, headers, json.loads(body) if body else None))
        turn = self._script.popleft() if self._script else self.default
        return await turn(reader, writer)
