"""Webhooks to customers: what happens is sent, signed, at least once and under one id, and never into the own network."""

import ipaddress
import json
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from support.admin import AdminClient, fresh_id, pointers
from support.agent import Agent
from support.certificate import Authority
from support.client import Answer
from support.migrations import take_back_migrations
from support.postgres import OWNER, Database
from support.process import free_port, wait_until
from support.redis_server import RedisServer
from support.server import Installation, Server, bootstrap
from support.sync_client import SyncAgent
from support.webhook_receiver import Receiver, pass_time, row_of

ROOT = Path(__file__).resolve().parents[2]
HOUR = 3600.0
LEASE = 90.0
HERE = ("--notify-allow", "127.0.0.0/8")
KEY = "k" * 32
TOMORROW = datetime.now(timezone.utc) + timedelta(days=1)
# Looks names that end in .slow up for ten minutes.
SLOW_NAMES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>
int getaddrinfo(const char* name, const char* service, const struct addrinfo* hints, struct addrinfo** found) {
  int (*real)(const char*, const char*, const struct addrinfo*, struct addrinfo**) = dlsym(RTLD_NEXT, "getaddrinfo");
  size_t size = name ? strlen(name) : 0;
  if (size > 5 && strcmp(name + size - 5, ".slow") == 0) sleep(600);
  return real(name, service, hints, found);
}
"""
# Forms of the server's own network that are refused when the webhook is written.
INSIDE = [
    "https://127.0.0.1/", "https://127.1/", "https://2130706433/", "https://0x7f000001/", "https://0x7f.0.0.1/",
    "https://0177.0.0.1/", "https://localhost/", "https://LocalHost:8443/", "https://redis.localhost/", "https://127.0.0.1./",
    "https://0.0.0.0/", "https://10.0.0.1/", "https://172.16.0.1/", "https://192.168.0.1/", "https://100.64.0.1/",
    "https://169.254.169.254/latest/meta-data/", "https://168.63.129.16/", "https://224.0.0.1/", "https://[::1]/", "https://[::]/",
    "https://[::ffff:127.0.0.1]/", "https://[::ffff:a00:1]/", "https://[64:ff9b::a00:1]/", "https://[2002:a00:1::]/", "https://[fe80::1]/",
    "https://[fd00:ec2::254]/", "https://[ff02::1]/", "https://8.8.8.8@127.0.0.1/", "https://user:secret@8.8.8.8/",
    "http://8.8.8.8/", "http://example.com/", "ftp://example.com/", "file:///etc/passwd", "https://example.com:25/",
    "https://example.com\\@127.0.0.1/", "https://example.com/#@127.0.0.1", "https://127.0.0.1%2f/", "https://\u2460.example.com/",
]


@pytest.fixture(scope="module")
def key_file(module_folder: Path) -> Path:
    """The key that all servers of the module have."""
    path = module_folder / "webhook.key"
    path.write_text(KEY + "\n")
    return path


@pytest.fixture(scope="module")
def server(module_server: Callable[..., Server], key_file: Path) -> Server:
    """One for the module, which may send to this machine."""
    return module_server("--notify-secret-file", str(key_file), *HERE).start()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A customer's receiver."""
    made = Receiver()
    yield made
    made.close()


def make(admin: AdminClient, tenant: str, url: str, **fields: Any) -> dict[str, Any]:
    """A webhook, with its secret."""
    return admin.create("/webhooks", {"tenant_id": tenant, "id": "alerts", "url": url, **fields})


def ask(admin: AdminClient, tenant: str, path: str) -> Answer:
    """A POST that has nothing to say."""
    return admin.post(f"/webhooks/alerts{path}", {}, tenant=tenant)


def send_test(admin: AdminClient, tenant: str) -> str:
    """Queues a test event; its id."""
    answer = ask(admin, tenant, "/test")
    assert (answer.status, answer.body["status"], answer.body["attempts"]) == (200, "pending", 0), answer
    return str(answer.body["id"])


def delivery(admin: AdminClient, tenant: str, event_id: str) -> dict[str, Any]:
    """What the list says of an event."""
    found = [item for item in admin.items("/webhooks/alerts/deliveries", tenant=tenant) if item["id"] == event_id]
    assert len(found) == 1, found
    return found[0]


def settled(admin: AdminClient, tenant: str, event_id: str, status: str) -> dict[str, Any]:
    """Waits until an event has this status."""
    return wait_until(f"{event_id} to be {status}", lambda: next(
        (item for item in [delivery(admin, tenant, event_id)] if item["status"] == status), None))


