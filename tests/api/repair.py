"""Makes a body that fits the schema fit the rules as well that JSON Schema cannot say.

Only what breaks such a rule is changed: texts too long in bytes, times and rates out of range, numbers that do not fit
together, expressions that are none, names of what does not exist.
"""

import random
from typing import Any, Optional

from counted import repair_override
from world import HOOK, LOCAL, Thing, World, fresh_id

Body = dict[str, Any]
EXPRESSIONS = ("region==us-east-1", "tag.env==production && method!=DELETE", "")
DEFAULT_KEY_BY = ["resource", "subject"]
DIMENSIONS = frozenset(("application", "service", "environment", "signal", "operation", "endpoint", "resource",
                        "method", "user", "subject", "api_key", "client", "client_id", "source_ip", "region", "severity",
                        "span_name", "topic", "consumer_group", "job_type"))
PARAMETERS = {"sample_rate": "sample", "max_delay": "delay", "downgrade_to": "downgrade"}   # of which action
VALUES: Body = {"sample_rate": 0.5, "max_delay": "1s", "downgrade_to": "slow"}
MOST_BYTES = {"name": 256, "downgrade_to": 256, "match_expr": 4096}
# The ways to write the numbers of each algorithm.
WINDOW: tuple[Body, ...] = ({"limit": 100, "window": "10s"}, {"rate": "10/minute"}, {"limit": 0, "window": "250ms"})
FORMS: dict[str, tuple[Body, ...]] = {
    "token_bucket": ({"capacity": 100, "refill": "20/s"}, {"bucket_capacity": 5, "refill_per_sec": 0.5}, {"rate": "7/3s"},
                     {"limit": 10, "window": "1h"}, {"capacity": 0, "refill_rate_per_sec": 1000}),
    "leaky_bucket": ({"capacity": 100, "leak": "20/s"}, {"bucket_capacity": 5, "leak_per_sec": 20}, {"rate": "1/hour"},
                     {"capacity": 1, "leak_rate_per_sec": 1e-3}),
    "fixed_window": (*WINDOW, {"limit": 7, "window": "7d", "align": "first"}),
    "sliding_window": WINDOW,
    "sliding_window_log": WINDOW,
    "concurrency": ({"limit": 10, "lease_ttl": "1m"},),
    "quota": ({"limit": 1000, "period": "month"}, {"limit": 5, "period": "day", "anchor": "2027-03-31T09:30:00Z"}),
    "gcra": ({"rate": "10/s"}, {"rate": "1/minute", "burst": 5}),
}
OTHER_NAMES = ("max_requests", "max_value", "expiry", "interval", "seconds")   # of `limit` and `window`
LIMIT_NUMBERS = sorted({name for forms in FORMS.values() for form in forms for name in form} | set(OTHER_NAMES))
ADDRESSES = ("10.0.0.7", "10.0.0.0/8", "2001:db8::/32", "192.168.*")


def _webhook(body: Body, patches: bool) -> None:
    """A URL that events may be sent to."""
    if not patches or "url" in body:
        body["url"] = HOOK


def shortened(text: str, size: int) -> str:
    """The text in at most so many bytes."""
    return text.encode()[:size].decode(errors="ignore")


def _dimensions(value: Any, without: list[str]) -> Any:
    """Names of dimensions that fit: not too many, not too long, and none of `without`."""
    if value is None:
        return None
    names = dict.fromkeys([value] if isinstance(value, str) else value)
    return [name for name in names if len(name.encode()) <= 256 and name not in without][:32]


def _limit(limit: Body) -> None:
    """One limit with the numbers of one algorithm, in one of the forms that this takes."""
    algorithm = str(limit.get("algorithm") or limit.get("strategy") or "").replace("-", "_")
    forms = FORMS.get(algorithm)
    if forms is None:
        algorithm, forms = random.choice(list(FORMS.items()))
        limit["algorithm"] = algorithm
        limit.pop("strategy", None)
    for name in LIMIT_NUMBERS:
        limit.pop(name, None)
    limit.update(random.choice(forms))


def _limits(body: Body) -> None:
    """A list of limits, those of a plan, or one limit that stands in the body itself: one of the three."""
    if isinstance(body.get("limits"), list):
        body.pop("plan_id", None)
    if isinstance(body.get("limits"), list) or body.get("plan_id"):
        for name in (*LIMIT_NUMBERS, "algorithm", "strategy", "unit"):
            body.pop(name, None)
    if body.get("plan_id"):
        body.pop("limits", None)
    elif not isinstance(body.get("limits"), list):
        _limit(body)
    outer = body.get("key_by") or []
    for limit in body.get("limits") or []:
        _limit(limit)
        limit.pop("name", None)
        if "key_by" in limit:
            limit["key_by"] = _dimensions(limit["key_by"], [*outer, *DEFAULT_KEY_BY])
    # It names limits of the body. A patch that changes limits replaces it, too.
    body["max_override"] = None if body.get("plan_id") else random.choice((None, 5, 100))


def _scope_value(value: Any) -> Any:
    if isinstance(value, list):
        return [shortened(item, 256) for item in value]
    return shortened(value, 256) if isinstance(value, str) else value


