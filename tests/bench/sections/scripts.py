"""What the script costs Redis, for each algorithm and 1, 2, 5 and 10 limits, and how large its state is."""

from typing import Any

from bench.report import Report, median, number
from bench.rig import Rig

ORDER = 20
ABOUT = "Redis' CPU µs for a call of the script by itself, and its bytes for a subject"
PROGRAMS = ["bench_scripts"]

LIMITS = (1, 2, 5, 10)
MAIN = "token_bucket"  # the default algorithm: targets are about it, the others stand beside it
COUNTERS = ("token_bucket", "leaky_bucket", "fixed_window", "sliding_window", "quota")
COLLECTIONS = ("sliding_window_log", "concurrency")

Rows = dict[tuple[str, int, str], dict[str, Any]]


def run(rig: Rig, report: Report) -> None:
    """Many short rounds: each is one ratio, and the median of them counts."""
    rounds, slice_ms = (3, 50) if rig.quick else (3 * rig.rounds, 100)
    with rig.redis("redis-scripts") as redis:
        raw = rig.output_of(rig.program("bench_scripts"), redis.socket, redis.pid, "--rounds", rounds, "--slice-ms",
                            slice_ms)
    report.raw["scripts"] = raw
    rows: Rows = {(row["name"], row["limits"], row["outcome"]): row for row in raw["rows"]}
    list_costs(rows, report)
    list_sizes(rows, report, raw["key_bytes"])
    judge(rows, report)


def ratio(one: dict[str, Any], other: dict[str, Any]) -> float:
    """Of the CPU time of two variants: round by round, then the median."""
    return median(a / b for a, b in zip(one["cpu_us"], other["cpu_us"]))


def cost(row: dict[str, Any]) -> str:
    """µs of a call."""
    return number(median(row["cpu_us"]))


def list_costs(rows: Rows, report: Report) -> None:
    """A line for each algorithm."""
    floors = [(name, rows[name, 0, ""])
              for name in ("no-op", "TIME + GET + SET", "the floor's bucket", "INCRBY + EXPIRE")]
    report.measured("Redis CPU µs a call, 32 deep", *(f"{name} {cost(row)}" for name, row in floors))
    for algorithm in (*COUNTERS, *COLLECTIONS):
        for outcome in ("admitted", "denied"):
            words = [cost(rows[algorithm, limits, outcome]) for limits in LIMITS]
            report.measured(f"{algorithm}, {outcome}: 1 · 2 · 5 · 10 limits", *words)
        if algorithm in COLLECTIONS:
            report.measured(f"{algorithm}, denied, 10,000 entries", cost(rows[algorithm, 1, "full"]))


def list_sizes(rows: Rows, report: Report, key_bytes: int) -> None:
    """MEMORY USAGE, and the state's own size."""
    for algorithm in COUNTERS:
        sizes = [rows[algorithm, limits, "admitted"] for limits in LIMITS]
        report.measured(f"{algorithm}: bytes a subject (of them state), key of {key_bytes}: 1 · 2 · 5 · 10 limits",
                        *(f"{row['bytes']} ({row['value']})" for row in sizes))


def judge(rows: Rows, report: Report) -> None:
    """The issue's targets."""
    one, ten = rows[MAIN, 1, "admitted"], rows[MAIN, 10, "admitted"]
    others = [ratio(rows[name, 1, "admitted"], rows["TIME + GET + SET", 0, ""]) for name in COUNTERS]
    report.at_most(f"one limit ({MAIN}) to TIME + GET + SET", 2.1, ratio(one, rows["TIME + GET + SET", 0, ""]),
                   measured=f"all counters: {number(min(others))} to {number(max(others))}")
    others = [ratio(rows[name, 10, "admitted"], rows[name, 1, "admitted"]) for name in COUNTERS]
    report.at_most(f"ten limits to one ({MAIN})", 2.5, ratio(ten, one),
                   measured=f"all counters: {number(min(others))} to {number(max(others))}")
    for limits in LIMITS:
        denials = {name: ratio(rows[name, limits, "denied"], rows[name, limits, "admitted"])
                   for name in (*COUNTERS, *COLLECTIONS)}
        worst = max(denials, key=lambda name: denials[name])
        report.at_most(f"a denial to an admission, {limits} limit{'s' if limits > 1 else ''}, the worst algorithm", 1,
                       denials[worst], measured=f"{worst}; {MAIN} {number(denials[MAIN])}")
    report.at_most(f"bytes a subject, one limit ({MAIN})", 140, one["bytes"], "bytes", f"state {one['value']} bytes")
    report.at_most(f"bytes a subject, ten limits ({MAIN})", 270, ten["bytes"], "bytes", f"state {ten['value']} bytes")
