"""Names that people bring from other limiters: each row of the tables in docs/guide/coming-from.md is sent."""

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Optional

import pytest

from support.admin import AdminClient, bucket, pointers
from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket
from support.client import Client, fresh_subject
from support.redis_server import RedisServer
from support.server import Server, bootstrap

PAGE = Path(__file__).parents[2] / "docs/guide/coming-from.md"
LIMIT = {"algorithm": "fixed_window", "limit": 10, "window": "1m"}
OUT = [{"name": "fixed_window", **LIMIT}]
MONDAY, MONDAY_TEXT = 1_924_992_000, "2031-01-01T00:00:00Z"
SAME_DIMENSIONS = ["application", "service", "environment", "operation", "endpoint", "method", "client_id", "region",
                   "resource", "severity", "span_name", "topic", "consumer_group", "job_type"]


def policy_of(dimension: str) -> str:
    """The id of the policy that matches by this dimension."""
    return f"by-{dimension}".replace("_", "-")


# What is sent; the id of the policy that must decide, or the pointer and words of the 422.
CHECKS: dict[str, list[tuple[dict[str, Any], str, str]]] = {
    "user_id": [({"user_id": "u"}, "by-user", "")],
    "signal_type": [({"signal_type": "span"}, "by-signal", "")],
    "quantity": [({"resource": "r", "quantity": 3}, "by-resource", "")],
    **{name: [({name: "x"}, policy_of(name), "")] for name in SAME_DIMENSIONS if name != "resource"},
    "resource": [({"resource": "r"}, "by-resource", "")],
    "source_ip": [({"source_ip": "10.0.0.7"}, "by-source-ip", "")],
    "priority": [({"resource": "r", "priority": "low"}, "by-resource", "")],
    "request_id": [({"resource": "r", "request_id": "q1"}, "by-resource", "")],
    "tags": [({"tags": {"env": "x"}}, "by-tag", "")],
    "attributes": [({"attributes": {"env": "x"}}, "by-attr", "")],
    "tenant_id": [({"resource": "r", "tenant_id": "acme"}, "by-resource", ""),
                  ({"resource": "r", "tenant_id": "rival"}, "/tenant_id", "leave it out")],
    "org_id": [({"resource": "r", "org_id": "acme"}, "/org_id", "credential")],
    "api_key": [({"resource": "r", "api_key": "k"}, "/api_key", "credential")],
    "timestamp": [({"resource": "r", "timestamp": 1}, "/timestamp", "counter store")],
    "UserID": [({"resource": "r", "UserID": "u"}, "/UserID", "user_id")],
    "Quantity": [({"resource": "r", "Quantity": 1}, "/Quantity", "quantity")],
}

