"""What a benchmark reads out of a swarm's events."""

import bisect
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from simulator.record import Event


def quantile(values: Iterable[float], share: float) -> float:
    """The smallest of the values that so many of them do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def enforced_after(events: dict[int, list[Event]], committed: dict[int, int]) -> tuple[list[float], list[float]]:
    """How many ms after each commit (revision → µs) each agent enforced it: of all agents, and of the last of each write."""
    all_of_them: list[float] = []
    last: dict[int, float] = dict.fromkeys(committed, 0.0)
    for one in events.values():
        steps = [(event.revision or 0, event.t) for event in one if event.what in ("swap", "adopted")]
        revisions = [revision for revision, _ in steps]
        for revision, at in committed.items():
            found = bisect.bisect_left(revisions, revision)
            late = math.inf if found == len(steps) else (steps[found][1] - at) / 1000
            all_of_them.append(late)
            last[revision] = max(last[revision], late)
    return all_of_them, list(last.values())


def most_fetches(events: dict[int, list[Event]], begin_us: int, end_us: int) -> int:
    """Of one agent, in a time."""
    return max(sum(event.what == "fetch_begin" and begin_us <= event.t <= end_us for event in one) for one in events.values())


@dataclass(frozen=True)
class Spread:
    """How many came in each interval."""

    peak: int
    mean: float
    seconds: float

    @property
    def ratio(self) -> float:
        """Of the peak to the mean."""
        return self.peak / self.mean if self.mean else math.inf


def spread_of(times_us: Sequence[int], interval_us: int = 100_000) -> Spread:
    """From the first to the last of them."""
    if not times_us:
        return Spread(0, 0.0, 0.0)
    begin, end = min(times_us), max(times_us)
    counts = [0] * ((end - begin) // interval_us + 1)
    for at in times_us:
        counts[(at - begin) // interval_us] += 1
    return Spread(max(counts), statistics.mean(counts), (end - begin) / 1e6)


def reopened(events: dict[int, list[Event]], since_us: int) -> list[int]:
    """When each agent had a watch again, the first time since then."""
    found = []
    for one in events.values():
        first = next((event.t for event in one if event.what == "watch_open" and event.t >= since_us), None)
        if first is not None:
            found.append(first)
    return found
