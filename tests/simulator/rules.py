"""The guarantees of policy sync, each as a rule that looks at a run and says where it does not hold."""

import bisect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Optional

from simulator.history import Scope
from simulator.record import Event, Run

WINDOW_US = 100_000   # of the coalescers
CONTENT = ("full", "delta")


@dataclass(frozen=True)
class Finding:
    """Where a rule is broken."""

    rule: str
    agent: Optional[int]
    t: int
    text: str

    def __str__(self) -> str:
        who = "" if self.agent is None else f" agent {self.agent}"
        return f"{self.rule}:{who}{f' at {self.t} µs' if self.t else ''}: {self.text}"


Rule = Callable[[Run], Iterator[Finding]]
RULES: dict[str, Rule] = {}


def rule(check: Callable[[Run], Iterator[tuple[Optional[int], int, str]]]) -> Rule:
    """Gives each finding the name of its rule."""

    def named(run: Run) -> Iterator[Finding]:
        for agent, t, text in check(run):
            yield Finding(check.__name__, agent, t, text)

    RULES[check.__name__] = named
    return named


def each(run: Run) -> Iterator[tuple[int, Event]]:
    """All events, agent by agent."""
    for agent, events in run.events.items():
        for event in events:
            yield agent, event


@rule
def order(run: Run) -> Iterator[tuple[Optional[int], int, str]]:
    """On one watch revisions strictly increase; a heartbeat may repeat the last one."""
    for agent, events in run.events.items():
        last = -1
        for event in events:
            if event.what in ("started", "killed", "watch_open", "watch_lost"):
                last = -1
            if event.what != "line" or event.revision is None:
                continue
            kind = event.more["kind"]
            if event.revision < last or (event.revision == last and kind == "invalidation"):
                yield agent, event.t, f"{kind} of revision {event.revision} after {last} on one watch"
            last = max(last, event.revision)


@rule
def of_history(run: Run) -> Iterator[tuple[Optional[int], int, str]]:
    """Every position that was spoken of is one of the history."""
    for agent, event in each(run):
        if event.what not in ("line", "swap", "adopted", "refused") or event.revision is None:
            continue
        known = run.history.chains.get(event.revision)
        if known is None and event.revision >= run.history.base:
            yield agent, event.t, f"{event.what} of revision {event.revision}, which never was"
        elif known is not None and known != event.chain:
            yield agent, event.t, f"{event.what} of revision {event.revision} with chain {event.chain}, which is {known}"


@rule
def whole_states(run: Run) -> Iterator[tuple[Optional[int], int, str]]:
    """Whatever was put in force, and whatever head was adopted, is the state of exactly that revision: nothing of a
    delta is missing, no write is seen in part."""
    for agent, events in run.events.items():
        checksum = ""
        for event in events:
            if event.what == "started" and event.revision is None:
                checksum = ""
            if event.what == "swap":
                checksum = event.more["checksum"]
            if event.what not in ("swap", "adopted") and not moved(event):
                continue
            assert event.revision is not None
            wanted = run.history.checksum(run.scopes[agent], event.revision)
            if checksum != wanted:
                yield agent, event.t, (f"{event.what}: the state of revision {event.revision} of {run.scopes[agent]} adds up to "
                                       f"{wanted[:16]}…, not to {checksum[:16]}…")


def moved(event: Event) -> bool:
    """Whether a fetch ended with a later head and an unchanged scope."""
    return event.what == "fetch_end" and event.more["result"] in ("revision_only", "unchanged") and event.revision is not None


@rule
def forward(run: Run) -> Iterator[tuple[Optional[int], int, str]]:
    """What is in force never goes back to an earlier revision, also not over a restart that kept its state."""
    for agent, events in run.events.items():
        last = -1
        for event in events:
            if event.what == "started":
                last = -1 if event.revision is None else max(last, event.revision)
            if event.what not in ("swap", "adopted") or event.revision is None:
                continue
            if event.revision < last:
                yield agent, event.t, f"{event.what} of revision {event.revision} after {last}"
            last = event.revision


