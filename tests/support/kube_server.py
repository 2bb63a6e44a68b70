"""A server of ours beside a cluster, on the loopback: its service account, its rights, and what is in the cluster for it."""

import base64
import json
import socket
import ssl
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.kube import KubeCluster

# What the manifests give the server's account, as far as certificates go; k8s/base/rbac.yaml is the law.
RULES = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "create", "patch"]}]
WEBHOOK_RULES = [{"apiGroups": ["admissionregistration.k8s.io"], "resources": ["mutatingwebhookconfigurations"],
                  "verbs": ["get", "patch"]}]
GROUP = "rbac.authorization.k8s.io"


class ApiReader:
    """The cluster's API as its administrator reads it: quicker than kubectl, for what is asked many times a second."""

    def __init__(self, cluster: KubeCluster) -> None:
        pki = cluster.layout.pki
        self._url = cluster.url
        self._context = ssl.create_default_context(cafile=str(cluster.ca_file))
        self._context.load_cert_chain(pki / "admin.crt", pki / "admin.key")

    def get(self, path: str) -> dict[str, Any]:
        """One object."""
        with urllib.request.urlopen(self._url + path, context=self._context, timeout=10) as answer:
            found: dict[str, Any] = json.loads(answer.read())
        return found

    def post(self, path: str, document: dict[str, Any]) -> dict[str, Any]:
        """What came of it; urllib.error.HTTPError where it was refused."""
        request = urllib.request.Request(self._url + path, json.dumps(document).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, context=self._context, timeout=30) as answer:
            made: dict[str, Any] = json.loads(answer.read())
        return made


@dataclass(frozen=True)
class Home:
    """A namespace in which servers may keep their certificate, with a webhook configuration of their own."""

    cluster: KubeCluster
    namespace: str
    token_file: Path

    @staticmethod
    def make(cluster: KubeCluster, namespace: str, folder: Path) -> "Home":
        """The account with its rights, a token of it, and the webhook's configuration: in force for no pod."""
        account = {"kind": "ServiceAccount", "name": "sluice-server", "namespace": namespace}
        webhooks = f"webhooks-{namespace}"
        cluster.apply([
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "sluice-server", "namespace": namespace}},
            {"apiVersion": f"{GROUP}/v1", "kind": "Role", "metadata": {"name": "sluice-server", "namespace": namespace},
             "rules": RULES},
            {"apiVersion": f"{GROUP}/v1", "kind": "RoleBinding", "metadata": {"name": "sluice-server", "namespace": namespace},
             "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "sluice-server"}, "subjects": [account]},
            {"apiVersion": f"{GROUP}/v1", "kind": "ClusterRole", "metadata": {"name": webhooks},
             "rules": [{**rule, "resourceNames": [webhooks]} for rule in WEBHOOK_RULES]},
            {"apiVersion": f"{GROUP}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": webhooks},
             "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": webhooks}, "subjects": [account]},
            {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
             "metadata": {"name": webhooks},
             "webhooks": [{"name": "injector.sluice.dev", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                           "failurePolicy": "Ignore", "clientConfig": {"url": "https://127.0.0.1:1/v1/inject"},
                           "namespaceSelector": {"matchLabels": {"no": "namespace"}},
                           "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                                      "resources": ["pods"]}]}]}])
        token_file = folder / "token"
        token_file.write_text(cluster.token(namespace, "sluice-server"))
        return Home(cluster, namespace, token_file)

    @property
    def webhooks(self) -> str:
        """The configuration's name."""
        return f"webhooks-{self.namespace}"

    def api_flags(self) -> list[str]:
        """Where the API is."""
        return ["--kubernetes", self.cluster.url, "--kubernetes-ca", str(self.cluster.ca_file), "--kubernetes-token-file",
                str(self.token_file), "--kubernetes-namespace", self.namespace]

    def flags(self, *more: str) -> list[str]:
        """Of a server that keeps its certificate here."""
        return [*self.api_flags(), "--tls-self-managed", "localhost,127.0.0.1", "--webhook-configuration", self.webhooks, *more]

    def bundle(self, reader: ApiReader) -> str:
        """Whom the API server trusts when it asks the webhook."""
        found = reader.get(f"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/{self.webhooks}")
        return base64.b64decode(found["webhooks"][0]["clientConfig"].get("caBundle", "")).decode()

    def secret(self, reader: ApiReader, name: str = "sluice-tls") -> dict[str, str]:
        """The texts of a Secret."""
        found = reader.get(f"/api/v1/namespaces/{self.namespace}/secrets/{name}").get("data", {})
        return {key: base64.b64decode(value).decode() for key, value in found.items()}

    def close(self) -> None:
        """Takes away what is in no namespace."""
        for kind in ("clusterrole", "clusterrolebinding", "mutatingwebhookconfiguration"):
            self.cluster.try_kubectl("delete", kind, self.webhooks, "--ignore-not-found")


def served_to(port: int, trusted: str, name: str = "localhost") -> bytes:
    """The certificate (DER) that a listener of the loopback serves to who trusts these; ssl.SSLError where that is refused."""
    context = ssl.create_default_context(cadata=trusted)
    with socket.create_connection(("127.0.0.1", port), timeout=20) as raw, context.wrap_socket(raw, server_hostname=name) as tls:
        served = tls.getpeercert(binary_form=True)
    assert served
    return served