# A body; the members of the canonical answer, or None and the pointers of the 422; the pointers of the warnings.
Row = tuple[dict[str, Any], Optional[dict[str, Any]], list[str]]
POLICIES: dict[str, list[Row]] = {
    "policy_id": [({"policy_id": "chosen", **LIMIT}, {"id": "chosen"}, [])],
    '"algorithm":{"type":…}': [
        ({"algorithm": {"type": "fixed_window", "limit": 10, "window": 60}}, {"limits": OUT}, []),
        ({"algorithm": {"type": "token_bucket", "bucket_capacity": 5, "refill_rate_per_sec": 1}},
         {"limits": [{"name": "token_bucket", "algorithm": "token_bucket", "capacity": 5, "refill": "1/s"}]}, []),
        ({"algorithm": {"type": "parsec", "limit": -1}}, None, ["/algorithm/limit", "/algorithm/type"]),
        ({"algorithm": {"type": "fixed_window", "limit": 1, "window": 60, "colour": 1}}, None, ["/algorithm/colour"]),
        ({"algorithm": {"type": "fixed_window", "window": 60}, "limit": 1}, None, ["/algorithm/limit", "/limit"])],
    "enforcement_mode": [({"enforcement_mode": "shadow", **LIMIT}, {"mode": "shadow"}, []),
                         ({"enforcement_mode": "enforce", **LIMIT}, {"mode": None}, []),
                         ({"enforcement_mode": "shadow", "mode": "off", **LIMIT}, None, ["/enforcement_mode"])],
    "valid_from_unix": [({"valid_from_unix": MONDAY, **LIMIT}, {"valid_from": MONDAY_TEXT}, []),
                        ({"valid_from_unix": 0, **LIMIT}, {"valid_from": None}, []),
                        ({"valid_from_unix": "soon", **LIMIT}, None, ["/valid_from_unix"])],
    "valid_to_unix": [({"valid_to_unix": MONDAY, **LIMIT}, {"valid_to": MONDAY_TEXT}, []),
                      ({"valid_to_unix": MONDAY, "valid_to": MONDAY_TEXT, **LIMIT}, None, ["/valid_to_unix"])],
    "scope.org_id": [({"scope": {"org_id": "ORG", "region": "eu"}, **LIMIT}, {"scope": {"region": "eu"}}, []),
                     ({"scope": {"org_id": "rival"}, **LIMIT}, None, ["/scope/org_id"])],
    "scope.tenant_id": [({"scope": {"tenant_id": "TENANT", "region": "eu"}, **LIMIT}, {"scope": {"region": "eu"}}, []),
                        ({"scope": {"tenant_id": ["TENANT", "rival"]}, **LIMIT}, None, ["/scope/tenant_id"])],
    "metadata.match_expr": [
        ({"metadata": {"match_expr": "region == eu"}, **LIMIT}, {"match_expr": "region == eu", "metadata": None},
         ["/metadata/match_expr"]),
        ({"metadata": {"match_expr": "region == eu"}, "match_expr": "region == us", **LIMIT}, None, ["/metadata/match_expr"])],
    "max_requests": [({"algorithm": "fixed", "max_requests": 10, "window": "1m"}, {"limits": OUT}, []),
                     ({"algorithm": "fixed", "max_requests": -1, "window": "1m"}, None, ["/max_requests"]),
                     ({"algorithm": "fixed", "max_requests": 1, "limit": 1, "window": "1m"}, None, ["/max_requests"])],
    "expiry": [({"algorithm": "fixed", "max_requests": 10, "expiry": 60}, {"limits": OUT}, []),
               ({"limits": [{"algorithm": "fixed", "max_requests": 10, "expiry": "60"}]}, {"limits": OUT}, [])],
    "interval": [({"algorithm": "fixed", "limit": 10, "interval": "1 minute"}, {"limits": OUT}, []),
                 ({"algorithm": "fixed", "limit": 10, "interval": "10 parsecs"}, None, ["/interval"])],
    "max_value": [({"algorithm": "fixed", "max_value": 10, "seconds": 60}, {"limits": OUT}, []),
                  ({"algorithm": "fixed", "max_value": 10, "max_requests": 10, "window": "1m"}, None, ["/max_value"])],
    "seconds": [({"limits": [{"algorithm": "fixed", "max_value": 10, "seconds": 60}]}, {"limits": OUT}, []),
                ({"algorithm": "fixed", "limit": 10, "seconds": "soon"}, None, ["/seconds"])],
    "duration": [({"limit": 10, "duration": 60000}, None, ["/duration"]),
                 ({"limits": [{"limit": -1, "duration": "60s"}]}, None, ["/limits/0/limit", "/limits/0/duration"])],
    **{unit: [({unit: 10}, None, [f"/{unit}"]), ({"limits": [{unit: 10}]}, None, [f"/limits/0/{unit}"])]
       for unit in ("second", "hour", "day", "month", "year")},
    "minute": [({"minute": 10, "hour": 100}, None, ["/hour", "/minute"]),
               ({"minute": 10, "limits": [{"limit": 10, "window": "1m"}]}, None, ["/minute"])],
    "rate_limit": [({"rate_limit": {"unit": "minute", "requests_per_unit": 10}}, None, ["/rate_limit"]),
                   ({"rate_limit": "10/minute"}, None, ["/rate_limit"])],
    "requests_per_unit": [({"unit": "minute", "requests_per_unit": 10}, None, ["/requests_per_unit"])],
    "60": [({"algorithm": "fixed", "limit": 10, "window": 60}, {"limits": OUT}, [])],
    '"60"': [({"algorithm": "fixed", "limit": 10, "window": "60"}, {"limits": OUT}, [])],
    '"rate":"10/minute"': [({"algorithm": "fixed", "rate": "10/minute"}, {"limits": OUT}, []),
                           ({"rate": "10/minute"}, {"limits": [{"name": "token_bucket", "algorithm": "token_bucket",
                                                                "capacity": 10, "refill": "1/6s"}]}, [])],
    '"rate":"10/5s"': [({"algorithm": "fixed", "rate": "10/5s"}, {"limits": [{**OUT[0], "window": "5s"}]}, [])],
    "strategy": [({"strategy": short, "limit": 10, "window": "1m"},
                  {"limits": [{"name": name, "algorithm": name, "limit": 10, "window": "1m"}]}, [])
                 for short, name in [("fixed", "fixed_window"), ("fixed_window_counter", "fixed_window"),
                                     ("sliding", "sliding_window"), ("sliding_window_counter", "sliding_window"),
                                     ("sliding_window_log", "sliding_window_log")]] + [
                 ({"strategy": short, "limit": 60, "window": "1m"},
                  {"limits": [{"name": name, "algorithm": name, "capacity": 60, rate: "1/s"}]}, [])
                 for short, name, rate in [("token", "token_bucket", "refill"), ("token_bucket", "token_bucket", "refill"),
                                           ("leaky", "leaky_bucket", "leak"), ("leaky_bucket", "leaky_bucket", "leak")]],
    '"key_by":"api_key"': [({"key_by": "api_key", **LIMIT}, {"key_by": ["api_key"]}, [])],
    "fail_open": [({"fail_open": True, **LIMIT}, {"failure_mode": "fail_open"}, []),
                  ({"fail_open": False, **LIMIT}, {"failure_mode": None}, [])],
    '"algorithm":"sliding_window"': [
        ({"algorithm": "sliding_window", "limit": 10, "window": "1m"},
         {"limits": [{"name": "sliding_window", "algorithm": "sliding_window", "limit": 10, "window": "1m"}]},
         ["/algorithm"]),
        ({"limits": [{"algorithm": "sliding-window", "limit": 10, "window": "1m"}]}, {}, ["/limits/0/algorithm"])],
}
OVERRIDES = {"override_ttl"}
OF_PLANS_TOO = {"limits", "algorithm", "strategy", "limit", "window", "rate", "max_requests", "max_value", "expiry", "interval", "seconds",
                "duration", "second", "minute", "hour", "day", "month", "year", "rate_limit", "unit", "requests_per_unit"}

