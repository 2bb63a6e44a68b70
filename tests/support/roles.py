"""Who may do what, as it was agreed: the expectations that the server is held to, written down apart from its own table."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Optional

from support.admin import AdminClient, bucket, fresh_id

PERMISSIONS = {
    "read": {"platform_admin", "org_admin", "operator", "auditor"},
    "read_tokens": {"platform_admin", "org_admin", "auditor"},
    "read_audit": {"platform_admin", "org_admin", "operator", "auditor"},
    "operate": {"platform_admin", "org_admin", "operator"},
    "configure": {"platform_admin", "org_admin"},
    "grant": {"platform_admin", "org_admin"},
    "manage_organizations": {"platform_admin"},
}
REACH = {"tenant": 0, "organization": 1, "platform": 2}


@dataclass
class Place:
    """A tenant with one object of each kind."""

    organization: str
    tenant: str
    key: str
    token: str
    agent_token: str
    binding: str
    mapping: str


@dataclass
class Caller:
    """Somebody with a role in a scope, and the token to prove it."""

    role: str
    scope: str                   # platform, organization or tenant
    organization: str = ""
    tenants: tuple[str, ...] = ()
    token: str = ""

    def sees(self, place: Place) -> bool:
        """Whether a tenant is in scope."""
        return self.sees_organization(place) and (self.scope != "tenant" or place.tenant in self.tenants)

    def sees_organization(self, place: Place) -> bool:
        """Whether a tenant's organization is in scope: it is shown to whoever has one of its tenants."""
        return self.scope == "platform" or self.organization == place.organization


@dataclass
class Ask:
    """A call about a place."""

    path: str
    body: Optional[dict[str, Any]] = None
    query: dict[str, str] = field(default_factory=dict)


Make = Callable[[AdminClient, Place], Ask]


@dataclass(frozen=True)
class Row:
    """What is expected of a route. `ask` may prepare, as platform_admin, what a call then uses up. `inside`: the answer to a
    caller who may; `outside`: about a place beyond the caller's scope. `of`: what must be in scope, the tenant, its
    organization, or nothing ("any"); "session": a call with a token finds nothing."""

    permission: str
    level: str
    ask: Make
    outside: int = 404
    of: str = "tenant"
    inside: int = 200
    lists: str = ""   # of a list: the member of its items that names their place

    def expected(self, caller: Caller, place: Place) -> int:
        """The status; 200 stands for every success."""
        if caller.role not in PERMISSIONS[self.permission] or REACH[caller.scope] < REACH[self.level]:
            return 403
        within = {"tenant": caller.sees, "organization": caller.sees_organization, "any": lambda _: True,
                  "session": lambda _: False}[self.of](place)
        return self.inside if within else self.outside


def _at(path: str, body: Optional[dict[str, Any]] = None) -> Make:
    """A call at a fixed path with the tenant in the query."""
    return lambda _, place: Ask(path, body, {"tenant_id": place.tenant})


def _named(path: Callable[[Place], str], **body: Any) -> Make:
    """A call at a path with an id that is unique everywhere; a name that is new each time goes along where there is a body."""
    return lambda _, place: Ask(path(place), {**body, "name": fresh_id("n")} if body else None)


def _local(kind: str, fields: dict[str, Any]) -> dict[str, Row]:
    """Plans or policies."""
    path, one = f"/{kind}", f"/{kind}/pro"

    def sacrifice(admin: AdminClient, place: Place) -> Ask:
        name = fresh_id("x")
        assert admin.put(f"{path}/{name}", fields, tenant=place.tenant).status == 201
        return Ask(f"{path}/{name}", None, {"tenant_id": place.tenant})

    def fresh(_: AdminClient, place: Place) -> Ask:
        return Ask(path, {**fields, "id": fresh_id("x"), "tenant_id": place.tenant})

    def renamed(_: AdminClient, place: Place) -> Ask:
        return Ask(one, {"name": fresh_id("n")}, {"tenant_id": place.tenant})

    def replaced(_: AdminClient, place: Place) -> Ask:
        return Ask(one, {**fields, "name": fresh_id("n")}, {"tenant_id": place.tenant})

    return {f"GET {path}": Row("read", "tenant", lambda *_: Ask(path), of="any", lists="tenant_id"),
            f"POST {path}": Row("configure", "tenant", fresh, 422),
            f"GET {path}/{{id}}": Row("read", "tenant", _at(one)),
            f"PUT {path}/{{id}}": Row("configure", "tenant", replaced, 422),
            f"PATCH {path}/{{id}}": Row("configure", "tenant", renamed),
            f"DELETE {path}/{{id}}": Row("configure", "tenant", sacrifice),
            f"GET {path}/{{id}}/versions": Row("read", "tenant", _at(f"{one}/versions")),
            f"GET {path}/{{id}}/versions/{{version}}": Row("read", "tenant", _at(f"{one}/versions/1")),
            f"POST {path}/{{id}}/rollback": Row("configure", "tenant", _at(f"{one}/rollback", {"version": 1}))}


