"""Policy sync with agents one minor release older or newer than the server: what they leave out, and what they add."""

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from support.admin import AdminClient, bucket, fresh_id
from support.process import wait_until
from support.server import Server
from support.sync_client import SyncAgent


@pytest.fixture
def agent(server: Server, admin: AdminClient, organization: str, tenant: str) -> SyncAgent:
    """An agent of one tenant, which has its policies."""
    token = admin.create("/agent-tokens", {"name": "agents", "organization_id": organization, "tenant_ids": [tenant]})["token"]
    made = SyncAgent(server.port, token, fresh_id("agent"))
    assert made.fetch().status == 200
    return made


def test_an_older_agent_that_knows_no_parameters_is_served(agent: SyncAgent) -> None:
    assert agent.request("GET", "/snapshot").status == 200
    with SyncAgent(agent.port, agent.token, agent.agent_id).watch() as watch:
        assert watch.status == 200 and watch.invalidation() is not None
    smallest = {"agent_id": agent.agent_id, "boot_id": "b1", "version": "0.0.1", "reports": []}
    assert agent.request("POST", "/report", json.dumps(smallest).encode()).status == 200
    assert agent.request("GET", "/counters").status == 404   # of this server, which has no login; not 400


@pytest.mark.parametrize("query", ["since={0}", "chain={1}", "heard={0}", "since={0}&chain={1}&heard={0}"])
def test_half_of_a_position_counts_as_none(agent: SyncAgent, query: str) -> None:
    assert agent.position is not None
    whole = "since" in query and "chain" in query
    assert agent.request("GET", "/snapshot?" + query.format(*agent.position)).status == (304 if whole else 200)


def test_parameters_of_a_newer_agent_are_ignored_on_every_route(agent: SyncAgent) -> None:
    assert agent.position is not None
    position = "since={}&chain={}".format(*agent.position)
    newer = "kinds=plan,policy&kinds=x&encoding=cbor&flag"
    assert agent.request("GET", f"/snapshot?{newer}&{position}").status == 304
    assert agent.request("GET", f"/snapshot?{newer}").status == 200
    assert agent.request("GET", f"/counters?functions=1&{newer}").status == 404
    body = json.dumps({"agent_id": agent.agent_id, "boot_id": "b1", "version": "0.9.0", "reports": []}).encode()
    assert agent.request("POST", f"/report?{newer}", body).status == 200
    with SyncAgent(agent.port, agent.token, agent.agent_id, agent.position).watch() as watch:
        assert watch.status == 200
    watched = urllib.request.Request(f"http://127.0.0.1:{agent.port}/v1/sync/watch?{position}&{newer}", headers=agent.headers())
    with urllib.request.urlopen(watched, timeout=30) as stream:
        assert json.loads(stream.readline())["revision"] >= agent.position[0]


def test_members_of_a_newer_agents_report_are_ignored_and_the_rest_counts(admin: AdminClient, agent: SyncAgent, tenant: str) -> None:
    counted = {"tenant_id": tenant, "outcome": "allowed", "count": 3, "region": "eu"}
    report = {"number": 1, "from": "2027-03-31T00:00:00Z", "to": "2027-03-31T00:00:10Z", "counts": [counted], "held": []}
    answer = agent.report(reports=[report], capabilities=["x"], load={"cpu": 0.5}, degraded=["something new"])
    assert answer.status == 200 and "stored" in answer.body

    def shown() -> Any:
        return next((one for one in admin.items("/agents") if one["id"] == agent.agent_id), None)

    found = wait_until("the agent in the fleet", shown)
    assert found["degraded"] == ["something new"]


# --- the routes are described and counted -----------------------------------------------------------------------------

def test_the_description_has_every_sync_route_and_the_agents_credential(server: Server) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/openapi.json", timeout=30) as answer:
        document = json.load(answer)
    described = {path: item for path, item in document["paths"].items() if path.startswith("/v1/sync/")}
    with pytest.raises(urllib.error.HTTPError) as missing:
        urllib.request.urlopen(f"http://127.0.0.1:{server.port}/v1/sync/none", timeout=30)
    told = json.load(missing.value)["detail"]
    assert described and all(path in told for path in described)
    assert told.count("/v1/sync/") == len(described)
    for path, item in described.items():
        for method, operation in item.items():
            assert operation["security"] == [{"agentToken": []}]
            request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", method=method.upper(), data=b"{}" if method == "post" else None,
                                             headers={"Sluice-Agent": "nobody"})
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request, timeout=30)
            assert refused.value.code == 401, path
            for parameter in operation["parameters"]:
                assert "$ref" in parameter or parameter["in"] == "header" or not parameter["required"]