def wait_for_attempt(database: Database, event_id: str, number: int) -> None:
    """Waits until so many attempts have failed."""
    wait_until(f"attempt {number} of {event_id}", lambda: row_of(database, event_id) == ("pending", number, False) or None)


def test_a_test_event_arrives_signed(server: Server, admin: AdminClient, tenant: str, receiver: Receiver) -> None:
    made = make(admin, tenant, receiver.url, events=["denials", "failure_mode"], denied_percent=20)
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
    secret = make(admin, tenant, receiver.url)["secret"]
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
    make(admin, tenant, receiver.url)
    sent = send_test(admin, tenant)
    settled(admin, tenant, sent, "delivered")
    again = ask(admin, tenant, f"/deliveries/{sent}/redeliver")
    assert (again.status, again.body["status"], again.body["id"], again.body["attempts"]) == (200, "pending", sent, 0)
    settled(admin, tenant, sent, "delivered")
    assert receiver.ids() == [sent, sent]
    assert receiver.deliveries[0].body == receiver.deliveries[1].body
    assert delivery(admin, tenant, sent)["attempts"] == 1
    assert ask(admin, tenant, "/deliveries/evt_0/redeliver").status == 404
    assert admin.post("/webhooks/alerts/test", {"type": "x"}, tenant=tenant).status == 422


def test_a_delivery_that_is_asked_for_again_while_it_is_sent_is_not_sent_twice_at_once(
        server: Server, admin: AdminClient, tenant: str, receiver: Receiver) -> None:
    make(admin, tenant, receiver.url)
    receiver.gate.clear()
    sent = send_test(admin, tenant)
    wait_until("the delivery", lambda: receiver.deliveries or None)
    for _ in range(3):
        assert ask(admin, tenant, f"/deliveries/{sent}/redeliver").body["attempts"] == 0
    before = server.metric("sluice_webhook_deliveries_total", outcome="superseded")
    receiver.gate.set()
    wait_until("the outcome", lambda: server.metric("sluice_webhook_deliveries_total", outcome="superseded") > before or None)
    assert row_of(server.database, sent) == ("pending", 0, True) and receiver.ids() == [sent]
    pass_time(server.database, LEASE)
    assert settled(admin, tenant, sent, "delivered")["attempts"] == 1
    assert receiver.ids() == [sent, sent]


def test_during_a_rotation_both_secrets_verify(server: Server, admin: AdminClient, tenant: str, receiver: Receiver) -> None:
    old = make(admin, tenant, receiver.url)["secret"]
    turned = ask(admin, tenant, "/rotate")
    new = turned.body["secret"]
    assert (turned.status, turned.body["version"]) == (200, 2) and new != old
    settled(admin, tenant, send_test(admin, tenant), "delivered")
    assert receiver.deliveries[0].signed_by(old) and receiver.deliveries[0].signed_by(new)
    server.database.execute("UPDATE webhooks SET old_until = now() WHERE tenant_id = %s", (tenant,))
    settled(admin, tenant, send_test(admin, tenant), "delivered")
    assert receiver.deliveries[1].signed_by(new) and not receiver.deliveries[1].signed_by(old)


def test_a_receiver_that_is_down_for_an_hour_gets_everything_when_it_is_back(server: Server, admin: AdminClient, tenant: str) -> None:
    port = free_port()
    make(admin, tenant, f"http://127.0.0.1:{port}/")
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
                                                                  key_file: Path, receiver: Receiver) -> None:
    database = installation.copy()
    flags = ("--notify-secret-file", str(key_file), *HERE)
    server = make_server(*flags, database=database).start()
    receiver.gate.clear()   # the delivery arrives, and its answer does not
    with server.admin() as admin:
        tenant = admin.tenant()
        make(admin, tenant, receiver.url)
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


def test_deliveries_of_the_schema_before_are_sent_after_the_upgrade(make_server: Callable[..., Server], database: Database, key_file: Path,
                                                                   receiver: Receiver) -> None:
    flags = ("--notify-secret-file", str(key_file), *HERE, "--database-owner-url", database.url(OWNER))
    server = make_server(*flags, database=database).start()
    token = bootstrap(server.program, database)
    receiver.status = 503
    with server.admin(token) as admin:
        tenant = admin.tenant(admin.organization())
        make(admin, tenant, receiver.url)
        sent = send_test(admin, tenant)
        wait_for_attempt(database, sent, 1)
    assert server.stop() == 0
    take_back_migrations(database, 13)
    database.execute("UPDATE webhook_deliveries SET attempts = 7, next_at = now()")
    receiver.status = 200
    server.start()
    with server.admin(token) as admin:
        assert settled(admin, tenant, sent, "delivered")["attempts"] == 8
        assert ask(admin, tenant, f"/deliveries/{sent}/redeliver").body["attempts"] == 0
        assert settled(admin, tenant, sent, "delivered")["attempts"] == 1


