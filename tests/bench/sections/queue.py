"""What a decision pays for waiting its turn: the fair queue before Redis, with one tenant and with a thousand."""

from bench.report import Report, number
from bench.rig import Rig

ORDER = 32
ABOUT = "a turn in the fair queue before Redis: ns and allocations, one tenant and a thousand"
PROGRAMS = ["bench_queue"]


def run(rig: Rig, report: Report) -> None:
    """The least of the rounds counts: whatever else runs can only add."""
    raw = rig.output_of(rig.program("bench_queue"), "--rounds", 3 if rig.quick else 2 * rig.rounds + 1)
    report.raw["queue"] = raw
    rows = {row["keys"]: row for row in raw["rows"]}
    for keys, about in (("one", "one tenant"), ("many", f"{raw['tenants']:,} tenants"),
                        ("alone", f"{raw['tenants']:,} tenants, one command at a time")):
        row = rows[keys]
        report.measured(f"a turn in the queue, {about}", f"{number(row['ns_min'])} ns",
                        f"median {number(row['ns_median'])} ns", f"{row['allocations']:g} allocations")
        report.at_most(f"a turn in the queue, {about}", 300, row["ns_min"], "ns")
        report.at_most(f"a turn in the queue, {about}, allocations", 0, row["allocations"], "")
