"""Objects are answered in canonical form, whatever was written."""

from typing import Any

import pytest

from support.admin import ONE_PER_SECOND, AdminClient, content, fresh_id, pointers


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
