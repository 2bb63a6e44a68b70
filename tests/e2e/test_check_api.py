"""POST /v1/check as its document describes it: fields, headers, status, explain, text/plain, addresses."""

import re
from collections.abc import Callable
from math import ceil
from random import Random

import pytest

from support.agent import Agent
from support.bundle import MintedKey
from support.client import Client, fresh_subject
from support.reference import binding_limit


def test_an_allowed_check_is_200_with_every_field_of_the_document(client: Client) -> None:
    answer = client.check(resource="GET:/orders", subject=fresh_subject(), cost=1)
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("application/json")
    body = answer.body
    assert body["allowed"] is True
    assert (body["action"], body["reason"]) == ("allow", "within_limit")
    assert (body["limit"], body["remaining"]) == (5, 4)
    assert (body["retry_after_ms"], body["delay_ms"]) == (0, 0)
    assert (body["policy_id"], body["policy_version"], body["plan_id"]) == ("orders", 7, "bucket")
    assert (body["limit_name"], body["shadow"]) == ("burst", False)
    assert body["metadata"] == {"team": "sales"}
    assert isinstance(body["reset_at"], int)


def test_a_spent_budget_is_429_with_retry_after(client: Client, spend: Callable[..., None]) -> None:
    subject = fresh_subject()
    spend(5, resource="GET:/orders", subject=subject)
    answer = client.explain(resource="GET:/orders", subject=subject)
    assert answer.status == 429
    assert answer.body["allowed"] is False
    assert (answer.body["action"], answer.body["reason"]) == ("deny", "limit_exceeded")
    assert answer.body["remaining"] == 0
    retry_us = answer.body["limits"][0]["retry_after_us"]
    assert 3_000_000_000 < retry_us <= 3_600_000_000
    assert answer.body["retry_after_ms"] == ceil(retry_us / 1000)
    assert answer.header("retry-after") == str(ceil(retry_us / 1_000_000))


def test_the_four_headers_say_what_the_body_says(client: Client) -> None:
    answer = client.check(resource="GET:/orders", subject=fresh_subject())
    assert answer.header("x-ratelimit-limit") == "5"
    assert answer.header("x-ratelimit-remaining") == "4"
    assert answer.header("x-ratelimit-reset") == str(answer.body["reset_at"])
    assert answer.header("retry-after") is None


def test_the_structured_fields_of_the_ietf_name_the_limit(client: Client) -> None:
    answer = client.check(resource="GET:/orders", subject=fresh_subject())
    assert re.match(r'^"burst";q=5(;w=\d+)?$', answer.header("ratelimit-policy") or "")
    assert re.match(r'^"burst";r=4;t=\d+$', answer.header("ratelimit") or "")


def test_reset_at_is_the_reset_rounded_up_to_a_second(client: Client) -> None:
    body = client.explain(plan_id="bucket", subject=fresh_subject(), cost=3).body
    assert body["reset_at"] == ceil((body["now_us"] + body["limits"][0]["reset_after_us"]) / 1_000_000)


def test_a_cost_that_can_never_pass_has_a_null_wait_and_no_retry_after(client: Client) -> None:
    answer = client.check(plan_id="bucket", subject=fresh_subject(), cost=6)
    assert answer.status == 429
    assert answer.body["retry_after_ms"] is None
    assert answer.header("retry-after") is None
    assert answer.body["remaining"] == 5


def test_cost_zero_reads_and_never_denies(client: Client, spend: Callable[..., None]) -> None:
    subject = fresh_subject()
    spend(5, plan_id="bucket", subject=subject)
    for _ in range(3):
        answer = client.check(plan_id="bucket", subject=subject, cost=0)
        assert (answer.status, answer.body["remaining"], answer.body["reason"]) == (200, 0, "within_limit")


def test_cost_zero_takes_no_lease(client: Client) -> None:
    answer = client.check(plan_id="leases", subject=fresh_subject(), cost=0)
    assert answer.status == 200
    assert "lease_id" not in answer.body


def test_a_cost_above_one_is_charged_whole_or_not_at_all(client: Client) -> None:
    subject = fresh_subject()
    assert client.check(plan_id="bucket", subject=subject, cost=3).body["remaining"] == 2
    denied = client.check(plan_id="bucket", subject=subject, cost=3)
    assert (denied.status, denied.body["remaining"]) == (429, 2)
    assert client.check(plan_id="bucket", subject=subject, cost=2).body["remaining"] == 0


