"""Quotas of organizations and tenants: what is refused, what is counted, and that one call wins at the edge."""

import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

from support.admin import AdminClient, pointers
from support.client import Answer
from support.migrations import take_back_migrations
from support.postgres import OWNER, Database
from support.server import Server, bootstrap

LIMITS = [{"name": "n", "algorithm": "fixed_window", "limit": 5, "window": "1s"}]


@pytest.fixture
def organization(admin: AdminClient) -> str:
    """An organization of one test."""
    return admin.organization()


@pytest.fixture
def tenant(admin: AdminClient, organization: str) -> str:
    """Its tenant."""
    return admin.tenant(organization)


def policy(number: int) -> dict[str, Any]:
    """A policy of its own scope."""
    return {"id": f"p{number}", "scope": {"resource": f"r{number}"}, "limits": LIMITS}


def set_quotas(admin: AdminClient, owner: str, **quotas: int) -> None:
    """`owner`: the end of the path."""
    answer = admin.put(f"/quotas/{owner}", {"quotas": quotas})
    assert answer.status == 200 and answer.body["quotas"] == quotas, answer


def assert_refused(answer: Answer, quota: str) -> None:
    """By this quota."""
    assert (answer.status, answer.body["type"]) == (409, "/problems/quota-exceeded"), answer
    assert quota in answer.body["errors"][0]["detail"], answer


def used(admin: AdminClient, tenant: str) -> dict[str, int]:
    """What a tenant uses."""
    amounts: dict[str, int] = admin.get(f"/quotas/tenants/{tenant}").body["used"]
    return amounts


def test_the_defaults_are_shown_with_the_use(admin: AdminClient, tenant: str) -> None:
    shown = admin.get(f"/quotas/tenants/{tenant}").body
    assert shown["limits"] == {"policies": 10_000, "plans": 10_000, "keys": 10_000, "snapshot_bytes": 32 << 20,
                               "plan_check_us": 100, "plan_subject_bytes": 256 << 10, "admin_writes_per_second": None,
                               "admin_reads_per_second": None, "agents": 5000, "agents_per_token": 5000}
    admin.create("/policies", policy(1), tenant=tenant)
    admin.create("/keys", {"tenant_id": tenant, "name": "k"})
    before = used(admin, tenant)
    assert (before["policies"], before["plans"], before["keys"]) == (1, 0, 1) and before["snapshot_bytes"] > 100
    assert admin.patch("/policies/p1", {"name": "longer"}, tenant=tenant).status == 200
    assert used(admin, tenant)["snapshot_bytes"] == before["snapshot_bytes"] + len(',"name":"longer"')
    assert admin.delete("/policies/p1", tenant=tenant).status == 204
    assert used(admin, tenant)["policies"] == 0


@pytest.mark.parametrize("level", ["tenants", "organizations"])
def test_one_policy_too_many_is_refused(admin: AdminClient, organization: str, tenant: str, level: str) -> None:
    set_quotas(admin, f"{level}/{tenant if level == 'tenants' else organization}", policies=12)
    for number in range(12):
        admin.create("/policies", policy(number), tenant=tenant)
    refused = admin.put("/policies/p12", policy(12), tenant=tenant)
    assert_refused(refused, f"the quota policies of {level[:-1]}")
    assert "is 12; 12 are in use, and this call would add 1" in refused.body["detail"]
    assert admin.put("/policies/p3", {**policy(3), "name": "changed"}, tenant=tenant).status == 200
    assert admin.delete("/policies/p0", tenant=tenant).status == 204
    assert admin.put("/policies/p12", policy(12), tenant=tenant).status == 201, "served again at once"


def test_apply_is_refused_as_a_whole(admin: AdminClient, organization: str, tenant: str) -> None:
    set_quotas(admin, f"tenants/{tenant}", policies=5, snapshot_bytes=2000)
    bundle = {"format": "sluice/v1", "organizations": [{"id": organization}],
              "tenants": [{"id": tenant, "organization_id": organization}],
              "policies": [{"tenant_id": tenant, **policy(number)} for number in range(6)]}
    for query in ({}, {"dry_run": "true"}):
        assert_refused(admin.post("/apply", bundle, query=query), "the quota policies")
    assert used(admin, tenant)["policies"] == 0
    bundle["policies"] = [{"tenant_id": tenant, **policy(0), "metadata": {f"text{number}": "x" * 500 for number in range(4)}}]
    assert_refused(admin.post("/apply", bundle), "the quota snapshot_bytes")


