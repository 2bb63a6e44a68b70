"""Policy sync on the wire: what an agent is given, what it is never given, and when it hears of changes."""

import json
import math
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.admin import AdminClient, bucket, fresh_id
from support.client import Client
from support.postgres import PostgresServer
from support.process import wait_until
from support.program import metric_sum
from support.server import Server, bootstrap, migrate
from support.sync_client import SyncAgent

Make = Callable[..., Server]


def agent_token(admin: AdminClient, **scope: Any) -> dict[str, Any]:
    """A new agent token."""
    return admin.create("/agent-tokens", {"name": "agents", **scope})


def agent_of(server: Server, admin: AdminClient, **scope: Any) -> SyncAgent:
    """An agent with a token of its own."""
    return SyncAgent(server.port, agent_token(admin, **scope)["token"], fresh_id("agent"))


def metric(server: Server, name: str, **labels: str) -> float:
    """One of the server's counters."""
    return metric_sum(server.probe("/metrics").body, f"sluice_sync_{name}", **labels)


def await_revision(server: Server, revision: int) -> None:
    """Waits until the server gives agents this revision."""
    wait_until(f"revision {revision}", lambda: server.metric("sluice_feed_revision") >= revision)


@pytest.fixture
def agent(server: Server, admin: AdminClient, organization: str, tenant: str) -> SyncAgent:
    """An agent of one tenant."""
    return agent_of(server, admin, organization_id=organization, tenant_ids=[tenant])


# --- documents -------------------------------------------------------------------------------------------------------

def test_an_agent_gets_the_whole_and_then_what_changed(server: Server, admin: AdminClient, agent: SyncAgent,
                                                       organization: str, tenant: str) -> None:
    agent.reads = "newer-fields"
    await_revision(server, admin.put("/plans/one", bucket(), tenant=tenant).body["revision"])
    first = agent.fetch()
    assert first.status == 200 and "since" not in first.body
    assert set(agent.objects) == {("settings", "", ""), ("organization", "", organization), ("tenant", "", tenant),
                                  ("plan", tenant, "one")}
    assert agent.fetch().status == 304
    admin.put("/plans/two", bucket(id="two"), tenant=tenant)
    admin.delete("/plans/one", tenant=tenant)
    await_revision(server, admin.get("/revision").body["revision"])
    since = agent.position
    delta = agent.fetch()
    assert delta.status == 200 and since is not None and delta.body["since"] == since[0]
    assert [item["id"] for item in delta.body["objects"]] == ["two"]
    assert delta.body["removed"] == [{"kind": "plan", "tenant_id": tenant, "id": "one"}]
    exported = next(plan for plan in admin.get("/export").body["plans"] if plan["tenant_id"] == tenant)
    assert json.loads(agent.objects["plan", tenant, "two"]) == exported


def test_a_change_elsewhere_moves_the_head_and_brings_nothing(server: Server, admin: AdminClient, agent: SyncAgent,
                                                              organization: str) -> None:
    agent.fetch()
    other = admin.tenant(organization)
    delta = wait_until("the head", lambda: answer if (answer := agent.fetch()).status == 200 else None)
    assert delta.body["objects"] == [] and delta.body["removed"] == [] and other not in json.dumps(delta.body)


def test_a_policys_version_travels_with_it(admin: AdminClient, agent: SyncAgent, tenant: str) -> None:
    policy = {"id": "p", "scope": {"resource": "r"}, "limits": [{"name": "l", **LIMIT}]}
    assert admin.put("/policies/p", policy, tenant=tenant).status == 201
    policy["limits"][0]["limit"] = 11
    assert admin.put("/policies/p", policy, tenant=tenant).status == 200
    wait_until("the policy", lambda: agent.fetch() and ("policy", tenant, "p") in agent.objects
               and json.loads(agent.objects["policy", tenant, "p"]).get("version") == 2)


LIMIT = {"algorithm": "fixed_window", "limit": 10, "window": "1m"}


def test_expose_reaches_agents_only_where_it_says_something_else_than_all(
        admin: AdminClient, agent: SyncAgent, tenant: str) -> None:
    written = {"unsaid": {}, "all": {"expose": "all"}, "remaining": {"expose": "remaining"}, "none": {"expose": "none"}}
    for name, fields in written.items():
        for path in ("plans", "policies"):
            body = {**fields, "limits": [{"name": "l", **LIMIT}], **({"resource": name} if path == "policies" else {})}
            assert admin.put(f"/{path}/{name}", body, tenant=tenant).status == 201
    agent.reads = "newer-fields"
    wait_until("the last policy", lambda: agent.fetch() and ("policy", tenant, "none") in agent.objects)
    for kind in ("plan", "policy"):
        told = {name: json.loads(agent.objects[kind, tenant, name]).get("expose") for name in written}
        assert told == {"unsaid": None, "all": None, "remaining": "remaining", "none": "none"}


