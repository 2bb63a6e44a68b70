"""Organizations, tenants, plans and policies: made, read, replaced, patched, deleted; in canonical form whatever was written."""

from typing import Any

import pytest

from support.admin import AdminClient, bucket, fresh_id, pointers, segment
from support.client import Answer

READ_ONLY = {"version", "revision", "created_at", "updated_at", "warnings"}
ONE_PER_SECOND = {"name": "token_bucket", "algorithm": "token_bucket", "capacity": 10, "refill": "1/s"}


def content(body: dict[str, Any]) -> dict[str, Any]:
    """What was stored, without what the store adds and what the test's tenant is called."""
    return {name: value for name, value in body.items() if name not in READ_ONLY | {"tenant_id", "id"}}


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


# --- canonical form --------------------------------------------------------------------------------------------------

def limit(algorithm: str, **fields: Any) -> dict[str, Any]:
    """A plan of one limit as it is answered."""
    return {"limits": [{"name": algorithm, "algorithm": algorithm, **fields}]}


@pytest.mark.parametrize(("written", "canonical"), [
    ({"limit": 100, "window": "10s"}, limit("token_bucket", capacity=100, refill="1/100ms")),
    ({"rate": "100/minute"}, limit("token_bucket", capacity=100, refill="1/600ms")),
    ({"capacity": 5, "refill_per_sec": 0.5}, limit("token_bucket", capacity=5, refill="1/2s")),
    ({"bucket_capacity": 5, "refill_rate_per_sec": 20}, limit("token_bucket", capacity=5, refill="1/50ms")),
    ({"capacity": 5, "refill": "7/3s"}, limit("token_bucket", capacity=5, refill="7/3s")),
    ({"strategy": "leaky_bucket", "capacity": 5, "leak_per_sec": 2}, limit("leaky_bucket", capacity=5, leak="1/500ms")),
    ({"capacity": 5, "leak_rate_per_sec": 2}, limit("leaky_bucket", capacity=5, leak="1/500ms")),
    ({"algorithm": "fixed_window", "rate": "5/s"}, limit("fixed_window", limit=5, window="1s")),
    ({"algorithm": "sliding_window", "limit": 5, "window": "60s"}, limit("sliding_window", limit=5, window="1m")),
    ({"algorithm": "gcra", "rate": "10/1s", "burst": 20}, limit("token_bucket", capacity=20, refill="1/100ms")),
    ({"strategy": "gcra", "rate": "10/1s"}, limit("token_bucket", capacity=10, refill="1/100ms")),
    ({"algorithm": "sliding_window_log", "limit": 5, "window": "1000ms"}, limit("sliding_window_log", limit=5, window="1s")),
    ({"limit": 3, "lease_ttl": "30s"}, limit("concurrency", limit=3, lease_ttl="30s")),
    ({"limit": 1000000, "period": "month"}, limit("quota", limit=1000000, period="month")),
    ({"limit": 5, "window": "5s", "key_by": "user"}, limit("token_bucket", capacity=5, refill="1/s") | {"key_by": ["user"]}),
    ({"limit": 5, "window": "5s", "key_by": ["resource", "subject"]}, limit("token_bucket", capacity=5, refill="1/s") | {"key_by": ["resource", "subject"]}),
    ({"limit": 5, "window": "5s", "mode": "on"}, limit("token_bucket", capacity=5, refill="1/s")),
    ({"limit": 5, "window": "5s", "mode": "monitor"}, limit("token_bucket", capacity=5, refill="1/s") | {"mode": "shadow"}),
    ({"limit": 5, "window": "5s", "fail_open": True},
     limit("token_bucket", capacity=5, refill="1/s") | {"failure_mode": "fail_open"}),
    ({"limit": 5, "window": "5s", "failure_mode": "fail_closed", "action": "deny", "name": ""},
     limit("token_bucket", capacity=5, refill="1/s")),
])
def test_every_shorthand_is_answered_in_canonical_form(admin: AdminClient, tenant: str, written: dict[str, Any],
                                                       canonical: dict[str, Any]) -> None:
    made = admin.put("/plans/p", written, tenant=tenant)
    assert (made.status, content(made.body)) == (201, {**canonical, "require_key_by": True})
    again = admin.put("/plans/p", made.body, tenant=tenant)
    assert (again.status, again.body["version"]) == (200, 1), "the canonical form is its own"


