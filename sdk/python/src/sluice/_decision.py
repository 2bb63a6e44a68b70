"""What an agent decided, and how its replies are read. Pure."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypedDict, Union

from sluice._errors import SluiceError


class Check(TypedDict, total=False):
    """The fields of a check. The agent judges them; docs/guide/checks.md explains them."""

    resource: str
    subject: str
    cost: int
    costs: Mapping[str, int]
    plan_id: str
    tags: Mapping[str, str]
    attributes: Mapping[str, str]
    request_id: str
    explain: bool
    limit_override: Mapping[str, int]
    wait: Union[str, int]
    application: str
    service: str
    environment: str
    signal: str
    operation: str
    endpoint: str
    method: str
    user: str
    client: str
    client_id: str
    source_ip: str
    region: str
    severity: str
    span_name: str
    topic: str
    consumer_group: str
    job_type: str
    priority: str


@dataclass(frozen=True)
class Decision:
    """What the agent decided or, with `decided` false, what `on_error` chose. Durations are seconds, as numbers."""

    allowed: bool
    reason: str
    action: str
    limit: int | None = None
    remaining: int | None = None
    reset: int | None = None             # when the whole limit is back, Unix seconds
    retry_after: float | None = None     # until the same check would pass; None if never, or unknown
    delay: float = 0.0                   # how long to wait before going on
    waited: float = 0.0                  # how long the agent held the check
    policy: str | None = None
    policy_version: int | None = None
    plan: str | None = None
    limit_name: str | None = None
    shadow: bool = False
    would_allow: bool = True
    over_limit: bool = False
    sample_rate: float | None = None
    downgrade_to: str | None = None
    metadata: Mapping[str, str] | None = None
    lease_id: str | None = None
    lease_expires_at: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 0
    request_id: str | None = None
    decided: bool = True
    error: SluiceError | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def success(self) -> bool:
        """The same as `allowed`."""
        return self.allowed

    @property
    def is_over_limit(self) -> bool:
        """The same as `over_limit`, as application-kit calls it."""
        return self.over_limit

    @property
    def max_requests(self) -> int:
        """The limit, as application-kit calls it; 0 without one."""
        return self.limit or 0

    @property
    def request_count(self) -> int:
        """How much of the limit is used, with this check; 0 without a limit."""
        return max(0, (self.limit or 0) - (self.remaining or 0)) if self.limit is not None else 0

    @property
    def ttl(self) -> int:
        """Seconds until the whole limit is back, rounded up; 0 if unknown."""
        return max(0, math.ceil(self.reset - time.time())) if self.reset is not None else 0

    def to_headers(self) -> dict[str, str]:
        """The rate limit headers of the reply, as the agent wrote them."""
        return dict(self.headers)


@dataclass(frozen=True)
class RateLimitResult:
    """The result of the entry points that are named after application-kit's."""

    is_over_limit: bool
    request_count: int
    ttl: int
    max_requests: int

    @property
    def remaining(self) -> int:
        """What is left, never below 0."""
        return max(0, self.max_requests - self.request_count)

    def to_headers(self) -> dict[str, str]:
        """`RateLimit-Limit`, `-Remaining` and `-Reset`, this in seconds from now."""
        return {"RateLimit-Limit": str(self.max_requests), "RateLimit-Remaining": str(self.remaining),
                "RateLimit-Reset": str(self.ttl)}

    @classmethod
    def of(cls, decision: Decision) -> RateLimitResult:
        """The same in four numbers. Over the limit, the request that was not charged is counted too."""
        used = decision.request_count
        if decision.over_limit and decision.limit is not None:
            used = max(used, decision.limit)
        return cls(decision.over_limit, used, decision.ttl, decision.max_requests)


class Reply(NamedTuple):
    """A reply as it came."""

    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes


def body_of(reply: Reply) -> dict[str, Any] | None:
    """The JSON object of a reply; None if it is none."""
    try:
        body = json.loads(reply.body.decode())
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def read_check(reply: Reply) -> Decision:
    """The decision of a reply to one check. Raises SluiceError if it has none."""
    body = body_of(reply)
    if body is None or not isinstance(body.get("allowed"), bool) or not _may_decide(reply.status) or \
            (reply.status == 503 and body.get("reason") in ("overload", "no_snapshot")):
        raise error_of(reply, body)
    return decision_of(body, reply.status, _rate_limit_headers(reply.headers), _header(reply, "x-request-id"))


def read_batch(reply: Reply, count: int) -> list[Decision | SluiceError]:
    """The results of a batch of so many checks. Raises SluiceError if the whole batch has none."""
    body = body_of(reply)
    if body is None or reply.status != 200 or not isinstance(body.get("results"), list):
        raise error_of(reply, body)
    results = body["results"]
    if len(results) != count:
        raise SluiceError("protocol", f"the agent answered a batch of {count} checks with {len(results)} results", status=200)
    return [_result(one) for one in results]


