"""The manifests against a real API server: all of them apply with strict field validation, Pod Security's "restricted" takes
every pod that they make, and what is broken is refused."""

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.crds import CERT_MANAGER, PROMETHEUS
from support.kube import KubeCluster
from support.manifests import FAULTS, K8S, SETS, Object, faulty, objects, pod_templates, rendered, set_name, with_components
from support.process import wait_until

NAMESPACE = "sluice-system"
@pytest.fixture(scope="module")
def plane(own_control_plane: KubeCluster) -> KubeCluster:
    """With the definitions of others that monitoring and cert-manager need, and the namespace."""
    definitions = [definition for module in (PROMETHEUS, CERT_MANAGER) for definition in module.definitions()]
    own_control_plane.apply(definitions)
    own_control_plane.kubectl("wait", "--for=condition=Established", "--timeout=60s",
                              *(f"crd/{definition['metadata']['name']}" for definition in definitions))
    own_control_plane.kubectl("apply", "-f", str(K8S / "base/namespace.yaml"))
    return own_control_plane


@dataclass(frozen=True)
class Applied:
    """What was applied, and what kubectl said."""

    folder: Path
    said: "subprocess.CompletedProcess[str]"


@pytest.fixture(scope="module", params=SETS, ids=set_name)
def applied(request: pytest.FixtureRequest, plane: KubeCluster, tmp_path_factory: pytest.TempPathFactory) -> Applied:
    """One of the sets, as the guide applies it."""
    base, components = request.param
    folder = with_components(tmp_path_factory.mktemp("set"), base, components) if components else K8S / base
    # Its template cannot change. It would be gone 30 s after its end, but nothing runs here.
    plane.kubectl("delete", "job", "--all", "-n", NAMESPACE)
    return Applied(folder, plane.try_kubectl("apply", "--validate=strict", "-k", str(folder)))


def try_pods(plane: KubeCluster, templates: Sequence[Object]) -> "subprocess.CompletedProcess[str]":
    """What the API server says of a pod of each template; none is made."""
    pods = [{"apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
             "metadata": {**template["metadata"], "name": f"pod-{number}", "namespace": NAMESPACE}}
            for number, template in enumerate(templates)]
    return plane.try_kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-",
                             text=json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))


def stored(plane: KubeCluster, folder: Path) -> dict[str, Object]:
    """What the API server has of each object, without what it and its controllers write themselves."""
    found = json.loads(plane.kubectl("get", "-k", str(folder), "-o", "json"))["items"]
    for item in found:
        item.pop("status", None)
        item.get("spec", {}).pop("replicas", None)   # an autoscaler's
    return {f"{item['kind']} {item['metadata']['name']}": {part: item[part] for part in item if part != "metadata"} for item in found}


def test_everything_applies_with_strict_field_validation(plane: KubeCluster, applied: Applied) -> None:
    assert applied.said.returncode == 0 and "Warning" not in applied.said.stderr, applied.said.stderr
    # The server's own view of fields, which knows more than the client's schema.
    plane.kubectl("apply", "--server-side", "--force-conflicts", "--validate=strict", "--dry-run=server", "-k", str(applied.folder))


def test_an_apply_without_a_change_changes_nothing(plane: KubeCluster, applied: Applied) -> None:
    before = stored(plane, applied.folder)
    plane.kubectl("apply", "-k", str(applied.folder))
    assert stored(plane, applied.folder) == before


def test_a_pod_of_every_template_is_admitted_in_a_restricted_namespace(plane: KubeCluster, applied: Applied) -> None:
    templates = [template for _, template in pod_templates(objects(rendered(applied.folder)))]
    assert templates
    said = try_pods(plane, templates)
    assert said.returncode == 0 and "Warning" not in said.stderr, said.stderr
    assert said.stdout.count("created") == len(templates), said.stdout


def test_the_example_applies_and_its_pods_are_admitted(plane: KubeCluster) -> None:
    plane.kubectl("delete", "mutatingwebhookconfiguration", "--all")   # nobody answers it here
    example = K8S / "examples/shop.yaml"
    plane.kubectl("apply", "--validate=strict", "-f", str(example))
    wait_until("the service account default", lambda: plane.try_kubectl("get", "serviceaccount", "default", "-n", "shop").returncode == 0)
    for app in ("web", "once"):
        plane.kubectl("wait", "--for=create", "pod", "-l", f"app={app}", "-n", "shop", "--timeout=60s")
    plane.kubectl("delete", "-f", str(example), "--wait=false")


def test_what_controllers_make_of_it_are_pods_too(plane: KubeCluster) -> None:
    plane.kubectl("apply", "-k", str(K8S / "overlays/dev"))
    try:
        for kind, name in (("deployment", "sluice-server"), ("statefulset", "sluice-redis"),
                           ("statefulset", "sluice-postgres"), ("job", "sluice-make-secrets")):
            selector = plane.get(kind, name, NAMESPACE)["spec"]["selector"]["matchLabels"]
            labels = ",".join(f"{key}={value}" for key, value in selector.items())
            plane.kubectl("wait", "--for=create", "pod", "-l", labels, "-n", NAMESPACE, "--timeout=60s")
    finally:
        plane.kubectl("delete", "-k", str(K8S / "overlays/dev"), "--wait=false")
        plane.kubectl("wait", "--for=delete", f"namespace/{NAMESPACE}", "--timeout=60s")
        plane.kubectl("apply", "-f", str(K8S / "base/namespace.yaml"))


