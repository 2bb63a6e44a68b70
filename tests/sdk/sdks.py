"""The SDKs under test: how the adapter of each is built and started."""

import sys
from dataclasses import dataclass
from pathlib import Path

from sdk.node import node
from testbed.failure import Failure
from testbed.toolchain import find_go

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


def _go() -> str:
    """The go command; without one, a name that the build then misses."""
    try:
        return find_go(FOLDER / "go/go.mod")
    except Failure:
        return "go"


SDKS = (
    Sdk("python", FOLDER / "python", (sys.executable, "conformance.py", "sync"), cancels=False),
    Sdk("java", FOLDER / "java", ("java", "-cp", "client/target/classes:conformance/target/classes", "dev.sluice.conformance.Adapter"),
        build=(("mvn", "-q", "-B", "package"),)),
    Sdk("python-async", FOLDER / "python", (sys.executable, "conformance.py", "async")),
    Sdk("go", FOLDER / "go", (str(FOLDER / "go/build/conformance"),),
        (("sh", "-c", f'{_go()} build -o build/conformance.$$ ./conformance && mv build/conformance.$$ build/conformance'),)),
    Sdk("typescript", FOLDER / "typescript", (node(), "conformance/adapter.mjs"), ((node(), "scripts/build.mjs"),)),
)