def _result(one: Any) -> Decision | SluiceError:
    if not isinstance(one, dict) or (not isinstance(one.get("allowed"), bool) and _whole(one.get("status")) is None):
        return SluiceError("protocol", "a result of the batch is no decision", status=200)
    if not isinstance(one.get("allowed"), bool):
        return problem(int(one["status"]), one)
    if not one["allowed"] and one.get("reason") in ("overload", "no_snapshot"):
        return problem(503, one)
    return decision_of(one, 200 if one["allowed"] else 429, {}, None)


def read_member(reply: Reply, name: str) -> dict[str, Any]:
    """The body of a reply to release or renew, which has this boolean. Raises SluiceError if it has none."""
    body = body_of(reply)
    if body is None or reply.status != 200 or not isinstance(body.get(name), bool):
        raise error_of(reply, body)
    return body


def error_of(reply: Reply, body: dict[str, Any] | None) -> SluiceError:
    """The error that a reply without a decision stands for."""
    if _may_decide(reply.status) and reply.status < 500:
        return SluiceError("protocol", f"the agent's reply ({reply.status}) is no decision", status=reply.status)
    return problem(reply.status, body or {}, _header(reply, "x-request-id"))


def problem(status: int, body: Mapping[str, Any], request_id: str | None = None) -> SluiceError:
    """The error of a status and a problem's members. Statuses from 500 on are `unavailable`, others `refused`."""
    code = _text(body.get("code")) or (_text(body.get("reason")) if status >= 500 else None) or ""
    detail = _text(body.get("detail")) or _text(body.get("cause")) or ""
    faults = body.get("errors")
    errors = [one for one in faults if isinstance(one, dict)] if isinstance(faults, list) else []
    message = f"the agent answered {status}" + (f" {code}" if code else "") + (f": {detail}" if detail else "")
    return SluiceError("unavailable" if status >= 500 else "refused", message, status=status, code=code, detail=detail,
                       errors=errors, request_id=_text(body.get("request_id")) or request_id, raw=dict(body))


def without_decision(error: SluiceError, on_error: Literal["allow", "deny", "raise"]) -> Decision:
    """What a caller gets instead of a decision. Raises the error if `on_error` is `raise`."""
    if on_error == "raise":
        raise error
    return undecided(error, on_error == "allow")


def undecided(error: SluiceError, allowed: bool) -> Decision:
    """A decision that no agent made."""
    return Decision(allowed, "error", "allow" if allowed else "deny", retry_after=0.0 if allowed else None, would_allow=allowed,
                    status=error.status, request_id=error.request_id, decided=False, error=error, raw=error.raw)


def decision_of(body: dict[str, Any], status: int, headers: Mapping[str, str], request_id: str | None) -> Decision:
    """Reads a decision. A member of a wrong type counts as absent."""
    get = body.get
    allowed: bool = body["allowed"]
    reason = _text(get("reason")) or ""
    would_allow, over_limit, metadata = get("would_allow"), get("over_limit"), get("metadata")
    # The constructor of a frozen dataclass sets its members one by one, which would take a tenth of a call's time.
    made = object.__new__(Decision)
    made.__dict__.update(
        allowed=allowed, reason=reason, action=_text(get("action")) or ("allow" if allowed else "deny"), limit=_whole(get("limit")),
        remaining=_whole(get("remaining")), reset=_whole(get("reset_at")),
        retry_after=0.0 if allowed else _seconds(get("retry_after_ms")), delay=_seconds(get("delay_ms")) or 0.0,
        waited=_seconds(get("waited_ms")) or 0.0, policy=_text(get("policy_id")), policy_version=_whole(get("policy_version")),
        plan=_text(get("plan_id")), limit_name=_text(get("limit_name")), shadow=get("shadow") is True,
        would_allow=would_allow if isinstance(would_allow, bool) else allowed,
        over_limit=over_limit if isinstance(over_limit, bool) else reason in ("limit_exceeded", "sampled"),
        sample_rate=_number(get("sample_rate")), downgrade_to=_text(get("downgrade_to")),
        metadata=metadata if isinstance(metadata, dict) else None, lease_id=_text(get("lease_id")),
        lease_expires_at=_whole(get("lease_expires_at")), headers=headers, status=status,
        request_id=_text(get("request_id")) or request_id, decided=True, error=None, raw=body)
    return made


def _may_decide(status: int) -> bool:
    return 200 <= status < 300 or status == 429 or status >= 500


def _rate_limit_headers(headers: Sequence[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in headers:
        if name[0] not in "rRxX":
            continue
        lower = name.lower()
        if lower.startswith(("ratelimit-", "x-ratelimit-")) or lower in ("ratelimit", "retry-after"):
            found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def _header(reply: Reply, wanted: str) -> str | None:
    for name, value in reply.headers:
        if len(name) == len(wanted) and name.lower() == wanted:
            return value
    return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: Any) -> int | None:
    if type(value) is int:
        return value
    return int(value) if type(value) is float and value.is_integer() else None


def _number(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) and -1e300 < value < 1e300 else None


def _seconds(milliseconds: Any) -> float | None:
    number = _number(milliseconds)
    return None if number is None else max(0.0, number / 1000)
