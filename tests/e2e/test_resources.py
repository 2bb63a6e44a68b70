"""Resources that are routes: every spelling means one thing, patterns share a counter, unmatched ones are counted."""

from collections.abc import Callable

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket
from support.client import Client, fresh_subject
from support.redis_server import RedisServer


@pytest.fixture(scope="module")
def bundle(key: MintedKey, other_key: MintedKey) -> Bundle:
    """Tenant acme keeps slashes at the end apart; its rival does not, and refuses what no policy matches."""
    made = Bundle().key(key).add_tenant("rival", trailing_slash="same", default="deny").key(other_key, tenant="rival")
    made.plan("bucket", token_bucket(5, "1/1h")).plan("bucket", token_bucket(5, "1/1h"), tenant="rival")
    by_both = {"key_by": ["resource", "subject"]}
    made.policy("orders", {"resource": "get /shop//orders?page=1"}, "bucket", **by_both)
    made.policy("me", {"resource": "GET:/users/me"}, "bucket", **by_both)
    made.policy("user", {"resource": "GET:/users/{id}"}, "bucket", **by_both)
    made.policy("users", {"resource": "GET:/users/*"}, "bucket", **by_both)
    made.policy("topic", {"resource": "Payments//Topic?"}, "bucket")
    made.policy("slash", {"resource": "GET:/carts"}, "bucket", tenant="rival", **by_both)
    made.policy("below", {"resource": "GET:/admin/*"}, "bucket", tenant="rival", **by_both)
    return made


def decided_by(client: Client, resource: str) -> str:
    """The policy that answers."""
    return str(client.check(resource=resource, subject=fresh_subject()).body.get("policy_id", ""))


@pytest.mark.parametrize("spelling", [
    "GET:/shop/orders", "get:/shop/orders", "GET /shop/orders", "GET:/shop//orders", "GET:/shop/orders?page=2",
    "GET:/shop/orders#top", "GET:/%73hop/%6frders", "GET:/shop/./orders", "GET:/shop/x/../orders", "GET:/shop/%2e%2e/shop/orders"])
def test_every_spelling_of_a_route_is_one_resource_with_one_counter(client: Client, spelling: str) -> None:
    subject = fresh_subject()
    first = client.check(resource="GET:/shop/orders", subject=subject)
    second = client.check(resource=spelling, subject=subject)
    assert (first.body["policy_id"], second.body["policy_id"]) == ("orders", "orders")
    assert second.body["remaining"] == first.body["remaining"] - 1


@pytest.mark.parametrize("resource", [
    "POST:/shop/orders", "GET:/shop%2Forders", "GET:/shop/orders/", "GOT:/shop/orders", "GET:shop/orders", "/shop/orders",
    "payments//topic?", "Payments/Topic"])
def test_what_is_another_route_or_none_is_left_as_it_is(client: Client, resource: str) -> None:
    assert decided_by(client, resource) == ""
    assert decided_by(client, "Payments//Topic?") == "topic"


def test_exact_comes_before_a_pattern_and_a_pattern_before_a_prefix(client: Client) -> None:
    assert decided_by(client, "GET:/users/me") == "me"
    assert decided_by(client, "GET:/users/42") == "user"
    assert decided_by(client, "GET:/users/42/orders") == "users"
    assert decided_by(client, "GET:/users/") == "users", "a segment of a pattern is not empty"


def test_all_resources_of_a_pattern_share_its_counter(client: Client, redis: RedisServer) -> None:
    subject = fresh_subject()
    remaining = [client.check(resource=f"GET:/users/{number}", subject=subject).body["remaining"] for number in range(5)]
    assert remaining == [4, 3, 2, 1, 0]
    assert client.check(resource="get /users/%39?x", subject=subject).status == 429
    assert client.check(resource="GET:/users/me", subject=subject).body["remaining"] == 4
    keys = [str(name) for name in redis.cli("KEYS", f"*{subject.split(':')[1]}*") or []]
    assert len([name for name in keys if "%7Bid%7D" in name]) == 1 and len(keys) == 2


def test_a_batch_and_a_release_take_patterns_and_spellings(client: Client) -> None:
    subject = fresh_subject()
    answer = client.batch({"resource": "GET /users/1?a", "subject": subject}, {"resource": "get:/users//2", "subject": subject})
    assert [each["policy_id"] for each in answer.body["results"]] == ["user", "user"]
    assert [each["remaining"] for each in answer.body["results"]] == [4, 3]


def test_trailing_slash_same_makes_one_resource_of_two(agent: Agent, client: Client, other_key: MintedKey) -> None:
    subject = fresh_subject()
    with agent.client(other_key.text) as rival:
        remaining = [rival.check(resource=each, subject=subject).body["remaining"] for each in ("GET:/carts", "GET:/carts/")]
        assert remaining == [4, 3]
        assert rival.check(resource="GET:/admin", subject=subject).body["policy_id"] == "below"
        assert rival.check(resource="GET:/administrators", subject=subject).status == 429
    assert decided_by(client, "GET:/shop/orders/") == "", "acme keeps them apart"


def test_what_no_policy_matches_is_counted_by_tenant_whatever_the_default_decides(agent: Agent, client: Client,
                                                                                  other_key: MintedKey) -> None:
    def unmatched(tenant: str) -> float:
        return agent.metric("sluice_unmatched_total", tenant=tenant)

    before = unmatched("acme"), unmatched("rival")
    with agent.client(other_key.text) as rival:
        allowed = [client.check(resource="GET:/nowhere", subject="a").status for _ in range(3)]
        assert allowed + [rival.check(resource="GET:/nowhere", subject="a").status] == [200, 200, 200, 429]
        client.check(resource="GET:/users/me", subject=fresh_subject())
    assert (unmatched("acme") - before[0], unmatched("rival") - before[1]) == (3, 1)


@pytest.mark.parametrize(("resource", "says"), [
    ("GET:/users/{", "is not closed"), ("GET:/users/{}", "have no name"), ("GET:/users/x{id}", "a whole segment"),
    ("GET:/users/{id}*", "no * at its end"), ("GET:/users/{id:[0-9]+}", "leave expressions out")])
def test_a_pattern_with_a_fault_names_the_rule_and_the_fix(key: MintedKey, make_agent: Callable[..., Agent], redis: RedisServer,
                                                           resource: str, says: str) -> None:
    made = Bundle().key(key).plan("bucket", token_bucket(5, "1/1h")).policy("wrong", {"resource": resource}, "bucket")
    agent = make_agent(made, redis.counters)
    agent.launch()
    assert agent.process.wait(20) != 0
    said = agent.log.read_text()
    assert says in said and "/policies/0/scope/resource" in said
