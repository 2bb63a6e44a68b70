"""A server that starts while the API server of Kubernetes is away: it serves what it can, and the rest comes by itself."""

import contextlib
import json
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.admin import bucket, fresh_id
from support.fake_kubernetes import FakeKubernetes
from support.injector import InjectorServer, pod, review
from support.process import wait_until
from support.server import Server
from support.sync_client import SyncAgent


@pytest.fixture
def kubernetes(tmp_path: Path) -> Iterator[FakeKubernetes]:
    """An API server that is away."""
    fake = FakeKubernetes(tmp_path / "kubernetes")
    fake.stop()
    yield fake
    fake.stop()


def test_a_server_serves_what_it_can_and_pods_once_the_api_server_is_back(make_server: Callable[..., Server],
                                                                          kubernetes: FakeKubernetes) -> None:
    server = make_server(*kubernetes.flags(), allow=("token_review_failed", "reviews_failed")).start()
    assert server.probe("/readyz").status == 200 and server.probe("/livez").status == 200
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/v1/health", timeout=30) as answer:
        assert json.load(answer)["status"] == "ok"
    with server.admin() as admin:
        tenant = admin.tenant()
        revision = admin.put("/plans/p", bucket(), tenant=tenant).body["revision"]
        token = admin.create("/agent-tokens", {"name": "agents"})["token"]
        namespace = fresh_id("ns")
        admin.create("/bindings", {"namespace": namespace, "service_account": "*", "tenant_ids": [tenant]})
    wait_until("the plan", lambda: server.metric("sluice_feed_revision") >= revision)
    agent = SyncAgent(server.port, token, "with-a-token")
    assert agent.fetch().status == 200 and ("plan", tenant, "p") in agent.objects
    with agent.watch() as watch:
        assert watch.heartbeat()
    sidecar = SyncAgent(server.port, kubernetes.add(namespace), "in-a-pod")
    refused = sidecar.fetch()
    assert refused.status == 503 and "retry-after" in refused.headers, refused
    wait_until("that it says so", lambda: any("review" in text for text in server.probe("/readyz").body["degraded"]))
    assert server.probe("/readyz").status == 200
    kubernetes.start()
    wait_until("the pod's policies", lambda: sidecar.fetch().status == 200)
    assert ("plan", tenant, "p") in sidecar.objects
    wait_until("that it is over", lambda: server.probe("/readyz").body["degraded"] == [])


def test_the_webhook_puts_agents_into_pods_while_the_api_server_cannot_be_reached(make_server: Callable[..., Server],
                                                                                  kubernetes: FakeKubernetes, tmp_path: Path) -> None:
    injector = InjectorServer(make_server, tmp_path, "--inject-missed-every", "1s", *kubernetes.flags())
    injector.server.start()
    assert injector.server.probe("/readyz").status == 200
    with contextlib.closing(injector.webhook()) as webhook:
        answer = webhook.ask(review(pod("plain")))
    assert answer.status == 200 and "patch" in answer.body["response"]
