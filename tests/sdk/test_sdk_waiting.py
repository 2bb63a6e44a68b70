"""wait: until a check passes, or cannot pass in time (sdk/CONTRACT.md, Waiting)."""

import threading
import time
from collections.abc import Callable

import pytest

from sdk.adapter import ClientUnderTest
from sdk.rogue import ALLOWED, DENIED, Rogue, later, raw, reply, silence
from sdk.sdks import Sdk
from support.client import fresh_subject
from support.process import free_port, wait_until

MakeClient = Callable[..., ClientUnderTest]


def ms(text: object) -> float:
    """A `wait` that a check was sent with, in milliseconds."""
    assert isinstance(text, str)
    return float(text.removesuffix("ms")) if text.endswith("ms") else 1000 * float(text.removesuffix("s"))


def test_a_check_of_a_real_agent_passes_when_there_is_room(client: ClientUnderTest) -> None:
    subject = fresh_subject()
    assert client.check(plan_id="fast", subject=subject)["allowed"]
    seconds, decision = client.wait(20_000, plan_id="fast", subject=subject)
    assert decision["allowed"] and decision["waited_ms"] > 0
    assert seconds < 10


def test_what_cannot_pass_in_time_is_denied_at_once(client: ClientUnderTest) -> None:
    subject = fresh_subject()
    client.check(plan_id="bucket", subject=subject, cost=5)
    for cost in (1, 6):   # in an hour, and never
        seconds, decision = client.wait(5_000, plan_id="bucket", subject=subject, cost=cost)
        assert (decision["allowed"], decision["decided"]) == (False, True)
        assert seconds < 4


def test_the_client_waits_where_the_agent_does_not(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue)
    rogue.then(reply(429, {**DENIED, "retry_after_ms": 300}), reply(429, {**DENIED, "retry_after_ms": 200}), reply(200, ALLOWED))
    seconds, decision = client.wait(20_000, subject="a")
    assert decision["allowed"] and 0.49 < seconds < 5
    waits = [ms(seen.body["wait"]) for seen in rogue.requests]
    assert 19_000 < waits[0] <= 20_000 and waits[1] <= waits[0] - 299 and waits[2] <= waits[1] - 199
    assert len(rogue.requests) == 3


def test_a_denial_that_lasts_longer_than_the_time_left_is_the_end(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue)
    for retry_after in (60_000, None):
        rogue.then(reply(429, {**DENIED, "retry_after_ms": retry_after}))
        seconds, decision = client.wait(2_000, subject="a")
        assert (decision["allowed"], decision["retry_after_ms"]) == (False, retry_after)
        assert seconds < 1.9
    assert len(rogue.requests) == 2


def test_an_agent_that_denies_for_ever_is_not_asked_for_ever(make_client: MakeClient, rogue: Rogue) -> None:
    rogue.default = reply(429, {**DENIED, "retry_after_ms": 0})
    seconds, decision = make_client(rogue).wait(1_000, subject="a")
    assert not decision["allowed"] and seconds < 5
    assert len(rogue.requests) < 200


def test_a_delay_is_slept_if_it_fits_and_shown_if_not(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue)
    rogue.then(reply(200, {**ALLOWED, "action": "delay", "delay_ms": 300}), reply(200, {**ALLOWED, "action": "delay", "delay_ms": 60_000}))
    seconds, decision = client.wait(10_000, subject="a")
    assert (decision["allowed"], decision["delay_ms"]) == (True, 0) and 0.29 < seconds < 5
    seconds, decision = client.wait(10_000, subject="a")
    assert (decision["allowed"], decision["delay_ms"]) == (True, 60_000) and seconds < 5
    assert len(rogue.requests) == 2


def test_the_calls_may_last_as_long_as_they_wait(make_client: MakeClient, rogue: Rogue) -> None:
    rogue.then(later(0.5, reply(200, {**ALLOWED, "waited_ms": 480})))
    seconds, decision = make_client(rogue, timeout_ms=100).wait(20_000, subject="a")
    assert (decision["decided"], decision["waited_ms"]) == (True, 480) and seconds > 0.49


def test_an_agent_that_is_not_there_yet_is_waited_for(make_client: MakeClient) -> None:
    port = free_port()
    client = make_client(url=f"http://127.0.0.1:{port}")
    pending = client.send("wait", check={"subject": "a"}, up_to_ms=30_000)
    time.sleep(0.5)
    assert not pending.done()
    rogue = Rogue(port=port)
    try:
        assert pending.decision()["decided"]
    finally:
        rogue.close()


def test_an_agent_that_never_comes_ends_the_waiting_by_on_error(make_client: MakeClient) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    seconds, decision = make_client(url=url, on_error="deny").wait(800, subject="a")
    assert (decision["allowed"], decision["error"]["kind"]) == (False, "unreachable") and seconds < 5
    assert seconds > 0.29   # 100 ms and 200 ms, and the next pause would be too long or not
    assert make_client(url=url, on_error="raise").raised("wait", check={"subject": "a"}, up_to_ms=300)["kind"] == "unreachable"


@pytest.mark.parametrize("turn, kind", [(reply(500, b""), "unavailable"), (reply(422, {"status": 422}), "refused"), (raw(b""), "protocol"),
                                        (raw(b"x"), "protocol")])
def test_other_errors_end_the_waiting(make_client: MakeClient, rogue: Rogue, turn: object, kind: str) -> None:
    rogue.default = turn   # type: ignore[assignment]
    seconds, decision = make_client(rogue, on_error="deny").wait(20_000, subject="a")
    assert (decision["allowed"], decision["error"]["kind"]) == (False, kind) and seconds < 10
    assert len(rogue.requests) == 1


def test_an_agent_that_never_answers_ends_the_waiting_in_time(make_client: MakeClient, rogue: Rogue) -> None:
    rogue.default = silence
    seconds, decision = make_client(rogue, timeout_ms=200).wait(500, subject="a")
    assert decision["error"]["kind"] == "timeout" and 0.49 < seconds < 6


def test_waiting_does_not_hold_up_other_calls_of_the_client(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue)
    rogue.then(reply(429, {**DENIED, "retry_after_ms": 3_000}))
    pending = client.send("wait", check={"subject": "a"}, up_to_ms=30_000)
    wait_until("the first question", lambda: len(rogue.requests) == 1)
    started = threading.Event()
    for _ in range(20):
        assert client.check(subject="b")["decided"]
    started.set()
    assert not pending.done()
    assert pending.decision()["allowed"]


def test_a_caller_that_leaves_during_the_delay_gives_the_lease_back(make_client: MakeClient, rogue: Rogue, sdk: Sdk) -> None:
    if not sdk.cancels:
        pytest.skip("calls of this language cannot be cancelled")
    client = make_client(rogue)
    rogue.default = reply(200, {**ALLOWED, "released": True})
    rogue.then(reply(200, {**ALLOWED, "action": "delay", "delay_ms": 60_000, "lease_id": "lease-1", "lease_expires_at": int(time.time()) + 90}))
    pending = client.send("wait", check={"subject": "a"}, up_to_ms=120_000)
    wait_until("the check", lambda: len(rogue.requests) == 1)

    def read() -> bool:
        """The reply has been read, so the sleep begins: its connection carries another call."""
        client.check(subject="b")
        return rogue.requests[-1].connection == 1

    wait_until("the client to read the reply", read)
    client.adapter.ask("cancel", of=pending.number)
    assert pending.answer().get("cancelled") is True
    wait_until("the release", lambda: (rogue.requests[-1].path, rogue.requests[-1].body) == ("/v1/release", {"lease_id": "lease-1"}))
