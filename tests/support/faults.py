"""The cases of scripts/faults: tests that are marked with the fault that they cause, and the table of what they saw.

A test is a case if it has `@pytest.mark.fault("redis-killed")`. A test that ran for several topologies is a case of each.
`topology` is where it runs: single, sentinel or cluster; by default it is the first word of the names of its parameters that
is one of these, else single. `least` is the fewest requests without which the case is invalid, because too little happened.
"""

import fnmatch
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Optional

import pytest
from _pytest.terminal import TerminalReporter   # pytest exports it from version 8 on

from support import load

TOPOLOGIES = ("single", "sentinel", "cluster")
_ROW = "fault"   # the name of the property of a test's report


@dataclass
class Row:
    """What one case saw. None: the case does not measure it."""

    fault: str
    topology: str
    requests: int = 0
    answered: int = 0
    p99_ms: Optional[float] = None
    admitted: Optional[str] = None    # with its bound
    recovered: Optional[str] = None   # seconds, with the bound


class Fault:
    """What a test asserts about its fault: bound and recovery. Both go into the table."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self._nearest = 0.0
        self._longest = 0.0

    def admitted(self, count: int, bound: int, least: int = 0) -> None:
        """No more requests were admitted than the bound allows, and at least `least`. The table shows what came nearest."""
        if count / bound >= self._nearest:
            self._nearest = count / bound
            self.row.admitted = f"{count} / {bound}"
        assert least <= count <= bound, f"{count} admitted, where {least} to {bound} are allowed"

    def recovered(self, seconds: float, within: float) -> None:
        """All was normal again so many seconds after the fault had ended. The table shows what took longest."""
        if seconds >= self._longest:
            self._longest = seconds
            self.row.recovered = f"{seconds:.2f} / {within:g} s"
        assert seconds <= within, f"normal after {seconds:.2f} s, where {within:g} s are allowed"


@pytest.fixture
def fault(request: pytest.FixtureRequest) -> Fault:
    """The row of this case."""
    return Fault(_row_of(request.node))


def pytest_addoption(parser: pytest.Parser) -> None:
    """What scripts/faults passes."""
    group = parser.getgroup("faults")
    group.addoption("--fault", action="append", default=[], metavar="NAME", help="only cases of this name; may hold * and ?")
    group.addoption("--topology", choices=TOPOLOGIES, help="only cases on this topology")
    group.addoption("--faults-list", action="store_true", help="print the names of the cases")
    group.addoption("--faults-table", metavar="FILE", help="only cases of faults; print their table, and write it as JSON")


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker known."""
    config.addinivalue_line("markers", "fault(name, topology=None, least=0): a case of scripts/faults")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is not asked for."""
    names, topology = config.getoption("--fault"), config.getoption("--topology")
    if not (names or topology or config.getoption("--faults-table") or config.getoption("--faults-list")):
        return

    def wanted(item: pytest.Item) -> bool:
        marker = item.get_closest_marker("fault")
        if marker is None or (topology and _topology(item) != topology):
            return False
        return not names or any(fnmatch.fnmatch(_name(item), name) for name in names)

    known = {_name(item) for item in items if item.get_closest_marker("fault")}
    for name in names:
        if not fnmatch.filter(known, name):
            raise pytest.UsageError(f"no fault is called {name}: scripts/faults --list names them all")
    chosen = [item for item in items if wanted(item)]
    if config.getoption("--faults-list"):
        names = sorted({(_topology(item), _name(item)) for item in chosen})
        print("\n".join(f"{where:9} {name}" for where, name in names))
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """A case whose fixtures fail has a row too."""
    if item.get_closest_marker("fault") is not None:
        item.user_properties.append((_ROW, json.dumps(asdict(_row_of(item)))))
    yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Adds up the loads of a case."""
    load.finished.clear()
    yield
    if item.get_closest_marker("fault") is None:
        return
    row = _row_of(item)
    row.requests += sum(each.sent for each in load.finished)
    row.answered += sum(sample.status != 0 for each in load.finished for sample in each.samples)
    measured = [each.percentile(99) for each in load.finished if each.samples]
    if measured:
        row.p99_ms = round(max(measured) * 1000, 1)
    item.user_properties.append((_ROW, json.dumps(asdict(row))))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """A case fails if too little happened."""
    outcome = yield
    marker = item.get_closest_marker("fault")
    if marker is None or call.when != "call":
        return
    report = outcome.get_result()   # type: ignore[attr-defined]
    least, requests = marker.kwargs.get("least", 0), _row_of(item).requests
    if report.passed and requests < least:
        report.outcome = "failed"
        report.longrepr = f"invalid: {requests} requests, and {least} are needed for this fault to show"


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    """Prints the table."""
    file = config.getoption("--faults-table")
    if not file:
        return
    rows = _rows(terminalreporter)
    if not rows:
        return
    with open(file, "w", encoding="utf-8") as out:
        json.dump(rows, out, indent=1)
    head = ("fault", "topology", "requests", "answered", "p99 ms", "admitted / bound", "normal again after", "result")
    keys = ("fault", "topology", "requests", "answered", "p99_ms", "admitted", "recovered", "result")
    lines = [head]
    for row in rows:
        measured = {**row, **({} if row["requests"] else {"requests": "", "answered": ""})}
        lines.append(tuple("" if measured[key] is None else str(measured[key]) for key in keys))
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    terminalreporter.section("faults")
    for line in lines:
        terminalreporter.write_line("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _rows(reporter: TerminalReporter) -> list[dict[str, Any]]:
    """A row for each fault and topology: sums of its tests, and what was worst."""
    broken = {report.nodeid for report in reporter.stats.get("error", [])}   # by a fixture, or when it ended
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    tests: dict[tuple[str, str], list[bool]] = {}
    for outcome in ("passed", "failed", "error"):
        for report in reporter.stats.get(outcome, []):
            properties = dict(report.user_properties)
            if _ROW not in properties:
                continue
            found = json.loads(properties[_ROW])
            key = (found["topology"], found["fault"])
            tests.setdefault(key, [])
            row = rows.setdefault(key, found)
            if report.when == "call":
                tests[key].append(outcome == "passed" and report.nodeid not in broken)
            elif report.when == "setup":
                tests[key].append(False)
            if row is not found and report.when == "call":
                row["requests"] += found["requests"]
                row["answered"] += found["answered"]
                row["p99_ms"] = max(row["p99_ms"] or 0.0, found["p99_ms"] or 0.0) or None
    for key, row in rows.items():
        passed, all_of_them = sum(tests[key]), len(tests[key])
        row["result"] = "passed" if passed == all_of_them else f"{all_of_them - passed} of {all_of_them} failed"
    return [rows[key] for key in sorted(rows)]


def _name(item: pytest.Item) -> str:
    marker = item.get_closest_marker("fault")
    return str(marker.args[0]) if marker else item.name


def _topology(item: pytest.Item) -> str:
    marker = item.get_closest_marker("fault")
    words = item.callspec.id.split("-") if isinstance(item, pytest.Function) and hasattr(item, "callspec") else []
    named = marker.kwargs.get("topology") if marker else None
    return str(named or next((word for word in words if word in TOPOLOGIES), "single"))


def _row_of(item: pytest.Item) -> Row:
    return item.stash.setdefault(_KEPT, Row(_name(item), _topology(item)))


_KEPT = pytest.StashKey[Row]()
