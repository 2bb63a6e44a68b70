"""The agent's own work, without sockets: ns and allocations of a decision."""

from bench.report import Report, number
from bench.rig import Rig

ORDER = 30
ABOUT = "a decision inside the process: ns and allocations, one subject and a million"
PROGRAMS = ["bench_engine"]


def run(rig: Rig, report: Report) -> None:
    """The least of the rounds counts: whatever else runs can only add."""
    raw = rig.output_of(rig.program("bench_engine"), "--rounds", 3 if rig.quick else 2 * rig.rounds + 1, "--subjects",
                        100_000 if rig.quick else 1_000_000)
    report.raw["engine"] = raw
    rows = {(row["name"], row["keys"]): row for row in raw["rows"]}
    subjects = f"{raw['subjects']:,} subjects"
    for (name, keys), row in rows.items():
        report.measured(f"{name}, {'one subject' if keys == 'one' else subjects}", f"{number(row['ns_min'])} ns",
                        f"median {number(row['ns_median'])} ns", f"{row['allocations']:g} allocations")
    report.at_most("engine, one subject", 200, rows["engine", "one"]["ns_min"], "ns")
    report.at_most(f"engine, {subjects}", 300, rows["engine", "many"]["ns_min"], "ns")
    for keys in ("one", "many"):
        report.at_most(f"engine, allocations a decision, {keys}", 0, rows["engine", keys]["allocations"], "")
