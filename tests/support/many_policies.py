"""Thousands of policies for the console: loaded in a few calls, and their ids."""

import json

from support.admin import AdminClient

TENANT = "many"
# Every tenth is in shadow, and every hundredth has limits of its own, so that filters and columns have something to do.
SHADOWS, OWN_LIMITS = 10, 100
AT_ONCE = 1000   # in one call: more take longer than a call may on a busy machine


def policy_id(number: int) -> str:
    """Of the policy with this number."""
    return f"many-{number:06d}"


def document(number: int) -> dict[str, object]:
    """One policy."""
    limits: dict[str, object] = {"plan_id": f"plan-{number % 7}"}
    if number % OWN_LIMITS == 0:
        limits = {"limits": [{"algorithm": "sliding_window", "limit": 100 + number, "window": "1m"}]}
    return {"tenant_id": TENANT, "id": policy_id(number), "name": f"Orders of customer {number}", "key_by": ["subject"],
            "scope": {"resource": f"GET:/v1/customers/{number}/orders", "region": ["eu-west-1", "us-east-1"]},
            "mode": "shadow" if number % SHADOWS == 0 else "enforce", **limits}


def load(admin: AdminClient, count: int) -> None:
    """Makes them, with a tenant and plans, in calls of some thousand."""
    organization = admin.organization()
    frame = {"format": "sluice/v1", "organizations": [{"id": organization}],
             "tenants": [{"id": TENANT, "organization_id": organization}],
             "plans": [{"tenant_id": TENANT, "id": f"plan-{number}", "limits": [
                 {"algorithm": "token_bucket", "capacity": 60 + number, "refill": "1/s"},
                 {"name": "day", "algorithm": "quota", "limit": 10_000, "period": "day"}]} for number in range(7)]}
    for begin in range(0, count, AT_ONCE):
        policies = [document(number) for number in range(begin, min(begin + AT_ONCE, count))]
        answer = admin.post("/apply", json.dumps({**frame, "policies": policies}))
        assert answer.status == 200, answer.body
