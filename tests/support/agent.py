"""The agent under test as a process."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Optional

from support.client import Client
from support.process import Process, free_port, wait_until
from support.program import findings, metric_sum

ENTRY_SECONDS = 30.0


class Agent:
    """One agent with a port for checks, a port for probes and a Unix socket."""

    def __init__(self, program: Path, folder: Path, bundle: Optional[Path], counters: str,
                 flags: Sequence[str] = (), env: Optional[Mapping[str, str]] = None,
                 started_by: Sequence[str] = ()) -> None:
        self.program = program
        self.folder = folder
        self.bundle = bundle
        self.counters = counters
        self.flags = list(flags)
        self.env = dict(env or {})
        self.started_by = list(started_by)   # a command that becomes the agent
        self.port = free_port()
        self.host = "127.0.0.1"   # where checks are served
        self.admin_port = free_port()
        folder.mkdir(parents=True, exist_ok=True)
        self._socket_folder = tempfile.TemporaryDirectory(prefix="sluice-agent-")
        self.socket = Path(self._socket_folder.name) / "agent.sock"
        self.log = folder / "agent.log"
        self._process: Optional[Process] = None

    @property
    def process(self) -> Process:
        """The running process."""
        assert self._process is not None
        return self._process

    def command(self) -> list[str]:
        """The command line it is started with."""
        command = [*self.started_by, str(self.program), "--counters", self.counters, "--listen", f"{self.host}:{self.port}",
                   "--listen-unix", str(self.socket), "--admin", f"127.0.0.1:{self.admin_port}"]
        if self.bundle is not None:
            command += ["--policies", str(self.bundle)]
        return command + self.flags

    def launch(self) -> "Agent":
        """Starts it without waiting."""
        self._process = Process(self.command(), self.log, self.env)
        return self

    def start(self) -> "Agent":
        """Starts it and waits until it is ready."""
        self.launch()
        wait_until(f"the agent's readiness (log {self.log})", lambda: self._answers("/readyz"), ENTRY_SECONDS)
        return self

    def start_without_policies(self) -> "Agent":
        """Starts it and waits until it answers: without policies it is not ready."""
        self.launch()
        wait_until(f"the agent's listeners (log {self.log})", lambda: self._answers("/livez"), ENTRY_SECONDS)
        return self

    def _answers(self, path: str) -> bool:
        assert self.process.alive(), f"the agent ended with {self.process.exit_code()}: {self.process.output()[-3000:]}"
        try:
            with Client(self.admin_port) as client:
                return client.get(path).status == 200
        except OSError:
            return False

    def wait_for_redis(self, key: str, plan_id: str) -> None:
        """Waits until decisions come from Redis, whichever worker makes them: the agent is ready before it is connected."""
        if self.counters != "memory":
            wait_until("the connections to Redis", lambda: self.metric("sluice_redis_connected") == 1, ENTRY_SECONDS)
        with Client(self.port, key) as client:
            wait_until("a decision made by Redis", lambda: client.check(
                plan_id=plan_id, subject="warm-up", cost=0).body.get("reason") == "within_limit", ENTRY_SECONDS)

    def client(self, key: str = "") -> Client:
        """A client over TCP."""
        return Client(self.port, key)

    def unix_client(self, key: str = "") -> Client:
        """A client over the Unix socket."""
        return Client(self.socket, key)

    def metrics(self) -> str:
        """What /metrics says."""
        with Client(self.admin_port) as client:
            answer = client.get("/metrics")
        assert answer.status == 200
        return str(answer.body)

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples that carry these labels."""
        return metric_sum(self.metrics(), name, **labels)

    def findings(self) -> list[str]:
        """Lines of the log in which a sanitizer speaks."""
        return findings(self.log)

    def stop(self, seconds: float = 30.0) -> int:
        """SIGTERM and wait; the exit code, or 0 where it was not running."""
        if self._process is None or not self._process.alive():
            return 0
        return self._process.end(seconds)

    def kill9(self) -> None:
        """Dies at once."""
        self.process.kill()

    def close(self) -> None:
        """Ends it for good and looks into its log."""
        code = self.stop()
        self._socket_folder.cleanup()
        assert not self.findings(), f"a sanitizer found: {self.findings()} (log {self.log})"
        assert code == 0, f"the agent ended with {code} after SIGTERM (log {self.log})"
