"""docs/reference says what the programs say: scripts/docs --check."""

import shutil
import subprocess
from pathlib import Path

import pytest

from support.markdown import ROOT

GENERATED = ["environment.md", "errors.md", "flags.md", "metrics.md", "openapi-agent.json", "openapi-server.json", "sluicectl.md"]


@pytest.fixture
def programs(program: Path, server_program: Path, sluicectl_program: Path, tmp_path: Path) -> Path:
    """A folder with the programs under test."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "sluice-agent").symlink_to(program.resolve())
    (folder / "sluice-server").symlink_to(server_program.resolve())
    (folder / "sluicectl").symlink_to(sluicectl_program.resolve())
    return folder


def check(programs: Path, *options: object) -> subprocess.CompletedProcess[str]:
    """Runs scripts/docs --check."""
    return subprocess.run([ROOT / "scripts/docs", "--check", "--bin", programs, *map(str, options)], capture_output=True, text=True,
                          check=False, timeout=60)


def test_the_committed_pages_are_those_that_the_programs_give(programs: Path) -> None:
    done = check(programs)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("page", GENERATED)
def test_a_page_that_was_edited_by_hand_is_found(programs: Path, tmp_path: Path, page: str) -> None:
    folder = tmp_path / "reference"
    shutil.copytree(ROOT / "docs/reference", folder)
    lines = (folder / page).read_text().splitlines(keepends=True)
    (folder / page).write_text("".join(lines[:-1]))
    done = check(programs, "--into", folder)
    assert done.returncode == 1
    assert page in done.stderr