# Sluice's name; a subject's check that has it; whether the other limiter's name is the same.
REPLIES: dict[str, tuple[str, str]] = {
    "allowed": ("allowed", "by-resource"), "action": ("action", "by-resource"), "reason": ("reason", "by-resource"),
    "remaining": ("remaining", "by-resource"), "sample_rate": ("sample_rate", "sampled"),
    "metadata": ("metadata", "by-resource"), "matched_policy_id": ("policy_id", "by-resource"),
    "retry_after": ("retry_after_ms", "denied"), "delay_for": ("delay_ms", "delayed"), "shadow_mode": ("shadow", "shadowed")}


def names_in(section: str) -> set[str]:
    """The names in the first column of the table of a section."""
    text = PAGE.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


@pytest.mark.parametrize("section, sent", [("In a check", set(CHECKS)), ("In a policy, plan or rule", set(POLICIES) | OVERRIDES),
                                           ("In the environment", {"RATE_LIMIT_MODE"}), ("In a reply", set(REPLIES))])
def test_every_name_of_the_page_is_sent_and_no_other(section: str, sent: set[str]) -> None:
    assert names_in(section) == sent


@pytest.fixture(scope="module")
def agent(key: MintedKey, module_agent: Callable[..., Agent]) -> Agent:
    """An agent with a policy for each dimension."""
    bundle = Bundle().key(key).add_tenant("rival")
    bundle.plan("many", token_bucket(1000, "1/1h")).plan("none", token_bucket(0, "1/1h")).plan("one", token_bucket(1, "1/1h"))
    scopes = {**{name: {name: "x"} for name in SAME_DIMENSIONS}, "user": {"user": "u"}, "signal": {"signal": "span"},
              "resource": {"resource": "r"}, "source_ip": {"source_ip": "10.0.0.0/8"}, "tag": {"tag.env": "x"},
              "attr": {"attr.env": "x"}}
    for name, scope in scopes.items():
        bundle.policy(policy_of(name), scope, "many", key_by=[], metadata={"team": "pay"})
    bundle.policy("sampled", {"resource": "sampled"}, "none", action="sample", sample_rate=1)
    bundle.policy("denied", {"resource": "denied"}, "one")
    bundle.policy("delayed", {"resource": "delayed"}, "one", action="delay", max_delay="2h")
    bundle.policy("shadowed", {"resource": "shadowed"}, "none", mode="shadow")
    started: Agent = module_agent(bundle, "memory").start()
    return started


