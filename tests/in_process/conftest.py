"""Fixtures of the tests of engines in a process of their own."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from in_process.engine_process import EngineProcess


@pytest.fixture
def make_engine(tmp_path: Path) -> Iterator[Callable[..., EngineProcess]]:
    """Makes engines for one test: the arguments are EngineProcess's. They are closed at its end, and have answered each check."""
    made: list[EngineProcess] = []

    def make(**options: Any) -> EngineProcess:
        made.append(EngineProcess(tmp_path / f"engine{len(made)}", **options))
        return made[-1]

    yield make
    for each in made:
        each.close()
