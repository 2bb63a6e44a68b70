"""Redis is away: agents with failure mode fail_degrade admit their shares of a limit, and together the bound at most."""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.agent import Agent
from support.client import Client
from support.crew import Crew
from support.process import wait_until
from support.redis_server import RedisServer

AGENTS = 3
LIMIT = 60
WINDOW = 5              # seconds
OUTAGE = float(os.environ.get("SLUICE_OUTAGE_SECONDS", "13"))   # two whole windows at least
SHARE = LIMIT // AGENTS
FLOOD_SECONDS = float(os.environ.get("SLUICE_FLOOD_SECONDS", "0"))   # 60 for a look at a longer one; 0: until the memory is full
FLOOD_RATE = 30_000    # distinct subjects a second that a release takes at least
MEMORY = 2_000_000     # bytes; what --memory-limit says


@dataclass
class Caller:
    """Checks one subject at one agent for as long as it is told, and notes what passed in which window."""

    agent: Agent
    key: str
    stop: threading.Event
    passed: Counter[int] = field(default_factory=Counter)
    degraded: Counter[int] = field(default_factory=Counter)   # of these
    reasons: Counter[str] = field(default_factory=Counter)

    def run(self) -> None:
        """Until `stop`. An agent that is away is asked again."""
        while not self.stop.is_set():
            try:
                with Client(self.agent.port, self.key) as client:
                    while not self.stop.is_set():
                        self._ask(client)
            except OSError:
                time.sleep(0.02)

    def _ask(self, client: Client) -> None:
        answer = client.explain(resource="GET:/probe", subject="one")
        assert answer.status in (200, 429, 503), answer
        self.reasons[answer.body["reason"]] += 1
        if answer.status == 200:
            window = answer.body["now_us"] // (WINDOW * 1_000_000)
            self.passed[window] += 1
            self.degraded[window] += answer.body["reason"] == "degraded"
        time.sleep(0.01)


def limit_of(agent: Agent, key: str) -> tuple[str, int]:
    """By what an agent decides now: the reason, and the limit."""
    with Client(agent.port, key) as client:
        answer = client.check(resource="GET:/probe", subject="other", cost=0)
    return answer.body["reason"], answer.body.get("limit", 0)


def resident(agent: Agent) -> int:
    """Its memory, in bytes."""
    status = Path(f"/proc/{agent.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) << 10


@pytest.mark.fault("degraded")
def test_agents_admit_their_shares_while_redis_is_away_and_no_more_than_the_bound(
        make_crew: Callable[..., Crew], make_redis: Callable[..., RedisServer]) -> None:
    redis = make_redis()
    crew = make_crew()
    with crew.admin() as admin:
        assert admin.put("/policies/probe", {
            "scope": {"resource": "GET:/probe"}, "key_by": ["subject"], "failure_mode": "fail_degrade",
            "limits": [{"name": "probe", "algorithm": "fixed_window", "limit": LIMIT, "window": f"{WINDOW}s"}]},
            tenant=crew.tenant).status == 200
    agents = crew.hire(AGENTS, counters=redis.counters)
    for agent in agents:
        wait_until("a decision by Redis", lambda agent=agent: limit_of(agent, crew.key) == ("within_limit", LIMIT), 20)
    redis.kill9()
    for agent in agents:   # the heartbeat tells how many they are
        wait_until("its share", lambda agent=agent: limit_of(agent, crew.key) == ("degraded", SHARE), 30)
    redis.restart()
    for agent in agents:
        wait_until("a decision by Redis", lambda agent=agent: limit_of(agent, crew.key)[0] == "within_limit", 20)

    stop = threading.Event()
    callers = [Caller(agent, crew.key, stop) for agent in agents]
    threads = [threading.Thread(target=caller.run) for caller in callers]
    for thread in threads:
        thread.start()
    time.sleep(WINDOW * 0.6)
    redis.kill9()
    time.sleep(OUTAGE / 2)
    agents[0].kill9()
    agents[0].launch()
    restarted = int(time.time() // WINDOW)
    time.sleep(OUTAGE / 2)
    redis.restart()
    for agent in agents:
        wait_until("a decision by Redis", lambda agent=agent: limit_of(agent, crew.key)[0] == "within_limit", 20)
    stop.set()
    for thread in threads:
        thread.join()

    total: Counter[int] = sum((caller.passed for caller in callers), Counter())
    degraded: Counter[int] = sum((caller.degraded for caller in callers), Counter())
    print(f"    admitted in each window of {WINDOW} s: {sorted(total.items())}; of these by shares: {sorted(degraded.items())}")
    again = {window: SHARE if window in (restarted, restarted + 1) else 0 for window in total}   # of the agent that forgot
    for window, count in total.items():
        bound = LIMIT if degraded[window] == 0 else LIMIT + AGENTS * SHARE
        assert count <= bound + again[window], (window, count)
    whole = [window for window in total if degraded[window] == total[window]]
    assert whole, "no window was within the outage"
    for window in whole:
        assert AGENTS * SHARE <= total[window] <= AGENTS * SHARE + again[window], "each agent's share passes, and no more"
    for caller in callers:
        assert set(caller.reasons) <= {"within_limit", "limit_exceeded", "degraded"}, caller.reasons
    assert agents[1].metric("sluice_failure_mode_decisions_total", mode="fail_degrade") > 0


@pytest.mark.fault("degraded-flood")
def test_a_flood_of_subjects_while_redis_is_away_stays_within_the_memory_limit(
        make_crew: Callable[..., Crew], make_redis: Callable[..., RedisServer], sanitized: bool) -> None:
    redis = make_redis()
    crew = make_crew()
    with crew.admin() as admin:
        assert admin.put("/policies/probe", {
            "scope": {"resource": "GET:/probe"}, "key_by": ["subject"], "failure_mode": "fail_degrade", "degrade_share": 0.5,
            "limits": [{"name": "probe", "algorithm": "fixed_window", "limit": 4, "window": "1d"}]},
            tenant=crew.tenant).status == 200
    agent, = crew.hire(1, "--memory-limit", f"{MEMORY}B", counters=redis.counters)
    redis.kill9()
    wait_until("its share", lambda: limit_of(agent, crew.key) == ("degraded", 2), 30)
    with Client(agent.port, crew.key) as client:
        assert [client.check(resource="GET:/probe", subject="spent").status for _ in range(3)] == [200, 200, 429]
        began, batches = time.monotonic(), 0
        before = resident(agent)
        while batches < 160 or time.monotonic() - began < FLOOD_SECONDS:
            answer = client.batch(*[{"resource": "GET:/probe", "subject": f"s{batches}-{i}"} for i in range(256)])
            assert {result["reason"] for result in answer.body["results"]} == {"degraded"}
            batches += 1
            if batches % 1000 == 0:
                assert client.check(resource="GET:/probe", subject="spent").status == 429, "a live limit is never forgotten"
                assert agent.metric("sluice_memory_counters_bytes") <= MEMORY
        rate = batches * 256 / (time.monotonic() - began)
        assert client.check(resource="GET:/probe", subject="spent").status == 429, "a live limit is never forgotten"
    print(f"    {batches * 256} subjects, {rate:.0f} a second; resident memory {before >> 10} KiB before, {resident(agent) >> 10} KiB after")
    if FLOOD_SECONDS and not sanitized:
        assert rate >= FLOOD_RATE
        assert resident(agent) <= before + MEMORY + (4 << 20)
    assert agent.metric("sluice_memory_counters_bytes") <= MEMORY
    assert agent.metric("sluice_memory_counters_overflow_total") > 20_000
    assert agent.metric("sluice_memory_counters") > 5_000
