"""The reference of flags names those of --help, with their defaults."""

import re
import subprocess
from pathlib import Path

import pytest

from support.markdown import ROOT

FLAGS = (ROOT / "docs/reference/flags.md").read_text()


def flags_told(program: str) -> list[tuple[str, str]]:
    """The flags of the table for a program, with their defaults."""
    section = FLAGS.split(f"## Flags of `{program}`")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`--.*?) \| ([^|]*?) \| ", section, re.M)
    return [(flag, default) for names, default in rows for flag in re.findall(r"`(--[a-z-]+)", names)]


@pytest.mark.parametrize("which, least", [("sluice-agent", 13), ("sluice-server", 9)])
def test_the_flags_are_those_of_help_with_their_defaults(which: str, least: int, program: Path, server_program: Path) -> None:
    runs = {"sluice-agent": program, "sluice-server": server_program}[which]
    told = subprocess.run([runs, "--help"], capture_output=True, text=True, check=True).stdout
    rows = flags_told(which)
    assert len(rows) >= least
    for flag, default in rows:
        found = re.search(rf"^  {flag} .*?\[(?:default: (.*?), )?env: (\w+)\]", told, re.M | re.S)
        assert found, f"{flag} is not in --help"
        assert found[2] == f"{which}{flag[1:]}".replace("-", "_").upper()
        expected = {"none": None, "off": "false"}.get(default, default.strip("`"))
        assert found[1] == expected, f"{flag}: the table says {default}, --help {found[1]}"
