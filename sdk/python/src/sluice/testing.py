"""Clients that need no agent, for tests: always_allow(), always_deny(), scripted([...]), and the same with `_async` for asyncio.

They record the checks that they were asked (`checks`) and the leases that nobody gave back (`open_leases`).
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, Union

from sluice._async import AsyncClient
from sluice._core import Call, closed
from sluice._decision import Decision, Reply
from sluice._errors import SluiceError
from sluice._options import OnError
from sluice._sync import Client

Entry = Union[bool, Decision, SluiceError, Mapping[str, Any]]

__all__ = ["AsyncDouble", "Double", "Entry", "always_allow", "always_allow_async", "always_deny", "always_deny_async",
           "scripted", "scripted_async"]


class Script:
    """Answers calls from a list of entries; when that is over, with `after`."""

    address = "a test double"

    def __init__(self, entries: Iterable[Entry], after: bool = True) -> None:
        self._entries = iter(list(entries))
        self._after = after
        self._ids = itertools.count(1)
        self._closed = False
        self.checks: list[dict[str, Any]] = []
        self.open_leases: list[str] = []

    def answer(self, call: Call) -> Reply:
        """The reply to one call. Raises SluiceError where the script has one."""
        if self._closed:
            closed()
        body = json.loads(call.body)
        if call.path == "/v1/check":
            entry = self._next(body)
            if isinstance(entry, SluiceError):
                raise entry
            members = _members(entry)
            if call.takes_lease and members["allowed"]:
                members.setdefault("lease_id", f"lease-{next(self._ids)}")
                self.open_leases.append(members["lease_id"])
            return _reply(members)
        if call.path == "/v1/check/batch":
            return self._batch(body["checks"])
        held = body["lease_id"] in self.open_leases
        if call.path == "/v1/release":
            if held:
                self.open_leases.remove(body["lease_id"])
            return _reply({"released": held})
        return _reply({"renewed": held, "lease_expires_at": 4102444800} if held else {"renewed": False})

    def close(self) -> None:
        """Later calls are misuse."""
        self._closed = True

    def _next(self, check: dict[str, Any]) -> Entry:
        self.checks.append(check)
        return next(self._entries, self._after)

    def _batch(self, checks: list[dict[str, Any]]) -> Reply:
        results = []
        for check in checks:
            entry = self._next(check)
            if isinstance(entry, SluiceError):
                results.append({"status": entry.status or 503, "code": entry.code or entry.kind, "detail": entry.detail or str(entry)})
            else:
                results.append(_members(entry))
        return _reply({"results": results})


class _AsyncScript:
    def __init__(self, script: Script) -> None:
        self.address = script.address
        self._script = script

    async def call(self, call: Call) -> Reply:
        return self._script.answer(call)

    async def close(self) -> None:
        self._script.close()


class _SyncScript:
    def __init__(self, script: Script) -> None:
        self.address = script.address
        self._script = script

    def call(self, call: Call) -> Reply:
        return self._script.answer(call)

    def close(self) -> None:
        self._script.close()


class Double(Client):
    """A client that asks a script."""

    def __init__(self, script: Script, on_error: OnError) -> None:
        self._script = script
        self._set_up(_SyncScript(script), 0.05, on_error)

    @property
    def checks(self) -> list[dict[str, Any]]:
        """The checks so far."""
        return list(self._script.checks)

    @property
    def open_leases(self) -> list[str]:
        """The ids of the leases that were not given back."""
        return list(self._script.open_leases)


class AsyncDouble(AsyncClient):
    """An asyncio client that asks a script."""

    def __init__(self, script: Script, on_error: OnError) -> None:
        self._script = script
        self._set_up(_AsyncScript(script), 0.05, on_error)

    @property
    def checks(self) -> list[dict[str, Any]]:
        """The checks so far."""
        return list(self._script.checks)

    @property
    def open_leases(self) -> list[str]:
        """The ids of the leases that were not given back."""
        return list(self._script.open_leases)


def always_allow() -> Double:
    """Allows every check."""
    return Double(Script([]), "allow")


def always_deny() -> Double:
    """Denies every check."""
    return Double(Script([], after=False), "allow")


def scripted(entries: Iterable[Entry], on_error: OnError = "allow") -> Double:
    """Answers with the entries, one for each check, then allows. An entry is True, False, a Decision, a dict of a decision's
    members such as {"allowed": False, "retry_after": 1.5}, or a SluiceError."""
    return Double(Script(entries), on_error)


def always_allow_async() -> AsyncDouble:
    """Allows every check."""
    return AsyncDouble(Script([]), "allow")


def always_deny_async() -> AsyncDouble:
    """Denies every check."""
    return AsyncDouble(Script([], after=False), "allow")


def scripted_async(entries: Iterable[Entry], on_error: OnError = "allow") -> AsyncDouble:
    """As `scripted`."""
    return AsyncDouble(Script(entries), on_error)


_WIRE = {"policy": "policy_id", "plan": "plan_id", "reset": "reset_at"}
_DURATIONS = {"retry_after": "retry_after_ms", "delay": "delay_ms", "waited": "waited_ms"}
_NOT_SENT = {"headers", "status", "decided", "error", "raw"}


def _members(entry: bool | Decision | Mapping[str, Any]) -> dict[str, Any]:
    """What an agent would have sent for an entry."""
    if isinstance(entry, bool):
        entry = {"allowed": entry}
    given = dict(vars(entry)) if isinstance(entry, Decision) else dict(entry)
    if not isinstance(given.get("allowed"), bool):
        raise TypeError(f"an entry of a script must have the boolean `allowed`; got {entry!r}")
    sent: dict[str, Any] = {"reason": "within_limit" if given["allowed"] else "limit_exceeded",
                            "action": "allow" if given["allowed"] else "deny", "shadow": False, "delay_ms": 0}
    for name, value in given.items():
        if name in _NOT_SENT or value is None:
            continue
        if name in _DURATIONS:
            name, value = _DURATIONS[name], math.ceil(value * 1000)
        sent[_WIRE.get(name, name)] = value
    sent.setdefault("retry_after_ms", 0 if sent["allowed"] else 1000)
    return sent


def _reply(body: dict[str, Any]) -> Reply:
    status = 200
    headers = [("content-type", "application/json")]
    if body.get("allowed") is False:
        status = 429
        headers.append(("Retry-After", str(math.ceil(body["retry_after_ms"] / 1000))))
    if "limit" in body and "allowed" in body:
        headers.append(("X-RateLimit-Limit", str(body["limit"])))
        if "remaining" in body:
            headers.append(("X-RateLimit-Remaining", str(body["remaining"])))
    return Reply(status, headers, json.dumps(body).encode())
