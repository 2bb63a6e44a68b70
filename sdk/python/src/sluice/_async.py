"""The client for asyncio."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

from sluice import _core, _options
from sluice._async_net import AsyncNetworkTransport
from sluice._core import Call
from sluice._decision import Check, Decision, Reply
from sluice._errors import SluiceError
from sluice._options import OnError, Seconds


class AsyncTransport(Protocol):
    """Carries calls; a test double has another one."""

    address: str

    async def call(self, call: Call) -> Reply:
        """Raises SluiceError, and RuntimeError after `close`."""

    async def close(self) -> None:
        """Later calls are refused."""


class AsyncClient:
    """Asks an agent, with asyncio. For any number of tasks; each event loop has connections of its own.

    Every argument is optional; README.md lists them. `timeout` in seconds. Wrong options raise ValueError or TypeError.
    """

    def __init__(self, *, url: str | None = None, socket: str | os.PathLike[str] | None = None, api_key: str | None = None,
                 api_key_file: str | os.PathLike[str] | None = None, timeout: Seconds | None = None,
                 on_error: OnError | None = None, max_connections: int = 64, ca_file: str | os.PathLike[str] | None = None,
                 client_certificate: str | os.PathLike[str] | None = None,
                 client_key: str | os.PathLike[str] | None = None) -> None:
        options = _options.read(url=url, socket=socket, api_key=api_key, api_key_file=api_key_file, timeout=timeout,
                                on_error=on_error, max_connections=max_connections, ca_file=ca_file,
                                client_certificate=client_certificate, client_key=client_key)
        self._set_up(AsyncNetworkTransport(options), options.timeout, options.on_error)

    def _set_up(self, transport: AsyncTransport, timeout: float, on_error: OnError) -> None:
        self._transport = transport
        self._timeout = timeout
        self._on_error: OnError = on_error
        self._answers = _core.Answers(transport.address, on_error)
        self._releases: set[asyncio.Task[None]] = set()   # asyncio itself keeps no task alive

    def __repr__(self) -> str:
        return f"<sluice.AsyncClient {self._transport.address} timeout={self._timeout:g}s on_error={self._on_error}>"

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Lets releases of leases end, closes idle connections, and those in use after their call."""
        here = asyncio.get_running_loop()
        pending = [task for task in self._releases if task.get_loop() is here]
        if pending:
            await asyncio.wait(pending)
        await self._transport.close()

    async def check(self, resource: str | None = None, subject: str | None = None, *, traceparent: str | None = None,
                    tracestate: str | None = None, **fields: Any) -> Decision:
        """Asks whether a request may go on. `fields`: the other members of `Check`."""
        return await self._check(_core.fields_of(resource, subject, fields), traceparent, tracestate)

    async def check_batch(self, checks: Sequence[Check | Mapping[str, Any]], *, traceparent: str | None = None,
                          tracestate: str | None = None) -> list[Decision]:
        """Asks many at once; the decisions have the order of the checks."""
        calls = _core.batch_calls(checks, self._timeout, _core.trace_of(traceparent, tracestate))
        return self._answers.batch([await self._outcome(call) for call, _ in calls], [count for _, count in calls])

    async def release(self, lease_id: str) -> bool:
        """Gives a lease back. Whether there was one."""
        return self._answers.released(await self._outcome(_core.lease_call("/v1/release", lease_id, self._timeout)))

    async def renew(self, lease_id: str) -> int | None:
        """Prolongs a lease. When it ends now, in Unix seconds; None if it is gone."""
        return self._answers.renewed(await self._outcome(_core.lease_call("/v1/renew", lease_id, self._timeout)))

    @asynccontextmanager
    async def lease(self, resource: str | None = None, subject: str | None = None, *, keep_alive: bool = False,
                    traceparent: str | None = None, tracestate: str | None = None, **fields: Any) -> AsyncIterator[AsyncLease]:
        """A check whose lease ends with the block. `keep_alive` renews it until then."""
        decision = await self._check(_core.fields_of(resource, subject, fields), traceparent, tracestate, takes_lease=True)
        lease = AsyncLease(self, decision, keep_alive)
        try:
            yield lease
        finally:
            await lease.end()

    async def wait(self, resource: str | None = None, subject: str | None = None, *, up_to: Seconds,
                   traceparent: str | None = None, tracestate: str | None = None, **fields: Any) -> Decision:
        """Waits until the check passes, `up_to` seconds at most. The decision is a denial if it cannot pass in time."""
        trace = _core.trace_of(traceparent, tracestate)
        waiting = _core.Waiting(_core.fields_of(resource, subject, fields), _options.seconds("up_to", up_to), time.monotonic())
        while True:
            try:
                reply = await self._transport.call(_core.check_call(waiting.fields(time.monotonic()), self._timeout, trace))
                pause, again = waiting.answered(self._answers.check(reply), time.monotonic())
            except SluiceError as error:
                retry = waiting.failed(error, time.monotonic())
                if retry is None:
                    return self._answers.failed(error)
                self._answers.note(error)
                pause, again = retry, True
            try:
                if pause > 0:
                    await asyncio.sleep(pause)
            except asyncio.CancelledError:   # nobody hears of the lease
                if not again and waiting.result is not None:
                    self._give_back(waiting.result)
                raise
            if not again and waiting.result is not None:
                return waiting.result

    async def _check(self, fields: dict[str, Any], traceparent: str | None, tracestate: str | None,
                     takes_lease: bool = False) -> Decision:
        call = _core.check_call(fields, self._timeout, _core.trace_of(traceparent, tracestate), takes_lease)
        try:
            return self._answers.check(await self._transport.call(call))
        except SluiceError as error:
            return self._answers.failed(error)

    async def _check_whole(self, fields: dict[str, Any], traceparent: str | None, tracestate: str | None) -> Decision:
        """A check for middleware, which is not cancelled with its caller: it may take a lease, and only its reply tells which. Then
        the lease is given back."""
        task = asyncio.get_running_loop().create_task(self._check(fields, traceparent, tracestate))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(self._forget_check)
            raise

    def _forget_check(self, task: asyncio.Task[Decision]) -> None:
        if not task.cancelled() and task.exception() is None:
            self._give_back(task.result())

    def _give_back(self, decision: Decision) -> asyncio.Task[None] | None:
        """Releases the lease of a decision in a task of its own, which `close` waits for."""
        if decision.lease_id is None:
            return None
        task = asyncio.get_running_loop().create_task(self._release_quietly(decision.lease_id))
        self._releases.add(task)
        task.add_done_callback(self._releases.discard)
        return task

    async def _outcome(self, call: Call) -> Reply | SluiceError:
        try:
            return await self._transport.call(call)
        except SluiceError as error:
            return error

    async def _release_quietly(self, lease_id: str) -> None:
        try:
            await self.release(lease_id)
        except (SluiceError, RuntimeError):
            pass   # logged by the client; a lease that is not released ends by itself