@pytest.mark.parametrize("how", [["--validate=strict"], ["--validate=strict", "--server-side", "--force-conflicts"]],
                         ids=["client", "server"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_manifest_with_a_fault_is_refused(plane: KubeCluster, how: list[str], fault: str) -> None:
    done = plane.try_kubectl("apply", *how, "-f", "-", text=yaml.safe_dump(faulty(fault)))
    assert done.returncode != 0 and fault in done.stderr, done


def as_root(template: Object) -> None:
    """Not who it should be."""
    template["spec"]["securityContext"]["runAsUser"] = 0


def privileged(template: Object) -> None:
    """All there is."""
    template["spec"]["containers"][0]["securityContext"]["privileged"] = True
    template["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True


def unconfined(template: Object) -> None:
    """Every call of the kernel."""
    template["spec"]["securityContext"].pop("seccompProfile")


def on_the_host(template: Object) -> None:
    """The node's network."""
    template["spec"]["hostNetwork"] = True


@pytest.mark.parametrize("change", [as_root, privileged, unconfined, on_the_host])
def test_a_pod_that_may_more_than_it_should_is_refused(plane: KubeCluster, change: Callable[[Object], None]) -> None:
    plane.kubectl("apply", "-k", str(K8S / "overlays/dev"))
    template: Object = json.loads(json.dumps(next(pod_templates(objects(rendered(K8S / "overlays/dev"))))[1]))
    assert try_pods(plane, [template]).returncode == 0
    change(template)
    done = try_pods(plane, [template])
    assert done.returncode != 0 and 'violates PodSecurity "restricted' in done.stderr, done


# --- who may do what -------------------------------------------------------------------------------------------------

# Of every authenticated user: to ask about oneself, and what may be read at all.
OF_ALL = {"selfsubjectreviews.authentication.k8s.io", "selfsubjectaccessreviews.authorization.k8s.io",
          "selfsubjectrulesreviews.authorization.k8s.io", ""}
SECRETS = {("secrets", "", "create"), ("secrets", "sluice-tls", "get"), ("secrets", "sluice-tls", "patch")}
REVIEWS = {("tokenreviews.authentication.k8s.io", "", "create")}
INJECTOR = {("mutatingwebhookconfigurations.admissionregistration.k8s.io", "sluice-injector", "get"),
            ("mutatingwebhookconfigurations.admissionregistration.k8s.io", "sluice-injector", "patch"),
            ("namespaces", "", "list"), ("pods", "", "list"), ("events", "", "create")}
RIGHTS = [("base", (), "sluice-server", SECRETS | REVIEWS), ("base", ("injector",), "sluice-server", SECRETS | REVIEWS | INJECTOR),
          ("base", ("injector", "cert-manager"), "sluice-server", REVIEWS | INJECTOR),
          ("overlays/dev", (), "sluice-server", SECRETS | REVIEWS | INJECTOR),
          ("overlays/dev", (), "sluice-make-secrets", {("secrets", "", "create")}),
          ("base", ("gateway",), "sluice-gateway", set())]


@pytest.fixture
def emptied(plane: KubeCluster) -> Iterator[KubeCluster]:
    """Without what other tests granted."""
    plane.kubectl("delete", "clusterrole,clusterrolebinding", "-l", "app.kubernetes.io/part-of=sluice")
    plane.kubectl("delete", "role,rolebinding", "--all", "-n", NAMESPACE)
    yield plane


@pytest.mark.parametrize("base, components, account, rights", RIGHTS, ids=lambda value: str(value) if isinstance(value, (str, tuple)) else "")
def test_each_account_may_do_what_it_does_and_nothing_else(emptied: KubeCluster, tmp_path: Path, base: str, components: tuple[str, ...],
                                                           account: str, rights: set[tuple[str, str, str]]) -> None:
    emptied.kubectl("apply", "-k", str(with_components(tmp_path, base, components)))
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": NAMESPACE}}
    user = f"system:serviceaccount:{NAMESPACE}:{account}"
    told = json.loads(emptied.kubectl("create", "--as", user, "--validate=false", "-f", "-", "-o", "json", text=json.dumps(review)))
    assert not told["status"].get("incomplete"), told
    assert granted(told["status"]["resourceRules"]) == rights


def granted(rules: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
    """(resource.group, name, verb) of each right that not everybody has."""
    found = {(f"{resource}.{group}".rstrip("."), name, verb) for rule in rules for resource in rule.get("resources", [])
             for group in rule.get("apiGroups", []) for name in rule.get("resourceNames", [""]) for verb in rule["verbs"]}
    return {right for right in found if right[0] not in OF_ALL}
