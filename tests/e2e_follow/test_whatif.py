"""What-if: what an edited policy would have denied, as agents judge it from what they recorded, is what enforcing it denies."""

import random
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from threading import Thread
from typing import Any, Optional

import pytest

from support.admin import AdminClient, pointers
from support.agent import Agent
from support.client import Answer, Client
from support.crew import SECONDS, Crew
from support.driven_clock import DrivenClock
from support.process import wait_until
from support.redis_server import RedisServer
from support.sync_client import SyncAgent

MakeCrew = Callable[..., Crew]
RECORD = ("--record-decisions", "4MiB")

# Each judges units by subject. (A concurrency limit is refused: when leases end is not recorded.)
LIMITS: dict[str, dict[str, Any]] = {
    "fixed_window": {"limit": 20, "window": "10s"},
    "sliding_window": {"limit": 20, "window": "10s"},
    "sliding_window_log": {"limit": 20, "window": "10s"},
    "token_bucket": {"capacity": 10, "refill": "2/1s"},
    "leaky_bucket": {"capacity": 10, "leak": "2/1s"},
    "gcra": {"rate": "2/1s", "burst": 5},
    "quota": {"limit": 60, "period": "day"},
}


def policy(algorithm: str, **numbers: Any) -> dict[str, Any]:
    """A policy of its own resource."""
    return {"id": algorithm.replace("_", "-"), "scope": {"resource": f"GET:/{algorithm}"}, "key_by": ["subject"],
            "limits": [{"name": "probe", "algorithm": algorithm, **numbers}]}


def listed(crew: Crew, agent_id: str) -> bool:
    """Whether the fleet has it."""
    with crew.admin() as admin:
        return agent_id in [agent["id"] for agent in admin.items("/agents")]


def put(admin: AdminClient, crew: Crew, body: dict[str, Any]) -> None:
    """Stores a policy."""
    answer = admin.put(f"/policies/{body['id']}", body, tenant=crew.tenant)
    assert answer.status in (200, 201), answer


def record(crew: Crew) -> None:
    """Lets agents record the crew's tenant."""
    with crew.admin() as admin:
        answer = admin.patch(f"/tenants/{crew.tenant}", {"record_requests": True})
        assert answer.status == 200, answer
    crew.await_head()
    for number in range(len(crew.agents)):
        wait_until("the agent's row", lambda number=number: listed(crew, f"agent-{number}"), SECONDS)


def ask(crew: Crew, **body: Any) -> Answer:
    """Asks what a policy would have denied."""
    with crew.admin() as admin:
        return admin.post("/whatif", {"tenant_id": crew.tenant, "wait": "20s", **body})


def at(us: int) -> str:
    """A moment as the API takes it."""
    return (datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=us)).isoformat()


def load(client: Client, clock: DrivenClock, algorithm: str) -> int:
    """Sends the same requests at the same times of the clock; how many were denied."""
    dice = random.Random(f"load {algorithm}")
    denied = 0
    for _ in range(300):
        clock.advance(dice.choice((0.0, 0.013, 0.09, 0.4)))
        answer = client.check(resource=f"GET:/{algorithm}", subject=f"user:{dice.randrange(4)}", cost=dice.randrange(1, 4))
        assert answer.status in (200, 429), answer
        denied += answer.status == 429
    return denied


def reasons(answer: Answer) -> list[str]:
    """Why the answer may differ from the truth."""
    assert answer.status == 200, answer
    return [reason["code"] for reason in answer.body["reasons"]]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("counters", ["redis", "memory"])