def test_at_the_edge_exactly_one_of_many_calls_wins(admin: AdminClient, server: Server, tenant: str) -> None:
    set_quotas(admin, f"tenants/{tenant}", policies=1)
    answers: list[Answer] = []

    def write(number: int) -> None:
        with server.admin() as client:
            answers.append(client.put(f"/policies/p{number}", policy(number), tenant=tenant))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status for answer in answers) == [201, 409, 409, 409, 409, 409], answers
    assert used(admin, tenant)["policies"] == 1


def test_only_the_platform_sets_quotas_and_each_change_is_audited(admin: AdminClient, server: Server, organization: str,
                                                                  tenant: str) -> None:
    made = admin.create("/tokens", {"name": "o", "role": "org_admin", "organization_id": organization})
    with server.admin(made["token"]) as owner:
        assert owner.put(f"/quotas/tenants/{tenant}", {"quotas": {}}).status == 403
        assert owner.get(f"/quotas/organizations/{organization}").status == 200
    set_quotas(admin, f"tenants/{tenant}", keys=3)
    assert admin.delete(f"/quotas/tenants/{tenant}").status == 204
    assert admin.get(f"/quotas/tenants/{tenant}").body["limits"]["keys"] == 10_000
    entries = list(admin.items("/audit", query={"tenant_id": tenant, "kind": "quota"}))
    assert sorted(entry["action"] for entry in entries) == ["create", "delete"]


def test_faulty_quotas_are_named(admin: AdminClient, tenant: str) -> None:
    faulty = admin.put(f"/quotas/tenants/{tenant}", {"quotas": {"policies": -1, "colour": 3}})
    assert (faulty.status, sorted(pointers(faulty))) == (422, ["/quotas/colour", "/quotas/policies"])
    faulty = admin.put(f"/quotas/tenants/{tenant}", {"quotas": {"agents": 1_000_001, "agents_per_token": 1.5,
                                                                "admin_writes_per_second": "9", "admin_reads_per_second": -1}})
    assert (faulty.status, sorted(pointers(faulty))) == (422, [f"/quotas/{name}" for name in (
        "admin_reads_per_second", "admin_writes_per_second", "agents", "agents_per_token")])


def test_quotas_of_one_token_or_plan_are_taken_over_from_the_organization_and_sums_are_not(
        admin: AdminClient, organization: str, tenant: str) -> None:
    set_quotas(admin, f"organizations/{organization}", policies=7, agents=8, agents_per_token=9, admin_reads_per_second=10,
               plan_check_us=110)
    limits = admin.get(f"/quotas/tenants/{tenant}").body["limits"]
    assert [limits[name] for name in ("policies", "agents", "agents_per_token", "admin_reads_per_second", "plan_check_us")] == [
        10_000, 5_000, 9, 10, 110]
    set_quotas(admin, f"tenants/{tenant}", agents=3, agents_per_token=2)
    limits = admin.get(f"/quotas/tenants/{tenant}").body["limits"]
    assert [limits[name] for name in ("agents", "agents_per_token", "admin_reads_per_second")] == [3, 2, 10]


def test_a_raised_budget_admits_a_costlier_plan(admin: AdminClient, organization: str, tenant: str) -> None:
    plan = {"id": "p", "limits": [{"name": f"l{number}", "algorithm": "concurrency", "limit": 10, "lease_ttl": "1m"}
                                  for number in range(4)]}
    assert admin.post("/plans", plan, tenant=tenant).status == 422
    set_quotas(admin, f"organizations/{organization}", plan_check_us=200)
    assert admin.post("/plans", plan, tenant=tenant).status == 201