def _policy(body: Body) -> None:
    """What only policies have."""
    for place in (body, body.get("scope") or {}):
        for name in [name for name in place if name.startswith(("tag.", "attr."))]:
            if len(name.encode()) > 256:
                del place[name]
        if place.get("source_ip") is not None:
            place["source_ip"] = random.choice(ADDRESSES)
    scope = body["scope"] = {name: _scope_value(value) for name, value in (body.get("scope") or {}).items()}
    for name in [name for name in body if name in scope and name not in ("org", "tenant", "priority")]:
        del scope[name]   # it is there once already
    # A scope that no index can use is for few policies of a tenant.
    scope["resource"] = fresh_id("/r")
    body.pop("resource", None)
    if body.get("match_expr"):
        body["match_expr"] = random.choice(EXPRESSIONS)
    if body.get("metadata"):
        body["metadata"] = {shortened(name, 64) or "n": value and shortened(value, 512)
                            for name, value in body["metadata"].items()}
    if body.get("valid_from") and body.get("valid_to"):
        body["valid_from"], body["valid_to"] = "2027-01-01T00:00:00Z", "2027-06-01T00:00:00+02:00"


def _settings(body: Body, patches: bool) -> None:
    """What plans and policies share."""
    if "key_by" in body:
        body["key_by"] = _dimensions(body["key_by"], [])
    if not patches:
        for name, owner in PARAMETERS.items():
            if body.get("action") == owner:
                body[name] = VALUES[name]
            else:
                body.pop(name, None)
        if body.get("fail_open") is not None:
            body.pop("failure_mode", None)
    if not patches or any(body.get(name) is not None for name in ("limits", "plan_id", "algorithm", *LIMIT_NUMBERS)):
        _limits(body)
    else:
        body.pop("max_override", None)


def _patch(body: Body) -> None:
    """What a patch must say together, so that the whole fits whatever it was."""
    for name in [name for name in body if name in DIMENSIONS or name.startswith(("tag.", "attr."))]:
        del body[name]   # the scope may have it already
    if isinstance(body.get("limits"), list):
        body["plan_id"] = None
    elif body.get("plan_id"):
        body["limits"] = None
    elif body.get("algorithm") or body.get("strategy"):
        body["limits"] = body["plan_id"] = None
    else:
        body.pop("limits", None)
        body.pop("plan_id", None)
    action = body.get("action")
    for name, owner in PARAMETERS.items():
        if "action" in body and action != owner:
            body[name] = None
        elif action == owner:
            body[name] = VALUES[name]
        else:
            body.pop(name, None)
    if body.get("fail_open") is not None:
        body["failure_mode"] = None
    if {"valid_from", "valid_to"} & set(body):
        body["valid_from"], body["valid_to"] = "2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"


def _token(body: Body, world: World, patch: Optional[Thing]) -> None:
    """What a token may reach: what exists, or, in a patch, what it reached before."""
    if body.get("expires_at"):
        body["expires_at"] = "2099-01-01T00:00:00Z"
    if patch is not None:
        for name in ("id", "role", "organization_id", "tenant_ids"):
            body.pop(name, None)
        return
    body.pop("organization_id", None)
    body.pop("tenant_ids", None)
    if body.get("role") != "platform_admin":
        tenant = world.any("tenants")
        body["organization_id"] = tenant.owner
        if random.random() < 0.5:
            body["tenant_ids"] = [tenant.id]


def _binding(body: Body, world: World, place: Optional[Thing], patches: bool) -> None:
    """A namespace or a group that no other one has, and an organization that stays the object's."""
    for name in ("namespace", "group"):
        if name in body:
            body[name] = fresh_id(name)
    if "role" in body:
        body["role"] = "auditor"   # of any scope
    body.pop("organization_id", None)
    body.pop("tenant_ids", None)
    organization = place.owner if place is not None else world.any("organizations").id
    if organization and not patches:
        body["organization_id"] = organization
    if organization and random.random() < 0.5:
        body["tenant_ids"] = [tenant.id for tenant in world.kept["tenants"] if tenant.owner == organization]


def repair(kind: str, body: Body, world: World, place: Optional[Thing], tenant: str, patches: bool) -> None:
    """Changes a body in place. `place`: the object its path names; `tenant`: the tenant of the call, "" for none."""
    for name, size in MOST_BYTES.items():
        if isinstance(body.get(name), str):
            body[name] = shortened(body[name], size)
    if kind in ("tokens", "agent-tokens"):
        _token(body, world, place)
        return
    if place is not None and "id" in body:
        body["id"] = place.id
    elif place is None and (body.get("id") or body.get("name")):   # the id of a new one may be made of its name
        body["id"] = fresh_id()
    if kind in ("bindings", "group-mappings"):
        _binding(body, world, place, patches)
    if kind == "tenants":
        body["organization_id"] = place.owner if place and place.owner else world.any("organizations").id
    if kind in (*LOCAL, "keys"):
        if tenant:
            body["tenant_id"] = tenant
        else:
            body.pop("tenant_id", None)
    if kind == "overrides":
        repair_override(body, patches)
    if kind == "webhooks":
        _webhook(body, patches)
    if kind == "plans":
        body.pop("plan_id", None)
    if kind in ("plans", "policies") and body.get("name"):   # unique within a tenant
        body["name"] = f"{shortened(body['name'], 200)} {fresh_id()}"
    if kind in ("plans", "policies"):
        _settings(body, patches)
        if patches:
            _patch(body)
        if kind == "plans":
            body.pop("plan_id", None)   # a patch of a policy says that it has none
    if kind == "policies":
        _policy(body)
        if body.get("plan_id"):
            plans = [plan.id for plan in world.kept["plans"] if plan.owner == tenant]
            body["plan_id"] = random.choice(plans or [body["plan_id"]])