@pytest.mark.parametrize(("written", "canonical"), [
    ({"resource": "x", "method": "GET"}, {"scope": {"resource": "x", "method": "GET"}}),
    ({"scope": {"resource": ["b", "a"]}}, {"scope": {"resource": ["a", "b"]}}),
    ({"scope": {"resource": ["a"]}}, {"scope": {"resource": "a"}}),
    ({"scope": {"tag.env": "prod", "source_ip": ["10.0.0.0/8"]}}, {"scope": {"source_ip": "10.0.0.0/8", "tag.env": "prod"}}),
    ({"resource": "x", "priority": 0, "enabled": True, "rollout_percent": 100}, {"scope": {"resource": "x"}}),
    ({"resource": "x", "priority": -3, "enabled": False, "rollout_percent": 12.5},
     {"scope": {"resource": "x"}, "priority": -3, "enabled": False, "rollout_percent": 12.5}),
    ({"resource": "x", "valid_from": "2030-01-01T00:00:00+01:00"},
     {"scope": {"resource": "x"}, "valid_from": "2029-12-31T23:00:00Z"}),
])
def test_policies_too_are_answered_in_canonical_form(admin: AdminClient, tenant: str, written: dict[str, Any],
                                                     canonical: dict[str, Any]) -> None:
    made = admin.put("/policies/p", {**written, "limits": [ONE_PER_SECOND]}, tenant=tenant)
    assert (made.status, content(made.body)) == (201, {**canonical, "limits": [ONE_PER_SECOND], "require_key_by": True})
    again = admin.put("/policies/p", made.body, tenant=tenant)
    assert (again.status, again.body["version"]) == (200, 1)


@pytest.mark.parametrize("expose", ["all", "remaining", "none"])
def test_what_a_policy_exposes_is_stored_by_every_way_to_write_it(admin: AdminClient, tenant: str, expose: str) -> None:
    shown = {} if expose == "all" else {"expose": expose}
    body = {"limits": [ONE_PER_SECOND], "expose": expose}
    posted = admin.post("/policies", {**body, "tenant_id": tenant, "id": "posted", "resource": "a"})
    put = admin.put("/policies/put", {**body, "resource": "b"}, tenant=tenant)
    assert admin.put("/policies/patched", {"limits": [ONE_PER_SECOND], "resource": "c"}, tenant=tenant).status == 201
    patched = admin.patch("/policies/patched", {"expose": expose}, tenant=tenant)
    assert (posted.status, put.status, patched.status) == (201, 201, 200)
    for name, written in {"posted": posted, "put": put, "patched": patched}.items():
        read = admin.get(f"/policies/{name}", tenant=tenant)
        for answer in (written, read):
            assert {field: value for field, value in answer.body.items() if field == "expose"} == shown
        again = admin.put(f"/policies/{name}", read.body, tenant=tenant)
        assert (again.status, again.body["version"]) == (200, read.body["version"])


@pytest.mark.parametrize("path", ["policies", "plans"])
@pytest.mark.parametrize("wrong", ["some", "None", ""])
def test_a_wrong_value_of_expose_names_the_field_the_rule_and_what_to_write(
        admin: AdminClient, tenant: str, path: str, wrong: str) -> None:
    body = {"limits": [ONE_PER_SECOND], "expose": wrong}
    for refused in (admin.post(f"/{path}", {**body, "tenant_id": tenant, "id": "p"}),
                    admin.put(f"/{path}/p", body, tenant=tenant)):
        assert refused.status == 422 and pointers(refused) == ["/expose"], refused
        assert "all, remaining, none" in str(refused.body["errors"])
    assert admin.get(f"/{path}/p", tenant=tenant).status == 404


def test_defaults_of_tenants_are_left_out_and_the_rest_is_shown(admin: AdminClient, organization: str) -> None:
    name = fresh_id("t")
    plain = admin.put(f"/tenants/{name}", {"organization_id": organization, "mode": "on", "default": "allow",
                                           "plan_calls": True})
    assert content(plain.body) == {"organization_id": organization, "trailing_slash": "same"}
    told = admin.put(f"/tenants/{name}", {"organization_id": organization, "mode": "monitor", "default": "deny",
                                          "plan_calls": False})
    assert content(told.body) == {"organization_id": organization, "mode": "shadow", "default": "deny", "plan_calls": False,
                                  "trailing_slash": "same"}
    distinct = admin.put(f"/tenants/{name}", {"organization_id": organization, "trailing_slash": "distinct"})
    assert content(distinct.body) == {"organization_id": organization, "trailing_slash": "distinct"}
    wrong = admin.put(f"/tenants/{name}", {"organization_id": organization, "trailing_slash": "ignored"})
    assert wrong.status == 422 and "must be same or distinct" in wrong.body["errors"][0]["detail"]


# --- metadata --------------------------------------------------------------------------------------------------------

def test_a_match_expr_in_metadata_is_the_policys_wherever_a_policy_is_written(admin: AdminClient, tenant: str) -> None:
    body = {"limits": [bucket()], "metadata": {"match_expr": "region == eu", "team": "pay"}}
    made = admin.put("/policies/a", body, tenant=tenant)
    assert made.status == 201, made
    assert (made.body["match_expr"], made.body["metadata"]) == ("region == eu", {"team": "pay"})
    assert [warning["pointer"] for warning in made.body["warnings"]] == ["/metadata/match_expr"]
    patched = admin.patch("/policies/a", {"metadata": {"match_expr": "region == us"}}, tenant=tenant)
    assert (patched.status, pointers(patched)) == (422, ["/metadata/match_expr"])
    bundle = {"format": "sluice/v1", "tenants": [{"id": tenant}], "policies": [{"id": "b", **body}]}
    applied = admin.post("/apply", bundle)
    assert applied.status == 200, applied
    assert [warning["pointer"] for warning in applied.body["warnings"]] == ["/policies/0/metadata/match_expr"]
    assert admin.get("/policies/b", tenant=tenant).body["match_expr"] == "region == eu"