@rule
def fetches(run: Run) -> Iterator[tuple[Optional[int], int, str]]:
    """One fetch at a time; each goes on from what is in force; what it brought is put in force before it ends."""
    for agent, events in run.events.items():
        in_force: Optional[int] = None
        begun: Optional[Event] = None
        swapped: Optional[int] = None
        for event in events:
            if event.what == "started":
                in_force, begun = event.revision, None
            elif event.what == "fetch_begin":
                if begun is not None:
                    yield agent, event.t, f"a fetch begins during the one of {begun.t} µs"
                begun, swapped = event, None
                if event.revision is not None and event.revision != in_force:
                    yield agent, event.t, f"a fetch since revision {event.revision}, where {in_force} is in force"
            elif event.what == "swap":
                if begun is None:
                    yield agent, event.t, "a state that nobody fetched"
                in_force = swapped = event.revision
            elif event.what == "adopted":
                in_force = event.revision
            elif event.what == "fetch_end":
                if begun is None:
                    yield agent, event.t, "a fetch ends that has not begun"
                if event.more["result"] in CONTENT and swapped is None:
                    yield agent, event.t, f"a fetch ends as {event.more['result']}, and nothing was put in force"
                if moved(event):
                    in_force = event.revision
                begun = None


@rule
def resumed(run: Run) -> Iterator[tuple[Optional[int], int, str]]:
    """An agent that has a state goes on with deltas, unless they are as large as the whole, through whatever was lost; and
    whoever lost its watch has one again."""
    for agent, events in run.events.items():
        has_state = refused = False
        watching: Optional[bool] = None
        since: Optional[int] = None
        for event in events:
            if event.what == "started":
                has_state, refused, watching = event.revision is not None, False, False
            elif event.what == "fetch_begin":
                since = event.revision
            elif event.what == "refused":
                refused = True
            elif event.what == "watch_open":
                watching = True
            elif event.what == "watch_lost":
                watching = False
            elif event.what == "killed":
                watching = None
            elif event.what == "fetch_end" and event.more["result"] == "resync" and not run.resync_allowed:
                yield agent, event.t, f"told to begin anew, of a history that goes on: {event.more.get('text', '')}"
            elif event.what == "swap":
                if (event.more["whole"] and has_state and not refused and not run.resync_allowed and event.revision is not None
                        and (since is None or not run.history.delta_is_large(run.scopes[agent], since, event.revision))):
                    yield agent, event.t, f"was given a whole state, though it had that of revision {since} of this history"
                has_state, refused = True, False
        if watching is False:
            yield agent, events[-1].t, "has no watch at the end"


@rule
def reliable(run: Run) -> Iterator[tuple[Optional[int], int, str]]:
    """Each acknowledged write is in the history, with the revision that was answered, and with all its objects."""
    for write in run.writes:
        made = {change.name: change for change in run.history.by_revision.get(write.revision, []) if change.kind != "agent-token"}
        for name, marker in write.objects:
            change = made.get(name)
            if change is None:
                yield None, write.acknowledged_us, f"the write acknowledged as revision {write.revision} of {name} is not there"
            elif (change.document is None) != (marker is None) or (marker is not None and marker not in str(change.document)):
                yield None, write.acknowledged_us, f"revision {write.revision} has other content of {name} than was acknowledged"
        if len(made) != len(write.objects):
            yield None, write.acknowledged_us, f"revision {write.revision} changed {len(made)} objects, not {len(write.objects)}"


@rule
def exported(run: Run) -> Iterator[tuple[Optional[int], int, str]]:
    """What the server exports at the end is what its history leads to, byte for byte."""
    wanted = {name: text for name, text in run.history.content(Scope()).items() if name[0] != "settings"}
    for name in wanted.keys() | run.exported.keys():
        if wanted.get(name) != run.exported.get(name):
            yield None, 0, f"{name} is {run.exported.get(name)} in the export, and {wanted.get(name)} in the history"


