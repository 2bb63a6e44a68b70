"""What a run leaves behind for the validator: agents' events, writes, what was broken when, and the end of it all."""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from simulator.history import History, Name, Scope


@dataclass(frozen=True)
class Event:
    """One line of the swarm's log."""

    t: int   # µs, monotonic
    agent: int
    what: str
    more: dict[str, Any]

    @property
    def revision(self) -> Optional[int]:
        """Of its position."""
        value: Optional[int] = self.more["revision"]
        return value

    @property
    def chain(self) -> str:
        """Of its position."""
        return str(self.more["chain"])


def read_events(lines: Iterable[str]) -> dict[int, list[Event]]:
    """By agent, in order. A last line that was cut is no event."""
    found: dict[int, list[Event]] = defaultdict(list)
    for line in lines:
        if line.endswith("\n"):
            more = json.loads(line)
            event = Event(more.pop("t"), more.pop("agent"), more.pop("what"), more)
            found[event.agent].append(event)
    return dict(found)


def read_log(path: Path) -> dict[int, list[Event]]:
    """The file."""
    with path.open(encoding="utf-8") as file:
        return read_events(file)


@dataclass(frozen=True)
class Wrote:
    """A write that was acknowledged: with which revision, and what it must have done."""

    revision: int
    objects: tuple[tuple[Name, Optional[str]], ...]   # and a text that is in each document; None: removed
    sent_us: int = 0
    acknowledged_us: int = 0


@dataclass(frozen=True)
class Burst:
    """Writes without a pause, while nothing was broken, and some time to settle."""

    begin_us: int
    last_us: int   # the last one was acknowledged
    settled_us: int
    writes: int


@dataclass(frozen=True)
class Claim:
    """What the server said of a revision: whether all agents enforce it."""

    revision: int
    by_all: bool
    answered_us: int
    agents: dict[str, int] = field(default_factory=dict)   # how many of each class


@dataclass(frozen=True)
class Shown:
    """An agent as operators see it."""

    status: str
    connected: bool
    revision: Optional[int]
    chain: str
    scope: Scope


@dataclass
class Final:
    """An agent at the end."""

    alive: bool
    connected: bool
    revision: Optional[int]
    chain: str
    checksum: str


@dataclass
class Run:
    """All of it."""

    scopes: dict[int, Scope]   # of each agent
    events: dict[int, list[Event]]
    history: History
    head: tuple[int, str]      # as the server says at the end
    writes: list[Wrote] = field(default_factory=list)
    bursts: list[Burst] = field(default_factory=list)
    exported: dict[Name, str] = field(default_factory=dict)   # at the end
    finals: dict[int, Final] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    shown: dict[int, Shown] = field(default_factory=dict)     # at the end
    faults: dict[str, int] = field(default_factory=dict)      # how often what was broken
    resync_allowed: bool = False   # the history itself was changed
