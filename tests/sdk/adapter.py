"""A running adapter: questions go to its standard input, answers come from its standard output (sdk/CONTRACT.md)."""

import itertools
import json
import os
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

from sdk.sdks import Sdk

PATIENCE = 60.0   # seconds until an operation counts as hung, on a busy machine


class Pending:
    """A question whose answer may not be there yet."""

    def __init__(self, number: int, text: str) -> None:
        self.number = number
        self._text = text
        self._there = threading.Event()
        self._answer: dict[str, Any] = {}

    def set(self, answer: dict[str, Any]) -> None:
        """The answer has come."""
        self._answer = answer
        self._there.set()

    def done(self) -> bool:
        """Whether the answer is there."""
        return self._there.is_set()

    def answer(self, seconds: float = PATIENCE) -> dict[str, Any]:
        """Waits for the answer."""
        assert self._there.wait(seconds), f"the adapter did not answer within {seconds:g} s: {self._text}"
        return self._answer

    def decision(self) -> dict[str, Any]:
        """The decision; the operation must not have raised."""
        answer = self.answer()
        assert "decision" in answer, f"no decision: {answer}"
        return answer["decision"]


class Adapter:
    """One process. `env`: variables besides those that it needs; it sees none that start with SLUICE_ but these."""

    def __init__(self, sdk: Sdk, log: Path, env: Optional[Mapping[str, str]] = None) -> None:
        self.sdk = sdk
        self.log = log
        self._numbers = itertools.count(1)
        self._pending: dict[int, Pending] = {}
        self._lock = threading.Lock()
        inherited = {name: value for name, value in os.environ.items()
                     if not name.startswith("SLUICE_") and not name.lower().endswith("_proxy")}
        with log.open("ab") as output:
            self._process = subprocess.Popen(sdk.command, cwd=sdk.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                             stderr=output, env={**inherited, **(env or {})}, text=True, encoding="utf-8")
        ready = threading.Event()
        self._reader = threading.Thread(target=self._read, args=(ready,), daemon=True)
        self._reader.start()
        assert ready.wait(PATIENCE), f"{sdk.name}: the adapter did not say that it is ready: {self.output()[-3000:]}"
        assert self.greeting.get("ready") is True, f"{sdk.name}: {self.greeting}; {self.output()[-3000:]}"

    greeting: dict[str, Any] = {}

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def output(self) -> str:
        """Its log so far: what it wrote to its standard error."""
        return self.log.read_text(errors="replace")

    def send(self, op: str, **members: Any) -> Pending:
        """Asks without waiting."""
        with self._lock:
            number = next(self._numbers)
            line = json.dumps({"id": number, "op": op, **members})
            pending = self._pending[number] = Pending(number, line[:300])
            assert self._process.stdin is not None
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        return pending

    def ask(self, op: str, **members: Any) -> dict[str, Any]:
        """Asks and waits for the answer."""
        return self.send(op, **members).answer()

    def close(self) -> None:
        """Ends its input, which ends it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            code = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise AssertionError(f"{self.sdk.name}: the adapter did not end with its input") from None
        assert code == 0, f"{self.sdk.name}: the adapter ended with {code}: {self.output()[-3000:]}"

    def _read(self, ready: threading.Event) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer = json.loads(line)
            if not ready.is_set():
                self.greeting = answer
                ready.set()
                continue
            self._pending.pop(answer["id"]).set(answer)
        ready.set()


_names = itertools.count(1)


class ClientUnderTest:
    """A client in an adapter, with a name of its own. Its options are those of sdk/CONTRACT.md."""

    def __init__(self, adapter: Adapter, **options: Any) -> None:
        self.adapter = adapter
        self.name = f"client{next(_names)}"
        made = adapter.ask("new", client=self.name, options=options)
        assert made.get("ok") is True, made

    def send(self, op: str = "check", **members: Any) -> Pending:
        """Any operation of this client, without waiting."""
        return self.adapter.send(op, client=self.name, **members)

    def check(self, **fields: Any) -> dict[str, Any]:
        """The decision of one check."""
        return self.send(check=fields).decision()

    def elapsed_and_check(self, **fields: Any) -> tuple[float, dict[str, Any]]:
        """How many seconds a check took as the adapter saw it, and its decision."""
        pending = self.send(check=fields)
        decision = pending.decision()
        return float(pending.answer()["elapsed_ms"]) / 1000, decision

    def raised(self, op: str = "check", **members: Any) -> dict[str, Any]:
        """What an operation raises."""
        answer = self.send(op, **members).answer()
        assert "raised" in answer, f"it did not raise: {answer}"
        return answer["raised"]

    def batch(self, *checks: dict[str, Any]) -> list[dict[str, Any]]:
        """The decisions of a batch."""
        answer = self.send("check_batch", checks=list(checks)).answer()
        assert "decisions" in answer, answer
        return answer["decisions"]

    def wait(self, up_to_ms: int, **fields: Any) -> tuple[float, dict[str, Any]]:
        """How many seconds it waited, and the decision."""
        pending = self.send("wait", check=fields, up_to_ms=up_to_ms)
        decision = pending.decision()
        return float(pending.answer()["elapsed_ms"]) / 1000, decision

    def lease(self, name: str, keep_alive: bool = False, **fields: Any) -> dict[str, Any]:
        """Opens a block; the decision."""
        return self.send("lease", lease=name, check=fields, keep_alive=keep_alive).decision()

    def end_lease(self, name: str, how: str = "return") -> dict[str, Any]:
        """Ends a block."""
        answer = self.adapter.ask("end_lease", lease=name, how=how)
        assert answer.get("ok") is True, answer
        return answer

    def close(self) -> None:
        """Closes the client."""
        assert self.adapter.ask("close", client=self.name).get("ok") is True
