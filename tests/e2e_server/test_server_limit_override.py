"""`may_override` of keys and `max_override` of plans: stored, answered, exported, audited, and obeyed by agents."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.admin import AdminClient, bucket, fresh_id, pointers
from support.agent import Agent
from support.client import fresh_subject
from support.process import wait_until
from support.server import Server

PLAN = bucket(bucket_capacity=3, refill_rate_per_sec=0.001)
NAME = "token_bucket"  # of the plan's only limit


def texts(answer: Any) -> str:
    """What the faults say."""
    return " ".join(error["detail"] for error in answer.body["errors"])


# --- keys ------------------------------------------------------------------------------------------------------------

def test_a_key_has_may_override_only_where_it_was_set(admin: AdminClient, tenant: str) -> None:
    plain = admin.create("/keys", {"tenant_id": tenant, "may_override": False})
    trusted = admin.create("/keys", {"tenant_id": tenant, "may_override": True})
    assert "may_override" not in plain and trusted["may_override"] is True
    assert admin.get(f"/keys/{trusted['id']}").body["may_override"] is True
    patched = admin.patch(f"/keys/{plain['id']}", {"may_override": True})
    assert (patched.status, patched.body["may_override"]) == (200, True)
    taken = admin.patch(f"/keys/{plain['id']}", {"may_override": None})
    assert (taken.status, taken.body.get("may_override")) == (200, None)
    refused = admin.post("/keys", {"tenant_id": tenant, "may_override": "yes"})
    assert (refused.status, pointers(refused)) == (422, ["/may_override"])


def test_setting_may_override_is_in_the_audit_trail(admin: AdminClient, tenant: str) -> None:
    made = admin.create("/keys", {"tenant_id": tenant, "name": "app"})
    admin.patch(f"/keys/{made['id']}", {"may_override": True})
    entries = list(admin.items("/audit", query={"tenant_id": tenant, "kind": "key"}))
    assert any("may_override" in str(entry) for entry in entries), entries


# --- plans -----------------------------------------------------------------------------------------------------------

def test_max_override_is_answered_in_canonical_form(admin: AdminClient, tenant: str) -> None:
    made = admin.put("/plans/p", {**PLAN, "max_override": 500}, tenant=tenant)
    assert made.body["max_override"] == {NAME: 500}
    assert admin.get("/plans/p", tenant=tenant).body["max_override"] == {NAME: 500}
    patched = admin.patch("/plans/p", {"max_override": {NAME: 9}}, tenant=tenant)
    assert patched.body["max_override"] == {NAME: 9}
    assert "max_override" not in admin.patch("/plans/p", {"max_override": None}, tenant=tenant).body


@pytest.mark.parametrize(("most", "pointer", "words"), [
    ({"brust": 5}, "/max_override/brust", "no limit"), (0, "/max_override", "1"), ({NAME: 2 ** 50 + 1}, f"/max_override/{NAME}", ""),
    ("many", "/max_override", ""), ({NAME: 1.5}, f"/max_override/{NAME}", "")])
def test_a_max_override_that_no_limit_can_have_is_refused(admin: AdminClient, tenant: str, most: Any, pointer: str,
                                                          words: str) -> None:
    answer = admin.put("/plans/p", {**PLAN, "max_override": most}, tenant=tenant)
    assert (answer.status, pointers(answer)) == (422, [pointer])
    assert words in texts(answer)


def test_a_policy_on_a_plan_has_no_max_override_of_its_own(admin: AdminClient, tenant: str) -> None:
    admin.put("/plans/p", PLAN, tenant=tenant)
    answer = admin.put("/policies/q", {"plan_id": "p", "max_override": 5}, tenant=tenant)
    assert (answer.status, pointers(answer)) == (422, ["/max_override"])
    own = admin.put("/policies/q", {"rate": "5/s", "max_override": 50}, tenant=tenant)
    assert own.body["max_override"] == {NAME: 50}


def test_a_plan_pays_for_the_entries_that_checks_may_bring(admin: AdminClient, tenant: str) -> None:
    small = {"limits": [{"name": f"l{number}", "algorithm": "concurrency", "limit": 5, "lease_ttl": "1m"} for number in range(2)]}
    assert admin.put("/plans/p", small, tenant=tenant).status == 201
    assert admin.put("/plans/p", {**small, "max_override": 10_000}, tenant=tenant).status == 422


def test_both_fields_survive_an_export_and_an_apply(admin: AdminClient, tenant: str) -> None:
    admin.put("/plans/p", {**PLAN, "max_override": 500}, tenant=tenant)
    made = admin.create("/keys", {"tenant_id": tenant, "may_override": True})
    exported = admin.get("/export", query={"tenant_id": tenant}).body
    assert exported["plans"][0]["max_override"] == {NAME: 500}
    assert [key["may_override"] for key in exported["keys"]] == [True]
    admin.patch(f"/keys/{made['id']}", {"may_override": False})
    assert admin.post("/apply", exported).status == 200
    assert admin.get(f"/keys/{made['id']}").body["may_override"] is True


# --- agents ----------------------------------------------------------------------------------------------------------

def test_an_agent_obeys_the_right_and_the_bound_as_they_change(server: Server, admin: AdminClient, tenant: str, tmp_path: Path,
                                                               make_agent: Callable[..., Agent]) -> None:
    token = tmp_path / "token"
    token.write_text(admin.create("/agent-tokens", {"name": "agents"})["token"])
    token.chmod(0o600)
    admin.put("/plans/p", PLAN, tenant=tenant)
    admin.put("/policies/q", {"scope": {"resource": "orders"}, "plan_id": "p"}, tenant=tenant)
    key = admin.create("/keys", {"tenant_id": tenant})
    agent = make_agent(None, "memory", "--server", f"http://127.0.0.1:{server.port}", "--agent-token-file", str(token),
                       "--snapshot-cache", str(tmp_path / "kept"), "--agent-id", fresh_id("agent")).start()
    with agent.client(key["key"]) as client:
        def status(limit: int, **more: Any) -> int:
            return client.check(resource="orders", subject="s", cost=0, limit_override={NAME: limit}, **more).status

        wait_until("the key", lambda: status(5) == 403, 20)
        admin.patch(f"/keys/{key['id']}", {"may_override": True})
        wait_until("the right", lambda: status(5) == 422, 20)
        admin.patch("/plans/p", {"max_override": 10}, tenant=tenant)
        wait_until("the bound", lambda: status(5) == 200, 20)
        assert (status(10), status(11), status(11, plan_id="p")) == (200, 422, 422)
        subject = fresh_subject()
        answer = client.check(resource="orders", subject=subject, cost=7, limit_override={NAME: 8})
        assert (answer.status, answer.body["limit"], answer.body["remaining"]) == (200, 8, 1)
        assert client.check(resource="orders", subject=subject).status == 429
        admin.patch("/plans/p", {"max_override": {NAME: 4}}, tenant=tenant)
        wait_until("a lower bound", lambda: status(5) == 422, 20)
        admin.patch(f"/keys/{key['id']}", {"may_override": False})
        wait_until("the right's end", lambda: status(2) == 403, 20)
