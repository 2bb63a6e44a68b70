"""What makes an event for a webhook, and how often: usage that servers store, quotas and failures that agents report."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.admin import AdminClient
from support.agent import Agent
from support.postgres import Database
from support.process import wait_until
from support.redis_server import RedisServer
from support.server import Installation, Server
from support.sync_client import SyncAgent
from support.webhook_receiver import Receiver
from support.webhooks import TO_THIS_MACHINE, fill_outbox, make_webhook


@pytest.fixture(scope="module")
def server(module_server: Callable[..., Server], webhook_key_file: Path) -> Server:
    """One for the module, which may send to this machine."""
    return module_server("--notify-secret-file", str(webhook_key_file), *TO_THIS_MACHINE).start()


def fail_open(database: Database, tenant: str, count: int = 3) -> None:
    """Stores usage as the fleet does: a policy was decided by its failure mode."""
    database.execute("INSERT INTO usage (minute, organization_id, tenant_id, policy_id, outcome, count) "
                     "SELECT date_trunc('minute', now()), organization_id, id, 'orders', 'failed_open', %s FROM tenants WHERE id = %s "
                     "ON CONFLICT (minute, tenant_id, policy_id, outcome, organization_id) DO UPDATE SET count = usage.count + %s",
                     (count, tenant, count))


def test_two_servers_make_one_event_of_one_usage(make_server: Callable[..., Server], installation: Installation, webhook_key_file: Path,
                                                 receiver: Receiver) -> None:
    database = installation.copy()
    flags = ("--notify-secret-file", str(webhook_key_file), *TO_THIS_MACHINE)
    servers = [make_server(*flags, database=database).start() for _ in range(2)]
    with servers[0].admin() as admin:
        tenant = admin.tenant()
        make_webhook(admin, tenant, receiver.url, events=["failure_mode"], policies=["orders"])
        database.execute("UPDATE webhooks SET created_at = now() - interval '1 h'")
        fail_open(database, tenant)
        wait_until("the event", lambda: receiver.deliveries or None, 30)
        fail_open(database, tenant)
        looked = [server.metric("sluice_webhook_events_total", change="made") for server in servers]
        assert sum(looked) in (1, 2)   # 2: the window of ten minutes ended between the two
        events = {item["id"] for item in admin.items("/webhooks/alerts/deliveries", tenant=tenant)}
        assert len(events) == sum(looked) and set(receiver.ids()) <= events
        assert len(receiver.deliveries) == len(set(receiver.ids()))
    event = receiver.deliveries[0].event
    assert event["type"] == "failure_mode"
    assert event["data"]["policy_id"] == "orders" and event["data"]["decisions"] == {"failed_open": 3}


def test_denials_above_the_share_make_an_event(server: Server, admin: AdminClient, tenant: str, receiver: Receiver) -> None:
    make_webhook(admin, tenant, receiver.url, events=["denials"], denied_percent=30, denied_minutes=2)
    server.database.execute("UPDATE webhooks SET created_at = now() - interval '1 h' WHERE tenant_id = %s", (tenant,))
    server.database.execute(
        "INSERT INTO usage (minute, organization_id, tenant_id, policy_id, outcome, count) SELECT date_trunc('minute', now()) - ago * "
        "interval '1 min', organization_id, tenants.id, policy, outcome, count FROM tenants, (VALUES ('loud', 'denied', 40), "
        "('loud', 'allowed', 60), ('quiet', 'denied', 30), ('quiet', 'allowed', 70)) AS given (policy, outcome, count), "
        "generate_series(4, 6) AS ago WHERE tenants.id = %s", (tenant,))
    wait_until("the event", lambda: receiver.deliveries or None, 30)
    events = [one.event for one in receiver.deliveries]
    assert {event["data"]["policy_id"] for event in events} == {"loud"}
    assert events[0]["data"]["denied"] == 80 and events[0]["data"]["decided"] == 200


def test_an_event_that_was_refused_is_counted_and_logged_and_made_once_there_is_room(make_server: Callable[..., Server], webhook_key_file: Path,
                                                                                     receiver: Receiver) -> None:
    server = make_server("--notify-secret-file", str(webhook_key_file), *TO_THIS_MACHINE).start()
    with server.admin() as admin:
        tenant = admin.tenant()
        make_webhook(admin, tenant, receiver.url, events=["failure_mode"])
        server.database.execute("UPDATE webhooks SET created_at = now() - interval '1 h'")
        fill_outbox(server.database, tenant)
        server.database.execute("UPDATE webhook_deliveries SET next_at = now() + interval '1 h'")
        fail_open(server.database, tenant)
        wait_until("the refusal", lambda: server.metric("sluice_webhook_events_total", change="refused") or None, 30)
        assert server.metric("sluice_webhook_events_total", change="made") == 0 and not receiver.deliveries
        [line] = [line for line in server.lines() if line["event"] == "webhook_events_refused"]
        assert line["tenant_id"] == tenant and line["most"] == 2000
        # Finished ones make room when no event can be made again of what they tell.
        server.database.execute("UPDATE webhook_deliveries SET status = 'delivered', created_at = now() - interval '3 h'")
        wait_until("the event", lambda: receiver.deliveries or None, 30)
    assert receiver.deliveries[0].event["type"] == "failure_mode"


def test_an_agent_whose_redis_is_gone_makes_an_event_that_arrives(
        make_server: Callable[..., Server], make_agent: Callable[..., Agent], make_redis: Callable[..., RedisServer], webhook_key_file: Path,
        tmp_path: Path, receiver: Receiver) -> None:
    redis = make_redis()
    server = make_server("--notify-secret-file", str(webhook_key_file), *TO_THIS_MACHINE, "--analytics-every", "100ms").start()
    with server.admin() as admin:
        tenant = admin.tenant()
        secret = make_webhook(admin, tenant, receiver.url, events=["failure_mode"])["secret"]
        # Events are of whole minutes after the webhook was made.
        server.database.execute("UPDATE webhooks SET created_at = now() - interval '2 min'")
        policy = {"resource": "GET:/orders", "limit": 5, "window": "10s", "failure_mode": "fail_open"}
        assert admin.put("/policies/orders", policy, tenant=tenant).status == 201
        api_key = admin.create("/keys", {"tenant_id": tenant, "name": "app"})["key"]
        token = tmp_path / "token"
        token.write_text(admin.create("/agent-tokens", {"name": "agents"})["token"])
        token.chmod(0o600)
    agent = make_agent(None, redis.counters, "--server", f"http://127.0.0.1:{server.port}", "--agent-token-file", str(token),
                       "--snapshot-cache", str(tmp_path / "kept"), "--report-interval", "100ms").start()
    redis.close()
    with agent.client(api_key) as client:
        answer = client.check(resource="GET:/orders", subject="user:1")
        assert answer.status == 200 and answer.body["reason"] == "fail_open", answer
    wait_until("the event", lambda: receiver.deliveries or None, 30)
    [got] = receiver.deliveries
    assert got.signed_by(secret) and got.event["type"] == "failure_mode" and got.event["tenant"] == tenant
    assert got.event["data"]["policy_id"] == "orders" and got.event["data"]["decisions"] == {"failed_open": 1}


def test_a_reached_quota_makes_one_event_however_often_it_is_reported(make_server: Callable[..., Server], webhook_key_file: Path,
                                                                      receiver: Receiver) -> None:
    server = make_server("--notify-secret-file", str(webhook_key_file), *TO_THIS_MACHINE, "--analytics-every", "100ms").start()
    with server.admin() as admin:
        tenant = admin.tenant()
        make_webhook(admin, tenant, receiver.url, events=["quota_100", "quota_80"], policies=["orders"])
        token = admin.create("/agent-tokens", {"name": "agents", "tenant_ids": [tenant], "organization_id": admin.get(
            f"/tenants/{tenant}").body["organization_id"]})["token"]
    agents = [SyncAgent(server.port, token, name) for name in ("one", "two")]

    def report(agent: SyncAgent, number: int, *percents: int, day: int = 30, **members: Any) -> None:
        """Sends it until the server has stored it."""
        reached = [{"tenant_id": tenant, "policy_id": "orders", "plan_id": "", "limit": "day", "counter": "3f00", "subject": "user:42",
                    "percent": percent, "quota": 10, "used": percent // 10, "from": f"2027-03-{day}T00:00:00Z",
                    "to": f"2027-03-{day + 1}T00:00:00Z", **members} for percent in percents]
        body = {"number": number, "from": "2027-03-30T09:00:00Z", "to": "2027-03-30T09:00:10Z", "counts": [], "quotas": reached}
        wait_until("the report to be stored", lambda: agent.report(reports=[body]).body["stored"] >= number or None)

    report(agents[0], 1, 80, 100)
    wait_until("both events", lambda: len(receiver.deliveries) == 2 or None, 30)
    report(agents[0], 1, 80, 100)   # the answer was lost
    report(agents[0], 2, 100)       # the quota still denies
    report(agents[1], 1, 80, 100)
    report(agents[1], 2, 80, policy_id="carts")   # not asked for
    report(agents[1], 3, 80, day=29)   # another period
    wait_until("the event of the other period", lambda: len(receiver.deliveries) >= 3 or None, 30)
    events = [got.event for got in receiver.deliveries]
    assert sorted((event["type"], event["data"]["since"]) for event in events) == [
        ("quota_100", "2027-03-30T00:00:00Z"), ("quota_80", "2027-03-29T00:00:00Z"), ("quota_80", "2027-03-30T00:00:00Z")]
    assert len(set(receiver.ids())) == 3
    first = next(event for event in events if event["type"] == "quota_80" and event["data"]["used"] == 8)
    assert {**first["data"], "since": "", "until": ""} == {
        "policy_id": "orders", "plan_id": "", "limit": "day", "subject": "user:42", "counter": "3f00", "quota": 10, "used": 8,
        "since": "", "until": ""}
    with server.admin() as admin:
        assert len(list(admin.items("/webhooks/alerts/deliveries", tenant=tenant))) == 3


def test_the_eighth_and_the_tenth_call_of_ten_make_one_event_each_with_two_agents(
        make_server: Callable[..., Server], make_agent: Callable[..., Agent], make_redis: Callable[..., RedisServer], webhook_key_file: Path,
        tmp_path: Path, receiver: Receiver) -> None:
    redis = make_redis()
    server = make_server("--notify-secret-file", str(webhook_key_file), *TO_THIS_MACHINE, "--analytics-every", "100ms").start()
    with server.admin() as admin:
        tenant = admin.tenant()
        secret = make_webhook(admin, tenant, receiver.url, events=["quota_80", "quota_100"])["secret"]
        # The first limit binds, as both always have the same share left.
        limits = [{"name": "burst", "algorithm": "fixed_window", "limit": 10, "window": "1h"},
                  {"name": "year", "algorithm": "quota", "limit": 10, "period": "year"}]
        policy = {"scope": {"resource": "GET:/orders"}, "key_by": ["subject"], "limits": limits, "report_subjects": "named"}
        assert admin.put("/policies/orders", policy, tenant=tenant).status == 201
        api_key = admin.create("/keys", {"tenant_id": tenant, "name": "app"})["key"]
        token = tmp_path / "token"
        token.write_text(admin.create("/agent-tokens", {"name": "agents"})["token"])
        token.chmod(0o600)
    agents = [make_agent(None, redis.counters, "--server", f"http://127.0.0.1:{server.port}", "--agent-token-file", str(token),
                         "--snapshot-cache", str(tmp_path / f"kept{number}"), "--report-interval", "100ms").start() for number in range(2)]

    def types() -> list[tuple[str, str, int]]:
        """What has arrived."""
        return sorted((got.event["type"], got.event["data"]["subject"], got.event["data"]["used"]) for got in receiver.deliveries)

    with agents[0].client(api_key) as first, agents[1].client(api_key) as second:
        def call(number: int, **members: Any) -> int:
            return (first, second)[number % 2].check(resource="GET:/orders", subject="user:1", **members).status

        for number in range(7):
            assert call(number) == 200
        assert call(7) == 200   # the eighth
        wait_until("the event of the eighth", lambda: types() == [("quota_80", "user:1", 8)] or None, 30)
        assert call(8) == 200 and call(9) == 200
        wait_until("the event of the tenth", lambda: len(types()) == 2 or None, 30)
        assert [call(number) for number in range(4)] == [429] * 4   # both agents tell that it is used up
        assert second.check(resource="GET:/orders", subject="user:2", cost=8).status == 200
        wait_until("the event of another subject", lambda: len(types()) >= 3 or None, 30)
    assert types() == [("quota_100", "user:1", 10), ("quota_80", "user:1", 8), ("quota_80", "user:2", 8)]
    assert len(set(receiver.ids())) == 3
    got = receiver.deliveries[0]
    assert got.signed_by(secret) and got.event["data"]["policy_id"] == "orders" and got.event["data"]["limit"] == "year"