def _tokens(kind: str, fields: dict[str, Any], own: Callable[[Place], str]) -> dict[str, Row]:
    """Tokens of admins or of agents."""
    path = f"/{kind}"

    def made(place: Place) -> dict[str, Any]:
        return {**fields, "name": fresh_id("n"), "organization_id": place.organization, "tenant_ids": [place.tenant]}

    def sacrifice(admin: AdminClient, place: Place) -> Ask:
        return Ask(f"{path}/{admin.create(path, made(place))['id']}")

    return {f"GET {path}": Row("read_tokens", "tenant", lambda *_: Ask(path), of="any", lists="tenant_ids"),
            f"POST {path}": Row("grant", "tenant", lambda _, place: Ask(path, made(place)), 422),
            f"GET {path}/{{id}}": Row("read_tokens", "tenant", _named(lambda place: f"{path}/{own(place)}")),
            f"PATCH {path}/{{id}}": Row("grant", "tenant", lambda _, place: Ask(f"{path}/{own(place)}", {"name": fresh_id("n")})),
            f"DELETE {path}/{{id}}": Row("grant", "tenant", sacrifice)}


def binding_of(place: Place, **fields: Any) -> dict[str, Any]:
    """A binding of a namespace that no other binding has."""
    return {"namespace": fresh_id("ns"), "organization_id": place.organization, "tenant_ids": [place.tenant], **fields}


def _bindings() -> dict[str, Row]:
    """An organization sees its own; the platform writes them."""
    path = "/bindings"

    def one(place: Place) -> str:
        return f"{path}/{place.binding}"

    def sacrifice(admin: AdminClient, place: Place) -> Ask:
        return Ask(f"{path}/{admin.create(path, binding_of(place))['id']}")

    return {f"GET {path}": Row("read_tokens", "tenant", lambda *_: Ask(path), of="any", lists="tenant_ids"),
            f"POST {path}": Row("grant", "platform", lambda _, place: Ask(path, binding_of(place))),
            f"GET {path}/{{id}}": Row("read_tokens", "tenant", _named(one)),
            f"PUT {path}/{{id}}": Row("grant", "platform", lambda _, place: Ask(one(place), binding_of(place))),
            f"PATCH {path}/{{id}}": Row("grant", "platform", lambda _, place: Ask(one(place), {"namespace": fresh_id("ns")})),
            f"DELETE {path}/{{id}}": Row("grant", "platform", sacrifice)}


def mapping_of(place: Place, **fields: Any) -> dict[str, Any]:
    """A mapping of a group that no other mapping has."""
    return {"group": fresh_id("g"), "role": "auditor", "organization_id": place.organization, "tenant_ids": [place.tenant], **fields}


def _group_mappings() -> dict[str, Row]:
    """As bindings: an organization sees its own; the platform writes them."""
    path = "/group-mappings"

    def one(place: Place) -> str:
        return f"{path}/{place.mapping}"

    def sacrifice(admin: AdminClient, place: Place) -> Ask:
        return Ask(f"{path}/{admin.create(path, mapping_of(place))['id']}")

    return {f"GET {path}": Row("read_tokens", "tenant", lambda *_: Ask(path), of="any", lists="tenant_ids"),
            f"POST {path}": Row("grant", "platform", lambda _, place: Ask(path, mapping_of(place))),
            f"GET {path}/{{id}}": Row("read_tokens", "tenant", _named(one)),
            f"PUT {path}/{{id}}": Row("grant", "platform", lambda _, place: Ask(one(place), mapping_of(place))),
            f"PATCH {path}/{{id}}": Row("grant", "platform", lambda _, place: Ask(one(place), {"group": fresh_id("g")})),
            f"DELETE {path}/{{id}}": Row("grant", "platform", sacrifice)}


