"""The playground: real checks through the server to an agent, and the state of limits in Redis."""

import json
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import pytest

from support.admin import AdminClient, fresh_id, pointers
from support.agent import Agent
from support.bundle import Bundle, concurrency, leaky_bucket, quota, token_bucket, window
from support.client import Answer, Client, fresh_subject
from support.process import all_of, wait_until
from support.redis_server import RedisServer
from support.server import Server, run_command

HOUR_US = 3_600_000_000
# For each policy its limits. None of them gives a unit back during a test.
LIMITS: dict[str, dict[str, Any]] = {
    "bucket": token_bucket(10, "1/1h"),
    "leaky": leaky_bucket(10, "1/1h"),
    "fixed": window("fixed_window", 10, "1h"),
    "first": window("fixed_window", 10, "1h", align="first"),
    "sliding": window("sliding_window", 10, "1h"),
    "log": window("sliding_window_log", 10, "1h"),
    "leases": concurrency(10, "1h"),
    "quota": quota(10, "year"),
}
JSON_BODY = {"content-type": "application/json"}


@dataclass
class Playground:
    """A server with a public tenant and another one, an agent that judges for both, and the Redis of both programs."""

    server: Server
    agent: Agent
    redis: RedisServer
    tenant: str
    other: str
    key: str
    other_key: str

    def check(self, admin: AdminClient, tenant: str = "", key: Optional[str] = None, **request: Any) -> Answer:
        """A check by the API; the server's answer."""
        body = {"tenant_id": tenant or self.tenant, "request": request, **({"key": key} if key else {})}
        return admin.post("/playground/check", body)

    def state(self, admin: AdminClient, **request: Any) -> dict[str, Any]:
        """The state of the one limit that judges a check, and the time of the store."""
        answer = admin.post("/playground/state", {"tenant_id": self.tenant, "request": request})
        assert answer.status == 200, answer
        assert answer.body["reason"] == "judged" and len(answer.body["limits"]) == 1, answer
        return {**answer.body["limits"][0], "now_us": answer.body["now_us"]}

    def visit(self, method: str, path: str, body: Any = None, source: str = "") -> Answer:
        """A call without a token."""
        with Client(self.server.port, source=source) as client:
            return client.request(method, f"/v1/playground{path}", json.dumps(body) if body is not None else None,
                                  JSON_BODY if body is not None else {})

    def burst(self, size: int, **request: Any) -> list[Answer]:
        """So many checks at once, each on a connection of its own."""
        def one(_: int) -> Answer:
            with self.server.admin() as admin:
                return self.check(admin, **request)

        with ThreadPoolExecutor(size) as pool:
            return list(pool.map(one, range(size)))


def store_us(redis: RedisServer) -> int:
    """The time of Redis, in µs since 1970."""
    seconds, micros = redis.cli("TIME")
    return int(seconds) * 1_000_000 + int(micros)


def tenant_with_policies(admin: AdminClient) -> str:
    """A tenant with a policy for each algorithm."""
    tenant = admin.tenant()
    for name, limit in LIMITS.items():
        body = {"scope": {"resource": name}, "key_by": ["subject"], "limits": [limit], "metadata": {"note": "internal"}}
        assert admin.put(f"/policies/{name}", body, tenant=tenant).status == 201
    narrow = {"scope": {"resource": "narrow", "region": ["eu-west-1", "eu-west-2"], "source_ip": "192.0.2.0/24", "tag.env": "prod"},
              "key_by": ["subject", "attr.shard"], "limits": [{"algorithm": "fixed_window", "limit": 2, "window": "1d"}]}
    assert admin.put("/policies/narrow", narrow, tenant=tenant).status == 201
    return tenant


@pytest.fixture(scope="module")
def playground(module_server: Callable[..., Server], module_agent: Callable[..., Agent], redis: RedisServer,
               module_folder: Path) -> Playground:
    """One for the module."""
    server = module_server("--counters", redis.counters, "--redis-deadline", "5s").start()
    with server.admin() as admin:
        tenant, other = tenant_with_policies(admin), tenant_with_policies(admin)
        key, other_key = (admin.create("/keys", {"tenant_id": each, "name": "key"})["key"] for each in (tenant, other))
        exported = admin.get("/export")
    assert exported.status == 200, exported
    bundle = Bundle()
    bundle.document = exported.body
    agent = module_agent(bundle, redis.counters, "--redis-deadline", "5s").start()
    wait_until("decisions by Redis", lambda: agent.metric("sluice_redis_connected") == 1)
    keys = module_folder / "playground.keys"
    keys.write_text(f"# of the public tenant\n{key}\n")
    keys.chmod(0o600)
    server.flags += ["--playground-agent", f"unix:{agent.socket}", "--playground-key-file", str(keys), "--playground", tenant]
    return Playground(server.restart(), agent, redis, tenant, other, key, other_key)


