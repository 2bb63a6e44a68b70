"""A control plane of the testbed: what it does without a node, how several live side by side, and that nothing stays."""

import json
import os
import signal
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

from testbed.binary import binary_path, kubernetes_version
from testbed.processes import find_process
from support.kube import KubeCluster
from support.process import wait_until

COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager")

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "idle"},
       "spec": {"containers": [{"name": "idle", "image": "localhost/nothing:1"}]}}


def processes_of(cluster: KubeCluster) -> list[int]:
    """All whose command line names the cluster's folder."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().split(b"\0")
        except OSError:
            continue
        if any(str(cluster.folder).encode() in word for word in words):
            found.append(int(place.parent.name))
    return found


def test_a_control_plane_answers_with_the_pinned_version(control_plane: KubeCluster) -> None:
    version = json.loads(control_plane.kubectl("version", "-o", "json"))
    assert version["serverVersion"]["gitVersion"] == kubernetes_version()
    assert version["clientVersion"]["gitVersion"] == kubernetes_version()


def test_controllers_make_pods_of_a_deployment(control_plane: KubeCluster, make_namespace: Callable[..., str]) -> None:
    namespace = make_namespace(control_plane)
    labels = {"app": "idle"}
    control_plane.apply({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "idle", "namespace": namespace},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels},
                 "template": {"metadata": {"labels": labels}, "spec": POD["spec"]}}})
    pods = wait_until("two pods", lambda: len(control_plane.get("pods", "", namespace)["items"]) == 2)
    assert pods


def test_a_restricted_namespace_refuses_a_pod_that_asks_for_more(control_plane: KubeCluster,
                                                                 make_namespace: Callable[..., str]) -> None:
    namespace = make_namespace(control_plane, restricted=True)
    refused = control_plane.try_kubectl("apply", "-n", namespace, "-f", "-", text=json.dumps(POD))
    assert refused.returncode != 0 and "violates PodSecurity" in refused.stderr


def test_a_manifest_with_an_unknown_field_is_refused(control_plane: KubeCluster) -> None:
    broken = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "broken"}, "dataa": {}}
    refused = control_plane.try_kubectl("apply", "--server-side", "--validate=strict", "-f", "-", text=json.dumps(broken))
    assert refused.returncode != 0 and "dataa" in refused.stderr


def test_a_second_cluster_runs_beside_the_first(control_plane: KubeCluster, make_cluster: Callable[..., KubeCluster]) -> None:
    second = make_cluster().start()
    assert second.url != control_plane.url
    second.kubectl("create", "namespace", "only-here")
    assert control_plane.try_kubectl("get", "namespace", "only-here").returncode != 0


def test_a_stopped_cluster_leaves_no_process_and_starts_again_with_its_data(make_cluster: Callable[..., KubeCluster]) -> None:
    made = make_cluster().start()
    made.kubectl("create", "configmap", "kept", "--from-literal=a=b")
    address = made.url
    assert len(processes_of(made)) >= len(COMPONENTS)
    made.stop()
    assert not processes_of(made)
    made.start()
    assert made.url == address
    assert made.get("configmap", "kept")["data"] == {"a": "b"}


def test_a_start_that_fails_says_why_and_leaves_no_process(make_cluster: Callable[..., KubeCluster]) -> None:
    made = make_cluster(False, "--api-arg=--no-such-flag")
    try:
        made.start()
        raise AssertionError("it started")
    except AssertionError as failure:
        assert "kube-apiserver exited with" in str(failure) and "no-such-flag" in str(failure)
    assert not processes_of(made)


def test_a_running_cluster_is_not_started_twice(control_plane: KubeCluster) -> None:
    try:
        control_plane.start()
        raise AssertionError("it started")
    except AssertionError as failure:
        assert "runs already" in str(failure)


def test_a_cluster_stops_although_a_component_was_killed(make_cluster: Callable[..., KubeCluster]) -> None:
    made = make_cluster(False, "--no-manager").start()
    pid = find_process(made.layout.pid("etcd"))
    assert pid
    os.kill(pid, signal.SIGKILL)
    made.stop()
    assert not processes_of(made)


def test_a_token_of_a_service_account_is_reviewed(control_plane: KubeCluster, make_namespace: Callable[..., str]) -> None:
    namespace = make_namespace(control_plane)
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
              "spec": {"token": control_plane.token(namespace, "default", "sluice"), "audiences": ["sluice"]}}
    status = json.loads(control_plane.kubectl("create", "-f", "-", "-o", "json", text=json.dumps(review)))["status"]
    assert status["authenticated"] and status["user"]["username"] == f"system:serviceaccount:{namespace}:default"


def test_keys_and_kubeconfigs_are_for_the_owner_alone(control_plane: KubeCluster) -> None:
    for path in (control_plane.layout.pki, control_plane.kubeconfig):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_the_binary_is_found_by_what_it_is_made_from() -> None:
    usage = subprocess.run([binary_path()], capture_output=True, text=True, check=False)
    assert usage.returncode == 2 and "kube-apiserver" in usage.stderr
