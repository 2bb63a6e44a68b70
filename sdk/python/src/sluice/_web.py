"""What all integrations with web frameworks share: names of routes, subjects, denials, headers. Pure. sdk/CONTRACT.md, Middleware."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, Union

from sluice._decision import Decision, RateLimitResult

UNMATCHED = "{unmatched}"
UNKNOWN = "ip:unknown"   # the subject of clients without an address, such as those of a Unix socket
MAX_DELAY = 1.0
R = TypeVar("R")   # the framework's request
Text = Union[str, Callable[[R], Union[str, None]], None]
Number = Union[int, Callable[[R], int]]
Exempt = Union[Callable[[R], bool], Collection[str], None]

_BRACES = re.compile(r"\{([^{}:]*)(?::(?:[^{}]|\{[^{}]*\})*)?\}")       # {id}, {id:int}, {id:\d{2}}
_ANGLES = re.compile(r"<(?:[^<>:]+:)?([^<>:]+)>")                      # <id>, <int:id>
_COLON = re.compile(r"(?<=/):([A-Za-z_]\w*)[^/]*")                      # :id
_GROUP = re.compile(r"\(\?P<(\w+)>")


def pattern(route: str) -> str:
    """A route of any notation as `/users/{id}`."""
    if route.startswith("^") or "(?P<" in route or route.endswith(("$", r"\Z")):
        route = _without_regex(route)
    route = _BRACES.sub(lambda found: "{" + (found[1].strip() or "path") + "}", route)
    route = _ANGLES.sub(lambda found: "{" + found[1] + "}", route)
    route = _COLON.sub(lambda found: "{" + found[1] + "}", route)
    route = re.sub(r"(?<=/)\*(\w*)$", lambda found: "{" + (found[1] or "path") + "}", route)
    return route if route.startswith("/") else "/" + route


def _without_regex(route: str) -> str:
    """A regular expression of Django as a pattern. A group without a name is `{path}`."""
    made, place = "", 0
    while place < len(route):
        character = route[place]
        if character == "(":
            end = _closing(route, place)
            found = _GROUP.match(route, place)
            if found or not route.startswith("(?", place):
                made += "{" + (found[1] if found else "path") + "}"
            place = end + 1
            while place < len(route) and route[place] in "?*+":
                place += 1
            continue
        if character == "\\" and place + 1 < len(route):
            if route[place + 1] not in "AZ":
                made += route[place + 1]
            place += 2
            continue
        if character not in "^$?*+":
            made += character
        place += 1
    return made


def _closing(text: str, start: int) -> int:
    depth, place, in_class = 0, start, False
    while place < len(text):
        character = text[place]
        if character == "\\":
            place += 1
        elif in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
        elif character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
            if depth == 0:
                return place
        place += 1
    return len(text) - 1


def subject_of(address: str | None) -> str | None:
    """The subject that stands for a client's address: an IPv6 address for its /64. None for what is no address."""
    found = _address(address)
    if found is None:
        return None
    if found.version == 6:
        network = ipaddress.ip_network((int(found) >> 64 << 64, 64))
        return f"ip:{network}"
    return f"ip:{found}"


def fit(value: str) -> str:
    """A value of a request as an agent takes it: one of more than 256 bytes, or that is no UTF-8, as its hash. An agent would refuse
    it, and with `on_error` allow it would pass without a limit."""
    if len(value) <= 64 and value.isascii():
        return value
    sent = value.encode("utf-8", "surrogatepass")
    try:
        sent.decode("utf-8")
        if len(sent) <= 256:
            return value
    except UnicodeDecodeError:
        pass
    return f"sha256:{hashlib.sha256(sent).hexdigest()}"


def source_ip(address: str | None) -> str | None:
    """A client's whole address, without a zone; None for what is none, such as a Unix socket."""
    found = _address(address)
    return None if found is None else str(found)


def _address(text: str | None) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        found = ipaddress.ip_address((text or "").partition("%")[0])
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        return found.ipv4_mapped
    return found


@dataclass(frozen=True)
class Rule(Generic[R]):
    """How one route is limited. What is None is as for all routes. `resource`, `key` and `cost` may be functions of the request."""

    resource: Text[R] = None
    key: Text[R] = None
    cost: Number[R] | None = None
    plan_id: str | None = None
    exempt: bool = False


