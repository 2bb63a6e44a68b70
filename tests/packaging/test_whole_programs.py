"""The larger examples, built by their own CMakeLists against the packages, start."""

import shutil
import subprocess
from pathlib import Path

import pytest

from support.unpacked import ROOT, Unpacked, run


@pytest.mark.parametrize(("name", "flags", "status", "text"), [
    ("otlp_pipe", ["--help"], 0, "--collector"), ("beast_server", [], 2, "ADDRESS:PORT POLICIES"), ("egress_worker", [], 2, "POLICIES [WORKERS")])
def test_a_program_is_a_project_of_its_own(
        name: str, flags: list[str], status: int, text: str, unpacked: Unpacked, tmp_path: Path) -> None:
    source = Path(shutil.copytree(ROOT / "examples" / name, tmp_path / name))
    # Debian's own compiler, and C++20.
    run(["cmake", "-G", "Ninja", "-S", str(source), "-B", "build", "-DCMAKE_CXX_COMPILER=g++", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror"],
        tmp_path, unpacked.env)
    run(["cmake", "--build", "build"], tmp_path, unpacked.env)
    done = subprocess.run([str(tmp_path / "build" / name), *flags], env=unpacked.env, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == status and text in done.stdout + done.stderr
    assert "libsluice.so.0" in run(["readelf", "-d", str(tmp_path / "build" / name)], tmp_path)