def test_the_prediction_is_what_enforcing_gives_for_each_algorithm(
        make_crew: MakeCrew, make_redis: Callable[..., RedisServer], tmp_path: Path, counters: str) -> None:
    clock = DrivenClock(tmp_path, 2026)
    crew = make_crew()
    place = make_redis(env=clock.env).counters if counters == "redis" else "memory"
    agent, = crew.hire(1, *RECORD, counters=place, env=clock.env)
    record(crew)
    if counters == "redis":
        wait_until("the connection to Redis", lambda: agent.metric("sluice_redis_connected") == 1, SECONDS)
    with crew.admin() as admin:
        for algorithm in LIMITS:   # before, nothing is limited
            loose = [{"name": "probe", "algorithm": "fixed_window", "limit": 1_000_000, "window": "1m"}]
            put(admin, crew, policy(algorithm) | {"limits": loose})
    crew.await_head()
    predicted = {}
    with Client(agent.port, crew.key) as client:
        for algorithm, numbers in LIMITS.items():
            clock.next_year()
            begin = clock.now_us
            assert load(client, clock, algorithm) == 0
            answer = ask(crew, policy=policy(algorithm, **numbers), **{"from": at(begin), "to": at(clock.now_us + 1)})
            assert reasons(answer) == [] and answer.body["complete"], answer
            assert sum(minute["denied"] for minute in answer.body["minutes"]) == answer.body["would_deny"]
            assert answer.body["totals"]["newly_denied"] == answer.body["would_deny"]
            assert answer.body["agents"] | {"asked": 1, "judged": 1} == answer.body["agents"]
            assert sum(subject["denied"] for subject in answer.body["subjects"]) == answer.body["would_deny"]
            predicted[algorithm] = answer.body["would_deny"]
        with crew.admin() as admin:
            for algorithm, numbers in LIMITS.items():
                put(admin, crew, policy(algorithm, **numbers))
        crew.await_head()
        for algorithm in LIMITS:
            clock.next_year()
            really = load(client, clock, algorithm)
            assert really > 20, algorithm
            assert abs(predicted[algorithm] - really) <= really / 100, (algorithm, predicted[algorithm], really)


def test_a_patch_an_expression_and_a_network_are_judged_and_nothing_is_stored(make_crew: MakeCrew) -> None:
    crew = make_crew()
    agent, = crew.hire(1, *RECORD)
    record(crew)
    with Client(agent.port, crew.key) as client:
        for address in ("10.0.0.1", "10.0.0.2", "192.168.0.1"):
            for _ in range(4):
                client.check(resource="GET:/probe", subject="user:1", source_ip=address)
    tight = [{"name": "probe", "algorithm": "fixed_window", "limit": 1, "window": "1h"}]
    whole = ask(crew, policy_id="probe", patch={"limits": tight})
    assert whole.body["would_deny"] == 11, whole
    assert whole.body["denied_share"] == pytest.approx(11 / 12)
    network = ask(crew, policy_id="probe", patch={"limits": tight, "scope": {"source_ip": ["10.0.0.0/8"]}})
    assert network.body["would_deny"] == 7, network
    assert network.body["totals"]["not_matched"] == 4
    narrow = ask(crew, policy_id="probe", patch={"limits": tight, "match_expr": "source_ip == 192.168.0.1", "mode": "shadow"})
    assert narrow.body["would_deny"] == 3, narrow   # a shadow is judged as if it were enforced
    keyed = ask(crew, policy_id="probe", patch={"limits": tight, "key_by": ["source_ip"]}, minutes=10)
    assert keyed.body["would_deny"] == 9, keyed
    with crew.admin() as admin:
        assert admin.get("/policies/probe", tenant=crew.tenant).body["limits"][0]["limit"] == 1000


