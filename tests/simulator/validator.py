"""Judges a run: which rules it breaks, and whether enough happened in it that its passing means something."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from simulator.record import Run
from simulator.rules import RULES, Finding

PASSED, FAILED, INVALID = 0, 1, 2
SHOWN = 12   # findings of each rule


@dataclass(frozen=True)
class Load:
    """What must have happened at least."""

    agents: int = 1             # alive at the end
    writes: int = 1             # acknowledged
    applies: int = 0            # of several objects
    swaps_per_agent: float = 1  # on average
    deltas: int = 1
    adopted: int = 0            # heads of unchanged scopes
    refused: int = 0
    lost_watches: int = 0       # the first ones are not lost
    faults: dict[str, int] = field(default_factory=dict)   # each, so often
    bursts: int = 0
    claims: int = 0             # that all agents enforce a revision


@dataclass
class Verdict:
    """The end of it."""

    findings: list[Finding]
    lacking: list[str]
    figures: dict[str, Any]

    @property
    def status(self) -> int:
        """The exit status. What is broken is broken, however little happened."""
        if self.findings:
            return FAILED
        return INVALID if self.lacking else PASSED

    def text(self) -> str:
        """For people."""
        lines = [f"  {name}: {value}" for name, value in self.figures.items()]
        shown: Counter[str] = Counter()
        for finding in self.findings:
            shown[finding.rule] += 1
            if shown[finding.rule] <= SHOWN:
                lines.append(f"BROKEN {finding}")
        lines += [f"BROKEN {name}: {count} times in all" for name, count in shown.items() if count > SHOWN]
        lines += [f"TOO LITTLE {text}" for text in self.lacking]
        word = {PASSED: "passed", FAILED: "FAILED", INVALID: "INVALID: too little happened to prove anything"}[self.status]
        return "\n".join([*lines, word])


def figures_of(run: Run) -> dict[str, Any]:
    """What happened, in numbers."""
    happened: Counter[str] = Counter()
    results: Counter[str] = Counter()   # of fetches
    lines: Counter[str] = Counter()
    for events in run.events.values():
        for event in events:
            happened[event.what] += 1
            if event.what == "fetch_end":
                results[event.more["result"]] += 1
            elif event.what == "line":
                lines[event.more["kind"]] += 1
    agents = max(1, len(run.scopes))
    return {
        "agents": len(run.scopes), "alive": sum(final.alive for final in run.finals.values()),
        "scopes": len(set(run.scopes.values())), "writes": len(run.writes),
        "applies": sum(len(write.objects) > 1 for write in run.writes), "revisions": run.history.head - run.history.base,
        "swaps": happened["swap"], "swaps per agent": round(happened["swap"] / agents, 1), "adopted": happened["adopted"],
        "fetches": happened["fetch_begin"], "deltas": results["delta"], "wholes": results["full"], "moved": results["revision_only"],
        "failed": results["error"], "invalidations": lines["invalidation"], "heartbeats": lines["heartbeat"],
        "lost watches": happened["watch_lost"], "refused": happened["refused"], "bursts": len(run.bursts),
        "enforced by all": sum(claim.by_all for claim in run.claims), "not by all": sum(not claim.by_all for claim in run.claims),
        "faults": dict(run.faults),
    }


def lacking_of(load: Load, figures: dict[str, Any]) -> list[str]:
    """What there was too little of."""
    wanted = [("agents alive", "alive", load.agents), ("writes", "writes", load.writes), ("applies", "applies", load.applies),
              ("swaps per agent", "swaps per agent", load.swaps_per_agent), ("deltas", "deltas", load.deltas),
              ("adopted heads", "adopted", load.adopted), ("refused states", "refused", load.refused),
              ("lost watches", "lost watches", load.lost_watches), ("bursts", "bursts", load.bursts),
              ("revisions enforced by all", "enforced by all", load.claims)]
    lacking = [f"{what}: {figures[name]} of at least {least}" for what, name, least in wanted if figures[name] < least]
    lacking += [f"{fault}: {figures['faults'].get(fault, 0)} of at least {least}" for fault, least in load.faults.items()
                if figures["faults"].get(fault, 0) < least]
    return lacking


def validate(run: Run, load: Load) -> Verdict:
    """Applies every rule."""
    findings = [finding for rule in RULES.values() for finding in rule(run)]
    figures = figures_of(run)
    return Verdict(findings, lacking_of(load, figures), figures)