def test_quotas_go_with_their_tenant(admin: AdminClient, organization: str, tenant: str) -> None:
    set_quotas(admin, f"tenants/{tenant}", keys=3)
    assert admin.delete(f"/tenants/{tenant}").status == 204
    admin.create("/tenants", {"id": tenant, "organization_id": organization})
    assert admin.get(f"/quotas/tenants/{tenant}").body["quotas"] == {}


def test_a_database_that_was_filled_before_there_were_quotas_is_upgraded_in_place(
        make_server: Callable[..., Server], database: Database) -> None:
    flags = ("--database-owner-url", database.url(OWNER))
    before = make_server(*flags, database=database).start()
    token = bootstrap(before.program, database)
    with before.admin(token) as admin:
        organization = admin.organization()
        tenant = admin.tenant(organization)
        for number in range(3):
            admin.create("/policies", policy(number), tenant=tenant)
        admin.create("/keys", {"tenant_id": tenant, "name": "k"})
        use, policies = used(admin, tenant), list(admin.items("/policies", tenant=tenant))
        agent_token = admin.create("/agent-tokens", {"name": "agents", "tenant_ids": [tenant]})["id"]
    assert before.stop() == 0
    take_back_migrations(database, 6)
    with make_server(*flags, database=database).start().admin(token) as admin:
        assert used(admin, tenant) == use
        assert list(admin.items("/policies", tenant=tenant)) == policies
        assert agent_token in {item["id"] for item in admin.items("/agent-tokens")}
        set_quotas(admin, f"tenants/{tenant}", policies=3)
        assert_refused(admin.post("/policies", policy(3), tenant=tenant), "policies")
        assert admin.delete("/policies/p0", tenant=tenant).status == 204
        admin.create("/policies", policy(3), tenant=tenant)
        assert used(admin, tenant)["policies"] == 3


def assert_counted_exactly(database: Database) -> None:
    """The use of each tenant and organization is what its objects add up to."""
    for table, owner in (("quota_use", "organization_id, tenant_id"), ("organization_use", "organization_id")):
        counted = database.execute(
            f"SELECT {owner}, sum(plans), sum(policies), sum(keys), sum(bytes) FROM {table} GROUP BY {owner} "
            "HAVING sum(plans) <> 0 OR sum(policies) <> 0 OR sum(keys) <> 0 OR sum(bytes) <> 0 ORDER BY 1, 2")
        stored = database.execute(
            f"SELECT {owner}, count(*) FILTER (WHERE kind = 'plan'), count(*) FILTER (WHERE kind = 'policy'), "
            "count(*) FILTER (WHERE kind = 'key'), sum(octet_length(document::text)) FROM ("
            "SELECT 'plan' AS kind, organization_id, tenant_id, document FROM plans UNION ALL "
            "SELECT 'policy', organization_id, tenant_id, document FROM policies UNION ALL "
            f"SELECT 'key', organization_id, tenant_id, document FROM keys) AS objects GROUP BY {owner} ORDER BY 1, 2")
        assert counted == stored, table


def rows_of(database: Database, table: str, organization: str) -> int:
    """How many rows are summed for one decision."""
    return int(database.execute(f"SELECT count(*) FROM {table} WHERE organization_id = %s", (organization,))[0][0])


