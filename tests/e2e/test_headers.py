"""Which rate limit headers callers see: the families of --headers, what a policy or plan exposes of them, Retry-After on 200."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Optional

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket, window
from support.client import Answer, Client, fresh_subject
from support.redis_server import RedisServer

NUMBER, NAME = r"\d+", '"burst"'
# family -> header -> its value on a 200 and a 429, with {left} and {spent} for what differs.
FAMILIES: dict[str, dict[str, str]] = {
    "x": {"x-ratelimit-limit": "1", "x-ratelimit-remaining": "{left}", "x-ratelimit-reset": NUMBER},
    "ietf": {"ratelimit-policy": rf"{NAME};q=1(;w=\d+)?", "ratelimit": rf"{NAME};r={{left}};t=\d+"},
    "ietf-next": {"ratelimit-policy": rf"{NAME};q=1(;w=\d+)?", "ratelimit": rf"{NAME};a={{left}};w=\d+;c={{spent}}",
                  "ratelimit-partition": f"{NAME};subject"},
    "draft6": {"ratelimit-limit": "1", "ratelimit-remaining": "{left}", "ratelimit-reset": NUMBER},
}
# The one header of a family that says what remains, where that is all a policy exposes.
REMAINING = {"x": ("x-ratelimit-remaining", "{left}"), "ietf": ("ratelimit", f"{NAME};r={{left}}"),
             "ietf-next": ("ratelimit", f"{NAME};a={{left}}"), "draft6": ("ratelimit-remaining", "{left}")}
EXPOSED = ["all", "remaining", "none"]


def limit_headers(answer: Answer) -> dict[str, str]:
    """The reply's rate limit headers, Retry-After among them."""
    return {name: value for name, value in answer.headers.items() if "ratelimit" in name or name == "retry-after"}


def exposed(family: str, expose: str) -> dict[str, str]:
    """The headers that replies with a limit must have, as patterns."""
    if expose == "none":
        return {}
    return dict([REMAINING[family]]) if expose == "remaining" else FAMILIES[family]


def assert_headers(answer: Answer, patterns: Mapping[str, str], left: int = 0, spent: int = 0) -> None:
    """These headers and no others."""
    found = limit_headers(answer)
    assert found.keys() == patterns.keys()
    for name, pattern in patterns.items():
        expected = pattern.replace("{left}", str(left)).replace("{spent}", str(spent))
        assert re.fullmatch(expected, found[name]), (name, found[name])


def one_for_each_choice(key: MintedKey, **fields: Any) -> Bundle:
    """A policy for each value of `expose`, and one that says nothing of it: one unit an hour for each subject."""
    bundle = Bundle().key(key).plan("one", token_bucket(1, "1/1h"))
    for expose in EXPOSED:
        bundle.policy(expose, {"resource": expose}, "one", expose=expose, **fields)
    return bundle.policy("unsaid", {"resource": "unsaid"}, "one", **fields)


@pytest.fixture(scope="module", params=list(FAMILIES))
def family(request: pytest.FixtureRequest) -> str:
    """Each family of headers."""
    return str(request.param)


@pytest.fixture(scope="module")
def family_agent(family: str, key: MintedKey, module_agent: Callable[..., Agent]) -> Agent:
    """An agent that writes this family only."""
    started: Agent = module_agent(one_for_each_choice(key), "memory", "--headers", family).start()
    return started


@pytest.fixture
def caller(family_agent: Agent, key: MintedKey) -> Iterator[Client]:
    """A connection to it."""
    with family_agent.client(key.text) as connection:
        yield connection


@pytest.mark.parametrize("expose", [*EXPOSED, "unsaid"])
def test_a_policy_chooses_the_headers_of_200_and_429_in_each_family(caller: Client, family: str, expose: str) -> None:
    subject = fresh_subject()
    patterns = exposed(family, "all" if expose == "unsaid" else expose)
    allowed = caller.check(resource=expose, subject=subject)
    assert allowed.status == 200
    assert_headers(allowed, patterns, left=0, spent=1)
    denied = caller.check(resource=expose, subject=subject)
    assert denied.status == 429
    assert_headers(denied, {**patterns, "retry-after": NUMBER}, left=0, spent=0)


@pytest.mark.parametrize("expose", EXPOSED)
def test_what_a_policy_exposes_changes_no_body_and_no_batch(caller: Client, expose: str) -> None:
    def numbers(body: dict[str, Any]) -> tuple[Any, ...]:
        assert body["reset_at"] > 0
        return body["allowed"], body["limit"], body["remaining"], body["limit_name"], body["retry_after_ms"] > 0

    subject = fresh_subject()
    answers = [caller.check(resource=expose, subject=subject) for _ in range(2)]
    assert [numbers(answer.body) for answer in answers] == [(True, 1, 0, "burst", False), (False, 1, 0, "burst", True)]
    subject = fresh_subject()
    batch = caller.batch(*[{"resource": expose, "subject": subject}] * 2)
    assert batch.status == 200 and not limit_headers(batch)
    assert [numbers(result) for result in batch.body["results"]] == [numbers(answer.body) for answer in answers]


