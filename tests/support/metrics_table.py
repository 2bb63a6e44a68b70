"""The tables of metrics in docs/reference/metrics.md, and what a program's /metrics has of them."""

import re
from pathlib import Path

REFERENCE = (Path(__file__).resolve().parents[2] / "docs/reference/metrics.md").read_text()


class Table:
    """What the reference says of a program's metrics."""

    def __init__(self, program: str) -> None:
        section = REFERENCE.split(f"## Metrics of `{program}`")[1].split("\n## ")[0]
        self.rows = re.findall(r"^\| `((?:sluice|process)_\w+)` \| (\w+) \|(.*?)\| .+ \|$", section, re.M)
        self.types = {name: kind for name, kind, _ in self.rows}
        # A label is in backquotes, the values it may have in parentheses behind it or after "such as".
        self.labels = {name: set(re.findall(r"`(\w+)`", re.sub(r"\(.*?\)|, such as.*|with `--[a-z-]+`", "", text)))
                       for name, _, text in self.rows}


AGENT, SERVER = Table("sluice-agent"), Table("sluice-server")
# The reference names these once, for both programs.
PROCESS = {name: kind for name, kind in AGENT.types.items() if name.startswith("process_")}


def types_of(metrics: str) -> dict[str, str]:
    """Name → type of what was scraped."""
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", metrics, re.M))


def labels_of(metrics: str) -> dict[str, set[str]]:
    """Name → labels of what was scraped; a histogram's own `le` is no label of ours."""
    found: dict[str, set[str]] = {name: set() for name in types_of(metrics)}
    for name, labels in re.findall(r"^(\w+)\{(.*)\} \S+$", metrics, re.M):
        family = name if name in found else re.sub(r"_(bucket|sum|count)$", "", name)
        found[family] |= set(re.findall(r'(?:^|,)(\w+)="', labels)) - {"le"}
    return found