def test_the_use_is_exact_whatever_is_done_at_once_and_stays_few_rows(make_server: Callable[..., Server]) -> None:
    first = make_server().start()
    second = make_server(database=first.database)
    second.token = first.token
    second.start()
    with first.admin() as admin:
        organization = admin.organization()
        tenants = [admin.tenant(organization) for _ in range(6)]

    def write(server: Server, seed: int) -> None:
        chance = random.Random(seed)
        with server.admin() as client:
            for _ in range(40):
                tenant, number = chance.choice(tenants), chance.randrange(8)
                path = f"/policies/p{number}"
                action = chance.choice(("put", "put", "put", "delete", "rollback", "apply", "key"))
                if action == "put":
                    client.put(path, {**policy(number), "name": "x" * chance.randrange(1, 200)}, tenant=tenant)
                elif action == "delete":
                    client.delete(path, tenant=tenant)
                elif action == "rollback":
                    client.post(f"{path}/rollback", {"version": 1}, tenant=tenant)
                elif action == "key":
                    client.post("/keys", {"tenant_id": tenant, "name": "k"})
                else:
                    client.post("/apply", {"format": "sluice/v1", "organizations": [{"id": organization}],
                                           "tenants": [{"id": tenant, "organization_id": organization}],
                                           "policies": [{"tenant_id": tenant, **policy(other)} for other in range(number)]})

    threads = [threading.Thread(target=write, args=(server, seed)) for seed, server in enumerate((first, second) * 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert_counted_exactly(first.database)
    with first.admin() as admin:
        shown = [admin.get(f"/quotas/tenants/{tenant}").body["used"] for tenant in tenants]
        whole = admin.get(f"/quotas/organizations/{organization}").body["used"]
        assert {name: sum(each[name] for each in shown) for name in ("policies", "plans", "keys", "snapshot_bytes")} == {
            name: whole[name] for name in ("policies", "plans", "keys", "snapshot_bytes")}
        assert whole["policies"] > 0 and whole["keys"] > 0
        admin.create("/policies", policy(99), tenant=tenants[0])
    assert rows_of(first.database, "organization_use", organization) <= 8
    assert_counted_exactly(first.database)


def test_many_growing_writes_leave_few_rows_to_sum(admin: AdminClient, server: Server, organization: str) -> None:
    tenants = [admin.tenant(organization) for _ in range(12)]
    for number in range(5):
        for tenant in tenants:
            admin.create("/policies", policy(number), tenant=tenant)
            assert rows_of(server.database, "organization_use", organization) <= 8
    assert admin.get(f"/quotas/organizations/{organization}").body["used"]["policies"] == 60


def test_objects_that_an_earlier_server_wrote_during_an_upgrade_are_counted(
        make_server: Callable[..., Server], database: Database) -> None:
    """Such a server does not know organization_use; it writes objects, and sums and compacts quota_use."""
    flags = ("--database-owner-url", database.url(OWNER))
    first = make_server(*flags, database=database).start()
    token = bootstrap(first.program, database)
    with first.admin(token) as admin:
        organization = admin.organization()
        tenants = [admin.tenant(organization) for _ in range(3)]
        for number in range(12):
            admin.create("/policies", policy(number), tenant=tenants[number % 3])
        admin.create("/keys", {"tenant_id": tenants[0], "name": "k"})
    assert first.stop() == 0
    # The database as the version with migration 6 left it, with one amount that is wrong.
    take_back_migrations(database, 7)
    database.execute("UPDATE quota_use SET policies = policies + 1 WHERE tenant_id = %s", (tenants[0],))
    with make_server(*flags, database=database).start().admin(token) as admin:
        assert_counted_exactly(database)
        assert admin.get(f"/quotas/organizations/{organization}").body["used"]["policies"] == 12
        # What the earlier server does:
        for tenant in tenants:
            database.execute("DELETE FROM policies WHERE tenant_id = %s AND id IN ('p0', 'p1')", (tenant,))
            database.execute("UPDATE policies SET document = jsonb_set(document::jsonb, '{name}', '\"longer\"')::json "
                             "WHERE tenant_id = %s", (tenant,))
        database.execute("INSERT INTO policies (organization_id, tenant_id, id, version, document, place, unindexed) "
                         "SELECT organization_id, tenant_id, 'copy-of-' || id, version, "
                         "jsonb_set(document::jsonb, '{id}', to_jsonb('copy-of-' || id))::json, place, unindexed FROM policies")
        database.execute("WITH old AS (DELETE FROM quota_use WHERE tenant_id = %s RETURNING *) INSERT INTO quota_use "
                         "SELECT organization_id, tenant_id, sum(plans), sum(policies), sum(keys), sum(bytes) FROM old "
                         "GROUP BY organization_id, tenant_id", (tenants[0],))
        assert_counted_exactly(database)
        assert admin.get(f"/quotas/organizations/{organization}").body["used"]["policies"] == 20
        set_quotas(admin, f"organizations/{organization}", policies=20)
        assert_refused(admin.post("/policies", policy(50), tenant=tenants[1]), "policies of organization")
