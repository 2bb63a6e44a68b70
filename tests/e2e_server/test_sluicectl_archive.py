"""The archive of sluicectl: what is in it, and that the same program makes the same bytes."""

import hashlib
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STATICALLY_LINKED = {"libssl-dev", "libyaml-cpp-dev", "zlib1g-dev", "libc6-dev", "libfmt-dev", "libboost1.81-dev", "libcli11-dev",
                     "rapidjson-dev", "libstdc++-12-dev"}


def packed(program: Path, out: Path) -> Path:
    """The archive."""
    subprocess.run([ROOT / "scripts/sluicectl-archive", "--bin", program.parent, "--out", out], check=True, capture_output=True, timeout=120)
    return next(out.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def archive(sluicectl_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of the program under test."""
    return packed(sluicectl_program, tmp_path_factory.mktemp("archive"))


def test_the_same_program_makes_the_same_bytes(archive: Path, sluicectl_program: Path, tmp_path: Path) -> None:
    again = packed(sluicectl_program, tmp_path)
    assert again.name == archive.name and again.read_bytes() == archive.read_bytes()
    digest, name = (archive.parent / f"{archive.name}.sha256").read_text().split()
    assert (digest, name) == (hashlib.sha256(archive.read_bytes()).hexdigest(), archive.name)


def test_it_holds_the_program_with_its_completions_and_licences(archive: Path, tmp_path: Path) -> None:
    with tarfile.open(archive) as tar:
        assert {(member.uid, member.gid) for member in tar} == {(0, 0)}
        tar.extractall(tmp_path)
    folder = tmp_path / archive.name.removesuffix(".tar.gz")
    said = subprocess.run([folder / "sluicectl", "--version"], capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    assert archive.name.startswith(f"sluicectl-{said}-linux-")
    for shell, file in {"bash": "sluicectl.bash", "zsh": "_sluicectl", "fish": "sluicectl.fish"}.items():
        done = subprocess.run([shell, "-n", folder / "completions" / file], capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
    assert "Apache License" in (folder / "LICENSE").read_text()
    assert {path.name for path in (folder / "licences").iterdir() if path.stat().st_size} == STATICALLY_LINKED
