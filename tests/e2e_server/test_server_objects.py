"""Organizations, tenants, plans and policies: made, read, replaced, patched, deleted."""

from typing import Any

import pytest

from support.admin import ONE_PER_SECOND, AdminClient, bucket, content, fresh_id, pointers, segment
from support.client import Answer


def assert_made(answer: Answer, location: str) -> None:
    """201 with everything that goes with it."""
    assert answer.status == 201, answer
    assert answer.header("location") == location
    assert answer.header("etag") == '"1"' and answer.body["version"] == 1
    assert answer.body["revision"] == int(answer.header("sluice-revision") or 0) > 0
    assert answer.body["created_at"] == answer.body["updated_at"]


# --- the calls that must run as written ------------------------------------------------------------------------------

def test_a_plan_is_made_by_the_call_as_written(admin: AdminClient, tenant: str) -> None:
    made = admin.post("/plans", f'{{"tenant_id":"{tenant}","name":"pro","algorithm":"token_bucket","bucket_capacity":100,'
                                '"refill_rate_per_sec":20}')
    assert_made(made, f"/v1/admin/plans/pro?tenant_id={tenant}")
    assert (made.body["tenant_id"], made.body["id"]) == (tenant, "pro")
    assert content(made.body) == {"name": "pro", "limits": [
        {"name": "token_bucket", "algorithm": "token_bucket", "capacity": 100, "refill": "1/50ms"}],
        "require_key_by": True}


def test_the_flat_rule_is_taken_verbatim_and_answered_as_a_policy(admin: AdminClient, tenant: str) -> None:
    rule = ('{"endpoint":"/v1/pay","strategy":"token_bucket","key_by":"api_key","limit":100,"window":"10s",'
            '"fail_open":false}')
    made = admin.post("/policies", rule, tenant=tenant)
    assert made.status == 201 and made.body["id"].startswith("rule-"), made
    assert content(made.body) == {"scope": {"endpoint": "/v1/pay"}, "key_by": ["api_key"], "limits": [
        {"name": "token_bucket", "algorithm": "token_bucket", "capacity": 100, "refill": "1/100ms"}],
        "require_key_by": True}
    again = admin.post("/policies", rule, tenant=tenant)
    assert (again.status, again.body["type"]) == (409, "/problems/exists"), "the same rule has the same id"


def test_a_flat_rule_of_a_caller_with_many_tenants_must_name_one(admin: AdminClient) -> None:
    answer = admin.post("/policies", {"endpoint": "/v1/pay", "limit": 100, "window": "10s"})
    assert (answer.status, pointers(answer)) == (422, ["/tenant_id"])


# --- create, read, replace, patch, delete ----------------------------------------------------------------------------

KINDS = ["organizations", "tenants", "plans", "policies"]


class Kind:
    """How one kind is written in a test."""

    def __init__(self, name: str, admin: AdminClient, tenant: str, organization: str) -> None:
        self.path = f"/{name}"
        self.options: dict[str, str] = {"tenant": tenant} if name in ("plans", "policies") else {}
        self.query = f"?tenant_id={tenant}" if self.options else ""
        self.body: dict[str, Any] = {"organizations": {}, "tenants": {"organization_id": organization},
                                     "plans": {"limits": [ONE_PER_SECOND]},
                                     "policies": {"scope": {"resource": "x"}, "limits": [ONE_PER_SECOND]}}[name]
        self.has_tenant = bool(self.options)
        self.admin = admin


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, admin: AdminClient, tenant: str, organization: str) -> Kind:
    """Each kind in turn."""
    return Kind(request.param, admin, tenant, organization)


def test_an_object_lives_from_post_to_delete(kind: Kind, admin: AdminClient) -> None:
    name = fresh_id("thing")
    at = f"{kind.path}/{name}"
    made = admin.post(kind.path, {**kind.body, "id": name, "name": "First"}, **kind.options)
    assert_made(made, f"/v1/admin{at}{kind.query}")
    read = admin.get(at, **kind.options)
    assert read.status == 200 and read.header("etag") == '"1"'
    assert {**made.body, "revision": 0} == {**read.body, "revision": 0}

    replaced = admin.put(at, {**kind.body, "name": "Second"}, **kind.options)
    assert (replaced.status, replaced.body["name"], replaced.body["version"]) == (200, "Second", 2)
    assert replaced.header("etag") == '"2"' and replaced.header("location") is None
    assert replaced.body["revision"] == made.body["revision"] + 1
    assert replaced.body["updated_at"] > replaced.body["created_at"] == made.body["created_at"]

    patched = admin.patch(at, {"name": "Third"}, **kind.options)
    assert (patched.status, patched.body["name"], patched.body["version"]) == (200, "Third", 3)
    assert {**content(patched.body), "name": ""} == {**content(made.body), "name": ""}

    gone = admin.delete(at, **kind.options)
    assert gone.status == 204 and int(gone.header("sluice-revision") or 0) == patched.body["revision"] + 1
    for answer in (admin.get(at, **kind.options), admin.delete(at, **kind.options),
                   admin.patch(at, {"name": "x"}, **kind.options)):
        assert (answer.status, answer.body["type"]) == (404, "/problems/not-found")


