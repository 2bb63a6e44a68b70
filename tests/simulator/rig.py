"""What a run runs on: PostgreSQL, server replicas, the balancer in front of them, the swarm behind it."""

import contextlib
import http.client
import itertools
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from support.admin import AdminClient, fresh_id
from support.client import Answer
from support.postgres import PostgresServer
from support.process import wait_until
from support.program import findings, program_path
from support.server import Installation, Server
from simulator.commanded import Commanded
from simulator.history import History, Scope, exported_objects, read_history, read_position
from simulator.plan import Call, Plan
from simulator.record import Claim, Final, Shown, Wrote


def now_us() -> int:
    """The clock of the swarm's events."""
    return time.monotonic_ns() // 1000


@dataclass(frozen=True)
class Programs:
    """Which binaries."""

    server: Path
    swarm: Path
    balancer: Path

    @staticmethod
    def newest() -> "Programs":
        """Those that the environment names, or the newest; the swarm of the server's build where it has one."""
        server = program_path("sluice-server")
        found = [server.with_name(name) for name in ("sluice_swarm", "sluice_balancer")]
        swarm, balancer = (path if path.is_file() else program_path(path.name) for path in found)
        for path in (server, swarm, balancer):
            assert path.is_file(), f"there is no program {path}: build it"
        return Programs(server, swarm, balancer)


class Replicas:
    """Server replicas on one database, behind a balancer; and writes that go to whichever is there."""

    def __init__(self, programs: Programs, folder: Path, count: int, *, durable: bool = False, flags: Sequence[str] = (),
                 postgres_options: Sequence[str] = (), seed: int = 1) -> None:
        self.folder = folder
        self.postgres = PostgresServer(folder / "postgres", durable=durable, options=postgres_options).start()
        self._closing = contextlib.ExitStack()
        self._closing.callback(self.postgres.close)
        self._turn = itertools.count()
        with self._closed_if_it_fails():
            made = Installation.make(programs.server, self.postgres)
            self.database, self.token = made.database, made.token
            self.balancer = Commanded([programs.balancer, seed], folder / "balancer.log")
            self._closing.callback(self.balancer.close)
            self.port: int = self.balancer.greeting["port"]
            self.servers = [Server(programs.server, folder / f"server{number}", self.database, self.token, flags)
                            for number in range(count)]
            for number, server in enumerate(self.servers):
                self._closing.callback(self._end, server)
                server.start()
                self._announce(number)

    @contextlib.contextmanager
    def _closed_if_it_fails(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._closing.close()
            raise

    @staticmethod
    def _end(server: Server) -> None:
        code = server.stop()
        assert not findings(server.log), f"a sanitizer found: {findings(server.log)} (log {server.log})"
        assert code in (0, -9), f"the server ended with {code} (log {server.log})"

    def close(self) -> None:
        """Ends everything."""
        self._closing.close()

    def _announce(self, number: int) -> None:
        self.balancer.ask("backend", f"r{number}", self.servers[number].port)

    def bring_back(self, number: int) -> None:
        """Starts a replica that has ended, at a new port; does not wait until it is ready."""
        self.servers[number].launch()
        self._announce(number)

    def ready(self) -> None:
        """Waits until all say so."""
        for server in self.servers:
            wait_until(f"a replica's readiness (log {server.log})", lambda server=server: self._ready(server), 60)

    @staticmethod
    def _ready(server: Server) -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException):
            return server.probe("/readyz").status == 200
        return False

    def setup(self, plan: Plan, seed_bundle: bool = True) -> list[str]:
        """Applies the plan's first bundle; makes a token for each of its scopes."""
        with self.servers[0].admin() as admin:
            if seed_bundle:
                answer = admin.post("/apply", plan.bundle)
                assert answer.status == 200, answer
            return [self.agent_token(admin, scope) for scope in plan.scopes]

    @staticmethod
    def agent_token(admin: AdminClient, scope: Scope) -> str:
        """A new token for agents."""
        body: dict[str, Any] = {"name": str(scope)[:60], "tenant_ids": list(scope.tenants)}
        if scope.organization:
            body["organization_id"] = scope.organization
        return str(admin.create("/agent-tokens", body)["token"])

    def history(self, base: tuple[int, str]) -> History:
        """All that happened since."""
        return read_history(self.database, base)

    def position(self) -> tuple[int, str]:
        """The head in the database."""
        return read_position(self.database)

    def head(self) -> tuple[int, str]:
        """As the API says it."""
        with self.servers[0].admin() as admin:
            body = admin.get("/revision").body
        return (body["revision"], body["chain"])

    def enforcement(self, number: int, revision: int, wait: str) -> Claim:
        """What a replica says of a revision: whether all agents enforce it."""
        with self.servers[number].admin(timeout=30) as admin:
            answer = admin.get(f"/revisions/{revision}", query={"wait": wait})
        assert answer.status == 200, answer
        return Claim(revision, answer.body["enforced_by_all"], now_us(), answer.body["agents"])

    def fleet(self) -> dict[int, Shown]:
        """The agents of the swarm as operators see them."""
        with self.servers[0].admin() as admin:
            return {int(item["id"].rpartition("-")[2]): Shown(
                item["status"], item["connected"], item["revision"], item["chain"],
                Scope(item["scope"]["organization_id"] or "", tuple(item["scope"]["tenant_ids"])))
                for item in admin.items("/agents", query={"limit": 1000})}

    def export(self) -> dict[Any, str]:
        """All objects, their documents as they stand in the export."""
        connection = http.client.HTTPConnection("127.0.0.1", self.servers[0].port, timeout=120)
        try:
            connection.request("GET", "/v1/admin/export", headers={"authorization": f"Bearer {self.token}"})
            reply = connection.getresponse()
            text = reply.read().decode()
            assert reply.status == 200, text
        finally:
            connection.close()
        return {name: document for name, document, _ in exported_objects(text)}

    def writer(self) -> "ReplicaWriter":
        """A client for writes, for one thread."""
        return ReplicaWriter(self, next(self._turn))


