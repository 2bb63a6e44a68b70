"""Many policies and many keys: finding the one that counts, memory, and swapping all of them under load."""

import threading
from pathlib import Path

from bench.policies import write_bundle
from bench.report import Report, number
from bench.rig import Rig
from bench.sections.idle import memory_mb
from support.agent import Agent
from support.bundle import MintedKey, mint_key
from support.process import wait_until
from support.reload import events, snapshot

ORDER = 33
ABOUT = "100,000 policies and keys: match, authenticate, memory, a swap under load"
PROGRAMS = ["bench_policy", "sluice-agent"]

MANY = 100_000
FEW = 10
SIDECAR = 10_000  # policies, and as many keys, of the agent whose memory is measured


def match_and_authenticate(rig: Rig, report: Report) -> None:
    """The least of the rounds counts: whatever else runs can only add."""
    small = write_bundle(rig.folder / "few.json", FEW)
    large = write_bundle(rig.folder / "many.json", MANY)
    raw = rig.output_of(rig.program("bench_policy"), small, large, "--rounds", 3 if rig.quick else 2 * rig.rounds + 1)
    report.raw["policy"] = raw
    rows = {(row["name"], row["keys"]): row for row in raw["rows"]}
    words = {"one": "the same request", "many": "10,000 requests in random order",
             "100": "of 100 keys", "100000": "of 100,000 keys"}
    for (name, keys), row in rows.items():
        report.measured(f"{name}, {words[keys]}", f"{number(row['ns_min'])} ns", f"median {number(row['ns_median'])} ns",
                        f"{row['allocations']:g} allocations")
    for keys in ("one", "many"):
        few, many = rows["match, few policies", keys], rows["match, many policies", keys]
        report.at_most(f"match among {MANY:,} policies to {FEW}, {words[keys]}", 1.5, many["ns_min"] / few["ns_min"])
        report.at_most(f"match among {MANY:,}, allocations, {words[keys]}", 0, many["allocations"], "")
    few, many = rows["authenticate", "100"], rows["authenticate", "100000"]
    report.at_most("authenticate among 100,000 keys to 100", 1.2, many["ns_min"] / few["ns_min"])
    report.measured(f"a snapshot of {MANY:,} policies", f"parsed in {number(raw['parse_ms'])} ms",
                    f"compiled in {number(raw['build_ms'])} ms")
    for row in raw["deltas"]:
        name = f"the next snapshot, {row['name']} of {MANY:,} changed"
        if row["name"].startswith("one "):
            report.at_most(name, 2, row["us_median"] / 1000, "ms", f"least {number(row['us_min'])} µs")
        else:
            report.measured(name, f"{number(row['us_median'] / 1000)} ms")


def memory(rig: Rig, report: Report, key: MintedKey) -> None:
    """What a sidecar of a large tenant keeps. What reading took it has given back before it is ready."""
    bundle = write_bundle(rig.folder / "sidecar.json", SIDECAR, SIDECAR, key)
    with rig.agent("agent-sidecar", bundle, key, "memory") as agent:
        mb = memory_mb(agent.process)
    report.raw["policy_memory"] = mb
    report.at_most(f"RSS with {SIDECAR:,} policies and {SIDECAR:,} keys", 25, mb["rss"], "MB",
                   f"{number(mb['own'])} MB its own · {number(mb['heap'])} MB anonymous")


class Swaps:
    """Replaces the bundle as soon as the last one is in force, until left."""

    def __init__(self, agent: Agent, bundle: Path, key: MintedKey) -> None:
        self.agent, self.bundle, self.key = agent, bundle, key
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.swapped = 0

    def _run(self) -> None:
        revision = snapshot(self.agent)["revision"]
        while not self.ended.is_set():
            write_bundle(self.bundle, MANY, key=self.key, version=revision + 1)
            revision += 1
            wait_until(f"revision {revision}", lambda: snapshot(self.agent)["revision"] >= revision, 60)
            self.swapped += 1

    def __enter__(self) -> "Swaps":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()


def swap_under_load(rig: Rig, report: Report, key: MintedKey) -> None:
    """The same load with and without swaps, in turns."""
    bundle = write_bundle(rig.folder / "swapped.json", MANY, key=key)
    calm, busy, swapped = [], [], 0
    with rig.agent("agent-swapped", bundle, key, "memory") as agent:
        for _ in range(rig.rounds):
            calm.append(rig.wrk(agent.port, 16, 2 if rig.quick else 5, key.text))
            with Swaps(agent, bundle, key) as swaps:
                busy.append(rig.wrk(agent.port, 16, 4 if rig.quick else 10, key.text))
            swapped += swaps.swapped
        loaded = events(agent, "snapshot_loaded")[1:]
    report.raw["policy_swap"] = {"calm": calm, "busy": busy, "loaded": loaded}
    for what, runs in (("calm", calm), (f"while all are swapped ({swapped} swaps)", busy)):
        best = min(runs, key=lambda run: run["p99_us"])
        report.measured(f"checks at c = 16 among {MANY:,} policies, {what}", f"{number(best['rps'])}/s",
                        f"p50 {number(best['p50_us'])} µs", f"p99 {number(best['p99_us'])} µs")
    for what, name in (("read, validated and compiled", "load_ms"), ("from published to decided by", "swap_ms")):
        times = sorted(float(event[name]) for event in loaded)
        report.measured(f"a swap of {MANY:,} policies under load: {what}", f"median {number(times[len(times) // 2])} ms",
                        f"longest {number(times[-1])} ms")


def run(rig: Rig, report: Report) -> None:
    """Everything that grows with policies and keys."""
    key = mint_key(rig.program("sluice-agent"))
    match_and_authenticate(rig, report)
    memory(rig, report, key)
    swap_under_load(rig, report, key)
