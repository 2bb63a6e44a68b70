"""Every manifest has the fields that Kubernetes knows, and only those; said by its schemas, without a cluster."""

import os
import re
from pathlib import Path

import pytest
import yaml

from support.manifests import FAULTS, K8S, SETS, Object, faulty, objects, rendered, set_name, with_components
from support.schema import faults
from testbed.binary import OLDEST_KUSTOMIZE, kubernetes_version

OTHERS = ("monitoring.coreos.com/", "cert-manager.io/")   # whose definitions a cluster has: e2e_cluster/test_manifests.py

AGENT_METRICS = 9088   # the port of an agent's probes and metrics


def of_kubernetes(found: list[Object]) -> list[Object]:
    """Without the kinds that others define."""
    return [item for item in found if not item["apiVersion"].startswith(OTHERS)]


@pytest.mark.parametrize("base, components", SETS, ids=map(set_name, SETS))
def test_every_object_is_as_its_schema_says(base: str, components: tuple[str, ...], tmp_path: Path) -> None:
    found = of_kubernetes(objects(rendered(with_components(tmp_path, base, components) if components else K8S / base)))
    assert len(found) > 5
    assert not faults(*found)


@pytest.mark.parametrize("base, components", SETS, ids=map(set_name, SETS))
def test_the_oldest_kubectl_of_the_guide_renders_the_same(base: str, components: tuple[str, ...], tmp_path: Path) -> None:
    folder = with_components(tmp_path, base, components) if components else K8S / base
    assert objects(rendered(folder, OLDEST_KUSTOMIZE)) == objects(rendered(folder))


def test_the_oldest_kubectl_is_of_the_oldest_kubernetes_that_the_guide_promises() -> None:
    promised = re.search(r"Kubernetes (1\.\d+) or later", (K8S.parent / "docs/guide/kubernetes.md").read_text())
    assert promised and kubernetes_version(OLDEST_KUSTOMIZE).startswith(f"v{promised[1]}.")


def test_the_examples_are_as_their_schemas_say() -> None:
    files = sorted((K8S / "examples").rglob("*.yaml"))
    found = [item for file in files if file.name != "kustomization.yaml" for item in objects(file.read_text())]
    assert found and not faults(*found)


def test_the_policy_for_a_namespace_with_agents_closes_their_port_only(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "namespace": "shop",
        "components": [os.path.relpath(K8S / "components/agent-metrics", tmp_path)]}))
    found = objects(rendered(tmp_path))
    assert [item["metadata"]["namespace"] for item in found] == ["shop"] and not faults(*found)
    assert objects(rendered(tmp_path, OLDEST_KUSTOMIZE)) == found
    everybody, scrapers = found[0]["spec"]["ingress"]
    assert "from" not in everybody and scrapers["ports"] == [{"port": AGENT_METRICS}]
    for protocol in ("TCP", "UDP", "SCTP"):
        ranges = [ports for ports in everybody["ports"] if ports["protocol"] == protocol]
        admitted = {port for ports in ranges for port in range(ports["port"], ports["endPort"] + 1)}
        assert set(range(1, 65536)) - admitted == ({AGENT_METRICS} if protocol == "TCP" else set())


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_manifest_is_found(fault: str) -> None:
    assert fault in faults(faulty(fault))