def test_costs_charge_each_limit_its_own_unit(client: Client) -> None:
    subject = fresh_subject()
    body = client.explain(plan_id="tokens", subject=subject, costs={"tokens": 400, "unused": 9}).body
    by_name = {limit["name"]: limit for limit in body["limits"]}
    assert (by_name["burst"]["unit"], by_name["burst"]["cost"], by_name["burst"]["remaining"]) == ("requests", 1, 4)
    assert (by_name["tokens"]["unit"], by_name["tokens"]["cost"], by_name["tokens"]["remaining"]) == ("tokens", 400, 600)
    assert [each["unit"] for each in body["uncounted_units"]] == ["unused"], body
    assert "the limits count requests, tokens" in body["uncounted_units"][0]["why"]
    body = client.explain(plan_id="tokens", subject=subject, costs={"tokens": 100, "requests": 0}).body
    assert "uncounted_units" not in body
    by_name = {limit["name"]: limit for limit in body["limits"]}
    assert (by_name["burst"]["remaining"], by_name["tokens"]["remaining"]) == (4, 500)


def test_where_one_limit_of_a_plan_denies_none_is_charged(client: Client, spend: Callable[..., None]) -> None:
    subject = fresh_subject()
    spend(3, plan_id="two", subject=subject)
    denied = client.explain(plan_id="two", subject=subject)
    assert denied.status == 429
    assert denied.body["limit_name"] == "daily"
    by_name = {limit["name"]: limit for limit in denied.body["limits"]}
    assert (by_name["burst"]["admitted"], by_name["burst"]["remaining"]) == (True, 7)
    assert (by_name["daily"]["admitted"], by_name["daily"]["remaining"]) == (False, 0)


def test_the_binding_limit_of_an_allowed_check_is_the_scarcest(client: Client) -> None:
    body = client.check(plan_id="two", subject=fresh_subject()).body
    assert (body["limit_name"], body["limit"], body["remaining"]) == ("daily", 3, 2)


def test_explain_adds_the_clock_and_every_limit(client: Client) -> None:
    body = client.explain(resource="GET:/orders", subject=fresh_subject()).body
    assert 1_600_000_000_000_000 < body["now_us"] < 10_000_000_000_000_000
    (limit,) = body["limits"]
    assert set(limit) >= {"name", "algorithm", "unit", "cost", "admitted", "limit", "remaining", "reset_after_us",
                          "retry_after_us", "delay_us"}
    assert (limit["name"], limit["algorithm"], limit["unit"]) == ("burst", "token_bucket", "requests")


def test_without_explain_the_reply_stays_small(client: Client) -> None:
    body = client.check(resource="GET:/orders", subject=fresh_subject()).body
    assert not {"now_us", "limits"} & set(body)


def test_text_plain_gets_a_word_with_the_same_status_and_headers(client: Client, spend: Callable[..., None]) -> None:
    subject = fresh_subject()
    allowed = client.check({"accept": "text/plain"}, plan_id="bucket", subject=subject)
    assert (allowed.status, str(allowed.body).rstrip("\n")) == (200, "OK")
    assert allowed.headers["content-type"].startswith("text/plain")
    assert allowed.header("x-ratelimit-remaining") == "4"
    spend(4, plan_id="bucket", subject=subject)
    denied = client.check({"accept": "text/plain"}, plan_id="bucket", subject=subject)
    assert (denied.status, str(denied.body).rstrip("\n")) == (429, "Rate limit exceeded")
    assert denied.header("retry-after") is not None


def test_a_plan_id_judges_by_that_plan_and_not_by_policies(client: Client) -> None:
    body = client.check(resource="GET:/orders", subject=fresh_subject(), plan_id="log").body
    assert (body["plan_id"], body["limit_name"]) == ("log", "window")
    assert not body.get("policy_id")


def test_a_plan_call_and_a_policy_count_apart(client: Client, spend: Callable[..., None]) -> None:
    subject = fresh_subject()
    spend(5, plan_id="bucket", subject=subject)
    assert client.check(resource="GET:/orders", subject=subject).body["remaining"] == 4


def test_without_a_matching_policy_the_answer_is_no_policy_and_has_no_limit_headers(client: Client) -> None:
    answer = client.check(resource="GET:/unknown", subject=fresh_subject())
    assert (answer.status, answer.body["reason"], answer.body["allowed"]) == (200, "no_policy", True)
    assert answer.header("x-ratelimit-limit") is None
    assert answer.header("ratelimit") is None


