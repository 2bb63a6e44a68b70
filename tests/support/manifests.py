"""The manifests in k8s/ as kustomize renders them."""

import functools
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from testbed.binary import KUSTOMIZE, Program, build

K8S = Path(__file__).resolve().parents[2] / "k8s"
OVERLAYS = ("dev", "dev-cluster", "single", "ha")
SYSTEM = "sluice-system"   # the namespace, unless a kustomization chooses another
# In an order in which a kustomization may name them.
COMPONENTS = ("injector", "gateway", "network-policy", "customer-webhooks", "priority", "monitoring", "dashboards", "cert-manager")
PARTS_OF = {"single": ("injector", "network-policy", "priority"), "ha": ("injector", "network-policy", "priority")}
POD_TEMPLATES = ("Deployment", "StatefulSet", "DaemonSet", "Job")
Object = dict[str, Any]
# What is applied, and beside which components: each overlay as it is, each component alone, and all at once.
SETS = [*((f"overlays/{name}", ()) for name in OVERLAYS), *(("base", (name,)) for name in COMPONENTS),
        ("overlays/dev", tuple(name for name in COMPONENTS if name != "injector")),
        *((f"overlays/{overlay}", tuple(name for name in COMPONENTS if name not in parts)) for overlay, parts in PARTS_OF.items())]
FAULTS = ("readinessProbes", "minReadySeconds")   # faulty()


@functools.cache
def rendered(folder: Path, program: Program = KUSTOMIZE) -> str:
    """What `kubectl apply -k` would apply; of the newest kubectl, or of another one."""
    done = subprocess.run([build(program), folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def objects(text: str) -> list[Object]:
    """Each object of a stream of YAML documents."""
    return [document for document in yaml.safe_load_all(text) if document]


def overlay(name: str) -> list[Object]:
    """One overlay."""
    return objects(rendered(K8S / "overlays" / name))


def with_components(folder: Path, base: str, components: Sequence[str], *settings: str, namespace: str = "",
                    transformers: Sequence[str] = ()) -> Path:
    """A kustomization, in `folder`, of "base" or an overlay ("overlays/dev") with components and settings of the servers beside,
    and with another namespace, if one is named."""
    folder.mkdir(exist_ok=True)
    own: Object = {}
    if settings:
        own["configMapGenerator"] = [{"name": "sluice-server", "behavior": "merge", "literals": [*settings]}]
    if namespace:
        own["namespace"] = namespace
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", **own,
        "resources": [os.path.relpath(K8S / base, folder)],
        "components": [os.path.relpath(K8S / "components" / name, folder) for name in components],
        "transformers": [os.path.relpath(K8S / "transformers" / name, folder) for name in transformers]}))
    return folder


def pod_templates(found: Sequence[Object]) -> Iterator[tuple[str, Object]]:
    """Name and template of whatever makes pods."""
    for item in found:
        if item["kind"] in POD_TEMPLATES:
            yield f"{item['kind']} {item['metadata']['name']}", item["spec"]["template"]


def containers(template: Object) -> list[Object]:
    """Of a pod template, those that run first too."""
    spec = template["spec"]
    return [*spec.get("initContainers", []), *spec["containers"]]


def one(found: Sequence[Object], kind: str, name: str) -> Object:
    """The object of this kind and name; a generated name may end in its hash."""
    named = [item for item in found if item["kind"] == kind
             and (item["metadata"]["name"] == name or item["metadata"]["name"].rpartition("-")[0] == name)]
    assert len(named) == 1, f"{len(named)} {kind} {name}"
    return named[0]


def set_name(folder_and_components: tuple[str, tuple[str, ...]]) -> str:
    """For people: "dev", "base+gateway"."""
    folder, components = folder_and_components
    return "+".join([Path(folder).name, *components])


def faulty(fault: str) -> Object:
    """The server's Deployment of overlay dev with one letter too many, or with a text where a number belongs."""
    deployment = next(item for item in overlay("dev") if item["kind"] == "Deployment")
    spec: Object = deployment["spec"]
    if fault == "readinessProbes":
        spec["template"]["spec"]["containers"][0][fault] = {}
    else:
        spec[fault] = "three"
    return deployment