@dataclass(frozen=True)
class Settings(Generic[R]):
    """How all routes are limited. `exempt`: a function of the request, or routes such as `/healthz` or `GET:/users/{id}`.
    `routes`: rules by route, in the same notation. `max_delay`: the longest delay that is slept, in seconds.
    `keep_alive`: leases are renewed until the response has been sent. `kit_headers`: responses have `RateLimit-Limit`, `-Remaining` and
    `-Reset` too, as application-kit's have."""

    key: Callable[[R], str | None] | None = None
    cost: Number[R] = 1
    exempt: Exempt[R] = None
    routes: Mapping[str, Rule[R]] | None = None
    max_delay: float = MAX_DELAY
    keep_alive: bool = True
    kit_headers: bool = False

    def rule(self, method: str, endpoint: str) -> Rule[R]:
        """The rule of a route."""
        if self.routes:
            found = self.routes.get(f"{method}:{endpoint}") or self.routes.get(endpoint)
            if found is not None:
                return found
        return Rule()

    def is_exempt(self, request: R, method: str, endpoint: str, rule: Rule[R]) -> bool:
        """Whether no check is made."""
        if rule.exempt:
            return True
        if self.exempt is None:
            return False
        if callable(self.exempt):
            return bool(self.exempt(request))
        return endpoint in self.exempt or f"{method}:{endpoint}" in self.exempt

    def check(self, request: R, method: str, endpoint: str, address: str | None, rule: Rule[R]) -> dict[str, Any]:
        """The check of a request."""
        fields: dict[str, Any] = {"resource": fit(_text(rule.resource, request) or f"{method}:{endpoint}"), "endpoint": fit(endpoint),
                                  "method": fit(method)}
        subject = _text(rule.key, request) if rule.key is not None else self.key(request) if self.key is not None else None
        subject = fit(subject) if subject else subject_of(address) or UNKNOWN
        cost = rule.cost if rule.cost is not None else self.cost
        cost = cost(request) if callable(cost) else cost
        for name, value in (("subject", subject), ("source_ip", source_ip(address)), ("plan_id", rule.plan_id),
                            ("cost", None if cost == 1 else cost)):
            if value is not None:
                fields[name] = value
        return fields

    def judged(self, decision: Decision) -> Decision:
        """The decision with the headers to send, as a denial if its delay is too long to be slept."""
        if self.kit_headers and decision.limit is not None:
            decision = replace(decision, headers={**decision.headers, **RateLimitResult.of(decision).to_headers()})
        if decision.allowed and decision.delay > self.max_delay:
            return replace(decision, allowed=False, retry_after=decision.delay)
        return decision


def _text(value: Text[R], request: R) -> str | None:
    return value(request) if callable(value) else value


@dataclass(frozen=True)
class Denial:
    """The response to a request that may not go on."""

    status: int
    headers: dict[str, str]   # with Content-Type
    body: bytes


def denial(decision: Decision, accept: str = "") -> Denial:
    """429, or 503 if nothing could be judged. `accept`: the request's header."""
    unavailable = not decision.decided or decision.reason == "fail_closed"
    status = 503 if unavailable else 429
    headers = decision.to_headers()
    wait = None if decision.retry_after is None else math.ceil(decision.retry_after)
    if wait is not None and "retry-after" not in map(str.lower, headers):
        headers["Retry-After"] = str(wait)
    exposed = expose(headers, "")
    if exposed:
        headers["Access-Control-Expose-Headers"] = exposed
    if _prefers_text(accept):
        headers["Content-Type"] = "text/plain; charset=utf-8"
        return Denial(status, headers, b"Rate limiter unavailable\n" if unavailable else b"Rate limit exceeded\n")
    headers["Content-Type"] = "application/problem+json"
    problem: dict[str, Any] = {"type": "about:blank", "title": "Service Unavailable" if unavailable else "Too Many Requests",
                               "status": status,
                               "detail": "The rate limiter is unavailable." if unavailable else "The rate limit is exceeded."}
    if wait is not None:
        problem["retry_after"] = wait
    return Denial(status, headers, json.dumps(problem).encode())


def missing(headers: Mapping[str, str], present: Iterable[str]) -> dict[str, str]:
    """Those headers of a decision that a response has not set."""
    there = {name.lower() for name in present}
    return {name: value for name, value in headers.items() if name.lower() not in there}


def expose(headers: Iterable[str], named: str) -> str:
    """`Access-Control-Expose-Headers` that names these headers besides what it named."""
    already = [one.strip() for one in named.split(",") if one.strip()]
    lower = {one.lower() for one in already}
    if "*" in lower:
        return named
    return ", ".join(already + [name for name in headers if name.lower() not in lower and name.lower() != "content-type"])


def _prefers_text(accept: str) -> bool:
    best, text = 0.0, False
    for entry in accept.lower().split(","):
        kind, *parameters = (part.strip() for part in entry.split(";"))
        if kind not in ("text/plain", "text/*", "application/json", "application/problem+json", "application/*", "*/*"):
            continue
        quality = 1.0
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            if name.strip() == "q":
                try:
                    quality = float(value)
                except ValueError:
                    quality = 0.0
        if quality > best:   # of those that are wanted equally, the first
            best, text = quality, kind.startswith("text/")
    return text
