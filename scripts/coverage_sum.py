"""Sums line coverage of common/ and agent/ out of llvm-cov's summary and compares it with the least allowed.

Usage: coverage_sum.py SUMMARY_JSON MIN_PERCENT
"""

import json
import sys
from pathlib import Path


def main() -> int:
    """Prints the coverage of each layer and of all; 1 where it is below the least allowed."""
    root = Path(__file__).resolve().parent.parent
    least = float(sys.argv[2])
    layers: dict[str, list[int]] = {}
    for file in json.loads(Path(sys.argv[1]).read_text())["data"][0]["files"]:
        path = Path(file["filename"])
        if not path.is_relative_to(root):
            continue
        parts = path.relative_to(root).parts
        layer = parts[0] if parts[0] == "agent" else "/".join(parts[:2])
        lines = file["summary"]["lines"]
        sums = layers.setdefault(layer, [0, 0])
        sums[0] += lines["covered"]
        sums[1] += lines["count"]
    covered, count = (sum(sums[i] for sums in layers.values()) for i in (0, 1))
    for layer, (part, whole) in sorted(layers.items()):
        print(f"{layer:<18} {100 * part / max(1, whole):6.2f} %  ({part} of {whole} lines)")
    percent = 100 * covered / max(1, count)
    print(f"{'common and agent':<18} {percent:6.2f} %  ({covered} of {count} lines), at least {least:g} % wanted")
    return 0 if count and percent >= least else 1


if __name__ == "__main__":
    sys.exit(main())
