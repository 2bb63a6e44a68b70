"""Clients as programs, built once, and how the tests run them."""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Optional

import pytest

from testbed.toolchain import find_go

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD_SECONDS = 900


def run(command: Sequence[object], folder: Path, env: Optional[Mapping[str, str]] = None, seconds: float = 120) -> str:
    """Runs a program that must end with 0; what it prints."""
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, check=False,
                          env={**os.environ, **(env or {})}, timeout=seconds)
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="session")
def build_go(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """build_go(folder, package): the program of a Go package, by the go.mod of that folder of tests/interop."""

    def build(folder: str, package: str) -> Path:
        program = tmp_path_factory.mktemp(folder) / folder
        go = find_go(HERE / folder / "go.mod")
        run([go, "build", "-mod=readonly", "-o", program, package], HERE / folder, seconds=BUILD_SECONDS)
        return program

    return build


@pytest.fixture(scope="session")
def grpc_go(build_go: Callable[[str, str], Path]) -> Path:
    """The client by grpc-go."""
    return build_go("go", ".")


@pytest.fixture(scope="session")
def ghz(build_go: Callable[[str, str], Path]) -> Path:
    """The load generator."""
    return build_go("ghz", "github.com/bojand/ghz/cmd/ghz")


@pytest.fixture(scope="session")
def grpc_cpp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client by grpc++."""
    folder = tmp_path_factory.mktemp("cpp")
    protos = [ROOT / "api", ROOT / "common/grpc/proto"]
    names = ["sluice/v1/decisions.proto", "grpc/health/v1/health.proto", "grpc/reflection/v1/reflection.proto"]
    run(["protoc", *(f"-I{proto}" for proto in protos), f"--cpp_out={folder}", f"--grpc_out={folder}",
         "--plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin", *names], folder)
    flags = run(["pkg-config", "--cflags", "--libs", "grpc++", "protobuf"], folder).split()
    sources = sorted(folder.rglob("*.cc"))
    run(["g++", "-std=c++17", f"-I{folder}", "-o", "client", HERE / "cpp/main.cpp", *sources, *flags], folder, seconds=BUILD_SECONDS)
    return folder / "client"
