"""Connections: used again, limited, never used for a second sending of a check (sdk/CONTRACT.md, Sending)."""

import socket
import threading
import time
from collections.abc import Callable

import pytest

from sdk.adapter import ClientUnderTest
from sdk.rogue import ALLOWED, Rogue, http, raw, reply, silence
from sdk.sdks import Sdk
from support.agent import Agent
from support.bundle import MintedKey
from support.client import fresh_subject
from support.process import wait_until

MakeClient = Callable[..., ClientUnderTest]
MakeRogue = Callable[..., Rogue]


@pytest.mark.parametrize("unix", [False, True])
def test_a_connection_is_kept_and_used_again(make_client: MakeClient, make_rogue: MakeRogue, unix: bool) -> None:
    rogue = make_rogue(socket=unix)
    client = make_client(rogue)
    for _ in range(20):
        assert client.check(subject="a")["decided"]
    client.send("release", lease_id="a").answer()
    client.send("check_batch", checks=[{"subject": "a"}]).answer()
    assert (rogue.connections, len(rogue.requests)) == (1, 22)


def at_once(client: ClientUnderTest, rogue: Rogue, count: int) -> None:
    """So many checks that are under way together."""
    before = len(rogue.requests)
    rogue.then(*(rogue.hold() for _ in range(count)))
    pending = [client.send(check={"subject": "a"}) for _ in range(count)]
    wait_until("all requests", lambda: len(rogue.requests) == before + count)
    rogue.let_go()
    for one in pending:
        assert one.decision()["decided"]


def test_the_connection_that_was_used_last_comes_first(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue)
    at_once(client, rogue, 3)
    assert rogue.connections == 3
    client.check(subject="a")
    for _ in range(5):
        client.check(subject="a")
        assert rogue.requests[-1].connection == rogue.requests[-2].connection
    assert rogue.connections == 3


def test_a_connection_that_the_agent_closed_meanwhile_is_not_used(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue)
    for expected in range(1, 6):
        assert client.check(subject="a")["decided"]
        assert (rogue.connections, len(rogue.requests)) == (expected, expected)
        rogue.hang_up()
        wait_until("the connection's end", lambda: rogue.open == 0)


def test_many_connections_that_the_agent_closed_are_replaced(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue)
    at_once(client, rogue, 20)
    rogue.hang_up()
    wait_until("the connections' end", lambda: rogue.open == 0)
    at_once(client, rogue, 20)
    assert (rogue.connections, len(rogue.requests)) == (40, 40)


def test_a_connection_is_not_used_again_when_the_reply_says_so(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue)
    # The agent leaves it open all the same, and would answer on it.
    old = b"HTTP/1.0 200 OK\r\nContent-Length: 16\r\n\r\n" + b'{"allowed":true}'
    rogue.then(raw(http(200, ALLOWED, {"Connection": "close"}), keep=True), raw(old, keep=True))
    for _ in range(3):
        assert client.check(subject="a")["decided"]
    assert [seen.connection for seen in rogue.requests] == [1, 2, 3]


def test_bytes_that_nobody_asked_for_are_never_an_answer(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue)
    stray = http(200, {**ALLOWED, "remaining": 1})
    rogue.then(raw(http(200, ALLOWED) + stray, keep=True))
    client.check(subject="a")
    assert client.check(subject="a")["remaining"] == 9
    rogue.say(stray)
    time.sleep(0.2)   # they are on their way; nothing tells when they have arrived
    assert client.check(subject="a")["remaining"] == 9
    assert [seen.connection for seen in rogue.requests] == [1, 2, 3]   # such a connection is not used again


@pytest.mark.parametrize("used_before", [False, True])
def test_a_check_that_was_written_is_never_sent_again(make_client: MakeClient, rogue: Rogue, used_before: bool) -> None:
    client = make_client(rogue)
    if used_before:
        client.check(subject="a")
    before = len(rogue.requests)
    rogue.then(raw(b""))
    assert client.check(subject="a")["error"]["kind"] == "protocol"
    assert client.batch({"subject": "a"})   # the next call; the lost one does not come after it
    assert [seen.path for seen in rogue.requests[before:]] == ["/v1/check", "/v1/check/batch"]


@pytest.mark.parametrize("op, path, reply_body, expected", [
    ("release", "/v1/release", {"released": True}, ("released", True)),
    ("renew", "/v1/renew", {"renewed": True, "lease_expires_at": 1900000000}, ("lease_expires_at", 1900000000)),
])
def test_release_and_renew_are_sent_at_most_twice(make_client: MakeClient, rogue: Rogue, op: str, path: str, reply_body: dict[str, object],
                                                   expected: tuple[str, object]) -> None:
    client = make_client(rogue)
    rogue.then(raw(b""), reply(200, reply_body))
    answer = client.send(op, lease_id="the-lease").answer()
    assert answer.get(expected[0]) in (expected[1], False, None)   # the repetition is allowed, and not demanded
    assert len(rogue.requests) <= 2
    assert {(seen.path, seen.body["lease_id"]) for seen in rogue.requests} == {(path, "the-lease")}
    rogue.then(*[raw(b"")] * 5)
    before = len(rogue.requests)
    client.send(op, lease_id="the-lease").answer()
    assert len(rogue.requests) - before <= 2


