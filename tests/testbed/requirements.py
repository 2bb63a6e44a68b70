"""What a cluster needs of the machine: found out before anything is started, and said all at once."""

import os
import shutil
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
CONTROLLERS = ("cpu", "cpuset", "memory", "pids")   # what the kubelet will not start without

# Program (or file), and the Debian package it comes from.
FOR_ALL = {"openssl": "openssl"}
FOR_NODE = {"containerd": "containerd", "ctr": "containerd", "runc": "runc", "iptables": "iptables", "ip": "iproute2",
            "mount": "mount", "nsenter": "util-linux", "cc": "gcc", "/usr/lib/cni/bridge": "containernetworking-plugins",
            "/usr/lib/cni/host-local": "containernetworking-plugins"}


def missing(node: bool) -> list[str]:
    """What keeps a cluster from starting here; a line each, with what to do."""
    wanted = FOR_ALL | FOR_NODE if node else FOR_ALL
    packages = sorted({package for program, package in wanted.items() if not _there(program)})
    faults = []
    if packages:
        faults.append(f"not installed: {' '.join(packages)} (scripts/setup kube installs what is missing)")
    if node:
        faults += _missing_for_node()
    return faults


def _there(program: str) -> bool:
    # Root's programs are not in everybody's PATH.
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is not None


def _missing_for_node() -> list[str]:
    faults = []
    if os.geteuid() != 0:
        faults.append("a node needs root: kubelet and containerd make namespaces, mounts and control groups")
    if (CGROUPS / "cgroup.controllers").exists():
        faults.append("a node needs cgroup v1, and this machine has v2 alone: boot it with systemd.unified_cgroup_hierarchy=0, "
                      "or do without --node")
    else:
        absent = [name for name in CONTROLLERS if not (CGROUPS / name).is_dir()]
        if absent:
            faults.append(f"a node needs these cgroup v1 controllers mounted below {CGROUPS}: {' '.join(absent)}")
    if not _knows_overlay():
        faults.append("a node needs overlayfs in the kernel (modprobe overlay)")
    return faults


def _knows_overlay() -> bool:
    return any(line.split()[-1] == "overlay" for line in Path("/proc/filesystems").read_text().splitlines() if line.strip())
