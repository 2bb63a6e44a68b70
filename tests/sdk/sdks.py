"""The SDKs under test: how the adapter of each is built and started."""

import sys
from dataclasses import dataclass
from pathlib import Path

from sdk.node import node
from testbed.failure import Failure
from testbed.toolchain import find_go

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "sdk"
TYPESCRIPT = FOLDER / "typescript"
RUNTIMES = TYPESCRIPT / "test/runtimes/node_modules"   # Bun and Deno; scripts/setup sdk
MAVEN_REPOSITORY = ROOT / ".run/maven"   # tests/generators uses it too


@dataclass(frozen=True)
class Sdk:
    """One SDK. Commands run in its folder. `cancels`: whether its language can cancel a call that is under way.
    `tls`: whether what runs it here has TLS that works. `alerts`: whether it always tells a refused certificate from a
    connection that ended."""

    name: str
    folder: Path
    command: tuple[str, ...]
    build: tuple[tuple[str, ...], ...] = ()
    cancels: bool = True
    tls: bool = True
    alerts: bool = True


def _go() -> str:
    """The go command; without one, a name that the build then misses."""
    try:
        return find_go(FOLDER / "go/go.mod")
    except Failure:
        return "go"


BUILD_TYPESCRIPT = ((node(), "scripts/build.mjs"),)

SDKS = (
    Sdk("python", FOLDER / "python", (sys.executable, "conformance.py", "sync"), cancels=False),
    Sdk("python-async", FOLDER / "python", (sys.executable, "conformance.py", "async")),
    Sdk("go", FOLDER / "go", (str(FOLDER / "go/build/conformance"),),
        (("sh", "-c", f'{_go()} build -o build/conformance.$$ ./conformance && mv build/conformance.$$ build/conformance'),)),
    Sdk("typescript", TYPESCRIPT, (node(), "conformance/adapter.mjs"), BUILD_TYPESCRIPT),
    Sdk("typescript-bun", TYPESCRIPT, (str(RUNTIMES / "@oven/bun-linux-x64/bin/bun"), "conformance/adapter.mjs"), BUILD_TYPESCRIPT),
    Sdk("typescript-deno", TYPESCRIPT, (str(RUNTIMES / "@deno/linux-x64-glibc/deno"), "run", "-A", "conformance/adapter.mjs"), BUILD_TYPESCRIPT, alerts=False),
    Sdk("java", FOLDER / "java", ("java", "-cp", "client/target/classes:conformance/target/classes", "dev.sluice.conformance.Adapter"),
        build=(("mvn", "-q", "-B", f"-Dmaven.repo.local={MAVEN_REPOSITORY}", "-pl", "conformance", "-am", "package", "-Dmaven.test.skip=true"),)),
    Sdk("dotnet", FOLDER / "dotnet", ("mono", "build/conformance.exe"), (("conformance/build",),), tls=False),
)
