"""The node: containerd, kubelet, kube-proxy, a scheduler and a name server, beside a control plane, on a machine of their own.

start() runs as pid 1 of that machine (isolation.py).
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

from testbed.control_plane import ControlPlane
from testbed.failure import Failure
from testbed.isolation import prepare
from testbed.layout import NODE_IP, NODE_NAME, POD_NET, Layout
from testbed.pause import NAME as PAUSE_IMAGE
from testbed.pause import make_pause_image
from testbed.processes import Components

CONTAINERD = """version = 2
root = "{node}/containerd"
state = "{node}/containerd-state"
[grpc]
  address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{node}/cni"
"""


class Node:
    """All that runs on it. `plane` is started on the way, for the network is there only then."""

    def __init__(self, layout: Layout, components: Components, binary: Path) -> None:
        self._layout = layout
        self._components = components
        self._binary = binary

    def start(self, plane: ControlPlane, api_flags: list[str]) -> None:
        """Returns once pods can be started."""
        # Root's programs are not in everybody's PATH, and kube-proxy and the plugins look for iptables there.
        os.environ["PATH"] = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"
        prepare(self._layout)
        plane.start(api_flags)
        self._start_containerd()
        admin = self._layout.kubeconfig()
        self._components.start("dns", f"--kubeconfig={admin}", f"--listen={NODE_IP}:53")
        self._components.start("kube-scheduler", f"--kubeconfig={self._layout.kubeconfig('scheduler')}",
                               "--leader-elect=false", "--secure-port=0")
        self._components.start("kube-proxy", f"--kubeconfig={self._layout.kubeconfig('proxy')}", "--proxy-mode=iptables",
                               f"--hostname-override={NODE_NAME}", f"--cluster-cidr={POD_NET}",
                               # Sysctls of the whole machine, and of its loopback: left alone.
                               "--conntrack-max-per-core=0", "--iptables-localhost-nodeports=false",
                               "--nodeport-addresses=primary")
        self._start_kubelet()
        self._components.wait("the node", lambda: subprocess.run(
            [self._binary, "kubectl", f"--kubeconfig={admin}", "wait", "--for=condition=Ready", f"node/{NODE_NAME}",
             "--timeout=30s"], timeout=40, capture_output=True, check=False).returncode == 0)

    def _start_containerd(self) -> None:
        work = self._layout.node
        (work / "cni").mkdir(parents=True, exist_ok=True)
        config = work / "containerd.toml"
        config.write_text(CONTAINERD.format(node=work, socket=self._layout.socket, pause=PAUSE_IMAGE))
        (work / "cni" / "testbed.conflist").write_text(json.dumps({
            "cniVersion": "1.0.0", "name": "testbed", "plugins": [
                {"type": "bridge", "bridge": "pods0", "isGateway": True, "hairpinMode": True,
                 "ipam": {"type": "host-local", "dataDir": str(work / "ipam"), "ranges": [[{"subnet": POD_NET}]],
                          "routes": [{"dst": "0.0.0.0/0"}]}}]}))
        # Of containers that ended with the machine before.
        for leftover in ("ipam", "containerd-state"):
            shutil.rmtree(work / leftover, ignore_errors=True)
        self._components.start_program("containerd", "containerd", f"--config={config}")
        pause = work / "pause.tar"
        make_pause_image(pause)
        self._components.wait("containerd", lambda: self._layout.socket.exists() and load_image(self._layout, pause) == "")

    def _start_kubelet(self) -> None:
        work = self._layout.node
        settings = work / "kubelet.json"
        settings.write_text(json.dumps({
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True},
                               "x509": {"clientCAFile": str(self._layout.pki / "ca.crt")}},
            "authorization": {"mode": "Webhook"},
            "cgroupDriver": "cgroupfs", "cgroupRoot": "/" + self._layout.cgroup, "enforceNodeAllocatable": [],
            "failCgroupV1": False, "failSwapOn": False, "containerRuntimeEndpoint": f"unix://{self._layout.socket}",
            # A full disk of the machine is no reason to evict a test's pods.
            "evictionHard": {"memory.available": "100Mi"}, "imageGCHighThresholdPercent": 100,
            "resolvConf": "", "clusterDNS": [NODE_IP], "clusterDomain": "cluster.local",
            "podLogsDir": str(work / "logs"), "volumePluginDir": str(work / "plugins")}))
        self._components.start("kubelet", f"--config={settings}", f"--kubeconfig={self._layout.kubeconfig('node')}",
                               f"--root-dir={work / 'kubelet'}", f"--cert-dir={work / 'pki'}",
                               f"--hostname-override={NODE_NAME}", f"--node-ip={NODE_IP}")


def load_image(layout: Layout, archive: Path) -> str:
    """Gives an archive (OCI or Docker) to containerd; what it complains of, or nothing."""
    if not archive.is_file():
        raise Failure(f"there is no archive {archive}")
    done = subprocess.run(["ctr", "-a", str(layout.socket), "-n", "k8s.io", "images", "import", str(archive)],
                          capture_output=True, text=True, check=False)
    return (done.stderr.strip() or f"exit status {done.returncode}") if done.returncode else ""
