"""Agents by the tokens of Kubernetes' service accounts: who is let in, with whose policies, and for how long. (A real API server: tests/e2e_cluster.)"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.admin import AdminClient, bucket, fresh_id
from support.agent import Agent
from support.fake_kubernetes import FakeKubernetes, token_of
from support.process import wait_until
from support.projected_token import ProjectedToken
from support.server import Server
from support.sync_client import Reply, SyncAgent

# As short as the flag allows: what is waited for here is an end of something that was good.
CACHE = 1.0
FLAGS = ("--token-review-cache", "1s")


@pytest.fixture(scope="module")
def kubernetes(module_folder: Path) -> Iterator[FakeKubernetes]:
    """One for the module, which each test leaves as it was."""
    fake = FakeKubernetes(module_folder / "kubernetes")
    yield fake
    fake.stop()


@pytest.fixture(scope="module")
def server(module_server: Callable[..., Server], kubernetes: FakeKubernetes) -> Server:
    """One for the module."""
    return module_server(*kubernetes.flags(), *FLAGS).start()


@pytest.fixture
def namespace() -> str:
    """A namespace that nothing binds yet."""
    return fresh_id("ns")


def bind(admin: AdminClient, namespace: str, tenant: str, account: str = "*") -> dict[str, Any]:
    """A binding."""
    return admin.create("/bindings", {"namespace": namespace, "service_account": account, "tenant_ids": [tenant]})


def agent_of(server: Server, token: str) -> SyncAgent:
    """An agent with this token."""
    return SyncAgent(server.port, token, fresh_id("agent"))


def revision_of(agent: Agent) -> int:
    """By which a real agent decides; 0 for none."""
    with agent.client() as client:
        return int(client.get("/v1/snapshot").body.get("revision", 0))


def tenants_of(agent: SyncAgent) -> set[str]:
    """Whose policies it holds."""
    return {name for kind, _, name in agent.objects if kind == "tenant"}


def test_a_pod_gets_its_tenants_snapshot_and_nothing_else(server: Server, kubernetes: FakeKubernetes, admin: AdminClient,
                                                          organization: str, tenant: str, namespace: str) -> None:
    admin.tenant(organization)
    assert admin.put("/plans/pro", bucket(), tenant=tenant).status == 201
    bind(admin, namespace, tenant)
    agent = agent_of(server, kubernetes.add(namespace))
    assert agent.fetch().status == 200
    assert tenants_of(agent) == {tenant} and ("plan", tenant, "pro") in agent.objects
    assert {name for kind, _, name in agent.objects if kind == "organization"} == {organization}


def test_a_service_accounts_own_binding_wins(server: Server, kubernetes: FakeKubernetes, admin: AdminClient, organization: str,
                                             tenant: str, namespace: str) -> None:
    other = admin.tenant(organization)
    bind(admin, namespace, tenant)
    bound = bind(admin, namespace, other, "checkout")["revision"]
    found = []
    for account in ("default", "checkout"):
        agent = agent_of(server, kubernetes.add(namespace, account))
        assert agent.fetch(heard=(bound, "a" * 64)).status == 200   # so that this server has heard of both
        found.append(tenants_of(agent))
    assert found == [{tenant}, {other}]


def test_a_token_that_kubernetes_does_not_accept_is_refused_with_its_reason(server: Server) -> None:
    answer = agent_of(server, token_of(fresh_id("stranger"))).fetch()
    assert (answer.status, answer.body["type"]) == (401, "/problems/unauthorized")
    assert "the test does not know it" in answer.body["detail"]
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_token_for_another_audience_is_refused_without_asking(server: Server, kubernetes: FakeKubernetes) -> None:
    token = token_of(fresh_id("vault"), audience="vault")
    answer = agent_of(server, token).fetch()
    assert answer.status == 401 and '"sluice"' in answer.body["detail"] and "vault" in answer.body["detail"]
    assert token not in kubernetes.asked


def test_a_pod_that_nothing_binds_is_told_how_to_be_bound_and_let_in_once_it_is(server: Server, kubernetes: FakeKubernetes,
                                                                             admin: AdminClient, tenant: str, namespace: str) -> None:
    agent = agent_of(server, kubernetes.add(namespace, "checkout"))
    answer = agent.fetch()
    assert (answer.status, answer.body["type"]) == (403, "/problems/unbound")
    for part in (namespace, "checkout", "/v1/admin/bindings"):
        assert part in answer.body["detail"], answer.body
    made = bind(admin, namespace, tenant)
    assert agent.fetch().status == 200
    assert admin.delete(f"/bindings/{made['id']}").status == 204
    wait_until("the end of the binding", lambda: agent.fetch().status == 403)


def test_many_requests_share_one_review(server: Server, kubernetes: FakeKubernetes, admin: AdminClient, tenant: str,
                                        namespace: str) -> None:
    bind(admin, namespace, tenant)
    token = kubernetes.add(namespace)
    kubernetes.delay = 0.3
    statuses: list[int] = []
    try:
        agents = [agent_of(server, token) for _ in range(8)]
        threads = [threading.Thread(target=lambda agent=agent: statuses.append(agent.fetch().status)) for agent in agents]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        kubernetes.delay = 0
    assert statuses == [200] * 8 and kubernetes.asked.count(token) == 1


def test_a_revoked_token_is_taken_no_longer_than_the_cache_says_and_ends_an_open_stream(
        server: Server, kubernetes: FakeKubernetes, admin: AdminClient, tenant: str, namespace: str) -> None:
    bind(admin, namespace, tenant)
    token = kubernetes.add(namespace)
    agent = agent_of(server, token)
    assert agent.fetch().status == 200
    with agent.watch() as watch:
        assert watch.status == 200
        watch.heartbeat()
        wait_until("another review, after which it stays", lambda: kubernetes.asked.count(token) > 1)
        watch.heartbeat()
        del kubernetes.pods[token]
        revoked = time.monotonic()
        while (line := watch.line()) is not None:
            assert line["at"] - revoked < 20
    assert agent.fetch().status == 401


def test_a_stream_ends_when_its_binding_reaches_elsewhere_and_the_whole_of_that_is_fetched(
        server: Server, kubernetes: FakeKubernetes, admin: AdminClient, organization: str, tenant: str, namespace: str) -> None:
    """Nothing of the new scope has changed since the agent's position: a delta from there would be empty, and wrong."""
    other = admin.tenant(organization)
    made = bind(admin, namespace, tenant)
    agent = agent_of(server, kubernetes.add(namespace))
    assert agent.fetch().status == 200 and tenants_of(agent) == {tenant}
    with agent.watch() as watch:
        watch.heartbeat()
        assert admin.patch(f"/bindings/{made['id']}", {"tenant_ids": [other]}).status == 200
        while watch.line() is not None:
            pass
    with agent.watch() as watch:
        assert watch.invalidation() is not None   # what it holds is not what it may hold
    answer = agent.fetch()
    assert answer.status == 200 and "since" not in answer.body
    assert tenants_of(agent) == {other}
    assert agent.fetch().status == 304
    exact = bind(admin, namespace, tenant, "default")   # and again, by one that wins
    wait_until("the new scope", lambda: agent.fetch().status == 200 and tenants_of(agent) == {tenant})
    assert admin.delete(f"/bindings/{exact['id']}").status == 204   # and by its end
    wait_until("the former scope", lambda: agent.fetch().status == 200 and tenants_of(agent) == {other})