def test_a_policy_that_is_off_judges_nothing(client: Client) -> None:
    subject = fresh_subject()
    for _ in range(7):
        answer = client.check(resource="GET:/off", subject=subject)
        assert (answer.status, answer.body["reason"]) == (200, "mode_off")
        assert answer.header("x-ratelimit-limit") is None


def test_a_shadow_policy_counts_and_never_denies(client: Client) -> None:
    subject = fresh_subject()
    answers = [client.check(resource="GET:/shadow", subject=subject) for _ in range(7)]
    assert [answer.status for answer in answers] == [200] * 7
    assert {answer.body["reason"] for answer in answers} == {"shadow"}
    assert all(answer.body["shadow"] is True for answer in answers)
    assert answers[-1].header("x-ratelimit-remaining") == "0"
    assert answers[0].body["would_allow"] is True and answers[0].body["over_limit"] is False
    assert answers[-1].body["would_allow"] is False and answers[-1].body["over_limit"] is True


def test_a_shadow_is_counted_by_what_it_found(agent: Agent, client: Client) -> None:
    def counted(outcome: str) -> float:
        return agent.metric("sluice_shadow_decisions_total", outcome=outcome)

    before = {outcome: counted(outcome) for outcome in ("within_limit", "over_limit")}
    subject = fresh_subject()
    answers = [client.check(resource="GET:/shadow", subject=subject) for _ in range(7)]
    over = sum(answer.body["over_limit"] for answer in answers)
    assert over > 0
    assert (counted("within_limit") - before["within_limit"], counted("over_limit") - before["over_limit"]) == (7 - over, over)


def test_an_address_counts_by_its_network_however_it_is_written(client: Client) -> None:
    """The plan counts by source_ip; the prefix of IPv6 is 64 unless the plan says otherwise."""
    for first, same, other in (("203.0.113.7", "[::ffff:203.0.113.7]:443", "203.0.113.8"),
                               ("2001:db8:0:1::1", " [2001:DB8:0:1:ffff::2]:80 ", "2001:db8:0:2::1")):
        left = [client.check(plan_id="by-address", source_ip=address).body["remaining"] for address in (first, same, other)]
        assert left[0] - left[1] == 1 and left[2] == left[0], (first, left)


def test_the_limit_that_is_shown_is_the_tightest_of_those_that_the_call_spends_from(client: Client) -> None:
    random = Random(7)
    subject = fresh_subject()
    for _ in range(60):
        costs = {"requests": random.choice((0, 1)), "tokens": random.choice((0, 5)), "bytes": random.choice((0, 40))}
        answer = client.explain(plan_id="units", subject=subject, costs=costs)
        shown = binding_limit(answer.body["limits"])
        assert answer.body["limit_name"] == shown["name"], (costs, answer.body)
        assert answer.body["remaining"] == shown["remaining"]
        assert answer.header("x-ratelimit-remaining") == str(shown["remaining"])
        plain = client.check(plan_id="units", subject=subject, costs=dict.fromkeys(costs, 0))
        assert plain.body["limit_name"] == binding_limit(
            client.explain(plan_id="units", subject=subject, costs=dict.fromkeys(costs, 0)).body["limits"])["name"]


def test_an_override_of_the_bundle_replaces_the_limit_of_its_subject(client: Client) -> None:
    body = client.check(resource="GET:/orders", subject="user:vip", cost=0).body
    assert body["limit"] == 50
    assert client.check(resource="GET:/orders", subject=fresh_subject(), cost=0).body["limit"] == 5


def test_delay_charges_into_debt_and_says_how_long_to_wait(client: Client) -> None:
    subject = fresh_subject()
    answers = [client.explain(plan_id="delaying", subject=subject) for _ in range(5)]
    assert [answer.status for answer in answers] == [200, 200, 200, 200, 429]
    assert [answer.body["action"] for answer in answers[2:]] == ["delay", "delay", "deny"]
    assert answers[1].body["delay_ms"] == 0
    assert 3_590_000 < answers[2].body["delay_ms"] <= 3_600_000
    assert 7_190_000 < answers[3].body["delay_ms"] <= 7_200_000


def test_sample_lets_its_share_pass_uncharged_and_says_so(client: Client, spend: Callable[..., None]) -> None:
    subject = fresh_subject()
    spend(1, plan_id="sampling", subject=subject)
    body = client.check(plan_id="sampling", subject=subject).body
    assert (body["action"], body["reason"], body["allowed"], body["sample_rate"]) == ("sample", "sampled", True, 1)


