"""The components as processes: started with a log each, awaited, found again by their pid files, ended.

A pid file holds the process and the instant it was started, so that nobody who got the same number later is taken for it.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Optional

from testbed.failure import Failure
from testbed.layout import Layout

STOP_SECONDS = 5.0
POLL_SECONDS = 0.05


def _status(pid: int) -> Optional[tuple[str, str]]:
    """State and start time of a process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], fields[19]


class Components:
    """The processes that this one has started. Not for several threads."""

    def __init__(self, layout: Layout, binary: Path, timeout: float, pid_files: bool) -> None:
        self._layout = layout
        self._binary = binary
        self._timeout = timeout
        self._pid_files = pid_files
        self._children: list[tuple[str, subprocess.Popen[bytes]]] = []

    def start(self, name: str, *flags: str) -> None:
        """One of the binary's subcommands."""
        self.start_program(name, str(self._binary), name, *flags)

    def start_program(self, name: str, *command: str) -> None:
        """Any program, as `name` in messages and files."""
        with self._layout.log(name).open("ab") as log:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self._layout.folder,
                                     start_new_session=True)
        self._children.append((name, child))
        if self._pid_files:
            write_pid_file(self._layout.pid(name), child.pid)

    def wait(self, what: str, ready: Callable[[], bool]) -> None:
        """Polls; OSError and failed commands mean not yet. Fails at once where a component has ended."""
        end = time.monotonic() + self._timeout
        why = ""
        while time.monotonic() < end:
            for name, child in self._children:
                if child.poll() is not None:
                    raise Failure(f"{name} exited with {child.returncode}: {last_line(self._layout.log(name))}")
            try:
                if ready():
                    return
            except (OSError, subprocess.SubprocessError) as error:
                why = f": {error}"
            time.sleep(POLL_SECONDS)
        raise Failure(f"{what} was not ready within {self._timeout:g} s{why}")


def last_line(log: Path) -> str:
    """What somebody said last."""
    lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    return lines[-1] if lines else "(it said nothing)"


def write_pid_file(file: Path, pid: int) -> None:
    """Which process it is, for find_process."""
    status = _status(pid)
    file.write_text(f"{pid} {status[1] if status else 0}\n")


def find_process(file: Path) -> Optional[int]:
    """The process that this file names, if it is still alive."""
    try:
        pid, started = file.read_text().split()
    except (OSError, ValueError):
        return None
    status = _status(int(pid))
    return int(pid) if status and status[1] == started and status[0] != "Z" else None


def end_process(file: Path, signals: Sequence[signal.Signals]) -> bool:
    """Ends the process that this file names by these signals, each with its time, and removes the file where it did."""
    for number in signals:
        pid = find_process(file)
        if pid is None:
            break
        os.kill(pid, number)
        end = time.monotonic() + STOP_SECONDS
        while find_process(file) is not None and time.monotonic() < end:
            time.sleep(POLL_SECONDS / 2)
    if find_process(file) is not None:
        return False
    file.unlink(missing_ok=True)
    return True
