"""Versions, rollback, rollout, modes, the audit trail and the revision."""

from typing import Any

import pytest

from support.admin import AdminClient, bucket, pointers
from support.postgres import APP
from support.server import Server, run_command
from support.writers import assert_whole

RULE = {"resource": "x", "limit": 10, "window": "10s"}


# --- versions --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("path", "body"), [("/plans", bucket()), ("/policies", RULE)])
def test_every_version_is_kept_and_any_can_be_written_anew(admin: AdminClient, tenant: str, path: str,
                                                           body: dict[str, Any]) -> None:
    at = f"{path}/p"
    first = admin.put(at, {**body, "name": "one"}, tenant=tenant).body
    admin.patch(at, {"name": "two"}, tenant=tenant)
    admin.delete(at, tenant=tenant)
    admin.put(at, {**body, "name": "four"}, tenant=tenant)
    listed = list(admin.items(f"{at}/versions", tenant=tenant, query={"limit": 2}))
    assert [item["version"] for item in listed] == [4, 3, 2, 1], "newest first"
    assert [item["removed"] for item in listed] == [False, True, False, False] and listed[1]["document"] is None
    assert [item["document"]["name"] for item in listed if item["document"]] == ["four", "two", "one"]
    assert admin.get(f"{at}/versions/2", tenant=tenant).body["document"]["name"] == "two"
    assert admin.get(f"{at}/versions/9", tenant=tenant).status == 404

    back = admin.post(f"{at}/rollback", {"version": 1}, tenant=tenant)
    assert (back.status, back.body["version"], back.body["name"]) == (200, 5, "one")
    assert {**back.body, **dict.fromkeys(("version", "revision", "created_at", "updated_at"))} == {
        **first, **dict.fromkeys(("version", "revision", "created_at", "updated_at"))}
    for wrong in (3, 99):
        answer = admin.post(f"{at}/rollback", {"version": wrong}, tenant=tenant)
        assert 400 <= answer.status <= 422, "a removal, or what never was"
    assert admin.get(at, tenant=tenant).body["version"] == 5


def test_a_rollback_to_what_can_no_more_be_is_refused(admin: AdminClient, tenant: str) -> None:
    admin.put("/plans/gone", bucket(), tenant=tenant)
    admin.put("/policies/p", {"resource": "x", "plan_id": "gone"}, tenant=tenant)
    admin.put("/policies/p", RULE, tenant=tenant)
    admin.delete("/plans/gone", tenant=tenant)
    answer = admin.post("/policies/p/rollback", {"version": 1}, tenant=tenant)
    assert answer.status == 422 and "/plan_id" in str(pointers(answer)), answer
    assert admin.get("/policies/p", tenant=tenant).body["version"] == 2


def test_a_rollout_changes_the_share_and_nothing_else(admin: AdminClient, tenant: str) -> None:
    before = admin.put("/policies/p", RULE, tenant=tenant).body
    for percent, version in ((25, 2), (12.5, 3), (12.5, 3), (100, 4)):
        answer = admin.post("/policies/p/rollout", {"percent": percent}, tenant=tenant)
        assert (answer.status, answer.body["version"]) == (200, version), percent
        assert answer.body.get("rollout_percent", 100) == percent
        assert answer.body["limits"] == before["limits"]
    for percent in (-1, 101, "25", None, 0.001):
        assert pointers(admin.post("/policies/p/rollout", {"percent": percent}, tenant=tenant)) == ["/percent"], percent


def test_a_rollout_takes_the_name_that_policies_have_for_it(admin: AdminClient, tenant: str) -> None:
    admin.put("/policies/p", {"scope": {"resource": "r"}, "key_by": "subject", "limits": [
        {"algorithm": "fixed_window", "limit": 10, "window": "1m"}]}, tenant=tenant)
    answer = admin.post("/policies/p/rollout", {"rollout_percent": 25}, tenant=tenant)
    assert answer.status == 200 and answer.body["rollout_percent"] == 25, answer
    both = admin.post("/policies/p/rollout", {"rollout_percent": 25, "percent": 30}, tenant=tenant)
    assert both.status == 422 and "say the same: keep one" in both.body["errors"][0]["detail"], both
    assert pointers(admin.post("/policies/p/rollout", {"rollout_percent": 101}, tenant=tenant)) == ["/rollout_percent"]


def test_conditions_and_keys_hold_for_rollback_and_rollout_too(admin: AdminClient, tenant: str) -> None:
    admin.put("/policies/p", RULE, tenant=tenant)
    admin.put("/policies/p", {**RULE, "limit": 20}, tenant=tenant)
    for path, body in (("/policies/p/rollout", {"percent": 10}), ("/policies/p/rollback", {"version": 1})):
        assert admin.post(path, body, tenant=tenant, headers={"if-match": '"1"'}).status == 412
    first = admin.post("/policies/p/rollback", {"version": 1}, tenant=tenant, key="back", headers={"if-match": '"2"'})
    again = admin.post("/policies/p/rollback", {"version": 1}, tenant=tenant, key="back", headers={"if-match": '"2"'})
    assert (first.status, again.status, again.body) == (200, 200, first.body)


