"""A small run that is as it should be, written by hand, for the validator's tests to break."""

import copy
import dataclasses
from typing import Any

from simulator.history import Change, History, Scope
from simulator.record import Burst, Claim, Event, Final, Run, Shown, Wrote
from simulator.validator import Load

SHOP, PLATFORM = Scope("acme", ("shop",)), Scope()
LOAD = Load(agents=2, writes=3, applies=1, swaps_per_agent=1.5, deltas=3, adopted=1, lost_watches=1, faults={"cut_share": 1},
            bursts=1, claims=2)


def make_history() -> History:
    """Revision 1 makes the tenants, 2 two policies at once, 3 a policy of the other tenant, 4 removes one of those of 2."""
    def change(revision: int, kind: str, tenant: str, name: str, document: "str | None", version: int = 1) -> Change:
        return Change(revision, kind, "acme", tenant, name, version, document)

    return History(0, "00" * 32, '{"mode":"enforce"}', [
        change(1, "organization", "", "acme", '{"id":"acme"}'),
        change(1, "tenant", "shop", "shop", '{"id":"shop","organization_id":"acme"}'),
        change(1, "tenant", "other", "other", '{"id":"other","organization_id":"acme"}'),
        change(2, "policy", "shop", "a", '{"id":"a","name":"m1"}'),
        change(2, "policy", "shop", "b", '{"id":"b","name":"m1"}'),
        change(3, "policy", "other", "c", '{"id":"c","name":"m2"}'),
        change(4, "policy", "shop", "b", None, 2)])


class Script:
    """Events of one agent, a millisecond apart."""

    def __init__(self, history: History, agent: int, scope: Scope) -> None:
        self.history, self.agent, self.scope = history, agent, scope
        self.events: list[Event] = []

    def say(self, what: str, revision: "int | None" = -1, **more: Any) -> "Script":
        """One event."""
        if revision != -1:
            more = {"revision": revision, "chain": "" if revision is None else self.history.chains[revision], **more}
        self.events.append(Event(1000 * (1 + len(self.events)), self.agent, what, more))
        return self

    def line(self, kind: str, revision: int) -> "Script":
        """Of the watch."""
        return self.say("line", revision, kind=kind)

    def fetch(self, since: "int | None", to: int, result: str = "delta") -> "Script":
        """A whole one, from its begin to its end."""
        self.say("fetch_begin", since)
        if result in ("full", "delta"):
            self.say("swap", to, whole=int(result == "full"), objects=1, checksum=self.history.checksum(self.scope, to))
        return self.say("fetch_end", to, result=result, since=-1 if since is None else since, text="")


def good_run() -> Run:
    """Two agents that follow four revisions; the first one's watch is cut once."""
    history = make_history()
    first = Script(history, 0, SHOP).say("started", None).fetch(None, 1, "full").say("watch_open").line("invalidation", 2)
    first.fetch(1, 2).line("heartbeat", 3).say("adopted", 3).say("watch_lost", code="disconnected", text="")
    first.say("watch_open").line("invalidation", 4).fetch(3, 4).line("heartbeat", 4)
    second = Script(history, 1, PLATFORM).say("started", None).fetch(None, 1, "full").say("watch_open").line("invalidation", 3)
    second.fetch(1, 3).line("invalidation", 4).fetch(3, 4)
    finals = {agent: Final(True, True, 4, history.chains[4], history.checksum(scope, 4))
              for agent, scope in enumerate((SHOP, PLATFORM))}
    exported = {name: text for name, text in history.content(PLATFORM).items() if name[0] != "settings"}
    writes = [Wrote(2, ((("policy", "shop", "a"), "m1"), (("policy", "shop", "b"), "m1"))),
              Wrote(3, ((("policy", "other", "c"), "m2"),)), Wrote(4, ((("policy", "shop", "b"), None),))]
    claims = [Claim(2, False, 4_500), Claim(3, True, 11_500), Claim(4, True, 20_000, {"total": 2})]
    shown = {agent: Shown("live", True, 4, history.chains[4], scope) for agent, scope in enumerate((SHOP, PLATFORM))}
    return Run({0: SHOP, 1: PLATFORM}, {0: first.events, 1: second.events}, history, (4, history.chains[4]), writes,
               [Burst(0, 150_000, 400_000, 3)], exported, finals, claims, shown, {"cut_share": 1})


def with_event(run: Run, agent: int, index: int, **more: Any) -> Run:
    """The same with one event changed: `what` and `t`, or something of what it says."""
    changed = copy.copy(run)
    changed.events = {number: list(events) for number, events in run.events.items()}
    old = changed.events[agent][index]
    place = {name: more.pop(name) for name in ("what", "t") if name in more}
    changed.events[agent][index] = dataclasses.replace(old, **place, more={**old.more, **more})
    return changed
