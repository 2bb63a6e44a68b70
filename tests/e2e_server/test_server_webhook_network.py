"""Where deliveries to webhooks go: never into the own network, and over TLS only where the certificate is for the URL's name."""

import ipaddress
import json
import socket
import subprocess
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from support.admin import fresh_id, pointers
from support.certificate import Authority
from support.process import wait_until
from support.server import Server
from support.webhook_receiver import Receiver
from support.webhooks import TO_THIS_MACHINE, delivery, make_webhook, send_test, settled, wait_for_attempt

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
def strict(module_server: Callable[..., Server], webhook_key_file: Path) -> Server:
    """One that sends to public addresses only."""
    return module_server("--notify-secret-file", str(webhook_key_file)).start()


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
        make_webhook(admin, tenant, f"https://{name}:{receiver.port}/")
        sent = send_test(admin, tenant)
        wait_for_attempt(strict.database, sent, 1)
        told = delivery(admin, tenant, sent)
        assert "--notify-allow" in told["error"] and not receiver.deliveries, told
        assert strict.metric("sluice_webhook_refused_addresses_total") >= 1
        # What is said tells nobody which names the network has.
        other = admin.tenant()
        make_webhook(admin, other, f"https://no-such-name.invalid:{receiver.port}/")
        unknown = send_test(admin, other)
        wait_for_attempt(strict.database, unknown, 1)
        assert delivery(admin, other, unknown)["error"] == told["error"]
        assert name not in told["error"] and "not known" in told["error"]


@pytest.fixture(scope="module")
def authority(module_folder: Path) -> Authority:
    """Signs the certificates of receivers."""
    return Authority(module_folder)


@pytest.fixture(scope="module")
def trusting(module_server: Callable[..., Server], webhook_key_file: Path, authority: Authority) -> Server:
    """A server that trusts receivers of that authority, and no others."""
    return module_server("--notify-secret-file", str(webhook_key_file), *TO_THIS_MACHINE, "--notify-tls-ca", str(authority.cert)).start()


def test_a_delivery_over_tls_arrives_where_the_certificate_is_for_the_urls_name(trusting: Server, authority: Authority, tmp_path: Path) -> None:
    receiver = Receiver(identity=authority.sign(tmp_path, "named", TOMORROW, "DNS:localhost"))
    try:
        with trusting.admin() as admin:
            tenant = admin.tenant()
            secret = make_webhook(admin, tenant, f"https://localhost:{receiver.port}/in")["secret"]
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
            make_webhook(admin, tenant, f"https://localhost:{receiver.port}/in")
            sent = send_test(admin, tenant)
            wait_for_attempt(trusting.database, sent, 1)
            error = delivery(admin, tenant, sent)["error"]
        assert error.startswith("tls: ") and why in error and not receiver.deliveries, error
    finally:
        receiver.close()


def test_the_address_is_checked_before_a_byte_of_tls_is_sent(module_server: Callable[..., Server], webhook_key_file: Path, authority: Authority,
                                                             tmp_path: Path) -> None:
    strict = module_server("--notify-secret-file", str(webhook_key_file), "--notify-tls-ca", str(authority.cert)).start()
    name = socket.gethostname()
    receiver = Receiver(identity=authority.sign(tmp_path, "inside", TOMORROW, f"DNS:{name}"))
    try:
        with strict.admin() as admin:
            tenant = admin.tenant()
            make_webhook(admin, tenant, f"https://{name}:{receiver.port}/in")
            sent = send_test(admin, tenant)
            wait_for_attempt(strict.database, sent, 1)
            assert "--notify-allow" in delivery(admin, tenant, sent)["error"]
        assert not receiver.deliveries and not receiver.asked_for
    finally:
        receiver.close()


def test_a_name_server_that_does_not_answer_holds_neither_other_deliveries_nor_the_stop(
        make_server: Callable[..., Server], webhook_key_file: Path, receiver: Receiver, tmp_path: Path) -> None:
    library = tmp_path / "slow_names.so"
    subprocess.run(["clang-19", "-O2", "-shared", "-fPIC", "-x", "c", "-o", str(library), "-", "-ldl"], input=SLOW_NAMES, text=True,
                   check=True, timeout=60)
    server = make_server("--notify-secret-file", str(webhook_key_file), *TO_THIS_MACHINE, "--drain-timeout", "1s")
    server.env["LD_PRELOAD"] = str(library)
    server.start()
    with server.admin() as admin:
        tenants = [admin.tenant() for _ in range(5)]
        for tenant in tenants:
            make_webhook(admin, tenant, "https://host.slow/")
        stuck = [(tenant, send_test(admin, tenant)) for tenant in tenants for _ in range(2)]   # more than there are senders
        for tenant, event in stuck:
            error = wait_until("the attempt", lambda: delivery(admin, tenant, event)["error"], 60)
            assert error.startswith("timeout: "), error
        other = admin.tenant()
        make_webhook(admin, other, receiver.url)
        settled(admin, other, send_test(admin, other), "delivered")
    begin = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - begin < 10, "the stop waits for the name server"
    assert [line["event"] for line in server.lines()][-1] == "deliveries_abandoned"
