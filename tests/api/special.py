"""What makes calls of other operations than create, read, replace, patch and delete succeed."""

import random
from collections.abc import Callable
from typing import Any

from counted import clear, counters
from repair import repair, shortened
from world import ADMIN, World, fresh_id


YAML = "format: sluice/v1\nmode: shadow\n"
PERIODS = ("minute", "hour", "day")
OTHER_NAMES = (("signal", "signal_type"), ("user", "user_id"), ("cost", "quantity"))   # of a check's fields
PROBLEMS = ("unauthorized", "invalid", "forbidden", "not-found", "concurrent-change")


def _export(case: Any, world: World) -> None:
    """An organization or a tenant that is there."""
    tenant = world.any("tenants")
    for name, value in (("tenant_id", tenant.id), ("organization_id", tenant.owner)):
        if name in (case.query or {}):
            case.query[name] = value


def _version(case: Any, _: World) -> None:
    """The first version, which everything has."""
    case.path_parameters["version"] = 1


def _rollback(case: Any, _: World) -> None:
    case.body = {"version": 1}


def _bundle(body: dict[str, Any]) -> None:
    """The form of a list's items is not in the schema: these are ours."""
    organization, tenant = fresh_id("o"), fresh_id("t")
    items = {
        "organizations": [{"id": organization, "name": "An organization"}],
        "tenants": [{"id": tenant, "organization_id": organization, "mode": "monitor"}],
        "plans": [{"tenant_id": tenant, "id": "pro", "capacity": 100, "refill": "20/s", "key_by": ["subject"]}],
        "policies": [{"tenant_id": tenant, "endpoint": "/v1/pay", "limit": 100, "window": "10s"}],
        "keys": [],
        "overrides": [{"tenant_id": tenant, "id": "vip", "plan_id": "pro", "limit_name": "token_bucket",
                       "identity": {"subject": "user:7"}, "set": {"capacity": 500}}],
    }
    lists = random.choice((list(items), list(items)[:2]))
    for name in items:
        body.pop(name, None)
        if name in lists:
            body[name] = items[name]


def _apply(case: Any, _: World) -> None:
    """A bundle of its own."""
    if "organization_id" in (case.query or {}):
        del case.query["organization_id"]
    if isinstance(case.body, dict):
        _bundle(case.body)
    else:
        case.body = YAML


def _import(case: Any, world: World) -> None:
    """The configuration of the limiter that `from` names, for a tenant that is there."""
    case.query = {**(case.query or {}), "from": "gubernator", "tenant_id": world.any("tenants").id}
    case.body = [{"name": fresh_id("i"), "limit": 5, "duration": 1000}] if isinstance(case.body, (dict, list)) else \
        "- {name: imported, limit: 5, duration: 1000}\n"


def _validate(case: Any, world: World) -> None:
    """An object that fits, in a tenant that is there."""
    body = case.body
    if not isinstance(body, dict):
        case.body = YAML
        return
    if "format" in body:
        _bundle(body)
        return
    tenant = world.any("tenants").id
    for place in (body, case.query or {}):
        if place.get("tenant_id"):
            place["tenant_id"] = tenant
    kinds = {"plan": "plans", "policy": "policies", "tenant": "tenants", "organization": "organizations", "key": "keys"}
    repair(kinds[body["kind"]], body["object"], world, None, tenant, patches=False)


def _explain(case: Any, world: World) -> None:
    """A tenant that is there, and a key of it."""
    body = case.body
    tenant = world.any("tenants").id
    body["tenant_id"] = tenant
    if "tenant_id" in (case.query or {}):
        case.query["tenant_id"] = tenant
    if body.get("key_id"):
        body["key_id"] = f"{tenant}-keys-1"
    request = body["request"]
    for name, value in request.items():
        if isinstance(value, str):
            request[name] = shortened(value, 256)
        elif isinstance(value, dict):
            request[name] = {shortened(key, 256): shortened(item, 256) if isinstance(item, str) else item
                             for key, item in value.items()}


def _whatif(case: Any, world: World) -> None:
    """A policy that is there, edited; no agent has recorded anything."""
    body = case.body
    policy = world.any("policies")
    for name in ("policy", "from", "to"):
        body.pop(name, None)
    body.update(tenant_id=policy.owner, policy_id=policy.id, patch={"priority": 5}, minutes=random.randint(1, 60), wait="10ms")
    if "tenant_id" in (case.query or {}):
        case.query["tenant_id"] = policy.owner


def _problem(case: Any, _: World) -> None:
    """The page of an error that there is."""
    case.path_parameters["name"] = random.choice(PROBLEMS)


def keep_rules(case: Any) -> None:
    """Lets a valid call keep the rules about its own parameters that JSON Schema cannot say."""
    query = case.query or {}
    if case.operation.path.startswith(f"{ADMIN}/analytics") and "since" in query:
        query["since"] = "2026-01-01T00:00:00Z"   # before now, which is the default of `until`
        if "until" in query:
            query["until"] = "2026-01-02T00:00:00Z"
    if case.operation.path == f"{ADMIN}/revisions/{{revision}}" and "wait" in query:
        query["wait"] = "10ms"   # of at most 60 s
    if "by" in query:
        names = str(query["by"]).split(",")
        periods = [name for name in names if name in PERIODS]
        query["by"] = ",".join(name for name in names if name not in periods[1:])   # one of them at most
    request = case.body.get("request") if isinstance(case.body, dict) else None
    if case.operation.path == f"{ADMIN}/explain" and isinstance(request, dict):
        _check(request)


def _check(request: dict[str, Any]) -> None:
    """A check needs one dimension at least, and takes a field by one of its names."""
    if "plan_id" not in request:
        request.setdefault("resource", "GET:/v1/pay")
    for name, other in OTHER_NAMES:
        if name in request:
            request.pop(other, None)
    if "wait" in request:
        request["wait"] = "2s"


SPECIAL: dict[str, Callable[[Any, World], None]] = {
    f"{ADMIN}/export": _export,
    f"{ADMIN}/apply": _apply,
    f"{ADMIN}/import": _import,
    f"{ADMIN}/validate": _validate,
    f"{ADMIN}/explain": _explain,
    f"{ADMIN}/whatif": _whatif,
    "/problems/{name}": _problem,
    f"{ADMIN}/overrides/clear": clear,
    f"{ADMIN}/counters/read": counters,
    f"{ADMIN}/counters/reset": counters,
    **{f"{ADMIN}/{kind}/{{id}}/{what}": change for kind in ("plans", "policies")
       for what, change in (("versions/{version}", _version), ("rollback", _rollback))},
}
