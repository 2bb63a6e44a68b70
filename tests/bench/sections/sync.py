"""Policy sync with many agents: how soon a write is enforced, what bursts and losses cost, what PostgreSQL is asked."""

import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.report import Report, number
from bench.rig import Rig
from bench.sync_agents import enforced_by_agents
from support.postgres import APP
from support.process import cpu_us
from simulator.figures import Spread, enforced_after, most_fetches, quantile, reopened, spread_of
from simulator.history import Scope
from simulator.plan import Plan, Size, Writer, make_plan
from simulator.record import Wrote, read_log
from simulator.rig import Programs, Replicas, SwarmProcess, in_parallel, now_us
from simulator.rules import fetches_allowed

ORDER = 70
ABOUT = "policy sync: 2 agents and 1,000 in a simulator; bursts, losses, queries, memory"
PROGRAMS = ["sluice-server", "sluice-agent", "sluice_swarm", "sluice_balancer"]

OPTIONS = ("shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track_utility=on", "pg_stat_statements.max=1000")
CLIENTS = 8


@dataclass
class Figures:
    """Of one number of agents."""

    agents: int
    first_states_s: float = 0
    enforced_p50_ms: float = 0
    enforced_p99_ms: float = 0
    last_p99_ms: float = 0
    queries_idle_per_s: float = 0
    queries_per_write: float = 0
    queries_per_burst_write: float = 0
    burst_s: float = 0
    burst_fetches: int = 0
    burst_allowed: int = 0
    burst_converged_s: float = 0
    cpu_idle: float = 0           # of one core
    cpu_burst: float = 0
    rss_mb: dict[str, float] = field(default_factory=dict)
    away_spread: dict[str, float] = field(default_factory=dict)
    back_spread: dict[str, float] = field(default_factory=dict)
    back_s: float = 0


def never(seconds: "float | None") -> float:
    """Infinity for what did not happen."""
    return math.inf if seconds is None else seconds


class Scene:
    """One server, and so many agents that all see everything."""

    def __init__(self, rig: Rig, agents: int, programs: Programs) -> None:
        folder = rig.folder / f"sync-{agents}"
        folder.mkdir()
        size = Size(agents=agents, seconds=0, replicas=1, organizations=2, tenants=5, policies=20 if rig.quick else 100,
                    faults=("none",), compiling=0)
        made = make_plan(1, size)
        self.plan = Plan(made.seed, size, made.bundle, (Scope(),), (0,) * agents, (), ())
        self.replicas = Replicas(programs, folder, 1, durable=True, postgres_options=OPTIONS)
        try:
            self.replicas.database.execute("CREATE EXTENSION pg_stat_statements")
            tokens = self.replicas.setup(self.plan)
            self.swarm = SwarmProcess(programs, self.replicas, self.plan, tokens)
        except BaseException:
            self.replicas.close()
            raise
        tenants = {tenant["id"]: tenant["organization_id"] for tenant in self.plan.bundle["tenants"]}
        self.writes = Writer(random.Random(1), [], tenants, {name: [] for name in tenants}, {name: [] for name in tenants},
                             1_000_000)

    def close(self) -> None:
        """Ends it."""
        self.swarm.close()
        self.replicas.close()

    @property
    def pid(self) -> int:
        """Of the server."""
        return self.replicas.servers[0].process.pid

    def rss_mb(self) -> float:
        """Of the server."""
        return self.replicas.servers[0].process.resident_kb() / 1024

    def settle(self) -> float:
        """Until all are at the head."""
        return never(self.swarm.converged(self.replicas.position()[0], 120))

    def queries(self) -> int:
        """What the server has asked PostgreSQL so far, each statement counted."""
        return int(self.replicas.database.execute(
            "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements s JOIN pg_roles r ON r.oid = s.userid"
            " WHERE rolname = %s", [APP])[0][0])

    def committed(self, writes: Sequence[Wrote]) -> dict[int, int]:
        """When each of them got its revision, just before its commit; on the clock of the events."""
        offset = time.time_ns() // 1000 - now_us()
        rows = self.replicas.database.execute(
            "SELECT revision, (extract(epoch FROM made_at) * 1000000)::bigint FROM versions WHERE revision >= %s",
            [min(write.revision for write in writes)])
        wanted = {write.revision for write in writes}
        return {revision: int(at) - offset for revision, at in rows if revision in wanted}


