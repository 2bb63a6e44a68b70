"""The memory of an agent that has nothing to do, and of one that had much to do."""

import time

from bench.report import Report, number
from bench.rig import Rig
from support.process import Process

ORDER = 40
ABOUT = "resident memory of the agent, after the start and after load"
PROGRAMS = ["sluice-agent"]
NEEDS_ROOT = "the agent keeps its memory from debuggers, so only root may read /proc/PID/smaps_rollup"


def memory_mb(process: Process) -> dict[str, float]:
    """Resident memory, and what of it is the process' own."""
    with open(f"/proc/{process.pid}/smaps_rollup", encoding="ascii") as file:
        kb = {line.split(":")[0]: int(line.split()[1]) for line in file if line.rstrip().endswith("kB")}
    return {"rss": kb["Rss"] / 1024, "own": (kb["Private_Clean"] + kb["Private_Dirty"]) / 1024,
            "heap": kb["Anonymous"] / 1024}


def run(rig: Rig, report: Report) -> None:
    """One agent for each kind of counters."""
    bundle, key = rig.bundle()
    found: dict[str, dict[str, float]] = {}
    with rig.redis("redis-idle") as redis:
        for name, counters in (("Redis", redis.counters), ("memory", "memory")):
            with rig.agent(f"agent-idle-{name}", bundle, key, counters) as agent:
                time.sleep(1)   # the idle time itself: what it does on its own in it counts
                found[f"{name}, idle"] = memory_mb(agent.process)
                rig.wrk(agent.port, 64, 1 if rig.quick else 3, key.text)
                found[f"{name}, after load"] = memory_mb(agent.process)
    report.raw["idle"] = found
    for name, mb in found.items():
        report.measured(f"agent's memory, counters in {name}", f"{number(mb['rss'])} MB resident",
                        f"{number(mb['own'])} MB its own", f"{number(mb['heap'])} MB anonymous")
    report.at_most("RSS idle", 10, max(mb["rss"] for name, mb in found.items() if name.endswith("idle")), "MB")