def test_no_more_connections_than_allowed_and_calls_wait_for_one(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue, max_connections=2)
    rogue.then(rogue.hold(), rogue.hold())
    pending = [client.send(check={"subject": "a"}) for _ in range(12)]
    wait_until("two requests", lambda: len(rogue.requests) == 2)
    rogue.let_go()
    for one in pending:
        assert one.decision()["decided"]
    assert (rogue.most_open, len(rogue.requests)) == (2, 12)


def test_waiting_for_a_connection_is_part_of_the_timeout(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue, max_connections=1, timeout_ms=300)
    rogue.then(silence)
    first = client.send(check={"subject": "a", "wait": "1500ms"})
    wait_until("the first request", lambda: len(rogue.requests) == 1)
    seconds, decision = client.elapsed_and_check(subject="a")
    assert decision["error"]["kind"] == "timeout" and 0.29 < seconds < 4
    assert len(rogue.requests) == 1
    assert first.decision()["error"]["kind"] == "timeout"
    assert client.check(subject="a")["decided"]   # the place is free again


def test_the_places_of_calls_that_failed_are_free_again(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue, max_connections=2, timeout_ms=2000)
    for turn in (raw(b""), raw(b"garbage\r\n\r\n"), reply(500, b"")):
        rogue.then(*[turn] * 5)
        for _ in range(5):
            assert not client.check(subject="a")["decided"]
    assert client.check(subject="a")["decided"]


def test_many_at_once_get_each_its_own_answer(make_client: MakeClient, agent: Agent, key: MintedKey) -> None:
    client = make_client(agent, api_key=key.text)
    subjects = [fresh_subject() for _ in range(60)]
    pending = [client.send(check={"plan_id": "bucket", "subject": subject, "request_id": f"{turn}:{subject}"})
               for turn in range(7) for subject in subjects]
    decisions = [one.decision() for one in pending]
    expected = [f"{turn}:{subject}" for turn in range(7) for subject in subjects]
    assert [one["request_id"] for one in decisions] == expected
    allowed = [one["request_id"].split(":", 1)[1] for one in decisions if one["allowed"]]
    assert sorted(allowed) == sorted(subjects * 5)


def test_close_ends_idle_connections_at_once_and_those_in_use_after_their_call(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue)
    at_once(client, rogue, 3)
    rogue.then(rogue.hold())
    pending = client.send(check={"subject": "a"})
    wait_until("the request", lambda: len(rogue.requests) == 4)
    closing = threading.Thread(target=client.close)   # it may wait for the call
    closing.start()
    wait_until("the end of the idle connections", lambda: rogue.open == 1)
    assert not pending.done()
    rogue.let_go()
    assert pending.decision()["decided"]
    closing.join()
    wait_until("the end of the last connection", lambda: rogue.open == 0)
    assert client.raised(check={"subject": "a"})["kind"] == "misuse"


def test_a_call_that_is_cancelled_ends_at_once_and_closes_its_connection(make_client: MakeClient, rogue: Rogue, sdk: Sdk) -> None:
    if not sdk.cancels:
        pytest.skip("calls of this language cannot be cancelled")
    for on_error in ("allow", "deny", "raise"):
        client = make_client(rogue, on_error=on_error, timeout_ms=60_000)
        rogue.then(silence)
        before = len(rogue.requests)
        pending = client.send(check={"subject": "a"})
        wait_until("the request", lambda: len(rogue.requests) == before + 1)
        started = time.monotonic()
        assert client.adapter.ask("cancel", of=pending.number)["ok"] is True
        assert pending.answer().get("cancelled") is True, pending.answer()
        assert time.monotonic() - started < 10
        wait_until("the connection's end", lambda: rogue.open == 0)
        assert client.check(subject="a")["decided"]
        client.close()
        assert len(rogue.requests) == before + 2


def test_calls_that_are_cancelled_leave_no_connections_and_no_places_behind(make_client: MakeClient, rogue: Rogue, sdk: Sdk) -> None:
    if not sdk.cancels:
        pytest.skip("calls of this language cannot be cancelled")
    client = make_client(rogue, max_connections=4, timeout_ms=60_000)
    rogue.default = silence
    pending = [client.send(check={"subject": "a"}) for _ in range(200)]
    wait_until("four requests", lambda: len(rogue.requests) >= 4)
    for one in reversed(pending):
        client.adapter.ask("cancel", of=one.number)
    assert all(one.answer().get("cancelled") for one in pending)
    # Connections are accepted in their order: behind this one there are none of the cancelled calls.
    with socket.create_connection(("127.0.0.1", rogue.port)) as last:
        last.sendall(b"POST /last HTTP/1.1\r\ncontent-length: 0\r\n\r\n")
        wait_until("the last connection", lambda: any(seen.path == "/last" for seen in rogue.requests))
    wait_until("the connections' end", lambda: rogue.open == 0)
    rogue.default = reply(200, ALLOWED)
    at_once(client, rogue, 4)
    assert client.check(subject="a")["decided"]


@pytest.mark.slow
def test_a_connection_that_was_idle_for_30_s_is_not_used(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue)
    client.check(subject="a")
    time.sleep(25)
    client.check(subject="a")
    time.sleep(31)
    client.check(subject="a")
    assert [seen.connection for seen in rogue.requests] == [1, 1, 2]
    wait_until("the idle connection's end", lambda: rogue.open == 1)
