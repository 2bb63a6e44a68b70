"""A decision inside a process: the agent's own work without sockets, and the library beside limiters of other libraries."""

import os
import subprocess
from pathlib import Path
from typing import Any

from bench.report import Report, number
from bench.rig import Rig
from testbed.toolchain import find_go

ORDER = 30
ABOUT = "a decision inside the process: ns and allocations, one subject and a million; the library beside others"
PROGRAMS = ["bench_engine", "bench_library"]
SETUP = ["generators"]  # for Go
PEERS = Path(__file__).resolve().parents[1] / "peers"

Rows = dict[tuple[str, str], dict[str, Any]]


def rows_of(raw: dict[str, Any]) -> Rows:
    """By name and keys."""
    return {(row["name"], row["keys"]): row for row in raw["rows"]}


def least(passes: list[dict[str, Any]]) -> Rows:
    """The least of all passes counts: whatever else runs can only add."""
    found = rows_of(passes[0])
    for other in passes[1:]:
        for place, row in rows_of(other).items():
            found[place] = min(found[place], row, key=lambda each: float(each["ns_min"]))
    return found


def show(rows: Rows, report: Report, subjects: str) -> None:
    """A row of the table for each."""
    for (name, keys), row in rows.items():
        report.measured(f"{name}, {'one subject' if keys == 'one' else subjects}", f"{number(row['ns_min'])} ns",
                        f"median {number(row['ns_median'])} ns", f"{row['allocations']:g} allocations")


def run(rig: Rig, report: Report) -> None:
    """The agent's work first, then the libraries in turns."""
    count = 100_000 if rig.quick else 1_000_000
    rounds = 3 if rig.quick else 2 * rig.rounds + 1
    subjects = f"{count:,} subjects"
    agent = rig.output_of(rig.program("bench_engine"), "--rounds", rounds, "--subjects", count)
    engine = rows_of(agent)
    show(engine, report, subjects)
    # Of another machine, so it is a figure to read, not to compare with.
    report.measured("beside the bare counter: RLAAS' sharded counter, as published (rlaas-io.github.io/rlaas)", "6 ns", "not measured here")
    report.at_most("engine, one subject", 200, engine["engine", "one"]["ns_min"], "ns")
    report.at_most(f"engine, {subjects}", 300, engine["engine", "many"]["ns_min"], "ns")
    for keys in ("one", "many"):
        report.at_most(f"engine, allocations a decision, {keys}", 0, engine["engine", keys]["allocations"], "")

    peers_program = rig.folder / "peers"
    subprocess.run([find_go(PEERS / "go.mod"), "build", "-o", peers_program, "."], cwd=PEERS, check=True,
                   env={**os.environ, "GOWORK": "off", "GOFLAGS": "-mod=readonly"})
    library_passes, peers_passes = [], []
    for _ in range(1 if rig.quick else rig.rounds):
        library_passes.append(rig.output_of(rig.program("bench_library"), "--rounds", 3, "--subjects", count))
        peers_passes.append(rig.output_of(peers_program, "-rounds", 3, "-subjects", count))
    report.raw["engine"] = {"agent": agent, "library": library_passes, "peers": peers_passes}
    library, peers = least(library_passes), least(peers_passes)
    show(library, report, subjects)
    show(peers, report, subjects)
    for keys, words in (("one", "one subject"), ("many", subjects)):
        for ours, theirs, bound in (("library, fixed window", "go-limiter, fixed window", 0.8),
                                    ("library, token bucket", "x/time/rate by key, token bucket", 0.8)):
            report.at_most(f"{ours} to {theirs}, {words}", bound, library[ours, keys]["ns_min"] / peers[theirs, keys]["ns_min"])
        for (name, of), row in library.items():
            if of == keys:
                report.at_most(f"{name}, allocations a decision, {words}", 0, row["allocations"], "")
