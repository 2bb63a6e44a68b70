"""The bundles of examples/ do what examples/README.md says, row by row, with counters in Redis and in memory.

The agents and their Redis share a clock that the tests drive, so that every number is exact and a month takes no time.
"""

import calendar
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent
from support.ask_table import differences, rows_of
from support.bundle import MintedKey
from support.client import Answer, Client
from support.driven_clock import DrivenClock
from support.process import wait_until
from support.redis_server import RedisServer

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
README = (EXAMPLES / "README.md").read_text()
SECTIONS = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", README, re.M | re.S))
NAMES = sorted(path.name for path in EXAMPLES.glob("*.json"))


@pytest.fixture(scope="module")
def clock(module_folder: Path) -> DrivenClock:
    """The time of this module's agents and of their Redis."""
    return DrivenClock(module_folder, 2026)


@pytest.fixture(scope="module")
def driven_redis(module_folder: Path, clock: DrivenClock) -> Iterator[RedisServer]:
    """A Redis that lives by that clock."""
    server = RedisServer(module_folder / "driven-redis", env=clock.env).start()
    yield server
    server.close()


@dataclass
class Running:
    """Agents with the examples, one for each asked for."""

    start: Callable[[str, str], Agent]
    clock: DrivenClock
    key: str


def with_key(name: str, key: MintedKey) -> str:
    """An example with a key of its one tenant."""
    document = json.loads((EXAMPLES / name).read_text())
    (tenant,) = document["tenants"]
    document["keys"] = [{"tenant_id": tenant["id"], "id": key.id, "name": "test", "key_hash": key.hash}]
    return json.dumps(document)


@pytest.fixture(scope="module")
def running(program: Path, module_folder: Path, clock: DrivenClock, driven_redis: RedisServer,
            key: MintedKey) -> Iterator[Running]:
    """Starts each example once for each store."""
    agents: dict[tuple[str, str], Agent] = {}

    def start(name: str, store: str) -> Agent:
        if (name, store) in agents:
            return agents[name, store]
        bundle = module_folder / f"{store}-{name}"
        bundle.write_text(with_key(name, key))
        counters = driven_redis.counters if store == "redis" else store
        agent = agents[name, store] = Agent(program, module_folder / f"agent-{store}-{name}", bundle, counters,
                                            ["--redis-deadline", "5s"], clock.env)
        agent.start()
        if store == "redis":
            wait_until("the connection to Redis", lambda: agent.metric("sluice_redis_connected") == 1, 30)
            overrides = len(json.loads(bundle.read_text()).get("overrides", []))
            wait_until("the overrides", lambda: agent.metric("sluice_override_publications_total",
                                                             result="ok") >= overrides, 30)
        return agent

    yield Running(start, clock, key.text)
    for agent in agents.values():
        agent.close()


@pytest.fixture(params=["redis", "memory"])
def ask(request: pytest.FixtureRequest, running: Running) -> Iterator[Callable[[str], Client]]:
    """ask("demo.json"): a client of an agent with that example, whose counters are untouched."""
    clients: list[Client] = []

    def connect(name: str) -> Client:
        agent = running.start(name, request.param)
        clients.append(agent.client(running.key))
        return clients[-1]

    running.clock.next_year()
    yield connect
    for client in clients:
        client.close()


def test_every_example_has_a_section_with_a_table_and_every_section_an_example() -> None:
    assert sorted(SECTIONS) == NAMES
    assert all(rows_of(section) for section in SECTIONS.values())


def test_no_two_examples_share_a_tenant_and_so_a_counter() -> None:
    tenants = [json.loads((EXAMPLES / name).read_text())["tenants"][0]["id"] for name in NAMES]
    assert len(set(tenants)) == len(NAMES)


def test_the_examples_show_every_action_and_every_algorithm() -> None:
    bundles = [json.loads((EXAMPLES / name).read_text()) for name in NAMES]
    rulebooks = [one for bundle in bundles for kind in ("plans", "policies") for one in bundle[kind]]
    assert {one.get("action", "deny") for one in rulebooks} == {
        "allow", "deny", "delay", "sample", "drop", "downgrade", "drop_low_priority", "shadow_only"}
    assert {limit["algorithm"] for one in rulebooks for limit in one.get("limits", [])} == {
        "token_bucket", "leaky_bucket", "fixed_window", "sliding_window", "sliding_window_log", "concurrency", "quota"}


