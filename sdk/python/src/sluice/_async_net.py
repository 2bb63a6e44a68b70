"""The asyncio client's connections: calls over a pool for each event loop. Every wait ends at a deadline."""

from __future__ import annotations

import asyncio
import os
import select
import weakref
from collections import deque
from typing import Any

from sluice import _core
from sluice._core import Call
from sluice._decision import Reply
from sluice._errors import SluiceError
from sluice._http import ConnectionLost, ReplyReader, RequestText, whole_reply
from sluice._options import Options
from sluice._sync_net import IDLE


class AsyncNetworkTransport:
    """Calls over a pool of connections for each event loop."""

    def __init__(self, options: Options) -> None:
        self.address = options.address.text
        self._options = options
        self._key = options.key
        self._text = RequestText(options.address)
        self._tls = _core.tls_context(options)
        self._pools: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Pool] = weakref.WeakKeyDictionary()
        self._process = os.getpid()
        self._closed = False

    async def close(self) -> None:
        self._closed = True
        pool = self._pools.get(asyncio.get_running_loop())
        if pool is not None:
            pool.close()

    async def call(self, call: Call) -> Reply:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + call.seconds
        key = self._key.current()
        reply = await self._repeatable(loop, call, key, deadline)
        if reply.status == 401:
            # Nothing was charged, so the call may be sent once more if the key in the file is another one now.
            try:
                changed = self._key.read_again()
            except SluiceError:
                return reply
            if changed != key:
                return await self._repeatable(loop, call, changed, deadline)
        return reply

    def _pool(self, loop: asyncio.AbstractEventLoop) -> _Pool:
        if self._closed:
            _core.closed()
        if self._process != os.getpid():   # the parent's connections are not this process's own
            self._process = os.getpid()
            self._pools = weakref.WeakKeyDictionary()
        pool = self._pools.get(loop)
        if pool is None:
            pool = self._pools[loop] = _Pool(self._options.max_connections)
        return pool

    async def _repeatable(self, loop: asyncio.AbstractEventLoop, call: Call, key: str, deadline: float) -> Reply:
        request = self._text.post(call.path, call.body, key, call.trace)
        try:
            return await self._exchange(loop, request, call, deadline, fresh=False)
        except ConnectionLost:
            if not call.idempotent:
                raise
        return await self._exchange(loop, request, call, deadline, fresh=True)

    async def _exchange(self, loop: asyncio.AbstractEventLoop, request: bytes, call: Call, deadline: float, fresh: bool) -> Reply:
        pool = self._pool(loop)
        try:
            while True:
                connection = pool.take_idle() if not fresh else None
                if connection is None:
                    connection = await pool.take(deadline, fresh)
                reusable = False
                try:
                    if connection is None:
                        connection = await self._connect(loop, pool, deadline)
                    elif not connection.quiet() and not await connection.usable():
                        continue
                    reply = await connection.ask(request, deadline)
                    reusable = connection.reusable
                    return reply
                finally:
                    # Whatever ended the call: a connection is used again only after a whole reply.
                    pool.give_back(connection, reusable)
        except asyncio.TimeoutError:
            raise _core.timed_out(call.seconds) from None
        except OSError as error:
            raise _core.broken(error, self.address) from None

    async def _connect(self, loop: asyncio.AbstractEventLoop, pool: _Pool, deadline: float) -> _Connection:
        address = self._options.address

        def made() -> _Connection:
            return _Connection(loop, pool)

        opening: Any
        if address.path:
            opening = loop.create_unix_connection(made, address.path)
        elif self._tls is not None:
            opening = loop.create_connection(made, address.host, address.port, ssl=self._tls, server_hostname=address.host,
                                             ssl_handshake_timeout=max(0.001, deadline - loop.time()))
        else:
            opening = loop.create_connection(made, address.host, address.port)
        task = loop.create_task(opening)
        try:
            done, _ = await asyncio.wait({task}, timeout=max(0.0, deadline - loop.time()))
        except asyncio.CancelledError:
            _abandon(task)
            raise
        if not done:
            _abandon(task)
            raise asyncio.TimeoutError
        try:
            connection: _Connection = task.result()[1]
            return connection
        except asyncio.TimeoutError as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise _core.unreachable(self.address, error) from None   # ETIMEDOUT of the system
            raise
        except UnicodeError:
            raise _core.unreachable(self.address, OSError("no host can have this name")) from None
        except OSError as error:
            if loop.time() >= deadline:
                raise asyncio.TimeoutError from None   # a handshake that took too long
            raise _core.unreachable(self.address, _first(error)) from None


def _first(error: OSError) -> OSError:
    """asyncio joins the errors of several addresses into one without a number."""
    return error if error.strerror or not error.args else OSError(0, str(error.args[0]))


def _abandon(task: asyncio.Task[Any]) -> None:
    """Ends an attempt to connect, also one that succeeds in the same turn."""

    def dispose(ended: asyncio.Task[Any]) -> None:
        if not ended.cancelled() and ended.exception() is None:
            ended.result()[0].abort()

    task.add_done_callback(dispose)
    task.cancel()


