"""Each of the seven algorithms through HTTP, against an exact model that is told the agent's clock.

The windows are short and the rates quick, so that time moves by itself during a run; nothing sleeps and nothing depends
on how quick the machine is: whatever `now_us` the agent names, its answer must be the model's at that instant.
"""

import random
from collections.abc import Callable
from typing import Any, Protocol

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, concurrency, leaky_bucket, quota, token_bucket, window
from support.client import fresh_subject
from support.redis_server import RedisServer
from support.reference import Bucket, Entries, FixedWindow, MonthlyQuota, SlidingWindow, Verdict

STEPS = 250
WINDOW_US = 40_000


class Model(Protocol):
    """What the models of support.reference have in common."""

    def judge(self, now: int, cost: int) -> Verdict:
        """Judges one call."""


CASES: dict[str, tuple[dict[str, Any], Callable[[], Model]]] = {
    "token_bucket": (token_bucket(7, "1000/3s"), lambda: Bucket(7, 1, 3000)),
    "leaky_bucket": (leaky_bucket(7, "700/3s"), lambda: Bucket(7, 7, 30_000, leaky=True)),
    "fixed_window": (window("fixed_window", 7, "40ms"), lambda: FixedWindow(7, WINDOW_US)),
    "fixed_window_first": (window("fixed_window", 7, "40ms", align="first"), lambda: FixedWindow(7, WINDOW_US, True)),
    "sliding_window": (window("sliding_window", 7, "40ms"), lambda: SlidingWindow(7, WINDOW_US)),
    "sliding_window_log": (window("sliding_window_log", 7, "40ms"), lambda: Entries(7, WINDOW_US)),
    "concurrency": (concurrency(7, "40ms"), lambda: Entries(7, WINDOW_US)),
    "quota": (quota(150, "month"), lambda: MonthlyQuota(150)),
}


def bundle_of_all(key: MintedKey) -> Bundle:
    """A plan for each case."""
    bundle = Bundle().key(key)
    for name, (limit, _) in CASES.items():
        bundle.plan(name.replace("_", "-"), limit)
    return bundle


@pytest.fixture(scope="module", params=["redis", "valkey", "memory"])
def store(request: pytest.FixtureRequest, key: MintedKey, module_agent: Callable[..., Agent],
          tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An agent whose counters live in each kind of store."""
    if request.param == "memory":
        yield module_agent(bundle_of_all(key), "memory").start()
        return
    program = request.getfixturevalue("valkey") if request.param == "valkey" else "redis-server"
    server = RedisServer(tmp_path_factory.mktemp(request.param), program=program).start()
    agent = module_agent(bundle_of_all(key), server.counters, "--redis-deadline", "2s").start()
    agent.wait_for_redis(key.text, "token-bucket")
    yield agent
    agent.close()
    server.close()


@pytest.mark.parametrize("name", CASES)
def test_every_answer_is_the_models_at_the_instant_the_agent_names(store: Agent, key: MintedKey, name: str) -> None:
    draw = random.Random(name)
    subject = fresh_subject()
    model = CASES[name][1]()
    admitted = denied = 0
    with store.client(key.text) as client:
        for step in range(STEPS):
            cost = draw.choice([0, 1, 1, 1, 2, 3, 5, 8 if name != "quota" else 151])
            body = client.explain(plan_id=name.replace("_", "-"), subject=subject, cost=cost).body
            (limit,) = body["limits"]
            seen = Verdict(limit["admitted"], limit["remaining"], limit["reset_after_us"], limit["retry_after_us"],
                           limit["delay_us"])
            assert seen == model.judge(body["now_us"], cost), f"step {step}, cost {cost}, now {body['now_us']}"
            assert body["allowed"] is seen.admitted
            admitted += seen.admitted
            denied += not seen.admitted
    assert admitted > 10 and denied > 10, "the run must meet both answers to mean anything"


@pytest.mark.parametrize("name", [name for name in CASES if name != "quota"])   # nobody waits for the end of a month
def test_a_denied_call_passes_once_its_wait_is_over(store: Agent, key: MintedKey, name: str) -> None:
    subject, plan = fresh_subject(), name.replace("_", "-")
    with store.client(key.text) as client:
        answer = client.explain(plan_id=plan, subject=subject, cost=7)
        while answer.status == 200:
            answer = client.explain(plan_id=plan, subject=subject, cost=7)
        due = answer.body["now_us"] + answer.body["limits"][0]["retry_after_us"]
        # Ask until the store's clock has passed the instant: earlier denials must stay denials.
        while True:
            answer = client.explain(plan_id=plan, subject=subject, cost=7)
            if answer.body["now_us"] >= due:
                break
            assert answer.status == 429
        assert answer.status == 200
