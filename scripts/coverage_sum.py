"""Sums line coverage of common/, agent/ and server/ out of llvm-cov's summary and compares each with the least allowed.

Usage: coverage_sum.py SUMMARY_JSON MIN_PERCENT
"""

import json
import sys
from pathlib import Path


PARTS = ("common", "engine", "agent", "server")


def layers_of(summary: Path) -> dict[str, tuple[int, int]]:
    """Covered lines and all lines of each layer: "common/base", "agent", "server/admin"."""
    root = Path(__file__).resolve().parent.parent
    layers: dict[str, tuple[int, int]] = {}
    for file in json.loads(summary.read_text())["data"][0]["files"]:
        path = Path(file["filename"])
        if not path.is_relative_to(root):
            continue
        parts = path.relative_to(root).parts[:-1]
        layer = "/".join(parts[:1] if parts[0] == "agent" else parts[:2])
        lines = file["summary"]["lines"]
        covered, count = layers.get(layer, (0, 0))
        layers[layer] = (covered + lines["covered"], count + lines["count"])
    return layers


def line(name: str, covered: int, count: int) -> str:
    """One line of the table."""
    return f"{name:<18} {100 * covered / max(1, count):6.2f} %  ({covered} of {count} lines)"


def main() -> int:
    """Prints the coverage of each layer and of each part; 1 where a part is below the least allowed, or is not there."""
    if len(sys.argv) != 3 or "-h" in sys.argv or "--help" in sys.argv:
        print(__doc__)
        return 0 if len(sys.argv) == 2 else 2
    layers, least = layers_of(Path(sys.argv[1])), float(sys.argv[2])
    for layer, lines in sorted(layers.items()):
        print(line(layer, *lines))
    low = False
    for part in PARTS:
        of_part = [lines for layer, lines in layers.items() if layer.split("/")[0] == part]
        covered, count = (sum(lines[i] for lines in of_part) for i in (0, 1))
        low |= count == 0 or 100 * covered / count < least
        print(line(part, covered, count) + f", at least {least:g} % wanted")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
