"""What agents report: sums equal what clients counted, whoever is killed meanwhile."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from e2e_follow.conftest import REPORTS
from support.agent import Agent
from support.client import Client
from support.crew import SECONDS, Crew, loaded
from support.process import wait_until

MakeCrew = Callable[..., Crew]
# The server stores often: a minute is long for a test.
OFTEN = ("--analytics-every", "1s")


def fire(crew: Crew, agent: Agent, count: int, subject: str, seen: "Counter[int]") -> None:
    """Sends checks and counts what came back."""
    with Client(agent.port, crew.key) as client:
        for _ in range(count):
            seen[client.check(resource="GET:/probe", subject=subject).status] += 1


def sums(crew: Crew) -> "Counter[str]":
    """What the server has stored of the policy, by outcome."""
    with crew.admin() as admin:
        answer = admin.get("/analytics", query={"tenant_id": crew.tenant, "policy_id": "probe", "by": "outcome"})
    assert answer.status == 200, answer
    return Counter({row["outcome"]: row["count"] for row in answer.body["items"]})


def test_sums_equal_what_clients_counted(make_crew: MakeCrew) -> None:
    crew = make_crew(*OFTEN)
    with crew.admin() as admin:
        crew.set_limit(admin, 30)
    agents = crew.hire(2, *REPORTS)
    crew.await_limit(30)
    before = sums(crew).total()
    seen: Counter[int] = Counter()
    for agent in agents:
        fire(crew, agent, 50, "user:1", seen)
    assert seen == {200: 60, 429: 40}
    looks = len(agents)   # await_limit asks once or more, at no cost: they are decisions too
    found = wait_until("the reports", lambda: (sums_ := sums(crew))["denied"] >= 40 and sums_, SECONDS)
    assert found["denied"] == seen[429], found
    assert found["allowed"] >= seen[200] + looks - before, found


def test_utilization_is_that_of_the_agents_own_metrics(make_crew: MakeCrew) -> None:
    crew = make_crew(*OFTEN)
    with crew.admin() as admin:
        crew.set_limit(admin, 10)
    agents = crew.hire(2, *REPORTS, "--metrics-policy-label")
    crew.await_limit(10)
    seen: Counter[int] = Counter()
    for agent in agents:
        fire(crew, agent, 20, "user:1", seen)

    def counted(name: str) -> float:
        return sum(agent.metric(name, policy="probe") for agent in agents)

    def stored() -> dict[str, Any]:
        with crew.admin() as admin:
            answer = admin.get("/analytics/utilization", query={"tenant_id": crew.tenant, "policy_id": "probe"})
        assert answer.status == 200, answer
        return dict(answer.body)

    found = wait_until("the reports", lambda: (body := stored())["totals"]["decisions"] == counted("sluice_limit_utilization_count")
                       and body, SECONDS)
    # The ninth and tenth of ten, and all over the limit.
    assert found["totals"]["near_limit"] == counted("sluice_decisions_near_limit_total") >= 2 + seen[429], found
    mean = counted("sluice_limit_utilization_sum") / counted("sluice_limit_utilization_count")
    assert found["totals"]["utilization"] == pytest.approx(mean, abs=0.0002)
    assert found["items"] == [{"tenant_id": crew.tenant, "policy_id": "probe", **found["totals"]}]


def test_a_killed_server_loses_nothing(make_crew: MakeCrew) -> None:
    crew = make_crew(*OFTEN)
    with crew.admin() as admin:
        crew.set_limit(admin, 10)
    agent, = crew.hire(1, *REPORTS)
    crew.await_limit(10)
    seen: Counter[int] = Counter()
    for round_ in range(3):
        fire(crew, agent, 30, f"user:{round_}", seen)
        crew.server.kill9()
        crew.relay.cut()
        fire(crew, agent, 30, f"user:{round_}", seen)
        crew.server.start()
        crew.relay.target = crew.server.port
    assert seen[429] == 3 * 50
    found = wait_until("the reports", lambda: (sums_ := sums(crew))["denied"] >= seen[429] and sums_, SECONDS)
    assert found["denied"] == seen[429], "a report was counted twice"


@pytest.mark.fault("agent-killed")
def test_a_killed_agent_loses_its_last_interval_at_most(make_crew: MakeCrew) -> None:
    crew = make_crew(*OFTEN)
    with crew.admin() as admin:
        crew.set_limit(admin, 10)
    agent, = crew.hire(1, *REPORTS)
    crew.await_limit(10)
    seen: Counter[int] = Counter()
    fire(crew, agent, 60, "user:1", seen)
    wait_until("the reports", lambda: sums(crew)["denied"] >= seen[429], SECONDS)
    agent.kill9()
    agent.start()
    wait_until("its policies", lambda: loaded(agent), SECONDS)
    again: Counter[int] = Counter()
    fire(crew, agent, 60, "user:2", again)
    found = wait_until("the reports", lambda: (sums_ := sums(crew))["denied"] >= seen[429] + again[429] and sums_, SECONDS)
    assert found["denied"] == seen[429] + again[429], found


def test_what_was_counted_by_an_agent_that_ends_is_not_lost(make_crew: MakeCrew) -> None:
    crew = make_crew(*OFTEN)
    with crew.admin() as admin:
        crew.set_limit(admin, 10)
    agent, = crew.hire(1, "--report-interval", "10s")
    crew.await_limit(10)
    seen: Counter[int] = Counter()
    fire(crew, agent, 60, "user:1", seen)
    assert agent.stop() == 0
    wait_until("the last report", lambda: sums(crew)["denied"] == seen[429], SECONDS)


def test_throttled_subjects_are_named_as_their_policy_says_and_shadows_show_what_they_would_do(make_crew: MakeCrew) -> None:
    crew = make_crew(*OFTEN)
    limits = [{"name": "n", "algorithm": "fixed_window", "limit": 10, "window": "1h"}]
    with crew.admin() as admin:
        for name, fields in (("hashed", {}), ("named", {"report_subjects": "named"}), ("silent", {"report_subjects": "off"})):
            policy: dict[str, Any] = {"scope": {"resource": f"GET:/{name}"}, "key_by": ["subject"], "limits": limits, **fields}
            assert admin.put(f"/policies/{name}", policy, tenant=crew.tenant).status == 201
        shadow = {"scope": {"resource": "GET:/hashed", "subject": "user:heavy"}, "key_by": ["subject"], "mode": "shadow",
                  "limits": [{**limits[0], "limit": 5}]}
        assert admin.put("/policies/watched", shadow, tenant=crew.tenant).status == 201
    agent, = crew.hire(1, *REPORTS)
    with Client(agent.port, crew.key) as client:
        for resource in ("hashed", "named", "silent"):
            for subject, count in (("user:heavy", 60), ("user:light", 20)):
                for _ in range(count):
                    client.check(resource=f"GET:/{resource}", subject=subject)
    with crew.admin() as admin:
        def subjects(policy: str) -> list[tuple[str, int]]:
            answer = admin.get("/analytics/subjects", query={"tenant_id": crew.tenant, "policy_id": policy})
            assert answer.status == 200, answer
            return [(row["subject"], row["count"]) for row in answer.body["items"]]

        wait_until("the named", lambda: subjects("named") == [("user:heavy", 50), ("user:light", 10)], SECONDS)
        hashed = wait_until("the hashed", lambda: len(found := subjects("hashed")) == 2 and found, SECONDS)
        assert [count for _, count in hashed] == [50, 10]
        assert all(subject.startswith("sha256:") for subject, _ in hashed), hashed
        assert not subjects("silent")
        answer = wait_until("the shadow", lambda: (found := admin.get("/analytics", query={
            "tenant_id": crew.tenant, "policy_id": "watched", "by": "outcome"}).body)["items"] and found, SECONDS)
        assert {row["outcome"]: row["count"] for row in answer["items"]} == {"shadow_denied": 55, "shadow_allowed": 5}


def test_the_foremost_resources_that_no_policy_matches_are_in_analytics(make_crew: MakeCrew) -> None:
    crew = make_crew(*OFTEN)
    agent, = crew.hire(1, *REPORTS)
    with Client(agent.port, crew.key) as client:
        for resource, count in (("GET:/carts", 20), ("get /wishes?page=1", 5)):
            for _ in range(count):
                assert client.check(resource=resource, subject="user:1").body["reason"] == "no_policy"
        client.check(resource="GET:/probe", subject="user:1")
    with crew.admin() as admin:
        def unmatched() -> list[tuple[str, str, int]]:
            answer = admin.get("/analytics/unmatched", query={"tenant_id": crew.tenant})
            assert answer.status == 200, answer
            return [(row["tenant_id"], row["resource"], row["count"]) for row in answer.body["items"]]

        expected = [(crew.tenant, "GET:/carts", 20), (crew.tenant, "GET:/wishes", 5)]
        wait_until("the resources", lambda: unmatched() == expected, SECONDS)
        assert admin.get("/analytics/unmatched", query={"limit": "1"}).body["items"][0]["resource"] == "GET:/carts"
        assert admin.get("/analytics/unmatched", query={"limit": "101"}).status == 400
