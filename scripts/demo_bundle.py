"""Writes the bundle scripts/up starts the agent with: the example plus one API key (only its hash)."""

import argparse
import json
import os
from pathlib import Path
from typing import Any

def write_private(path: Path, text: str) -> None:
    """Replaces a file whole; nobody else may read it."""
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    fresh.replace(path)


def main() -> None:
    """Reads the arguments and writes the files they name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--example", type=Path, required=True, help="the bundle to start from")
    parser.add_argument("--bundle", type=Path, required=True, help="the bundle to write")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--minted", type=Path, help="what `sluice-agent mint-key` printed")
    source.add_argument("--kept", type=Path, help="an earlier bundle, whose keys stay")
    parser.add_argument("--key", type=Path, help="the file to write the key itself to (with --minted)")
    options = parser.parse_args()

    bundle: dict[str, Any] = json.loads(options.example.read_text())
    if options.kept:
        bundle["keys"] = json.loads(options.kept.read_text())["keys"]
    else:
        minted: dict[str, Any] = json.loads(options.minted.read_text())
        bundle["keys"] = [minted["bundle_entry"]]
        if options.key:
            write_private(options.key, minted["key"] + "\n")
    write_private(options.bundle, json.dumps(bundle, indent=1) + "\n")


if __name__ == "__main__":
    main()
