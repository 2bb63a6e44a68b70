"""Leases of a block (sdk/CONTRACT.md, Leases)."""

import itertools
import time
from collections.abc import Callable

import pytest

from sdk.adapter import ClientUnderTest
from sdk.rogue import ALLOWED, DENIED, Rogue, raw, reply, silence
from sdk.sdks import Sdk
from support.client import fresh_subject
from support.process import wait_until

MakeClient = Callable[..., ClientUnderTest]
_names = itertools.count(1)


def name() -> str:
    """A block that no test has opened yet."""
    return f"lease{next(_names)}"


def free(client: ClientUnderTest, subject: str, plan: str = "leases") -> int:
    """How many leases of two can be had."""
    remaining: int = client.check(plan_id=plan, subject=subject, cost=0)["remaining"]
    return remaining


@pytest.mark.parametrize("how", ["return", "fail"])
def test_a_lease_ends_with_its_block_however_it_ends(client: ClientUnderTest, how: str) -> None:
    subject, block = fresh_subject(), name()
    decision = client.lease(block, plan_id="leases", subject=subject)
    assert decision["allowed"] and decision["lease_id"]
    assert time.time() + 3500 < decision["lease_expires_at"] < time.time() + 3700
    assert free(client, subject) == 1
    assert client.end_lease(block, how)["lost"] is False
    assert free(client, subject) == 2


def test_a_lease_ends_when_its_block_is_cancelled(client: ClientUnderTest, sdk: Sdk) -> None:
    if not sdk.cancels:
        pytest.skip("calls of this language cannot be cancelled")
    subject, block = fresh_subject(), name()
    client.lease(block, plan_id="leases", subject=subject)
    client.end_lease(block, "cancel")
    wait_until("the release", lambda: free(client, subject) == 2)


def test_a_check_alone_keeps_its_lease_until_it_is_released(client: ClientUnderTest) -> None:
    subject = fresh_subject()
    lease_id = client.check(plan_id="leases", subject=subject)["lease_id"]
    assert client.send("renew", lease_id=lease_id).answer()["lease_expires_at"] > time.time() + 3500
    assert client.send("release", lease_id=lease_id).answer()["released"] is True
    assert client.send("release", lease_id=lease_id).answer()["released"] is False
    assert client.send("renew", lease_id=lease_id).answer()["lease_expires_at"] is None
    assert free(client, subject) == 2


def test_without_a_lease_there_is_nothing_to_release(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue)
    rogue.then(reply(200, ALLOWED), reply(429, DENIED), reply(500, b""), raw(b""))
    for allowed, decided in ((True, True), (False, True), (True, False), (True, False)):
        block = name()
        decision = client.lease(block, keep_alive=True, subject="a")
        assert (decision["allowed"], decision["decided"]) == (allowed, decided)
        client.end_lease(block)
    assert [seen.path for seen in rogue.requests] == ["/v1/check"] * 4


def test_with_raise_a_block_is_not_entered(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue.then(reply(500, b"")), on_error="raise")
    assert client.raised("lease", lease=name(), check={"subject": "a"})["kind"] == "unavailable"


@pytest.mark.parametrize("on_error", ["allow", "raise"])
def test_a_release_that_fails_does_not_break_the_block(make_client: MakeClient, rogue: Rogue, on_error: str) -> None:
    client = make_client(rogue, on_error=on_error)
    block = name()
    rogue.then(reply(200, {**ALLOWED, "lease_id": "lease-1", "lease_expires_at": int(time.time()) + 60}), reply(500, b""))
    client.lease(block, subject="a")
    client.end_lease(block)
    assert [seen.path for seen in rogue.requests] == ["/v1/check", "/v1/release"]
    assert rogue.requests[-1].body == {"lease_id": "lease-1"}


def test_keep_alive_holds_a_lease_beyond_its_life(client: ClientUnderTest) -> None:
    subject, block = fresh_subject(), name()
    client.lease(block, keep_alive=True, plan_id="brief-leases", subject=subject)
    ends = time.monotonic() + 4.5   # three lives
    while time.monotonic() < ends:
        assert free(client, subject, "brief-leases") == 1
        time.sleep(0.1)
    assert client.end_lease(block)["lost"] is False
    assert free(client, subject, "brief-leases") == 2


def test_a_lease_that_is_gone_is_lost_and_not_renewed_again(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue)
    now = int(time.time())
    rogue.then(reply(200, {**ALLOWED, "lease_id": "lease-1", "lease_expires_at": now}), reply(500, b""),
               reply(200, {"renewed": True, "lease_expires_at": now}), reply(200, {"renewed": False}))
    block = name()
    client.lease(block, keep_alive=True, subject="a")
    wait_until("three renewals", lambda: len(rogue.requests) == 4)
    time.sleep(0.5)   # a renewal would be due each 50 ms
    assert [seen.path for seen in rogue.requests] == ["/v1/check", "/v1/renew", "/v1/renew", "/v1/renew"]
    assert client.end_lease(block)["lost"] is True


def test_keep_alive_ends_with_the_block(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue, timeout_ms=500)
    rogue.then(reply(200, {**ALLOWED, "lease_id": "lease-1", "lease_expires_at": int(time.time())}), silence)
    rogue.default = reply(200, {"released": True})
    block = name()
    client.lease(block, keep_alive=True, subject="a")
    wait_until("a renewal", lambda: len(rogue.requests) == 2)
    client.end_lease(block)
    released = [seen.path for seen in rogue.requests].index("/v1/release")
    time.sleep(0.3)
    assert len(rogue.requests) == released + 1
