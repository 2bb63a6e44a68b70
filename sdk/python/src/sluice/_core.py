"""What the sync and the async client share: the calls as values, the waiting, the log. Does no input or output but logging."""

from __future__ import annotations

import json
import logging
import random
import re
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple, NoReturn

from sluice import _options
from sluice._decision import Check, Decision, Reply, read_batch, read_check, read_member, undecided, without_decision
from sluice._errors import SluiceError
from sluice._http import ConnectionLost, header_value, is_header_value
from sluice._options import OnError, Options

BATCH = 256
_LOG = logging.getLogger("sluice")
_LOG_EVERY = 10.0
Trace = tuple[str, str]


class Call(NamedTuple):
    """One call to an agent. `seconds`: the longest it may take."""

    path: str
    body: bytes
    seconds: float
    trace: Trace | None = None
    idempotent: bool = False
    takes_lease: bool = False   # for test doubles


def trace_of(traceparent: str | None, tracestate: str | None) -> Trace | None:
    """What the caller gave, else what OpenTelemetry says of the current span."""
    if traceparent is not None:
        return header_value("traceparent", traceparent), header_value("tracestate", tracestate or "")
    return _current_span()


def _no_span() -> Trace | None:
    return None


def _span_reader() -> Any:
    try:
        from opentelemetry import trace
    except ImportError:
        return _no_span

    def read() -> Trace | None:
        context = trace.get_current_span().get_span_context()
        if not context.is_valid:
            return None
        return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}", context.trace_state.to_header()

    return read


_reader: Any = None


def _current_span() -> Trace | None:
    global _reader
    if _reader is None:
        _reader = _span_reader()
    found: Trace | None = _reader()
    return found


_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?:-[\x21-\x7e]*)?")


def incoming_trace(traceparent: str | None, tracestate: str | None) -> dict[str, str]:
    """The trace of a request that is being served, as arguments of `check`. Empty if OpenTelemetry has a span of its own, which is
    the nearer parent, and if the headers are none that could be sent on."""
    if traceparent is None or not _TRACEPARENT.fullmatch(traceparent) or _current_span() is not None:
        return {}
    return {"traceparent": traceparent, **({"tracestate": tracestate} if tracestate and is_header_value(tracestate) else {})}


def mark_span(endpoint: str) -> None:
    """Says in OpenTelemetry's current span, if there is one, that a request is over its limit, as application-kit does."""
    try:
        from opentelemetry import trace
    except ImportError:
        return
    span = trace.get_current_span()
    if span.is_recording():
        span.set_attribute("ratelimit.over_limit", endpoint)


