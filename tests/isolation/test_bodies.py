"""Bodies cost what they weigh: whatever tokens post, the server's memory stays within its bound, and comes back."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from support.admin import AdminClient, fresh_id
from support.bundle import many_policies
from support.client import Client
from support.process import memory_of, wait_until
from support.server import Server

MIB = 1 << 20
BOUND = 256 * MIB


def post(server: Server, token: str, path: str, body: bytes, content_type: str = "application/json") -> Any:
    """One request on a connection of its own."""
    with Client(server.port) as client:
        return client.request("POST", f"/v1/admin{path}", body,
                              {"authorization": f"Bearer {token}", "content-type": content_type})


def token_of(admin: AdminClient, role: str) -> str:
    """A token of this role for everything."""
    made = admin.post("/tokens", {"name": fresh_id("token"), "role": role})
    assert made.status == 201, made
    return str(made.body["token"])


def test_a_reader_may_not_send_large_bodies(make_server: Callable[..., Server]) -> None:
    server = make_server().start()
    with server.admin() as admin:
        auditor = token_of(admin, "auditor")
    refused = post(server, auditor, "/validate", b" " * (20 * MIB))
    assert (refused.status, refused.body["type"]) == (413, "/problems/body-too-large")
    assert "the role auditor may send at most 1048576 bytes" in refused.body["detail"]
    assert post(server, auditor, "/validate", b" " * MIB).status == 400, "read, and it is no JSON"


def test_a_body_beyond_the_budget_is_refused_with_what_it_needs(make_server: Callable[..., Server]) -> None:
    server = make_server("--request-memory", "64MiB").start()
    refused = post(server, server.token, "/apply", b" " * (20 * MIB))
    assert (refused.status, refused.body["type"]) == (413, "/problems/body-too-large")
    assert "one request gets at most 48 MiB of the server's --request-memory" in refused.body["detail"]
    # Small enough to be read, but its values are too many.
    refused = post(server, server.token, "/validate", b"[" + b"0," * MIB + b"0]")
    assert (refused.status, refused.body["type"]) == (413, "/problems/body-too-large")
    assert server.metric("sluice_request_memory_refused_total") == 2
    assert server.metric("sluice_request_memory_bytes") == 0


@pytest.mark.alone
def test_a_token_that_writes_too_often_hears_429_and_others_do_not(make_server: Callable[..., Server]) -> None:
    server = make_server("--admin-writes-per-second", "5", "--admin-reads-per-second", "20").start()
    with server.admin() as admin:
        other = token_of(admin, "auditor")
        writes = Counter(admin.post("/validate", {}).status for _ in range(30))
        reads = Counter(admin.get("/plans").status for _ in range(60))
        with server.admin(other) as auditor:
            assert auditor.get("/plans").status == 200
        assert set(writes) == {422, 429} and writes[422] < 12
        assert set(reads) == {200, 429} and reads[200] < 40
        refused = [answer for answer in (admin.post("/validate", {}) for _ in range(10)) if answer.status == 429]
        assert refused[0].body["type"] == "/problems/rate-limited"
        assert refused[0].headers["retry-after"] == "1"
        assert wait_until("the next second", lambda: admin.get("/plans").status == 200, 5)
    assert server.metric("sluice_admin_calls_throttled_total", kind="read") >= reads[429]


@pytest.mark.alone
@pytest.mark.timeout(280)
def test_any_mix_of_bodies_stays_within_the_bound_and_delays_no_small_write(
        make_server: Callable[..., Server], sanitized: bool) -> None:
    server = make_server().start()
    with server.admin() as admin:
        tenant = admin.tenant()
        organization = admin.get(f"/tenants/{tenant}").body["organization_id"]
        operator = token_of(admin, "platform_admin")
        most = 3_000 if sanitized else 9_000   # the quota is 10,000
        valid, large = (json.dumps(many_policies(tenant, organization, count)).encode() for count in (most, 3 * most))
        hostile = {"zeros": b"[" + b"0," * (MIB // 4) + b"0]", "braces": b"[" + b'{"":1,"":1},' * (MIB // 16) + b"0]",
                   "large": b" " * (35 * MIB), "small": b"[" + b"0," * 30_000 + b"0]"}
        yaml = b"a: &a [0,0,0,0,0,0,0,0]\nb:\n" + b"- *a\n" * 100_000
        bodies = [("/validate", valid, "application/json"), ("/apply?dry_run=true", valid, "application/json"), ("/validate", large, "application/json"),
                  *(("/validate", body, "application/json") for body in hostile.values()),
                  ("/validate", yaml, "application/yaml")]
        quiet = memory_of(server.process.pid)
        statuses: Counter[int] = Counter()
        end = time.monotonic() + (10 if sanitized else 15)

        def attack(turn: int) -> None:
            while time.monotonic() < end:
                path, body, content_type = bodies[turn % len(bodies)]
                turn += 1
                try:
                    statuses[post(server, operator, path, body, content_type).status] += 1
                except OSError:   # the server stopped reading a body that it had refused
                    statuses[0] += 1

        attackers = [threading.Thread(target=attack, args=(turn,)) for turn in range(8)]
        for each in attackers:
            each.start()
        written = Counter[int]()
        while time.monotonic() < end:
            written[admin.put("/plans/small", {"limits": [{"name": "l", "algorithm": "fixed_window", "limit": 9, "window": "1m"}]},
                              tenant=tenant).status] += 1
            time.sleep(0.02)
        for each in attackers:
            each.join()
        applied = post(server, operator, "/apply", valid)
        assert applied.status == 200, applied
        peak = memory_of(server.process.pid, "VmHWM")
        print(f"    {dict(statuses)}; written {dict(written)}; {quiet >> 20} MiB quiet, {peak >> 20} MiB at most")
        assert 500 not in statuses and statuses[200] > 0
        assert set(written) <= {200, 201}
        wait_until("all memory to be given back", lambda: server.metric("sluice_request_memory_bytes") == 0)
        if not sanitized:
            assert peak <= BOUND, (peak >> 20, statuses)
            wait_until("the memory to be given back", lambda: memory_of(server.process.pid) <= quiet + 48 * MIB, 5)