# --- modes -----------------------------------------------------------------------------------------------------------

def test_modes_of_tenant_and_platform_are_set_and_the_stronger_counts(admin: AdminClient, tenant: str) -> None:
    at = f"/modes/tenants/{tenant}"
    assert admin.get(at).body["mode"] == "enforce"
    assert admin.put(at, {"mode": "monitor"}).body["mode"] == "shadow"
    assert admin.get(f"/tenants/{tenant}").body["mode"] == "shadow", "it is the tenant's own"
    try:
        changed = admin.put("/modes/global", {"mode": "off"})
        assert (changed.status, changed.body["mode"]) == (200, "off")
        shown = admin.get(at).body
        assert (shown["mode"], shown["effective"]) == ("shadow", "off")
        assert admin.get("/modes").body["global"]["mode"] == "off"
    finally:
        assert admin.put("/modes/global", {"mode": "enforce"}).status == 200
    assert admin.get(at).body["effective"] == "shadow"
    assert pointers(admin.put(at, {"mode": "loud"})) == ["/mode"]
    assert admin.put(at, {"mode": "off"}, headers={"if-match": '"1"'}).status == 412


# --- audit -----------------------------------------------------------------------------------------------------------

def test_the_trail_says_who_did_what_from_where_and_what_was_before_and_after(server: Server, admin: AdminClient, organization: str,
                                                                              tenant: str) -> None:
    made = admin.create("/tokens", {"name": "t", "role": "org_admin", "organization_id": organization})
    with server.admin(made["token"], source="127.3.0.1") as client:
        written = client.put("/plans/p", bucket(), tenant=tenant, headers={"x-request-id": "r1"})
        client.patch("/plans/p", {"name": "new"}, tenant=tenant, headers={"x-request-id": "r2"})
        client.delete("/plans/p", tenant=tenant, headers={"x-request-id": "r3"})
        assert client.put("/plans/p", {"limit": 1}, tenant=tenant).status == 422
    rows = list(admin.items("/audit", query={"tenant_id": tenant, "kind": "plan", "limit": 2}))
    assert [(row["action"], row["request_id"], row["version"]) for row in rows] == [
        ("delete", "r3", 3), ("update", "r2", 2), ("create", "r1", 1)], "newest first; what was refused is not there"
    for row in rows:
        assert (row["actor_id"], row["actor_role"], row["source"]) == (made["id"], "org_admin", "127.3.0.1")
        assert (row["kind"], row["object_id"], row["tenant_id"], row["organization_id"]) == ("plan", "p", tenant, organization)
    assert rows[2]["revision"] == written.body["revision"]
    assert rows[2]["before"] is None and rows[0]["after"] is None
    assert rows[2]["after"] == rows[1]["before"] and rows[1]["after"] == rows[0]["before"]
    assert rows[1]["after"]["name"] == "new"


def test_the_trail_is_filtered(admin: AdminClient, organization: str, tenant: str) -> None:
    me = admin.get("/whoami").body["id"]
    for name in ("a", "b"):
        admin.put(f"/plans/{name}", bucket(id=name), tenant=tenant)

    def objects(**query: str) -> list[str]:
        return [row["object_id"] for row in admin.items("/audit", query={"tenant_id": tenant, **query})]

    assert objects(kind="plan") == ["b", "a"] and objects(kind="plan", object_id="a") == ["a"]
    assert objects(actor_id=me, organization_id=organization) == ["b", "a", tenant]
    assert objects(actor_id="nobody") == objects(organization_id="nobody") == objects(until="2020-01-01T00:00:00Z") == []
    assert objects(since="2020-01-01T00:00:00Z", kind="plan") == ["b", "a"]
    for name, value in (("kind", "king"), ("since", "soon"), ("until", "12")):
        answer = admin.get("/audit", query={name: value})
        assert (answer.status, pointers(answer)) == (400, [f"?{name}"])


def test_all_that_these_tests_did_agrees_and_verifies(server: Server) -> None:
    assert_whole(server.database)
    verified = run_command(server.program, "audit", "verify", "--database-url", server.database.url(APP))
    assert verified.returncode == 0, verified


# --- revision --------------------------------------------------------------------------------------------------------

def test_the_revision_counts_up_by_one_with_every_change_and_its_chain_names_it(admin: AdminClient, tenant: str) -> None:
    seen = [admin.get("/revision").body]
    for number in range(3):
        answer = admin.put("/plans/p", bucket(name=f"n{number}"), tenant=tenant)
        seen.append(admin.get("/revision").body)
        assert seen[-1]["revision"] == answer.body["revision"] == seen[-2]["revision"] + 1
    admin.put("/plans/p", bucket(name="n2"), tenant=tenant)
    assert admin.put("/plans/p", {"limit": 1}, tenant=tenant).status == 422
    assert admin.get("/revision").body == seen[-1], "what changes nothing is no revision"
    assert len({state["chain"] for state in seen}) == 4 and all(len(state["chain"]) == 64 for state in seen)
