"""Envoy's rate limit service over HTTP, by files of envoyproxy/ratelimit. Windows are a year long, so that none ends here."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent
from support.bundle import MintedKey
from support.client import Client, fresh_subject
from support.process import wait_until
from support.rate_limits import ask, codes, limited, write_config
from support.redis_server import RedisServer
from support.standard import standard_bundle

Make = Callable[..., Agent]
Ask = Callable[..., Any]

SHOP = """
domain: shop
descriptors:
  - key: user
    rate_limit: {unit: year, requests_per_unit: 2}
  - key: large
    rate_limit: {unit: year, requests_per_unit: 1000}
  - key: shady
    shadow_mode: true
    rate_limit: {unit: year, requests_per_unit: 1}
  - key: free
    rate_limit: {unlimited: true}
  - key: general
    rate_limit: {unit: year, requests_per_unit: 1, name: general}
  - key: special
    rate_limit: {unit: year, requests_per_unit: 3, replaces: [{name: general}]}
  - key: path
    value: files/*
    share_threshold: true
    rate_limit: {unit: year, requests_per_unit: 2}
  - key: path
    value: img/*
    value_to_metric: true
    detailed_metric: true
    rate_limit: {unit: year, requests_per_unit: 1}
  - key: banned
    rate_limit: {unit: second, requests_per_unit: 0}
  - key: service
    quota_mode: true
    metadata: {pool: first}
    rate_limit: {unit: year, requests_per_unit: 1}
  - key: service
    value: two
    quota_mode: true
    metadata: {pool: second}
    rate_limit: {unit: year, requests_per_unit: 2}
"""


def counters_of(kind: str, redis: RedisServer) -> tuple[str, ...]:
    """The value of --counters, and the flags that go with it."""
    return ("memory",) if kind == "memory" else (redis.counters, "--redis-deadline", "2s")


@pytest.fixture(scope="module", params=["memory", "redis"])
def shop(request: pytest.FixtureRequest, program: Path, redis: RedisServer, module_folder: Path) -> Iterator[Agent]:
    """An agent without policies that serves the domain `shop`."""
    folder = module_folder / request.param
    counters, *flags = counters_of(request.param, redis)
    agent = Agent(program, folder, None, counters,
                  [*flags, "--ratelimit-config", str(write_config(folder / "limits", shop=SHOP)), "--rls-response-headers",
                   "--rls-dynamic-metadata"]).start()
    if request.param == "redis":
        wait_until("the connection to Redis", lambda: agent.metric("sluice_redis_connected") == 1)
    yield agent
    agent.close()


@pytest.fixture
def shop_client(shop: Agent) -> Iterator[Client]:
    """A connection without an API key."""
    with shop.client() as client:
        yield client


@pytest.fixture
def decide(shop_client: Client) -> Ask:
    """Asks about descriptors of the domain `shop`: the status, the overall code, and the codes of the descriptors."""
    return lambda *descriptors, **fields: codes(ask(shop_client, "shop", *descriptors, **fields))


def test_what_is_within_the_limit_is_allowed_and_what_is_over_it_is_not(shop_client: Client) -> None:
    user = fresh_subject()
    first = ask(shop_client, "shop", [("user", user)])
    assert first.status == 200
    assert first.header("content-type") == "application/json"
    status = first.body["statuses"][0]
    assert 0 < int(status.pop("durationUntilReset").removesuffix("s")) <= 365 * 86400
    assert status == {"code": "OK", "currentLimit": {"requestsPerUnit": 2, "unit": "YEAR"}, "limitRemaining": 1}
    assert ask(shop_client, "shop", [("user", user)]).status == 200
    last = ask(shop_client, "shop", [("user", user)])
    assert codes(last) == (429, "OVER_LIMIT", ["OVER_LIMIT"])
    assert "limitRemaining" not in last.body["statuses"][0]
    assert ask(shop_client, "shop", [("user", fresh_subject())]).status == 200


def test_nothing_limits_an_unknown_domain_or_descriptor(shop_client: Client, decide: Ask) -> None:
    assert codes(ask(shop_client, "nowhere", [("user", "x")])) == (200, "OK", ["OK"])
    assert decide([("nothing", "x")], [("user", "x"), ("deeper", "y")]) == (200, "OK", ["OK", "OK"])


def test_a_limit_of_0_denies_at_once(decide: Ask) -> None:
    assert decide([("banned", "x")]) == (429, "OVER_LIMIT", ["OVER_LIMIT"])


def test_shadow_mode_never_denies(decide: Ask) -> None:
    user = fresh_subject()
    assert [decide([("shady", user)]) for _ in range(3)] == [(200, "OK", ["OK"])] * 3


def test_an_unlimited_descriptor_says_so(shop_client: Client) -> None:
    answer = ask(shop_client, "shop", [("free", "x")])
    assert answer.body["statuses"] == [{"code": "OK", "limitRemaining": 4294967295}]


def test_a_rule_replaces_another_one_by_name(decide: Ask) -> None:
    user = fresh_subject()
    both = [[("general", user)], [("special", user)]]
    assert [decide(*both)[0] for _ in range(4)] == [200, 200, 200, 429]
    assert [decide([("general", user)])[0] for _ in range(2)] == [200, 429]


def test_a_pattern_counts_each_value_by_itself_or_all_together(decide: Ask) -> None:
    name = fresh_subject()
    assert [decide([("path", f"img/{name}{number}")])[0] for number in range(3)] == [200] * 3
    assert decide([("path", f"img/{name}0")])[0] == 429
    assert [decide([("path", f"files/{name}{number}")])[0] for number in range(3)] == [200, 200, 429]


def test_hits_of_the_request_and_of_a_descriptor(shop_client: Client) -> None:
    user = fresh_subject()

    def remaining(descriptor: Any, **fields: Any) -> int:
        return int(ask(shop_client, "shop", descriptor, **fields).body["statuses"][0].get("limitRemaining", 0))

    assert remaining([("large", user)], hitsAddend=100) == 900
    assert remaining(limited(("large", user), hitsAddend="50"), hitsAddend=100) == 850
    assert remaining(limited(("large", user), hitsAddend=0), hitsAddend=100) == 850
    assert remaining([("large", user)]) == 849


def test_a_limit_of_the_request_decides_instead_of_the_rule(decide: Ask) -> None:
    user = fresh_subject()
    own = limited(("user", user), limit={"requestsPerUnit": 1, "unit": "MONTH"})
    assert [decide(own)[0] for _ in range(2)] == [200, 429]
    assert [decide([("user", user)])[0] for _ in range(3)] == [200, 200, 429]


def test_each_descriptor_is_charged_by_itself(decide: Ask) -> None:
    user = fresh_subject()
    both = [[("large", user)], [("user", user)]]
    assert [decide(*both)[0] for _ in range(3)] == [200, 200, 429]
    assert decide(*both) == (429, "OVER_LIMIT", ["OK", "OVER_LIMIT"])


def test_quota_mode_denies_where_no_descriptor_is_left(shop_client: Client) -> None:
    both = [[("service", fresh_subject())], [("service", "two")]]
    answers = [ask(shop_client, "shop", *both) for _ in range(3)]
    assert [codes(answer) for answer in answers] == [
        (200, "OK", ["OK", "OK"]), (200, "OK", ["OVER_LIMIT", "OK"]), (429, "OVER_LIMIT", ["OVER_LIMIT", "OVER_LIMIT"])]
    assert [answer.body["dynamicMetadata"].get("metadata") for answer in answers] == [
        {"pool": "first"}, {"pool": "second"}, None]


def test_headers_for_the_proxy_tell_of_the_descriptor_with_the_least_left(shop_client: Client) -> None:
    user = fresh_subject()
    answer = ask(shop_client, "shop", [("large", user)], [("user", user)])
    headers = {header["key"]: header["value"] for header in answer.body["responseHeadersToAdd"]}
    assert headers["RateLimit-Limit"] == "2" and headers["RateLimit-Remaining"] == "1"
    assert int(headers["RateLimit-Reset"]) > 0


@pytest.mark.parametrize(("body", "says"), [
    ("{", "not a RateLimitRequest"), ('{"domain":"","descriptors":[{}]}', "domain must not be empty"),
    ('{"domain":"shop"}', "at least one descriptor"), ('{"domain":"shop","descriptor":[]}', "not a RateLimitRequest"),
    ('{"domain":"shop","descriptors":[{"isNegativeHits":true}]}', "is_negative_hits is not supported"),
])
def test_a_request_that_is_none_is_refused(shop: Agent, shop_client: Client, body: str, says: str) -> None:
    invalid = shop.metric("sluice_ratelimit_requests_total", outcome="invalid")
    answer = shop_client.post("/json", body)
    assert (answer.status, answer.body["code"]) == (400, "invalid")
    assert says in answer.body["detail"]
    assert shop.metric("sluice_ratelimit_requests_total", outcome="invalid") == invalid + 1


def test_the_body_may_be_what_curl_sends_with_d(shop_client: Client) -> None:
    answer = shop_client.post("/json", '{"domain":"shop","descriptors":[{}]}',
                              {"content-type": "application/x-www-form-urlencoded"})
    assert answer.status == 200


def test_requests_and_descriptors_are_counted_by_their_outcome(shop: Agent, decide: Ask) -> None:
    def counted(name: str, outcome: str) -> float:
        return shop.metric(f"sluice_ratelimit_{name}_total", outcome=outcome)

    before = {outcome: counted("descriptors", outcome) for outcome in ("ok", "over_limit", "unlimited", "no_limit")}
    requests = counted("requests", "over_limit")
    decide([("large", "x")], [("banned", "x")], [("free", "x")], [("nothing", "x")])
    assert {outcome: counted("descriptors", outcome) - count for outcome, count in before.items()} == {
        "ok": 1, "over_limit": 1, "unlimited": 1, "no_limit": 1}
    assert counted("requests", "over_limit") == requests + 1


def test_an_agent_without_policies_is_ready_and_says_what_it_serves(shop: Agent, shop_client: Client) -> None:
    with Client(shop.admin_port) as admin:
        ready, started = admin.get("/readyz"), admin.get("/startupz")
    assert (ready.status, ready.body["degraded"]) == (200, [])
    assert started.status == 200
    snapshot = shop_client.get("/v1/snapshot").body
    assert snapshot == {"loaded": False, "ratelimit": {"tenant": "default", "decision": "per-descriptor", "domains": 1,
                                                       "limits": 11}}
    check = shop_client.check(resource="r")
    assert (check.status, check.body["reason"]) == (503, "no_snapshot")
    assert "--ratelimit-config" in check.body["cause"]


def test_the_unix_socket_needs_no_key(shop: Agent) -> None:
    with shop.unix_client() as client:
        assert ask(client, "shop", [("free", "x")]).status == 200


@pytest.mark.parametrize("kind", ["memory", "redis"])
def test_atomic_all_descriptors_are_charged_or_none(make_agent: Make, redis: RedisServer, tmp_path: Path, kind: str) -> None:
    limits = write_config(tmp_path / "limits", shop=SHOP)
    counters, *flags = counters_of(kind, redis)
    agent = make_agent(None, counters, *flags, "--ratelimit-config", str(limits), "--rls-decision", "atomic",
                       "--ratelimit-tenant", f"t{kind}", "--workers", "2").start()
    if kind == "redis":
        wait_until("the connections to Redis", lambda: agent.metric("sluice_redis_connected") == 1)

    def both(user: str) -> list[Any]:
        return [[("large", user)], [("user", user)]]

    def left(client: Client, user: str) -> int:
        return int(ask(client, "shop", limited(("large", user), hitsAddend=0)).body["statuses"][0]["limitRemaining"])

    with agent.client() as client:
        user = fresh_subject()
        answers = [ask(client, "shop", *both(user)) for _ in range(10)]
        assert [answer.status for answer in answers] == [200] * 2 + [429] * 8
        assert codes(answers[-1])[2] == ["OK", "OVER_LIMIT"]
        assert left(client, user) == 998

    user = fresh_subject()
    statuses: list[int] = []

    def run() -> None:
        with agent.client() as one:
            statuses.append(ask(one, "shop", *both(user)).status)

    threads = [threading.Thread(target=run) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] * 2 + [429] * 30
    with agent.client() as client:
        assert left(client, user) == 998


def test_a_request_is_one_call_of_redis(make_agent: Make, redis: RedisServer, tmp_path: Path) -> None:
    limits = write_config(tmp_path / "limits", shop=SHOP)
    seen = {}
    for decision in ("atomic", "per-descriptor"):
        agent = make_agent(None, redis.counters, "--redis-deadline", "2s", "--ratelimit-config", str(limits),
                           "--rls-decision", decision).start()
        wait_until("the connection to Redis", lambda: agent.metric("sluice_redis_connected") == 1)
        with agent.client() as client:
            three = [[("large", "x")], [("user", fresh_subject())], [("free", "x")], [("shady", "x")]]
            ask(client, "shop", *three)   # once beforehand, so that the scripts are known
            with redis.monitor() as monitor:
                ask(client, "shop", *three)
        seen[decision] = monitor.commands()
    assert {decision: len(commands) for decision, commands in seen.items()} == {"atomic": 1, "per-descriptor": 1}
    assert all('"EVALSHA"' in command for commands in seen.values() for command in commands)
    assert '"sl:{default|rls:shop}:r=YEAR|large=x"' in seen["atomic"][0]
    assert any('"sl:{default|rls:shop|large=x}:r=YEAR"' in command for command in seen["per-descriptor"])


def test_while_redis_is_away_there_is_no_answer(make_agent: Make, make_redis: Callable[..., RedisServer],
                                                tmp_path: Path) -> None:
    redis = make_redis()
    limits = write_config(tmp_path / "limits", shop=SHOP)
    agent = make_agent(None, redis.counters, "--ratelimit-config", str(limits), "--redis-deadline", "2s").start()
    wait_until("the connection to Redis", lambda: agent.metric("sluice_redis_connected") == 1)
    with agent.client() as client:
        assert ask(client, "shop", [("user", "x")]).status == 200
        redis.close()
        answer = ask(client, "shop", [("user", "x")])
        assert (answer.status, answer.body["code"]) == (503, "counters_unavailable")
        assert answer.header("retry-after") == "1"
        assert ask(client, "shop", [("free", "x")]).status == 200


def test_an_agent_with_policies_serves_both(make_agent: Make, key: MintedKey, other_key: MintedKey, tmp_path: Path) -> None:
    limits = write_config(tmp_path / "limits", shop=SHOP)
    agent = make_agent(standard_bundle(key, other_key), "memory", "--ratelimit-config", str(limits)).start()
    with agent.client(key.text) as client:
        assert client.check(plan_id="fixed", subject="x").status == 200
        assert ask(client, "shop", [("user", "x")]).status == 200
        snapshot = client.get("/v1/snapshot").body
    assert snapshot["loaded"] is True and snapshot["ratelimit"]["domains"] == 1


def test_without_the_flag_there_is_no_such_path(make_agent: Make, key: MintedKey, other_key: MintedKey) -> None:
    agent = make_agent(standard_bundle(key, other_key), "memory").start()
    with agent.client() as client:
        assert ask(client, "shop", [("user", "x")]).status == 404
        assert "ratelimit" not in client.get("/v1/snapshot").body
