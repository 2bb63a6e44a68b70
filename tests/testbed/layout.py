"""What lies where in a cluster's folder, and the addresses of its networks."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from testbed.failure import Failure

NODE_NAME = "node-0"
NODE_IP = "192.0.2.1"            # of the documentation's net: on a network of the cluster's own
POD_NET = "10.88.0.0/24"
SERVICE_NET = "10.0.0.0/24"
SERVICE_IP = "10.0.0.1"          # the API server's, as pods see it
ISSUER = "https://kubernetes.default.svc.cluster.local"

LONGEST_SOCKET = 107             # bytes of a Unix socket's path

# Who has a client certificate and a kubeconfig.
USERS = {"admin": "/O=system:masters/CN=admin", "manager": "/CN=system:kube-controller-manager",
         "scheduler": "/CN=system:kube-scheduler", "proxy": "/CN=system:kube-proxy",
         "node": f"/O=system:nodes/CN=system:node:{NODE_NAME}"}


@dataclass(frozen=True)
class Layout:
    """One cluster's folder. Components run in it; all they write is below."""

    folder: Path

    @property
    def pki(self) -> Path:
        """Certificates and keys: ca, apiserver, sa (signs tokens), and one for each of USERS."""
        return self.folder / "pki"

    @property
    def etcd_url(self) -> Path:
        """Holds where etcd listens: plain HTTP on the loopback."""
        return self.folder / "etcd.url"

    @property
    def ports(self) -> Path:
        """Holds the ports without a node, so that the next start takes them again."""
        return self.folder / "ports"

    @property
    def socket(self) -> Path:
        """containerd's."""
        return self.folder / "containerd.sock"

    @property
    def ready(self) -> Path:
        """Is there once the node is: what start waits for."""
        return self.folder / "ready"

    @property
    def node(self) -> Path:
        """What kubelet and containerd keep."""
        return self.folder / "node"

    def kubeconfig(self, user: str = "admin") -> Path:
        """One of USERS'."""
        return self.folder / f"{user}.kubeconfig"

    def log(self, name: str) -> Path:
        """A component's."""
        return self.folder / f"{name}.log"

    def pid(self, name: str) -> Path:
        """A component's process, or "node": pid 1 of a cluster with a node."""
        return self.folder / f"{name}.pid"

    @property
    def cgroup(self) -> str:
        """The control group of all its pods, in each hierarchy."""
        return "kube-testbed-" + hashlib.sha256(str(self.folder).encode()).hexdigest()[:8]

    def check(self) -> None:
        """A folder this deep would fail much later, and say something else."""
        if len(str(self.socket).encode()) > LONGEST_SOCKET:
            raise Failure(f"{self.folder} lies too deep: the path of the socket in it would exceed {LONGEST_SOCKET} bytes; "
                          "take a shorter one, below /tmp say")
