"""Tests that need the machine for themselves, among tests that run beside each other.

`@pytest.mark.alone` is for a test that holds programs to times, or measures what they use. While it runs, pytest-xdist's other
workers wait with their next test. What a worker waits is not part of a test's time limit.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

TURNS = pytest.StashKey["Turns"]()


class Turns:
    """A lock in a folder that all workers of a run share: held by one test that is alone, or by any number of others."""

    def __init__(self, folder: Path) -> None:
        self._queue = (folder / "turns.queue").open("a")
        self._machine = (folder / "turns.machine").open("a")

    @contextmanager
    def turn(self, alone: bool) -> Iterator[None]:
        """Waits until the test may run, in the order in which tests came: a stream of others cannot keep it waiting."""
        fcntl.flock(self._queue, fcntl.LOCK_EX)
        try:
            fcntl.flock(self._machine, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        finally:
            fcntl.flock(self._queue, fcntl.LOCK_UN)
        try:
            yield
        finally:
            # Closing would not do: processes that a test forked have the same open file.
            fcntl.flock(self._machine, fcntl.LOCK_UN)


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker known."""
    config.addinivalue_line("markers", "alone: holds programs to times; no other test of the run beside it")


def pytest_sessionstart(session: pytest.Session) -> None:
    """In a worker. Without pytest-xdist every test is alone anyway."""
    if hasattr(session.config, "workerinput"):
        folder: Path = session.config._tmp_path_factory.getbasetemp()   # type: ignore[attr-defined]
        session.config.stash[TURNS] = Turns(folder.parent)   # that of the run


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Files with such tests come last. Before each such test the workers wait for each other, and there is less to wait for then."""
    if TURNS in config.stash:
        last = {item.path for item in items if item.get_closest_marker("alone")}
        items.sort(key=lambda item: item.path in last)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)   # around pytest-timeout's
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A test, with its fixtures, in its turn."""
    turns = item.config.stash.get(TURNS, None)
    if turns is None:
        yield
        return
    with turns.turn(item.get_closest_marker("alone") is not None):
        yield