def test_a_stream_goes_on_while_bindings_of_others_change(server: Server, kubernetes: FakeKubernetes, admin: AdminClient,
                                                          tenant: str, namespace: str) -> None:
    bind(admin, namespace, tenant)
    agent = agent_of(server, kubernetes.add(namespace))
    assert agent.fetch().status == 200
    with agent.watch() as watch:
        watch.heartbeat()
        revision = bind(admin, f"{namespace}-b", tenant)["revision"]
        while (line := watch.line()) is not None and line["revision"] < revision:
            pass
        assert line is not None and line.get("heartbeat"), line
    agent.position = line["revision"], line["chain"]
    assert agent.fetch().status == 304


def test_a_stream_ends_with_its_token(server: Server, kubernetes: FakeKubernetes, admin: AdminClient, tenant: str,
                                      namespace: str) -> None:
    bind(admin, namespace, tenant)
    agent = agent_of(server, kubernetes.add(namespace, seconds=4))
    assert agent.fetch().status == 200
    with agent.watch() as watch:
        while watch.line() is not None:
            pass


def test_while_kubernetes_is_away_a_good_answer_goes_on_to_its_end_and_streams_stay(
        module_server: Callable[..., Server], module_folder: Path) -> None:
    kubernetes = FakeKubernetes(module_folder / fresh_id("kubernetes"))
    server = module_server(*kubernetes.flags(), "--token-review-cache", "3s").start()
    with server.admin() as admin:
        namespace = fresh_id("ns")
        bind(admin, namespace, admin.tenant())
        agent = agent_of(server, kubernetes.add(namespace))
        began = time.monotonic()
        assert agent.fetch().status == 200
        kubernetes.stop()
        stranger = agent_of(server, kubernetes.add(namespace)).fetch()
        assert stranger.status == 503 and stranger.headers["retry-after"] == "1", stranger
        assert "could not be reached" in stranger.body["detail"]
        with agent.watch() as watch:
            known = agent.fetch().status
            assert known == 304 or time.monotonic() - began > 3
            wait_until("the end of what was known", lambda: agent.fetch().status == 503)
            watch.heartbeat()
            assert "agents' tokens cannot be reviewed" in json.dumps(server.probe("/readyz").body)
            kubernetes.start()
            wait_until("Kubernetes again", lambda: agent.fetch().status == 304)
            watch.heartbeat()
        wait_until("nothing degraded", lambda: server.probe("/readyz").body["degraded"] == [])
    kubernetes.stop()