class ReplicaWriter:
    """Writes each call until it is acknowledged, by whichever replica lives; each is done once."""

    SECONDS = 90.0

    def __init__(self, replicas: Replicas, turn: int) -> None:
        self._replicas = replicas
        self._turn = turn
        self._client: Optional[AdminClient] = None
        self.retries = 0

    def close(self) -> None:
        """Closes the connection."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def write(self, call: Call) -> Wrote:
        """Does it, however long it takes."""
        key, begin = fresh_id("sync"), now_us()
        end = time.monotonic() + self.SECONDS
        while True:
            answer = self._try(call, key)
            if answer is not None and answer.status < 300:
                revision = answer.header("sluice-revision")
                assert revision, f"nothing was changed by {call}: {answer}"
                return Wrote(int(revision), call.does, begin, now_us())
            assert answer is None or answer.status in (503, 409), f"{answer} to {call}"
            assert time.monotonic() < end, f"not acknowledged within {self.SECONDS} s: {call}: {answer}"
            self.retries += 1
            time.sleep(0.02)

    def _try(self, call: Call, key: str) -> Optional[Answer]:
        try:
            if self._client is None:
                self._turn += 1
                server = self._replicas.servers[self._turn % len(self._replicas.servers)]
                if not server.process.alive():
                    return None
                self._client = server.admin(timeout=10)
            return self._client.request(call.method, call.path, call.body, tenant=call.tenant, key=key)
        except (OSError, http.client.HTTPException, AssertionError):
            # The replica is down, or ended in the middle of its answer: another one.
            self.close()
            return None


class SwarmProcess:
    """The agents of a plan."""

    def __init__(self, programs: Programs, replicas: Replicas, plan: Plan, tokens: Sequence[str], *, threads: int = 1,
                 report_ms: int = 5000, events: Optional[Path] = None) -> None:
        folder = replicas.folder
        self.events = events or folder / "events.jsonl"
        names = folder / "agents.txt"
        names.write_text("".join(f"swarm-{number} {tokens[scope]}\n" for number, scope in enumerate(plan.agents)))
        self.scopes = {number: plan.scopes[scope] for number, scope in enumerate(plan.agents)}
        self._program = Commanded([programs.swarm, "--server", f"http://127.0.0.1:{replicas.port}", "--agents", names, "--events",
                                   self.events, "--seed", plan.seed, "--threads", threads, "--compile", plan.size.compiling,
                                   "--report-ms", report_ms], folder / "swarm.log")
        self.ask = self._program.ask
        self.pid = self._program.pid
        self.close = self._program.close

    def finals(self) -> dict[int, Final]:
        """Where all of them are; their log is on disk then."""
        return {item["agent"]: Final(item["alive"], item["connected"], item["revision"], item["chain"], item["checksum"])
                for item in self.ask("state")["agents"]}

    def converged(self, revision: int, seconds: float) -> Optional[float]:
        """Waits until all that live are connected and at this revision or a later one; how long it took, None where it did
        not happen."""
        begin = time.monotonic()
        while time.monotonic() < begin + seconds:
            summary = self.ask("summary", revision)
            if summary["alive"] == summary["at"] == summary["connected"] > 0:
                return time.monotonic() - begin
            time.sleep(0.02)
        return None


def in_parallel(replicas: Replicas, calls: Sequence[Call], clients: int) -> list[Wrote]:
    """Writes them as fast as they go, on so many connections."""
    rest, done, failures = iter(calls), [], []
    lock = threading.Lock()

    def work() -> None:
        writer = replicas.writer()
        try:
            while not failures:
                with lock:
                    call = next(rest, None)
                if call is None:
                    return
                wrote = writer.write(call)
                with lock:
                    done.append(wrote)
        except BaseException as failure:   # pylint: disable=broad-exception-caught
            failures.append(failure)
        finally:
            writer.close()

    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return done
