"""Schemathesis' hooks: let most valid calls name what exists, and count how they are answered.

A schema says which bodies are well-formed, not which tenants there are. Four of five valid calls are given ids of
existing objects, and bodies that keep the rules JSON Schema cannot say; the fifth goes out as it was made up. Calls of
the stateful phase keep their ids: these are what it is about.
"""

import atexit
import itertools
import json
import os
import random
import uuid
from collections import Counter
from pathlib import Path
from typing import Any, Optional

import schemathesis
import urllib3.util.connection as connections
from urllib3.connectionpool import HTTPConnectionPool
from schemathesis.core.media_types import YAML_MEDIA_TYPES
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import TestPhase

from repair import FORMS, repair
from special import SPECIAL, keep_rules
from world import ADMIN, KINDS, LOCAL, Thing, World, fresh_id

AS_MADE_UP = 0.2   # this share of valid calls stays what it was

world = World(os.environ["SLUICE_API_URL"], os.environ["SLUICE_API_TOKEN"])
world.fill()
random.seed(int(os.environ.get("SLUICE_API_SEED", "0")))
counts: dict[str, Counter[str]] = {}
cursors: dict[str, list[str]] = {}   # those of each list that the server gave out
_connect = connections.create_connection
_sources = itertools.count(os.getpid() * 5000)   # far from those of another process


def connect_from_anywhere(address: Any, timeout: Any = None, source_address: Any = None,
                          socket_options: Any = None) -> Any:
    """Each connection comes from a loopback address of its own, or the checks without a token would be throttled."""
    number = next(_sources) % (250 * 250 * 250)
    source = f"127.{1 + number // 62500}.{1 + number // 250 % 250}.{1 + number % 250}"
    return _connect(address, timeout, (source, 0), socket_options)


def close_connection(pool: HTTPConnectionPool, connection: Any) -> None:
    """Keeps none for the next call, so that it comes from elsewhere."""
    if connection is not None:
        connection.close()


@schemathesis.deserializer(*YAML_MEDIA_TYPES)
def yaml_as_text(context: Any, response: Any) -> str:
    """YAML is a text to who reads the description, and its schema says so."""
    return str(response.content.decode())


connections.create_connection = connect_from_anywhere
HTTPConnectionPool._put_conn = close_connection  # type: ignore[method-assign]


@atexit.register
def write_counts() -> None:
    """What was answered to valid data, for who runs this."""
    Path(os.environ["SLUICE_API_COUNTS"]).write_text(json.dumps(counts))


def kind_of(path: str) -> Optional[str]:
    """"plans" for every path of plans; the mode and the quotas of a tenant are about tenants."""
    parts = path.removeprefix(f"{ADMIN}/").removeprefix("modes/").removeprefix("quotas/").split("/")
    return parts[0] if path.startswith(ADMIN) and parts[0] in KINDS else None


def is_plain(path: str, kind: str) -> bool:
    """Whether a body of this path is an object of the kind, or a patch of one."""
    return path in (f"{ADMIN}/{kind}", f"{ADMIN}/{kind}/{{id}}")


def is_positive(case: Any, location: ParameterLocation) -> bool:
    """Whether this part of the call is valid, or not there at all."""
    component = case.meta.components.get(location)
    return component is None or component.mode.is_positive


def tenant_of(kind: str, method: str) -> Thing:
    """Where an object of this kind may be made."""
    if kind == "webhooks" and method.upper() != "GET":
        return world.tenant_for_webhook()
    return world.home() if kind == "overrides" else world.any("tenants")


def target_of(case: Any, kind: str) -> Optional[Thing]:
    """An object for the path to name, and whose it is; a new one where a call may create it."""
    if "{id}" not in case.operation.path:
        tenant = tenant_of(kind, case.method)
        return Thing("", tenant.id) if kind in LOCAL else None
    if "/quotas/" in case.operation.path:   # made-up quotas would refuse what other calls make
        owner = world.victim(kind)
        if case.method.upper() == "DELETE":
            world.call("PUT", f"quotas/{kind}/{owner.id}", {"quotas": {"policies": 100}})
        return owner
    if case.method.upper() == "DELETE":
        return world.victim(kind)
    if case.method.upper() == "PUT" and is_plain(case.operation.path, kind) and random.random() < 0.5:
        tenant = tenant_of(kind, case.method)
        return Thing(fresh_id(), tenant.id if kind in (*LOCAL, "keys") else "")
    return world.any(kind)


