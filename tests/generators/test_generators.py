"""Four generators make clients of both documents; the clients compile, and a program makes the first calls with them."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

import pytest

from generators.conftest import World
from testbed.toolchain import find_go

HERE = Path(__file__).resolve().parent
INSTALLED = HERE.parents[1] / ".run"   # by scripts/setup generators
DOCUMENTS = ("agent", "server")

# A generator fetches what it needs the first time, and javac reads 200 classes.
pytestmark = pytest.mark.timeout(1800)


def run(command: Sequence[Any], folder: Path, environment: Optional[Mapping[str, str]] = None) -> str:
    """What it prints; all of that is shown where it fails."""
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, check=False,
                          env={**os.environ, **(environment or {})}, timeout=1500)
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}:\n{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
    return done.stdout


def assert_first_calls(printed: str) -> None:
    """What every program says of the calls it made."""
    assert json.loads(printed) == {
        "allowed": [200, "within_limit"], "denied": [429, "limit_exceeded"], "plans": ["pro"], "capacity": 100,
        "policy": "token_bucket", "problem": [422, "/limits/0/capacity"]}


def copied(language: str, folder: Path) -> Path:
    """The program's sources, to generate beside."""
    return Path(shutil.copytree(HERE / language, folder / language))


def test_openapi_typescript_makes_clients_that_compile_strictly_and_make_the_first_calls(world: World, tmp_path: Path) -> None:
    folder, modules = copied("typescript", tmp_path), INSTALLED / "openapi-typescript/node_modules"
    assert modules.is_dir(), f"there is no {modules}: scripts/setup generators"
    (folder / "node_modules").symlink_to(modules)
    for name in DOCUMENTS:
        run([modules / ".bin/openapi-typescript", world.documents / f"{name}.json", "-o", f"{name}.ts"], folder)
    run([modules / ".bin/tsc"], folder)
    assert_first_calls(run(["node", "out/program.js"], folder, world.environment("typescript")))


def test_openapi_python_client_makes_clients_that_make_the_first_calls(world: World, tmp_path: Path) -> None:
    folder, programs = copied("python", tmp_path), INSTALLED / "openapi-python-client/bin"
    assert programs.is_dir(), f"there is no {programs}: scripts/setup generators"
    path = {"PATH": f"{programs}:{os.environ['PATH']}"}   # it formats what it made with its own ruff
    for name in DOCUMENTS:
        printed = run([programs / "openapi-python-client", "generate", "--path", world.documents / f"{name}.json",
                       "--meta", "none", "--output-path", name], folder, path)
        # It makes no bodies of YAML; anything else that it leaves out is a fault of ours.
        assert printed.count("WARNING") == printed.count("Unsupported content type application/yaml"), printed
    assert_first_calls(run([programs / "python", "program.py"], folder, world.environment("python")))


def test_oapi_codegen_makes_clients_that_compile_and_make_the_first_calls(world: World, tmp_path: Path) -> None:
    folder = copied("go", tmp_path)
    go = find_go(folder / "go.mod")
    for name in DOCUMENTS:
        (folder / name).mkdir()
        run([go, "tool", "oapi-codegen", "-generate", "types,client", "-package", name, "-o", f"{name}/{name}.go",
             world.documents / f"{name}.json"], folder)
    run([go, "vet", "./..."], folder)
    run([go, "build", "-o", "program", "."], folder)
    assert_first_calls(run([folder / "program"], folder, world.environment("go")))


def test_openapi_generator_makes_java_clients_that_compile_and_make_the_first_calls(world: World, tmp_path: Path) -> None:
    folder = copied("java", tmp_path)
    run(["mvn", "-q", "-B", f"-Dmaven.repo.local={INSTALLED / 'maven'}", f"-Dsluice.documents={world.documents}",
         "package"], folder)
    assert_first_calls(run(["java", "-cp", "target/classes:target/dependency/*", "Program"], folder,
                           world.environment("java")))
