"""Every route, as every role, in every scope: each answer is what the table of `support/roles.py` says."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from support.admin import ADMIN, AdminClient, bucket, fresh_id
from support.client import Answer
from support.postgres import SUPERUSER
from support.redis_server import RedisServer
from support.roles import PERMISSIONS, ROUTES, Ask, Caller, Place, Row, override
from support.server import Server, run_command

_sources = count(2)


@dataclass
class World:
    """Two tenants of one organization and one of another, and somebody of each role in each scope."""

    server: Server
    places: dict[str, Place] = field(default_factory=dict)
    callers: dict[str, Caller] = field(default_factory=dict)

    @staticmethod
    def make(server: Server) -> "World":
        """On a running server."""
        world = World(server)
        with server.admin() as admin:
            one, other = admin.organization("one"), admin.organization("other")
            world.places = {"own": _place(admin, one), "beside": _place(admin, one), "elsewhere": _place(admin, other)}
            world.callers["platform_admin"] = Caller("platform_admin", "platform", token=server.token)
            for role in ("org_admin", "operator", "auditor"):
                for scope in ("platform", "organization", "tenant"):
                    if (role, scope) != ("org_admin", "platform"):
                        caller = _caller(admin, role, scope, world.places["own"])
                        world.callers[f"{role} of {scope}"] = caller
        return world


def _place(admin: AdminClient, organization: str) -> Place:
    tenant = admin.tenant(organization)
    assert admin.put("/plans/pro", bucket(), tenant=tenant).status == 201
    assert admin.put("/policies/pro", {"resource": "x", "limit": 1, "window": "1s"}, tenant=tenant).status == 201
    assert admin.put("/overrides/pro", override(), tenant=tenant).status == 201
    assert admin.put("/webhooks/pro", {"url": "https://hooks.example.com/", "enabled": False}, tenant=tenant).status == 201
    owners = {"name": "n", "organization_id": organization, "tenant_ids": [tenant]}
    return Place(organization, tenant, admin.create("/keys", {"tenant_id": tenant, "name": "k"})["id"],
                 admin.create("/tokens", {**owners, "role": "auditor"})["id"], admin.create("/agent-tokens", owners)["id"],
                 admin.create("/bindings", {"namespace": fresh_id("ns"), "organization_id": organization, "tenant_ids": [tenant]})["id"],
                 admin.create("/group-mappings", {"group": fresh_id("g"), "role": "auditor", "organization_id": organization,
                                                  "tenant_ids": [tenant]})["id"])


def _caller(admin: AdminClient, role: str, scope: str, place: Place) -> Caller:
    body: dict[str, Any] = {"name": f"{role} of {scope}", "role": role}
    if scope != "platform":
        body["organization_id"] = place.organization
    if scope == "tenant":
        body["tenant_ids"] = [place.tenant]
    made = admin.create("/tokens", body)
    return Caller(role, scope, body.get("organization_id", ""), tuple(body.get("tenant_ids", ())), made["token"])


@pytest.fixture(scope="module")
def server(module_server: Callable[..., Server], redis: RedisServer, module_folder: Path) -> Server:
    """One for the module, with a Redis, without which there are no overrides, and with a key for webhooks."""
    key = module_folder / "webhook.key"
    key.write_text("k" * 32)
    return module_server("--counters", redis.counters, "--notify-secret-file", str(key),
                         "--playground-agent", "http://127.0.0.1:9").start()


@pytest.fixture(scope="module")
def world(server: Server) -> World:
    """One for the module."""
    return World.make(server)


@pytest.fixture
def revision(server: Server) -> Iterator[Callable[[], int]]:
    """Reads the revision, whoever is asked."""
    with closing(psycopg2.connect(server.database.url(SUPERUSER))) as connection:
        connection.autocommit = True

        def read() -> int:
            with connection.cursor() as cursor:
                cursor.execute("SELECT revision FROM revision")
                return int(cursor.fetchall()[0][0])

        yield read


def test_every_route_of_the_server_is_in_the_table_with_its_permission_and_level(server: Server) -> None:
    printed = run_command(server.program, "routes")
    assert printed.returncode == 0
    shown = {}
    for line in printed.stdout.splitlines():
        method, path, permission, level, roles = line.split(None, 4)
        shown[f"{method} {path.removeprefix(ADMIN)}"] = (permission, level)
        assert set(roles.split(", ")) == PERMISSIONS[permission], line
    assert shown == {name: (row.permission, row.level) for name, row in ROUTES.items()}


def call(client: AdminClient, route: str, ask: Ask) -> Answer:
    """Makes a call."""
    return client.request(route.split()[0], ask.path, ask.body, query=ask.query)


@pytest.mark.parametrize("route", ROUTES)
def test_a_route_answers_every_role_in_every_scope_as_the_table_says(world: World, revision: Callable[[], int],
                                                                     route: str) -> None:
    row = ROUTES[route]
    with world.server.admin() as admin:
        for name, caller in world.callers.items():
            with world.server.admin(caller.token) as client:
                for where, place in world.places.items():
                    ask = row.ask(admin, place)
                    before = revision()
                    answer = call(client, route, ask)
                    check(row, caller, place, answer, f"{route} as {name}, {where}: {answer}")
                    assert answer.status < 300 or revision() == before, f"{route} as {name}, {where}: refused, and yet done"


def check(row: Row, caller: Caller, place: Place, answer: Answer, what: str) -> None:
    """Compares an answer with what is expected."""
    expected = row.expected(caller, place)
    assert (200 if answer.status < 300 else answer.status) == expected, what
    if expected == 403:
        assert answer.body["type"] == "/problems/forbidden", what
        if caller.role not in PERMISSIONS[row.permission]:
            assert row.permission in answer.body["detail"] and "platform_admin" in answer.body["detail"], what
    if row.lists and expected == 200:
        named = [item.get(row.lists) or "" for item in answer.body["items"]]
        assert named or row.lists == "tenant_ids", what


LISTS = [route for route, row in ROUTES.items() if row.lists]


@pytest.mark.parametrize("route", LISTS)
def test_a_list_shows_everything_in_the_callers_scope_and_nothing_else(world: World, route: str) -> None:
    row = ROUTES[route]
    with world.server.admin() as admin:
        path = row.ask(admin, world.places["own"]).path
    for name, caller in world.callers.items():
        if caller.role not in PERMISSIONS[row.permission]:
            continue
        with world.server.admin(caller.token) as client:
            shown = {owner for item in client.items(path, query={"limit": 1000}) for owner in owners(item, row.lists)}
        for where, place in world.places.items():
            mine = place.organization if route == "GET /organizations" else place.tenant
            visible = caller.sees_organization(place) if route == "GET /organizations" else caller.sees(place)
            assert (mine in shown) == visible, f"{route} as {name}: {where}"


def owners(item: dict[str, Any], member: str) -> list[str]:
    """The tenants an item is about."""
    value = item.get(member) or []
    return [value] if isinstance(value, str) else value


# --- strangers -------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def strangers(world: World) -> dict[str, str]:
    """What is no good token, or no more."""
    place = world.places["own"]
    owner = {"name": "n", "organization_id": place.organization}
    with world.server.admin() as admin:
        revoked, gone, expired = (admin.create("/tokens", {**owner, "role": "org_admin"}) for _ in range(3))
        assert admin.patch(f"/tokens/{revoked['id']}", {"revoked": True}).status == 200
        assert admin.delete(f"/tokens/{gone['id']}").status == 204
        assert admin.patch(f"/tokens/{expired['id']}", {"expires_at": "2020-01-01T00:00:00Z"}).status == 200
        return {"no token": "", "a revoked one": revoked["token"], "a deleted one": gone["token"],
                "an expired one": expired["token"],
                "an API key": admin.create("/keys", {"tenant_id": place.tenant, "name": "k"})["key"],
                "an agent's": admin.create("/agent-tokens", {**owner, "tenant_ids": [place.tenant]})["token"]}


@pytest.mark.fault("foreign-and-expired-credentials")
@pytest.mark.parametrize("route", ROUTES)
def test_a_route_is_closed_to_strangers_and_tells_revoked_and_deleted_tokens_the_same(
        world: World, revision: Callable[[], int], strangers: dict[str, str], route: str) -> None:
    codes, unknown = {}, set()
    with world.server.admin() as admin:
        ask = ROUTES[route].ask(admin, world.places["own"])
    before = revision()
    # Failures are counted by address: each route's strangers come from another one.
    source = f"127.1.{next(_sources)}.1"
    for name, token in strangers.items():
        with world.server.admin(token, source=source) as client:
            answer = call(client, route, ask)
        assert answer.status == 401, f"{route} with {name}: {answer}"
        codes[name] = answer.body["code"]
        if codes[name] == "unknown":
            unknown.add(json.dumps({**answer.body, "request_id": ""}))
    assert codes == {"no token": "missing", "a revoked one": "unknown", "a deleted one": "unknown",
                     "an expired one": "expired", "an API key": "wrong_kind", "an agent's": "wrong_kind"}
    assert len(unknown) == 1 and revision() == before


# --- what is out of scope looks like what is not there ---------------------------------------------------------------

@pytest.mark.fault("foreign-and-expired-credentials")
@pytest.mark.parametrize("route", [route for route, row in ROUTES.items() if "{id}" in route and row.outside == 404 and row.of != "any"])
def test_what_is_beyond_the_scope_is_answered_as_what_is_not_there(world: World, route: str) -> None:
    """Apart from the ids themselves, byte by byte."""
    row = ROUTES[route]
    place = world.places["elsewhere"]
    nowhere = Place(*(fresh_id("none") for _ in range(7)))
    for name, caller in world.callers.items():
        if caller.scope == "platform" or row.expected(caller, place) != 404:
            continue
        with world.server.admin() as admin, world.server.admin(caller.token) as client:
            there = row.ask(admin, place)
            first = call(client, route, there)
            absent = Ask(there.path, there.body, dict(there.query))
            for real, made_up in zip(vars(place).values(), vars(nowhere).values()):
                absent.path = absent.path.replace(real, made_up)
                absent.query = {key: value.replace(real, made_up) for key, value in absent.query.items()}
            if absent.path == there.path and absent.query == there.query:   # the object was made for this call
                absent.path = there.path.rsplit("/", 1)[0] + "/" + nowhere.tenant
            second = call(client, route, absent)
            assert without_ids(first, there, place) == without_ids(second, absent, nowhere), f"{route} as {name}"


def without_ids(answer: Answer, ask: Ask, place: Place) -> tuple[int, str, list[str]]:
    """An answer in which ids and what is different each time are blotted out."""
    text = json.dumps(answer.body).replace(answer.body["request_id"], "REQUEST")
    for name in (*vars(place).values(), ask.path.split("/")[2]):
        text = text.replace(name, "ID")
    return answer.status, text, sorted(answer.headers.keys() - {"content-length"})


# --- grants ----------------------------------------------------------------------------------------------------------

RANK = ["platform_admin", "org_admin", "operator", "auditor"]


def test_a_token_never_grants_more_than_it_has(world: World, revision: Callable[[], int]) -> None:
    own, beside, elsewhere = (world.places[name] for name in ("own", "beside", "elsewhere"))
    scopes = {"platform": ("", ()), "organization": (own.organization, ()), "own": (own.organization, (own.tenant,)),
              "beside": (own.organization, (beside.tenant,)), "both": (own.organization, (own.tenant, beside.tenant)),
              "elsewhere": (elsewhere.organization, (elsewhere.tenant,)), "other organization": (elsewhere.organization, ())}
    within = {"platform": set(scopes), "organization": {"organization", "own", "beside", "both"}, "tenant": {"own"}}
    # What a body leaves out is as far as the giver reaches, and so cannot be asked for by leaving it out.
    left_out = {"platform": (), "organization": ("platform",), "tenant": ("platform", "organization")}
    for name, caller in world.callers.items():
        with world.server.admin(caller.token) as client:
            for role in RANK:
                for scope, (organization, tenants) in scopes.items():
                    possible = {"platform_admin": scope == "platform", "org_admin": scope != "platform"}.get(role, True)
                    allowed = (possible and caller.role in PERMISSIONS["grant"] and scope in within[caller.scope] and
                               RANK.index(role) >= RANK.index(caller.role))
                    body: dict[str, Any] = {"name": "n", "role": role, "tenant_ids": list(tenants) or None,
                                            "organization_id": organization or None}
                    if scope in left_out[caller.scope]:
                        continue
                    before = revision()
                    answer = client.post("/tokens", body)
                    assert (answer.status == 201) == allowed, f"{name} grants {role} of {scope}: {answer}"
                    assert answer.status in (201, 403, 422) and (allowed or revision() == before)


def test_what_a_new_token_leaves_out_is_as_far_as_its_giver_reaches(world: World) -> None:
    for name in ("org_admin of organization", "org_admin of tenant"):
        caller = world.callers[name]
        with world.server.admin(caller.token) as client:
            for path, body in (("/tokens", {"name": "n", "role": "operator"}), ("/agent-tokens", {"name": "n"})):
                made = client.create(path, body)
                assert made["organization_id"] == caller.organization
                assert tuple(made.get("tenant_ids") or ()) == caller.tenants


def test_a_token_of_one_tenant_need_not_name_it(world: World) -> None:
    caller = world.callers["org_admin of tenant"]
    with world.server.admin(caller.token) as client:
        name = fresh_id("p")
        assert client.put(f"/plans/{name}", bucket(id=name)).body["tenant_id"] == caller.tenants[0]
        assert client.get(f"/plans/{name}").status == 200
        rule = client.post("/policies", {"endpoint": f"/{name}", "strategy": "token_bucket", "key_by": "api_key", "limit": 100,
                                         "window": "10s", "fail_open": False})
        assert (rule.status, rule.body["tenant_id"]) == (201, caller.tenants[0])
        assert client.create("/keys", {"name": "k"})["tenant_id"] == caller.tenants[0]


def test_a_caller_cannot_take_an_id_that_somebody_elses_object_has(world: World) -> None:
    """Ids of tenants and keys are unique everywhere: a taken one is refused, and its owner's object stays."""
    caller, theirs = world.callers["org_admin of organization"], world.places["elsewhere"]
    own = world.places["own"]
    with world.server.admin(caller.token) as client, world.server.admin() as admin:
        for path, body in ((f"/keys/{theirs.key}", {"tenant_id": own.tenant, "name": "mine"}),
                           (f"/tenants/{theirs.tenant}", {"organization_id": own.organization})):
            before = admin.get(path)
            answer = client.put(path, body)
            assert answer.status == 409, answer
            assert admin.get(path).body == before.body
