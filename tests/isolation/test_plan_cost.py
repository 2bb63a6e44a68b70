"""The cost budget of a plan: what is refused, where, and with which arithmetic; and what neighbours notice."""

import json
import time
from typing import Any

import pytest

from support.admin import AdminClient, fresh_id, pointers
from support.server import Server

Limits = list[dict[str, Any]]


def leases(count: int, limit: int) -> Limits:
    """Concurrency limits, the costliest algorithm."""
    return [{"name": f"l{number}", "algorithm": "concurrency", "limit": limit, "lease_ttl": "1m"} for number in range(count)]


COSTLY = leases(16, 10_000)
CHEAP = leases(2, 100)
ROOMY = [{"name": "log", "algorithm": "sliding_window_log", "limit": 10_000, "window": "1h"}]


@pytest.fixture
def tenant(admin: AdminClient) -> str:
    """A tenant of one test."""
    return admin.tenant()


def bundle(tenant: str, organization: str, limits: Limits) -> dict[str, Any]:
    """A plan that is cheap, and one with these limits."""
    return {"format": "sluice/v1", "organizations": [{"id": organization}],
            "tenants": [{"id": tenant, "organization_id": organization}],
            "plans": [{"tenant_id": tenant, "id": "cheap", "limits": CHEAP},
                      {"tenant_id": tenant, "id": "costly", "limits": limits}]}


def test_a_costly_plan_is_refused_with_the_arithmetic(admin: AdminClient, tenant: str) -> None:
    refused = admin.put("/plans/costly", {"limits": COSTLY}, tenant=tenant)
    assert (refused.status, pointers(refused)) == (422, ["/limits"]), refused
    detail = refused.body["errors"][0]["detail"]
    assert "the call 9 µs, 128 bytes; limits[0] concurrency 10000: 25 µs, 1240160 bytes; " in detail
    assert "limits[15] concurrency 10000: 25 µs" in detail
    assert "together 409 µs of 100 µs a check, 19842688 bytes of 262144 bytes a subject" in detail
    assert admin.get("/plans/costly", tenant=tenant).status == 404


@pytest.mark.parametrize("limits", [COSTLY, leases(4, 10), ROOMY], ids=["both", "time", "bytes"])
def test_every_way_to_write_limits_judges_them(admin: AdminClient, tenant: str, limits: Limits) -> None:
    admin.create("/plans", {"id": "plan", "limits": CHEAP}, tenant=tenant)
    admin.create("/policies", {"id": "policy", "limits": CHEAP}, tenant=tenant)
    for answer in (admin.post("/plans", {"id": "new", "limits": limits}, tenant=tenant),
                   admin.put("/plans/plan", {"limits": limits}, tenant=tenant),
                   admin.patch("/plans/plan", {"limits": limits}, tenant=tenant),
                   admin.post("/policies", {"id": "new", "limits": limits}, tenant=tenant),
                   admin.patch("/policies/policy", {"limits": limits}, tenant=tenant)):
        assert (answer.status, pointers(answer)) == (422, ["/limits"]), answer
    checked = admin.post("/validate", {"kind": "plan", "tenant_id": tenant, "object": {"id": "new", "limits": limits}})
    assert (checked.status, pointers(checked)) == (422, ["/object/limits"]), checked


def test_a_bundle_with_a_costly_plan_is_refused_as_a_whole(admin: AdminClient) -> None:
    organization = admin.organization()
    tenant = admin.tenant(organization)
    for path in ("/apply", "/validate"):
        refused = admin.post(path, bundle(tenant, organization, COSTLY))
        assert (refused.status, pointers(refused)) == (422, ["/plans/1/limits"]), refused
        assert refused.body["errors"][0]["line"] == 1, refused
    assert admin.get("/plans", tenant=tenant).body["items"] == []
    assert admin.post("/apply", bundle(tenant, organization, CHEAP)).status == 200


def test_a_stored_plan_above_the_budget_keeps_working(admin: AdminClient, server: Server, tenant: str) -> None:
    admin.create("/plans", {"id": "old", "limits": CHEAP}, tenant=tenant)
    stored = json.dumps({"tenant_id": tenant, "id": "old", "limits": leases(5, 100)}, separators=(",", ":"))
    server.database.execute(f"UPDATE plans SET document = '{stored}' WHERE tenant_id = '{tenant}'")
    assert admin.patch("/plans/old", {"name": "renamed"}, tenant=tenant).status == 200
    assert admin.patch("/plans/old", {"limits": leases(4, 100)}, tenant=tenant).status == 200, "cheaper, still above"
    assert admin.patch("/plans/old", {"limits": leases(5, 100)}, tenant=tenant).status == 422, "dearer than stored"
    exported = admin.get("/export", tenant=tenant)
    assert admin.post("/apply", exported.body).body["unchanged"] > 0


@pytest.mark.alone
def test_neighbours_write_on_while_costly_plans_are_refused(admin: AdminClient, server: Server, tenant: str) -> None:
    neighbour = admin.tenant()

    def write() -> float:
        begin = time.monotonic()
        answer = admin.put("/plans/p", {"name": fresh_id("n"), "limits": CHEAP}, tenant=neighbour)
        assert answer.status in (200, 201), answer
        return time.monotonic() - begin

    quiet = sorted(write() for _ in range(40))[36]
    with server.admin() as attacker:
        def attacked() -> float:
            assert attacker.put("/plans/p", {"limits": COSTLY}, tenant=tenant).status == 422
            return write()

        loud = sorted(attacked() for _ in range(40))[36]
        assert loud <= max(3 * quiet, 0.25), (quiet, loud)
        assert attacker.put("/plans/p", {"limits": CHEAP}, tenant=tenant).status == 201, "served again at once"
