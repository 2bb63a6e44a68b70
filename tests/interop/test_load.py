"""A load generator, floods of resets, and connections by the thousand: healthy callers are served as before."""

import contextlib
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from interop.conftest import run
from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket
from support.client import fresh_subject
from support.grpc_client import DECISIONS, GrpcClient
from support.http2_frames import PREFACE, SETTINGS, Http2Connection, frame
from support.process import free_port, memory_of, wait_until
from support.program import is_sanitized

pytestmark = pytest.mark.timeout(1800)

GHZ_SECONDS = int(os.environ.get("SLUICE_GHZ_SECONDS", "30"))
IDLE = int(os.environ.get("SLUICE_IDLE_CONNECTIONS", "10000"))
KEPT = 200          # descriptors for other things than these connections
RESETS = 10_000     # a second
ROUNDS = 5
ROUND_SECONDS = 4
HEALTHY_RATE = 400  # calls a second
BYTES_OF_IDLE = 16 * 1024


@pytest.fixture
def bundle(key: MintedKey) -> Bundle:
    """A limit that nobody reaches."""
    made = Bundle().key(key).plan("wide", token_bucket(1_000_000_000, "1000/1s"))
    return made.policy("orders", {"resource": "GET:/orders"}, "wide")


@pytest.fixture
def make_served(bundle: Bundle, make_agent: Callable[..., Agent]) -> Callable[..., tuple[Agent, int]]:
    """Starts an agent of one worker; also its port for gRPC."""

    def make(*flags: str, started_by: tuple[str, ...] = ()) -> tuple[Agent, int]:
        port = free_port()
        agent = make_agent(bundle, "memory", "--workers", "1", "--grpc", f"127.0.0.1:{port}", *flags)
        agent.started_by = list(started_by)
        return agent.start(), port

    return make


def load(ghz: Path, port: int, key: MintedKey, method: str, request: Any, *options: object) -> dict[str, Any]:
    """What ghz reports. It learns the messages by reflection."""
    command = [ghz, "--insecure", "--call", f"{DECISIONS}.{method}", "-d", json.dumps(request), "-m",
               json.dumps({"x-api-key": key.text}), "--duration-stop", "wait", "-O", "json", *options, f"127.0.0.1:{port}"]
    report: dict[str, Any] = json.loads(run(command, ghz.parent, seconds=600))
    assert report["count"] > 0 and set(report["statusCodeDistribution"]) == {"OK"}, report
    assert not report.get("errorDistribution"), report["errorDistribution"]
    return report


@pytest.mark.parametrize("method, request_", [
    ("Check", {"resource": "GET:/orders", "subject": "s"}),
    ("CheckBatch", {"checks": [{"resource": "GET:/orders", "subject": f"s{i}"} for i in range(8)]})])
def test_ghz_meets_no_error_with_64_streams(make_served: Callable[..., tuple[Agent, int]], ghz: Path, key: MintedKey,
                                            method: str, request_: Any) -> None:
    agent, port = make_served()
    report = load(ghz, port, key, method, request_, "-c", 64, "--connections", 1, "-z", f"{GHZ_SECONDS}s")
    answered = agent.metric("sluice_grpc_requests_total", method=f"{DECISIONS}/{method}", code="OK")
    assert answered == report["count"]
    print(f"{method}: {report['rps']:.0f} calls/s")