@pytest.fixture
def admin(playground: Playground) -> Iterator[AdminClient]:
    """A connection of a platform_admin."""
    with playground.server.admin() as client:
        yield client


# --- what a caller is shown is what the agent did --------------------------------------------------------------------

def test_an_answer_has_all_that_the_agent_answered_and_both_latencies(playground: Playground, admin: AdminClient) -> None:
    subject = fresh_subject()
    answer = playground.check(admin, resource="bucket", subject=subject, cost=3)
    assert answer.status == 200, answer
    shown = answer.body
    with playground.agent.client(playground.key) as client:
        direct = client.check(resource="bucket", subject=subject, cost=0)
    assert shown["status"] == 200 and json.loads(shown["body"])["remaining"] == direct.body["remaining"] == 7
    assert {name for name, _ in shown["headers"]} == set(direct.headers)
    assert dict(shown["headers"])["x-ratelimit-remaining"] == "7"
    assert 0 < shown["agent_us"] < answer.seconds * 1e6 and 0 <= shown["server_us"] < answer.seconds * 1e6


def test_a_denial_is_an_answer_of_the_agent_with_its_retry_after(playground: Playground, admin: AdminClient) -> None:
    answer = playground.check(admin, resource="bucket", subject=fresh_subject(), cost=11)
    assert answer.status == 200 and answer.body["status"] == 429, answer
    assert answer.header("retry-after") is None, "the server's own answer is no denial"
    assert json.loads(answer.body["body"])["reason"] == "limit_exceeded"


