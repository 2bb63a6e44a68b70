"""An engine of the library in a process of its own, by the C interface: `library_driver` of the build under test."""

import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Union

from support.process import wait_until
from support.program import findings, program_path

LIMIT = 30
DECIDED = {"within_limit", "limit_exceeded"}   # by Redis


@dataclass(frozen=True)
class Decision:
    """What the engine answered. Times are seconds of time.monotonic()."""

    resource: str
    subject: str
    asked: float
    answered: float
    code: str
    allowed: bool
    reason: str
    remaining: int
    message: str


def bundle(folder: Path) -> Path:
    """Policies by subject: `limited` fills up, `open` never does."""
    path = folder / "policies.yaml"
    path.write_text(f"""format: sluice/v1
tenants: [{{id: shop}}]
policies:
  - {{tenant_id: shop, id: limited, scope: {{resource: limited}}, key_by: [subject],
     limits: [{{name: rate, algorithm: fixed_window, limit: {LIMIT}, window: 1d, align: first}}]}}
  - {{tenant_id: shop, id: open, scope: {{resource: open}}, key_by: [subject],
     limits: [{{name: rate, algorithm: token_bucket, capacity: 300000, refill: 1/1h}}]}}
""")
    return path


class EngineProcess:
    """`threads` and the other options: of sluice_options_set(). `callers`: how many threads of the program ask at once."""

    def __init__(self, folder: Path, *, callers: int = 4, threads: int = 0, **options: Union[str, int, Path]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.threads = threads
        self.log = folder / "engine.log"
        words = {"bundle_file": bundle(folder), "redis_deadline_ms": 250, "threads": threads, **options}
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                [program_path("sluice-agent").with_name("library_driver"), str(callers),
                 *[f"{name}={value}" for name, value in words.items()]],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, bufsize=1)
        assert self._child.stdout is not None
        self.opened = self._child.stdout.readline().strip()   # "opened", or "refused CODE MESSAGE"
        self.decisions: list[Decision] = []
        self._open: dict[int, tuple[str, str, float]] = {}
        self._number = 0
        self._answers = threading.Thread(target=self._read, daemon=True)
        self._answers.start()

    def _read(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            number, code, allowed, reason, remaining, message = line.rstrip("\n").split(" ", 5)
            resource, subject, asked = self._open.pop(int(number))
            self.decisions.append(Decision(resource, subject, asked, time.monotonic(), code, allowed == "1", reason,
                                           int(remaining), message))

    def ask(self, resource: str, subject: str, how: str = "check") -> None:
        """Asks without waiting. `how`: check or async."""
        assert self._child.stdin is not None
        self._number += 1
        self._open[self._number] = (resource, subject, time.monotonic())
        self._child.stdin.write(f"{how} {self._number} {resource} {subject}\n")

    def check(self, resource: str, subject: str) -> Decision:
        """Asks and waits. REQUIRES: nobody else asks meanwhile."""
        before = len(self.decisions)
        self.ask(resource, subject)
        wait_until("the answer", lambda: len(self.decisions) > before)
        return self.decisions[-1]

    def wait_for_redis(self, seconds: float = 10.0) -> None:
        """Until Redis decides."""
        wait_until("a decision by Redis", lambda: self.check("open", "probe").reason in DECIDED, seconds)

    def wait_for_log(self, *parts: str) -> str:
        """The first line of the log that has all these parts."""
        return wait_until(f"{parts} in the log", lambda: next(
            (line for line in self.log.read_text().splitlines() if all(part in line for part in parts)), ""))

    def end(self, last_word: str = "") -> Optional[int]:
        """Ends the input, with `exit` or `leave` as its last line if wanted. The exit status."""
        assert self._child.stdin is not None and self._child.stdout is not None
        if not self._child.stdin.closed:
            if last_word:
                self._child.stdin.write(last_word + "\n")
            self._child.stdin.close()
        status = self._child.wait(timeout=60)
        self._answers.join(60)
        self._child.stdout.close()
        assert findings(self.log) == []
        return status

    def close(self) -> None:
        """Ends it. Every check was answered, once."""
        if self.opened != "opened":
            return
        assert self.end() == 0, self.log.read_text()[-2000:]
        assert self._open == {}


class Steady:
    """`with Steady(engine, subjects)`: checks at `rate` a second, until the block is left; then each has its answer.

    Each other check is of `limited`, the others of `open`. If the engine has threads, each other pair is asynchronous."""

    def __init__(self, engine: EngineProcess, subjects: Iterable[str], rate: float = 400.0) -> None:
        self.engine = engine
        self._subjects = list(subjects)
        self._rate = rate
        self._first = len(engine.decisions)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._failure: Optional[BaseException] = None

    def _run(self) -> None:
        try:
            due, number = time.monotonic(), 0
            while not self._stop.is_set():
                subject = self._subjects[number // 4 % len(self._subjects)]
                self.engine.ask("limited" if number % 2 else "open", subject, "async" if self.engine.threads and number // 2 % 2 else "check")
                number += 1
                due += 1 / self._rate
                time.sleep(max(0.0, due - time.monotonic()))
        except BaseException as failure:  # carried over to the test's own thread
            self._failure = failure

    def __enter__(self) -> "Steady":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(60)
        if self._failure is not None:
            raise self._failure
        wait_until("all answers", lambda: not self.engine._open, 30)

    @property
    def decisions(self) -> list[Decision]:
        """All so far."""
        return self.engine.decisions[self._first:]

    def reasons(self, asked_from: float = 0.0) -> Counter[str]:
        """How many were decided how, of those asked from then on."""
        return Counter(each.reason for each in self.decisions if each.asked >= asked_from)

    def admitted(self) -> Counter[str]:
        """How often `limited` has admitted each subject."""
        return Counter(each.subject for each in self.decisions if each.resource == "limited" and each.allowed)

    def wait_past(self, moment: float) -> None:
        """Until a check that was asked after that moment is answered."""
        wait_until("an answer", lambda: any(each.asked > moment for each in self.decisions[-200:]), 30)