def test_a_server_that_may_not_review_says_what_it_lacks(server: Server, kubernetes: FakeKubernetes) -> None:
    kubernetes.status = 403
    try:
        answer = agent_of(server, token_of(fresh_id("x"))).fetch()
    finally:
        kubernetes.status = 201
    assert answer.status == 503 and "system:auth-delegator" in answer.body["detail"], answer


def test_a_server_without_kubernetes_says_so(module_server: Callable[..., Server]) -> None:
    server = module_server().start()
    answer = agent_of(server, token_of("x")).fetch()
    assert answer.status == 401 and "--kubernetes" in answer.body["detail"], answer


def at_once(server: Server, count: int) -> list[Reply]:
    """The answers to so many bad tokens that come together: a slow machine is not to give an address time to calm down."""
    answers: list[Reply] = []
    agents = [agent_of(server, token_of(fresh_id("bad"))) for _ in range(count)]
    threads = [threading.Thread(target=lambda agent=agent: answers.append(agent.fetch())) for agent in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_who_fails_often_is_slowed_down_and_a_good_token_still_works(module_server: Callable[..., Server], module_folder: Path) -> None:
    kubernetes = FakeKubernetes(module_folder / fresh_id("kubernetes"))
    server = module_server(*kubernetes.flags()).start()
    try:
        with server.admin() as admin:
            namespace = fresh_id("ns")
            bind(admin, namespace, admin.tenant())
        answers = at_once(server, 60)
        assert {answer.status for answer in answers} == {401, 429}
        assert all(int(answer.headers["retry-after"]) >= 1 for answer in answers if answer.status == 429)
        assert agent_of(server, kubernetes.add(namespace)).fetch().status == 200
        # One question at a time: ten that come at once do not become ten. (A second later the address may fail once more.)
        assert any(asked_by_ten_at_once(server, kubernetes) < 10 for _ in range(5))
    finally:
        kubernetes.stop()


def asked_by_ten_at_once(server: Server, kubernetes: FakeKubernetes) -> int:
    """How often Kubernetes is asked about ten bad tokens from an address that has failed too often."""
    kubernetes.delay = 0
    assert 429 in [answer.status for answer in at_once(server, 60)]
    kubernetes.delay = 1
    before = len(kubernetes.asked)
    at_once(server, 10)
    return len(kubernetes.asked) - before


def test_the_fleet_shows_the_binding_and_the_pod_that_kubernetes_names(server: Server, kubernetes: FakeKubernetes, admin: AdminClient,
                                                                      tenant: str, namespace: str) -> None:
    made = bind(admin, namespace, tenant)
    agent = agent_of(server, kubernetes.add(namespace, name="checkout-7f9"))
    assert agent.fetch().status == 200
    assert agent.report(pod="what-it-says-itself").status == 200

    def shown() -> dict[str, Any]:
        named = f"{namespace}/{agent.agent_id}"
        return next((item for item in admin.items("/agents", query={"tenant_id": tenant}) if item["id"] == named), {})

    seen = wait_until("the agent", shown)
    assert (seen["token_id"], seen["pod"]) == (f"binding:{made['id']}", "checkout-7f9")
    assert seen["scope"]["tenant_ids"] == [tenant]
    agent.report(leaving=True)


def test_tokens_are_never_logged(server: Server, kubernetes: FakeKubernetes) -> None:
    token = token_of(fresh_id("secret"))
    agent_of(server, token).fetch()
    log = server.log.read_text()
    assert token not in log and token.split(".")[1] not in log and token.split(".")[2] not in log


def test_what_is_asked_of_kubernetes_is_counted(server: Server, kubernetes: FakeKubernetes) -> None:
    before = server.metric("sluice_token_reviews_total", result="refused")
    agent_of(server, token_of(fresh_id("x"))).fetch()
    assert server.metric("sluice_token_reviews_total", result="refused") == before + 1


def test_a_real_agent_follows_its_pods_tenant_and_the_token_that_the_kubelet_swaps(
        server: Server, kubernetes: FakeKubernetes, admin: AdminClient, tenant: str, namespace: str, make_agent: Callable[..., Agent],
        tmp_path: Path) -> None:
    assert admin.put("/plans/pro", bucket(), tenant=tenant).status == 201
    bind(admin, namespace, tenant)
    first = kubernetes.add(namespace)
    projected = ProjectedToken(tmp_path / "projected", first)
    agent = make_agent(None, "memory", "--server", f"http://127.0.0.1:{server.port}", "--agent-token-file", str(projected.path),
                       "--snapshot-cache", str(tmp_path / "kept")).start()
    wait_until("policies", lambda: revision_of(agent) > 0)
    second = kubernetes.add(namespace)
    projected.rotate(second)
    del kubernetes.pods[first]
    changed = int(admin.put("/plans/pro", bucket(bucket_capacity=5), tenant=tenant).body["revision"])
    wait_until("the change", lambda: revision_of(agent) >= changed)
    wait_until("the second token", lambda: second in kubernetes.asked)
