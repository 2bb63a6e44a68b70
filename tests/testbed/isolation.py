"""A machine of its own for a cluster with a node: network, mounts and processes apart from everybody else's.

enter() forks pid 1 of the new namespaces: when that ends, so does all that runs in them, and every mount with it. What
the namespaces do not hold apart, the control groups, remove_cgroups() takes away.
"""

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from testbed.failure import Failure
from testbed.layout import NODE_IP, Layout
from testbed.requirements import CGROUPS

CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET = 0x00020000, 0x20000000, 0x40000000

# The kubelet sets these, and they belong to the whole machine: it gets copies.
SYSCTLS = ("vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys",
           "kernel/keys/root_maxbytes")

# Where containerd, CNI and the kubelet write whatever they are told: a memory file system hides what is there.
SCRATCH = ("/run/containerd", "/run/netns", "/var/lib/cni", "/var/lib/kubelet", "/var/log/containers")


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failure(f"{' '.join(command)}: {done.stderr.strip()}")


def enter(layout: Layout, body: Callable[[], None]) -> int:
    """Runs `body` as pid 1 of new namespaces, which then stays and waits for what its children leave; its pid outside."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID):
        raise Failure(f"unshare: {os.strerror(ctypes.get_errno())}; a node needs the right to make namespaces")
    pid = os.fork()
    if pid == 0:
        _be_first(layout, body)
    return pid


def _be_first(layout: Layout, body: Callable[[], None]) -> NoReturn:
    os.setsid()
    log = os.open(layout.log("node"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.closerange(3, 1024)   # the pipes of whoever started us would never end
    try:
        body()
        layout.ready.touch()
        while True:
            os.wait()
    except BaseException as error:   # whatever it is, the last line says it
        print(error, flush=True)
        sys.stdout.flush()
        os._exit(1)


def prepare(layout: Layout) -> None:
    """From within: mounts, the network of one node, the pods' control group."""
    _run("mount", "--make-rprivate", "/")
    _run("mount", "-t", "proc", "proc", "/proc")
    for folder in SCRATCH:
        Path(folder).mkdir(parents=True, exist_ok=True)
        _run("mount", "-t", "tmpfs", "tmpfs", folder)
    for name in SYSCTLS:
        real, copy = Path("/proc/sys", name), layout.folder / "sysctl" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(real.read_text())
        _run("mount", "--bind", str(copy), str(real))
    _run("ip", "link", "set", "lo", "up")
    _run("ip", "link", "add", "node0", "type", "bridge")
    _run("ip", "address", "add", f"{NODE_IP}/32", "dev", "node0")
    _run("ip", "link", "set", "node0", "up")
    _run("ip", "route", "add", "default", "dev", "node0")
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")   # this one is the network's
    for folder in _cgroups(layout):
        folder.mkdir(exist_ok=True)
        for name in ("cpuset.cpus", "cpuset.mems"):
            if (folder / name).exists():
                (folder / name).write_text((folder.parent / name).read_text())


def _cgroups(layout: Layout) -> list[Path]:
    return [hierarchy / layout.cgroup for hierarchy in CGROUPS.iterdir() if hierarchy.is_dir()]


def remove_cgroups(layout: Layout) -> None:
    """After the end of pid 1; a group is busy until the kernel has buried the last of its processes."""
    end = time.monotonic() + 5
    for root in _cgroups(layout):
        for folder, _, _ in os.walk(root, topdown=False):
            while True:
                try:
                    os.rmdir(folder)
                    break
                except OSError as error:
                    if time.monotonic() > end:
                        raise Failure(f"{folder} cannot be removed: {error}") from None
                    time.sleep(0.05)
