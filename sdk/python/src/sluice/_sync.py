"""The client for threads."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from sluice import _core, _options
from sluice._core import Call
from sluice._decision import Check, Decision, Reply
from sluice._errors import SluiceError
from sluice._options import OnError, Seconds
from sluice._sync_net import NetworkTransport


class Transport(Protocol):
    """Carries calls; a test double has another one."""

    address: str

    def call(self, call: Call) -> Reply:
        """Raises SluiceError, and RuntimeError after `close`."""

    def close(self) -> None:
        """Later calls are refused."""


class Client:
    """Asks an agent. For any number of threads at once, and for processes that fork after it was made.

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
        self._set_up(NetworkTransport(options), options.timeout, options.on_error)

    def _set_up(self, transport: Transport, timeout: float, on_error: OnError) -> None:
        self._transport = transport
        self._timeout = timeout
        self._on_error: OnError = on_error
        self._answers = _core.Answers(transport.address, on_error)

    def __repr__(self) -> str:
        return f"<sluice.Client {self._transport.address} timeout={self._timeout:g}s on_error={self._on_error}>"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes idle connections now, and those in use after their call."""
        self._transport.close()

    def check(self, resource: str | None = None, subject: str | None = None, *, traceparent: str | None = None,
              tracestate: str | None = None, **fields: Any) -> Decision:
        """Asks whether a request may go on. `fields`: the other members of `Check`."""
        return self._check(_core.fields_of(resource, subject, fields), traceparent, tracestate)

    def check_batch(self, checks: Sequence[Check | Mapping[str, Any]], *, traceparent: str | None = None,
                    tracestate: str | None = None) -> list[Decision]:
        """Asks many at once; the decisions have the order of the checks."""
        calls = _core.batch_calls(checks, self._timeout, _core.trace_of(traceparent, tracestate))
        return self._answers.batch([self._outcome(call) for call, _ in calls], [count for _, count in calls])

    def release(self, lease_id: str) -> bool:
        """Gives a lease back. Whether there was one."""
        return self._answers.released(self._outcome(_core.lease_call("/v1/release", lease_id, self._timeout)))

    def renew(self, lease_id: str) -> int | None:
        """Prolongs a lease. When it ends now, in Unix seconds; None if it is gone."""
        return self._answers.renewed(self._outcome(_core.lease_call("/v1/renew", lease_id, self._timeout)))

    @contextmanager
    def lease(self, resource: str | None = None, subject: str | None = None, *, keep_alive: bool = False,
              traceparent: str | None = None, tracestate: str | None = None, **fields: Any) -> Iterator[Lease]:
        """A check whose lease ends with the block. `keep_alive` renews it until then."""
        decision = self._check(_core.fields_of(resource, subject, fields), traceparent, tracestate, takes_lease=True)
        lease = Lease(self, decision, keep_alive)
        try:
            yield lease
        finally:
            lease.end()

    def wait(self, resource: str | None = None, subject: str | None = None, *, up_to: Seconds, traceparent: str | None = None,
             tracestate: str | None = None, **fields: Any) -> Decision:
        """Waits until the check passes, `up_to` seconds at most. The decision is a denial if it cannot pass in time."""
        trace = _core.trace_of(traceparent, tracestate)
        waiting = _core.Waiting(_core.fields_of(resource, subject, fields), _options.seconds("up_to", up_to), time.monotonic())
        while True:
            try:
                reply = self._transport.call(_core.check_call(waiting.fields(time.monotonic()), self._timeout, trace))
                pause, again = waiting.answered(self._answers.check(reply), time.monotonic())
            except SluiceError as error:
                retry = waiting.failed(error, time.monotonic())
                if retry is None:
                    return self._answers.failed(error)
                self._answers.note(error)
                pause, again = retry, True
            try:
                if pause > 0:
                    time.sleep(pause)
            except BaseException:   # such as KeyboardInterrupt: nobody hears of the lease
                if not again and waiting.result is not None:
                    Lease(self, waiting.result, False).end()
                raise
            if not again and waiting.result is not None:
                return waiting.result

    def _check(self, fields: dict[str, Any], traceparent: str | None, tracestate: str | None, takes_lease: bool = False) -> Decision:
        call = _core.check_call(fields, self._timeout, _core.trace_of(traceparent, tracestate), takes_lease)
        try:
            return self._answers.check(self._transport.call(call))
        except SluiceError as error:
            return self._answers.failed(error)

    def _outcome(self, call: Call) -> Reply | SluiceError:
        try:
            return self._transport.call(call)
        except SluiceError as error:
            return error


class Lease:
    """The lease of a block. `lost`: a renewal said that it is gone. Without a `lease_id` there is none to hold."""

    def __init__(self, client: Client, decision: Decision, keep_alive: bool) -> None:
        self.decision = decision
        self.lease_id = decision.lease_id
        self.lease_expires_at = decision.lease_expires_at
        self.lost = False
        self._client = client
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        if keep_alive and self.lease_id is not None:
            self._thread = threading.Thread(target=self._keep, args=(self.lease_id,), name="sluice-lease", daemon=True)
            self._thread.start()

    @property
    def allowed(self) -> bool:
        """Whether the request may go on."""
        return self.decision.allowed

    def end(self) -> None:
        """Releases the lease, once. Raises nothing, because the block's own exception matters more."""
        if self._ended.is_set():
            return
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        if self.lease_id is not None:
            try:
                self._client.release(self.lease_id)
            except (SluiceError, RuntimeError):
                pass   # logged by the client; a lease that is not released ends by itself

    def _keep(self, lease_id: str) -> None:
        while not self._ended.wait(_core.renew_after(self.lease_expires_at, time.time())):
            outcome = self._client._outcome(_core.lease_call("/v1/renew", lease_id, self._client._timeout))
            try:
                ends = _core.renewal(outcome)
            except SluiceError as error:
                self._client._answers.note(error)
                continue
            if ends is None:
                self.lost = True
                return
            self.lease_expires_at = ends
