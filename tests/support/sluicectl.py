"""sluicectl as a user runs it."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

from support.program import FINDINGS, program_path

Done = subprocess.CompletedProcess[str]


class Sluicectl:
    """Runs sluicectl against one server, with a file of contexts of its own and nothing of the caller's environment."""

    def __init__(self, folder: Path, server: str = "", token: str = "") -> None:
        self.program = program_path("sluicectl")
        self.contexts = folder / "contexts.yaml"
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder),
                            "SLUICECTL_CONFIG": str(self.contexts)}
        if server:
            self.environment["SLUICECTL_SERVER"] = server
        if token:
            self.environment["SLUICECTL_TOKEN"] = token

    def run(self, *arguments: str, code: int = 0, stdin: str = "", env: Optional[Mapping[str, str]] = None) -> Done:
        """One command, which must end with this exit code."""
        done = subprocess.run([self.program, *arguments], input=stdin, capture_output=True, text=True, timeout=60, check=False,
                              env={**self.environment, **(env or {})})
        assert not FINDINGS.search(done.stderr), done.stderr
        assert done.returncode == code, f"{arguments}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def json(self, *arguments: str, **options: Any) -> Any:
        """What a command prints as JSON."""
        return json.loads(self.run(*arguments, "-o", "json", **options).stdout)

    def fault(self, *arguments: str, **options: Any) -> str:
        """The one line with which a command fails, without its beginning."""
        done = self.run(*arguments, code=2, **options)
        assert done.stderr.startswith("sluicectl: ") and done.stderr.count("\n") == 1, done.stderr
        return done.stderr.removeprefix("sluicectl: ").strip()
