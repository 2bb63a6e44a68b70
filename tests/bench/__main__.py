"""`scripts/bench`: chooses sections, runs them, prints the table and writes the JSON."""

import argparse
import importlib
import os
import pkgutil
import sys
import time
from pathlib import Path
from types import ModuleType

from bench import sections
from bench.report import Report
from bench.rig import ROOT, Rig, machine, work_folder


def all_sections() -> dict[str, ModuleType]:
    """Every module of bench/sections, in its ORDER."""
    names = [module.name for module in pkgutil.iter_modules(sections.__path__)]
    found = {name: importlib.import_module(f"bench.sections.{name}") for name in names}
    return dict(sorted(found.items(), key=lambda item: item[1].ORDER))


def arguments(known: dict[str, ModuleType]) -> argparse.Namespace:
    """The command line."""
    about = "\n".join(f"  {name:10} {module.ABOUT}" for name, module in known.items())
    parser = argparse.ArgumentParser(
        prog="scripts/bench", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measures the release build beside what it is to be compared with, in one run, so that ratios hold.",
        epilog=f"sections (default: all):\n{about}\n\nAlso: --no-build (use build/lto as it is), "
               "--build FOLDER (measure another build; implies --no-build).")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help="only these")
    parser.add_argument("--only", action="append", default=[], metavar="SECTION", help="the same; may be repeated")
    parser.add_argument("--rounds", type=int, default=0, help="how often everything is measured (default 5, quick 1)")
    parser.add_argument("--quick", action="store_true", help="about a minute: shows that all works, the numbers are rough")
    parser.add_argument("--output", type=Path, default=ROOT / "build/bench/bench.json", help="the JSON (default %(default)s)")
    parser.add_argument("--programs-in", type=Path, default=ROOT / "build/lto/bin", help=argparse.SUPPRESS)
    parser.add_argument("--list-groups", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--list-programs", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    chosen.sections += chosen.only
    unknown = [name for name in chosen.sections if name not in known]
    if unknown:
        parser.error(f"no section {unknown[0]}: choose from {' '.join(known)}")
    if chosen.rounds < 0:
        parser.error("--rounds takes a number above 0")
    return chosen


def without_root(wanted: dict[str, ModuleType], named: list[str]) -> dict[str, ModuleType]:
    """What of it can run as this user. A section that was asked for by its name must."""
    if os.geteuid() == 0:
        return wanted
    for name, reason in {name: getattr(module, "NEEDS_ROOT", "") for name, module in wanted.items()}.items():
        if reason and name in named:
            sys.exit(f"scripts/bench: the section {name} needs root: {reason}")
        if reason:
            print(f"    {name}: left out, because it needs root: {reason}", file=sys.stderr)
    return {name: module for name, module in wanted.items() if not getattr(module, "NEEDS_ROOT", "")}


def main() -> int:
    """Runs it."""
    known = all_sections()
    chosen = arguments(known)
    wanted = {name: module for name, module in known.items() if not chosen.sections or name in chosen.sections}
    if chosen.list_programs:
        print(" ".join(sorted({program for module in wanted.values() for program in module.PROGRAMS})))
        return 0
    if chosen.list_groups:
        print(" ".join(sorted({group for module in wanted.values() for group in getattr(module, "SETUP", [])})))
        return 0
    wanted = without_root(wanted, chosen.sections)
    rounds = chosen.rounds or (1 if chosen.quick else 5)
    report = Report(machine(), {"rounds": rounds, "quick": chosen.quick, "sections": list(wanted)})
    with work_folder() as folder:
        rig = Rig(chosen.programs_in, folder, rounds, chosen.quick)
        for name, module in wanted.items():
            began = time.monotonic()
            print(f"    {name}: {module.ABOUT} … ", end="", file=sys.stderr, flush=True)
            report.section = name
            module.run(rig, report)
            print(f"{time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    report.write(chosen.output)
    reached, targets = report.counts()
    about = report.machine
    print(f"\n{about['cpu']}, {about['cores']} cores, Linux {about['kernel']}, {about['date']}, {about['commit']}, "
          f"load {about['load'][0]} before; {rounds} round{'s' if rounds > 1 else ''}\n")
    print(report.table())
    print(f"\n{reached} of {targets} targets reached; all numbers: {chosen.output}")
    return 0


sys.exit(main())