def test_answers_are_packed_where_that_is_taken(server: Server, admin: AdminClient, agent: SyncAgent, tenant: str) -> None:
    for number in range(10):
        written = admin.put(f"/plans/p{number}", bucket(id=f"p{number}"), tenant=tenant)
    await_revision(server, written.body["revision"])
    plain = agent.request("GET", "/snapshot")
    packed = agent.request("GET", "/snapshot", packed=True)
    assert "content-encoding" not in plain.headers and packed.headers["content-encoding"] == "gzip"
    assert packed.body == plain.body and len(packed.raw) < len(plain.raw)
    assert {"accept-encoding, sluice-reads"} == {answer.headers["vary"].lower() for answer in (plain, packed)}


def test_identical_answers_are_built_once(server: Server, admin: AdminClient, agent: SyncAgent, tenant: str) -> None:
    admin.put("/plans/p", bucket(), tenant=tenant)
    wait_until("the plan", lambda: agent.fetch() and ("plan", tenant, "p") in agent.objects)
    agent.request("GET", "/snapshot")
    built, fetched = metric(server, "built_documents_total"), metric(server, "fetches_total", result="full")
    threads = [threading.Thread(target=agent.request, args=("GET", "/snapshot")) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert metric(server, "built_documents_total") == built
    assert metric(server, "fetches_total", result="full") == fetched + 20


@pytest.mark.parametrize("position", [(10**9, "a" * 64), (1, "a" * 64)])
def test_a_position_of_another_history_is_gone(agent: SyncAgent, position: tuple[int, str]) -> None:
    agent.position = position
    answer = agent.fetch()
    assert answer.status == 410 and answer.body["type"] == "/problems/resync", answer


def test_an_answer_covers_what_the_agent_was_told_of(server: Server, admin: AdminClient, agent: SyncAgent, tenant: str) -> None:
    agent.fetch()
    for number in range(30):   # without it a fetch right after a write may be too early
        written = admin.put("/plans/p", bucket(name=f"n{number}"), tenant=tenant)
        assert agent.fetch(heard=(written.body["revision"], "a" * 64)).status == 200
        assert json.loads(agent.objects["plan", tenant, "p"])["name"] == f"n{number}"
    delayed = metric(server, "delayed_requests_total")
    known = agent.fetch(heard=agent.position)
    assert known.status == 304 and "sluice-heard" not in known.headers
    assert metric(server, "delayed_requests_total") == delayed
    elsewhere = agent.fetch(heard=(1, "a" * 64))
    assert elsewhere.status == 304 and elsewhere.headers["sluice-heard"] == "foreign"
    assert metric(server, "delayed_requests_total") == delayed + 1


@pytest.mark.parametrize("query", ["?since=x&chain=" + "a" * 64, "?since=1&chain=short", "?since=1&since=1&chain=" + "a" * 64,
                                   "?since=%zz"])
def test_a_faulty_position_is_refused(agent: SyncAgent, query: str) -> None:
    for path in ("/snapshot", "/watch"):
        assert agent.request("GET", path + query).status == 400


# --- who -------------------------------------------------------------------------------------------------------------

def test_a_token_of_one_tenant_is_given_nothing_of_another(server: Server, admin: AdminClient, organization: str,
                                                           tenant: str, agent: SyncAgent) -> None:
    other = admin.tenant(organization, prefix="foreign")
    admin.put("/plans/secret", bucket(), tenant=other)
    admin.create("/keys", {"tenant_id": other, "name": "secret"})
    admin.put("/plans/own", bucket(), tenant=tenant)
    wait_until("its own", lambda: agent.fetch() and ("plan", tenant, "own") in agent.objects)
    assert all(tenant_id in ("", tenant) for _, tenant_id, _ in agent.objects) and ("tenant", "", other) not in agent.objects
    with agent.watch() as watch:
        watch.heartbeat()
        revision = admin.put("/plans/more", bucket(id="more"), tenant=other).body["revision"]
        admin.delete("/plans/secret", tenant=other)
        while (line := watch.heartbeat())["revision"] <= revision:
            assert other not in json.dumps(line)
        assert admin.put("/plans/own", bucket(bucket_capacity=3), tenant=tenant).status == 200
        assert watch.invalidation() is not None
    delta = agent.fetch()
    assert delta.status == 200 and other not in json.dumps(delta.body) and "secret" not in json.dumps(delta.body)
    assert [item["id"] for item in delta.body["objects"]] == ["own"] and delta.body["removed"] == []


def test_tokens_open_their_own_routes_only(server: Server, admin: AdminClient, agent: SyncAgent) -> None:
    stranger = SyncAgent(server.port, str(admin.token))
    for method, path in (("GET", "/snapshot"), ("GET", "/watch"), ("POST", "/report")):
        answer = stranger.request(method, path)
        assert answer.status == 401 and answer.headers["www-authenticate"].startswith("Bearer"), answer
    with server.admin(agent.token, source="127.0.0.9") as client:
        assert client.get("/whoami").status == 401
    with Client(server.port) as client:
        assert client.request("GET", "/v1/sync/snapshot").status == 401


def test_a_token_works_at_once(server: Server, admin: AdminClient, tenant: str, organization: str) -> None:
    for _ in range(10):
        assert agent_of(server, admin, organization_id=organization, tenant_ids=[tenant]).fetch().status == 200


def test_a_revoked_token_ends_its_stream_within_a_second(server: Server, admin: AdminClient, organization: str) -> None:
    made = agent_token(admin, organization_id=organization)
    agent = SyncAgent(server.port, made["token"])
    with agent.watch() as watch:
        assert watch.line() is not None
        assert admin.delete(f"/agent-tokens/{made['id']}").status in (200, 204)
        revoked = time.monotonic()
        while watch.line() is not None:
            pass
        assert time.monotonic() - revoked < 1
    assert agent.fetch().status == 401


def test_failures_from_one_address_are_throttled(server: Server, agent: SyncAgent) -> None:
    with Client(server.port, source="127.0.0.77") as client:
        statuses = [client.request("GET", "/v1/sync/snapshot", headers={"authorization": "Bearer slg_a_b"}).status
                    for _ in range(30)]
        assert statuses[0] == 401 and statuses[-1] == 429
        good = client.request("GET", "/v1/sync/snapshot", headers=agent.headers())
        assert good.status == 200


@pytest.mark.parametrize(("method", "path", "status"), [("POST", "/snapshot", 405), ("GET", "/report", 405), ("GET", "/x", 404)])
def test_what_is_no_route_is_said_so(agent: SyncAgent, method: str, path: str, status: int) -> None:
    assert agent.request(method, path).status == status


def test_a_watch_names_its_agent(agent: SyncAgent) -> None:
    agent.agent_id = ""
    assert agent.request("GET", "/watch").status == 400
    assert agent.request("GET", "/snapshot").status == 200


# --- watching --------------------------------------------------------------------------------------------------------

def test_a_watch_without_a_position_or_with_an_old_one_hears_at_once(server: Server, admin: AdminClient) -> None:
    organization = admin.organization()   # of which nobody else's agents are
    tenant = admin.tenant(organization)
    agent = agent_of(server, admin, organization_id=organization, tenant_ids=[tenant])
    with agent.watch() as watch:
        first = watch.line()
        assert watch.status == 200 and watch.headers["content-type"] == "application/x-ndjson"
        assert first is not None and first["spread_ms"] == 0 and "heartbeat" not in first
    agent.fetch()
    with agent.watch() as watch:
        assert watch.heartbeat()["tenants"] == {tenant: 1}
        assert "tenants" not in watch.heartbeat(), "they stand only where they changed"
    admin.put("/plans/p", bucket(), tenant=tenant)
    wait_until("the plan", lambda: agent.request("GET", "/snapshot" + agent.query()).status == 200)
    with agent.watch() as watch:
        line = watch.line()
        assert line is not None and "heartbeat" not in line
    agent.position = (10**9, "a" * 64)
    with agent.watch() as watch:
        line = watch.line()
        assert line is not None and "heartbeat" not in line


@pytest.mark.fault("changes-without-a-pause")
def test_many_writes_make_a_line_a_window_and_the_last_is_told(server: Server, admin: AdminClient, agent: SyncAgent,
                                                               tenant: str) -> None:
    agent.fetch()
    with agent.watch() as watch:
        watch.heartbeat()
        begin = time.monotonic()
        for number in range(150):
            last = admin.put("/plans/p", bucket(bucket_capacity=number + 1), tenant=tenant).body["revision"]
        seconds = time.monotonic() - begin
        lines = []
        while not lines or lines[-1]["revision"] < last:
            line = watch.line()
            assert line is not None
            if "heartbeat" not in line:
                lines.append(line)
    assert lines[-1]["revision"] == last
    assert len(lines) <= 2 + math.ceil(seconds / 0.1), (len(lines), seconds)
    revisions = [line["revision"] for line in lines]
    assert revisions == sorted(set(revisions))
    assert agent.fetch().status == 200 and agent.position == (last, lines[-1]["chain"])
    assert metric(server, "merged_changes_total") > 0


def test_a_change_outside_the_scope_wakes_nobody(server: Server, admin: AdminClient, agent: SyncAgent) -> None:
    elsewhere = admin.tenant()
    agent.fetch()
    with agent.watch() as watch:
        watch.line()
        revision = admin.put("/plans/p", bucket(), tenant=elsewhere).body["revision"]
        while watch.heartbeat()["revision"] < revision:
            pass


def test_a_report_is_answered(agent: SyncAgent) -> None:
    agent.fetch()
    assert agent.report().body == {"stored": 0}
    assert agent.report(degraded="x").status == 400
    assert agent.report(degraded=["y" * 1000] * 30).status == 200
    assert agent.report(padding="z" * (2 << 20)).body == {"stored": 0}, "a large one is read for agents"
    assert SyncAgent(agent.port, "slg_x_y").report(padding="z" * (2 << 20)).status == 401
    large = agent.request("POST", "/report", b" " * (9 << 20))
    assert large.status == 413


# --- losses ----------------------------------------------------------------------------------------------------------

def test_deltas_go_on_after_a_restart(make_server: Make) -> None:
    server = make_server().start()
    with server.admin() as admin:
        tenant = admin.tenant()
        agent = agent_of(server, admin)
        agent.fetch()
        admin.put("/plans/p", bucket(), tenant=tenant)
    server.restart()
    agent.port = server.port
    delta = wait_until("the feed", lambda: answer if (answer := agent.fetch()).status == 200 else None)
    assert delta.body["since"] < delta.body["revision"] and [item["id"] for item in delta.body["objects"]] == ["p"]


def test_a_drain_finishes_the_streams(make_server: Make) -> None:
    server = make_server().start()
    with server.admin() as admin:
        agent = agent_of(server, admin)
    with agent.watch() as watch:
        assert watch.line() is not None
        server.process.send(signal.SIGTERM)
        while watch.line() is not None:
            pass
    wait_until("its end", lambda: not server.process.alive())


def test_without_postgres_agents_are_served_from_memory(make_postgres: Callable[..., PostgresServer], make_server: Make,
                                                        server_program: Path) -> None:
    postgres = make_postgres()
    database = postgres.create_database()
    migrate(server_program, database)
    server = make_server(database=database, token=bootstrap(server_program, database)).start()
    with server.admin() as admin:
        tenant = admin.tenant()
        admin.put("/plans/p", bucket(), tenant=tenant)
        agent = agent_of(server, admin)
        assert agent.fetch().status == 200
        postgres.kill9()
        wait_until("the loss", lambda: any("policy sync" in text for text in server.probe("/readyz").body["degraded"]))
        assert agent.fetch().status == 304
        fresh = SyncAgent(server.port, agent.token)
        assert fresh.fetch().status == 200 and fresh.objects == agent.objects
        with agent.watch() as watch:
            watch.heartbeat()
            lost = SyncAgent(server.port, agent.token, position=(10**9, "a" * 64))
            assert lost.fetch().status == 503, "nobody can tell now"
            assert fresh.fetch(heard=(10**9, "a" * 64)).status == 503, "nor what another replica may know"
            assert fresh.fetch(heard=fresh.position).status == 304
            postgres.restart()
            wait_until("the return", lambda: server.probe("/readyz").body["degraded"] == [], 20)
            assert lost.fetch().status == 410
            admin.put("/plans/q", bucket(id="q"), tenant=tenant)
            assert watch.invalidation() is not None
        agent.fetch()
        assert ("plan", tenant, "q") in agent.objects


def test_a_server_that_never_saw_postgres_says_so(make_server: Make, server_program: Path) -> None:
    server = make_server(url="host=/nowhere user=sluice_app").start()
    agent = SyncAgent(server.port, "slg_x_y")
    assert agent.fetch().status == 503
    wait_until("that it says so", lambda: any("policy sync" in text for text in server.probe("/readyz").body["degraded"]))
