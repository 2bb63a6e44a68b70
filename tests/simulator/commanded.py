"""The two C++ programs of a run, and how they are told what to do: a command a line, an answer a line."""

import contextlib
import json
import signal
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.program import findings
from support.server import Server


class Commanded:
    """A child process that takes commands on its standard input. Calls from any thread."""

    def __init__(self, command: Sequence[object], log: Path) -> None:
        self.log = log
        self._lock = threading.Lock()
        with log.open("ab") as errors:
            self._child = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           stderr=errors, text=True, env=Server.environment())
        self.greeting = self._answer()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._child.pid

    def ask(self, *words: object) -> dict[str, Any]:
        """Gives a command; its answer."""
        assert self._child.stdin is not None
        with self._lock:
            self._child.stdin.write(" ".join(str(word) for word in words) + "\n")
            self._child.stdin.flush()
            answer = self._answer()
        assert "error" not in answer, (words, answer)
        return answer

    def _answer(self) -> dict[str, Any]:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            self._child.wait(10)
            raise RuntimeError(f"{self._child.args} ended with {self._child.returncode}: {self.log.read_text()[-2000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Ends it, and looks for what a sanitizer said."""
        with contextlib.suppress(OSError, RuntimeError):
            self.ask("stop")
        try:
            code = self._child.wait(60)
        except subprocess.TimeoutExpired:
            self._child.send_signal(signal.SIGKILL)
            code = self._child.wait(10)
        for pipe in (self._child.stdin, self._child.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()
        assert not findings(self.log), f"a sanitizer found: {findings(self.log)} (log {self.log})"
        assert code == 0, f"{self._child.args} ended with {code} (log {self.log})"