def fail_open(database: Database, tenant: str, count: int = 3) -> None:
    """Stores usage as the fleet does: a policy was decided by its failure mode."""
    database.execute("INSERT INTO usage (minute, organization_id, tenant_id, policy_id, outcome, count) "
                     "SELECT date_trunc('minute', now()), organization_id, id, 'orders', 'failed_open', %s FROM tenants WHERE id = %s "
                     "ON CONFLICT (minute, tenant_id, policy_id, outcome, organization_id) DO UPDATE SET count = usage.count + %s",
                     (count, tenant, count))


def test_two_servers_make_one_event_of_one_usage(make_server: Callable[..., Server], installation: Installation, key_file: Path,
                                                 receiver: Receiver) -> None:
    database = installation.copy()
    flags = ("--notify-secret-file", str(key_file), *HERE)
    servers = [make_server(*flags, database=database).start() for _ in range(2)]
    with servers[0].admin() as admin:
        tenant = admin.tenant()
        make(admin, tenant, receiver.url, events=["failure_mode"], policies=["orders"])
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
    make(admin, tenant, receiver.url, events=["denials"], denied_percent=30, denied_minutes=2)
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


def test_what_is_given_up_is_dead_and_can_be_sent_again(server: Server, admin: AdminClient, tenant: str, receiver: Receiver) -> None:
    make(admin, tenant, receiver.url)
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
    assert ask(admin, tenant, f"/deliveries/{sent}/redeliver").status == 200
    settled(admin, tenant, sent, "delivered")
    assert set(receiver.ids()) == {sent}


def test_a_redirect_is_not_followed(server: Server, admin: AdminClient, tenant: str, receiver: Receiver) -> None:
    other = Receiver()
    try:
        receiver.status, receiver.location = 307, other.url
        make(admin, tenant, receiver.url)
        sent = send_test(admin, tenant)
        wait_for_attempt(server.database, sent, 1)
        assert "redirect" in delivery(admin, tenant, sent)["error"] and not other.deliveries
    finally:
        other.close()


def test_a_disabled_webhook_waits(server: Server, admin: AdminClient, tenant: str, receiver: Receiver) -> None:
    make(admin, tenant, receiver.url, enabled=False)
    waiting = send_test(admin, tenant)
    other = admin.tenant()
    make(admin, other, receiver.url)
    settled(admin, other, send_test(admin, other), "delivered")
    assert row_of(server.database, waiting) == ("pending", 0, False)
    assert admin.patch("/webhooks/alerts", {"enabled": True}, tenant=tenant).status == 200
    settled(admin, tenant, waiting, "delivered")


def fill(database: Database, tenant: str, number: int = 2000) -> None:
    """Gives the tenant deliveries that wait, each a second older than the one before."""
    database.execute(
        "INSERT INTO webhook_deliveries (organization_id, tenant_id, webhook_id, id, type, body, created_at) SELECT organization_id, "
        "tenant_id, id, 'evt_' || n, 'test', '{}', now() - n * interval '1 s' FROM webhooks, generate_series(1, %s) n "
        "WHERE tenant_id = %s", (number, tenant))


def test_a_tenant_with_too_many_deliveries_gets_no_new_ones_and_keeps_those_it_has(server: Server, admin: AdminClient, tenant: str,
                                                                                  receiver: Receiver) -> None:
    make(admin, tenant, receiver.url, enabled=False, events=["failure_mode"])
    fill(server.database, tenant)
    refused = ask(admin, tenant, "/test")
    assert (refused.status, refused.body["type"]) == (409, "/problems/quota-exceeded") and "2000 deliveries" in str(refused.body)
    ids = [item["id"] for item in admin.items("/webhooks/alerts/deliveries", tenant=tenant)]
    assert len(ids) == len(set(ids)) == 2000 and ids[:2] == ["evt_1", "evt_2"]
    other = admin.tenant()
    make(admin, other, receiver.url)
    settled(admin, other, send_test(admin, other), "delivered")
    assert admin.delete("/webhooks/alerts", tenant=tenant).status == 204
    assert server.database.execute("SELECT count(*) FROM webhook_deliveries WHERE tenant_id = %s", (tenant,)) == [(0,)]