@contextlib.contextmanager
def resets(port: int, key: MintedKey) -> Iterator[list[int]]:
    """Resets calls all the time; afterwards the list has their number."""
    count: list[int] = []
    attacker = subprocess.Popen([sys.executable, "-m", "interop.attacker", str(port), str(RESETS), key.text],
                                cwd=Path(__file__).parents[1], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield count
    finally:
        count.append(int(attacker.communicate(timeout=60)[0]))


def p99_us(ghz: Path, port: int, key: MintedKey) -> float:
    """Of healthy calls."""
    report = load(ghz, port, key, "Check", {"resource": "GET:/orders", "subject": "healthy"}, "-c", 8, "--connections", 2,
                  "--rps", HEALTHY_RATE, "-z", f"{ROUND_SECONDS}s")
    return float(next(each["latency"] for each in report["latencyDistribution"] if each["percentage"] == 99)) / 1000


def test_ten_thousand_resets_a_second_leave_healthy_calls_their_speed(
        make_served: Callable[..., tuple[Agent, int]], ghz: Path, key: MintedKey, program: Path) -> None:
    """The attacker and the flood it makes take CPU of the machine. So healthy calls to the flooded agent are compared with
    calls to another one at the same time of the same flood: what differs is what the agent does to its own callers."""
    flooded, port = make_served()
    _, other = make_served()
    pairs = []
    with resets(port, key) as count:
        began = time.monotonic()
        for turn in range(ROUNDS):
            first, second = (port, other) if turn % 2 else (other, port)
            found = {first: p99_us(ghz, first, key), second: p99_us(ghz, second, key)}
            pairs.append((found[other], found[port]))
        seconds = time.monotonic() - began
    assert count[0] > 0.8 * RESETS * seconds, "the attacker was too slow to be one"
    floods = flooded.metric("sluice_grpc_connections_total", result="flood")
    ratios = [attacked / quiet for quiet, attacked in pairs]
    print(f"{count[0]} resets, {floods:.0f} connections ended, p99 {pairs} µs, ratios {ratios}")
    assert floods > 0
    if not is_sanitized(program):
        assert statistics.median(ratios) <= 2, pairs


def open_idle(port: int, count: int) -> list[socket.socket]:
    """Connections that have begun HTTP/2 and ask nothing."""
    made = []
    for _ in range(count):
        made.append(socket.create_connection(("127.0.0.1", port), timeout=30))
        made[-1].sendall(PREFACE + frame(SETTINGS, 0, 0))
    return made


def open_idle_http(port: int, count: int) -> list[socket.socket]:
    """Connections for HTTP/1.1 that have asked nothing yet."""
    return [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(count)]


def test_thousands_of_idle_connections_cost_little_and_healthy_calls_are_served(
        make_served: Callable[..., tuple[Agent, int]], key: MintedKey, program: Path) -> None:
    """The agent gives either listener half of its descriptors. Where that is too little for gRPC, the rest speaks HTTP."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    assert hard > IDLE + KEPT, f"the limit of open files is {hard}: it must be above {IDLE + KEPT}"
    over_grpc = min(IDLE, (hard - KEPT) // 2)
    agent, port = make_served()
    with GrpcClient(f"127.0.0.1:{port}", key.text) as client:
        assert client.check(resource="GET:/orders", subject=fresh_subject()).allowed
        before = memory_of(agent.process.pid)
        idle = open_idle(port, over_grpc) + open_idle_http(agent.port, IDLE - over_grpc)
        wait_until("all of gRPC", lambda: agent.metric("sluice_grpc_open_connections") == over_grpc + 1, 60)
        wait_until("all of HTTP", lambda: agent.metric("sluice_http_open_connections") >= IDLE - over_grpc, 60)
        each = (memory_of(agent.process.pid) - before) / IDLE
        print(f"{each:.0f} bytes for each of {IDLE} idle connections, {over_grpc} of them for gRPC")
        assert client.check(resource="GET:/orders", subject=fresh_subject()).allowed
        if not is_sanitized(program):
            assert each < BYTES_OF_IDLE
        for connection in idle:
            connection.close()
        wait_until("their end", lambda: agent.metric("sluice_grpc_open_connections") == 1, 60)
        assert client.check(resource="GET:/orders", subject=fresh_subject()).allowed


def test_connections_beyond_the_limit_are_closed_at_once_and_counted(
        make_served: Callable[..., tuple[Agent, int]], key: MintedKey) -> None:
    agent, port = make_served(started_by=("prlimit", "--nofile=400:400"))
    with GrpcClient(f"127.0.0.1:{port}", key.text) as client:
        assert client.check(resource="GET:/orders", subject=fresh_subject()).allowed
        idle = open_idle(port, 50)
        while agent.metric("sluice_grpc_connections_total", result="refused") == 0:
            idle += open_idle(port, 1)
            assert len(idle) < 400
        with Http2Connection(port) as refused:
            assert not list(refused.frames())
        assert agent.metric("sluice_grpc_connections_total", result="refused") >= 2
        assert client.check(resource="GET:/orders", subject=fresh_subject()).allowed
        for connection in idle:
            connection.close()
        wait_until("room", lambda: agent.metric("sluice_grpc_open_connections") == 1, 30)
    with GrpcClient(f"127.0.0.1:{port}", key.text) as client:
        assert client.check(resource="GET:/orders", subject=fresh_subject()).allowed
