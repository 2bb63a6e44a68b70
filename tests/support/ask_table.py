"""Tables of what is asked and what comes back, as examples/README.md writes them:

    | request | status | reply |
    |---|---|---|
    | `+60s` 10 × `"resource":"GET:/orders","subject":"user:42"` | 200 | `"action":"allow","lease_id":"-"` |

Request and reply are the members of a JSON object. Before the request may stand how much later and how often it is
asked. The reply may have more members; one whose value is "-" is not there.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
ABSENT = "-"


@dataclass(frozen=True)
class Row:
    """One row of a table: what is asked, how often, how much later, and what comes back."""

    wait: int
    times: int
    request: dict[str, Any]
    status: int
    reply: dict[str, Any]


def rows_of(section: str) -> list[Row]:
    """The table of a section."""
    found: list[Row] = []
    for line in section.splitlines():
        if not line.startswith("| ") or line.startswith("| request"):
            continue
        row = re.fullmatch(r"\| (?:`\+(\d+)([smhd])` )?(?:(\d+) × )?`([^`]+)` \| (\d{3}) \| `([^`]+)` \|", line)
        assert row, f"this row cannot be read: {line}"
        found.append(Row(int(row[1] or 0) * SECONDS[row[2] or "s"], int(row[3] or 1), json.loads(f"{{{row[4]}}}"),
                         int(row[5]), json.loads(f"{{{row[6]}}}")))
    return found


def differences(expected: dict[str, Any], seen: dict[str, Any]) -> list[str]:
    """What a reply lacks of what is expected of it."""
    found: list[str] = []
    for name, value in expected.items():
        if value == ABSENT:
            found += [f"{name} is there: {seen[name]}"] if name in seen else []
        elif isinstance(value, dict) and isinstance(seen.get(name), dict):
            found += [f"{name}.{text}" for text in differences(value, seen[name])]
        elif seen.get(name, ABSENT) != value:
            found.append(f"{name} is {seen.get(name)!r}, expected {value!r}")
    return found
