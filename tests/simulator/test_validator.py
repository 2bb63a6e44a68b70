"""The validator finds what is broken: in a good record, for every rule, something is broken by hand."""

import copy
import hashlib
from collections.abc import Callable
from typing import Optional

import pytest

from simulator.history import Scope, Sum, checksum, exported_objects, object_hash
from simulator.record import Claim, Event, Final, Run, Shown, Wrote, read_events
from simulator.rules import RULES, fetches_allowed
from simulator.samples import LOAD, PLATFORM, SHOP, good_run, make_history, with_event
from simulator.validator import FAILED, INVALID, PASSED, Load, validate


def index_of(run: Run, agent: int, what: str, nth: int = 0) -> int:
    """The place of an agent's nth event of a kind."""
    return [index for index, event in enumerate(run.events[agent]) if event.what == what][nth]


def changed(run: Run, agent: int, what: str, nth: int, **more: object) -> Run:
    """With this event changed."""
    return with_event(run, agent, index_of(run, agent, what, nth), **more)


def with_events(run: Run, agent: int, events: list[Event]) -> Run:
    """With these events of an agent."""
    other = copy.copy(run)
    other.events = {**run.events, agent: events}
    return other


def without(run: Run, agent: int, what: str, nth: int = 0) -> Run:
    """Without this event."""
    index = index_of(run, agent, what, nth)
    return with_events(run, agent, run.events[agent][:index] + run.events[agent][index + 1:])


def with_final(run: Run, agent: int, final: Final) -> Run:
    """With another end of an agent."""
    other = copy.copy(run)
    other.finals = {**run.finals, agent: final}
    return other


def with_writes(run: Run, *writes: Wrote) -> Run:
    """With more writes."""
    other = copy.copy(run)
    other.writes = [*run.writes, *writes]
    return other


def with_export(run: Run, document: str) -> Run:
    """With other content of a policy in the export."""
    other = copy.copy(run)
    other.exported = {**run.exported, ("policy", "shop", "a"): document}
    return other


def with_shown(run: Run, agent: int, shown: Optional[Shown]) -> Run:
    """With an agent listed otherwise, or not at all."""
    other = copy.copy(run)
    other.shown = {number: place for number, place in {**run.shown, agent: shown}.items() if place is not None}
    return other


def with_claims(run: Run, *claims: Claim) -> Run:
    """With these."""
    other = copy.copy(run)
    other.claims = list(claims)
    return other


def fetching(run: Run, times: int) -> Run:
    """An agent that fetches so often more in the burst."""
    more = []
    for number in range(times):
        where = {"revision": 4, "chain": run.history.chains[4]}
        more += [Event(60_000 + number, 0, "fetch_begin", where),
                 Event(60_000 + number, 0, "fetch_end", {**where, "result": "unchanged", "since": 4, "text": ""})]
    return with_events(run, 0, run.events[0] + more)


