"""Bodies of overrides and counters: which limits there are, and what can be said of each.

Every tenant that stays has a policy and a plan that no other call changes, both with one limit of each algorithm. Each
override is somebody's of their own, as there is only one of a limit for an identity.
"""

import random
from typing import Any

from world import COUNTED, LIMITS, World, fresh_id

Body = dict[str, Any]
MOST_SUBJECT = 200   # bytes of a made-up subject that are kept behind a fresh one
OWNERS = ("policy_id", "plan_id")
BUCKET = {"capacity": "amount", "bucket_capacity": "amount"}
PER_SECOND = ("refill_per_sec", "refill_rate_per_sec", "leak_per_sec", "leak_rate_per_sec")
# What an override can replace in a limit. Names of one kind stand for the same number: an override says one of them.
NUMBERS: dict[str, dict[str, str]] = {
    "token_bucket": {**BUCKET, "refill": "rate", "refill_per_sec": "rate", "refill_rate_per_sec": "rate"},
    "leaky_bucket": {**BUCKET, "leak": "rate", "leak_per_sec": "rate", "leak_rate_per_sec": "rate"},
    "fixed_window": {"limit": "amount", "window": "window"},
    "sliding_window": {"limit": "amount", "window": "window"},
    "sliding_window_log": {"limit": "amount", "window": "window"},
    "concurrency": {"limit": "amount", "lease_ttl": "window"},
    "quota": {"limit": "amount"},
}
ALL_NUMBERS = sorted({"rate", *(name for names in NUMBERS.values() for name in names)})


def _number(name: str, kind: str, given: Any) -> Any:
    """One that every limit has room for."""
    if kind == "window":
        return random.choice(("10s", "250ms", "1h", "7d"))
    if name in PER_SECOND:
        return random.choice((20, 0.5, 1e-3, 1000))
    if kind == "rate":
        return random.choice(("20/s", "10/minute", "7/3s", "1/hour"))
    return int(given) % 10_000 if isinstance(given, (int, float)) else 500


def _set(given: Any, algorithm: str) -> Body:
    """Of the given numbers those that the limit has; one where it has none of them."""
    given = given if isinstance(given, dict) else {}
    known = NUMBERS[algorithm]
    names = {kind: name for name, kind in known.items() if name in given} or {"amount": next(iter(known))}
    return {name: _number(name, kind, given.get(name)) for kind, name in names.items()}


def _subject(identity: Any) -> str:
    """Nobody that an override has named yet, with a made-up text in it, which may be of any characters."""
    texts = [text for text in identity.values() if isinstance(text, str)] if isinstance(identity, dict) else []
    return fresh_id("user") + "".join(texts[:1]).encode()[:MOST_SUBJECT].decode(errors="ignore")


def _owner(body: Body, in_full: bool) -> None:
    """The policy or the plan; the other one is null where it must be, or where it was."""
    named = next((name for name in OWNERS if body.get(name)), random.choice(OWNERS))
    for name in OWNERS:
        if name == named:
            body[name] = COUNTED
        elif in_full or name in body:
            body[name] = None


def _end(body: Body) -> None:
    """One end, and far away: who has ended is removed."""
    if body.get("ttl") and body.get("expires_at"):
        del body[random.choice(("ttl", "expires_at"))]
    if body.get("ttl"):
        body["ttl"] = random.choice(("24h", "36500d", "90m", "1000000s"))
    if body.get("expires_at"):
        body["expires_at"] = random.choice(("2099-01-01T00:00:00Z", "2099-06-01T12:00:00.5+02:00"))


def repair_override(body: Body, patches: bool) -> None:
    """Lets a body be an override of a limit that is there. A patch replaces the whole target, as the old may not fit."""
    _end(body)
    if patches and not {*OWNERS, "limit_name", "identity", "set"} & set(body):
        return
    algorithm = random.choice(LIMITS)["algorithm"]
    _owner(body, in_full=patches)
    body["limit_name"] = algorithm
    body["identity"] = {"subject": _subject(body.get("identity")), "resource": None}
    if not patches:
        del body["identity"]["resource"]
    if algorithm == "concurrency":
        body["identity"]["resource"] = "orders"
    numbers = _set(body.get("set"), algorithm)
    body["set"] = {**dict.fromkeys(ALL_NUMBERS), **numbers} if patches else numbers


def _belong(body: Body, tenant: str) -> None:
    """Names a tenant, and its policy or plan where one was named, one of the two."""
    body["tenant_id"] = tenant
    for name in OWNERS:
        if body.get(name):
            body[name] = COUNTED
    if all(body.get(name) for name in OWNERS):
        del body[random.choice(OWNERS)]


def counters(case: Any, world: World) -> None:
    """Somebody's counters: nobody has spent anything, which is an answer too."""
    if not any(case.body.get(name) for name in OWNERS):
        case.body[random.choice(OWNERS)] = COUNTED
    _belong(case.body, world.home().id)
    given = case.body["identity"]
    case.body["identity"] = {"subject": _subject(given) if random.random() < 0.8 else None}
    if len(given) > 1:
        case.body["identity"]["resource"] = "orders"


def clear(case: Any, world: World) -> None:
    """Of a tenant whose overrides nobody needs; most times there is one."""
    body = case.body
    if random.random() < 0.7:
        world.spare_override()
    _belong(body, world.yard)
