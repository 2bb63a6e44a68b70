"""Child processes that always end with the test, and waiting for conditions instead of sleeping."""

import contextlib
import itertools
import os
import pwd
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, TypeVar

T = TypeVar("T")
U = TypeVar("U")


def wait_until(what: str, condition: Callable[[], Optional[T]], seconds: float = 10.0) -> T:
    """Polls until `condition` returns something true and returns that; says what did not come.

    None, False, 0 and everything empty are not true. What would be true of nothing, or is always true, is refused: the
    built-in all() (use all_of), a function that was not called, a generator.
    """
    code = getattr(condition, "__code__", None)
    if code is not None and "all" in code.co_names:
        raise TypeError(f"{what}: all() is true where there is nothing: use all_of()")
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if callable(found) or isinstance(found, Iterator):
            raise TypeError(f"{what}: the condition gives a {type(found).__name__}, which is always true")
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds:g} s")
        time.sleep(0.01)


def all_of(items: Iterable[U], holds: Callable[[U], object]) -> bool:
    """Whether there are items and each of them holds."""
    found = [bool(holds(item)) for item in items]
    return found != [] and all(found)


# Below the ports that outgoing connections are given, so that none of them takes one before its server starts.
_ports = itertools.cycle(random.sample(range(12_000, 30_000), 18_000))


def free_port() -> int:
    """A port of the loopback that nobody listens on now; another one each time."""
    for port in itertools.islice(_ports, 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                return port
    raise AssertionError("no free port among a hundred")


def cpu_us(pid: int) -> float:
    """User and system time of a process and all its threads so far.

    The scheduler's count is in nanoseconds; a kernel that keeps none leaves /proc/PID/stat, in ticks of 10 ms."""
    ns = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):  # a thread that has just ended
            ns += int((task / "schedstat").read_text().split()[0])
    if ns > 0:
        return ns / 1000
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1e6 / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int, name: str = "VmRSS") -> int:
    """The memory of a process now (VmRSS) or at most (VmHWM), in bytes."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.split(f"{name}:")[1].split()[0]) << 10


def starved_seconds(pid: int) -> float:
    """How long the threads of a process were ready to run and had no processor; 0 where the kernel does not tell."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            total += int((task / "schedstat").read_text().split()[1])
    return total / 1e9


def freeze(pid: int) -> None:
    """SIGSTOP, and waits until each of its threads stands still: the signal reaches them one after another."""

    def state(task: Path) -> str:
        with contextlib.suppress(OSError):
            return (task / "stat").read_text().rpartition(")")[2].split()[0]
        return "T"   # it has ended

    os.kill(pid, signal.SIGSTOP)
    wait_until("the process to stand still",
               lambda: all_of(Path(f"/proc/{pid}/task").iterdir(), lambda task: state(task) in "TtZ"))


class Process:
    """One child process with its output in a file. Signals go to it by its own id, never by name.

    `user`: whose rights it runs with (a number; only root may name another than itself).
    """

    def __init__(self, command: Sequence[str], log: Path, env: Optional[Mapping[str, str]] = None,
                 cwd: Optional[Path] = None, user: Optional[int] = None) -> None:
        self.log = log
        become: dict[str, Any] = {}
        if user is not None and user != os.geteuid():
            become = {"user": user, "group": pwd.getpwuid(user).pw_gid, "extra_groups": []}
        with log.open("ab") as output:
            self._child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                           env=dict(os.environ, **(env or {})), cwd=cwd, **become)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._child.pid

    def alive(self) -> bool:
        """Whether it has not ended yet."""
        return self._child.poll() is None

    def exit_code(self) -> Optional[int]:
        """How it ended; None while it lives."""
        return self._child.poll()

    def send(self, number: signal.Signals) -> None:
        """Sends a signal, if there is still somebody to get it."""
        if self.alive():
            self._child.send_signal(number)

    def wait(self, seconds: float) -> int:
        """Waits for its end and returns its exit code."""
        return self._child.wait(timeout=seconds)

    def end(self, seconds: float = 20.0, by: signal.Signals = signal.SIGTERM) -> int:
        """The signal (after SIGCONT, for one that is stopped), SIGKILL where that does not do; the exit code."""
        self.send(signal.SIGCONT)
        self.send(by)
        try:
            return self.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return self.wait(10)

    def kill(self) -> int:
        """SIGKILL; the exit code."""
        self.send(signal.SIGKILL)
        return self.wait(10)

    def output(self) -> str:
        """Everything it wrote so far."""
        return self.log.read_text(errors="replace")

    def descriptors(self) -> int:
        """How many file descriptors it holds open. The folder's size says it also of a process that nobody may debug
        (Linux 6.2); an older kernel tells it only to root."""
        folder = f"/proc/{self.pid}/fd"
        return os.stat(folder).st_size or len(os.listdir(folder))

    def resident_kb(self) -> int:
        """Its resident memory."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        raise AssertionError("no VmRSS: the process has ended")
