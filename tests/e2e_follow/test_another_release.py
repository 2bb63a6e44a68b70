"""Agents that follow a server one minor release older or newer: what it leaves out, and what it adds."""

import json
from collections.abc import Callable

from e2e_follow.conftest import REPORTS
from e2e_follow.test_refused import in_the_fleet, write_past_all_checks
from support.crew import SECONDS, Crew
from support.process import wait_until

MakeCrew = Callable[..., Crew]

# A member under another name of the same length: one that the agent knows is missing, and one it does not know is there.
RENAMED = ((b'"spread_ms":', b'"breadth_s":'), (b'"tenants":', b'"holders":'), (b'"live":', b'"alif":'))


def of_another_release(data: bytes) -> bytes:
    """What a server sends that lacks these members and has others."""
    for known, unknown in RENAMED:
        data = data.replace(known, unknown)
    return data


def test_an_agent_follows_a_server_that_lacks_members_and_adds_others(make_crew: MakeCrew) -> None:
    crew = make_crew()
    crew.relay.rewrite = of_another_release
    crew.hire(1, *REPORTS)
    crew.await_limit(1000)
    with crew.admin() as admin:
        crew.set_limit(admin, 41)
    crew.await_limit(41)
    crew.await_head()
    assert in_the_fleet(crew, "agent-0").get("refusal") is None


def test_a_field_of_a_later_release_is_ignored_and_told_and_changes_go_on(make_crew: MakeCrew) -> None:
    crew = make_crew()
    agent, = crew.hire(1, *REPORTS)
    crew.await_limit(1000)
    write_past_all_checks(crew, invented_next_year={"a": 1}, limits=[
        {"name": "probe", "algorithm": "fixed_window", "limit": 42, "window": "1h", "smoothing": "new"}])
    crew.await_limit(42)
    shown = wait_until("the word of the agent", lambda: [text for text in in_the_fleet(crew, "agent-0").get("degraded", [])
                                                         if "release does not know" in text], SECONDS)
    assert "policy probe" in shown[0] and "upgrade" in shown[0], shown
    assert in_the_fleet(crew, "agent-0").get("refusal") is None
    told = [json.loads(line) for line in agent.log.read_text().splitlines() if "field_of_later_release" in line]
    assert [line["pointer"] for line in told] in (["/invented_next_year"], ["/limits/0/smoothing"]), told
    with crew.admin() as admin:
        crew.set_limit(admin, 43)   # without the fields
    crew.await_limit(43)
    wait_until("no word any more", lambda: in_the_fleet(crew, "agent-0").get("degraded") == [], SECONDS)


def test_a_value_of_a_later_release_is_refused_because_it_cannot_be_enforced(make_crew: MakeCrew) -> None:
    crew = make_crew()
    crew.hire(1, *REPORTS)
    crew.await_limit(1000)
    write_past_all_checks(crew, limits=[{"name": "probe", "algorithm": "invented_next_year", "limit": 44, "window": "1h"}])
    refusal = wait_until("the refusal", lambda: in_the_fleet(crew, "agent-0").get("refusal"), SECONDS)
    assert "algorithm" in refusal["text"], refusal
    assert crew.limit_at(crew.agents[0]) == 1000