def place(case: Any, kind: str, target: Thing) -> None:
    """Path and query name this object."""
    if "{id}" in case.operation.path:
        case.path_parameters["id"] = target.id
    if "{delivery}" in case.operation.path:
        case.path_parameters["delivery"] = world.delivery(target)
    query = case.query
    if kind in LOCAL and "{id}" in case.operation.path or query and "tenant_id" in query:
        query["tenant_id"] = target.owner


def settle_cursor(case: Any) -> None:
    """A cursor is what the server gave out, or none: no schema can say so."""
    name = "after" if case.operation.path == f"{ADMIN}/audit/verify" else "cursor"
    if name not in (case.query or {}):
        return
    known = cursors.get(case.operation.path, [])
    if case.query[name] in known:
        return
    if known and random.random() < 0.5:
        case.query[name] = random.choice(known)
    else:
        del case.query[name]


def without_fractions(value: Any) -> Any:
    """10.0 is an integer to JSON Schema, and none to who reads checks."""
    if isinstance(value, dict):
        return {name: without_fractions(item) for name, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def settle_headers(case: Any) -> None:
    """Conditions that hold, and a key of its own for each call."""
    for name in [name for name in case.headers or {} if name.lower() in ("if-match", "if-none-match")]:
        del case.headers[name]
    for name in case.headers or {}:
        if name.lower() == "idempotency-key":
            case.headers[name] = str(uuid.uuid4())


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Puts what exists into most calls."""
    kind = kind_of(case.operation.path)
    if case.meta is None:
        return
    if is_positive(case, ParameterLocation.QUERY):
        settle_cursor(case)
    if case.operation.path == f"{ADMIN}/explain" and isinstance(case.body, dict) and "request" in case.body:
        case.body["request"] = without_fractions(case.body["request"])
    valid = case.meta.generation.mode.is_positive
    if valid:
        keep_rules(case)
    else:
        keep_faulty(case.body.get("object") if isinstance(case.body, dict) and "object" in case.body else case.body)
    if random.random() < AS_MADE_UP:
        return
    if kind is not None:
        settle(case, kind, valid)
    if valid and case.operation.path in SPECIAL and case.meta.phase.name != TestPhase.STATEFUL:
        SPECIAL[case.operation.path](case, world)


def keep_faulty(body: Any) -> None:
    """Leaves no doubt that a body is faulty. The server takes limits without `algorithm`, or with another name of one, which
    the schema leaves out so that generators make clear types; this would look like a faulty body that was accepted."""
    limits = body.get("limits") if isinstance(body, dict) else None
    for limit in limits if isinstance(limits, list) else []:
        if isinstance(limit, dict) and str(limit.get("algorithm")) not in FORMS:
            limit["faulty"] = True


def settle(case: Any, kind: str, valid: bool) -> None:
    """Lets a call name an object of its kind, meet its conditions, and bring a body that keeps the rules."""
    stateful = case.meta.phase.name == TestPhase.STATEFUL
    target = None
    if not stateful and is_positive(case, ParameterLocation.PATH) and is_positive(case, ParameterLocation.QUERY):
        target = target_of(case, kind)
        if target is not None:
            place(case, kind, target)
    if valid and is_positive(case, ParameterLocation.HEADER):
        settle_headers(case)
    if valid and isinstance(case.body, dict) and is_plain(case.operation.path, kind):
        path_id = (case.path_parameters or {}).get("id")
        tenant = (case.query or {}).get("tenant_id") or (target.owner if target else "")
        tenant = tenant or ("" if path_id and kind == "keys" else world.any("tenants").id)
        owner = target.owner if target else ""
        named = Thing(str(path_id), owner) if path_id else None
        repair(kind, case.body, world, named, str(tenant), patches=case.method.upper() == "PATCH")


def remember_cursor(path: str, response: Any) -> None:
    """Keeps the cursor of the next page, if this is a page."""
    if not path.startswith(ADMIN):
        return
    document = response.json()
    following = document.get("next") if isinstance(document, dict) else None
    if following:
        cursors[path] = [*cursors.get(path, [])[-20:], following]


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    """Counts the answer, and remembers what was made."""
    kind = kind_of(case.operation.path)
    if response.status_code == 201 and kind is not None:
        world.made(kind, response.json())
    is_json = (response.headers.get("content-type") or [""])[0].startswith("application/json")
    if response.status_code == 200 and is_json and "{id}" not in case.operation.path and case.method.upper() == "GET":
        remember_cursor(case.operation.path, response)
    # Calls that a check makes on its own, and those of other methods, are nobody's examples.
    if case.meta is None or response.request.method != case.operation.method.upper():
        return
    mode = "valid" if case.meta.generation.mode.is_positive else "faulty"
    counts.setdefault(case.operation.label, Counter())[f"{mode} {response.status_code}"] += 1