def test_put_makes_what_is_not_there_under_the_id_of_the_path(kind: Kind, admin: AdminClient) -> None:
    name = fresh_id("chosen")
    made = admin.put(f"{kind.path}/{name}", kind.body, **kind.options)
    assert_made(made, f"/v1/admin{kind.path}/{name}{kind.query}")
    assert made.body["id"] == name


def test_what_changes_nothing_makes_no_version(kind: Kind, admin: AdminClient) -> None:
    name = fresh_id("same")
    at = f"{kind.path}/{name}"
    made = admin.put(at, {**kind.body, "name": "Same"}, **kind.options)
    for answer in (admin.put(at, {**kind.body, "name": "Same"}, **kind.options),
                   admin.put(at, made.body, **kind.options),
                   admin.patch(at, {}, **kind.options),
                   admin.patch(at, {"name": "Same"}, **kind.options,
                               headers={"content-type": "application/merge-patch+json"})):
        assert (answer.status, answer.body["version"], answer.header("etag")) == (200, 1, '"1"'), answer
        assert answer.body["updated_at"] == made.body["updated_at"]
        assert answer.header("sluice-revision") is None


def test_what_an_answer_shows_can_be_sent_back_with_a_change(kind: Kind, admin: AdminClient) -> None:
    name = fresh_id("echo")
    at = f"{kind.path}/{name}"
    body = admin.put(at, kind.body, **kind.options).body
    answer = admin.put(at, {**body, "name": "Changed", "version": 99, "created_at": "1970-01-01T00:00:00Z"}, **kind.options)
    assert (answer.status, answer.body["version"], answer.body["created_at"]) == (200, 2, body["created_at"])


def test_an_id_that_is_taken_is_409_and_nothing_changes(kind: Kind, admin: AdminClient) -> None:
    name = fresh_id("taken")
    before = admin.put(f"{kind.path}/{name}", {**kind.body, "name": "Mine"}, **kind.options)
    answer = admin.post(kind.path, {**kind.body, "id": name, "name": "Theirs"}, **kind.options)
    assert (answer.status, answer.body["type"]) == (409, "/problems/exists")
    assert admin.get(f"{kind.path}/{name}", **kind.options).body["name"] == before.body["name"]


def test_the_body_must_not_contradict_the_path(kind: Kind, admin: AdminClient) -> None:
    name = fresh_id("path")
    for _ in range(2):   # before it exists, and after
        answer = admin.put(f"{kind.path}/{name}", {**kind.body, "id": "another"}, **kind.options)
        assert (answer.status, pointers(answer)) == (422, ["/id"])
        assert admin.put(f"{kind.path}/{name}", {**kind.body, "id": name}, **kind.options).status in (200, 201)
    patched = admin.patch(f"{kind.path}/{name}", {"id": "another"}, **kind.options)
    assert (patched.status, pointers(patched)) == (422, ["/id"]), "an object is not renamed"


def test_versions_go_on_where_an_id_is_used_again(kind: Kind, admin: AdminClient) -> None:
    at = f"{kind.path}/{fresh_id('again')}"
    admin.put(at, kind.body, **kind.options)
    admin.delete(at, **kind.options)   # version 2: a removal is one
    assert admin.put(at, kind.body, **kind.options).body["version"] == 3


def test_an_id_is_made_from_the_name_and_a_call_sent_twice_makes_one_object(kind: Kind, admin: AdminClient) -> None:
    name = fresh_id("made")
    title = f"{name.upper()} & Söhne!"
    first = admin.create(kind.path, {**kind.body, "name": title}, **kind.options)
    assert first["id"] == f"{name}-s-hne" and first["name"] == title
    second = admin.post(kind.path, {**kind.body, "name": title}, **kind.options)
    assert (second.status, second.body["type"]) == (409, "/problems/exists")
    unnameable = admin.create(kind.path, {**kind.body, "name": "ÄÖ"}, **kind.options)
    singular = {"policies": "policy"}.get(kind.path[1:], kind.path[1:-1])
    assert unnameable["id"].startswith(f"{singular}-") and len(unnameable["id"]) == len(singular) + 13


