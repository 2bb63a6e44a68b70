"""The modules of the Go SDK: their own tests, and the quick start of the README from the module's zip."""

import json
import os
import re
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sdk.sdks import FOLDER
from support.agent import Agent
from support.bundle import MintedKey
from support.markdown import Page
from support.standard import standard_bundle
from testbed.toolchain import find_go

SDK = FOLDER / "go"
VERSION = "v0.1.0"
MODULES = sorted(path.parent for path in SDK.rglob("go.mod"))


def go(*words: str, cwd: Path, env: "dict[str, str] | None" = None) -> str:
    """What a go command prints; it must end with 0."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
    done = subprocess.run([find_go(SDK / "grpc/go.mod"), *words], cwd=cwd, capture_output=True, text=True, timeout=1500, check=False,
                          env={**variables, "GOWORK": "off", **(env or {})})
    assert done.returncode == 0, f"go {' '.join(words)} in {cwd}:\n{done.stdout[-6000:]}{done.stderr[-6000:]}"
    return done.stdout


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_a_module_passes_its_own_tests(module: Path, program: Path) -> None:
    go("vet", "./...", cwd=module)
    assert go("mod", "tidy", "-diff", cwd=module) == ""
    printed = go("test", "-race", "-count=1", "-p", "1", "./...", cwd=module, env={"TEST_AGENT": str(program)})
    assert re.search(r"^ok\s", printed, re.M), printed


@pytest.mark.timeout(900)
def test_a_check_costs_little_and_leaks_nothing(program: Path) -> None:
    """These tests are not for the race detector, which slows our code and not the agent."""
    printed = go("test", "-count=1", "-v", "-run", "CostsAtMost|NothingLeaks", ".", cwd=SDK, env={"TEST_AGENT": str(program)})
    assert printed.count("--- PASS: ") == 2, printed


def test_the_code_is_formatted_and_the_core_needs_nothing() -> None:
    formatter = Path(find_go(SDK / "go.mod")).with_name("gofmt")
    done = subprocess.run([formatter, "-l", "."], cwd=SDK, capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert "require" not in (SDK / "go.mod").read_text()


def publish(proxy: Path) -> None:
    """Puts the core where a module proxy would have it (https://go.dev/ref/mod#goproxy-protocol)."""
    folder = proxy / "sluice.dev/go/@v"
    folder.mkdir(parents=True)
    nested = [module for module in MODULES if module != SDK]
    with zipfile.ZipFile(folder / f"{VERSION}.zip", "w") as archive:
        for path in sorted(SDK.rglob("*")):
            inside = path.relative_to(SDK)
            if path.is_file() and inside.parts[0] != "build" and not any(path.is_relative_to(module) for module in nested):
                archive.write(path, f"sluice.dev/go@{VERSION}/{inside}")
    (folder / f"{VERSION}.mod").write_bytes((SDK / "go.mod").read_bytes())
    (folder / f"{VERSION}.info").write_text(json.dumps({"Version": VERSION, "Time": "2026-01-01T00:00:00Z"}))
    (folder / "list").write_text(f"{VERSION}\n")


@pytest.mark.timeout(600)
def test_the_quick_start_works_as_it_is_pasted(make_agent: Callable[..., Agent], key: MintedKey, other_key: MintedKey, tmp_path: Path) -> None:
    agent = make_agent(standard_bundle(key, other_key), "memory").start()
    publish(tmp_path / "proxy")
    block = Page(SDK / "README.md").blocks("sh")[0]
    empty = tmp_path / "empty"
    empty.mkdir()
    done = subprocess.run(["bash", "-ec", block.text], cwd=empty, capture_output=True, text=True, timeout=500, check=False, env={
        **os.environ, "PATH": f"{Path(find_go(SDK / 'go.mod')).parent}:{os.environ['PATH']}", "GOWORK": "off", "GOFLAGS": "-modcacherw",
        "GOMODCACHE": str(tmp_path / "modules"), "GOPROXY": f"file://{tmp_path / 'proxy'}", "GONOSUMDB": "sluice.dev/*", "GOTOOLCHAIN": "local",
        "SLUICE_URL": f"http://127.0.0.1:{agent.port}", "SLUICE_API_KEY": key.text, "SLUICE_TIMEOUT": "10s"})
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if re.match(r"\d ", line)]
    assert [line[1] for line in lines] == ["true"] * 5 + ["false"] * 2, done.stdout
    assert lines[-1][2] == "limit_exceeded"
