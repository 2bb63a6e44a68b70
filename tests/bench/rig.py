"""What sections share: programs, servers of their own, CPU clocks, the load."""

import contextlib
import datetime
import json
import os
import platform
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from support.agent import Agent
from support.bundle import Bundle, MintedKey, mint_key
from support.process import Process, free_port, wait_until
from support.redis_server import RedisServer

ROOT = Path(__file__).resolve().parents[2]
SUBJECTS = 1000  # as check.lua has them


def first_line(*command: str) -> str:
    """What a program says about its version, wherever it says it."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    text = (done.stdout + done.stderr).strip()
    return text.splitlines()[0] if text else "unknown"


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
    cpu = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), "unknown")
    return {"cpu": cpu, "cores": os.cpu_count(), "kernel": platform.release(),
            "load": [round(load, 2) for load in os.getloadavg()],
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "commit": first_line("git", "-C", str(ROOT), "describe", "--always", "--dirty"),
            "redis": first_line("redis-server", "--version"), "nginx": first_line("nginx", "-v"),
            "wrk": first_line("wrk", "--version")}


@dataclass
class Rig:
    """Where a run's programs and files are, and how long it takes."""

    programs: Path
    folder: Path
    rounds: int
    quick: bool

    def program(self, name: str) -> Path:
        """A program of the build under test."""
        return self.programs / name

    def output_of(self, *command: object) -> Any:
        """Runs one of our programs that prints JSON."""
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    @contextlib.contextmanager
    def redis(self, name: str = "redis") -> Iterator[RedisServer]:
        """A private Redis on a Unix socket, which keeps nothing on disk."""
        server = RedisServer(self.folder / name).start()
        try:
            yield server
        finally:
            server.close()

    @contextlib.contextmanager
    def agent(self, name: str, bundle: Path, key: MintedKey, counters: str, *flags: str) -> Iterator[Agent]:
        """An agent of one worker, ready, its counters connected."""
        # A busy machine may answer late; that is to be seen in the latency, not as an error.
        agent = Agent(self.program("sluice-agent"), self.folder / name, bundle, counters,
                      ["--workers", "1", "--redis-deadline", "2s", "--queue-wait", "2s", *flags]).start()
        try:
            with agent.client(key.text) as client:
                wait_until("a decision", lambda: client.check(resource="GET:/orders", subject="warm-up").status == 200)
            if counters != "memory":   # a Cluster has several nodes
                wait_until("all connections", lambda: agent.metric("sluice_redis_connected") == 1)
            yield agent
        finally:
            agent.close()

    @contextlib.contextmanager
    def process(self, name: str, command: Sequence[object], ready: str = "",
                env: Optional[dict[str, str]] = None) -> Iterator[Process]:
        """Some other server; `ready` is what it prints when it serves."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        process = Process([str(word) for word in command], folder / "log", env, folder)
        try:
            if ready:
                wait_until(f"{name} ({process.log})", lambda: ready in process.output())
            yield process
        finally:
            process.end()

    def bundle(self) -> tuple[Path, MintedKey]:
        """One policy with one token bucket that never runs empty here, and a key for it."""
        key = mint_key(self.program("sluice-agent"))
        limit = {"name": "burst", "algorithm": "token_bucket", "capacity": 1_000_000, "refill": "1/1s"}
        bundle = Bundle("acme").plan("bench", limit).policy("orders", {"resource": "GET:/orders"}, "bench").key(key)
        return bundle.write(self.folder / "bundle.json"), key

    def wrk(self, port: int, connections: int, seconds: float, key: str = "", script: str = "check.lua") -> dict[str, float]:
        """The script's requests over so many connections, each with one at a time; throughput and latencies."""
        command = ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "-s",
                   str(Path(__file__).with_name(script)), f"http://127.0.0.1:{port}"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ, BENCH_KEY=key))
        found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
        if found["errors"] > 0:
            raise RuntimeError(f"wrk met {found['errors']:.0f} errors in {found['requests']:.0f} requests")
        found["rps"] = found["requests"] / found["seconds"]
        return found


def h2load(url: str, connections: int, streams: int, seconds: float, *options: object) -> int:
    """Requests for so long, with so many at a time on each connection; how many were answered with 2xx."""
    command = ["h2load", "-t1", f"-c{connections}", f"-m{streams}", f"-D{max(1, round(seconds))}",
               *(str(option) for option in options), url]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.search(r"requests: .* (\d+) succeeded, (\d+) failed, (\d+) errored", done.stdout)
    if found is None or found[1] == "0" or (found[2], found[3]) != ("0", "0"):
        raise RuntimeError(f"h2load met errors: {done.stdout}")
    return int(found[1])


@contextlib.contextmanager
def work_folder() -> Iterator[Path]:
    """A folder for this run, gone after it."""
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as name:
        yield Path(name)
