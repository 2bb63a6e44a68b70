"""One cluster in a folder: start, stop, a command on its network, images for its node."""

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from testbed.control_plane import ControlPlane
from testbed.failure import Failure
from testbed.isolation import enter, remove_cgroups
from testbed.layout import Layout
from testbed.node import Node, load_image
from testbed.processes import POLL_SECONDS, Components, end_process, find_process, last_line, write_pid_file
from testbed.requirements import missing

# etcd last: the others end badly without it. With a node there is only that: the kernel ends the rest with pid 1.
NAMES = ("kube-controller-manager", "kube-apiserver", "etcd", "node")


class Cluster:
    """What the commands do. Nothing is kept here between them but the folder."""

    def __init__(self, folder: Path) -> None:
        self._layout = Layout(folder.resolve())

    def start(self, binary: Path, timeout: float, node: bool = False, manager: bool = True,
              api_flags: Sequence[str] = ()) -> Path:
        """Returns the administrator's kubeconfig once everything is ready; leaves nothing running where it fails."""
        faults = missing(node)
        if faults:
            raise Failure("; ".join(faults))
        self._layout.check()
        self._layout.folder.mkdir(parents=True, exist_ok=True)
        running = [name for name in NAMES if find_process(self._layout.pid(name)) is not None]
        if running:
            raise Failure(f"{self._layout.folder} runs already ({' '.join(running)}): stop it first")
        components = Components(self._layout, binary, timeout, pid_files=not node)   # pids mean nothing outside of a node
        plane = ControlPlane(self._layout, components, node)
        try:
            if node:
                self._start_node(plane, Node(self._layout, components, binary), list(api_flags))
            else:
                plane.start(api_flags, manager)
        except BaseException as error:
            with suppress(Failure):
                self.stop()
            if isinstance(error, Failure):
                raise Failure(f"{error}; logs: {self._layout.folder}/*.log") from None
            raise
        return self._layout.kubeconfig()

    def _start_node(self, plane: ControlPlane, node: Node, api_flags: list[str]) -> None:
        self._layout.ready.unlink(missing_ok=True)
        pid = enter(self._layout, lambda: node.start(plane, api_flags))
        write_pid_file(self._layout.pid("node"), pid)
        while not self._layout.ready.exists():
            if os.waitpid(pid, os.WNOHANG)[0]:
                raise Failure(last_line(self._layout.log("node")))
            time.sleep(POLL_SECONDS)

    def stop(self) -> None:
        """Ends what runs; the folder stays, and can be started again."""
        kept = []
        for name in NAMES:
            file = self._layout.pid(name)
            if not file.exists():
                continue
            signals = (signal.SIGKILL,) if name == "node" else (signal.SIGTERM, signal.SIGKILL)
            if not end_process(file, signals):
                kept.append(name)
            elif name == "node":
                remove_cgroups(self._layout)
        if kept:
            raise Failure(f"{' '.join(kept)} did not end, not even by SIGKILL (pids: {self._layout.folder}/*.pid)")

    def exec(self, command: Sequence[str], binary: Path) -> NoReturn:
        """Becomes the command: with KUBECONFIG set, and on the node's network if there is one. kubectl is the binary's."""
        if not self._layout.kubeconfig().exists():
            raise Failure(f"{self._layout.folder} is no cluster: start it first")
        os.environ["KUBECONFIG"] = str(self._layout.kubeconfig())
        enter_network = []
        if self._layout.pid("node").exists():
            pid = find_process(self._layout.pid("node"))
            if pid is None:
                raise Failure(f"the node of {self._layout.folder} has ended: {last_line(self._layout.log('node'))}")
            enter_network = ["nsenter", f"--target={pid}", "--net", "--"]
        words = list(command)
        if words[0] == "kubectl":
            words = [str(binary), *words]
        argv = [*enter_network, *words]
        try:
            os.execvp(argv[0], argv)
        except OSError as error:
            raise Failure(f"{argv[0]}: {error.strerror}") from None

    def load(self, archives: Sequence[Path]) -> None:
        """Image archives for pods with imagePullPolicy IfNotPresent or Never, under the names that they carry."""
        if find_process(self._layout.pid("node")) is None:
            raise Failure(f"{self._layout.folder} has no node that runs: start it with --node")
        for archive in archives:
            complaint = load_image(self._layout, archive)
            if complaint:
                raise Failure(f"{archive}: {complaint}")