def test_downgrade_allows_and_names_the_lesser_service(client: Client, spend: Callable[..., None]) -> None:
    subject = fresh_subject()
    spend(1, plan_id="downgrading", subject=subject)
    answer = client.check(plan_id="downgrading", subject=subject)
    assert answer.status == 200
    assert (answer.body["action"], answer.body["downgrade_to"]) == ("downgrade", "basic")
    assert answer.body["reason"] == "limit_exceeded"


def test_the_request_id_comes_back(client: Client) -> None:
    assert client.check(plan_id="bucket", subject=fresh_subject(), request_id="r-1").body["request_id"] == "r-1"


@pytest.mark.fault("key-collisions")
@pytest.mark.parametrize("pair", [("user:1", "user:2"), ("a|b", "a"), ("a:b", "a=b"), ("{x}", "x"), ("%7Bx", "{x"),
                                  ("é", "e"), ("x" * 250, "x" * 249), ("", " ")])
def test_different_subjects_never_share_a_budget(client: Client, pair: tuple[str, str]) -> None:
    prefix = fresh_subject()[:5]
    first, second = (text if len(text) > 200 or not text else prefix + text for text in pair)
    client.check(plan_id="log", subject=first, cost=5)
    assert client.check(plan_id="log", subject=second, cost=0).body["remaining"] == 5


def test_the_unix_socket_answers_the_same(agent: Agent, client: Client, key: MintedKey) -> None:
    subject = fresh_subject()
    with agent.unix_client(key.text) as unix:
        assert unix.check(plan_id="bucket", subject=subject).body["remaining"] == 4
        assert client.check(plan_id="bucket", subject=subject).body["remaining"] == 3
        assert unix.get("/v1/health").status == 200


def test_tenants_do_not_see_each_others_budgets(client: Client, rival: Client) -> None:
    subject = fresh_subject()
    client.check(plan_id="bucket", subject=subject, cost=5)
    assert rival.check(plan_id="rivals", subject=subject, cost=0).body["remaining"] == 5


def test_health_names_the_version(client: Client) -> None:
    answer = client.get("/v1/health")
    assert (answer.status, answer.body["status"]) == (200, "ok")
    assert re.match(r"^\d+\.\d+\.\d+", answer.body["version"])


def test_the_snapshot_is_described_without_secrets(client: Client, key: MintedKey) -> None:
    answer = client.get("/v1/snapshot")
    assert answer.status == 200
    assert "revision" in answer.body
    text = str(answer.body)
    assert key.hash not in text and key.text not in text


def test_the_agent_serves_its_own_openapi(client: Client) -> None:
    answer = client.get("/openapi.json")
    assert answer.status == 200
    assert {"/v1/check", "/v1/release", "/v1/renew"} <= set(answer.body["paths"])


def test_the_agent_shows_its_openapi_on_a_page_that_needs_nothing_from_elsewhere(client: Client) -> None:
    page = client.get("/docs")
    assert (page.status, page.header("content-type")) == (200, "text/html; charset=utf-8")
    assert (page.header("content-security-policy") or "").startswith("default-src 'none';")
    assert not re.search(r"(src|href)=\"?(https?:)?//", str(page.body))
    assert 'type="search"' in str(page.body)


def test_the_admin_port_has_probes_and_metrics_and_no_checks(agent: Agent, key: MintedKey) -> None:
    with Client(agent.admin_port, key.text) as admin:
        assert [admin.get(path).status for path in ("/v1/health", "/livez", "/readyz", "/metrics")] == [200] * 4
        assert admin.check(plan_id="bucket", subject=fresh_subject()).status == 404


def test_metrics_count_decisions_by_outcome_and_reason_and_name_no_subject(agent: Agent, client: Client) -> None:
    subject = fresh_subject()
    allowed = agent.metric("sluice_decisions_total", tenant="acme", reason="within_limit")
    denied = agent.metric("sluice_decisions_total", tenant="acme", reason="limit_exceeded")
    for _ in range(7):
        client.check(plan_id="bucket", subject=subject)
    assert agent.metric("sluice_decisions_total", tenant="acme", reason="within_limit") == allowed + 5
    assert agent.metric("sluice_decisions_total", tenant="acme", reason="limit_exceeded") == denied + 2
    text = agent.metrics()
    assert subject not in text
    assert "sluice_build_info" in text
