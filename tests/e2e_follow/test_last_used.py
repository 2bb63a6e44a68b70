"""Keys that agents have seen used, and the denials of one subject: what the server knows from reports."""

import json
from collections.abc import Callable
from typing import Any

from e2e_follow.conftest import REPORTS
from support.admin import AdminClient, pointers
from support.client import Client
from support.crew import SECONDS, Crew
from support.process import wait_until

MakeCrew = Callable[..., Crew]
OFTEN = ("--analytics-every", "1s")


def used_at(admin: AdminClient, key_id: str) -> str:
    """As the server shows the key; "" if nobody has reported a use."""
    return str(admin.get(f"/keys/{key_id}").body.get("last_used_at", ""))


def test_a_key_that_is_used_has_the_time_and_another_has_none(make_crew: MakeCrew) -> None:
    crew = make_crew(*OFTEN)
    with crew.admin() as admin:
        idle = admin.create("/keys", {"tenant_id": crew.tenant, "name": "idle"})
        revision = crew.set_limit(admin, 30)
        assert used_at(admin, crew.key_id) == ""
        agent, = crew.hire(1, *REPORTS)
        crew.await_limit(30)
        found = wait_until("the report of the key", lambda: used_at(admin, crew.key_id), SECONDS)
        assert found > admin.get(f"/keys/{crew.key_id}").body["created_at"]
        assert used_at(admin, idle["id"]) == ""
        assert admin.get("/revision").body["revision"] == revision, "a use makes no revision"
        listed = {each["id"]: each.get("last_used_at") for each in admin.items("/keys", query={"tenant_id": crew.tenant})}
        assert listed == {crew.key_id: found, idle["id"]: None}
        # A request that is refused has shown the key too.
        with Client(agent.port, idle["key"]) as client:
            assert client.request("POST", "/v1/check", b"{", {"x-api-key": idle["key"]}).status == 400
        wait_until("the report of the other key", lambda: used_at(admin, idle["id"]), SECONDS)


def test_an_agent_reports_keys_of_its_own_scope_only(make_crew: MakeCrew) -> None:
    crew = make_crew(*OFTEN)
    with crew.admin() as admin:
        other = admin.create("/keys", {"tenant_id": admin.tenant(), "name": "foreign"})
        owner = admin.get(f"/tenants/{crew.tenant}").body["organization_id"]
        token = admin.create("/agent-tokens", {"name": "narrow", "organization_id": owner, "tenant_ids": [crew.tenant]})["token"]
        report = {"agent_id": "forger", "boot_id": "b", "version": "1", "reports": [
            {"number": 1, "from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:00:10Z", "counts": [], "keys": [other["id"], crew.key_id]}]}
        with Client(crew.server.port) as agent:
            sent = agent.request("POST", "/v1/sync/report", json.dumps(report).encode(),
                                 {"authorization": f"Bearer {token}", "content-type": "application/json"})
        assert sent.status == 200, sent
        wait_until("the report", lambda: used_at(admin, crew.key_id), SECONDS)
        assert used_at(admin, other["id"]) == ""


def test_the_denials_of_a_subject_are_found_by_its_name(make_crew: MakeCrew) -> None:
    crew = make_crew(*OFTEN)
    named = {"scope": {"resource": "GET:/named"}, "key_by": ["subject"], "report_subjects": "named",
             "limits": [{"name": "n", "algorithm": "fixed_window", "limit": 1, "window": "1h"}]}

    def denials(admin: AdminClient, subject: str, **query: str) -> dict[str, Any]:
        answer = admin.get("/analytics/denials", query={"tenant_id": crew.tenant, "subject": subject, **query})
        assert answer.status == 200, answer
        return dict(answer.body)

    with crew.admin() as admin:
        assert admin.put("/policies/named", named, tenant=crew.tenant).status == 201
        crew.set_limit(admin, 10)
        agent, = crew.hire(1, *REPORTS)
        crew.await_limit(10)
        with Client(agent.port, crew.key) as client:
            for _ in range(15):
                client.check(resource="GET:/probe", subject="user:1")
            for _ in range(4):
                client.check(resource="GET:/named", subject="user:1")
            client.check(resource="GET:/probe", subject="user:2")
        wait_until("the reports", lambda: len(denials(admin, "user:1")["items"]) == 2, SECONDS)
        found = denials(admin, "user:1")
        assert {row["policy_id"]: row["count"] for row in found["items"]} == {"probe": 5, "named": 3}
        assert found["subject_hash"].startswith("sha256:") and not found["more"]
        foremost = admin.get("/analytics/subjects", query={"tenant_id": crew.tenant}).body["items"]
        assert {row["subject"] for row in foremost} == {found["subject_hash"], "user:1"}
        assert denials(admin, "user:2")["items"] == []
        assert [row["count"] for row in denials(admin, "user:1", policy_id="named")["items"]] == [3]
        first = denials(admin, "user:1", limit="1")
        assert len(first["items"]) == 1 and first["more"]
        assert admin.get("/analytics/denials", query={"tenant_id": crew.tenant}).status == 400
        of_no_tenant = admin.get("/analytics/denials", query={"subject": "user:1"})
        assert (of_no_tenant.status, pointers(of_no_tenant)) == (422, ["?tenant_id"])
        assert admin.get("/analytics/denials", query={"tenant_id": "no-such-tenant", "subject": "u"}).status == 404