def test_a_hundred_bursts_agree_with_the_agents_metrics_and_the_servers(playground: Playground) -> None:
    chance = random.Random(20)

    def counted() -> dict[str, float]:
        return {outcome: playground.agent.metric("sluice_decisions_total", tenant=playground.tenant, outcome=outcome)
                for outcome in ("allowed", "denied")}

    before, answered = counted(), playground.server.metric("sluice_playground_checks_total", outcome="answered")
    shown = {200: 0, 429: 0}
    for number in range(100):
        size, cost = chance.randint(1, 25), chance.randint(1, 3)
        policy = chance.choice(sorted(LIMITS))
        answers = playground.burst(size, resource=policy, subject=fresh_subject(), cost=cost)
        assert all_of(answers, lambda answer: answer.status == 200), f"burst {number}: {answers}"
        passed = [answer.body["status"] for answer in answers]
        assert passed.count(200) == min(size, 10 // cost), f"burst {number} of {size} at cost {cost} by {policy}: {passed}"
        for status in passed:
            shown[status] += 1
    after = counted()
    assert (after["allowed"] - before["allowed"], after["denied"] - before["denied"]) == (shown[200], shown[429])
    assert playground.server.metric("sluice_playground_checks_total", outcome="answered") - answered == sum(shown.values())
    assert playground.server.metric("sluice_playground_in_flight") == 0


# --- the state of limits ---------------------------------------------------------------------------------------------

def test_the_state_of_every_algorithm_is_what_the_checks_charged(playground: Playground, admin: AdminClient) -> None:
    for policy in LIMITS:
        subject = fresh_subject()
        for cost in (1, 3):
            assert playground.check(admin, resource=policy, subject=subject, cost=cost).body["status"] == 200, policy
        state = playground.state(admin, resource=policy, subject=subject)
        assert state["limit"] == 10 and not state["overridden"], state
        now = state["now_us"]
        assert abs(now - store_us(playground.redis)) < 60_000_000, "the time is the store's"
        if policy in ("bucket", "leaky"):
            assert 3.9 < state["used"] <= 4 and abs(state["units_per_second"] - 1 / 3600) < 1e-9, state
        elif policy == "log":
            assert [units for _, units in state["entries"]] == [1, 3] and not state["more"], state
            assert all_of(state["entries"], lambda entry, at=now: at - 60_000_000 < entry[0] <= at), state
        elif policy == "leases":
            assert sorted(units for _, units in state["leases"]) == [1, 3] and state["ttl_us"] == HOUR_US, state
            assert all_of(state["leases"], lambda lease, at=now: at < lease[0] <= at + HOUR_US), state
        elif policy == "quota":
            assert state["count"] == 4 and state["from_us"] <= now < state["until_us"], state
        else:
            # The hour may turn between a charge and the read: then the units are those of the window before.
            assert state["count"] + state.get("previous", 0) in (4, 3, 1, 0), state
            assert state["window_us"] == HOUR_US and state["from_us"] <= now < state["from_us"] + HOUR_US, state


def test_an_identity_without_charges_has_an_untouched_state(playground: Playground, admin: AdminClient) -> None:
    for policy in LIMITS:
        state = playground.state(admin, resource=policy, subject=fresh_subject())
        assert state.get("used", state.get("count", 0)) == 0, state
        assert state.get("entries", []) == state.get("leases", []) == [], state


def test_the_state_shows_the_numbers_of_an_override_and_its_own_window(playground: Playground, admin: AdminClient) -> None:
    subject = fresh_subject()
    made = admin.put(f"/overrides/{fresh_id('o')}", {
        "policy_id": "sliding", "limit_name": "window", "identity": {"subject": subject},
        "set": {"limit": 500, "window": "2h"}, "ttl": "1h"}, tenant=playground.tenant)
    assert made.status == 201 and made.body["published"], made
    assert playground.check(admin, resource="sliding", subject=subject, cost=40).body["status"] == 200
    state = playground.state(admin, resource="sliding", subject=subject)
    assert (state["limit"], state["overridden"], state["window_us"]) == (500, True, 2 * HOUR_US), state
    assert state["count"] + state["previous"] == 40, state


def test_reading_the_state_charges_nothing(playground: Playground, admin: AdminClient) -> None:
    subject = fresh_subject()
    assert playground.check(admin, resource="fixed", subject=subject, cost=10).body["status"] == 200
    first = [playground.state(admin, resource="fixed", subject=subject)["count"] for _ in range(5)]
    assert first[0] in (10, 0) and len(set(first)) <= 2, "only the turn of the hour changes it"


def test_a_check_that_no_policy_matches_has_no_state_and_says_why(playground: Playground, admin: AdminClient) -> None:
    answer = admin.post("/playground/state", {"tenant_id": playground.tenant, "request": {"resource": "nothing"}})
    assert answer.status == 200 and answer.body == {"tenant_id": playground.tenant, "reason": "no_policy"}, answer


# --- who may what ----------------------------------------------------------------------------------------------------

def test_a_tenant_without_a_key_of_the_servers_needs_one_of_its_own(playground: Playground, admin: AdminClient) -> None:
    described = admin.get("/playground").body
    assert described == {"agent": True, "counters": True, "tenants": [playground.tenant]}
    missing = playground.check(admin, tenant=playground.other, resource="bucket", subject=fresh_subject())
    assert missing.status == 422 and pointers(missing) == ["/key"], missing
    answer = playground.check(admin, tenant=playground.other, key=playground.other_key, resource="bucket", subject=fresh_subject())
    assert answer.status == 200 and answer.body["status"] == 200, answer


def test_nobody_judges_for_a_tenant_out_of_scope_or_with_the_key_of_another(playground: Playground, admin: AdminClient) -> None:
    before = playground.agent.metric("sluice_decisions_total")
    foreign = playground.check(admin, key=playground.other_key, resource="bucket", subject=fresh_subject())
    assert foreign.status == 422 and pointers(foreign) == ["/key"], foreign
    organization = admin.get(f"/tenants/{playground.other}").body["organization_id"]
    token = admin.create("/tokens", {"name": fresh_id("n"), "role": "org_admin", "organization_id": organization,
                                     "tenant_ids": [playground.other]})["token"]
    with playground.server.admin(token) as outsider:
        assert outsider.get("/playground").body["tenants"] == []
        for path in ("check", "state"):
            body = {"tenant_id": playground.tenant, "request": {"resource": "bucket", "subject": "s"}}
            assert outsider.post(f"/playground/{path}", body).status == 404
        keyed = playground.check(outsider, tenant=playground.other, key=playground.key, resource="bucket", subject="s")
        assert keyed.status == 422, "the key is of a tenant beyond the scope"
    assert playground.agent.metric("sluice_decisions_total") == before


def test_an_auditor_sees_the_state_but_spends_nothing(playground: Playground, admin: AdminClient) -> None:
    token = admin.create("/tokens", {"name": fresh_id("n"), "role": "auditor"})["token"]
    with playground.server.admin(token) as auditor:
        subject = fresh_subject()
        assert playground.check(auditor, resource="bucket", subject=subject).status == 403
        assert playground.state(auditor, resource="bucket", subject=subject)["used"] == 0


# --- without signing in ----------------------------------------------------------------------------------------------

def test_visitors_play_with_the_public_tenant_only(playground: Playground) -> None:
    shown = playground.visit("GET", "", source="127.2.0.1")
    assert shown.status == 200 and shown.body["tenant_id"] == playground.tenant, shown
    assert {policy["id"] for policy in shown.body["policies"]} == {*LIMITS, "narrow"}
    assert "internal" not in json.dumps(shown.body), "metadata is not for everybody"
    request = {"resource": "bucket", "subject": fresh_subject()}
    answer = playground.visit("POST", "/check", {"request": request}, "127.2.0.1")
    assert answer.status == 200 and answer.body["status"] == 200, answer
    state = playground.visit("POST", "/state", {"request": request}, "127.2.0.1")
    assert state.status == 200 and 0.9 < state.body["limits"][0]["used"] <= 1, state
    for path in ("/check", "/state"):
        other = playground.visit("POST", path, {"tenant_id": playground.other, "request": request}, "127.2.0.1")
        assert other.status == 404, other
    keyed = playground.visit("POST", "/check", {"request": request, "key": playground.key}, "127.2.0.1")
    assert keyed.status == 422 and pointers(keyed) == ["/key"], keyed


def test_an_address_gets_a_hundred_calls_at_once_and_others_are_not_kept_waiting(playground: Playground) -> None:
    statuses = [playground.visit("POST", "/check", {"request": {"plan_id": "none"}}, "127.2.0.2") for _ in range(300)]
    refused = [answer for answer in statuses if answer.status == 429]
    assert len(statuses) - len(refused) >= 100 and refused, "a burst passes, a flood does not"
    assert refused[0].body["type"] == "/problems/rate-limited" and int(refused[0].header("retry-after") or 0) >= 1
    assert playground.visit("POST", "/check", {"request": {"resource": "bucket", "subject": "s"}}, "127.2.0.3").status == 200


def test_visitors_cannot_send_what_a_form_of_another_site_could(playground: Playground) -> None:
    with Client(playground.server.port, source="127.2.0.4") as client:
        answer = client.request("POST", "/v1/playground/check", '{"request":{"resource":"bucket"}}', {"content-type": "text/plain"})
    assert answer.status == 415, answer
    assert answer.header("access-control-allow-origin") is None


def test_without_the_flag_nobody_plays_without_a_token(make_server: Callable[..., Server]) -> None:
    server = make_server("--playground-agent", "http://127.0.0.1:9").start()
    for method, path in (("GET", ""), ("POST", "/check"), ("POST", "/state")):
        with Client(server.port) as client:
            answer = client.request(method, f"/v1/playground{path}", "{}" if method == "POST" else None, JSON_BODY)
        assert answer.status == 403 and "--playground" in answer.body["detail"], answer


def test_a_server_without_an_agent_says_what_to_set(make_server: Callable[..., Server]) -> None:
    with make_server().start().admin() as admin:
        assert admin.get("/playground").body == {"agent": False, "counters": False, "tenants": []}
        for path in ("check", "state"):
            answer = admin.post(f"/playground/{path}", {"tenant_id": admin.tenant(), "request": {"resource": "x"}})
            assert answer.status == 503 and answer.body["type"] == "/problems/no-playground", answer
            assert "--playground-agent" in answer.body["detail"] and "--playground-key-file" in answer.body["detail"]


def test_a_check_may_have_every_dimension_that_a_policy_matches_or_counts_by(playground: Playground, admin: AdminClient) -> None:
    other = {"region": "eu-west-1", "source_ip": "192.0.2.7", "tags": {"env": "prod"}, "attributes": {"shard": "7"}}
    request = {"resource": "narrow", "subject": fresh_subject(), **other}
    statuses = [playground.check(admin, **request).body["status"] for _ in range(3)]
    assert statuses == [200, 200, 429]
    elsewhere = playground.check(admin, **{**request, "region": "us-east-1"})
    assert "no_policy" in elsewhere.body["body"], elsewhere
    assert playground.state(admin, **request)["count"] == 2


# --- faults and hostile input ----------------------------------------------------------------------------------------

def test_an_agent_that_is_away_is_said_plainly_and_asked_anew(playground: Playground, admin: AdminClient) -> None:
    failed = playground.server.metric("sluice_playground_checks_total", outcome="failed")
    playground.agent.stop()
    away = playground.check(admin, resource="bucket", subject=fresh_subject())
    assert away.status == 503 and away.body["type"] == "/problems/playground-unavailable", away
    assert "was not made" in away.body["detail"] and away.header("retry-after") == "1"
    assert str(playground.agent.socket) not in json.dumps(away.body), "its address is for the log"
    assert playground.server.metric("sluice_playground_checks_total", outcome="failed") > failed
    assert admin.get("/playground").status == 200, "the rest of the API goes on"
    playground.agent.start()
    wait_until("decisions by Redis", lambda: playground.agent.metric("sluice_redis_connected") == 1)
    back = playground.check(admin, resource="bucket", subject=fresh_subject())
    assert back.status == 200 and back.body["status"] == 200, back
    events = [line["event"] for line in playground.server.lines(since_start=True)]
    assert events.count("playground_agent_away") == events.count("playground_agent_back") == 1


@pytest.mark.parametrize(("body", "pointer"), [
    ({"request": {"resource": "bucket", "wait": "30s"}}, "/request/wait"),
    ({"request": {"resource": "bucket", "limit_override": {"burst": 9}}}, "/request/limit_override"),
    ({"request": {"resource": "bucket", "costs": {"tokens": 5}}}, "/request/costs"),
    ({"request": {"resource": "bucket", "regoin": "eu"}}, "/request/regoin"),
    ({"request": {"resource": "bucket", "tags": {"a": 7}}}, "/request/tags/a"),
    ({"request": {"resource": "bucket", "cost": -1}}, "/request/cost"),
    ({"request": {"resource": "x" * 300}}, "/request/resource"),
    ({"request": {"resource": "bucket"}, "key": "slk_a_b\r\nx-api-key: evil"}, "/key"),
    ({"request": {"resource": "bucket"}, "key": 7}, "/key"),
    ({"request": {"resource": "bucket"}, "url": "http://169.254.169.254/"}, "/url"),
    ({"request": ["bucket"]}, "/request"),
    ({}, "/request"),
])
def test_what_is_not_a_check_of_the_playground_never_reaches_the_agent(playground: Playground, admin: AdminClient,
                                                                       body: dict[str, Any], pointer: str) -> None:
    before = playground.agent.metric("sluice_http_requests_total")
    answer = admin.post("/playground/check", {"tenant_id": playground.tenant, **body})
    assert answer.status in (400, 422) and pointers(answer) == [pointer], answer
    assert playground.agent.metric("sluice_http_requests_total") == before


def test_a_large_body_and_an_idempotency_key_are_refused(playground: Playground, admin: AdminClient) -> None:
    large = admin.post("/playground/check", {"tenant_id": playground.tenant, "request": {"resource": "x" * 20_000}})
    assert large.status == 413, large
    body = {"tenant_id": playground.tenant, "request": {"resource": "bucket"}}
    assert pointers(admin.post("/playground/check", body, key="again")) == ["Idempotency-Key"]


@pytest.mark.parametrize(("flags", "text"), [
    (("--playground-key-file", "/dev/null"), "has no use without --playground-agent"),
    (("--playground-agent", "ftp://127.0.0.1"), "must be http://HOST"),
    (("--playground-agent", "http://10.0.0.1:8088"), "across the network in clear"),
    (("--playground-agent", "http://127.0.0.1:8088", "--playground", "Demo!"), "must be the id of the tenant"),
    (("--playground-agent", "http://127.0.0.1:8088", "--playground", "demo"), "add --playground-key-file FILE"),
])
def test_faulty_flags_are_named_with_their_rule(server_program: Path, flags: tuple[str, ...], text: str) -> None:
    done = run_command(server_program, "--database-url", "postgresql://app@127.0.0.1/sluice", *flags)
    assert done.returncode == 2 and text in done.stderr, done.stderr


@pytest.mark.parametrize(("content", "mode", "text"), [("", 0o600, "is empty"), ("# nothing\n", 0o600, "is empty"),
                                                       ("slk_a_b\n", 0o600, "has in line 1 no API key"),
                                                       ("slk_a_b\n", 0o644, "can be read by all users")])
def test_a_faulty_key_file_is_refused_without_showing_it(server_program: Path, tmp_path: Path, content: str, mode: int,
                                                         text: str) -> None:
    file = tmp_path / "keys"
    file.write_text(content)
    file.chmod(mode)
    done = run_command(server_program, "--database-url", "postgresql://app@127.0.0.1/sluice",
                       "--playground-agent", "http://127.0.0.1:8088", "--playground-key-file", str(file))
    assert done.returncode == 2 and text in done.stderr and "slk_a_b" not in done.stderr, done.stderr
