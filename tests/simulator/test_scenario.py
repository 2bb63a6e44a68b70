"""A small run of the simulator with everything in it: all faults, two replicas, agents of every scope."""

from pathlib import Path

import pytest

from simulator.driver import load_of, run_plan
from simulator.plan import Size, make_plan
from simulator.rig import Programs
from simulator.validator import FAILED, PASSED, validate

pytestmark = pytest.mark.alone   # a fleet that takes the whole machine, and whose delays are judged

SEED = 20_27   # another one: python3 -m simulator --seed N
SMALL = Size(agents=40, seconds=12, replicas=2, policies=10, burst=60, compiling=4)


@pytest.mark.fault("fleet-through-all-faults")
def test_agents_follow_their_servers_through_all_faults(tmp_path: Path) -> None:
    plan = make_plan(SEED, SMALL)
    run, figures = run_plan(plan, tmp_path, Programs.newest())
    verdict = validate(run, load_of(plan))
    print(f"seed {SEED}: {figures}\n{verdict.text()}")
    assert verdict.status == PASSED, f"seed {SEED}, in {tmp_path}:\n{verdict.text()}"


def test_content_that_was_changed_behind_the_servers_backs_is_found(tmp_path: Path) -> None:
    plan = make_plan(SEED, Size(agents=10, seconds=3, replicas=1, policies=5, burst=10, compiling=0, faults=("tamper",)))
    run, _ = run_plan(plan, tmp_path, Programs.newest())
    verdict = validate(run, load_of(plan))
    assert verdict.status == FAILED
    assert {finding.rule for finding in verdict.findings} >= {"whole_states", "at_head", "exported"}, verdict.text()