def test_a_question_that_cannot_be_answered_says_which_field_and_how_to_mend_it(make_crew: MakeCrew) -> None:
    crew = make_crew()
    probe = policy("fixed_window", limit=1, window="1h")
    refused = ask(crew, policy=probe)
    assert (refused.status, pointers(refused)) == (422, ["/tenant_id"]), refused
    assert "record_requests" in str(refused.body)
    record(crew)
    assert pointers(ask(crew, policy=policy("fixed_window", limit=-1, window="1h"))) == ["/policy/limits/0/limit"]
    assert pointers(ask(crew, policy=probe | {"match_expr": "a =="})) == ["/policy/match_expr"]
    assert pointers(ask(crew, policy_id="probe", patch={"priority": "high"})) == ["/patch/priority"]
    concurrency = ask(crew, policy=policy("concurrency", limit=1, lease_ttl="1m"))
    assert pointers(concurrency) == ["/policy/limits"] and "cannot judge" in str(concurrency.body)
    assert pointers(ask(crew)) == ["/policy"]
    assert pointers(ask(crew, policy=probe, patch={})) == ["/policy", "/policy_id"]
    assert pointers(ask(crew, patch={})) == ["/policy_id"]
    assert pointers(ask(crew, policy=probe, minutes=61)) == ["/minutes"]
    assert pointers(ask(crew, policy=probe, minutes=5, to="2027-01-01T00:00:00Z")) == ["/minutes"]
    assert pointers(ask(crew, policy=probe, **{"from": "2027-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"})) == ["/from"]
    assert ask(crew, policy_id="nobody", patch={}).status == 404
    assert reasons(ask(crew, policy=probe)) == ["no_agents"]


def test_agents_that_do_not_record_or_that_lost_requests_make_the_answer_incomplete(make_crew: MakeCrew) -> None:
    crew = make_crew()
    small, = crew.hire(1, "--record-decisions", "64kB")
    crew.hire(1)
    record(crew)
    with Client(small.port, crew.key) as client:
        for number in range(400):
            client.check(resource="GET:/probe", subject="user:" + "x" * 200 + str(number))
    answer = ask(crew, policy_id="probe", patch={})
    assert reasons(answer) == ["no_recording", "fallen_out"], answer
    body = answer.body
    assert not body["complete"]
    assert body["agents"] == {"asked": 2, "judged": 1, "no_recording": 1, "not_recorded": 0, "failed": 0, "too_old": 0,
                              "silent": 0}
    kept = body["totals"]["admitted"]
    assert 0 < kept < 400
    assert body["missing_share"] == pytest.approx((400 - kept) / 400)


def test_one_subject_at_two_agents_is_told(make_crew: MakeCrew) -> None:
    crew = make_crew()
    agents = crew.hire(2, *RECORD)
    record(crew)
    for agent in agents:
        with Client(agent.port, crew.key) as client:
            for _ in range(3):
                client.check(resource="GET:/probe", subject="user:1")
    answer = ask(crew, policy_id="probe",
                 patch={"limits": [{"name": "probe", "algorithm": "fixed_window", "limit": 1, "window": "1h"}]})
    assert reasons(answer) == ["recorded_later", "subjects_of_several_agents"], answer
    assert answer.body["subjects"] == [{"subject": answer.body["subjects"][0]["subject"], "admitted": 2, "denied": 4, "agents": 2}]


def questions_of(port: int, token: str, agent_id: str, reads: str, asked: Callable[[], Answer]) -> "tuple[list[Any], Answer]":
    """The questions that a watch gets while somebody asks, and what is answered to him."""
    answers: list[Answer] = []
    with SyncAgent(port, token, agent_id, reads=reads).watch() as watch:
        watch.line()
        asker = Thread(target=lambda: answers.append(asked()))
        asker.start()
        lines = []
        while asker.is_alive():
            lines.append(watch.line() or {})
        asker.join()
    return [line["whatif"] for line in lines if "whatif" in line], answers[0]


