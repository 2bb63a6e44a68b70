"""The tests of the npm package, which are of node's own test runner."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from sdk.node import node
from sdk.sdks import FOLDER

SDK = FOLDER / "typescript"
SUITES = sorted(path.name for path in (SDK / "test").glob("*.test.mjs"))


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """The package, built."""
    done = subprocess.run([node(), "scripts/build.mjs"], cwd=SDK, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.timeout(600)
@pytest.mark.parametrize("suite", SUITES)
def test_the_suite_passes(suite: str, program: Path) -> None:
    done = subprocess.run([node(), "--test", "--test-reporter=spec", f"test/{suite}"], cwd=SDK, capture_output=True, text=True, timeout=550, check=False,
                          env={**os.environ, "SLUICE_AGENT_BIN": str(program)})
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    passed = re.search(r"^\S+ pass (\d+)$", done.stdout, re.M)
    assert passed and int(passed[1]) > 0, done.stdout[-2000:]


@pytest.mark.timeout(600)
def test_no_connection_is_left_and_the_event_loop_is_never_blocked(program: Path) -> None:
    done = subprocess.run([node(), "bench/leaks.mjs"], cwd=SDK, capture_output=True, text=True, timeout=550, check=False,
                          env={**os.environ, "SLUICE_AGENT_BIN": str(program)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1000 of 1000 cancelled" in done.stdout


@pytest.mark.timeout(600)
@pytest.mark.parametrize("at_once", [1, 32])
def test_a_check_costs_at_most_a_third_more_than_a_call_of_a_bare_client(at_once: int, program: Path) -> None:
    done = subprocess.run([node(), "bench/overhead.mjs", "--calls", "5000", "--rounds", "5", "--inflight", str(at_once)], cwd=SDK, capture_output=True,
                          text=True, timeout=550, check=False, env={**os.environ, "SLUICE_AGENT_BIN": str(program)})
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