@pytest.mark.parametrize("name", NAMES)
def test_every_example_passes_check_config_without_a_warning(program: Path, name: str) -> None:
    done = subprocess.run([program, "--policies", EXAMPLES / name, "--counters", "memory", "--check-config"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r".*: ok \(.*\)", done.stdout.strip()), "one line, and no warning"


@pytest.mark.parametrize("name", NAMES)
def test_no_example_holds_a_credential(name: str) -> None:
    text = (EXAMPLES / name).read_text()
    assert json.loads(text)["keys"] == []
    assert "slk_" not in text and "sha256:" not in text


@pytest.mark.parametrize("name", NAMES)
def test_every_row_of_its_table_is_answered_as_it_says(ask: Callable[[str], Client], running: Running,
                                                       name: str) -> None:
    client = ask(name)
    for row in rows_of(SECTIONS[name]):
        running.clock.advance(row.wait)
        for time in range(row.times):
            answer = client.check(**row.request)
            wrong = differences(row.reply, answer.body)
            assert answer.status == row.status and not wrong, (row.request, f"time {time + 1}", wrong, answer.body)


def test_a_tier_answers_with_the_headers_of_its_binding_limit(ask: Callable[[str], Client], running: Running) -> None:
    client = ask("public-api-tiers.json")
    now = running.clock.now_us // 1_000_000

    def shown(answer: Answer) -> list[Any]:
        return [answer.header(name) for name in ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset",
                                                 "ratelimit-policy", "ratelimit", "retry-after")]

    free = {"client_id": "h1", "tags": {"tier": "free"}}
    assert shown(client.check(**free)) == ["10", "9", str(now + 1), '"burst";q=10;w=10', '"burst";r=9;t=1', None]
    client.check(**free, cost=9)
    assert shown(client.check(**free)) == ["10", "0", str(now + 10), '"burst";q=10;w=10', '"burst";r=0;t=10', "1"]


@pytest.mark.parametrize(("name", "request_fields", "answered"), [
    ("public-api-tiers.json", {"client_id": "c1", "tags": {"tier": "free"}}, (503, "fail_closed")),
    ("public-api-tiers.json", {"client_id": "c1", "tags": {"tier": "pro"}}, (200, "fail_open")),
    ("login-protection.json", {"resource": "POST:/login", "source_ip": "192.0.2.1", "user": "ann"},
     (503, "fail_closed")),
    ("login-protection.json", {"resource": "POST:/signup", "source_ip": "192.0.2.1"}, (200, "fail_open")),
    ("message-consumers.json", {"topic": "telemetry.web"}, (200, "fail_open"))])
def test_without_redis_the_failure_mode_of_the_policy_answers(program: Path, tmp_path: Path, key: MintedKey, name: str,
                                                              request_fields: dict[str, Any],
                                                              answered: tuple[int, str]) -> None:
    bundle = tmp_path / name
    bundle.write_text(with_key(name, key))
    agent = Agent(program, tmp_path / "agent", bundle, f"unix:{tmp_path}/nobody").start()
    with agent.client(key.text) as client:
        answer = client.check(**request_fields)
    agent.close()
    assert (answer.status, answer.body["reason"]) == answered


