"""Over HTTP: nginx, the agent with its counters in memory and in Redis, the floor, and the script without HTTP."""

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench.report import Report, median, number
from bench.rig import SUBJECTS, Rig, free_port
from support.process import cpu_us
from support.redis_server import RedisServer

ORDER = 10
ABOUT = "throughput, latency and CPU of a decision over HTTP at 1, 16 and 64 connections"
PROGRAMS = ["sluice-agent", "bench_floor", "bench_raw"]

CONNECTIONS = (1, 16, 64)
NGINX = """worker_processes 1;
master_process off;
daemon off;
pid nginx.pid;
error_log stderr error;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  server {{ listen 127.0.0.1:{port}; location / {{ return 200; }} }}
}}
"""

Figures = dict[str, float]


@dataclass
class Contender:
    """One thing that is measured; `load` drives it with so many connections for so many seconds."""

    name: str
    pid: int
    uses_redis: bool
    load: Callable[[int, float], Figures]

    def measure(self, redis: RedisServer, connections: int, seconds: float) -> Figures:
        """Throughput, latencies, and µs of CPU for each request: its own, and Redis'."""
        own, store = (cpu_us(self.pid) if self.pid else 0.0), cpu_us(redis.pid)
        found = self.load(connections, seconds)
        if self.pid:
            found["cpu_us"] = (cpu_us(self.pid) - own) / found["requests"]
        if self.uses_redis:
            found["redis_us"] = (cpu_us(redis.pid) - store) / found["requests"]
        return found


@contextlib.contextmanager
def contenders(rig: Rig, redis: RedisServer) -> Iterator[list[Contender]]:
    """All of them, running."""
    bundle, key = rig.bundle()
    with contextlib.ExitStack() as running:
        def http(name: str, port: int, pid: int, uses_redis: bool) -> Contender:
            return Contender(name, pid, uses_redis, lambda c, seconds: rig.wrk(port, c, seconds, key.text))

        nginx_port, floor_port = free_port(), free_port()
        config = rig.folder / "nginx.conf"
        config.write_text(NGINX.format(port=nginx_port))
        (rig.folder / "nginx").mkdir()
        nginx = running.enter_context(rig.process("nginx", ["nginx", "-p", rig.folder / "nginx", "-c", config]))
        memory = running.enter_context(rig.agent("agent-memory", bundle, key, "memory"))
        agent = running.enter_context(rig.agent("agent-redis", bundle, key, redis.counters))
        floor = running.enter_context(rig.process(
            "floor", [rig.program("bench_floor"), floor_port, redis.socket, SUBJECTS], "ready"))
        yield [
            http("nginx return 200", nginx_port, nginx.pid, False),
            http("agent, memory", memory.port, memory.process.pid, False),
            http("agent, Redis", agent.port, agent.process.pid, True),
            http("floor", floor_port, floor.pid, True),
            Contender("raw EVALSHA", 0, True, lambda c, seconds: rig.output_of(
                rig.program("bench_raw"), redis.socket, c, seconds, SUBJECTS)),
        ]


def describe(rounds: list[Figures]) -> list[str]:
    """Medians over the rounds."""
    def of(name: str) -> float:
        return median(figures[name] for figures in rounds)

    words = [f"{number(of('rps'))}/s", f"p50 {number(of('p50_us'))} µs", f"p99 {number(of('p99_us'))} µs"]
    if "cpu_us" in rounds[0]:
        words.append(f"CPU {number(of('cpu_us'))} µs")
    if "redis_us" in rounds[0]:
        words.append(f"Redis CPU {number(of('redis_us'))} µs")
    return words


def run(rig: Rig, report: Report) -> None:
    """Each round measures every contender at every concurrency once."""
    seconds = 1 if rig.quick else 3
    found: dict[tuple[str, int], list[Figures]] = {}
    with rig.redis() as redis, contenders(rig, redis) as all_of_them:
        for contender in all_of_them:
            contender.load(16, 1)  # warms up, and does not count
        for _ in range(rig.rounds):
            for connections in CONNECTIONS:
                for contender in all_of_them:
                    figures = contender.measure(redis, connections, seconds)
                    found.setdefault((contender.name, connections), []).append(figures)
        client = compare_clients(rig, redis)
    report.raw["http"] = {f"{name}, c={connections}": rounds for (name, connections), rounds in found.items()}
    for (name, connections), rounds in sorted(found.items(), key=lambda item: item[0][1]):
        report.measured(f"{name}, c = {connections}", *describe(rounds))
    report.measured("the raw client beside redis-benchmark: an empty script, c = 16", *client)
    judge(found, report)


def judge(found: dict[tuple[str, int], list[Figures]], report: Report) -> None:
    """The issue's targets; ratios and differences are of one round, and the median of the rounds counts."""
    def paired(figure: str, one: str, other: str, connections: int,
               combine: Callable[[float, float], float]) -> float:
        return median(combine(a[figure], b[figure])
                      for a, b in zip(found[one, connections], found[other, connections]))

    def ratio(figure: str, one: str, other: str, connections: int) -> float:
        return paired(figure, one, other, connections, lambda a, b: a / b)

    def beyond(figure: str, connections: int) -> float:
        return paired(figure, "agent, Redis", "raw EVALSHA", connections, lambda a, b: a - b)

    report.at_most("agent CPU a decision on the Redis path, c = 64, to the floor's", 1.5,
                   ratio("cpu_us", "agent, Redis", "floor", 64))
    report.at_most("Redis CPU a decision, c = 64, to the floor's", 1.3, ratio("redis_us", "agent, Redis", "floor", 64))
    for connections in CONNECTIONS:
        report.at_least(f"checks counted in memory to nginx return 200, c = {connections}", 0.95,
                        ratio("rps", "agent, memory", "nginx return 200", connections))
    report.at_most("p50 at c = 1 beyond raw EVALSHA", 60, beyond("p50_us", 1), "µs")
    report.at_most("p99 at c = 16 beyond raw EVALSHA", 300, beyond("p99_us", 16), "µs")


def compare_clients(rig: Rig, redis: RedisServer) -> list[str]:
    """redis-benchmark cannot send packed arguments, so a client of ours sends them: is it as good a client?"""
    sha = redis.cli("SCRIPT", "LOAD", "#!lua\nreturn 1")
    name = sha.decode() if isinstance(sha, bytes) else str(sha)
    ours = rig.output_of(rig.program("bench_raw"), redis.socket, 16, 1, 1, name)
    printed = subprocess.run(["redis-benchmark", "-s", str(redis.socket), "-c", "16", "-n", "50000", "--csv", "EVALSHA",
                              name, "0"], capture_output=True, text=True, check=True).stdout
    cells = [cell.strip('"') for cell in printed.strip().splitlines()[-1].split(",")]
    return [f"ours {number(ours['rps'])}/s, p50 {number(ours['p50_us'])} µs",
            f"redis-benchmark {number(float(cells[1]))}/s, p50 {number(float(cells[4]) * 1000)} µs"]
