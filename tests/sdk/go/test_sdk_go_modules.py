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
from support.bundle import Bundle, MintedKey, token_bucket
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


def publish(proxy: Path, module: Path = SDK) -> None:
    """Puts a module where a module proxy would have it (https://go.dev/ref/mod#goproxy-protocol)."""
    name = "sluice.dev/go" if module == SDK else f"sluice.dev/go/{module.name}"
    folder = proxy / name / "@v"
    folder.mkdir(parents=True)
    nested = [other for other in MODULES if other != module and other.is_relative_to(module)]
    with zipfile.ZipFile(folder / f"{VERSION}.zip", "w") as archive:
        for path in sorted(module.rglob("*")):
            inside = path.relative_to(module)
            if path.is_file() and inside.parts[0] != "build" and not any(path.is_relative_to(other) for other in nested):
                archive.write(path, f"{name}@{VERSION}/{inside}")
    (folder / f"{VERSION}.mod").write_bytes((module / "go.mod").read_bytes())
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


def from_zips(proxy: Path, folder: Path) -> dict[str, str]:
    """The environment of a program that gets our modules from their zips, and those of others from what this machine has, else from their usual
    place. It has a cache of its own, so that ours do not stay in that of this machine."""
    usual = json.loads(go("env", "-json", "GOMODCACHE", "GOPROXY", cwd=SDK))
    return {"GOPROXY": f"file://{proxy},file://{usual['GOMODCACHE']}/cache/download,{usual['GOPROXY']}", "GOMODCACHE": str(folder / "modules"),
            "GOFLAGS": "-modcacherw -mod=mod", "GONOSUMDB": "*", "GOTOOLCHAIN": "local"}


@pytest.mark.timeout(1200)
def test_the_modules_of_frameworks_work_from_their_zips(make_agent: Callable[..., Agent], key: MintedKey, tmp_path: Path) -> None:
    """Without the `replace` that they have in this repository, in one program that uses all of them."""
    bundle = Bundle().key(key).plan("one", token_bucket(1, "1/1h"))
    for name, resource in (("users", "GET:/users/{id}"), ("grpc", "POST:/grpc.health.v1.Health/Check"), ("topic", "topic:orders"), ("logs", "log:shop")):
        bundle.policy(name, {"resource": resource}, "one", key_by=["subject"])
    agent = make_agent(bundle, "memory").start()
    for module in MODULES:
        publish(tmp_path / "proxy", module)
    program = tmp_path / "program"
    program.mkdir()
    (program / "main.go").write_text((Path(__file__).parent / "every_module.go.txt").read_text())
    env = from_zips(tmp_path / "proxy", tmp_path)
    go("mod", "init", "every.module", cwd=program, env=env)
    go("get", *(f"sluice.dev/go{'' if module == SDK else '/' + module.name}@{VERSION}" for module in MODULES), cwd=program, env=env)
    go("mod", "tidy", cwd=program, env=env)
    assert "replace" not in (program / "go.mod").read_text()
    assert "sluice.dev/go/grpc" in (program / "go.sum").read_text()
    printed = go("run", ".", cwd=program, env={**env, "SLUICE_URL": f"http://127.0.0.1:{agent.port}", "SLUICE_API_KEY": key.text,
                                               "SLUICE_TIMEOUT": "10s", "SLUICE_ON_ERROR": "raise"})
    assert json.loads(printed) == {
        "chi": [200, 429], "echo": [200, 429], "fiber": [200, 429], "gin": [200, 429], "grpc": ["OK", "ResourceExhausted"],
        "kafka": "made", "nats": ["handled", "denied"], "otel": "00-01000000000000000000000000000000-0200000000000000-00", "otelcol": [1, 0]}