def fields_of(resource: str | None, subject: str | None, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a check."""
    body: dict[str, Any] = {}
    if resource is not None:
        body["resource"] = resource
    if subject is not None:
        body["subject"] = subject
    for name, value in fields.items():
        if value is not None:
            body[name] = value
    return body


def check_call(fields: dict[str, Any], timeout: float, trace: Trace | None, takes_lease: bool = False) -> Call:
    """POST /v1/check. Raises TypeError or ValueError for what is no JSON."""
    wait = fields.get("wait")
    held = 0.0
    if wait is not None:
        held = _options.wait_seconds(wait)
        if isinstance(wait, timedelta):
            fields = {**fields, "wait": f"{max(0, round(held * 1000))}ms"}
    return Call("/v1/check", _json(fields), timeout + held, trace, takes_lease=takes_lease)


def batch_calls(checks: Sequence[Mapping[str, Any]], timeout: float, trace: Trace | None) -> list[tuple[Call, int]]:
    """POST /v1/check/batch, as often as the number of checks needs, each with its number of checks."""
    if isinstance(checks, (str, bytes, Mapping)):
        raise TypeError("`checks` must be a list of checks")
    for one in checks:
        if not isinstance(one, Mapping):
            raise TypeError(f"a check of a batch must be a dict of its fields; got {type(one).__name__}")
    parts = [checks[start:start + BATCH] for start in range(0, len(checks), BATCH)]
    return [(Call("/v1/check/batch", _json({"checks": [dict(one) for one in part]}), timeout, trace), len(part)) for part in parts]


def lease_call(path: str, lease_id: str, timeout: float) -> Call:
    """POST /v1/release or /v1/renew, which may be repeated."""
    if not isinstance(lease_id, str) or not lease_id:
        raise TypeError(f"`lease_id` must be the text that a check gave; got {lease_id!r}")
    return Call(path, _json({"lease_id": lease_id}), timeout, idempotent=True)


_ENCODE = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode   # json.dumps would make an encoder for each call


def _json(value: Any) -> bytes:
    return _ENCODE(value).encode("ascii")


class Answers:
    """Makes results of replies and errors, by `on_error`, and logs errors."""

    def __init__(self, address: str, on_error: OnError) -> None:
        self._on_error: OnError = on_error
        self._log = ErrorLog(address, on_error)

    def check(self, reply: Reply) -> Decision:
        """Raises SluiceError, which goes to `failed`."""
        return read_check(reply)

    def failed(self, error: SluiceError) -> Decision:
        """What the caller gets instead of a decision. Raises if `on_error` is `raise`."""
        self._log.note(error)
        return without_decision(error, self._on_error)

    def batch(self, outcomes: Sequence[Reply | SluiceError], counts: Sequence[int]) -> list[Decision]:
        """The decisions of all calls of a batch."""
        decisions: list[Decision] = []
        for outcome, count in zip(outcomes, counts):
            if isinstance(outcome, Reply):
                try:
                    decisions += map(self._one, read_batch(outcome, count))
                    continue
                except SluiceError as error:
                    outcome = error
            self._log.note(outcome)
            if self._on_error == "raise":
                raise outcome
            decisions += [undecided(outcome, self._on_error == "allow")] * count
        return decisions

    def _one(self, result: Decision | SluiceError) -> Decision:
        """A faulty check of a batch never raises, because the others have been charged."""
        if isinstance(result, Decision):
            return result
        self._log.note(result)
        return undecided(result, self._on_error == "allow")

    def released(self, outcome: Reply | SluiceError) -> bool:
        """Whether a lease was released."""
        try:
            return bool(read_member(_or_raise(outcome), "released")["released"])
        except SluiceError as error:
            self._lease_failed(error)
            return False

    def renewed(self, outcome: Reply | SluiceError) -> int | None:
        """The new end of a lease; None if it is gone, or if the agent did not answer."""
        try:
            return renewal(outcome)
        except SluiceError as error:
            self._lease_failed(error)
            return None

    def note(self, error: SluiceError) -> None:
        """Logs an error that the caller does not get."""
        self._log.note(error)

    def _lease_failed(self, error: SluiceError) -> None:
        self._log.note(error)
        if self._on_error == "raise":
            raise error


def renewal(outcome: Reply | SluiceError) -> int | None:
    """The new end of a lease; None if it is gone. Raises SluiceError if the agent does not say."""
    try:
        body = read_member(_or_raise(outcome), "renewed")
    except SluiceError as error:
        if error.status == 404:
            return None
        raise
    ends = body.get("lease_expires_at")
    return int(ends) if body["renewed"] and isinstance(ends, (int, float)) else None


def _or_raise(outcome: Reply | SluiceError) -> Reply:
    if isinstance(outcome, SluiceError):
        raise outcome
    return outcome


class ErrorLog:
    """Logs an error when its kind begins, and then every 10 s with the number of those like it."""

    def __init__(self, address: str, on_error: OnError) -> None:
        self._address = address
        self._gets = {"allow": "the check is allowed", "deny": "the check is denied", "raise": "the caller gets an exception"}[on_error]
        self._lock = threading.Lock()
        self._kinds: dict[str, tuple[float, int]] = {}   # when it was logged last, how many came since

    def note(self, error: SluiceError) -> None:
        """Counts one error, and logs it if it is time."""
        now = time.monotonic()
        with self._lock:
            last, more = self._kinds.get(error.kind, (-_LOG_EVERY, 0))
            if now - last < _LOG_EVERY:
                self._kinds[error.kind] = (last, more + 1)
                return
            self._kinds[error.kind] = (now, 0)
        repeated = f" ({more} more in the last {now - last:.0f} s)" if more else ""
        _LOG.warning("no decision from the agent %s (%s): %s; %s%s", self._address, error.kind, error, self._gets, repeated)


class Waiting:
    """The steps of `wait`. Time is a parameter, in seconds of any clock."""

    def __init__(self, fields: Check | Mapping[str, Any], up_to: float, now: float) -> None:
        self._fields = dict(fields)
        self._ends = now + up_to
        self._pause = 0.1
        self.result: Decision | None = None
        self.error: SluiceError | None = None

    def fields(self, now: float) -> dict[str, Any]:
        """The check to send."""
        return {**self._fields, "wait": f"{int(max(0.0, self._ends - now) * 1000)}ms"}

    def failed(self, error: SluiceError, now: float) -> float | None:
        """How long to sleep before the check is sent again; None: `error` is the end."""
        if error.kind == "unreachable" and now + self._pause <= self._ends:
            pause, self._pause = self._pause, min(2.0, self._pause * 2)
            return pause
        self.error = error
        return None

    def answered(self, decision: Decision, now: float) -> tuple[float, bool]:
        """How long to sleep, and whether the check is sent again after that; if not, `result` is the end."""
        left = max(0.0, self._ends - now)
        if not decision.allowed:
            again = decision.retry_after
            if again is not None and again <= left and left > 0:
                # The least pause keeps an agent that says "0" from being asked without end.
                return min(left, max(0.01, again + random.uniform(0, min(0.1, again / 10)))), True
            self.result = decision
            return 0.0, False
        if 0 < decision.delay <= left:
            self.result = replace(decision, delay=0.0)
            return decision.delay, False
        self.result = decision
        return 0.0, False


def renew_after(expires_at: int | None, now: float) -> float:
    """Seconds until a lease should be renewed: a third of what is surely left of its life, as its end is rounded down to seconds."""
    return max(0.05, ((expires_at or 0) - now) / 3)


def tls_context(options: Options) -> ssl.SSLContext | None:
    """For https://. Raises ValueError if a file cannot be used."""
    if not options.address.tls:
        return None
    try:
        context = ssl.create_default_context(cafile=options.ca_file or None)
    except (OSError, ssl.SSLError) as error:
        raise ValueError(f"`ca_file` must be a file with certificates (PEM); {options.ca_file}: {error}") from None
    if options.ca_file:
        # From 3.13 on Python refuses authorities that lack some extensions, as those that people make themselves often do.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if options.client_certificate:
        try:
            # A password would be asked for on the terminal.
            context.load_cert_chain(options.client_certificate, options.client_key or None, password="")
        except (OSError, ssl.SSLError) as error:
            raise ValueError("`client_certificate` and `client_key` must be files with a certificate and its key (PEM); "
                             f"{options.client_certificate}: {error}") from None
    return context


def timed_out(options_timeout: float) -> SluiceError:
    """The error of a call that took too long."""
    return SluiceError("timeout", f"no answer within {options_timeout * 1000:g} ms")


def unreachable(address: str, error: OSError) -> SluiceError:
    """The error of a connection that could not be made."""
    reason = getattr(error, "verify_message", "") or error.strerror or type(error).__name__
    return SluiceError("unreachable", f"no connection to {address}: {reason}")


def broken(error: OSError, address: str) -> SluiceError:
    """The error of a connection that broke while a reply was awaited."""
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
        if "ALERT" in (error.reason or ""):   # in TLS 1.3 an agent refuses a client's certificate after the handshake
            return unreachable(address, error)
        return SluiceError("protocol", f"the agent's TLS is broken: {error.reason}")
    return ConnectionLost("the agent broke the connection without a whole reply")


def closed() -> NoReturn:
    """A call on a client that was closed."""
    raise RuntimeError("this client was closed")
