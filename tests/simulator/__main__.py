"""python3 -m simulator: one run of the simulator. The exit status is 0 where it passed, 1 where something is broken, 2 where too
little happened to say so."""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from simulator.driver import load_of, run_plan
from simulator.plan import FAULTS, SABOTAGE, Size, make_plan
from simulator.rig import Programs
from simulator.validator import PASSED, validate

FULL = Size(agents=1000, seconds=90, replicas=2, organizations=5, tenants=4, policies=60, burst=1000, pause=0.1, compiling=8)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python3 -m simulator", description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="of all choices (default: the time, and it is said)")
    parser.add_argument("--full", action="store_true", help="1,000 agents and a few minutes")
    parser.add_argument("--agents", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0, help="of writes and faults, beside the time to settle")
    parser.add_argument("--replicas", type=int, choices=(1, 2), default=0)
    parser.add_argument("--faults", default=",".join(FAULTS), help="only these (default: %(default)s); none: no fault")
    parser.add_argument("--keep", type=Path, default=None, help="a folder for logs and events, which stays")
    parser.add_argument("--plan", action="store_true", help="only say what would be done")
    return parser.parse_args()


def size_of(chosen: argparse.Namespace) -> Size:
    """How large."""
    size = FULL if chosen.full else Size()
    given = {name: getattr(chosen, name) for name in ("agents", "seconds", "replicas") if getattr(chosen, name)}
    faults = () if chosen.faults == "none" else tuple(chosen.faults.split(","))
    unknown = set(faults) - {*FAULTS, *SABOTAGE}
    if unknown:
        sys.exit(f"no fault {unknown.pop()}: choose from {', '.join(FAULTS)}")
    return Size(**{**size.__dict__, **given, "faults": faults or ("none",)})


def main() -> int:
    """Runs it."""
    chosen = arguments()
    seed = chosen.seed if chosen.seed is not None else int(time.time())
    plan = make_plan(seed, size_of(chosen))
    print(f"seed {seed}, plan {plan.fingerprint()}: {plan.size}", flush=True)
    if chosen.plan:
        for step in sorted((*plan.writes, *plan.faults), key=lambda step: step.at):
            print(f"{step.at:8.3f}", step.fault and f"{step.fault} {step.target} {step.amount}" or
                  ", ".join(f"{call.method} {call.path}" for call in step.calls))
        return PASSED
    folder = chosen.keep or Path(tempfile.mkdtemp(prefix="sluice-sync-"))
    run, figures = run_plan(plan, folder, Programs.newest())
    verdict = validate(run, load_of(plan))
    verdict.figures.update(figures)
    text = f"{verdict.text()} (seed {seed})"
    (folder / "verdict.txt").write_text(text + "\n")
    print(text)
    if verdict.status == PASSED and chosen.keep is None:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print(f"logs and events: {folder}")
    return verdict.status


if __name__ == "__main__":
    sys.exit(main())