@rule
def at_head(run: Run) -> Iterator[tuple[Optional[int], int, str]]:
    """All end at the head, connected, with their scope's content."""
    if (run.history.head, run.history.chains.get(run.history.head)) != run.head:
        yield None, 0, f"the server's head is {run.head}, the history's {run.history.head}"
    for agent, final in run.finals.items():
        if not final.alive:
            continue
        if not final.connected:
            yield agent, 0, "is not connected at the end"
        if (final.revision, final.chain) != run.head:
            yield agent, 0, f"ends at revision {final.revision}, not at the head {run.head[0]}"
        elif final.checksum != run.history.checksum(run.scopes[agent], run.head[0]):
            yield agent, 0, f"ends at the head, but with other content than {run.scopes[agent]} has"


@rule
def fleet_view(run: Run) -> Iterator[tuple[Optional[int], int, str]]:
    """At the end operators see every agent, live, connected and at the head, with its token's scope; and are told so."""
    for agent, final in run.finals.items():
        shown = run.shown.get(agent)
        if not final.alive:
            continue
        if shown is None:
            yield agent, 0, "is not listed"
        elif (shown.status, shown.connected, shown.revision, shown.chain) != ("live", True, *run.head):
            yield agent, 0, f"is listed as {shown}, and the head is {run.head[0]}"
        elif (shown.scope.organization, sorted(shown.scope.tenants)) != (run.scopes[agent].organization,
                                                                         sorted(run.scopes[agent].tenants)):
            yield agent, 0, f"is listed with the scope {shown.scope}, not {run.scopes[agent]}"
    last = run.claims[-1] if run.claims else None
    if last is None or (last.revision, last.by_all, last.agents.get("total")) != (
            run.head[0], True, sum(final.alive for final in run.finals.values())):
        yield None, 0, f"of the head {run.head[0]} it is said at the end: {last}"


@rule
def enforced_by_all(run: Run) -> Iterator[tuple[Optional[int], int, str]]:
    """Where the server says that all agents enforce a revision, each agent that it knows has it in force by then."""
    for agent, events in run.events.items():
        times, places = in_force_over_time(events)
        for claim in run.claims:
            if not claim.by_all:
                continue
            index = bisect.bisect_right(times, claim.answered_us) - 1
            place = places[index] if index >= 0 else None
            if place is not None and place < claim.revision:
                yield agent, claim.answered_us, f"revision {claim.revision} is said to be enforced by all; here it is {place}"


def in_force_over_time(events: list[Event]) -> tuple[list[int], list[Optional[int]]]:
    """From when on which revision is in force; None: none, or the agent has said good-bye. One that was killed counts as
    where it was."""
    times: list[int] = []
    places: list[Optional[int]] = []
    for event in events:
        if event.what in ("started", "swap", "adopted") or moved(event):
            times.append(event.t)
            places.append(event.revision)
        elif event.what == "leaving":
            times.append(event.t)
            places.append(None)
    return times, places


@rule
def coalesced(run: Run) -> Iterator[tuple[Optional[int], int, str]]:
    """In a burst of a time D no agent fetches more than 1 + ⌈D / 100 ms⌉ times. To an agent the burst lasts until it has heard
    the last of it: a machine that stands still for a moment lengthens it."""
    for burst in run.bursts:
        last = max((write.revision for write in run.writes if burst.begin_us <= write.acknowledged_us <= burst.last_us), default=0)
        for agent, events in run.events.items():
            during = [event for event in events if burst.begin_us <= event.t <= burst.settled_us]
            heard = [event.t for event in during
                     if event.what == "line" and event.more["kind"] == "invalidation" and (event.revision or 0) <= last]
            duration = max([burst.last_us, *heard]) - burst.begin_us
            count = sum(event.what == "fetch_begin" for event in during)
            if count > fetches_allowed(duration):
                yield agent, burst.begin_us, (f"{count} fetches for {burst.writes} writes of which it heard in {duration / 1e6:.2f} s, "
                                              f"of {fetches_allowed(duration)}")


def fetches_allowed(duration_us: int) -> int:
    """By the promise of the coalescers."""
    return 1 + math.ceil(duration_us / WINDOW_US)
