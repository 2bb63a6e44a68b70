"""etcd, the API server and the controllers: all of Kubernetes but what runs pods."""

import json
import socket
import ssl
import urllib.request
from collections.abc import Sequence

from testbed.certificates import make_certificates, write_kubeconfigs
from testbed.layout import ISSUER, NODE_IP, SERVICE_NET, Layout
from testbed.processes import Components

# Only node-lifecycle takes the taint off a new node. No cloud, no volumes, no certificates to sign.
CONTROLLERS = ",".join(
    f"{name}-controller" for name in (
        "serviceaccount", "serviceaccount-token", "namespace", "garbage-collector", "pod-garbage-collector", "deployment",
        "replicaset", "daemonset", "statefulset", "job", "cronjob", "endpointslice", "disruption",
        "horizontal-pod-autoscaler", "node-lifecycle", "taint-eviction", "clusterrole-aggregation",
        "validatingadmissionpolicy-status", "root-ca-certificate-publisher", "ttl-after-finished",
        "persistentvolume-binder", "persistentvolumeclaim-protection"))


class ControlPlane:
    """Starts it: on free ports of the loopback, or with a node on the usual ones of the node's own network."""

    def __init__(self, layout: Layout, components: Components, node: bool) -> None:
        self._layout = layout
        self._components = components
        self._node = node

    def start(self, api_flags: Sequence[str] = (), manager: bool = True) -> None:
        """Everything, in order, each once the one before is ready."""
        client, peer, secure = (2379, 2380, 6443) if self._node else _take_ports(self._layout)
        server = f"https://{NODE_IP if self._node else '127.0.0.1'}:{secure}"
        etcd = f"http://127.0.0.1:{client}"
        make_certificates(self._layout)
        write_kubeconfigs(self._layout, server)
        self._layout.etcd_url.write_text(etcd + "\n")
        self._start_etcd(etcd, f"http://127.0.0.1:{peer}")
        self._start_api_server(etcd, server, secure, api_flags)
        if manager:
            self._start_manager(server)

    def _answers(self, url: str) -> bool:
        context = ssl.create_default_context(cafile=str(self._layout.pki / "ca.crt"))
        context.load_cert_chain(self._layout.pki / "admin.crt", self._layout.pki / "admin.key")
        with urllib.request.urlopen(url, context=context, timeout=5) as answer:
            return bool(answer.status == 200)

    def _start_etcd(self, client: str, peer: str) -> None:
        self._components.start(
            "etcd", "--name=testbed", f"--data-dir={self._layout.folder / 'etcd'}",
            f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=testbed={peer}", "--unsafe-no-fsync", "--log-level=warn")
        self._components.wait("etcd", lambda: self._answers(client + "/readyz"))

    def _start_api_server(self, etcd: str, server: str, port: int, more: Sequence[str]) -> None:
        pki = self._layout.pki
        # The endpoints of the service "kubernetes" may not be loopback addresses.
        address = ([f"--advertise-address={NODE_IP}", "--bind-address=0.0.0.0"] if self._node else
                   ["--advertise-address=127.0.0.1", "--bind-address=127.0.0.1", "--endpoint-reconciler-type=none"])
        self._components.start(
            "kube-apiserver", f"--etcd-servers={etcd}", *address, f"--secure-port={port}", f"--cert-dir={pki}",
            f"--tls-cert-file={pki / 'apiserver.crt'}", f"--tls-private-key-file={pki / 'apiserver.key'}",
            f"--client-ca-file={pki / 'ca.crt'}", "--kubelet-preferred-address-types=InternalIP",
            f"--kubelet-client-certificate={pki / 'admin.crt'}", f"--kubelet-client-key={pki / 'admin.key'}",
            f"--service-account-issuer={ISSUER}", f"--service-account-signing-key-file={pki / 'sa.key'}",
            f"--service-account-key-file={pki / 'sa.pub'}", f"--service-cluster-ip-range={SERVICE_NET}",
            "--authorization-mode=Node,RBAC", "--allow-privileged=true", *more)
        self._components.wait("kube-apiserver", lambda: self._answers(server + "/readyz"))

    def _start_manager(self, server: str) -> None:
        self._components.start(
            "kube-controller-manager", f"--kubeconfig={self._layout.kubeconfig('manager')}",
            "--secure-port=0", "--leader-elect=false", f"--controllers={CONTROLLERS}",
            # Without this, RBAC refuses most of what the controllers do.
            "--use-service-account-credentials=true",
            # At the defaults it needs 8 s to start.
            "--kube-api-qps=500", "--kube-api-burst=1000", f"--root-ca-file={self._layout.pki / 'ca.crt'}",
            f"--service-account-private-key-file={self._layout.pki / 'sa.key'}")
        # A pod is refused until its namespace has the service account "default".
        self._components.wait("the service account default", lambda: self._answers(
            server + "/api/v1/namespaces/default/serviceaccounts/default"))


def _take_ports(layout: Layout) -> list[int]:
    """Three free ports, the same ones again where possible: a cluster that is started again keeps its address."""
    try:
        before = json.loads(layout.ports.read_text())
    except OSError:
        before = [0, 0, 0]
    sockets = [socket.socket() for _ in before]
    try:
        for probe, port in zip(sockets, before):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                probe.bind(("127.0.0.1", 0))
        ports: list[int] = [probe.getsockname()[1] for probe in sockets]
    finally:
        for probe in sockets:
            probe.close()
    layout.ports.write_text(json.dumps(ports))
    return ports
