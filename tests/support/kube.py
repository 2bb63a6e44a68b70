"""A Kubernetes cluster for tests: `control_plane` (no node, any user) and `cluster` (with a node that runs pods).

Both live as long as the session and are shared: a test works in a namespace of its own (`namespace`). Where they cannot run
the test is skipped, and the reason said; with SLUICE_KUBE_REQUIRED=1 (scripts/test --k8s, CI) it fails instead.
"""

import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Optional, Union

import pytest

from testbed.binary import binary_path
from testbed.layout import Layout
from testbed.processes import find_process
from testbed.requirements import missing
from support.process import wait_until

TESTS = Path(__file__).resolve().parents[1]
Manifest = Union[str, dict[str, Any], Sequence[dict[str, Any]]]

RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest"}


class KubeCluster:
    """One cluster in a folder of its own; the binary's kubectl speaks to it. `node`: whether it runs pods."""

    def __init__(self, node: bool, flags: Sequence[str] = ()) -> None:
        self.node = node
        # Short: a socket's path ends at 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="sluice-kube-", dir="/tmp"))
        self.layout = Layout(self.folder)
        self._flags = [*flags, *(["--node"] if node else [])]

    @property
    def kubeconfig(self) -> Path:
        """The administrator's."""
        return self.layout.kubeconfig()

    @property
    def url(self) -> str:
        """The API server's; with a node it is reached by what runs on the cluster's network (`on_network`)."""
        answer: str = json.loads(self.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        return answer

    @property
    def ca_file(self) -> Path:
        """What the API server's certificate comes from."""
        return self.layout.pki / "ca.crt"

    def start(self) -> "KubeCluster":
        """Ready when it returns."""
        self._tool("start", str(self.folder), *self._flags)
        return self

    def stop(self) -> None:
        """Ends it; the folder stays for another start."""
        self._tool("stop", str(self.folder))

    def close(self) -> None:
        """Ends it for good."""
        self.stop()
        shutil.rmtree(self.folder)

    @staticmethod
    def _tool(*words: str) -> str:
        done = subprocess.run([sys.executable, "-m", "testbed", *words], cwd=TESTS, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"kube-cluster {words[0]}: {done.stderr}"
        return done.stdout

    def on_network(self, *command: Union[str, Path]) -> list[str]:
        """The command as one that runs on the cluster's network: the same, where there is no node."""
        words = [str(word) for word in command]
        if not self.node:
            return words
        pid = find_process(self.layout.pid("node"))
        assert pid is not None, f"the node of {self.folder} has ended: {self.layout.log('node').read_text()}"
        return ["nsenter", f"--target={pid}", "--net", "--", *words]

    def load(self, *archives: Path) -> None:
        """Image archives for the node's pods."""
        self._tool("load", str(self.folder), *map(str, archives))

    def try_kubectl(self, *words: str, text: Optional[str] = None, seconds: float = 120) -> "subprocess.CompletedProcess[str]":
        """kubectl with these words and this standard input, whatever comes of it."""
        return subprocess.run(self.kubectl_command(*words), input=text, capture_output=True, text=True, timeout=seconds, check=False)

    def kubectl_command(self, *words: str) -> list[str]:
        """kubectl with these words, as what starts it."""
        return self.on_network(binary_path(), "kubectl", f"--kubeconfig={self.kubeconfig}", *words)

    def kubectl(self, *words: str, text: Optional[str] = None, seconds: float = 120) -> str:
        """What kubectl printed; it must succeed."""
        done = self.try_kubectl(*words, text=text, seconds=seconds)
        assert done.returncode == 0, f"kubectl {' '.join(words)}: {done.stderr}"
        return done.stdout

    def apply(self, manifest: Manifest, *words: str) -> str:
        """kubectl apply, server-side and strict: of YAML text, or of one object or several."""
        if not isinstance(manifest, str):
            items = [manifest] if isinstance(manifest, dict) else list(manifest)
            manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        return self.kubectl("apply", "--server-side", "--validate=strict", *words, "-f", "-", text=manifest)

    def get(self, kind: str, name: str = "", namespace: str = "default", *words: str) -> dict[str, Any]:
        """One object, or the list of all."""
        named = [name] if name else []
        found: dict[str, Any] = json.loads(self.kubectl("get", kind, *named, "-n", namespace, "-o", "json", *words))
        return found

    def token(self, namespace: str, account: str = "default", audience: str = "", *words: str) -> str:
        """A ServiceAccount's, by TokenRequest."""
        wanted = [f"--audience={audience}"] if audience else []
        return self.kubectl("create", "token", account, "-n", namespace, *wanted, *words).strip()

    def wait_for_pod(self, name: str, namespace: str, phase: str = "Running", seconds: float = 60) -> dict[str, Any]:
        """The pod once it has that phase, ready where that is Running; else says what became of it."""

        def reached() -> Optional[dict[str, Any]]:
            pod = self.get("pod", name, namespace)
            ready = {item["type"]: item["status"] for item in pod["status"].get("conditions", [])}.get("Ready") == "True"
            return pod if pod["status"].get("phase") == phase and (ready or phase != "Running") else None

        try:
            return wait_until(f"pod {namespace}/{name} {phase}", reached, seconds)
        except AssertionError as late:
            described = self.try_kubectl("describe", "pod", name, "-n", namespace).stdout
            logs = self.try_kubectl("logs", name, "-n", namespace, "--all-containers", "--prefix", "--tail=20").stdout
            raise AssertionError(f"{late}\n{described}\n{logs}") from None


def _refuse(reason: str) -> None:
    if os.environ.get("SLUICE_KUBE_REQUIRED") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def _made(node: bool, flags: Sequence[str] = ()) -> KubeCluster:
    faults = missing(node)
    if faults:
        _refuse("no cluster here: " + "; ".join(faults))
    if not binary_path().exists():
        _refuse("kube-testbed is not built: scripts/kube-cluster build")
    return KubeCluster(node, flags)


@contextlib.contextmanager
def _running(made: KubeCluster) -> Iterator[KubeCluster]:
    try:
        yield made.start()
    finally:
        made.close()


@pytest.fixture(scope="session")
def control_plane() -> Iterator[KubeCluster]:
    """API server, etcd and controllers on the loopback. Pods are admitted and stay Pending."""
    with _running(_made(node=False)) as made:
        yield made


@pytest.fixture(scope="module")
def own_control_plane() -> Iterator[KubeCluster]:
    """As control_plane, for a module that changes what others would meet."""
    with _running(_made(node=False)) as made:
        yield made


@pytest.fixture(scope="session")
def cluster() -> Iterator[KubeCluster]:
    """With a node: pods run. Needs root and cgroup v1."""
    with _running(_made(node=True)) as made:
        yield made


@pytest.fixture
def make_cluster() -> Iterator[Callable[..., KubeCluster]]:
    """Makes clusters for one test, not started yet: make(node=False, *flags of scripts/kube-cluster start)."""
    clusters: list[KubeCluster] = []

    def make(node: bool = False, *flags: str) -> KubeCluster:
        clusters.append(_made(node, flags))
        return clusters[-1]

    yield make
    for made in clusters:
        made.close()


@pytest.fixture
def kubectl(control_plane: KubeCluster) -> Callable[..., str]:
    """control_plane.kubectl."""
    return control_plane.kubectl


_numbers = itertools.count(1)


@pytest.fixture
def make_namespace() -> Iterator[Callable[..., str]]:
    """Makes namespaces for one test: make(cluster, **labels) gives the name; with restricted=True Pod Security's level."""
    made: list[tuple[KubeCluster, str]] = []

    def make(where: KubeCluster, labels: Optional[dict[str, str]] = None, restricted: bool = False) -> str:
        name = f"test-{os.getpid()}-{next(_numbers)}"
        where.apply({"apiVersion": "v1", "kind": "Namespace",
                     "metadata": {"name": name, "labels": {**(RESTRICTED if restricted else {}), **(labels or {})}}})
        made.append((where, name))
        # Without it a pod is refused.
        wait_until("the service account default", lambda: where.try_kubectl(
            "get", "serviceaccount", "default", "-n", name).returncode == 0)
        return name

    yield make
    for where, name in made:
        where.try_kubectl("delete", "namespace", name, "--wait=false")
