"""The server's injector in front of a real API server: the webhook's configuration, rights, and asking it directly."""

import base64
import http.client
import json
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from support.certificate import certificate
from support.kube import KubeCluster
from support.process import free_port
from support.server import Server

OPT_IN = {"sluice.dev/inject": "enabled"}
IMAGE = "localhost/sluice:dev"


def pod(name: str, spec: Optional[dict[str, Any]] = None, container: Optional[dict[str, Any]] = None,
        **metadata: Any) -> dict[str, Any]:
    """A pod of one container that Pod Security admits as restricted."""
    secure = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True, "runAsUser": 1000,
              "seccompProfile": {"type": "RuntimeDefault"}}
    app = {"name": "app", "image": "localhost/app:1", "securityContext": secure, **(container or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata},
            "spec": {"containers": [app], **(spec or {})}}


def review(of: dict[str, Any], uid: str = "705ab4f5-6393-11e8-b7cc-42010a800002", **changes: Any) -> dict[str, Any]:
    """An AdmissionReview of that pod's creation."""
    request = {"uid": uid, "kind": {"group": "", "version": "v1", "kind": "Pod"},
               "resource": {"group": "", "version": "v1", "resource": "pods"}, "operation": "CREATE", "namespace": "shop",
               "object": of, **changes}
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}


def names(items: list[dict[str, Any]]) -> list[str]:
    """The names of a list's items."""
    return [item["name"] for item in items]


def assert_injected(made: dict[str, Any]) -> dict[str, Any]:
    """The pod has one sidecar, in front, and every container the way to it; the sidecar."""
    spec = made["spec"]
    assert names(spec["initContainers"]).count("sluice-agent") == 1
    sidecar: dict[str, Any] = spec["initContainers"][0]
    assert sidecar["command"] == ["/usr/bin/sluice-agent"]   # the image holds the server too
    assert sidecar["name"] == "sluice-agent" and sidecar["restartPolicy"] == "Always" and sidecar["image"] == IMAGE
    for container in [*spec["initContainers"][1:], *spec["containers"]]:
        assert {"SLUICE_URL", "SLUICE_SOCKET"} <= set(names(container["env"])), container
        assert "/var/run/sluice" in [mount["mountPath"] for mount in container["volumeMounts"]], container
    assert {"sluice-socket", "sluice-state", "sluice-identity"} <= set(names(spec["volumes"]))
    assert made["metadata"]["annotations"]["sluice.dev/injected"]
    return sidecar


def has_no_sidecar(made: dict[str, Any]) -> bool:
    """Nothing of ours is in the pod."""
    return "initContainers" not in made["spec"] and "sluice" not in json.dumps(made["spec"])


@dataclass
class Asked:
    """What the webhook answered."""

    status: int
    body: dict[str, Any]
    seconds: float


class Webhook:
    """One connection to the webhook."""

    def __init__(self, port: int, authority: Path) -> None:
        context = ssl.create_default_context(cafile=str(authority))
        self._connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=30)

    def connect(self) -> "Webhook":
        """Opens the connection now."""
        self._connection.connect()
        return self

    def ask(self, body: "dict[str, Any] | bytes", **headers: str) -> Asked:
        """POST /v1/inject."""
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        start = time.monotonic()
        self._connection.request("POST", "/v1/inject?timeout=3s", text, {"Content-Type": "application/json", **headers})
        answer = self._connection.getresponse()
        content = answer.read()
        return Asked(answer.status, json.loads(content), time.monotonic() - start)

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()


class InjectorServer:
    """A server with the webhook on a port it keeps."""

    def __init__(self, make_server: Callable[..., Server], folder: Path, *flags: str) -> None:
        self.port = free_port()
        self.authority, key = certificate(folder, "webhook")
        self.server = make_server(
            "--tls-cert", str(self.authority), "--tls-key", str(key), "--webhook", f"127.0.0.1:{self.port}",
            "--inject-image", IMAGE, "--tls-ca", str(self.authority), "--inject-counters", "redis://redis.invalid:6379/0",
            "--insecure-redis", *flags)

    def webhook(self) -> Webhook:
        """A connection to it."""
        return Webhook(self.port, self.authority)


class InjectorRig(InjectorServer):
    """One that knows of an API server, which knows of it."""

    def __init__(self, cluster: KubeCluster, make_server: Callable[..., Server], folder: Path, account: str,
                 selector: dict[str, str], *flags: str) -> None:
        self.cluster = cluster
        self.account = account
        self.selector = selector
        self.configurations: list[str] = []
        token = folder / "token"
        self._grant()
        token.write_text(cluster.token("default", account))
        token.chmod(0o600)
        super().__init__(make_server, folder, "--inject-missed-every", "1s", "--kubernetes", cluster.url, "--kubernetes-ca",
                         str(cluster.ca_file), "--kubernetes-token-file", str(token), "--kubernetes-namespace", "sluice-system", *flags)

    def _grant(self) -> None:
        """What the server may do, and no more."""
        rules = [{"apiGroups": [""], "resources": ["namespaces", "pods"], "verbs": ["list"]},
                 {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]}]
        meta = {"name": self.account}
        group = "rbac.authorization.k8s.io"
        self.cluster.apply([
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {**meta, "namespace": "default"}},
            {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": meta, "rules": rules},
            {"apiVersion": f"{group}/v1", "kind": "ClusterRoleBinding", "metadata": meta,
             "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": self.account},
             "subjects": [{"kind": "ServiceAccount", "name": self.account, "namespace": "default"}]}])

    def configure(self, name: str, selector: dict[str, str], policy: str = "Ignore") -> None:
        """The webhook in front of the pods of namespaces with these labels."""
        system = ["kube-system", "kube-public", "kube-node-lease"]
        hook = {
            "name": "injector.sluice.dev", "admissionReviewVersions": ["v1"], "sideEffects": "NoneOnDryRun",
            "failurePolicy": policy, "timeoutSeconds": 3, "reinvocationPolicy": "IfNeeded", "matchPolicy": "Equivalent",
            "clientConfig": {"url": f"https://127.0.0.1:{self.port}/v1/inject",
                             "caBundle": base64.b64encode(self.authority.read_bytes()).decode()},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"], "scope": "Namespaced"}],
            "objectSelector": {"matchExpressions": [{"key": "sluice.dev/inject", "operator": "NotIn", "values": ["disabled"]}]},
            "namespaceSelector": {"matchLabels": selector, "matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": system},
                {"key": "sluice.dev/system", "operator": "DoesNotExist"}]}}
        self.cluster.apply({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
                            "metadata": {"name": name}, "webhooks": [hook]})
        self.configurations.append(name)

    def close(self) -> None:
        """Takes the webhook out of the API server's way."""
        for name in self.configurations:
            self.cluster.try_kubectl("delete", "mutatingwebhookconfiguration", name)