def test_sync_requests_are_in_the_request_metrics_by_route_and_status(server: Server, agent: SyncAgent) -> None:
    def counted(route: str, status: int) -> float:
        return server.metric("sluice_http_requests_total", route=route, status=str(status))

    before = counted("GET /v1/sync/snapshot", 304), counted("POST /v1/sync/report", 200)
    wait_until("the newest", lambda: agent.fetch().status == 304)
    assert agent.report().status == 200
    assert counted("GET /v1/sync/snapshot", 304) > before[0]
    assert counted("GET /v1/sync/snapshot", 200) >= 1
    assert counted("POST /v1/sync/report", 200) == before[1] + 1
    with agent.watch() as watch:
        watch.heartbeat()
        assert counted("GET /v1/sync/watch", 200) >= 1
    assert agent.request("POST", "/snapshot", b"").status == 405
    assert agent.request("GET", "/counters").status == 404
    assert counted("GET /v1/sync/counters", 404) >= 1
    for route in ("GET /v1/sync/snapshot", "GET /v1/sync/watch", "POST /v1/sync/report", "GET /v1/sync/counters"):
        assert server.metric("sluice_http_request_duration_seconds_count", route=route) >= 1


# --- retention --------------------------------------------------------------------------------------------------------

def test_a_start_forgets_old_revisions_and_agents_of_then_get_everything(make_server: Any) -> None:
    server = make_server("--changes-kept", "3", "--changes-retention", "24h").start()
    database = server.database
    with server.admin() as admin:
        tenant = admin.tenant()
        token = admin.create("/agent-tokens", {"name": "agents"})["token"]
        agent = SyncAgent(server.port, token, fresh_id("agent"))
        wait_until("its policies", lambda: agent.fetch().status == 200)
        for number in range(8):
            last = admin.put(f"/plans/p{number}", bucket(id=f"p{number}"), tenant=tenant).body["revision"]
        first = admin.get("/plans/p0", tenant=tenant).body
        database.execute("UPDATE revisions SET made_at = now() - interval '25 hours'")
    server.restart()
    wait_until("the end of old revisions", lambda: server.metric("sluice_changes_forgotten_total") == last - 3)
    with server.admin() as admin:
        gone = admin.get(f"/revisions/{last - 3}")
        assert gone.status == 404 and "--changes-retention" in gone.body["detail"], gone.body
        assert admin.get(f"/revisions/{last}").status == 200
        assert admin.get("/plans/p0", tenant=tenant).body == first
        assert admin.get("/plans/p0/versions", tenant=tenant).status == 200
    server.restart()   # this one begins with what is left
    agent.port = server.port
    answer = agent.fetch()
    assert answer.status == 200 and "since" not in answer.body
    assert ("plan", tenant, "p7") in agent.objects


# --- fields that older agents refuse ----------------------------------------------------------------------------------

@pytest.mark.parametrize("whole", [True, False])
def test_an_agent_that_refuses_newer_fields_gets_its_objects_without_them(server: Server, admin: AdminClient, organization: str,
                                                                          whole: bool) -> None:
    scope = {} if whole else {"organization_id": organization}
    token = admin.create("/agent-tokens", {"name": "agents", **scope})["token"]
    older = SyncAgent(server.port, token, fresh_id("agent"))
    newer = SyncAgent(server.port, token, fresh_id("agent"), reads="something, newer-fields")

    def document(agent: SyncAgent, kind: str, tenant: str, name: str) -> dict[str, Any]:
        text = agent.objects.get((kind, "" if kind == "tenant" else tenant, name))
        return json.loads(text) if text else {}

    tenants = []
    for _ in range(2):   # the second comes with a delta
        tenants.append(admin.tenant(organization))
        assert admin.put("/plans/quiet", bucket(id="quiet", expose="none"), tenant=tenants[-1]).status == 201
        for agent in (older, newer):
            wait_until("the plan", lambda agent=agent: agent.fetch().status and document(agent, "plan", tenants[-1], "quiet"))
    for tenant in tenants:
        assert document(newer, "tenant", tenant, tenant)["trailing_slash"] == "same"
        assert document(newer, "plan", tenant, "quiet")["expose"] == "none"
        assert document(older, "tenant", tenant, tenant) and "trailing_slash" not in document(older, "tenant", tenant, tenant)
        assert document(older, "plan", tenant, "quiet") == {
            name: value for name, value in document(newer, "plan", tenant, "quiet").items()
            if name not in ("expose", "require_key_by")}   # it would require a resource too