@pytest.mark.parametrize("bad", ["Upper", "-a", ".a", "a b", "a/b", "a" * 64, "ä", "", "a\n", "a_b", "a%"], ids=ascii)
def test_an_id_of_another_form_is_refused_in_body_and_path(kind: Kind, admin: AdminClient, bad: str) -> None:
    answer = admin.post(kind.path, {**kind.body, "id": bad}, **kind.options)
    assert (answer.status, pointers(answer)) == (422, ["/id"]), answer
    if bad:
        answer = admin.put(f"{kind.path}/{segment(bad)}", kind.body, **kind.options)
        assert answer.status == 422 and "/id" in pointers(answer), answer
        assert admin.get(f"{kind.path}/{segment(bad)}", **kind.options).status == 404


# --- merge patches ---------------------------------------------------------------------------------------------------

def test_a_patch_merges_objects_replaces_lists_and_removes_with_null(admin: AdminClient, tenant: str) -> None:
    admin.put("/policies/p", {"scope": {"resource": "x", "method": "GET"}, "metadata": {"a": "1", "b": "2"}, "priority": 7,
                              "key_by": ["subject"], "limits": [ONE_PER_SECOND]}, tenant=tenant)
    patched = admin.patch("/policies/p", {"scope": {"method": None, "region": "eu"}, "metadata": {"b": "3"}, "priority": None,
                                          "key_by": ["region", "user"]}, tenant=tenant)
    assert content(patched.body) == {"scope": {"resource": "x", "region": "eu"}, "metadata": {"a": "1", "b": "3"},
                                     "key_by": ["user", "region"], "limits": [ONE_PER_SECOND], "require_key_by": True}


def test_a_patch_that_breaks_a_rule_changes_nothing_and_names_the_field(admin: AdminClient, tenant: str) -> None:
    made = admin.put("/plans/p", bucket(), tenant=tenant)
    answer = admin.patch("/plans/p", {"limits": None, "mode": "loud"}, tenant=tenant)
    assert (answer.status, sorted(pointers(answer))) == (422, ["/limits", "/mode"])
    assert admin.get("/plans/p", tenant=tenant).body["version"] == made.body["version"]


def test_a_patch_of_limits_that_are_no_list_gets_this_fault_only(admin: AdminClient, tenant: str) -> None:
    for path in ("/plans", "/policies"):
        admin.put(f"{path}/most", {"limits": [ONE_PER_SECOND], "max_override": 50}, tenant=tenant)
        answer = admin.patch(f"{path}/most", {"limits": {"algorithm": "fixed_window", "limit": 5, "window": "1m"}}, tenant=tenant)
        assert (answer.status, pointers(answer)) == (422, ["/limits"]), answer
        assert answer.body["errors"][0]["detail"] == "limits must be a list, not an object", answer


# --- owners ----------------------------------------------------------------------------------------------------------

def test_nothing_moves_to_another_owner(admin: AdminClient, tenant: str, organization: str) -> None:
    other = admin.organization()
    for answer in (admin.patch(f"/tenants/{tenant}", {"organization_id": other}),
                   admin.put(f"/tenants/{tenant}", {"organization_id": other})):
        assert (answer.status, pointers(answer)) == (422, ["/organization_id"])
    assert admin.get(f"/tenants/{tenant}").body["organization_id"] == organization
    admin.put("/plans/p", bucket(), tenant=tenant)
    moved = admin.patch("/plans/p", {"tenant_id": admin.tenant(organization)}, tenant=tenant)
    assert (moved.status, pointers(moved)) == (422, ["/tenant_id"])


def test_body_and_query_must_name_the_same_tenant(admin: AdminClient, tenant: str, organization: str) -> None:
    other = admin.tenant(organization)
    answer = admin.post("/plans", bucket(tenant_id=other), tenant=tenant)
    assert (answer.status, pointers(answer)) == (422, ["/tenant_id"])


@pytest.mark.parametrize("path", ["/plans", "/policies"])
def test_ids_of_plans_and_policies_are_their_tenants_own(admin: AdminClient, organization: str, path: str) -> None:
    for name in ("one", "two"):
        owner = admin.tenant(organization)
        made = admin.put(f"{path}/shared", {"name": name, **ONE_PER_SECOND | {"name": name}}, tenant=owner)
        assert made.status == 201
        assert admin.get(f"{path}/shared", tenant=owner).body["tenant_id"] == owner