def test_an_event_that_was_refused_is_counted_and_logged_and_made_once_there_is_room(make_server: Callable[..., Server], key_file: Path,
                                                                                     receiver: Receiver) -> None:
    server = make_server("--notify-secret-file", str(key_file), *HERE).start()
    with server.admin() as admin:
        tenant = admin.tenant()
        make(admin, tenant, receiver.url, events=["failure_mode"])
        server.database.execute("UPDATE webhooks SET created_at = now() - interval '1 h'")
        fill(server.database, tenant)
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


@pytest.fixture(scope="module")
def strict(module_server: Callable[..., Server], key_file: Path) -> Server:
    """One that sends to public addresses only."""
    return module_server("--notify-secret-file", str(key_file)).start()


@pytest.mark.parametrize("url", INSIDE)
def test_a_url_that_leads_into_the_network_is_refused(strict: Server, url: str) -> None:
    with strict.admin() as admin:
        answer = admin.post("/webhooks", {"tenant_id": admin.tenant(), "id": fresh_id("w"), "url": url})
        assert answer.status == 422 and pointers(answer) == ["/url"], answer
        assert "secret" not in json.dumps(answer.body)


def test_a_name_that_leads_into_the_network_is_refused_at_the_connect(strict: Server, receiver: Receiver) -> None:
    name = socket.gethostname()
    assert not ipaddress.ip_address(socket.gethostbyname(name)).is_global, "this machine's name leads outside"
    with strict.admin() as admin:
        tenant = admin.tenant()
        make(admin, tenant, f"https://{name}:{receiver.port}/")
        sent = send_test(admin, tenant)
        wait_for_attempt(strict.database, sent, 1)
        told = delivery(admin, tenant, sent)
        assert "--notify-allow" in told["error"] and not receiver.deliveries, told
        assert strict.metric("sluice_webhook_refused_addresses_total") >= 1
        # What is said tells nobody which names the network has.
        other = admin.tenant()
        make(admin, other, f"https://no-such-name.invalid:{receiver.port}/")
        unknown = send_test(admin, other)
        wait_for_attempt(strict.database, unknown, 1)
        assert delivery(admin, other, unknown)["error"] == told["error"]
        assert name not in told["error"] and "not known" in told["error"]


@pytest.fixture(scope="module")
def authority(module_folder: Path) -> Authority:
    """Signs the certificates of receivers."""
    return Authority(module_folder)


@pytest.fixture(scope="module")
def trusting(module_server: Callable[..., Server], key_file: Path, authority: Authority) -> Server:
    """A server that trusts receivers of that authority, and no others."""
    return module_server("--notify-secret-file", str(key_file), *HERE, "--notify-tls-ca", str(authority.cert)).start()


def test_a_delivery_over_tls_arrives_where_the_certificate_is_for_the_urls_name(trusting: Server, authority: Authority, tmp_path: Path) -> None:
    receiver = Receiver(identity=authority.sign(tmp_path, "named", TOMORROW, "DNS:localhost"))
    try:
        with trusting.admin() as admin:
            tenant = admin.tenant()
            secret = make(admin, tenant, f"https://localhost:{receiver.port}/in")["secret"]
            done = settled(admin, tenant, send_test(admin, tenant), "delivered")
        assert (done["http_status"], done["attempts"]) == (200, 1)
        assert receiver.deliveries[0].signed_by(secret) and receiver.asked_for == ["localhost"]
    finally:
        receiver.close()


@pytest.mark.parametrize(("signer", "names", "days", "why"), [
    ("ours", "DNS:hooks.example.com", 1, "certificate verify failed"),   # of another name
    ("ours", "IP:127.0.0.1", 1, "certificate verify failed"),            # of the address that the name leads to
    ("ours", "DNS:localhost", -0.02, "certificate has expired"),
    ("another", "DNS:localhost", 1, "unable to get local issuer certificate"),
], ids=["other-name", "address", "expired", "unknown-authority"])
def test_a_certificate_that_does_not_fit_is_refused_and_the_customer_reads_why(
        trusting: Server, authority: Authority, tmp_path: Path, signer: str, names: str, days: float, why: str) -> None:
    by = authority if signer == "ours" else Authority(tmp_path, "another")
    receiver = Receiver(identity=by.sign(tmp_path, "unfit", datetime.now(timezone.utc) + timedelta(days=days), names))
    try:
        with trusting.admin() as admin:
            tenant = admin.tenant()
            make(admin, tenant, f"https://localhost:{receiver.port}/in")
            sent = send_test(admin, tenant)
            wait_for_attempt(trusting.database, sent, 1)
            error = delivery(admin, tenant, sent)["error"]
        assert error.startswith("tls: ") and why in error and not receiver.deliveries, error
    finally:
        receiver.close()