def measure(rig: Rig, agents: int, programs: Programs, losses: bool) -> Figures:
    """All of it with one number of agents."""
    figures = Figures(agents)
    scene = Scene(rig, agents, programs)
    try:
        figures.first_states_s = scene.settle()
        time.sleep(3)   # reports of the begin
        measure_idle(rig, scene, figures)
        single = measure_single(rig, scene, figures)
        measure_burst(rig, scene, figures)
        if losses:
            measure_loss(rig, scene, figures)
        scene.swarm.ask("state")   # the log is on disk then
        everyone, last = enforced_after(read_log(scene.swarm.events), single)
        figures.enforced_p50_ms, figures.enforced_p99_ms = quantile(everyone, 0.5), quantile(everyone, 0.99)
        figures.last_p99_ms = quantile(last, 0.99)
    finally:
        scene.close()
    return figures


def measure_idle(rig: Rig, scene: Scene, figures: Figures) -> None:
    """Nothing is written: heartbeats and reports."""
    seconds = 5 if rig.quick else 20
    begin, queries, cpu = time.monotonic(), scene.queries(), cpu_us(scene.pid)
    time.sleep(seconds)
    passed = time.monotonic() - begin
    figures.cpu_idle = (cpu_us(scene.pid) - cpu) / 1e6 / passed
    figures.queries_idle_per_s = (scene.queries() - queries) / passed
    figures.rss_mb["idle"] = scene.rss_mb()


def measure_single(rig: Rig, scene: Scene, figures: Figures) -> dict[int, int]:
    """One write after the other, with pauses longer than a window: when each of them got its revision."""
    count = 40 if rig.quick else 200
    writer, done = scene.replicas.writer(), []
    begin, queries = time.monotonic(), scene.queries()
    for call in scene.writes.burst(count):
        done.append(writer.write(call))
        time.sleep(0.25)
    writer.close()
    passed = time.monotonic() - begin
    figures.queries_per_write = (scene.queries() - queries - figures.queries_idle_per_s * passed) / count
    scene.settle()
    return scene.committed(done)


def measure_burst(rig: Rig, scene: Scene, figures: Figures) -> None:
    """As fast as they go."""
    count = 200 if rig.quick else 1000
    begin, queries, cpu = now_us(), scene.queries(), cpu_us(scene.pid)
    done = in_parallel(scene.replicas, scene.writes.burst(count), CLIENTS)
    last = max(write.acknowledged_us for write in done)
    figures.burst_converged_s = never(scene.swarm.converged(max(write.revision for write in done), 120))
    end = now_us()
    figures.cpu_burst = (cpu_us(scene.pid) - cpu) / (end - begin)
    figures.rss_mb["burst"] = scene.rss_mb()
    figures.queries_per_burst_write = (scene.queries() - queries - figures.queries_idle_per_s * (end - begin) / 1e6) / count
    figures.burst_s = (last - begin) / 1e6
    scene.swarm.ask("state")
    figures.burst_fetches = most_fetches(read_log(scene.swarm.events), begin, end)
    figures.burst_allowed = fetches_allowed(last - begin)


