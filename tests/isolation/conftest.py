"""What the tests of isolation share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.program import is_sanitized


@pytest.fixture(scope="session")
def slack(server_program: Path) -> Callable[[float], float]:
    """A bound in seconds for the program under test: a sanitized one is several times as slow."""
    factor = 8 if is_sanitized(server_program) else 1
    return lambda seconds: factor * seconds