def test_the_address_is_checked_before_a_byte_of_tls_is_sent(module_server: Callable[..., Server], key_file: Path, authority: Authority,
                                                             tmp_path: Path) -> None:
    strict = module_server("--notify-secret-file", str(key_file), "--notify-tls-ca", str(authority.cert)).start()
    name = socket.gethostname()
    receiver = Receiver(identity=authority.sign(tmp_path, "inside", TOMORROW, f"DNS:{name}"))
    try:
        with strict.admin() as admin:
            tenant = admin.tenant()
            make(admin, tenant, f"https://{name}:{receiver.port}/in")
            sent = send_test(admin, tenant)
            wait_for_attempt(strict.database, sent, 1)
            assert "--notify-allow" in delivery(admin, tenant, sent)["error"]
        assert not receiver.deliveries and not receiver.asked_for
    finally:
        receiver.close()


def test_a_name_server_that_does_not_answer_holds_neither_other_deliveries_nor_the_stop(
        make_server: Callable[..., Server], key_file: Path, receiver: Receiver, tmp_path: Path) -> None:
    library = tmp_path / "slow_names.so"
    subprocess.run(["clang-19", "-O2", "-shared", "-fPIC", "-x", "c", "-o", str(library), "-", "-ldl"], input=SLOW_NAMES, text=True,
                   check=True, timeout=60)
    server = make_server("--notify-secret-file", str(key_file), *HERE, "--drain-timeout", "1s")
    server.env["LD_PRELOAD"] = str(library)
    server.start()
    with server.admin() as admin:
        tenants = [admin.tenant() for _ in range(5)]
        for tenant in tenants:
            make(admin, tenant, "https://host.slow/")
        stuck = [(tenant, send_test(admin, tenant)) for tenant in tenants for _ in range(2)]   # more than there are senders
        for tenant, event in stuck:
            error = wait_until("the attempt", lambda: delivery(admin, tenant, event)["error"], 60)
            assert error.startswith("timeout: "), error
        other = admin.tenant()
        make(admin, other, receiver.url)
        settled(admin, other, send_test(admin, other), "delivered")
    begin = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - begin < 10, "the stop waits for the name server"
    assert [line["event"] for line in server.lines()][-1] == "deliveries_abandoned"


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
    server = make_server("--notify-secret-file", str(keys), *HERE).start()
    with server.admin() as admin:
        tenant = admin.tenant()
        secret = make(admin, tenant, receiver.url)["secret"]
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


def test_an_agent_whose_redis_is_gone_makes_an_event_that_arrives(
        make_server: Callable[..., Server], make_agent: Callable[..., Agent], make_redis: Callable[..., RedisServer], key_file: Path,
        tmp_path: Path, receiver: Receiver) -> None:
    redis = make_redis()
    server = make_server("--notify-secret-file", str(key_file), *HERE, "--analytics-every", "100ms").start()
    with server.admin() as admin:
        tenant = admin.tenant()
        secret = make(admin, tenant, receiver.url, events=["failure_mode"])["secret"]
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


def test_a_reached_quota_makes_one_event_however_often_it_is_reported(make_server: Callable[..., Server], key_file: Path,
                                                                      receiver: Receiver) -> None:
    server = make_server("--notify-secret-file", str(key_file), *HERE, "--analytics-every", "100ms").start()
    with server.admin() as admin:
        tenant = admin.tenant()
        make(admin, tenant, receiver.url, events=["quota_100", "quota_80"], policies=["orders"])
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
        make_server: Callable[..., Server], make_agent: Callable[..., Agent], make_redis: Callable[..., RedisServer], key_file: Path,
        tmp_path: Path, receiver: Receiver) -> None:
    redis = make_redis()
    server = make_server("--notify-secret-file", str(key_file), *HERE, "--analytics-every", "100ms").start()
    with server.admin() as admin:
        tenant = admin.tenant()
        secret = make(admin, tenant, receiver.url, events=["quota_80", "quota_100"])["secret"]
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
