"""What is written through the admin API decides in every agent a moment later, and the server knows where it does."""

import signal
import time
from collections.abc import Callable

from e2e_follow.conftest import REPORTS
from support.agent import Agent
from support.client import Client
from support.crew import SECONDS, Crew
from support.process import wait_until
from support.relay import Relay

MakeCrew = Callable[..., Crew]


def enforced(crew: Crew, revision: int, wait: str = "") -> dict[str, object]:
    """What the server says about a revision."""
    with crew.admin() as admin:
        answer = admin.get(f"/revisions/{revision}", query={"wait": wait} if wait else None)
    assert answer.status == 200, answer
    return dict(answer.body)


def test_a_policy_written_is_enforced_by_both_agents(make_crew: MakeCrew) -> None:
    crew = make_crew()
    crew.hire(2)
    with crew.admin() as admin:
        for limit in (7, 8, 9):
            crew.set_limit(admin, limit)
            crew.await_limit(limit)
        assert admin.delete("/policies/probe", tenant=crew.tenant).status == 204
    for agent in crew.agents:
        wait_until("the end of the policy", lambda agent=agent: crew.limit_at(agent) is None)
    crew.await_head()


def test_a_revoked_key_is_refused_within_a_second_of_a_connected_agent(make_crew: MakeCrew) -> None:
    crew = make_crew()
    agents = crew.hire(2)
    with crew.admin() as admin:
        assert admin.delete(f"/keys/{crew.key_id}").status == 204
    revoked = time.monotonic()
    for agent in agents:
        with Client(agent.port, crew.key) as client:
            wait_until("401", lambda client=client: client.check(resource="GET:/probe", cost=0).status == 401)
    assert time.monotonic() - revoked < 1.0


def test_a_head_that_moves_elsewhere_is_adopted_without_a_fetch(make_crew: MakeCrew) -> None:
    crew = make_crew()
    agent, = crew.hire(1)
    crew.await_head()
    fetches = wait_until("the first fetch in the metrics", lambda: agent.metric("sluice_sync_fetches_total"))
    with crew.admin() as admin:   # nothing that agents hold: the head moves, and they hear of it with a heartbeat
        before = admin.get("/revision").body["revision"]
        admin.create("/tokens", {"name": "other", "role": "auditor"})
        assert admin.get("/revision").body["revision"] == before + 1
    crew.await_head()
    assert agent.metric("sluice_sync_fetches_total") == fetches


def test_all_enforce_only_what_a_decision_of_each_shows(make_crew: MakeCrew, make_relay: Callable[[int], Relay]) -> None:
    crew = make_crew()
    away, spoiled = make_relay(crew.server.port), make_relay(crew.server.port)
    well = crew.hire(17, *REPORTS)
    paused, = crew.hire(1, *REPORTS)
    cut_off, = crew.hire(1, *REPORTS, relay=away)
    refusing, = crew.hire(1, *REPORTS, relay=spoiled)
    everyone = [*well, paused, cut_off, refusing]

    def shows(limit: int) -> list[Agent]:
        return [agent for agent in everyone if crew.limit_at(agent) == limit]

    def all_enforce(limit: int) -> None:
        with crew.admin() as admin:
            revision = crew.set_limit(admin, limit)
        said = enforced(crew, revision, "30s")
        assert said["enforced_by_all"] is True, said
        assert len(shows(limit)) == 20, "it said so before it was true"

    def not_all(limit: int, hinder: Callable[[], None], relieve: Callable[[], None], who: Agent) -> None:
        hinder()
        with crew.admin() as admin:
            revision = crew.set_limit(admin, limit)
        crew.await_limit(limit, [agent for agent in everyone if agent is not who])
        said = enforced(crew, revision, "3s")
        assert said["enforced_by_all"] is False, said
        relieve()
        said = enforced(crew, revision, "30s")
        assert said["enforced_by_all"] is True, said
        assert len(shows(limit)) == 20

    all_enforce(11)
    not_all(12, lambda: paused.process.send(signal.SIGSTOP), lambda: paused.process.send(signal.SIGCONT), paused)
    not_all(13, away.close, away.open, cut_off)

    def spoil() -> None:
        spoiled.rewrite = lambda data: data.replace(b'"sluice-sync/v1"', b'"sluice-sync/v9"')

    def mend() -> None:
        spoiled.rewrite = None

    not_all(14, spoil, mend, refusing)
    for limit in range(15, 20):
        all_enforce(limit)


def test_an_agent_that_ends_is_forgotten_and_one_that_is_killed_is_missed(make_crew: MakeCrew) -> None:
    crew = make_crew()
    leaving, killed, staying = crew.hire(3, *REPORTS)

    def fleet() -> dict[str, str]:
        with crew.admin() as admin:
            return {agent["id"]: agent["status"] for agent in admin.items("/agents")}

    wait_until("all three in the fleet", lambda: len(fleet()) == 3, SECONDS)
    assert leaving.stop() == 0
    killed.kill9()
    names = [agent.flags[agent.flags.index("--agent-id") + 1] for agent in (leaving, killed, staying)]
    wait_until("the one that left is forgotten", lambda: names[0] not in fleet(), SECONDS)
    wait_until("the killed one is missing", lambda: fleet().get(names[1]) == "missing", SECONDS)
    with crew.admin() as admin:
        revision = crew.set_limit(admin, 21)
    crew.await_limit(21, [staying])
    said = enforced(crew, revision)
    assert said["enforced_by_all"] is False, said
