"""Who is judged by what, through HTTP: what never stands in for an enforcing policy, scopes, explanations, defaults."""

from collections.abc import Callable
from typing import Any

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket
from support.client import Client, fresh_subject
from support.redis_server import RedisServer

# What keeps a narrower policy from deciding, each in front of an enforcing one.
IN_FRONT: dict[str, dict[str, Any]] = {
    "shadow": {"mode": "shadow"},
    "outside-its-rollout": {"rollout_percent": 0},
    "expired": {"valid_to": "2020-01-01T00:00:00Z"},
    "not-yet-valid": {"valid_from": "2100-01-01T00:00:00Z"},
    "disabled": {"enabled": False},
    "expression-false": {"match_expr": "region == nowhere"},
}


@pytest.fixture(scope="module")
def bundle(key: MintedKey, other_key: MintedKey) -> Bundle:
    """Tenant acme with policies of every kind; a rival that denies by default and keeps its plans to itself."""
    made = Bundle().key(key).add_tenant("rival", default="deny", plan_calls=False).key(other_key, tenant="rival")
    made.plan("bucket", token_bucket(5, "1/1h")).plan("generous", token_bucket(1000, "1/1h"))
    made.plan("rivals", token_bucket(5, "1/1h"), tenant="rival")
    made.policy("rivals", {"resource": "GET:/known"}, "rivals", tenant="rival")
    for what, fields in IN_FRONT.items():
        made.policy(f"behind-{what}", {"resource": f"GET:/{what}"}, "bucket")
        made.policy(f"front-{what}", {"resource": f"GET:/{what}", "method": "GET"}, "generous", priority=9, **fields)
        made.policy(f"off-{what}", {"resource": f"GET:/off/{what}", "method": "GET"}, "generous",
                    **{"mode": "off", **fields})
        made.policy(f"behind-off-{what}", {"resource": f"GET:/off/{what}"}, "bucket")
    made.policy("by-user", {"resource": "GET:/shadow/users", "method": "GET"}, "generous", mode="shadow",
                key_by=["user"]).policy("by-subject", {"resource": "GET:/shadow/users"}, "bucket")
    made.policy("net", {"source_ip": "10.1.0.0/16"}, "generous").policy("host", {"source_ip": "10.1.2.3"}, "generous")
    made.policy("net6", {"source_ip": "2001:db8::/32"}, "generous")
    made.policy("files", {"resource": "GET:/files/*"}, "generous")
    made.policy("pictures", {"resource": "GET:/files/pictures/*"}, "generous")
    made.policy("eu-gold", {"operation": "buy"}, "generous",
                match_expr="region =~ '^eu-' && tag.tier in [gold, silver]")
    made.policy("named-users", {"operation": "login"}, "generous", key_by=["user"], require_key_by=True)
    return made


def decided_by(client: Client, **fields: Any) -> str:
    """The policy that answers."""
    answer = client.check(subject=fresh_subject(), **fields)
    assert answer.status == 200
    return str(answer.body.get("policy_id", ""))


@pytest.mark.parametrize("what", IN_FRONT)
def test_what_does_not_decide_never_switches_off_the_enforcing_policy_behind_it(client: Client, what: str) -> None:
    subject = fresh_subject()
    call = {"resource": f"GET:/{what}", "method": "GET", "subject": subject}
    answers = [client.check(**call) for _ in range(7)]
    assert [answer.status for answer in answers] == [200] * 5 + [429] * 2
    assert {answer.body["policy_id"] for answer in answers} == {f"behind-{what}"}
    assert ("shadow_result" in answers[-1].body) == (what == "shadow")


@pytest.mark.parametrize("what", [what for what in IN_FRONT if what != "shadow"])
def test_a_policy_that_is_off_and_does_not_apply_switches_nothing_off(client: Client, what: str) -> None:
    subject = fresh_subject()
    answers = [client.check(resource=f"GET:/off/{what}", method="GET", subject=subject) for _ in range(6)]
    assert [answer.status for answer in answers] == [200] * 5 + [429]


def test_the_shadow_in_front_counts_for_itself(client: Client) -> None:
    subject = fresh_subject()
    for _ in range(6):
        body = client.check(resource="GET:/shadow", method="GET", subject=subject).body
    assert (body["allowed"], body["remaining"]) == (False, 0)
    shadow = body["shadow_result"]
    assert (shadow["policy_id"], shadow["allowed"], shadow["remaining"]) == ("front-shadow", True, 994)


@pytest.mark.parametrize("resource, scripts", [("GET:/shadow", 1), ("GET:/shadow/users", 2)])
def test_a_policy_and_its_shadow_are_one_evalsha_where_they_count_the_same_identity(
        client: Client, redis: RedisServer, resource: str, scripts: int) -> None:
    # Counters of different identities may live in different slots of a Redis Cluster.
    before = redis.calls("evalsha")
    for _ in range(5):
        body = client.check(resource=resource, method="GET", subject=fresh_subject(), user="u").body
        assert body["allowed"] and body["shadow_result"]["allowed"]
    assert redis.calls("evalsha") - before == 5 * scripts


def test_a_shadow_whose_counter_is_broken_is_left_out_and_refuses_nobody(client: Client, redis: RedisServer) -> None:
    call = {"resource": "GET:/shadow", "method": "GET", "subject": "broken"}
    client.check(**call)
    key = "sl:{acme|subject=broken}:p=front-shadow"
    assert redis.cli("DEL", key) == 1
    redis.cli("RPUSH", key, "no counter")
    answer = client.check(**call)
    assert (answer.status, answer.body["reason"], answer.body["remaining"]) == (200, "within_limit", 3)
    assert "shadow_result" not in answer.body


