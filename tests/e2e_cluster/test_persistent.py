"""overlays/single installed, in a namespace of another name: policies, counters and the logins outlive every pod."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.installed import IMAGES, Installed, Json
from support.kube import KubeCluster
from support.manifests import K8S
from support.process import wait_until

SYSTEM = "limits"
USER = 65532
TWICE = "for i in 1 2 3; do printf '%s ' $(check GET:/kept user:1); done"


def volume(folder: Path, name: str) -> Json:
    """A volume of the node, for the claim of this name: this cluster has no StorageClass."""
    data = folder / name
    data.mkdir(mode=0o770)
    os.chown(data, USER, USER)   # Kubernetes gives no group to folders of a node
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": {
        "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "10Gi"}, "hostPath": {"path": str(data), "type": "Directory"},
        "persistentVolumeReclaimPolicy": "Retain", "claimRef": {"namespace": SYSTEM, "name": name}}}


def overlay(folder: Path) -> Path:
    """overlays/single in another namespace, with the images of scripts/image."""
    (folder / "kustomization.yaml").write_text(json.dumps({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "namespace": SYSTEM,
        "resources": [os.path.relpath(K8S / "overlays/single", folder.resolve())],
        "images": [{"name": f"registry.example/{name}", "newName": f"localhost/{name}", "newTag": "dev"}
                   for name in ("sluice", "sluice-postgres", "sluice-redis")]}))
    return folder


@pytest.fixture
def single(make_cluster: Callable[..., KubeCluster], image_file: Callable[[str], Path], tmp_path: Path) -> Iterator[Installed]:
    """Installed, in a cluster of its own."""
    images = [image_file(name) for name in IMAGES]
    cluster = make_cluster(True).start()
    for folder in ("volumes", "overlay", "private"):
        (tmp_path / folder).mkdir()
    cluster.apply([volume(tmp_path / "volumes", name) for name in ("sluice-postgres", "sluice-redis")])
    yield Installed(cluster, tmp_path / "private", overlay(tmp_path / "overlay"), SYSTEM).install(*images)


def test_policies_counters_and_logins_outlive_the_pods_of_the_stores(single: Installed) -> None:
    app = single.app(single.namespace()).ready()
    single.admin("PUT", "/policies/kept?tenant_id=demo", {
        "resource": "GET:/kept", "strategy": "fixed_window", "key_by": "subject", "limit": 2, "window": "1d"})
    single.enforced()
    assert app.run(TWICE).split() == ["200", "200", "429"]
    for name in ("sluice-postgres", "sluice-redis"):
        claim = single.cluster.get("persistentvolumeclaim", name, SYSTEM)
        assert claim["status"]["phase"] == "Bound"
        before = single.cluster.get("pod", f"{name}-0", SYSTEM)["metadata"]["uid"]
        single.cluster.kubectl("delete", "pod", f"{name}-0", "-n", SYSTEM, seconds=180)
        wait_until("another pod", lambda: before != single.cluster.get("pods", "", SYSTEM, "-l", f"app.kubernetes.io/name={name}")[
            "items"][0]["metadata"]["uid"], 60)
        single.rolled_out(f"statefulset/{name}")
    wait_until("a decision by the counters", lambda: app.run("check GET:/kept user:2") == "200", 60)
    assert app.run("check GET:/kept user:1") == "429", "its count was lost"
    wait_until("PostgreSQL", lambda: single.admin("GET", "/policies/kept?tenant_id=demo")["id"] == "kept", 60)