H = make_history()
PART = checksum([*((name, text) for name, text in H.content(SHOP).items()), (("policy", "shop", "b"), '{"id":"b","name":"m1"}')])
BROKEN: dict[str, list[Callable[[Run], Run]]] = {
    "order": [lambda run: changed(run, 0, "line", 0, revision=4, chain=H.chains[4]),   # a heartbeat of 3 after it
              lambda run: changed(run, 1, "line", 0, revision=4, chain=H.chains[4])],  # and 4 once more
    "of_history": [lambda run: changed(run, 0, "line", 0, chain="ab" * 32),
                   lambda run: changed(run, 0, "swap", 1, chain=H.chains[1]),
                   lambda run: changed(run, 0, "adopted", 0, chain=H.chains[2]),
                   lambda run: changed(run, 0, "line", 2, revision=9, chain="ab" * 32)],
    "whole_states": [lambda run: changed(run, 0, "swap", 1, checksum=H.checksum(SHOP, 1)),       # a delta that brought nothing
                     lambda run: changed(run, 0, "swap", 1, checksum=PART[::-1]),                # something else
                     lambda run: changed(run, 1, "swap", 1, checksum=H.checksum(PLATFORM, 2)),   # one revision less than it says
                     lambda run: changed(run, 0, "swap", 0, checksum=H.checksum(PLATFORM, 1)),   # of another scope
                     lambda run: changed(run, 0, "adopted", 0, revision=4, chain=H.chains[4])],  # which changed the scope
    "forward": [lambda run: changed(run, 0, "swap", 2, revision=2, chain=H.chains[2])],
    "fetches": [lambda run: without(run, 0, "fetch_end", 1), lambda run: without(run, 0, "fetch_begin", 1),
                lambda run: without(run, 0, "swap", 1),
                lambda run: changed(run, 0, "fetch_begin", 1, revision=0, chain=H.chains[0])],
    "resumed": [lambda run: changed(run, 0, "fetch_end", 1, result="resync"), lambda run: changed(run, 0, "swap", 1, whole=1),
                lambda run: without(run, 0, "watch_open", 1)],
    "reliable": [lambda run: with_writes(run, Wrote(5, ((("policy", "shop", "z"), "m9"),))),     # a revision that never was
                 lambda run: with_writes(run, Wrote(3, ((("policy", "other", "c"), "m9"),))),    # other content
                 lambda run: with_writes(run, Wrote(3, ((("policy", "other", "c"), None),))),    # no removal
                 lambda run: with_writes(run, Wrote(2, ((("policy", "shop", "a"), "m1"),)))],    # a part of an apply
    "exported": [lambda run: with_export(run, '{"id":"a","name":"m0"}')],
    "at_head": [lambda run: with_final(run, 0, Final(True, True, 3, H.chains[3], H.checksum(SHOP, 3))),
                lambda run: with_final(run, 0, Final(True, True, 4, "ab" * 32, H.checksum(SHOP, 4))),
                lambda run: with_final(run, 0, Final(True, True, 4, H.chains[4], PART)),
                lambda run: with_final(run, 0, Final(True, False, 4, H.chains[4], H.checksum(SHOP, 4)))],
    "fleet_view": [lambda run: with_shown(run, 0, None),
                   lambda run: with_shown(run, 0, Shown("missing", True, 4, H.chains[4], SHOP)),
                   lambda run: with_shown(run, 0, Shown("live", False, 4, H.chains[4], SHOP)),
                   lambda run: with_shown(run, 0, Shown("live", True, 3, H.chains[3], SHOP)),
                   lambda run: with_shown(run, 0, Shown("live", True, 4, H.chains[4], PLATFORM)),
                   lambda run: with_claims(run, Claim(4, False, 20_000, {"total": 2})),
                   lambda run: with_claims(run, Claim(4, True, 20_000, {"total": 1}))],
    "enforced_by_all": [lambda run: with_claims(run, Claim(4, True, 11_500), run.claims[-1]),   # the first is at 3 then
                        lambda run: with_claims(run, Claim(2, True, 4_500), run.claims[-1])],   # and here at 1
    "coalesced": [lambda run: fetching(run, 1)],
}


def test_a_good_run_passes() -> None:
    verdict = validate(good_run(), LOAD)
    assert verdict.status == PASSED, verdict.text()


@pytest.mark.parametrize("revision,excused", [(4, True), (5, False)], ids=["of the burst", "of no write"])
def test_a_burst_lasts_until_the_last_of_it_is_heard(revision: int, excused: bool) -> None:
    run = fetching(good_run(), 1)
    late = Event(201_000, 0, "line", {"kind": "invalidation", "revision": revision, "chain": H.chains[4]})
    found = validate(with_events(run, 0, [*run.events[0], late]), LOAD).findings
    assert excused != ("coalesced" in {finding.rule for finding in found})


def test_every_rule_is_broken_here() -> None:
    assert BROKEN.keys() == RULES.keys()


@pytest.mark.parametrize("name,number", [(name, number) for name, ways in BROKEN.items() for number in range(len(ways))])
def test_what_is_broken_is_found(name: str, number: int) -> None:
    verdict = validate(BROKEN[name][number](good_run()), LOAD)
    assert verdict.status == FAILED
    assert name in {finding.rule for finding in verdict.findings}, verdict.text()