class AsyncLease:
    """The lease of a block. `lost`: a renewal said that it is gone. Without a `lease_id` there is none to hold."""

    def __init__(self, client: AsyncClient, decision: Decision, keep_alive: bool) -> None:
        self.decision = decision
        self.lease_id = decision.lease_id
        self.lease_expires_at = decision.lease_expires_at
        self.lost = False
        self._client = client
        self._ended = False
        self._task: asyncio.Task[None] | None = None
        if keep_alive and self.lease_id is not None:
            self._task = asyncio.get_running_loop().create_task(self._keep(self.lease_id))

    @property
    def allowed(self) -> bool:
        """Whether the request may go on."""
        return self.decision.allowed

    async def end(self) -> None:
        """Releases the lease, once, even if the caller is cancelled meanwhile. Raises nothing but that cancellation."""
        if self._ended:
            return
        self._ended = True
        if self._task is not None:
            self._task.cancel()
        # A task of its own: a server that cancels a request does so at each `await`, and the release must go on.
        task = self._client._give_back(self.decision)
        if task is not None:
            await asyncio.shield(task)

    async def _keep(self, lease_id: str) -> None:
        while True:
            await asyncio.sleep(_core.renew_after(self.lease_expires_at, time.time()))
            outcome = await self._client._outcome(_core.lease_call("/v1/renew", lease_id, self._client._timeout))
            try:
                ends = _core.renewal(outcome)
            except SluiceError as error:
                self._client._answers.note(error)
                continue
            if ends is None:
                self.lost = True
                return
            self.lease_expires_at = ends
