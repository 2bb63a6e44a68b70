"""The fleet through a real server: what agents report is seen by operators, and counted once."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from support.admin import AdminClient, fresh_id
from support.postgres import Database
from support.process import wait_until
from support.program import metric_sum
from support.server import Installation, Server
from support.sync_client import SyncAgent

QUICKLY = ("--analytics-every", "100ms")


@pytest.fixture(scope="module")
def server(module_server: Callable[..., Server]) -> Server:
    """One for the module, which stores usage quickly."""
    return module_server(*QUICKLY).start()


@pytest.fixture
def agent(server: Server, admin: AdminClient, organization: str, tenant: str) -> Iterator[SyncAgent]:
    """An agent of one tenant, which leaves at the end."""
    made = agent_of(server, admin, organization_id=organization, tenant_ids=[tenant])
    yield made
    made.report(leaving=True)


def agent_of(server: Server, admin: AdminClient, **scope: Any) -> SyncAgent:
    """An agent with a token of its own."""
    token = admin.create("/agent-tokens", {"name": "agents", **scope})["token"]
    return SyncAgent(server.port, token, fresh_id("agent"))


def usage(number: int, tenant: str, **counts: int) -> dict[str, Any]:
    """A report of the last five seconds: outcome → count, by the policy orders."""
    now = datetime.now(timezone.utc)
    return {"number": number, "from": f"{now - timedelta(seconds=5):%Y-%m-%dT%H:%M:%SZ}", "to": f"{now:%Y-%m-%dT%H:%M:%SZ}",
            "counts": [{"tenant_id": tenant, "policy_id": "orders", "outcome": outcome, "count": count}
                       for outcome, count in counts.items()]}


def settle(agent: SyncAgent, number: int, reports: list[dict[str, Any]]) -> None:
    """Sends reports until the server says that it has stored them."""
    def stored() -> bool:
        answer = agent.report(reports=reports)
        assert answer.status in (200, 503), answer   # a server that has just been started knows no tokens yet
        return bool(answer.status == 200 and answer.body["stored"] == number)
    wait_until(f"report {number} of {agent.agent_id}", stored)


def at_head(admin: AdminClient, agent: SyncAgent) -> int:
    """Takes the agent to the newest revision, by its own word."""
    newest = admin.get("/revision").body
    agent.position = newest["revision"], newest["chain"]
    assert agent.report().status == 200
    return int(newest["revision"])


def shown(admin: AdminClient, agent: SyncAgent, tenant: str) -> dict[str, Any]:
    """The agent as operators see it; {} where they do not."""
    return next((item for item in admin.items("/agents", query={"tenant_id": tenant}) if item["id"] == agent.agent_id), {})


def test_an_agent_is_seen_as_it_reports_itself_and_goes_when_it_leaves(server: Server, admin: AdminClient, agent: SyncAgent,
                                                                      tenant: str, organization: str) -> None:
    revision = at_head(admin, agent)
    seen = wait_until("the agent", lambda: shown(admin, agent, tenant))
    assert (seen["revision"], seen["lag"], seen["status"], seen["version"]) == (revision, 0, "live", "0.1.0")
    assert seen["scope"] == {"organization_id": organization, "tenant_ids": [tenant]}
    assert seen["connected"] is False and seen["refusal"] is None and seen["degraded"] == []
    agent.report(degraded=["redis: away"], refusal={"revision": revision, "chain": "a" * 64, "code": "invalid_snapshot",
                                                    "text": "why"})
    refused = wait_until("its refusal", lambda: shown(admin, agent, tenant)["refusal"])
    assert refused["code"] == "invalid_snapshot" and refused["at"]
    assert shown(admin, agent, tenant)["degraded"] == ["redis: away"]
    with agent.watch() as watch:
        assert watch.line() is not None
        wait_until("its watch", lambda: shown(admin, agent, tenant)["connected"])
    wait_until("the end of its watch", lambda: not shown(admin, agent, tenant)["connected"])
    agent.report(leaving=True)
    wait_until("its end", lambda: not shown(admin, agent, tenant))


def test_a_script_waits_until_all_agents_enforce_a_revision(server: Server, admin: AdminClient, agent: SyncAgent,
                                                            tenant: str) -> None:
    at_head(admin, agent)
    scope = {"role": "auditor", "name": "n", "tenant_ids": [tenant],
             "organization_id": admin.get(f"/tenants/{tenant}").body["organization_id"]}
    token = admin.create("/tokens", scope)["token"]   # which itself makes a revision
    with server.admin(token) as script:
        revision = admin.patch(f"/tenants/{tenant}", {"name": fresh_id("n")}).body["revision"]
        begin = time.monotonic()
        answer = script.get(f"/revisions/{revision}", query={"wait": "1s"})
        assert answer.body["enforced_by_all"] is False and answer.body["agents"]["lagging"] == 1, answer
        assert 1 <= time.monotonic() - begin < 10
        threading.Timer(0.5, lambda: at_head(admin, agent)).start()
        begin = time.monotonic()
        answer = script.get(f"/revisions/{revision}", query={"wait": "30s"})
        assert answer.body["enforced_by_all"] is True and answer.body["agents"] == {
            "total": 1, "enforcing": 1, "lagging": 0, "missing": 0, "refusing": 0, "foreign": 0}
        assert time.monotonic() - begin < 20
        assert script.get(f"/revisions/{answer.body['current'] + 1}").status == 404


def test_waiting_calls_take_no_thread_and_end_with_the_server(make_server: Callable[..., Server]) -> None:
    server = make_server(*QUICKLY, "--database-pool", "1").start()
    answers: list[int] = []

    def wait() -> None:
        with server.admin() as script:
            answers.append(script.get("/revisions/1", query={"wait": "60s"}).status)

    waiting = [threading.Thread(target=wait) for _ in range(5)]
    for thread in waiting:
        thread.start()
    with server.admin() as admin:
        for _ in range(20):
            begin = time.monotonic()
            assert admin.get("/revision").status == 200
            assert time.monotonic() - begin < 10
    assert server.stop() == 0
    for thread in waiting:
        thread.join(30)
    assert answers == [200] * 5


def test_sums_are_exact_across_replays_two_replicas_and_a_kill(make_server: Callable[..., Server],
                                                               installation: Installation) -> None:
    database: Database = installation.copy()
    first = make_server(*QUICKLY, database=database).start()
    second = make_server(*QUICKLY, database=database).start()
    with first.admin() as admin:
        organization = admin.organization()
        tenant = admin.tenant(organization)
        agent = agent_of(first, admin, organization_id=organization)
        elsewhere = SyncAgent(second.port, agent.token, agent.agent_id)
        reports = [usage(1, tenant, allowed=5, denied=1, shadow_denied=2)]
        settle(agent, 1, reports)
        settle(elsewhere, 1, reports)
        reports.append(usage(2, tenant, allowed=10))
        agent.report(reports=reports)
        first.kill9()
        settle(elsewhere, 2, reports)
        first.start()
        again = SyncAgent(first.port, agent.token, agent.agent_id)
        reports.append(usage(3, tenant, allowed=20))
        settle(again, 3, reports)
    with second.admin() as admin:
        body = admin.get("/analytics", tenant=tenant).body
        assert {item["outcome"]: item["count"] for item in body["items"]} == {"allowed": 35, "denied": 1, "shadow_denied": 2}
        assert body["totals"] == {"decisions": 36, "shadow": {"would_deny": 2, "would_allow": 0}}


def test_an_agent_cannot_count_for_another_tenant(server: Server, admin: AdminClient, agent: SyncAgent, tenant: str,
                                                  organization: str) -> None:
    other = admin.tenant(organization)
    settle(agent, 1, [{**usage(1, tenant, allowed=5), "counts": usage(1, tenant, allowed=5)["counts"] +
                       usage(1, other, allowed=50)["counts"]}])
    assert admin.get("/analytics", tenant=tenant).body["totals"]["decisions"] == 5
    assert admin.get("/analytics", tenant=other).body["totals"]["decisions"] == 0
    assert metric_sum(server.probe("/metrics").body, "sluice_fleet_out_of_scope_decisions_total") >= 50


def test_heartbeats_tell_how_many_agents_serve_a_tenant(server: Server, admin: AdminClient, tenant: str,
                                                        organization: str, agent: SyncAgent) -> None:
    beside = SyncAgent(server.port, agent.token, fresh_id("agent"))
    agent.report()
    beside.report()

    def told(live: int) -> bool:
        with agent.watch() as watch:
            lines = [watch.line(), watch.line()]
            return any((line or {}).get("tenants") == {tenant: live} for line in lines)

    wait_until("two live agents", lambda: told(2))
    beside.report(leaving=True)
    wait_until("one live agent", lambda: told(1))
