"""A wall clock that stands where a test puts it, for an agent and a Redis that share it: no test waits for a window."""

import mmap
import struct
import subprocess
from datetime import datetime, timezone
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "integration/support/driven_clock/driven_clock.c"
SECOND_US = 1_000_000


class DrivenClock:
    """The file that driven_clock.c maps, and the library made from it."""

    def __init__(self, folder: Path, year: int) -> None:
        self._library = folder / "driven_clock.so"
        subprocess.run(["clang-19", "-O2", "-shared", "-fPIC", "-o", str(self._library), str(SOURCE), "-ldl"],
                       check=True, timeout=60)
        self._file = folder / "clock"
        self._file.write_bytes(bytes(8))
        with self._file.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 8)
        self.year = year   # of the last next_year()
        self.next_year()

    @property
    def env(self) -> dict[str, str]:
        """What a process has to be started with."""
        return {"LD_PRELOAD": str(self._library), "SLUICE_DRIVEN_CLOCK": str(self._file)}

    @property
    def now_us(self) -> int:
        """Microseconds since the epoch."""
        return int(struct.unpack("=q", self._map[:8])[0])

    def advance(self, seconds: float) -> None:
        """Lets time pass; a negative number puts the clock back."""
        self._set(self.now_us + round(seconds * SECOND_US))

    def next_year(self) -> None:
        """Moves on to the next first of January, 00:00 UTC: far enough for every counter to be untouched again."""
        self.year += 1
        self._set(int(datetime(self.year, 1, 1, tzinfo=timezone.utc).timestamp()) * SECOND_US)

    def _set(self, now_us: int) -> None:
        self._map[:8] = struct.pack("=q", now_us)