def test_two_different_match_exprs_and_a_faulty_one_are_refused_at_the_one_in_metadata(
        admin: AdminClient, tenant: str) -> None:
    for extra in [{"match_expr": "region == us", "metadata": {"match_expr": "region == eu"}},
                  {"metadata": {"match_expr": "region ="}}]:
        answer = admin.put("/policies/a", {"limits": [bucket()], **extra}, tenant=tenant)
        assert (answer.status, pointers(answer)) == (422, ["/metadata/match_expr"])


def test_a_field_of_policies_in_metadata_is_stored_with_a_warning(admin: AdminClient, tenant: str) -> None:
    made = admin.put("/policies/a", {"limits": [bucket()], "metadata": {"mode": "shadow", "owner": "pay"}}, tenant=tenant)
    assert made.status == 201 and made.body["metadata"] == {"mode": "shadow", "owner": "pay"}
    assert [warning["pointer"] for warning in made.body["warnings"]] == ["/metadata/mode"]


# --- warnings --------------------------------------------------------------------------------------------------------

def test_two_policies_for_the_same_requests_are_stored_with_a_warning(admin: AdminClient, tenant: str) -> None:
    body = {"scope": {"resource": "x"}, "limits": [ONE_PER_SECOND]}
    assert "warnings" not in admin.put("/policies/a", body, tenant=tenant).body
    second = admin.put("/policies/b", body, tenant=tenant)
    assert second.status == 201
    assert [set(warning) for warning in second.body["warnings"]] == [{"pointer", "detail"}]
    assert "policy a" in second.body["warnings"][0]["detail"]
    assert "warnings" not in admin.put("/policies/c", {**body, "priority": 1}, tenant=tenant).body
    assert "warnings" not in admin.put("/policies/d", {**body, "enabled": False}, tenant=tenant).body


def test_a_policy_that_puts_its_tenant_into_one_slot_is_stored_with_a_warning(admin: AdminClient, tenant: str) -> None:
    made = admin.put("/policies/a", {"scope": {"resource": "x"}, "key_by": [], "limits": [
        {**ONE_PER_SECOND, "key_by": ["subject"]}]}, tenant=tenant)
    assert made.status == 201 and "slot" in str(made.body["warnings"]), made


def test_a_share_written_as_a_percentage_and_milliseconds_written_as_seconds_are_stored_with_a_warning(
        admin: AdminClient, tenant: str) -> None:
    limits = [{"algorithm": "fixed_window", "limit": 5, "window": 60000}]
    made = admin.put("/policies/a", {"rollout_percent": 0.25, "limits": limits}, tenant=tenant)
    assert made.status == 201, made
    warned = {warning["pointer"]: warning["detail"] for warning in made.body["warnings"]}
    assert set(warned) == {"/rollout_percent", "/limits/0/window"}
    assert "0.25 percent" in warned["/rollout_percent"] and "write 25" in warned["/rollout_percent"]
    assert "60000 seconds, 16 h 40 min" in warned["/limits/0/window"] and 'write 60 or "1m"' in warned["/limits/0/window"]
    again = admin.patch("/policies/a", {"rollout_percent": 25}, tenant=tenant)
    assert again.status == 200 and "warnings" not in again.body, "what is stored is not asked about again"


def test_a_policy_whose_time_is_over_is_stored_with_a_warning_and_stays_editable(admin: AdminClient, tenant: str) -> None:
    ended = {"limits": [ONE_PER_SECOND], "valid_to": "2020-01-01T00:00:00Z"}
    made = admin.put("/policies/a", ended, tenant=tenant)
    assert (made.status, [warning["pointer"] for warning in made.body["warnings"]]) == (201, ["/valid_to"])
    assert "in the past" in made.body["warnings"][0]["detail"]
    assert admin.patch("/policies/a", {"priority": 1}, tenant=tenant).status == 200
    later = admin.patch("/policies/a", {"valid_to": "2999-01-01T00:00:00Z"}, tenant=tenant)
    assert later.status == 200 and "warnings" not in later.body


def test_the_sixty_fifth_policy_that_no_index_can_use_is_refused(admin: AdminClient, tenant: str) -> None:
    body = {"scope": {"tenant": "*"}, "limits": [ONE_PER_SECOND]}
    for number in range(64):
        assert admin.put(f"/policies/p{number}", {**body, "priority": number}, tenant=tenant).status == 201
    answer = admin.put("/policies/more", {**body, "priority": 64}, tenant=tenant)
    assert (answer.status, pointers(answer)) == (422, ["/scope"])
    assert admin.put("/policies/p0", {**body, "priority": 99}, tenant=tenant).status == 200, "one of them may change"
    assert admin.put("/policies/more", {**body, "scope": {"resource": "x"}}, tenant=tenant).status == 201


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
