"""Agents by the tokens of service accounts, reviewed by a real API server. (What the server does with its answers, and when it has none, is
tested closely in tests/e2e_server/test_server_identity.py.)"""

import base64
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.admin import AdminClient, bucket, fresh_id
from support.agent import Agent
from support.kube import KubeCluster
from support.process import wait_until
from support.projected_token import ProjectedToken
from support.server import Server
from support.sync_client import SyncAgent

CACHE = "1s"   # the shortest there is
# The API server repeats a good answer of its own for 10 s; the rest is for a busy machine.
REVOKED_WITHIN = 40


def pod(namespace: str, name: str) -> dict[str, Any]:
    """A pod, of which nothing runs here: it is there, and that is what its token needs."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace},
            "spec": {"containers": [{"name": "app", "image": "none"}]}}


def flags_for(cluster: KubeCluster, namespace: str, folder: Path, *, may_review: bool = True) -> list[str]:
    """What a server outside of a cluster is told of it: a service account of its own, and its token."""
    name = fresh_id("server")
    objects: list[dict[str, Any]] = [{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}}]
    if may_review:
        objects.append({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": f"{namespace}-{name}"},
                        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:auth-delegator"},
                        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]})
    cluster.apply(objects)
    token = folder / f"{name}.token"
    token.write_text(cluster.token(namespace, name))
    return ["--kubernetes", cluster.url, "--kubernetes-ca", str(cluster.ca_file), "--kubernetes-token-file", str(token),
            "--kubernetes-namespace", namespace, "--token-review-cache", CACHE]


@dataclass
class Place:
    """A namespace with a pod, and a tenant whose policies it gets."""

    cluster: KubeCluster
    server: Server
    namespace: str
    tenant: str

    def token(self, pod_name: str = "web", audience: str = "sluice") -> str:
        """A projected token of the pod, as the kubelet would ask for it."""
        uid = self.cluster.get("pod", pod_name, self.namespace)["metadata"]["uid"]
        return self.cluster.token(self.namespace, "default", audience, "--bound-object-kind=Pod", f"--bound-object-name={pod_name}",
                                  f"--bound-object-uid={uid}", "--duration=10m")

    def agent(self, token: str) -> SyncAgent:
        """An agent that shows it."""
        return SyncAgent(self.server.port, token, fresh_id("agent"))


@pytest.fixture
def server(make_server: Callable[..., Server], control_plane: KubeCluster, make_namespace: Callable[..., str], tmp_path: Path) -> Server:
    """A server that may review tokens."""
    return make_server(*flags_for(control_plane, make_namespace(control_plane), tmp_path)).start()


@pytest.fixture
def admin(server: Server) -> Iterator[AdminClient]:
    """A connection of a platform_admin."""
    with server.admin() as client:
        yield client


@pytest.fixture
def place(server: Server, admin: AdminClient, control_plane: KubeCluster, make_namespace: Callable[..., str]) -> Place:
    """A pod that is bound to a tenant."""
    namespace = make_namespace(control_plane)
    control_plane.apply(pod(namespace, "web"))
    tenant = admin.tenant()
    assert admin.put("/plans/pro", bucket(), tenant=tenant).status == 201
    admin.create("/bindings", {"namespace": namespace, "tenant_ids": [tenant]})
    return Place(control_plane, server, namespace, tenant)


def signed(place: Place, **changes: Any) -> str:
    """A token of the pod's with other claims, signed with the cluster's own key."""
    header, claims, _ = place.token().split(".")
    body = {**json.loads(base64.urlsafe_b64decode(claims + "==")), **changes}
    text = header + "." + base64.urlsafe_b64encode(json.dumps(body).encode()).rstrip(b"=").decode()
    done = subprocess.run(["openssl", "dgst", "-sha256", "-sign", str(place.cluster.layout.pki / "sa.key")], input=text.encode(),
                          capture_output=True, check=True)
    return text + "." + base64.urlsafe_b64encode(done.stdout).rstrip(b"=").decode()


def test_the_right_token_gets_the_tenants_snapshot_and_shows_the_pod(place: Place, admin: AdminClient) -> None:
    agent = place.agent(place.token())
    assert agent.fetch().status == 200
    assert {name for kind, _, name in agent.objects if kind == "tenant"} == {place.tenant}
    assert agent.report(pod="a-lie").status == 200
    name = f"{place.namespace}/{agent.agent_id}"
    seen = wait_until("the agent", lambda: next((item for item in admin.items("/agents") if item["id"] == name), None))
    assert seen["pod"] == "web" and seen["token_id"].startswith("binding:")


@pytest.mark.parametrize("audience", ["vault", "https://kubernetes.default.svc"])
def test_a_token_for_another_audience_is_refused(place: Place, audience: str) -> None:
    answer = place.agent(place.token(audience=audience)).fetch()
    assert answer.status == 401 and "audience" in answer.body["detail"], answer


def test_claims_that_nobody_signed_open_nothing(place: Place) -> None:
    header, claims, signature = place.token().split(".")
    body = {**json.loads(base64.urlsafe_b64decode(claims + "==")), "sub": "system:serviceaccount:kube-system:admin"}
    forged = base64.urlsafe_b64encode(json.dumps(body).encode()).rstrip(b"=").decode()
    answer = place.agent(f"{header}.{forged}.{signature}").fetch()
    assert answer.status == 401 and "does not accept" in answer.body["detail"], answer


def test_an_expired_token_is_refused(place: Place) -> None:
    now = int(time.time())
    good = signed(place, iat=now - 10, nbf=now - 10, exp=now + 600)
    assert place.agent(good).fetch().status == 200   # so it is the time alone that the other one differs by
    answer = place.agent(signed(place, iat=now - 7200, nbf=now - 7200, exp=now - 3600)).fetch()
    assert answer.status == 401 and "expired" in answer.body["detail"], answer


def test_a_pod_of_another_namespace_is_told_how_to_be_bound(place: Place, make_namespace: Callable[..., str]) -> None:
    other = make_namespace(place.cluster)
    place.cluster.apply(pod(other, "web"))
    stranger = Place(place.cluster, place.server, other, "")
    answer = stranger.agent(stranger.token()).fetch()
    assert answer.status == 403 and other in answer.body["detail"] and "/v1/admin/bindings" in answer.body["detail"], answer


def test_the_token_of_a_deleted_pod_opens_nothing_and_its_stream_ends(place: Place) -> None:
    agent = place.agent(place.token())
    assert agent.fetch().status == 200
    with agent.watch(timeout=REVOKED_WITHIN) as watch:
        watch.heartbeat()
        place.cluster.kubectl("delete", "pod", "web", "-n", place.namespace, "--grace-period=0", "--force")
        deleted = time.monotonic()
        while watch.line() is not None:
            assert time.monotonic() - deleted < REVOKED_WITHIN
    wait_until("401", lambda: agent.fetch().status == 401, REVOKED_WITHIN)


def test_an_agent_goes_on_with_the_token_that_the_kubelet_swaps_in(place: Place, admin: AdminClient, make_agent: Callable[..., Agent],
                                                                   tmp_path: Path) -> None:
    place.cluster.apply(pod(place.namespace, "web-2"))
    projected = ProjectedToken(tmp_path / "projected", place.token("web"))
    agent = make_agent(None, "memory", "--server", f"http://127.0.0.1:{place.server.port}", "--agent-token-file",
                       str(projected.path), "--snapshot-cache", str(tmp_path / "kept"), "--agent-id", "web").start()
    wait_until("policies", lambda: revision_of(agent) > 0)
    projected.rotate(place.token("web-2"))
    place.cluster.kubectl("delete", "pod", "web", "-n", place.namespace, "--grace-period=0", "--force")

    def pod_shown() -> Any:
        return next((item["pod"] for item in admin.items("/agents") if item["id"] == f"{place.namespace}/web"), None)

    wait_until("the second pod", lambda: pod_shown() == "web-2", REVOKED_WITHIN)
    changed = int(admin.put("/plans/pro", bucket(bucket_capacity=5), tenant=place.tenant).body["revision"])
    wait_until("the change", lambda: revision_of(agent) >= changed)


def revision_of(agent: Agent) -> int:
    """By which an agent decides; 0 for none."""
    with agent.client() as client:
        return int(client.get("/v1/snapshot").body.get("revision", 0))


def test_a_server_that_may_not_review_says_what_it_lacks(place: Place, make_server: Callable[..., Server], make_namespace: Callable[..., str],
                                                         tmp_path: Path) -> None:
    server = make_server(*flags_for(place.cluster, make_namespace(place.cluster), tmp_path, may_review=False)).start()
    answer = SyncAgent(server.port, place.token()).fetch()
    assert answer.status == 503 and "system:auth-delegator" in answer.body["detail"], answer


def test_while_the_api_server_is_away_nobody_new_is_let_in_and_then_all_goes_on(make_cluster: Callable[..., KubeCluster],
                                                                              make_server: Callable[..., Server], tmp_path: Path) -> None:
    cluster = make_cluster().start()
    server = make_server(*flags_for(cluster, "default", tmp_path)).start()
    wait_until("the service account default", lambda: cluster.try_kubectl("get", "serviceaccount", "default").returncode == 0)
    cluster.apply(pod("default", "web"))
    with server.admin() as admin:
        tenant = admin.tenant()
        admin.create("/bindings", {"namespace": "default", "tenant_ids": [tenant]})
    place = Place(cluster, server, "default", tenant)
    agent = place.agent(place.token())
    assert agent.fetch().status == 200
    with agent.watch() as watch:
        cluster.stop()
        wait_until("the end of what was known", lambda: agent.fetch().status == 503)
        watch.heartbeat()   # what is open stays
        cluster.start()     # on the same ports, with the same data
        wait_until("the API server again", lambda: agent.fetch().status in (200, 304), 60)
        watch.heartbeat()