def override(**fields: Any) -> dict[str, Any]:
    """An override of the policy that every place has."""
    return {"policy_id": "pro", "limit_name": "token_bucket", "identity": {"subject": fresh_id("s"), "resource": "x"},
            "set": {"capacity": 5}, **fields}


def _overrides() -> dict[str, Row]:
    path, one = "/overrides", "/overrides/pro"

    def sacrifice(admin: AdminClient, place: Place) -> Ask:
        name = fresh_id("x")
        assert admin.put(f"{path}/{name}", override(), tenant=place.tenant).status == 201
        return Ask(f"{path}/{name}", None, {"tenant_id": place.tenant})

    return {f"GET {path}": Row("read", "tenant", lambda *_: Ask(path), of="any", lists="tenant_id"),
            f"POST {path}": Row("operate", "tenant", lambda _, place: Ask(path, override(tenant_id=place.tenant)), 422),
            f"POST {path}/clear": Row("operate", "tenant", lambda _, place: Ask(
                f"{path}/clear", {"tenant_id": place.tenant, "plan_id": "pro"})),
            f"GET {path}/{{id}}": Row("read", "tenant", _at(one)),
            f"PUT {path}/{{id}}": Row("operate", "tenant", lambda _, place: Ask(one, override(), {"tenant_id": place.tenant}), 422),
            f"PATCH {path}/{{id}}": Row("operate", "tenant", _at(one, {"ttl": "1h"})),
            f"DELETE {path}/{{id}}": Row("operate", "tenant", sacrifice)}


def _counters(name: str, permission: str) -> dict[str, Row]:
    return {f"POST /counters/{name}": Row(permission, "tenant", lambda _, place: Ask(f"/counters/{name}", {
        "tenant_id": place.tenant, "policy_id": "pro", "identity": {"subject": "user:42", "resource": "x"}}))}


def _webhooks() -> dict[str, Row]:
    path, one = "/webhooks", "/webhooks/pro"
    body = {"url": "https://hooks.example.com/"}

    def sacrifice(admin: AdminClient, place: Place) -> Ask:
        name = fresh_id("x")
        assert admin.put(f"{path}/{name}", body, tenant=place.tenant).status == 201
        return Ask(f"{path}/{name}", None, {"tenant_id": place.tenant})

    def fresh(admin: AdminClient, place: Place) -> Ask:
        for item in list(admin.items(path, query={"tenant_id": place.tenant})):   # a tenant may have 20
            assert item["id"] == "pro" or admin.delete(f"{path}/{item['id']}", tenant=place.tenant).status == 204
        return Ask(path, {**body, "id": fresh_id("x"), "tenant_id": place.tenant})

    def sent(admin: AdminClient, place: Place) -> Ask:
        event = admin.post(f"{one}/test", {}, tenant=place.tenant).body["id"]
        return Ask(f"{one}/deliveries/{event}/redeliver", {}, {"tenant_id": place.tenant})

    return {f"GET {path}": Row("read", "tenant", lambda *_: Ask(path), of="any", lists="tenant_id"),
            f"POST {path}": Row("configure", "tenant", fresh, 422),
            f"GET {path}/{{id}}": Row("read", "tenant", _at(one)),
            f"PUT {path}/{{id}}": Row("configure", "tenant", lambda _, place: Ask(
                one, {**body, "name": fresh_id("n")}, {"tenant_id": place.tenant}), 422),
            f"PATCH {path}/{{id}}": Row("configure", "tenant", lambda _, place: Ask(
                one, {"name": fresh_id("n")}, {"tenant_id": place.tenant})),
            f"DELETE {path}/{{id}}": Row("configure", "tenant", sacrifice),
            f"POST {path}/{{id}}/rotate": Row("configure", "tenant", _at(f"{one}/rotate", {})),
            f"POST {path}/{{id}}/test": Row("operate", "tenant", _at(f"{one}/test", {})),
            f"GET {path}/{{id}}/deliveries": Row("read", "tenant", _at(f"{one}/deliveries")),
            f"POST {path}/{{id}}/deliveries/{{delivery}}/redeliver": Row("operate", "tenant", sent)}


def _organization_to_delete(admin: AdminClient, _: Place) -> Ask:
    return Ask(f"/organizations/{admin.organization()}")


def _tenant_to_delete(admin: AdminClient, place: Place) -> Ask:
    return Ask(f"/tenants/{admin.tenant(place.organization)}")


def _key_to_delete(admin: AdminClient, place: Place) -> Ask:
    return Ask(f"/keys/{admin.create('/keys', {'tenant_id': place.tenant, 'name': 'x'})['id']}")