@pytest.mark.parametrize("more", [{"agents": 3}, {"writes": 4}, {"applies": 2}, {"swaps_per_agent": 9}, {"deltas": 5},
                                  {"adopted": 2}, {"refused": 1}, {"lost_watches": 2}, {"bursts": 2}, {"claims": 3},
                                  {"faults": {"cut_share": 2}}, {"faults": {"kill": 1}}])
def test_too_little_load_is_invalid(more: dict[str, object]) -> None:
    verdict = validate(good_run(), Load(**more))   # type: ignore[arg-type]
    assert verdict.status == INVALID and len(verdict.lacking) == 1, verdict.text()


def test_what_is_broken_fails_also_where_too_little_happened() -> None:
    assert validate(BROKEN["order"][0](good_run()), Load(writes=99)).status == FAILED


def test_an_agent_that_was_told_to_begin_anew_by_another_history_is_no_finding() -> None:
    run = BROKEN["resumed"][0](good_run())
    run.resync_allowed = True
    assert validate(run, LOAD).status == PASSED


def test_a_whole_state_may_stand_for_a_delta_that_is_as_large() -> None:
    history = make_history()
    assert history.delta_is_large(SHOP, 1, 2) is False and history.delta_is_large(PLATFORM, 0, 3) is True


def test_the_hash_of_an_object_is_the_documented_one() -> None:
    plain = b"".join(len(part).to_bytes(8, "big") + part for part in (b"plan", b"shop", b"pro", '{"é":1}'.encode()))
    assert object_hash(("plan", "shop", "pro"), '{"é":1}') == hashlib.sha256(plain).digest()


def test_sums_do_not_depend_on_the_order_and_can_be_taken_back() -> None:
    first, second = hashlib.sha256(b"1").digest(), b"\xff" * 32
    one, other = Sum(), Sum()
    for total, hashes in ((one, (first, second)), (other, (second, first))):
        for digest in hashes:
            total.add(digest)
    assert one.hex() == other.hex()
    one.add(second, -1)
    assert one.hex() == first.hex()
    assert Sum().hex() == "0" * 64


def test_a_policy_travels_with_its_version_from_the_second_on() -> None:
    changes = [change for change in H.by_revision[2] if change.id == "a"]
    assert changes[0].sent == '{"id":"a","name":"m1"}'
    assert type(changes[0])(5, "policy", "acme", "shop", "a", 2, '{"id":"a"}').sent == '{"id":"a","version":2}'


def test_scopes_reach_what_their_token_does() -> None:
    assert Scope().reaches("acme", "shop") and Scope("acme").reaches("acme", "shop") and SHOP.reaches("acme", "shop")
    assert SHOP.reaches("", "") and SHOP.reaches("acme", "")
    assert not SHOP.reaches("acme", "other") and not SHOP.reaches("rival", "") and not Scope("acme").reaches("rival", "shop")


def test_exports_are_read_byte_for_byte() -> None:
    text = ('{"format":"sluice/v1",\n"organizations":[\n{"id":"acme"}],\n"tenants":[\n{"id":"shop", "name":"é]"},\n{"id":"b"}],'
            '\n"plans":[],\n"policies":[\n{"tenant_id":"shop","id":"a"}],\n"keys":[]}\n')
    assert [(name, document) for name, document, _ in exported_objects(text)] == [
        (("organization", "", "acme"), '{"id":"acme"}'), (("tenant", "", "shop"), '{"id":"shop", "name":"é]"}'),
        (("tenant", "", "b"), '{"id":"b"}'), (("policy", "shop", "a"), '{"tenant_id":"shop","id":"a"}')]


def test_a_line_that_was_cut_is_no_event() -> None:
    assert read_events(['{"t":1,"agent":0,"what":"killed"}\n', '{"t":2,"agent":0,"wh']) == {0: [Event(1, 0, "killed", {})]}


def test_a_burst_allows_a_fetch_a_window_and_one_more() -> None:
    assert [fetches_allowed(us) for us in (0, 1, 100_000, 100_001, 1_000_000)] == [1, 2, 2, 3, 11]
