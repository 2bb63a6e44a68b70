"""256 checks in one batch, in 256 pipelined requests, and in 256 requests one after the other, on one connection."""

import json
import os
import subprocess
from pathlib import Path

from bench.report import Report, median, number
from bench.rig import Rig
from support.agent import Agent
from support.bundle import MintedKey
from support.process import cpu_us
from support.redis_server import RedisServer

ORDER = 35
ABOUT = "a batch of 256 against 256 single checks, pipelined and not"
PROGRAMS = ["sluice-agent"]

SIZE = 256
WAYS = {"batch": "in a batch", "pipelined": "as pipelined requests", "single": "one after the other"}
Figures = dict[str, float]


def drive(agent: Agent, key: MintedKey, way: str, seconds: float) -> Figures:
    """So many seconds of checks over one keep-alive connection."""
    command = ["wrk", "-t1", "-c1", f"-d{max(1, round(seconds))}s", "-s", str(Path(__file__).parents[1] / "batch.lua"),
               f"http://127.0.0.1:{agent.port}/"]
    done = subprocess.run(command, capture_output=True, text=True, check=True,
                          env=dict(os.environ, BENCH_KEY=key.text, BENCH_WAY=way))
    found: Figures = json.loads(done.stdout.strip().splitlines()[-1])
    if found["errors"] > 0 or found["decisions"] == 0:
        raise RuntimeError(f"wrk met {found['errors']:.0f} errors in {found['decisions']:.0f} decisions")
    return found


def measure(agent: Agent, key: MintedKey, redis: RedisServer, way: str, seconds: float) -> Figures:
    """Time for 256 decisions, and µs of CPU for each: the agent's, and Redis'."""
    own, store = cpu_us(agent.process.pid), cpu_us(redis.pid)
    decided = agent.metric("sluice_decisions_total")
    found = drive(agent, key, way, seconds)
    if agent.metric("sluice_decisions_total", reason="within_limit") - decided < found["decisions"]:
        raise RuntimeError("not every check was admitted")
    found["elapsed_us"] = found["seconds"] * 1e6 * SIZE / found["decisions"]
    found["cpu_us"] = (cpu_us(agent.process.pid) - own) / found["decisions"]
    found["redis_us"] = (cpu_us(redis.pid) - store) / found["decisions"]
    return found


def describe(name: str, rounds: list[Figures]) -> list[str]:
    """Medians over the rounds."""
    def of(figure: str) -> str:
        return number(median(figures[figure] for figures in rounds))

    words = [f"{of('elapsed_us')} µs for {SIZE}", f"agent CPU {of('cpu_us')} µs a decision"]
    return words + ([f"Redis CPU {of('redis_us')} µs a decision"] if name == "Redis" else [])


def run(rig: Rig, report: Report) -> None:
    """Each round measures every way with either kind of counters once."""
    bundle, key = rig.bundle()
    seconds = 1 if rig.quick else 3
    found: dict[tuple[str, str], list[Figures]] = {}
    with rig.redis("redis-batch") as redis, \
            rig.agent("agent-batch-redis", bundle, key, redis.counters) as in_redis, \
            rig.agent("agent-batch-memory", bundle, key, "memory") as in_memory:
        agents = {"Redis": in_redis, "memory": in_memory}
        for agent in agents.values():
            drive(agent, key, "batch", 1)  # warms up, and does not count
        for _ in range(rig.rounds):
            for name, agent in agents.items():
                for way in WAYS:
                    found.setdefault((name, way), []).append(measure(agent, key, redis, way, seconds))
    report.raw["batch"] = {f"{name}, {way}": rounds for (name, way), rounds in found.items()}
    for (name, way), rounds in found.items():
        report.measured(f"{SIZE} checks {WAYS[way]}, counters in {name}", *describe(name, rounds))
    for name in agents:
        for way in ("pipelined", "single"):
            pairs = list(zip(found[name, way], found[name, "batch"]))
            report.measured(f"{SIZE} checks {WAYS[way]}, to a batch, counters in {name}",
                            *(f"{label} × {number(median(a[figure] / b[figure] for a, b in pairs))}" for label, figure in
                              (("time", "elapsed_us"), ("agent CPU", "cpu_us"))))
