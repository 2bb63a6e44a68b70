"""A node of the testbed: pods run, find each other by name, and nothing of it stays on the machine."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from testbed.isolation import SCRATCH, SYSCTLS
from testbed.layout import NODE_IP
from testbed.pause import NAME as PAUSE
from testbed.requirements import CGROUPS
from support.kube import KubeCluster
from support.process import wait_until

RESTRICTED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": True,
              "runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}

# Asks a name server for the A record of a name and prints the first address.
QUESTION = """
import socket, struct, sys
labels = b"".join(bytes([len(label)]) + label.encode() for label in sys.argv[2].split("."))
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
    asking.settimeout(5)
    asking.sendto(struct.pack(">6H", 1, 0x100, 1, 0, 0, 0) + labels + bytes(1) + struct.pack(">2H", 1, 1), (sys.argv[1], 53))
    answer = asking.recv(1500)
if struct.unpack(">6H", answer[:12])[3]:
    print(socket.inet_ntoa(answer[-4:]))
"""


def pause_pod(name: str, namespace: str) -> dict[str, object]:
    """A pod that needs no image but the one every node has."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
            "spec": {"terminationGracePeriodSeconds": 1, "containers": [
                {"name": "pause", "image": PAUSE, "imagePullPolicy": "Never", "securityContext": RESTRICTED}]}}


def machine_state(cluster: KubeCluster) -> dict[str, object]:
    """What a node could leave behind on the machine around it."""
    mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if str(cluster.folder) in line]
    groups = [str(path) for hierarchy in CGROUPS.iterdir() for path in hierarchy.glob(cluster.layout.cgroup)]
    written = {folder: sorted(os.listdir(folder)) if Path(folder).exists() else [] for folder in SCRATCH}
    sysctls = {name: Path("/proc/sys", name).read_text() for name in SYSCTLS}
    links = sorted(os.listdir("/sys/class/net"))
    return {"mounts": mounts, "cgroups": groups, "written": written, "sysctls": sysctls, "links": links}


def test_a_restricted_pod_runs(cluster: KubeCluster, make_namespace: Callable[..., str]) -> None:
    namespace = make_namespace(cluster, restricted=True)
    cluster.apply(pause_pod("idle", namespace))
    pod = cluster.wait_for_pod("idle", namespace)
    assert re.match(r"10\.88\.0\.\d+$", pod["status"]["podIP"])


def resolve(cluster: KubeCluster, name: str) -> str:
    """The address that the cluster's name server gives; "" for none."""
    done = subprocess.run(cluster.on_network(sys.executable, "-c", QUESTION, NODE_IP, name), capture_output=True, text=True,
                          check=True, timeout=20)
    return done.stdout.strip()


def test_a_service_is_found_by_its_name(cluster: KubeCluster, make_namespace: Callable[..., str]) -> None:
    namespace = make_namespace(cluster)
    service = {"selector": {"app": "named"}, "ports": [{"port": 80}]}
    cluster.apply([pause_pod("named", namespace)] + [
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace}, "spec": {**service, **more}}
        for name, more in (("named", {}), ("headless", {"clusterIP": "None"}))])
    own = cluster.get("service", "named", namespace)["spec"]["clusterIP"]
    assert resolve(cluster, f"named.{namespace}.svc.cluster.local") == own
    address = cluster.wait_for_pod("named", namespace)["status"]["podIP"]
    wait_until("the pod's address", lambda: resolve(cluster, f"headless.{namespace}.svc.cluster.local") == address)
    assert resolve(cluster, f"absent.{namespace}.svc.cluster.local") == ""


def test_a_cluster_with_a_node_leaves_nothing_behind(make_cluster: Callable[..., KubeCluster]) -> None:
    made = make_cluster(True)
    before = machine_state(made)
    assert not before["mounts"] and not before["cgroups"]
    made.start()
    made.apply(pause_pod("left", "default"))
    made.wait_for_pod("left", "default")
    assert machine_state(made)["cgroups"]
    made.stop()
    assert machine_state(made) == before
    assert not [place for place in Path("/proc").glob("[0-9]*/cmdline") if str(made.folder).encode() in _read(place)]


def test_a_cluster_with_a_node_starts_again_and_its_pods_come_back(make_cluster: Callable[..., KubeCluster]) -> None:
    made = make_cluster(True).start()
    made.apply(pause_pod("again", "default"))
    first = made.wait_for_pod("again", "default")["status"]["containerStatuses"][0]
    made.stop()
    made.start()
    restarted = wait_until("the container anew", lambda: [
        status for status in made.get("pod", "again")["status"].get("containerStatuses", [])
        if status["restartCount"] > first["restartCount"] and status["ready"]], 60)
    assert restarted


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