@pytest.mark.parametrize("reads", ["whatif", ""])
def test_an_agent_is_asked_only_about_its_scope_and_only_if_it_reads_questions(make_crew: MakeCrew, reads: str) -> None:
    crew = make_crew()
    with crew.admin() as admin:
        organization = admin.get(f"/tenants/{crew.tenant}").body["organization_id"]
        other = admin.tenant(organization)
        mine = crew.new_token(admin, "mine", organization_id=organization, tenant_ids=[crew.tenant]).read_text().strip()
        foreign = crew.new_token(admin, "foreign", organization_id=organization, tenant_ids=[other]).read_text().strip()
    record(crew)

    def asked() -> Answer:
        return ask(crew, policy_id="probe", patch={}, wait="4s")

    found, answer = questions_of(crew.server.port, foreign, "foreign", "whatif", asked)
    assert (found, reasons(answer)) == ([], ["no_agents"])
    with SyncAgent(crew.server.port, mine, "mine", reads=reads).watch():
        wait_until("the agent's row", lambda: listed(crew, "mine"), SECONDS)
        found, answer = questions_of(crew.server.port, mine, "mine", reads, asked)
    if not reads:
        assert (found, reasons(answer)) == ([], ["too_old"]), answer
        return
    assert [question["policy_id"] for question in found] == ["probe"]
    assert reasons(answer) == ["silent"], answer


def test_a_foreign_agent_cannot_answer_and_a_second_question_must_wait(make_crew: MakeCrew) -> None:
    crew = make_crew()
    with crew.admin() as admin:
        organization = admin.get(f"/tenants/{crew.tenant}").body["organization_id"]
        foreign = crew.new_token(admin, "foreign", organization_id=organization,
                                 tenant_ids=[admin.tenant(organization)]).read_text().strip()
        mine = crew.new_token(admin, "mine", organization_id=organization, tenant_ids=[crew.tenant]).read_text().strip()
    record(crew)
    first: list[Answer] = []
    with SyncAgent(crew.server.port, mine, "mine", reads="whatif").watch() as watch, \
            SyncAgent(crew.server.port, foreign, "foreign", reads="whatif").watch():
        for agent_id in ("mine", "foreign"):
            wait_until("the agents' rows", lambda agent_id=agent_id: listed(crew, agent_id), SECONDS)
        asker = Thread(target=lambda: first.append(ask(crew, policy_id="probe", patch={}, wait="25s")))
        asker.start()
        question: Optional[dict[str, Any]] = None
        while question is None:
            question = (watch.line() or {}).get("whatif")
        busy = ask(crew, policy_id="probe", patch={})
        assert (busy.status, busy.body["type"]) == (429, "/problems/too-many-questions"), busy
        assert busy.header("retry-after")
        body = b'{"id":"%s","status":"no_recording"}' % question["id"].encode()
        assert SyncAgent(crew.server.port, foreign, "foreign").request("POST", "/whatif", body).status == 404
        assert SyncAgent(crew.server.port, mine, "nobody").request("POST", "/whatif", body).status == 404
        assert SyncAgent(crew.server.port, mine, "mine").request("POST", "/whatif", b'{"id":"q"}').status == 400
        assert SyncAgent(crew.server.port, mine, "mine").request("POST", "/whatif", body).status == 204
        asker.join()
    assert reasons(first[0]) == ["no_recording"], first[0]


def test_an_agent_of_another_server_replica_is_asked_too(
        make_crew: MakeCrew, make_server: Callable[..., Any], make_agent: Callable[..., Agent]) -> None:
    crew = make_crew()
    second = make_server(database=crew.server.database, token=crew.server.token).start()
    agent, = crew.hire(1, *RECORD)
    record(crew)
    with Client(agent.port, crew.key) as client:
        for _ in range(3):
            client.check(resource="GET:/probe", subject="user:1")
    patch = {"limits": [{"name": "probe", "algorithm": "fixed_window", "limit": 1, "window": "1h"}]}
    with second.admin() as admin:
        answer = admin.post("/whatif", {"tenant_id": crew.tenant, "policy_id": "probe", "patch": patch, "wait": "20s"},
                            key="same-key")
        assert reasons(answer) == ["recorded_later"] and answer.body["would_deny"] == 2, answer
        again = admin.post("/whatif", {"tenant_id": crew.tenant, "policy_id": "probe", "patch": patch, "wait": "20s"},
                           key="same-key")
        assert again.body["would_deny"] == 2, again
