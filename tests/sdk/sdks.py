"""The SDKs under test: how the adapter of each is built and started."""

import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "sdk"


@dataclass(frozen=True)
class Sdk:
    """One SDK. Commands run in its folder. `cancels`: whether its language can cancel a call that is under way."""

    name: str
    folder: Path
    command: tuple[str, ...]
    build: tuple[tuple[str, ...], ...] = ()
    cancels: bool = True


SDKS = (
    Sdk("python", FOLDER / "python", (sys.executable, "conformance.py", "sync"), cancels=False),
    Sdk("python-async", FOLDER / "python", (sys.executable, "conformance.py", "async")),
)
