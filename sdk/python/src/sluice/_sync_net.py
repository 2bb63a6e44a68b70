"""The sync client's connections: calls over a pool, TCP, Unix sockets and TLS. Every wait ends at a deadline."""

from __future__ import annotations

import ipaddress
import os
import select
import socket
import ssl
import threading
import time
import weakref
from typing import Any

from sluice import _core
from sluice._core import Call
from sluice._decision import Reply
from sluice._errors import SluiceError
from sluice._http import ConnectionLost, ReplyReader, RequestText, whole_reply
from sluice._options import Address, KeySource, Options

IDLE = 30.0   # an agent closes an idle connection after 75 s


class NetworkTransport:
    """Calls over a pool of connections. Thread-safe."""

    def __init__(self, options: Options) -> None:
        self.address = options.address.text
        self._options = options
        self._key: KeySource = options.key
        self._text = RequestText(options.address)
        self._tls = _core.tls_context(options)
        self._pool = _Pool(options.max_connections)

    def close(self) -> None:
        self._pool.close()

    def call(self, call: Call) -> Reply:
        deadline = time.monotonic() + call.seconds
        key = self._key.current()
        reply = self._repeatable(call, key, deadline)
        if reply.status == 401:
            # Nothing was charged, so the call may be sent once more if the key in the file is another one now.
            try:
                changed = self._key.read_again()
            except SluiceError:
                return reply
            if changed != key:
                return self._repeatable(call, changed, deadline)
        return reply

    def _repeatable(self, call: Call, key: str, deadline: float) -> Reply:
        request = self._text.post(call.path, call.body, key, call.trace)
        try:
            return self._exchange(request, call, deadline, fresh=False)
        except ConnectionLost:
            if not call.idempotent:
                raise
        return self._exchange(request, call, deadline, fresh=True)

    def _exchange(self, request: bytes, call: Call, deadline: float, fresh: bool) -> Reply:
        try:
            while True:
                connection = self._pool.take(deadline, fresh)
                reusable = False
                try:
                    if connection is None:
                        connection = self._connect(deadline)
                    elif not connection.usable():
                        continue
                    if not connection.send(request, deadline):
                        fresh = True
                        continue
                    reply, reusable = connection.receive(deadline)
                    return reply
                finally:
                    # Whatever ended the call, a KeyboardInterrupt too: a connection is used again only after a whole reply.
                    self._pool.give_back(connection, reusable)
        except TimeoutError:
            raise _core.timed_out(call.seconds) from None
        except OSError as error:
            raise _core.broken(error, self.address) from None

    def _connect(self, deadline: float) -> _Connection:
        try:
            return _Connection(self._options.address, self._tls, deadline)
        except TimeoutError as error:
            if error.errno is None:
                raise
            raise _core.unreachable(self.address, error) from None   # ETIMEDOUT of the system
        except OSError as error:
            raise _core.unreachable(self.address, error) from None


class _Connection:
    """One connection. Every wait ends at a deadline, with TimeoutError."""

    def __init__(self, address: Address, tls: ssl.SSLContext | None, deadline: float) -> None:
        self._is_tls = tls is not None
        self._socket: socket.socket = _open(address, deadline)
        self.idle_since = 0.0
        try:
            if tls is not None:
                self._socket = _handshake(self._socket, tls, address.host, deadline)
        except BaseException:
            self._socket.close()
            raise
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)

    def usable(self) -> bool:
        """Whether the agent has left the connection open, and has sent nothing that was not asked for."""
        if time.monotonic() - self.idle_since > IDLE:
            return False
        if not self._poll.poll(0):
            return True
        if not self._is_tls:
            return False
        self._socket.settimeout(0)
        try:
            self._socket.recv(1)
        except ssl.SSLWantReadError:
            return True   # a session ticket
        except OSError:
            pass
        return False

    def send(self, request: bytes, deadline: float) -> bool:
        """Writes a request. False: it was not, not even its first byte."""
        self._socket.settimeout(_left(deadline))
        try:
            sent = self._socket.send(request)
        except TimeoutError:
            raise
        except OSError:
            if self._is_tls or self.idle_since == 0.0:   # over TLS a part may be on its way
                raise
            return False
        while sent < len(request):
            self._socket.settimeout(_left(deadline))
            sent += self._socket.send(request[sent:])
        return True

    def receive(self, deadline: float) -> tuple[Reply, bool]:
        """Reads one reply. Also, whether the connection may carry another call."""
        reader: ReplyReader | None = None
        while True:
            self._socket.settimeout(_left(deadline))
            data = self._socket.recv(65536)
            if reader is None:
                whole = whole_reply(data)
                if whole is not None:
                    return whole, True
                reader = ReplyReader()
            if not data:
                return reader.finish(), False
            if reader.feed(data) and reader.reply is not None:
                return reader.reply, reader.reusable

    def close(self) -> None:
        """Closes it at once."""
        self._socket.close()