def test_a_tenant_without_an_organization_is_told_of_its_other_faults_too(admin: AdminClient) -> None:
    refused = admin.post("/tenants", {"id": "Shop_1", "name": "Shop", "organisation_id": "sluice"})
    assert refused.status == 422 and sorted(pointers(refused)) == ["/id", "/organisation_id", "/organization_id"], refused


def test_an_object_of_a_tenant_that_is_not_there_is_refused_with_the_fields_name(admin: AdminClient) -> None:
    for answer in (admin.post("/plans", bucket(), tenant="nobody"), admin.post("/plans", bucket(tenant_id="nobody"))):
        assert (answer.status, pointers(answer)) == (422, ["/tenant_id"])
    answer = admin.post("/tenants", {"id": fresh_id("t"), "organization_id": "nobody"})
    assert (answer.status, pointers(answer)) == (422, ["/organization_id"])
    assert pointers(admin.post("/tenants", {"id": fresh_id("t")})) == ["/organization_id"]


def test_a_policy_of_a_plan_of_another_tenant_is_refused(admin: AdminClient, organization: str, tenant: str) -> None:
    admin.put("/plans/theirs", bucket(), tenant=admin.tenant(organization))
    answer = admin.put("/policies/p", {"scope": {"resource": "x"}, "plan_id": "theirs"}, tenant=tenant)
    assert (answer.status, pointers(answer)) == (422, ["/plan_id"])


# --- references ------------------------------------------------------------------------------------------------------

def test_what_is_referred_to_is_not_deleted_and_the_referrers_are_named(admin: AdminClient) -> None:
    organization = admin.organization()
    tenant = admin.tenant(organization)
    admin.put("/plans/pro", bucket(), tenant=tenant)
    for number in range(25):
        admin.put(f"/policies/p{number:02}", {"scope": {"resource": f"r{number}"}, "plan_id": "pro"}, tenant=tenant)
    answer = admin.delete("/plans/pro", tenant=tenant)
    assert (answer.status, answer.body["type"]) == (409, "/problems/referenced")
    assert [error["detail"] for error in answer.body["errors"]] == [
        f"policy p{number:02} of tenant {tenant} uses it" for number in range(20)]
    assert "plan pro" in str(admin.delete(f"/tenants/{tenant}").body["errors"])
    assert f"tenant {tenant} uses it" in str(admin.delete(f"/organizations/{organization}").body["errors"])
    for number in range(25):
        assert admin.delete(f"/policies/p{number:02}", tenant=tenant).status == 204
    for path in ("/plans/pro", f"/tenants/{tenant}", f"/organizations/{organization}"):
        assert admin.delete(path, **({"tenant": tenant} if "plans" in path else {})).status == 204, path


def test_a_plan_that_its_policies_could_not_live_with_is_refused(admin: AdminClient, tenant: str) -> None:
    admin.put("/plans/pro", bucket(), tenant=tenant)
    admin.put("/policies/p", {"scope": {"resource": "x"}, "plan_id": "pro", "key_by": ["region"]}, tenant=tenant)
    answer = admin.put("/plans/pro", {"limits": [{**ONE_PER_SECOND, "key_by": ["region"]}]}, tenant=tenant)
    assert answer.status == 422 and "policies" in answer.body["errors"][0]["detail"], answer
    assert admin.get("/plans/pro", tenant=tenant).body["version"] == 1


def test_an_unknown_plan_or_policy_gets_the_nearest_names_of_its_tenant(admin: AdminClient, tenant: str) -> None:
    for plan in ("premium", "basic"):
        assert admin.put(f"/plans/{plan}", bucket(name=plan), tenant=tenant).status == 201
    assert admin.put("/policies/orders", {"scope": {"resource": "GET:/orders"}, "plan_id": "basic"}, tenant=tenant).status == 201
    for path, near in (("/plans/premiun", 'Did you mean "premium"?'), ("/policies/order", 'Did you mean "orders"?')):
        answer = admin.get(path, tenant=tenant)
        assert answer.status == 404 and answer.body["detail"].endswith(near), answer
    assert "Did you mean" not in admin.get("/plans/gold", tenant=tenant).body["detail"]


def test_another_tenants_names_are_not_offered(admin: AdminClient, organization: str, tenant: str) -> None:
    other = admin.tenant(organization)
    assert admin.put("/plans/premium", bucket(), tenant=other).status == 201
    assert admin.get("/plans/premiun", tenant=tenant).body["detail"] == 'There is no plan "premiun".'
