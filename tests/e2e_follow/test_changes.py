"""Many changes at once: agents follow in few fetches, decide meanwhile, and the last state arrives."""

import signal
import time
from collections.abc import Callable

import pytest

from support.agent import Agent
from support.crew import Crew
from support.faults import Fault
from support.load import Load

APPLIES, POLICIES = 10, 100
ARRIVES_WITHIN = 3.0   # seconds
MERGED = 0.1           # seconds between announcements


def fetches(agent: Agent) -> float:
    """How often it asked for policies."""
    return sum(agent.metric("sluice_sync_fetches_total", result=result) for result in ("full", "delta", "revision_only", "unchanged"))


@pytest.mark.fault("thousand-changes", least=50)
def test_a_thousand_changes_at_once_are_followed_in_few_fetches_and_delay_no_check(
        make_crew: Callable[..., Crew], fault: Fault, sanitized: bool) -> None:
    crew = make_crew()
    agents = crew.hire(2)
    with crew.admin() as admin, Load(agents[0], crew.key, lambda number: {"resource": "GET:/other", "subject": f"s{number}"},
                                     rate=200) as load:
        before = [fetches(agent) for agent in agents]
        began = time.monotonic()
        for number in range(APPLIES):
            applied = admin.post("/apply", {
                "format": "sluice/v1", "organizations": [{"id": "many", "name": "Many"}],
                "tenants": [{"id": "many", "name": "Many", "organization_id": "many"}], "policies": [
                    {"tenant_id": "many", "id": f"p{i}", "scope": {"resource": f"GET:/{i}"}, "key_by": ["subject"],
                     "limits": [{"name": "a", "algorithm": "fixed_window", "limit": 10 + number, "window": "1h"}]}
                    for i in range(POLICIES)]})
            assert applied.status == 200, applied
        crew.set_limit(admin, 7777)
        written = time.monotonic()
        crew.await_limit(7777)
        fault.recovered(time.monotonic() - written, ARRIVES_WITHIN)
        print(f"    {APPLIES * POLICIES} changes in {written - began:.2f} s")
        for agent, count in zip(agents, before, strict=True):
            assert 1 <= fetches(agent) - count <= (time.monotonic() - began) / MERGED + 2
    assert {sample.status for sample in load.samples} == {200}
    assert max(sample.least_seconds for sample in load.samples) <= (2.0 if sanitized else 0.05)


def test_a_hangup_ends_no_agent_that_has_no_file_to_read_again(make_crew: Callable[..., Crew]) -> None:
    crew = make_crew()
    agent, = crew.hire(1)
    agent.process.send(signal.SIGHUP)
    with crew.admin() as admin:
        crew.set_limit(admin, 4321)
    crew.await_limit(4321)
