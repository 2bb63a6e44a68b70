"""The one table of a run, and its JSON."""

import json
import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


def median(values: Iterable[float]) -> float:
    """The middle one."""
    return statistics.median(values)


def number(value: float) -> str:
    """Three digits that count, thousands apart."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


@dataclass
class Row:
    """A measurement; with a target, also a verdict."""

    section: str
    what: str
    measured: str = ""
    target: str = ""
    reached: str = ""
    verdict: str = ""


@dataclass
class Report:
    """Collects what sections find."""

    machine: dict[str, Any]
    options: dict[str, Any]
    rows: list[Row] = field(default_factory=list)
    raw: dict[str, Any] = field(default_factory=dict)
    section: str = ""

    def measured(self, what: str, *values: str) -> None:
        """A row without a target."""
        self.rows.append(Row(self.section, what, " · ".join(values)))

    def at_most(self, what: str, bound: float, reached: float, unit: str = "×", measured: str = "") -> None:
        """A row with an upper bound. `unit` is written behind the numbers."""
        self._judge(what, f"≤ {bound:g} {unit}".strip(), reached <= bound, reached, unit, measured)

    def at_least(self, what: str, bound: float, reached: float, unit: str = "×", measured: str = "") -> None:
        """A row with a lower bound."""
        self._judge(what, f"≥ {bound:g} {unit}".strip(), reached >= bound, reached, unit, measured)

    def _judge(self, what: str, target: str, good: bool, reached: float, unit: str, measured: str) -> None:
        self.rows.append(Row(self.section, what, measured, target, f"{number(reached)} {unit}".strip(), "ok" if good else "short"))

    def table(self) -> str:
        """Everything, as one Markdown table."""
        lines = ["| what | measured | target | reached | |", "|---|---|---|---|---|"]
        section = ""
        for row in self.rows:
            if row.section != section:
                section = row.section
                lines.append(f"| **{section}** | | | | |")
            lines.append(f"| {row.what} | {row.measured} | {row.target} | {row.reached} | {row.verdict} |")
        return "\n".join(lines)

    def counts(self) -> tuple[int, int]:
        """How many targets are reached, and how many there are."""
        judged = [row for row in self.rows if row.verdict]
        return sum(row.verdict == "ok" for row in judged), len(judged)

    def write(self, path: Path) -> None:
        """Rows and raw numbers as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        document = {"machine": self.machine, "options": self.options, "rows": [asdict(row) for row in self.rows],
                    "sections": self.raw}
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
