"""What is read out of events for the benchmark."""

import math

from simulator.figures import Spread, enforced_after, most_fetches, quantile, reopened, spread_of
from simulator.record import Event


def event(t: int, what: str, revision: int = 0) -> Event:
    """Of one agent."""
    return Event(t, 0, what, {"revision": revision, "chain": ""})


def test_a_commit_is_enforced_with_the_first_state_that_has_it() -> None:
    events = {0: [event(2_000, "swap", 5), event(9_000, "swap", 7)], 1: [event(4_000, "adopted", 6)]}
    everyone, last = enforced_after(events, {5: 1_000, 6: 1_500, 7: 8_000})
    assert sorted(everyone) == [1, 1, 2.5, 3, 7.5, math.inf]
    assert last == [3, 7.5, math.inf]


def test_quantiles_are_values_that_were_measured() -> None:
    assert [quantile([1, 2, 3, 4], share) for share in (0.01, 0.5, 0.75, 0.99)] == [1, 2, 3, 4]


def test_most_fetches_are_those_of_one_agent_within_the_time() -> None:
    events = {0: [event(at, "fetch_begin") for at in (1, 5, 6, 99)], 1: [event(5, "fetch_begin"), event(5, "swap")]}
    assert most_fetches(events, 5, 50) == 2


def test_a_spread_counts_from_the_first_to_the_last() -> None:
    assert spread_of([1_000_000, 1_050_000, 1_250_000]) == Spread(2, 1.0, 0.25)
    assert spread_of([]).ratio == math.inf


def test_only_the_first_watch_since_then_counts() -> None:
    assert reopened({0: [event(1, "watch_open"), event(5, "watch_open"), event(6, "watch_open")], 1: []}, 2) == [5]