def _quotas(owners: str, level: str, owner: Callable[[Place], str]) -> dict[str, Row]:
    """The routes of quotas of organizations or tenants; `level`: who may read them."""
    def path(place: Place) -> str:
        return f"/quotas/{owners}/{owner(place)}"

    def to_delete(admin: AdminClient, place: Place) -> Ask:
        assert admin.put(path(place), {"quotas": {"keys": 50_000}}).status == 200
        return Ask(path(place))

    return {
        f"GET /quotas/{owners}/{{id}}": Row("read", level, _named(path), of=level),
        f"PUT /quotas/{owners}/{{id}}": Row("manage_organizations", "platform",
                                            lambda _, place: Ask(path(place), {"quotas": {"plans": 20_000}}), of=level),
        f"DELETE /quotas/{owners}/{{id}}": Row("manage_organizations", "platform", to_delete, of=level),
    }


def _mode(_: AdminClient, place: Place) -> Ask:
    return Ask(f"/modes/tenants/{place.tenant}", {"mode": "enforce"})


def _whatif(admin: AdminClient, place: Place) -> Ask:
    assert admin.patch(f"/tenants/{place.tenant}", {"record_requests": True}).status == 200
    return Ask("/whatif", {"tenant_id": place.tenant, "wait": "0s", "policy": {
        "id": fresh_id("edited"), "limits": [{"name": "m", "algorithm": "fixed_window", "limit": 1, "window": "1m"}]}})


