"""A webhook that demands a certificate of the API server, behind a real one: with the certificate pods are admitted."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.client_certificates import Clients
from support.injector import OPT_IN, InjectorRig, assert_injected, has_no_sidecar, pod
from support.kube import KubeCluster
from support.process import wait_until
from support.server import Server


def admission(folder: Path, clients: Clients, which: int) -> Path:
    """The API server's configuration: at webhooks it presents that client's certificate."""
    identity = clients.identities[which]
    assert identity is not None
    user = {"name": "*", "user": {"client-certificate": str(identity[0]), "client-key": str(identity[1])}}
    kubeconfig = folder / "webhooks.kubeconfig"
    kubeconfig.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "users": [user]}))
    configuration = folder / "admission.json"
    configuration.write_text(json.dumps({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": [{
            "name": "MutatingAdmissionWebhook", "configuration": {
                "apiVersion": "apiserver.config.k8s.io/v1", "kind": "WebhookAdmissionConfiguration", "kubeConfigFile": str(kubeconfig)}}]}))
    return configuration


def test_an_api_server_with_the_certificate_is_answered_and_one_with_another_is_not(
        make_cluster: Callable[..., KubeCluster], make_server: Callable[..., Server], make_namespace: Callable[..., str],
        tmp_path: Path) -> None:
    clients = Clients(tmp_path)
    where = make_cluster(False, f"--api-arg=--admission-control-config-file={admission(tmp_path, clients, 0)}").start()
    rig = InjectorRig(where, make_server, tmp_path, "injector-test", OPT_IN, "--webhook-tls-client-ca", str(clients.file))
    rig.server.start()
    rig.configure("sluice-injector-test", OPT_IN)
    space = make_namespace(where, OPT_IN)

    def made(name: str) -> dict[str, Any]:
        text = where.kubectl("create", "-n", space, "--dry-run=server", "-o", "json", "-f", "-", text=json.dumps(pod(name)))
        found: dict[str, Any] = json.loads(text)
        return found

    wait_until("the webhook in force", lambda: not has_no_sidecar(made("probe")), 30)
    assert_injected(made("cart"))
    assert rig.server.metric("sluice_tls_handshake_failures_total", listener="webhook") == 0
    clients.admit(1)
    wait_until("the other authority", lambda: "client_ca_renewed" in rig.server.process.output(), 30)
    rig.server.restart()   # ends the API server's open connections
    assert has_no_sidecar(made("cart")), "failurePolicy: Ignore"
    assert rig.server.metric("sluice_tls_handshake_failures_total", listener="webhook") > 0
