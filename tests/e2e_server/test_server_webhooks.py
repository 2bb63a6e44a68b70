"""Webhooks to customers: how they are written, and that what happens is sent, signed, at least once and under one id."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.admin import AdminClient, pointers
from support.migrations import take_back_migrations
from support.postgres import OWNER, Database
from support.process import free_port, wait_until
from support.server import Installation, Server, bootstrap
from support.webhook_receiver import Receiver, pass_time, row_of
from support.webhooks import (HOUR, KEY, TO_THIS_MACHINE, delivery, fill_outbox, make_webhook, post_to_webhook, send_test, settled,
                              wait_for_attempt)

ROOT = Path(__file__).resolve().parents[2]
LEASE = 90.0


@pytest.fixture(scope="module")
def server(module_server: Callable[..., Server], webhook_key_file: Path) -> Server:
    """One for the module, which may send to this machine."""
    return module_server("--notify-secret-file", str(webhook_key_file), *TO_THIS_MACHINE).start()


def test_a_test_event_arrives_signed(server: Server, admin: AdminClient, tenant: str, receiver: Receiver) -> None:
    made = make_webhook(admin, tenant, receiver.url, events=["denials", "failure_mode"], denied_percent=20)
    secret = made.pop("secret")
    assert made["events"] == ["failure_mode", "denials"] and made["policies"] == []
    assert "secret" not in admin.get("/webhooks/alerts", tenant=tenant).body
    sent = send_test(admin, tenant)
    done = settled(admin, tenant, sent, "delivered")
    assert (done["attempts"], done["http_status"], done["answer"], done["error"], done["next_attempt_at"]) == (1, 200, "thanks", None, None)
    [got] = receiver.deliveries
    assert (got.id, got.path, got.headers["content-type"]) == (sent, "/in?team=7", "application/json")
    assert got.headers["user-agent"].startswith("sluice-webhooks/")
    assert got.signed_by(secret) and not got.signed_by("whsec_" + "A" * 43 + "=")
    assert got.event == done["event"] and got.event["type"] == "test" and got.event["tenant"] == tenant
    assert abs(int(got.headers["webhook-timestamp"]) - server.database.execute("SELECT extract(epoch FROM now())::bigint")[0][0]) < 60


def test_the_guides_receiver_takes_what_is_sent_and_nothing_else(admin: AdminClient, tenant: str, receiver: Receiver) -> None:
    guide = (ROOT / "docs/guide/webhooks.md").read_text()
    written: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", guide, re.S)[0], written)
    secret = make_webhook(admin, tenant, receiver.url)["secret"]
    settled(admin, tenant, send_test(admin, tenant), "delivered")
    [got] = receiver.deliveries
    verify, sent = written["verify"], int(got.headers["webhook-timestamp"])
    assert verify(secret, got.headers, got.body)
    assert not verify(secret, got.headers, got.body, now=sent + 301)
    assert not verify(secret, got.headers, got.body + b" ")
    assert not verify("whsec_" + "A" * 43 + "=", got.headers, got.body)
    assert not verify(secret, {**got.headers, "webhook-id": "evt_0"}, got.body)
    assert not verify(secret, {**got.headers, "webhook-timestamp": str(sent + 1)}, got.body)


def test_a_webhook_is_written_read_patched_and_deleted(admin: AdminClient, tenant: str) -> None:
    path = "/webhooks/hooks"
    body: dict[str, Any] = {"url": "https://hooks.example.com/in", "events": ["denials"]}
    first = admin.put(path, body, tenant=tenant)
    assert first.status == 201 and first.body["secret"].startswith("whsec_")
    same = admin.put(path, {**body, "policies": [], "enabled": True, "secret": None}, tenant=tenant)
    assert (same.status, same.body["version"]) == (200, 1)
    changed = admin.patch(path, {"enabled": False, "policies": ["b", "a", "b"]}, tenant=tenant)
    assert changed.body["version"] == 2 and changed.body["policies"] == ["a", "b"] and changed.body["enabled"] is False
    assert admin.put(path, body, tenant=tenant, headers={"if-match": '"1"'}).status == 412
    assert [item["id"] for item in admin.items("/webhooks", query={"tenant_id": tenant})] == ["hooks"]
    assert admin.post("/webhooks", {"tenant_id": tenant, "id": "hooks", **body}).status == 409
    entries = [(item["action"], item["kind"]) for item in admin.items("/audit", query={"tenant_id": tenant, "kind": "webhook"})]
    assert set(entries) == {("create", "webhook"), ("update", "webhook")}
    assert admin.delete(f"/tenants/{tenant}").status == 409, "a tenant with webhooks is not deleted"
    assert admin.delete(path, tenant=tenant).status == 204
    assert admin.get(path, tenant=tenant).status == 404


@pytest.mark.parametrize(("body", "faulty"), [
    ({}, ["/url"]),
    ({"url": "https://example.com/", "events": ["quota"], "policies": ["NO"], "denied_percent": 0, "denied_minutes": 61,
      "enabled": "no", "secret": "mine", "secret_salt": "x"},
     ["/denied_minutes", "/denied_percent", "/enabled", "/events/0", "/policies/0", "/secret", "/secret_salt"]),
    ({"url": "https://example.com/", "events": "denials"}, ["/events"]),
])
def test_all_faults_of_a_webhook_are_named_at_once(admin: AdminClient, tenant: str, body: dict[str, Any], faulty: list[str]) -> None:
    answer = admin.post("/webhooks", {"tenant_id": tenant, "id": "alerts", **body})
    assert answer.status == 422 and sorted(pointers(answer)) == faulty, answer


def test_a_tenant_has_a_bounded_number_of_webhooks(admin: AdminClient, tenant: str) -> None:
    for number in range(20):
        admin.create("/webhooks", {"tenant_id": tenant, "id": f"w{number}", "url": "https://example.com/"})
    refused = admin.post("/webhooks", {"tenant_id": tenant, "id": "w20", "url": "https://example.com/"})
    assert (refused.status, refused.body["type"]) == (409, "/problems/quota-exceeded")


def test_a_delivery_can_be_asked_for_again_under_its_id(admin: AdminClient, tenant: str, receiver: Receiver) -> None:
    make_webhook(admin, tenant, receiver.url)
    sent = send_test(admin, tenant)
    settled(admin, tenant, sent, "delivered")
    again = post_to_webhook(admin, tenant, f"/deliveries/{sent}/redeliver")
    assert (again.status, again.body["status"], again.body["id"], again.body["attempts"]) == (200, "pending", sent, 0)
    settled(admin, tenant, sent, "delivered")
    assert receiver.ids() == [sent, sent]
    assert receiver.deliveries[0].body == receiver.deliveries[1].body
    assert delivery(admin, tenant, sent)["attempts"] == 1
    assert post_to_webhook(admin, tenant, "/deliveries/evt_0/redeliver").status == 404
    assert admin.post("/webhooks/alerts/test", {"type": "x"}, tenant=tenant).status == 422


def test_a_delivery_that_is_asked_for_again_while_it_is_sent_is_not_sent_twice_at_once(
        server: Server, admin: AdminClient, tenant: str, receiver: Receiver) -> None:
    make_webhook(admin, tenant, receiver.url)
    receiver.gate.clear()
    sent = send_test(admin, tenant)
    wait_until("the delivery", lambda: receiver.deliveries or None)
    for _ in range(3):
        assert post_to_webhook(admin, tenant, f"/deliveries/{sent}/redeliver").body["attempts"] == 0
    before = server.metric("sluice_webhook_deliveries_total", outcome="superseded")
    receiver.gate.set()
    wait_until("the outcome", lambda: server.metric("sluice_webhook_deliveries_total", outcome="superseded") > before or None)
    assert row_of(server.database, sent) == ("pending", 0, True) and receiver.ids() == [sent]
    pass_time(server.database, LEASE)
    assert settled(admin, tenant, sent, "delivered")["attempts"] == 1
    assert receiver.ids() == [sent, sent]


def test_during_a_rotation_both_secrets_verify(server: Server, admin: AdminClient, tenant: str, receiver: Receiver) -> None:
    old = make_webhook(admin, tenant, receiver.url)["secret"]
    turned = post_to_webhook(admin, tenant, "/rotate")
    new = turned.body["secret"]
    assert (turned.status, turned.body["version"]) == (200, 2) and new != old
    settled(admin, tenant, send_test(admin, tenant), "delivered")
    assert receiver.deliveries[0].signed_by(old) and receiver.deliveries[0].signed_by(new)
    server.database.execute("UPDATE webhooks SET old_until = now() WHERE tenant_id = %s", (tenant,))
    settled(admin, tenant, send_test(admin, tenant), "delivered")
    assert receiver.deliveries[1].signed_by(new) and not receiver.deliveries[1].signed_by(old)


def test_a_receiver_that_is_down_for_an_hour_gets_everything_when_it_is_back(server: Server, admin: AdminClient, tenant: str) -> None:
    port = free_port()
    make_webhook(admin, tenant, f"http://127.0.0.1:{port}/")
    events = [send_test(admin, tenant) for _ in range(2)]
    passed = 0.0
    for attempt in range(1, 30):
        for event in events:
            wait_for_attempt(server.database, event, attempt)
        if passed >= HOUR:
            break
        [wait] = server.database.execute(
            "SELECT max(extract(epoch FROM next_at - now()))::float8 FROM webhook_deliveries WHERE tenant_id = %s", (tenant,))[0]
        pass_time(server.database, max(wait, 0.0))
        passed += max(wait, 0.0)
    assert passed >= HOUR and delivery(admin, tenant, events[0])["error"].startswith("refused")
    wait_until("the backlog", lambda: server.metric("sluice_webhook_oldest_pending_seconds") >= HOUR or None, 30)
    receiver = Receiver(port)
    try:
        pass_time(server.database, HOUR)   # the longest delay
        for event in events:
            settled(admin, tenant, event, "delivered")
        assert sorted(receiver.ids()) == sorted(events)
    finally:
        receiver.close()


def test_a_server_killed_between_event_and_delivery_loses_nothing(make_server: Callable[..., Server], installation: Installation,
                                                                  webhook_key_file: Path, receiver: Receiver) -> None:
    database = installation.copy()
    flags = ("--notify-secret-file", str(webhook_key_file), *TO_THIS_MACHINE)
    server = make_server(*flags, database=database).start()
    receiver.gate.clear()   # the delivery arrives, and its answer does not
    with server.admin() as admin:
        tenant = admin.tenant()
        make_webhook(admin, tenant, receiver.url)
        sent = send_test(admin, tenant)
        wait_until("the first delivery", lambda: receiver.deliveries or None)
        later = [send_test(admin, tenant) for _ in range(4)]   # some wait behind it
    server.kill9()
    receiver.gate.set()
    pass_time(database, LEASE)
    server.start()
    with server.admin() as admin:
        for event in (sent, *later):
            settled(admin, tenant, event, "delivered")
    got = receiver.ids()
    assert set(got) == {sent, *later} and got.count(sent) == 2
    assert len({one.body for one in receiver.deliveries}) == 5, "one id has one body"


def test_deliveries_of_the_schema_before_are_sent_after_the_upgrade(make_server: Callable[..., Server], database: Database, webhook_key_file: Path,
                                                                   receiver: Receiver) -> None:
    flags = ("--notify-secret-file", str(webhook_key_file), *TO_THIS_MACHINE, "--database-owner-url", database.url(OWNER))
    server = make_server(*flags, database=database).start()
    token = bootstrap(server.program, database)
    receiver.status = 503
    with server.admin(token) as admin:
        tenant = admin.tenant(admin.organization())
        make_webhook(admin, tenant, receiver.url)
        sent = send_test(admin, tenant)
        wait_for_attempt(database, sent, 1)
    assert server.stop() == 0
    take_back_migrations(database, 13)
    database.execute("UPDATE webhook_deliveries SET attempts = 7, next_at = now()")
    receiver.status = 200
    server.start()
    with server.admin(token) as admin:
        assert settled(admin, tenant, sent, "delivered")["attempts"] == 8
        assert post_to_webhook(admin, tenant, f"/deliveries/{sent}/redeliver").body["attempts"] == 0
        assert settled(admin, tenant, sent, "delivered")["attempts"] == 1


def test_what_is_given_up_is_dead_and_can_be_sent_again(server: Server, admin: AdminClient, tenant: str, receiver: Receiver) -> None:
    make_webhook(admin, tenant, receiver.url)
    receiver.status, receiver.answer = 502, b"Bad \x00\xffGateway " * 200
    sent = send_test(admin, tenant)
    wait_for_attempt(server.database, sent, 1)
    pass_time(server.database, 49 * HOUR)
    done = settled(admin, tenant, sent, "dead")
    assert (done["http_status"], done["attempts"], done["error"]) == (502, 2, "the answer has the status 502")
    assert done["answer"].startswith("Bad   Gateway") and len(done["answer"]) == 1024
    listed = admin.get("/webhooks/alerts/deliveries", tenant=tenant, query={"status": "dead"})
    assert [item["id"] for item in listed.body["items"]] == [sent]
    wait_until("the metrics", lambda: server.metric("sluice_webhook_queue", state="dead") >= 1 or None, 30)
    assert server.metric("sluice_webhook_deliveries_total", outcome="dead") >= 1
    receiver.status = 204
    assert post_to_webhook(admin, tenant, f"/deliveries/{sent}/redeliver").status == 200
    settled(admin, tenant, sent, "delivered")
    assert set(receiver.ids()) == {sent}


def test_a_redirect_is_not_followed(server: Server, admin: AdminClient, tenant: str, receiver: Receiver) -> None:
    other = Receiver()
    try:
        receiver.status, receiver.location = 307, other.url
        make_webhook(admin, tenant, receiver.url)
        sent = send_test(admin, tenant)
        wait_for_attempt(server.database, sent, 1)
        assert "redirect" in delivery(admin, tenant, sent)["error"] and not other.deliveries
    finally:
        other.close()


def test_a_disabled_webhook_waits(server: Server, admin: AdminClient, tenant: str, receiver: Receiver) -> None:
    make_webhook(admin, tenant, receiver.url, enabled=False)
    waiting = send_test(admin, tenant)
    other = admin.tenant()
    make_webhook(admin, other, receiver.url)
    settled(admin, other, send_test(admin, other), "delivered")
    assert row_of(server.database, waiting) == ("pending", 0, False)
    assert admin.patch("/webhooks/alerts", {"enabled": True}, tenant=tenant).status == 200
    settled(admin, tenant, waiting, "delivered")


def test_a_tenant_with_too_many_deliveries_gets_no_new_ones_and_keeps_those_it_has(server: Server, admin: AdminClient, tenant: str,
                                                                                  receiver: Receiver) -> None:
    make_webhook(admin, tenant, receiver.url, enabled=False, events=["failure_mode"])
    fill_outbox(server.database, tenant)
    refused = post_to_webhook(admin, tenant, "/test")
    assert (refused.status, refused.body["type"]) == (409, "/problems/quota-exceeded") and "2000 deliveries" in str(refused.body)
    ids = [item["id"] for item in admin.items("/webhooks/alerts/deliveries", tenant=tenant)]
    assert len(ids) == len(set(ids)) == 2000 and ids[:2] == ["evt_1", "evt_2"]
    other = admin.tenant()
    make_webhook(admin, other, receiver.url)
    settled(admin, other, send_test(admin, other), "delivered")
    assert admin.delete("/webhooks/alerts", tenant=tenant).status == 204
    assert server.database.execute("SELECT count(*) FROM webhook_deliveries WHERE tenant_id = %s", (tenant,)) == [(0,)]


def test_without_a_key_there_are_no_webhooks(make_server: Callable[..., Server], tmp_path: Path) -> None:
    server = make_server().start()
    with server.admin() as admin:
        tenant = admin.tenant()
        answer = admin.post("/webhooks", {"tenant_id": tenant, "id": "alerts", "url": "https://example.com/"})
        assert (answer.status, answer.body["type"]) == (503, "/problems/no-webhooks")
        assert not list(admin.items("/webhooks"))
    assert "sluice_webhook_queue" not in str(server.probe("/metrics").body)


def test_a_secret_whose_key_is_gone_delays_its_deliveries_until_the_key_is_back(
        make_server: Callable[..., Server], tmp_path: Path, receiver: Receiver) -> None:
    keys = tmp_path / "keys"
    keys.write_text(KEY)
    server = make_server("--notify-secret-file", str(keys), *TO_THIS_MACHINE).start()
    with server.admin() as admin:
        tenant = admin.tenant()
        secret = make_webhook(admin, tenant, receiver.url)["secret"]
    keys.write_text("n" * 32)
    server.restart()
    with server.admin() as admin:
        sent = send_test(admin, tenant)
        wait_for_attempt(server.database, sent, 1)
        assert "--notify-secret-file" in delivery(admin, tenant, sent)["error"] and not receiver.deliveries
    keys.write_text("n" * 32 + "\n" + KEY)
    server.restart()
    pass_time(server.database, HOUR)
    with server.admin() as admin:
        settled(admin, tenant, sent, "delivered")
    assert receiver.deliveries[0].signed_by(secret)