# Every route there is. Who adds one adds its row here.
ROUTES: dict[str, Row] = {
    "GET /organizations": Row("read", "tenant", lambda *_: Ask("/organizations"), of="any", lists="id"),
    "POST /organizations": Row("manage_organizations", "platform", lambda *_: Ask("/organizations", {"id": fresh_id("o")})),
    "GET /organizations/{id}": Row("read", "tenant", _named(lambda place: f"/organizations/{place.organization}"),
                                   of="organization"),
    "PUT /organizations/{id}": Row("manage_organizations", "platform", lambda _, place: Ask(f"/organizations/{place.organization}",
                                                                            {"name": fresh_id("n")})),
    "PATCH /organizations/{id}": Row("configure", "organization", lambda _, place: Ask(
        f"/organizations/{place.organization}", {"name": fresh_id("n")}), of="organization"),
    "DELETE /organizations/{id}": Row("manage_organizations", "platform", _organization_to_delete),

    "GET /tenants": Row("read", "tenant", lambda *_: Ask("/tenants"), of="any", lists="id"),
    "POST /tenants": Row("configure", "organization", lambda _, place: Ask(
        "/tenants", {"id": fresh_id("t"), "organization_id": place.organization}), 422, of="organization"),
    "GET /tenants/{id}": Row("read", "tenant", _named(lambda place: f"/tenants/{place.tenant}")),
    "PUT /tenants/{id}": Row("configure", "organization", lambda _, place: Ask(
        f"/tenants/{place.tenant}", {"organization_id": place.organization, "name": fresh_id("n")}), 422),
    "PATCH /tenants/{id}": Row("configure", "tenant", lambda _, place: Ask(f"/tenants/{place.tenant}", {"name": fresh_id("n")})),
    "DELETE /tenants/{id}": Row("configure", "organization", _tenant_to_delete, of="organization"),

    **_local("plans", {"limit": 10, "window": "10s"}),
    **_local("policies", {"scope": {"resource": "x"}, "limit": 10, "window": "10s"}),
    "POST /policies/{id}/rollout": Row("operate", "tenant", _at("/policies/pro/rollout", {"percent": 25})),

    **_overrides(),
    **_counters("read", "read"),
    **_counters("reset", "operate"),

    "GET /keys": Row("read", "tenant", lambda *_: Ask("/keys"), of="any", lists="tenant_id"),
    "POST /keys": Row("configure", "tenant", lambda _, place: Ask("/keys", {"tenant_id": place.tenant, "name": "k"}), 422),
    "GET /keys/{id}": Row("read", "tenant", _named(lambda place: f"/keys/{place.key}")),
    "PUT /keys/{id}": Row("configure", "tenant", lambda _, place: Ask(
        f"/keys/{place.key}", {"tenant_id": place.tenant, "name": fresh_id("n")}), 422),
    "PATCH /keys/{id}": Row("configure", "tenant", lambda _, place: Ask(f"/keys/{place.key}", {"name": fresh_id("n")})),
    "DELETE /keys/{id}": Row("configure", "tenant", _key_to_delete),

    **_webhooks(),

    "GET /whoami": Row("read", "tenant", lambda *_: Ask("/whoami"), of="any"),
    "GET /session": Row("read", "tenant", lambda *_: Ask("/session"), of="session"),
    "POST /session": Row("read", "tenant", lambda *_: Ask("/session"), of="any"),
    "DELETE /session": Row("read", "tenant", lambda *_: Ask("/session"), of="session"),
    **_tokens("tokens", {"role": "auditor"}, lambda place: place.token),
    **_tokens("agent-tokens", {}, lambda place: place.agent_token),
    **_bindings(),
    **_group_mappings(),

    "GET /modes": Row("read", "tenant", lambda *_: Ask("/modes"), of="any", lists="tenant_id"),
    "GET /modes/global": Row("read", "tenant", lambda *_: Ask("/modes/global"), of="any"),
    "PUT /modes/global": Row("operate", "platform", lambda *_: Ask("/modes/global", {"mode": "enforce"}), of="any"),
    "GET /modes/tenants/{id}": Row("read", "tenant", _named(lambda place: f"/modes/tenants/{place.tenant}")),
    "PUT /modes/tenants/{id}": Row("operate", "tenant", _mode),

    **_quotas("organizations", "organization", lambda place: place.organization),
    **_quotas("tenants", "tenant", lambda place: place.tenant),

    "GET /audit/verify": Row("read_audit", "organization", lambda _, place: Ask(
        "/audit/verify", query={"organization_id": place.organization}), of="organization"),
    "GET /audit": Row("read_audit", "tenant", lambda *_: Ask("/audit"), of="any", lists="tenant_id"),
    "GET /revision": Row("read", "tenant", lambda *_: Ask("/revision"), of="any"),
    "GET /revisions/{revision}": Row("read", "tenant", lambda *_: Ask("/revisions/1"), of="any"),
    "GET /agents": Row("read", "tenant", lambda *_: Ask("/agents"), of="any"),
    "GET /fleet/events": Row("read", "tenant", lambda *_: Ask("/fleet/events"), of="any"),
    "GET /analytics": Row("read", "tenant", lambda *_: Ask("/analytics"), of="any"),
    "GET /analytics/subjects": Row("read", "tenant", lambda *_: Ask("/analytics/subjects"), of="any"),
    "GET /analytics/utilization": Row("read", "tenant", lambda *_: Ask("/analytics/utilization"), of="any"),
    "GET /analytics/unmatched": Row("read", "tenant", lambda *_: Ask("/analytics/unmatched"), of="any"),
    "GET /analytics/denials": Row("read", "tenant", lambda _, place: Ask(
        "/analytics/denials", query={"tenant_id": place.tenant, "subject": "user:42"})),
    "GET /export": Row("read", "tenant", _at("/export")),
    "POST /apply": Row("configure", "tenant", lambda _, place: Ask("/apply", {
        "format": "sluice/v1", "organizations": [{"id": place.organization}],
        "tenants": [{"id": place.tenant, "organization_id": place.organization}],
        "plans": [{"tenant_id": place.tenant, **bucket(id=fresh_id("applied"))}]}), 422),
    "POST /import": Row("configure", "tenant", lambda _, place: Ask("/import", {
        "requests": [{"name": fresh_id("imported"), "limit": 5, "duration": 1000}]},
        {"from": "gubernator", "tenant_id": place.tenant}), 422),
    "POST /validate": Row("read", "tenant", lambda _, place: Ask("/validate", {
        "kind": "plan", "tenant_id": place.tenant, "object": bucket(id="pro")}), 422),
    "POST /whatif": Row("read", "tenant", _whatif),
    "POST /explain": Row("read", "tenant", lambda _, place: Ask("/explain", {
        "tenant_id": place.tenant, "request": {"subject": "user:42", "resource": "x"}})),
    "GET /playground": Row("read", "tenant", lambda *_: Ask("/playground"), of="any"),
    # The server has no key of the tenant, and so asks for one.
    "POST /playground/check": Row("operate", "tenant", lambda _, place: Ask("/playground/check", {
        "tenant_id": place.tenant, "request": {"subject": "user:42", "resource": "x"}}), inside=422),
    "POST /playground/state": Row("read", "tenant", lambda _, place: Ask("/playground/state", {
        "tenant_id": place.tenant, "request": {"subject": "user:42", "resource": "x"}})),
}