def test_a_job_holds_its_lease_until_released_or_not_renewed(ask: Callable[[str], Client], running: Running) -> None:
    client = ask("background-jobs.json")
    job = {"job_type": "export", "tags": {"customer": "initech"}}
    taken = [client.check(**job).body for _ in range(2)]
    assert [body["lease_expires_at"] for body in taken] == [running.clock.now_us // 1_000_000 + 900] * 2
    running.clock.advance(600)
    assert client.renew(taken[0]["lease_id"]).status == 200
    assert client.check(**job).status == 429
    running.clock.advance(300)   # the other one was not renewed
    assert client.check(**job).status == 200
    assert client.check(**job).status == 429
    assert client.release(taken[0]["lease_id"]).body["released"] is True
    assert client.check(**job).body["remaining"] == 0
    assert client.release(taken[0]["lease_id"]).body["released"] is False


def test_exports_end_with_the_day_however_many_leases_are_free(ask: Callable[[str], Client], running: Running) -> None:
    client = ask("background-jobs.json")
    job = {"job_type": "export", "tags": {"customer": "hooli"}}
    for _ in range(50):
        assert client.release(client.check(**job).body["lease_id"]).status == 200
    denied = client.check(**job)
    assert (denied.status, denied.body["limit_name"], denied.body["retry_after_ms"]) == (429, "daily", 86_400_000)
    running.clock.advance(86_400)
    assert client.check(**job).status == 200


def test_a_report_holds_both_leases_and_gives_back_both(ask: Callable[[str], Client]) -> None:
    client = ask("tenant-fairness.json")
    report = {"service": "app", "operation": "report", "tags": {"customer": "globex"}}
    first = client.check(**report, user="ann").body["lease_id"]
    assert client.check(**report, user="bob").status == 200
    assert client.release(first).body["released"] is True
    limits = client.explain(**report, user="ann", cost=0).body["limits"]
    assert [(limit["name"], limit["remaining"]) for limit in limits] == [("customer", 1), ("user", 1)]


def test_a_denied_share_charges_neither_the_customer_nor_the_user(ask: Callable[[str], Client]) -> None:
    client = ask("tenant-fairness.json")
    share = {"service": "app", "tags": {"customer": "umbrella"}, "user": "ann"}
    assert client.check(**share, cost=20).status == 200
    assert client.check(**share).status == 429
    limits = client.explain(**share, cost=0).body["limits"]
    assert [(limit["name"], limit["remaining"]) for limit in limits] == [("customer", 80), ("user", 0)]


def test_a_tenth_of_the_telemetry_over_the_limit_passes_and_always_the_same_tenth(ask: Callable[[str], Client]) -> None:
    client = ask("message-consumers.json")
    client.check(topic="telemetry.app", cost=1000)
    ids = [f"message-{number}" for number in range(300)]
    passed = [name for name in ids if client.check(topic="telemetry.app", request_id=name).status == 200]
    assert 15 <= len(passed) <= 45
    assert [name for name in ids if client.check(topic="telemetry.app", request_id=name).status == 200] == passed
    assert client.check(topic="telemetry.app", cost=0).body["remaining"] == 0


def test_a_payment_that_was_told_to_wait_has_its_place(ask: Callable[[str], Client], running: Running) -> None:
    client = ask("message-consumers.json")
    answers = [client.check(topic="payments") for _ in range(16)]
    assert [answer.status for answer in answers] == [200] * 15 + [429]
    assert [answer.body["delay_ms"] for answer in answers[:15]] == [0] * 5 + [200 * n for n in range(1, 11)]
    running.clock.advance(2)   # all that were told to wait have had their turn
    assert client.check(topic="payments").body["delay_ms"] == 200


def test_the_rollout_takes_the_subjects_of_the_published_hash_and_says_so(ask: Callable[[str], Client]) -> None:
    client = ask("gradual-rollout.json")
    inside = client.explain(resource="POST:/orders", subject="user:3").body["candidates"]
    outside = client.explain(resource="POST:/orders", subject="user:42").body["candidates"]
    assert [(one["policy_id"], one["outcome"]) for one in inside] == [("orders", "decides"),
                                                                      ("orders-current", "outranked")]
    assert [(one["policy_id"], one["outcome"]) for one in outside] == [("orders", "outside_rollout"),
                                                                       ("orders-current", "decides")]
    assert "below 2500" in outside[0]["why"] and "8171" in outside[0]["why"]


def test_a_disabled_policy_and_a_shadow_are_explained_and_switch_nothing_off(ask: Callable[[str], Client]) -> None:
    body = ask("gradual-rollout.json").explain(resource="GET:/search", subject="user:9").body
    assert [(one["policy_id"], one["outcome"]) for one in body["candidates"]] == [
        ("autumn-sale", "disabled"), ("search-next", "shadow_judged"), ("search", "decides")]


def test_an_anchored_month_ends_on_the_last_day_of_february(ask: Callable[[str], Client], running: Running) -> None:
    client = ask("monthly-quotas.json")
    call = {"tags": {"plan": "business"}, "subject": "account:9"}
    february = (29 if calendar.isleap(running.clock.year) else 28) * 86_400
    running.clock.advance(30 * 86_400 + 9 * 3600)   # 31 January, 09:00: a period begins
    body = client.explain(**call, cost=1_000_000).body
    assert body["limits"][0]["reset_after_us"] == february * 1_000_000
    running.clock.advance(february - 0.000001)
    assert client.check(**call).status == 429
    running.clock.advance(0.000001)
    assert client.check(**call).body["remaining"] == 999_999