@pytest.fixture
def local(agent: Agent, key: MintedKey) -> Iterator[Client]:
    """A connection to it."""
    with agent.client(key.text) as connection:
        yield connection


@pytest.mark.parametrize("name", CHECKS)
def test_a_name_in_a_check_is_taken_or_refused_with_the_fix(local: Client, name: str) -> None:
    for body, expected, words in CHECKS[name]:
        answer = local.check(**body)
        if not expected.startswith("/"):
            assert (answer.status, answer.body["policy_id"]) == (200, expected), answer
            continue
        assert (answer.status, pointers(answer)) == (422, [expected]), answer
        assert words in answer.body["errors"][0]["detail"], answer
        batch = local.batch(body)
        assert batch.body["results"][0]["status"] == 422, batch
        assert batch.body["results"][0]["errors"][0]["pointer"] == f"/checks/0{expected}", batch


def test_quantity_is_what_is_charged(local: Client) -> None:
    before = local.check(resource="r", cost=0).body["remaining"]
    assert local.check(resource="r", quantity=3).body["remaining"] == before - 3


@pytest.mark.parametrize("name", POLICIES)
def test_a_name_in_a_policy_or_plan_is_taken_or_refused_and_the_answer_is_canonical(
        admin: AdminClient, organization: str, tenant: str, name: str) -> None:
    for sent, expected, warned in POLICIES[name]:
        body = {key: ({inner: str(value).replace("TENANT", tenant).replace("ORG", organization) if isinstance(value, str)
                       else [tenant if item == "TENANT" else item for item in value] if isinstance(value, list) else value
                       for inner, value in member.items()} if key == "scope" else member) for key, member in sent.items()}
        for path in ["/policies", "/plans"] if set(body) <= OF_PLANS_TOO else ["/policies"]:
            made = admin.post(path, {"id": "x", **body} if "policy_id" not in body else body, tenant=tenant)
            if expected is None:
                assert (made.status, sorted(pointers(made))) == (422, sorted(warned)), made
                continue
            assert made.status == 201, made
            for member, value in expected.items():
                assert made.body.get(member) == value, made
            assert [warning["pointer"] for warning in made.body.get("warnings", [])] == warned, made
            assert admin.delete(f"{path}/{made.body['id']}", tenant=tenant).status == 204


def test_override_ttl_is_the_ttl_of_an_override(make_server: Callable[..., Server],
                                                make_redis: Callable[..., RedisServer]) -> None:
    with make_server("--counters", make_redis().counters).start().admin() as admin:
        tenant = admin.tenant()
        admin.put("/policies/orders", LIMIT | {"key_by": "subject"}, tenant=tenant)
        override = {"policy_id": "orders", "limit_name": "fixed_window", "identity": {"subject": "u"}}
        for number, ttl in enumerate(["24h", 86400, "86400", "1 day"]):
            made = admin.put("/overrides/vip", {**override, "set": {"max_requests": 20 + number}, "override_ttl": ttl},
                             tenant=tenant)
            assert made.status in (200, 201) and made.body["set"] == {"limit": 20 + number}, made
            ends, changed = (datetime.fromisoformat(made.body[name]) for name in ("expires_at", "updated_at"))
            assert timedelta(hours=23) < ends - changed < timedelta(hours=25), made
        doubtful = admin.put("/overrides/vip", {**override, "set": {"limit": 20}, "ttl": 3600000}, tenant=tenant)
        assert [warning["pointer"] for warning in doubtful.body["warnings"]] == ["/ttl"], doubtful
        assert 'for 1h write 3600 or "1h"' in doubtful.body["warnings"][0]["detail"]
        for faulty in [{"override_ttl": "soon"}, {"override_ttl": "1h", "ttl": "1h"}]:
            answer = admin.put("/overrides/vip", {**override, "set": {"limit": 20}, **faulty}, tenant=tenant)
            assert (answer.status, pointers(answer)) == (422, ["/override_ttl"]), answer


