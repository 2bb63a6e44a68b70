"""Explain with `effective`: the limits in force for a request, after overrides, as agents judge by them."""

from collections.abc import Callable
from typing import Any

import pytest

from support.admin import AdminClient
from support.redis_server import RedisServer
from support.server import Server

WINDOW = {"name": "day", "algorithm": "fixed_window", "limit": 5, "window": "1d"}


@pytest.fixture(scope="module")
def server(module_server: Callable[..., Server], redis: RedisServer) -> Server:
    """One that writes overrides."""
    return module_server("--counters", redis.counters).start()


def ask(admin: AdminClient, tenant: str, request: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The explanation with the limits in force."""
    answer = admin.post("/explain", {"tenant_id": tenant, "request": request, "effective": True, **more})
    assert answer.status == 200, answer
    return dict(answer.body)


def override(admin: AdminClient, tenant: str, owner: dict[str, str], identity: dict[str, str], **fields: Any) -> str:
    """A new override's id."""
    return str(admin.create("/overrides", {"tenant_id": tenant, **owner, "limit_name": "day", "identity": identity, **fields})["id"])


def test_only_who_asks_gets_the_limits(admin: AdminClient, tenant: str) -> None:
    told = admin.post("/explain", {"tenant_id": tenant, "request": {"subject": "u", "resource": "r"}}).body
    assert "effective" not in told
    assert ask(admin, tenant, {"subject": "u", "resource": "r"})["effective"] == []
    refused = admin.post("/explain", {"tenant_id": tenant, "request": {"subject": "u"}, "effective": "yes"})
    assert refused.status == 422


def test_a_policys_limits_mode_rollout_and_validity_are_named(admin: AdminClient, tenant: str) -> None:
    policy = {"scope": {"resource": "GET:/orders"}, "key_by": ["subject"], "valid_to": "2099-01-01T00:00:00Z",
              "limits": [WINDOW, {"name": "burst", "algorithm": "token_bucket", "capacity": 60, "refill": "1/s", "key_by": ["region"]}]}
    assert admin.put("/policies/orders", policy, tenant=tenant).status == 201
    rulebook, = ask(admin, tenant, {"subject": "u", "resource": "GET:/orders"})["effective"]
    limits = rulebook.pop("limits")
    assert rulebook == {"role": "decides", "policy_id": "orders", "policy_version": 1, "rollout_percent": 100, "valid_to": "2099-01-01T00:00:00Z",
                        "mode": "enforce", "action": "deny", "failure_mode": "fail_closed"}
    assert [each["limit"]["name"] for each in limits] == ["day", "burst"]
    assert limits[0] == {"limit": WINDOW, "identity": {"subject": "u"}, "override": None}
    assert limits[1]["identity"] == {"region": None, "subject": "u"}


def test_the_modes_of_the_tenant_count(admin: AdminClient, tenant: str) -> None:
    assert admin.put("/policies/p", {"scope": {"resource": "r"}, "limits": [WINDOW]}, tenant=tenant).status == 201
    assert admin.put(f"/modes/tenants/{tenant}", {"mode": "shadow"}).status == 200
    rulebook, = ask(admin, tenant, {"subject": "u", "resource": "r"})["effective"]
    assert rulebook["mode"] == "shadow"


def test_a_shadow_beside_the_deciding_policy_is_named_too(admin: AdminClient, tenant: str) -> None:
    assert admin.put("/policies/decides", {"scope": {"resource": "r"}, "limits": [WINDOW]}, tenant=tenant).status == 201
    assert admin.put("/policies/tries", {"scope": {"resource": "r"}, "limits": [{**WINDOW, "limit": 2}], "mode": "shadow", "priority": 5},
                     tenant=tenant).status == 201
    rulebooks = ask(admin, tenant, {"subject": "u", "resource": "r"})["effective"]
    assert [(each["policy_id"], each["role"], each["mode"]) for each in rulebooks] == [("decides", "decides", "enforce"), ("tries", "shadow", "shadow")]
    assert rulebooks[1]["limits"][0]["limit"]["limit"] == 2


def test_an_override_changes_the_numbers_of_its_identity_only(admin: AdminClient, tenant: str) -> None:
    assert admin.put("/policies/p", {"scope": {"resource": "r"}, "key_by": ["subject"], "limits": [WINDOW]}, tenant=tenant).status == 201
    made = override(admin, tenant, {"policy_id": "p"}, {"subject": "vip"}, set={"limit": 50, "window": "1h"}, ttl="1h")
    limit, = ask(admin, tenant, {"subject": "vip", "resource": "r"})["effective"][0]["limits"]
    assert (limit["limit"]["limit"], limit["limit"]["window"]) == (50, "1h")
    assert limit["override"] == {"id": made, "policy_id": "p", "instead_of": WINDOW,
                                 "expires_at": admin.get(f"/overrides/{made}", tenant=tenant).body["expires_at"]}
    plain, = ask(admin, tenant, {"subject": "other", "resource": "r"})["effective"][0]["limits"]
    assert plain == {"limit": WINDOW, "identity": {"subject": "other"}, "override": None}
    assert admin.delete(f"/overrides/{made}", tenant=tenant).status in (200, 204)
    assert ask(admin, tenant, {"subject": "vip", "resource": "r"})["effective"][0]["limits"][0]["override"] is None


def test_an_override_of_the_plan_counts_for_policies_that_count_as_the_plan_does(admin: AdminClient, tenant: str) -> None:
    assert admin.put("/plans/pro", {"limits": [WINDOW], "key_by": ["subject"]}, tenant=tenant).status == 201
    for name, keys in (("same", ["subject"]), ("other", ["resource", "subject"])):
        assert admin.put(f"/policies/{name}", {"scope": {"resource": name}, "plan_id": "pro", "key_by": keys}, tenant=tenant).status == 201
    made = override(admin, tenant, {"plan_id": "pro"}, {"subject": "vip"}, set={"limit": 9})
    limit, = ask(admin, tenant, {"subject": "vip", "resource": "same"})["effective"][0]["limits"]
    assert (limit["limit"]["limit"], limit["override"]["id"], limit["override"]["plan_id"]) == (9, made, "pro")
    assert limit["override"]["expires_at"] is None
    assert ask(admin, tenant, {"subject": "vip", "resource": "other"})["effective"][0]["limits"][0]["override"] is None
    named, = ask(admin, tenant, {"subject": "vip", "plan_id": "pro"})["effective"]
    assert (named["plan_id"], "policy_id" in named, named["limits"][0]["limit"]["limit"]) == ("pro", False, 9)


def test_a_resource_in_another_spelling_has_the_same_override(admin: AdminClient, tenant: str) -> None:
    assert admin.patch(f"/tenants/{tenant}", {"trailing_slash": "same"}).status == 200
    assert admin.put("/policies/p", {"scope": {"resource": "GET:/a*"}, "key_by": ["resource", "source_ip"], "limits": [WINDOW]},
                     tenant=tenant).status == 201
    counted = ask(admin, tenant, {"resource": "GET:/a/", "source_ip": "2001:db8::1"})["effective"][0]["limits"][0]["identity"]
    made = override(admin, tenant, {"policy_id": "p"}, {"resource": counted["resource"], "source_ip": "2001:db8::99"}, set={"limit": 9})
    limit, = ask(admin, tenant, {"resource": "GET:/a/", "source_ip": "2001:db8::1"})["effective"][0]["limits"]
    assert limit["override"] is not None and limit["override"]["id"] == made, limit


def test_the_numbers_are_those_by_which_redis_judges(admin: AdminClient, tenant: str) -> None:
    assert admin.put("/policies/p", {"scope": {"resource": "r"}, "key_by": ["subject"], "limits": [WINDOW]}, tenant=tenant).status == 201
    override(admin, tenant, {"policy_id": "p"}, {"subject": "vip"}, set={"limit": 50})
    judged, = admin.post("/counters/read", {"tenant_id": tenant, "policy_id": "p", "identity": {"subject": "vip"}}).body["limits"]
    limit, = ask(admin, tenant, {"subject": "vip", "resource": "r"})["effective"][0]["limits"]
    assert judged["limit"] == limit["limit"]["limit"] == 50