@pytest.mark.parametrize("expose", EXPOSED)
def test_a_reply_as_text_has_the_headers_that_its_policy_exposes(caller: Client, family: str, expose: str) -> None:
    answer = caller.check({"accept": "text/plain"}, resource=expose, subject=fresh_subject())
    assert (answer.status, answer.body) == (200, "OK")
    assert_headers(answer, exposed(family, expose), spent=1)


def test_a_503_has_retry_after_and_nothing_else_whatever_its_policy_exposes(
        key: MintedKey, make_redis: Callable[..., RedisServer], make_agent: Callable[..., Agent], family: str) -> None:
    server = make_redis()
    agent = make_agent(one_for_each_choice(key, failure_mode="fail_closed"), server.counters, "--headers", family).start()
    agent.wait_for_redis(key.text, "one")
    server.kill9()
    with agent.client(key.text) as client:
        for expose in EXPOSED:
            answer = client.check(resource=expose, subject="user:1")
            assert (answer.status, answer.body["reason"]) == (503, "fail_closed")
            assert_headers(answer, {"retry-after": NUMBER})
            assert answer.body["retry_after_ms"] == 1000 * int(answer.headers["retry-after"])


def test_a_check_by_plan_has_the_headers_of_the_plan_and_a_policy_has_its_own(
        key: MintedKey, make_agent: Callable[..., Agent]) -> None:
    bundle = Bundle().key(key).plan("quiet", token_bucket(1, "1/1h"), expose="none")
    bundle.policy("loud", {"resource": "loud"}, "quiet")
    agent = make_agent(bundle, "memory", "--headers", "x").start()
    with agent.client(key.text) as client:
        assert_headers(client.check(plan_id="quiet", subject="user:1"), {})
        assert_headers(client.check(resource="loud", subject="user:1"), FAMILIES["x"])


def test_the_next_draft_says_what_was_spent_and_what_the_counter_is_named_by(
        key: MintedKey, make_agent: Callable[..., Agent]) -> None:
    bundle = Bundle().key(key).plan("several", window("fixed_window", 10, "1m", key_by=["tag.env"]))
    bundle.plan("common", window("fixed_window", 10, "1m"), key_by=[])
    agent = make_agent(bundle, "memory", "--headers", "x,ietf-next").start()
    with agent.client(key.text) as client:
        answer = client.check(plan_id="several", subject="user:1", tags={"env": "prod"}, cost=3)
        assert re.fullmatch(r'"window";a=7;w=\d+;c=3', answer.headers["ratelimit"])
        assert answer.header("ratelimit-policy") == '"window";q=10;w=60'
        assert answer.header("ratelimit-partition") == '"window";subject;tag.env'
        assert answer.header("x-ratelimit-remaining") == "7"
        refused = client.check(plan_id="several", subject="user:1", tags={"env": "prod"}, cost=8)
        assert (refused.status, refused.headers["ratelimit"].split(";")[-1]) == (429, "c=0"), "a refused check spends nothing"
        assert client.check(plan_id="common", subject="user:1").header("ratelimit-partition") is None


def test_the_next_draft_is_off_unless_it_is_asked_for(key: MintedKey, make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(one_for_each_choice(key), "memory").start()
    with agent.client(key.text) as client:
        answer = client.check(resource="all", subject="user:1")
    assert_headers(answer, {**FAMILIES["x"], **FAMILIES["ietf"]}, spent=1)


@pytest.mark.parametrize(("expose", "wait"), [("all", "0"), ("remaining", None), ("none", None)])
def test_with_the_option_200_has_retry_after_where_its_policy_exposes_all(
        key: MintedKey, make_agent: Callable[..., Agent], expose: str, wait: Optional[str]) -> None:
    agent = make_agent(one_for_each_choice(key), "memory", "--headers", "retry-after").start()
    with agent.client(key.text) as client:
        allowed, denied = (client.check(resource=expose, subject="user:1") for _ in range(2))
    assert (allowed.status, limit_headers(allowed)) == (200, {} if wait is None else {"retry-after": wait})
    assert (denied.status, list(limit_headers(denied))) == (429, ["retry-after"])


def test_with_the_option_a_check_that_passes_over_its_limit_says_when_it_would_fit(
        key: MintedKey, make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(one_for_each_choice(key, action="allow"), "memory", "--headers", "retry-after").start()
    with agent.client(key.text) as client:
        fits, over = (client.check(resource="all", subject="user:1") for _ in range(2))
    assert (fits.status, fits.header("retry-after")) == (200, "0")
    assert over.status == 200 and 3_500 < int(over.headers["retry-after"]) <= 3_600