def test_the_names_of_a_reply_are_ours_only(local: Client) -> None:
    resources = {"by-resource": "r"}
    for theirs, (ours, policy) in REPLIES.items():
        subject = fresh_subject()
        for _ in range(2):
            answer = local.check(resource=resources.get(policy, policy), subject=subject)
        assert ours in answer.body, (theirs, answer)
        assert theirs == ours or theirs not in answer.body, (theirs, answer)


def test_a_flat_rule_of_a_platform_token_needs_no_tenant_while_there_is_one(
        make_server: Callable[..., Server], database: Any) -> None:
    server = make_server("--database-owner-url", database.url("sluice_owner"), database=database).start()
    token = bootstrap(server.program, database)
    rule = {"endpoint": "/v1/pay", "limit": 100, "window": "10s"}
    with server.admin(token) as admin:
        assert pointers(admin.post("/policies", rule)) == ["/tenant_id"]
        organization = admin.organization()
        only = admin.tenant(organization)
        made = admin.post("/policies", rule)
        assert (made.status, made.body["tenant_id"]) == (201, only), made
        bundle = {"format": "sluice/v1", "policies": [{"id": "p", **LIMIT}]}
        assert admin.post("/apply", bundle).status == 200
        admin.tenant(organization)
        assert pointers(admin.post("/policies", {**rule, "limit": 1})) == ["/tenant_id"]
        assert admin.post("/apply", bundle).status == 422


def test_a_bundle_may_use_stored_tenants_without_listing_them(admin: AdminClient, organization: str, tenant: str) -> None:
    other = admin.tenant(organization)
    before = [admin.get(f"/tenants/{each}").body for each in (tenant, other)]
    bundle = {"format": "sluice/v1", "tenants": [{"id": other, "name": before[1].get("name")}],
              "policies": [{"tenant_id": tenant, "id": "a", **LIMIT}, {"tenant_id": other, "id": "b", **LIMIT}]}
    applied = admin.post("/apply", bundle)
    assert applied.status == 200 and [change["id"] for change in applied.body["changes"]] == ["a", "b"], applied
    assert [admin.get(f"/tenants/{each}").body for each in (tenant, other)] == before
    unknown = admin.post("/apply", {"format": "sluice/v1", "policies": [{"tenant_id": "nobody", "id": "a", **LIMIT}]})
    assert (unknown.status, pointers(unknown)) == (422, ["/policies/0/tenant_id"]), unknown


@pytest.mark.parametrize("mode, reasons", [("on", ["within_limit", "limit_exceeded"]), ("monitor", ["shadow"] * 2),
                                           ("off", ["mode_off"] * 2)])
def test_the_mode_of_the_environment_is_that_of_an_agent_without_a_server(
        key: MintedKey, make_agent: Callable[..., Agent], mode: str, reasons: list[str]) -> None:
    bundle = Bundle().key(key).plan("one", token_bucket(1, "1/1h")).policy("orders", {"resource": "orders"}, "one")
    agent = make_agent(bundle, "memory", env={"RATE_LIMIT_MODE": mode}).start()
    with agent.client(key.text) as client:
        answers = [client.check(resource="orders", subject="user:1") for _ in range(2)]
    assert [answer.body["reason"] for answer in answers] == reasons


@pytest.mark.parametrize("mode, statuses, remaining", [("on", [200, 429], ["0", "0"]), ("monitor", [200, 200], ["0", "0"]),
                                                       ("off", [200, 200], [None, None])])
def test_the_headers_of_older_clients_are_on_every_reply_that_has_a_limit(
        key: MintedKey, make_agent: Callable[..., Agent], mode: str, statuses: list[int], remaining: list[Optional[str]]) -> None:
    bundle = Bundle().key(key).plan("one", token_bucket(1, "1/1h")).policy("orders", {"resource": "orders"}, "one")
    agent = make_agent(bundle, "memory", "--headers", "draft6,retry-after", env={"RATE_LIMIT_MODE": mode}).start()
    with agent.client(key.text) as client:
        answers = [client.check(resource="orders", subject="user:1") for _ in range(2)]
    assert [answer.status for answer in answers] == statuses
    assert [answer.headers.get("ratelimit-remaining") for answer in answers] == remaining
    for answer in answers:
        assert {name: name in answer.headers for name in ["ratelimit-limit", "ratelimit-reset", "retry-after"]} == dict.fromkeys(
            ["ratelimit-limit", "ratelimit-reset", "retry-after"], mode != "off")