@pytest.mark.parametrize("what, outcome", [("shadow", "shadow_judged"), ("outside-its-rollout", "outside_rollout"),
                                           ("expired", "expired"), ("not-yet-valid", "not_yet_valid"),
                                           ("disabled", "disabled"), ("expression-false", "expression_false")])
def test_explain_says_what_became_of_every_candidate(client: Client, what: str, outcome: str) -> None:
    body = client.explain(resource=f"GET:/{what}", method="GET", subject=fresh_subject()).body
    front, behind = body["candidates"]
    assert (front["policy_id"], front["outcome"], front["plan_id"]) == (f"front-{what}", outcome, "generous")
    assert (behind["policy_id"], behind["outcome"], behind["policy_version"]) == (f"behind-{what}", "decides", 1)
    assert front["why"] and behind["why"] == "the only policy that applies and is not in shadow mode"
    assert "candidates_omitted" not in body


def test_explain_says_why_another_policy_ranks_higher(client: Client) -> None:
    body = client.explain(source_ip="10.1.2.3", subject=fresh_subject()).body
    assert [(each["policy_id"], each["outcome"]) for each in body["candidates"]] == [("host", "decides"),
                                                                                    ("net", "outranked")]
    assert body["candidates"][1]["why"] == ("host is narrower in source_ip: it has an exact value, "
                                            "this policy has an address block")


def test_without_explain_there_are_no_candidates(client: Client) -> None:
    assert "candidates" not in client.check(resource="GET:/shadow", subject=fresh_subject()).body


@pytest.mark.parametrize("address, policy", [("10.1.2.3", "host"), ("::ffff:10.1.2.3", "host"), ("10.1.2.4", "net"),
                                             ("10.2.0.0", ""), ("2001:DB8:0:0::9", "net6"), ("10.1.2.3:443", "host")])
def test_a_source_address_is_matched_by_address_and_block(client: Client, address: str, policy: str) -> None:
    assert decided_by(client, source_ip=address) == policy


@pytest.mark.parametrize("resource, policy", [("GET:/files/a", "files"), ("GET:/files/", "files"), ("GET:/file", ""),
                                              ("GET:/files/pictures/7", "pictures"), ("PUT:/files/a", "")])
def test_the_longest_prefix_decides(client: Client, resource: str, policy: str) -> None:
    assert decided_by(client, resource=resource) == policy


@pytest.mark.parametrize("region, tier, policy", [("eu-1", "gold", "eu-gold"), ("eu-2", "silver", "eu-gold"),
                                                  ("us-1", "gold", ""), ("eu-1", "tin", "")])
def test_a_match_expr_chooses_among_requests(client: Client, region: str, tier: str, policy: str) -> None:
    assert decided_by(client, operation="buy", region=region, tags={"tier": tier}) == policy


def test_a_match_expr_is_not_true_of_what_is_absent(client: Client) -> None:
    assert decided_by(client, operation="buy") == ""


def test_a_policy_that_requires_its_dimensions_refuses_a_check_without_them(client: Client) -> None:
    refused = client.check(operation="login", subject=fresh_subject())
    assert refused.status == 422
    assert [fault["pointer"] for fault in refused.body["errors"]] == ["/user"]
    assert client.check(operation="login", user=fresh_subject()).status == 200


def test_a_tenant_that_denies_by_default_denies_what_no_policy_matches(rival: Client) -> None:
    denied = rival.check(resource="GET:/unknown", subject=fresh_subject())
    assert (denied.status, denied.body["action"], denied.body["reason"]) == (429, "deny", "no_policy")
    assert denied.header("x-ratelimit-limit") is None
    assert rival.check(resource="GET:/known", subject=fresh_subject()).body["reason"] == "within_limit"


def test_a_tenant_without_plan_calls_hides_its_plans(rival: Client) -> None:
    own = rival.check(plan_id="rivals", subject=fresh_subject())
    unknown = rival.check(plan_id="none", subject=fresh_subject())
    assert own.status == unknown.status == 404
    assert {**own.body, "request_id": ""} == {**unknown.body, "request_id": ""}


@pytest.fixture
def agent_in_mode(bundle: Bundle, make_agent: Callable[..., Agent]) -> Callable[[str], Agent]:
    """Starts an agent with the module's bundle in a mode."""
    return lambda mode: make_agent(bundle, "memory", "--mode", mode).start()


def test_an_agent_in_shadow_mode_counts_and_reports_but_refuses_nothing(
        agent_in_mode: Callable[[str], Agent], key: MintedKey, other_key: MintedKey) -> None:
    agent = agent_in_mode("shadow")
    call = {"resource": "GET:/disabled", "method": "GET", "subject": fresh_subject()}
    with agent.client(key.text) as client:
        answers = [client.check(**call) for _ in range(7)]
    assert [answer.status for answer in answers] == [200] * 7
    assert [answer.body["over_limit"] for answer in answers] == [False] * 5 + [True] * 2
    assert {answer.body["reason"] for answer in answers} == {"shadow"}
    with agent.client(other_key.text) as rival:
        assert rival.check(resource="GET:/unknown").status == 200  # the tenant denies by default


def test_an_agent_in_mode_off_counts_nothing_and_lets_everything_pass(
        agent_in_mode: Callable[[str], Agent], key: MintedKey, other_key: MintedKey) -> None:
    agent = agent_in_mode("off")
    subject = fresh_subject()
    with agent.client(key.text) as client:
        answers = [client.check(resource="GET:/disabled", method="GET", subject=subject) for _ in range(7)]
    assert {(answer.status, answer.body["reason"]) for answer in answers} == {(200, "mode_off")}
    assert all("remaining" not in answer.body for answer in answers)
    with agent.client(other_key.text) as rival:
        assert rival.check(resource="GET:/unknown").status == 200