class _Connection(asyncio.Protocol):
    """One connection with one call at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, pool: _Pool) -> None:
        self._loop = loop
        self._pool = pool
        self._transport: Any = None
        self._poll: Any = None
        self._is_tls = False
        self._reader: ReplyReader | None = None   # of a reply that did not come at once
        self._waiter: asyncio.Future[Reply] | None = None
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self.reusable = False   # after the last reply
        self.open = False
        self.idle_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._is_tls = transport.get_extra_info("ssl_object") is not None
        self._poll = select.poll()
        self._poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
        self.open = True

    def data_received(self, data: bytes) -> None:
        waiter = self._waiter
        if waiter is None or waiter.done():
            self.close()   # nobody asked for it
            return
        if self._reader is None:
            reply = whole_reply(data)
            if reply is not None:
                self.reusable = True
                waiter.set_result(reply)
                return
            self._reader = ReplyReader()
        try:
            if self._reader.feed(data) and self._reader.reply is not None:
                self.reusable = self._reader.reusable
                waiter.set_result(self._reader.reply)
        except SluiceError as error:
            waiter.set_exception(error)

    def eof_received(self) -> bool:
        self.open = False
        if self._waiter is not None and not self._waiter.done():
            try:
                self._waiter.set_result((self._reader or ReplyReader()).finish())
            except SluiceError as error:
                self._waiter.set_exception(error)
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self.open = False
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error if isinstance(error, OSError)
                                       else ConnectionLost("the agent closed the connection without a whole reply"))
        if self._timer is not None:
            self._timer.cancel()
        self._pool.forget(self)

    def quiet(self) -> bool:
        """Whether the connection is open, and nothing came that was not asked for."""
        return self.open and self._loop.time() - self.idle_since <= IDLE and not self._poll.poll(0)

    async def usable(self) -> bool:
        """Whether it can be used although it is not quiet: over TLS, what came may be a session ticket."""
        if not self.open or not self._is_tls:
            return False
        for _ in range(3):
            await asyncio.sleep(0)   # the event loop reads it, or finds the end
        return self.quiet()

    async def ask(self, request: bytes, deadline: float) -> Reply:
        """One exchange. `reusable` then says whether the connection may carry another call."""
        self.reusable = False
        self._deadline = deadline
        # A timer for each call would cost more than its reply. One that runs already looks at the deadline when it ends.
        if self._timer is None or self._timer.when() > deadline:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(deadline, self._look)
        waiter = self._waiter = self._loop.create_future()
        try:
            self._transport.write(request)
            reply: Reply = await waiter
            return reply
        finally:
            self._reader = self._waiter = None

    def _look(self) -> None:
        """Ends a call whose time is over."""
        self._timer = None
        if self._waiter is None or self._waiter.done():
            return
        if self._loop.time() >= self._deadline:
            self._waiter.set_exception(asyncio.TimeoutError())
        else:
            self._timer = self._loop.call_at(self._deadline, self._look)

    def close(self) -> None:
        """Closes it at once."""
        self.open = False
        self._transport.abort()


class _Pool:
    """At most so many connections, idle and in use, of one event loop. The one used last comes first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._idle: list[_Connection] = []
        self._in_use = 0
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._sweep: asyncio.TimerHandle | None = None
        self._closed = False

    def take_idle(self) -> _Connection | None:
        """An idle connection, if there is one."""
        if not self._idle or self._closed:
            return None
        self._in_use += 1
        return self._idle.pop()

    async def take(self, deadline: float, fresh: bool) -> _Connection | None:
        """An idle connection, or None and the place for a new one. `fresh`: only that."""
        loop = asyncio.get_running_loop()
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
                self._idle.pop(0).close()
                return None
            await self._turn(loop, deadline)

    async def _turn(self, loop: asyncio.AbstractEventLoop, deadline: float) -> None:
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiters.append(waiter)
        timer = loop.call_at(deadline, _expire, waiter)
        try:
            await waiter
        except BaseException:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._wake()   # it was this one's turn; the next one has it now
            raise
        finally:
            timer.cancel()
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def give_back(self, connection: _Connection | None, reusable: bool) -> None:
        """Ends the use of a connection, or of the place for one."""
        self._in_use -= 1
        if connection is not None:
            if reusable and not self._closed:
                loop = asyncio.get_running_loop()
                connection.idle_since = loop.time()
                self._idle.append(connection)
                if self._sweep is None:
                    self._sweep = loop.call_later(IDLE, self._close_old, loop)
            else:
                connection.close()
        self._wake()

    def forget(self, connection: _Connection) -> None:
        """The connection has ended."""
        if connection in self._idle:
            self._idle.remove(connection)

    def close(self) -> None:
        """Closes what is idle, and refuses later calls."""
        self._closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        for connection in self._idle:
            connection.close()
        self._idle.clear()
        while self._waiters:
            self._wake()

    def _wake(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _close_old(self, loop: asyncio.AbstractEventLoop) -> None:
        self._sweep = None
        while self._idle and loop.time() - self._idle[0].idle_since >= IDLE:
            self._idle.pop(0).close()
        if self._idle:
            self._sweep = loop.call_at(self._idle[0].idle_since + IDLE, self._close_old, loop)


def _expire(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_exception(asyncio.TimeoutError())