def measure_loss(rig: Rig, scene: Scene, figures: Figures) -> None:
    """kill -9, and back after a while."""
    away = 8 if rig.quick else 60
    scene.replicas.servers[0].kill9()
    killed = now_us()
    time.sleep(away)
    scene.replicas.bring_back(0)
    scene.replicas.ready()
    back = now_us()
    figures.back_s = scene.settle()
    stats = scene.replicas.balancer.ask("stats")
    tries = [stats["begin_us"] + at * stats["interval_us"]
             for at, count in enumerate(stats["per_interval"]) for _ in range(count)]
    # The first moments, in which all of them lose their watch at once, are no reconnecting yet.
    figures.away_spread = as_raw(spread_of([at for at in tries if killed + 3_000_000 < at < back - 200_000]))
    scene.swarm.ask("state")
    figures.back_spread = as_raw(spread_of(reopened(read_log(scene.swarm.events), killed + 500_000)))
    figures.rss_mb["back"] = scene.rss_mb()


def as_raw(spread: Spread) -> dict[str, float]:
    """For the JSON."""
    return {"peak": spread.peak, "mean": spread.mean, "seconds": spread.seconds, "ratio": spread.ratio}


def run(rig: Rig, report: Report) -> None:
    """2 real agents; then 1, 100 and 1,000 of the simulator's."""
    programs = Programs(*(rig.program(name) for name in ("sluice-server", "sluice_swarm", "sluice_balancer")))
    real = enforced_by_agents(rig, 40 if rig.quick else 300)
    counts = (1, 100) if rig.quick else (1, 100, 1000)
    found = [measure(rig, agents, programs, losses=agents == counts[-1]) for agents in counts]
    raw: dict[str, Any] = {"two_agents": real, **{str(each.agents): each.__dict__ for each in found}}
    report.raw["sync"] = raw
    few, many = found[0], found[-1]
    report.at_most(f"fetches of an agent in a burst of writes to 1 + ⌈D / 100 ms⌉, {many.agents:,} agents", 1,
                   many.burst_fetches / many.burst_allowed,
                   measured=f"{many.burst_fetches} of {many.burst_allowed} in {number(many.burst_s)} s")
    report.at_most(f"PostgreSQL's queries per write, {many.agents:,} agents to 1", 1.1,
                   many.queries_per_write / few.queries_per_write,
                   measured=" · ".join(number(each.queries_per_write) for each in found))
    report.at_most(f"the same in a burst, {many.agents:,} agents to 1", 1.1,
                   many.queries_per_burst_write / few.queries_per_burst_write,
                   measured=" · ".join(number(each.queries_per_burst_write) for each in found))
    report.at_most(f"watches that come back after a kill -9, peak to mean, {many.agents:,} agents", 3, many.back_spread["ratio"],
                   measured=f"peak {many.back_spread['peak']} in 100 ms, all in {number(many.back_spread['seconds'])} s")
    report.at_most(f"attempts while the server is away, peak to mean, {many.agents:,} agents", 3, many.away_spread["ratio"],
                   measured=f"mean {number(many.away_spread['mean'])} in 100 ms")
    report.at_most("commit to enforced, 2 agents, idle, p50", 25, real["p50_ms"], "ms", measured="by decisions")
    report.at_most("commit to enforced, 2 agents, idle, p99", 150, real["p99_ms"], "ms", measured="by decisions")
    report.at_most(f"commit to enforced, {many.agents:,} agents, p99", 1000, many.enforced_p99_ms, "ms",
                   measured=f"p50 {number(many.enforced_p50_ms)} ms, the last of all p99 {number(many.last_p99_ms)} ms")
    report.at_most(f"converged after the server's return, {many.agents:,} agents", 5, many.back_s, "s")
    for each in found:
        memory = ", ".join(f"{name} {number(mb)}" for name, mb in each.rss_mb.items())
        report.measured(f"server with {each.agents:,} agents", f"CPU idle {number(100 * each.cpu_idle)} %",
                        f"in a burst {number(100 * each.cpu_burst)} % of a core", f"MB {memory}",
                        f"queries idle {number(each.queries_idle_per_s)} a second",
                        f"first states in {number(each.first_states_s)} s")
