"""Fixtures of the tests of packages."""

import shutil
from collections.abc import Callable

import pytest

from support.unpacked import Unpacked, unpack


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Unpacked:
    return unpack(tmp_path_factory.mktemp("unpacked"))


@pytest.fixture(scope="session")
def compiler() -> Callable[[str], str]:
    """The path of a compiler. clang 14 is only there after scripts/setup package; the others always."""
    def find(name: str) -> str:
        path = shutil.which(name)
        if path is None and name.endswith("-14"):
            pytest.skip(f"no {name} here: scripts/setup package installs it")
        assert path is not None, f"no {name} here: scripts/setup test installs it"
        return path
    return find
