"""The server under test as a process."""

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from support.admin import AdminClient
from support.client import Answer, Client
from support.postgres import APP, OWNER, Database, PostgresServer
from support.process import Process, wait_until
from support.program import findings, metric_sum

ENTRY_SECONDS = 30.0
# Tests write faster than a token may. The last of equal flags wins, so a test can set a rate.
NO_RATES = ("--admin-writes-per-second", "0", "--admin-reads-per-second", "0")
# A whole API key or token: none of them is ever logged.
CREDENTIAL = re.compile(r"sl[akg]_[a-z0-9.-]+_[0-9A-Za-z]{49}")


def run_command(program: Path, *arguments: str, env: Optional[Mapping[str, str]] = None,
                seconds: float = 60) -> subprocess.CompletedProcess[str]:
    """Runs one of the server's commands to its end, without any SLUICE_SERVER_… of ours."""
    return subprocess.run([str(program), *arguments], capture_output=True, text=True, timeout=seconds, check=False,
                          env={**Server.environment(), **(env or {})})


def migrate(program: Path, database: Database) -> None:
    """Makes the schema."""
    done = run_command(program, "migrate", "--database-owner-url", database.url(OWNER), "--database-url", database.url(APP))
    assert done.returncode == 0, done.stderr


def bootstrap(program: Path, database: Database, *arguments: str) -> str:
    """Makes the first token; its text."""
    done = run_command(program, "bootstrap", "--database-url", database.url(APP), *arguments)
    assert done.returncode == 0, done.stderr
    token = done.stdout.strip()
    assert CREDENTIAL.fullmatch(token), token
    return token


@dataclass(frozen=True)
class Installation:
    """A database with the schema, in which nobody works, and the platform_admin token that is in it: for copies."""

    database: Database
    token: str

    @staticmethod
    def make(program: Path, postgres: PostgresServer) -> "Installation":
        """A new one on this PostgreSQL."""
        database = postgres.create_database()
        migrate(program, database)
        return Installation(database, bootstrap(program, database))

    def copy(self) -> Database:
        """A database of one's own with what this one holds."""
        return self.database.server.create_database(template=self.database.name)


class Server:
    """One server with a port for the admin API and one for probes, both chosen by the kernel at each start.

    `allow`: events that may be logged as errors. `url`: another way to the database than the direct one.
    """

    def __init__(self, program: Path, folder: Path, database: Database, token: str = "", flags: Sequence[str] = (),
                 env: Optional[Mapping[str, str]] = None, allow: Sequence[str] = (), url: str = "") -> None:
        self.program = program
        self.folder = folder
        self.database = database
        self.token = token   # of a platform_admin
        self.flags = list(flags)
        self.env = dict(env or {})
        self.allowed_errors = set(allow)
        self.url = url or database.url(APP)
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "server.log"
        self._process: Optional[Process] = None
        self._begin = 0   # where in the log this start begins
        self._ports: dict[str, int] = {}

    @staticmethod
    def environment() -> dict[str, str]:
        """Ours, without what would configure a server."""
        ours = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_SERVER_")}
        # Leaks of libraries that are known of are not worth a word in the log.
        return {"LSAN_OPTIONS": "print_suppressions=0", **ours}

    @property
    def process(self) -> Process:
        """The running process."""
        assert self._process is not None
        return self._process

    @property
    def port(self) -> int:
        """Of the admin API."""
        return self._port("API")

    @property
    def admin_port(self) -> int:
        """Of probes and metrics."""
        return self._port("probes")

    def _port(self, listener: str) -> int:
        if listener not in self._ports:
            wait_until(f"the server's listeners (log {self.log})", self._listening, ENTRY_SECONDS)
        return self._ports[listener]

    def _listening(self) -> bool:
        self._assert_alive()
        self._ports = {line["listener"].split()[0]: line["port"] for line in self.lines(since_start=True)
                       if line.get("event") == "listening"}
        return set(self._ports) >= {"API", "probes"}

    def _assert_alive(self) -> None:
        assert self.process.alive(), f"the server ended with {self.process.exit_code()}: {self.process.output()[-3000:]}"

    def command(self) -> list[str]:
        """The command line it is started with."""
        return [str(self.program), "--database-url", self.url, "--listen", "127.0.0.1:0", "--admin",
                "127.0.0.1:0", "--log-level", "debug", *NO_RATES, *self.flags]

    def launch(self) -> "Server":
        """Starts it without waiting."""
        self._begin = self.log.stat().st_size if self.log.exists() else 0
        self._ports = {}
        self._process = Process(self.command(), self.log, {**self.environment(), **self.env})
        return self

    def start(self) -> "Server":
        """Starts it and waits until it is ready."""
        self.launch()
        wait_until(f"the server's readiness (log {self.log})", self._ready, ENTRY_SECONDS)
        return self

    def restart(self) -> "Server":
        """Ends it in order where it runs, and starts it again; its ports are others then."""
        assert self.stop() == 0
        return self.start()

    def _ready(self) -> bool:
        self._assert_alive()
        try:
            return self.probe("/readyz").status == 200
        except OSError:
            return False

    def probe(self, path: str) -> Answer:
        """What the port for probes says."""
        with Client(self.admin_port) as client:
            return client.get(path)

    def admin(self, token: Optional[str] = None, timeout: float = 60.0, source: str = "") -> AdminClient:
        """A client of the admin API, as platform_admin unless another token is given; "": without one."""
        return AdminClient(self.port, self.token if token is None else token, timeout, source)

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples that carry these labels."""
        answer = self.probe("/metrics")
        assert answer.status == 200
        return metric_sum(str(answer.body), name, **labels)

    def lines(self, since_start: bool = False) -> list[dict[str, Any]]:
        """The log: every whole line is JSON, whatever happens; a sanitizer's are left out."""
        text = self.log.read_bytes()[self._begin if since_start else 0:]
        whole = text[:text.rfind(b"\n") + 1].decode()
        # Split at newlines only: whatever else is a line's end to Unicode may stand in a text.
        return [json.loads(line) for line in whole.split("\n") if line.startswith("{")]

    def errors(self) -> list[dict[str, Any]]:
        """Lines of level error that nobody expected."""
        return [line for line in self.lines() if line["level"] == "error" and line["event"] not in self.allowed_errors]

    def stop(self, seconds: float = 40.0) -> int:
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
        if not self.log.exists():
            return
        found = findings(self.log)
        assert not found, f"a sanitizer found: {found} (log {self.log})"
        assert code == 0, f"the server ended with {code} after SIGTERM (log {self.log})"
        text = self.log.read_text(errors="replace")
        strange = [line for line in text.split("\n") if line and not line.startswith("{")]
        assert not strange, f"lines of the log are no JSON: {strange[:3]} (log {self.log})"
        assert not self.errors(), f"errors were logged: {self.errors()[:3]} (log {self.log})"
        assert not CREDENTIAL.search(text), f"a credential is in the log {self.log}"
