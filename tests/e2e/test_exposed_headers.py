"""Which rate limit headers callers see: a policy's `expose`, and the families of --headers."""

from collections.abc import Callable

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket, window
from support.client import Answer, Client, fresh_subject
from support.redis_server import RedisServer

EXPOSED = ["all", "remaining", "none"]


@pytest.fixture(scope="module")
def bundle(key: MintedKey) -> Bundle:
    """A plan for each value of `expose`, and policies that say otherwise than their plan."""
    made = Bundle().key(key).plan("bucket", token_bucket(5, "1/1h"))
    for expose in EXPOSED:
        made.plan(expose, window("fixed_window", 1, "1m", align="first"), expose=expose)
    made.policy("quiet", {"resource": "quiet"}, "all", expose="none")
    made.policy("loud", {"resource": "loud"}, "none")
    return made


@pytest.fixture(scope="module")
def every_family(bundle: Bundle, key: MintedKey, redis: RedisServer, module_agent: Callable[..., Agent]) -> Agent:
    """An agent that writes all families but the next draft's."""
    agent: Agent = module_agent(bundle, redis.counters, "--headers", "x,ietf,draft6,retry-after").start()
    agent.wait_for_redis(key.text, "bucket")
    return agent


def names(answer: Answer) -> set[str]:
    """The headers about limits, without Retry-After."""
    return {name for name in answer.headers if "ratelimit" in name}


@pytest.mark.parametrize("expose", EXPOSED)
def test_expose_chooses_the_headers_of_200_and_429_in_every_family(every_family: Agent, key: MintedKey, expose: str) -> None:
    subject = fresh_subject()
    with every_family.client(key.text) as client:
        answers = [client.check(plan_id=expose, subject=subject) for _ in range(2)]
    assert [answer.status for answer in answers] == [200, 429]
    remaining = {"x-ratelimit-remaining", "ratelimit", "ratelimit-remaining"}
    for answer in answers:
        assert names(answer) == {"none": set(), "remaining": remaining, "all": remaining | {
            "x-ratelimit-limit", "x-ratelimit-reset", "ratelimit-policy", "ratelimit-limit", "ratelimit-reset"}}[expose]
        assert answer.body["limit"] == 1 and answer.body["remaining"] == 0, "the body has all numbers"
    if expose == "remaining":
        assert answers[0].headers["ratelimit"] == '"window";r=0'
    assert ("retry-after" in answers[0].headers) == (expose == "all")
    assert 1 <= int(answers[1].headers["retry-after"]) <= 60, "a denial always says when"


def test_a_policy_may_expose_less_or_more_than_its_plan(client: Client) -> None:
    assert names(client.check(resource="quiet", subject=fresh_subject())) == set()
    assert "x-ratelimit-limit" in names(client.check(resource="loud", subject=fresh_subject()))


def test_ietf_next_writes_the_names_of_the_next_draft_in_place_of_those_of_today(
        bundle: Bundle, key: MintedKey, redis: RedisServer, make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(bundle, redis.counters, "--headers", "ietf-next").start()
    agent.wait_for_redis(key.text, "bucket")
    with agent.client(key.text) as client:
        answer = client.check(plan_id="bucket", subject=fresh_subject(), cost=2)
        less = client.check(plan_id="remaining", subject=fresh_subject())
    assert answer.headers["ratelimit-policy"] == '"burst";q=5;w=18000'
    assert answer.headers["ratelimit"] == '"burst";a=3;w=7200;c=2'
    assert answer.headers["ratelimit-partition"] == '"burst";subject'
    assert names(answer) == {"ratelimit", "ratelimit-policy", "ratelimit-partition"}
    assert less.headers["ratelimit"] == '"window";a=0' and names(less) == {"ratelimit"}


@pytest.mark.parametrize(("value", "says"), [("ietf,ietf-next", "write the same headers; keep one"), ("x,next", "ietf-next")])
def test_families_that_do_not_go_together_are_refused(bundle: Bundle, make_agent: Callable[..., Agent], value: str, says: str) -> None:
    agent = make_agent(bundle, "memory", "--headers", value)
    agent.launch()
    assert agent.process.wait(20) == 2
    assert "--headers" in agent.log.read_text() and says in agent.log.read_text()


def test_an_unknown_value_of_expose_names_the_values(bundle: Bundle, key: MintedKey, make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(Bundle().key(key).plan("bucket", token_bucket(5, "1/1h"), expose="some"), "memory")
    agent.launch()
    assert agent.process.wait(20) != 0
    said = agent.log.read_text()
    assert "/plans/0/expose" in said and "all, remaining, none" in said
