"""A decision on a Redis Cluster of three nodes, beside one on a single Redis: CPU of the agent and of Redis, TCP both.

A Cluster of one node stands beside them: it shows what Redis' cluster mode costs by itself (it looks up the slot of every key,
also inside the script), before three processes share the machine and the work.
"""

import contextlib

from bench.report import Report, median, number
from bench.rig import Rig
from support.agent import Agent
from support.cluster import Cluster
from support.process import cpu_us
from support.redis_server import RedisServer

ORDER = 15
ABOUT = "CPU of a decision on a Redis Cluster of three nodes, beside one Redis"
PROGRAMS = ["sluice-agent"]

CONNECTIONS = 64


def measure(rig: Rig, agent: Agent, nodes: list[RedisServer], key: str, seconds: float) -> tuple[float, float]:
    """µs of CPU a decision: the agent's, and that of all nodes of Redis together."""
    own, store = cpu_us(agent.process.pid), sum(cpu_us(node.pid) for node in nodes)
    found = rig.wrk(agent.port, CONNECTIONS, seconds, key)
    return ((cpu_us(agent.process.pid) - own) / found["requests"],
            (sum(cpu_us(node.pid) for node in nodes) - store) / found["requests"])


def run(rig: Rig, report: Report) -> None:
    """Each round measures both, one after the other; ratios are of one round, and their median counts."""
    seconds = 1 if rig.quick else 3
    rounds = []
    bundle, key = rig.bundle()
    with contextlib.ExitStack() as running:
        single = running.enter_context(contextlib.closing(RedisServer(rig.folder / "single", tcp=True)))
        single.start()
        forms = {"one Redis": (running.enter_context(rig.agent("on-one", bundle, key, single.counters)), [single])}
        for name, primaries in (("a Cluster of one node", 1), ("a Cluster", 3)):
            cluster = running.enter_context(Cluster(rig.folder / f"cluster-{primaries}", primaries=primaries, replicas=0))
            forms[name] = (running.enter_context(rig.agent(f"on-{primaries}", bundle, key, cluster.counters)), cluster.nodes)
        for agent, nodes in forms.values():
            measure(rig, agent, nodes, key.text, 1)   # warms up, and does not count
        for _ in range(max(3, rig.rounds)):
            rounds.append({name: measure(rig, agent, nodes, key.text, seconds) for name, (agent, nodes) in forms.items()})
    report.raw["cluster"] = rounds
    for name in forms:
        report.measured(f"{name}, TCP, c = {CONNECTIONS}",
                        f"CPU {number(median(figures[name][0] for figures in rounds))} µs",
                        f"Redis CPU {number(median(figures[name][1] for figures in rounds))} µs")
    for number_of, whose in ((0, "agent"), (1, "Redis")):
        report.at_most(f"{whose} CPU a decision on a Cluster to that on one Redis, c = {CONNECTIONS}", 1.3,
                       median(figures["a Cluster"][number_of] / figures["one Redis"][number_of] for figures in rounds))
    report.measured("the same, agent and Redis together",
                    f"{number(median(sum(figures['a Cluster']) / sum(figures['one Redis']) for figures in rounds))} ×")
