"""A program under test: which binary, what a sanitizer said of it, what its metrics say."""

import os
import re
from pathlib import Path

# Whatever a sanitizer found ends up in the log.
FINDINGS = re.compile(r"ERROR: \w*Sanitizer|WARNING: \w*Sanitizer|runtime error:")

# Families that have no sample before the first thing they count.
LAZY_METRICS = {"sluice_decisions_total", "sluice_http_requests_total", "sluice_postgres_errors_total"}


def program_path(name: str) -> Path:
    """The binary that SLUICE_AGENT_BIN or SLUICE_SERVER_BIN names, or the newest build there is."""
    named = os.environ.get(f"{name.replace('-', '_').upper()}_BIN")
    if named:
        return Path(named)
    build = Path(__file__).resolve().parents[2] / "build"
    built = sorted(build.glob(f"*/bin/{name}"), key=lambda path: path.stat().st_mtime)
    return built[-1] if built else build / "asan/bin" / name


def is_sanitized(program: Path) -> bool:
    """Whether the program was built with a sanitizer (its names are in the symbol table)."""
    content = program.read_bytes()
    return b"__asan_init" in content or b"__tsan_init" in content


def findings(log: Path) -> list[str]:
    """Lines of a log in which a sanitizer speaks."""
    if not log.exists():
        return []
    return [line for line in log.read_text(errors="replace").splitlines() if FINDINGS.search(line)]


def metric_sum(text: str, name: str, **labels: str) -> float:
    """The sum of a metric's samples that carry these labels, in what /metrics said. A misspelt name is no 0."""
    assert name in LAZY_METRICS or re.search(rf"^{re.escape(name)}[{{ ]", text, re.M), f"/metrics has no {name}"
    total = 0.0
    for line in text.splitlines():
        found = re.match(rf"{re.escape(name)}(?:\{{(.*)\}})? (\S+)$", line)
        if found and all(f'{label}="{value}"' in (found.group(1) or "") for label, value in labels.items()):
            total += float(found.group(2))
    return total


def withheld(pid: int) -> dict[str, bool]:
    """What a running program keeps from others: its core file, and its memory from debuggers of its own user. Where nobody may
    debug a process, its files in /proc are root's. REQUIRES: root does not run the program."""
    limits = Path(f"/proc/{pid}/limits").read_text(encoding="utf-8")
    return {"core": re.search(r"^Max core file size +0 +0 ", limits, re.M) is not None,
            "memory": os.stat(f"/proc/{pid}/environ").st_uid == 0}