class _Pool:
    """At most so many connections, idle and in use. The one used last comes first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._closed = False
        self._reset()
        _pools.add(self)

    def _reset(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._idle: list[_Connection] = []
        self._in_use = 0

    def after_fork(self) -> None:
        """In the child: its parent's connections are not its own, and its threads are gone."""
        parents = self._idle
        self._reset()
        for connection in parents:
            connection.close()

    def take(self, deadline: float, fresh: bool) -> _Connection | None:
        """An idle connection, or None and the place for a new one. `fresh`: only that."""
        surplus: list[_Connection] = []
        with self._changed:
            while True:
                if self._closed:
                    _core.closed()
                if self._idle and not fresh:
                    self._in_use += 1
                    return self._idle.pop()
                if self._in_use + len(self._idle) < self._most:
                    self._in_use += 1
                    return None
                if self._idle:
                    self._in_use += 1
                    surplus.append(self._idle.pop(0))
                    break
                if not self._changed.wait(_left(deadline)):
                    raise TimeoutError
        for connection in surplus:
            connection.close()
        return None

    def give_back(self, connection: _Connection | None, reusable: bool) -> None:
        """Ends the use of a connection, or of the place for one."""
        now = time.monotonic()
        surplus: list[_Connection] = []
        with self._changed:
            self._in_use -= 1
            if connection is not None:
                if reusable and not self._closed:
                    connection.idle_since = now
                    self._idle.append(connection)
                else:
                    surplus.append(connection)
            while self._idle and now - self._idle[0].idle_since > IDLE:
                surplus.append(self._idle.pop(0))
            self._changed.notify()
        for one in surplus:
            one.close()

    def close(self) -> None:
        """Closes what is idle, and refuses later calls."""
        with self._changed:
            self._closed = True
            surplus, self._idle = self._idle, []
            self._changed.notify_all()
        for connection in surplus:
            connection.close()


_pools: weakref.WeakSet[_Pool] = weakref.WeakSet()


def _after_fork() -> None:
    for pool in list(_pools):
        pool.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _open(address: Address, deadline: float) -> socket.socket:
    """A connected socket. Raises OSError."""
    if address.path:
        return _connected(socket.AF_UNIX, address.path, deadline)
    failure: OSError | None = None
    for family, _, _, _, where in _resolve(address, deadline):
        try:
            return _connected(family, where, deadline)
        except TimeoutError as error:
            if error.errno is None:
                raise
            failure = error
        except OSError as error:
            failure = error
    raise failure or OSError("the host has no address")


def _connected(family: int, where: Any, deadline: float) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.settimeout(_left(deadline))
        made.connect(where)
        if family != socket.AF_UNIX:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made
    except BlockingIOError:
        made.close()
        raise OSError("the socket's queue is full") from None
    except BaseException:
        made.close()
        raise


def _resolve(address: Address, deadline: float) -> list[Any]:
    """The addresses of a host. The system's resolver knows no deadline, so it is asked in a thread of its own."""
    if address.host == "localhost" or _is_ip(address.host):
        return socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    found: list[Any] = []
    failure: list[OSError] = []

    def ask() -> None:
        try:
            found.extend(socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM))
        except OSError as error:
            failure.append(error)
        except UnicodeError:
            failure.append(OSError("no host can have this name"))

    thread = threading.Thread(target=ask, name="sluice-resolver", daemon=True)
    thread.start()
    thread.join(_left(deadline))
    if failure:
        raise failure[0]
    if thread.is_alive():
        raise TimeoutError
    return list(found)


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
        return True
    except ValueError:
        return False


def _handshake(plain: socket.socket, tls: ssl.SSLContext, host: str, deadline: float) -> socket.socket:
    secure = tls.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
    try:
        while True:
            secure.settimeout(0)
            try:
                secure.do_handshake()
                return secure
            except ssl.SSLWantReadError:
                events = select.POLLIN
            except ssl.SSLWantWriteError:
                events = select.POLLOUT
            poll = select.poll()
            poll.register(secure, events)
            if not poll.poll(max(1, int(_left(deadline) * 1000))):
                raise TimeoutError
    except BaseException:
        secure.close()
        raise
