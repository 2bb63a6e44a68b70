"""Agents that give no decision: which kind of error it is, what each mode of on_error makes of it, and that the check was sent
once (sdk/CONTRACT.md, When the agent gives no decision)."""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

import pytest

from sdk.adapter import ClientUnderTest
from sdk.rogue import (ALLOWED, DENIED, Rogue, Turn, chunked, endless, http, later, raw, reply, reset, silence, slowly)
from support.process import free_port, wait_until

MakeClient = Callable[..., ClientUnderTest]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
WHOLE = http(200, ALLOWED)
PROBLEM = {"type": "/problems/invalid", "title": "Unprocessable", "status": 422, "code": "invalid", "detail": "cost must be 0 or more",
           "errors": [{"pointer": "/cost", "detail": "must be 0 or more"}]}


def refusal(reason: str) -> Turn:
    """A 503 of an agent."""
    return reply(503, {**DENIED, "reason": reason, "retry_after_ms": 1000}, {"Retry-After": "1"})


def problem(status: int, code: str) -> Turn:
    """A problem of an agent."""
    return reply(status, {"status": status, "code": code, "detail": "because"}, {"Content-Type": "application/problem+json"})


# What the agent does, the kind of error, and the status that the decision has.
FAULTS: dict[str, tuple[Turn, str, int]] = {
    "closes without a reply": (raw(b""), "protocol", 0),
    "resets the connection": (reset, "protocol", 0),
    "cut in the status line": (raw(b"HTTP/1.1 2"), "protocol", 0),
    "cut in the head": (raw(HEAD + b"Content-Le"), "protocol", 0),
    "cut in the body": (raw(WHOLE[:-5]), "protocol", 0),
    "cut in a chunk": (raw(chunked(200, b'{"allowed":true}')[:-9]), "protocol", 0),
    "no HTTP": (raw(b"-ERR unknown command 'POST'\r\n"), "protocol", 0),
    "bytes that are no text": (raw(bytes(range(256)) * 4), "protocol", 0),
    "a broken status": (raw(b"HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n"), "protocol", 0),
    "a broken length": (raw(HEAD + b"Content-Length: twelve\r\n\r\n{}"), "protocol", 0),
    "a negative length": (raw(HEAD + b"Content-Length: -5\r\n\r\n{}"), "protocol", 0),
    "a broken chunk": (raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"), "protocol", 0),
    "a head without end": (endless(HEAD, b"X-More: and more\r\n" * 100), "protocol", 0),
    "a body above 2 MiB": (raw(HEAD + b"Content-Length: %d\r\n\r\n" % (3 << 20) + b" " * (3 << 20)), "protocol", 0),
    "chunks above 2 MiB": (endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + b" " * 4096 + b"\r\n"), "protocol", 0),
    "a body without end": (endless(HEAD + b"Connection: close\r\n\r\n", b" " * 65536), "protocol", 0),
    "no JSON": (reply(200, b"OK"), "protocol", 200),
    "cut JSON": (reply(200, b'{"allowed":true,'), "protocol", 200),
    "two JSONs": (reply(200, b'{"allowed":true}{"allowed":false}'), "protocol", 200),
    "an empty body": (reply(200, b""), "protocol", 200),
    "no JSON object": (reply(200, [ALLOWED]), "protocol", 200),
    "null": (reply(200, b"null"), "protocol", 200),
    "deep JSON": (reply(200, b"[" * 100_000), "protocol", 200),
    "no allowed": (reply(200, {"reason": "within_limit"}), "protocol", 200),
    "allowed as a text": (reply(200, {**ALLOWED, "allowed": "true"}), "protocol", 200),
    "allowed as a number": (reply(200, {**ALLOWED, "allowed": 1}), "protocol", 200),
    "allowed as null": (reply(200, {**ALLOWED, "allowed": None}), "protocol", 200),
    "429 of somebody else": (reply(429, b"<h1>Too Many Requests</h1>"), "protocol", 429),
    "503 overload": (refusal("overload"), "unavailable", 503),
    "503 no_snapshot": (refusal("no_snapshot"), "unavailable", 503),
    "503 of a proxy": (reply(503, b"<h1>Service Unavailable</h1>", {"Content-Type": "text/html"}), "unavailable", 503),
    "503 of a problem": (problem(503, "out_of_memory"), "unavailable", 503),
    "500": (problem(500, "internal"), "unavailable", 500),
    "502": (reply(502, b""), "unavailable", 502),
    "504": (reply(504, b""), "unavailable", 504),
    "400": (problem(400, "invalid"), "refused", 400),
    "401": (problem(401, "unknown"), "refused", 401),
    "403": (problem(403, "may_not_override"), "refused", 403),
    "404": (problem(404, "unknown_plan"), "refused", 404),
    "404 of somebody else": (reply(404, b"<h1>Not Found</h1>"), "refused", 404),
    "405": (problem(405, "method_not_allowed"), "refused", 405),
    "413": (problem(413, "body_too_large"), "refused", 413),
    "415": (problem(415, "unsupported_media_type"), "refused", 415),
    "422": (reply(422, PROBLEM), "refused", 422),
}


def assert_by_on_error(decision: dict[str, Any], kind: str, status: int, allowed: bool) -> None:
    """The decision is what on_error chose, and says why."""
    assert (decision["decided"], decision["allowed"], decision["success"]) == (False, allowed, allowed)
    assert decision["error"]["kind"] == kind, decision["error"]
    assert decision["error"]["message"]
    assert (decision["reason"], decision["action"]) == ("error", "allow" if allowed else "deny")
    assert decision["status"] == status
    assert (decision["limit"], decision["remaining"], decision["delay_ms"], decision["waited_ms"]) == (None, None, 0, 0)
    assert (decision["would_allow"], decision["over_limit"], decision["shadow"], decision["headers"]) == (allowed, False, False, {})
    assert decision["retry_after_ms"] == (0 if allowed else None)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_reply_without_a_decision_is_one_kind_of_error_in_each_mode_and_is_asked_for_once(
        make_client: MakeClient, rogue: Rogue, fault: str) -> None:
    turn, kind, status = FAULTS[fault]
    rogue.default = turn
    assert_by_on_error(make_client(rogue).check(subject="a"), kind, status, True)
    assert_by_on_error(make_client(rogue, on_error="deny").check(subject="a"), kind, status, False)
    raising = make_client(rogue, on_error="raise")
    raised = raising.raised(check={"subject": "a"})
    assert (raised["kind"], raised["status"]) == (kind, status)
    # The same after a call that went well, on the connection that it left open.
    rogue.then(reply(200, ALLOWED))
    assert raising.check(subject="a")["decided"]
    assert raising.raised(check={"subject": "a"})["kind"] == kind
    assert len(rogue.requests) == 5
    # And the client is well again when its agent is.
    rogue.default = reply(200, ALLOWED)
    assert raising.check(subject="a")["decided"]


def test_a_problem_is_in_the_error(make_client: MakeClient, rogue: Rogue) -> None:
    rogue.default = reply(422, PROBLEM)
    raised = make_client(rogue, on_error="raise").raised(check={"subject": "a"})
    assert (raised["status"], raised["code"]) == (422, "invalid")
    assert "cost must be 0 or more" in str(raised)
    assert "/cost" in str(make_client(rogue).check(subject="a")["error"])


@pytest.mark.parametrize("on_error", ["allow", "deny", "raise"])
def test_fail_closed_is_a_decision_in_each_mode(make_client: MakeClient, rogue: Rogue, on_error: str) -> None:
    rogue.default = refusal("fail_closed")
    decision = make_client(rogue, on_error=on_error).check(subject="a")
    assert (decision["decided"], decision["allowed"], decision["reason"], decision["status"]) == (True, False, "fail_closed", 503)
    assert (decision["retry_after_ms"], decision["headers"]) == (1000, {"retry-after": "1"})


def test_no_snapshot_that_an_agent_allows_is_a_decision(make_client: MakeClient, rogue: Rogue) -> None:
    rogue.then(reply(200, {**ALLOWED, "reason": "no_snapshot"}))
    assert make_client(rogue, on_error="deny").check(subject="a")["decided"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(make_client: MakeClient, rogue: Rogue, make_rogue: Callable[..., Rogue], status: int) -> None:
    other = make_rogue()
    rogue.default = reply(status, b"", {"Location": f"{other.url}/v1/check"})
    decision = make_client(rogue).check(subject="a")
    assert (decision["error"]["kind"], decision["status"]) == ("refused", status)
    assert (len(rogue.requests), other.connections) == (1, 0)


@pytest.mark.parametrize("where", ["port", "socket", "https to http"])
def test_where_no_agent_is_the_error_is_unreachable(make_client: MakeClient, rogue: Rogue, tmp_path: Path, where: str) -> None:
    async def no_tls(_: Any, writer: Any) -> bool:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        return False

    rogue.on_connect = no_tls
    options: dict[str, Any] = {"port": {"url": f"http://127.0.0.1:{free_port()}"}, "socket": {"socket": str(tmp_path / "no.sock")},
                               "https to http": {"url": f"https://127.0.0.1:{rogue.port}"}}[where]
    assert_by_on_error(make_client(**options).check(subject="a"), "unreachable", 0, True)
    assert_by_on_error(make_client(on_error="deny", **options).check(subject="a"), "unreachable", 0, False)
    assert make_client(on_error="raise", **options).raised(check={"subject": "a"})["kind"] == "unreachable"


def test_a_host_that_does_not_exist_is_no_wait_beyond_the_timeout(make_client: MakeClient) -> None:
    seconds, decision = make_client(url="http://no-such-host.invalid:1", timeout_ms=1000).elapsed_and_check(subject="a")
    assert decision["error"]["kind"] in ("unreachable", "timeout")   # as fast as this machine's resolver
    assert seconds < 5


SLOW: dict[str, Turn] = {
    "never answers": silence,
    "slow head": slowly(WHOLE, 1, 0.05),
    "slow body": slowly(http(200, ALLOWED)[:-1] + b" " * 1000, 1, 0.05),
    "late": later(1.5, reply(200, ALLOWED)),
    "interim replies only": slowly(b"HTTP/1.1 102 Processing\r\n\r\n" * 1000, 27, 0.05),
}


@pytest.mark.parametrize("fault", SLOW)
def test_a_call_ends_at_its_timeout_however_the_agent_is_slow(make_client: MakeClient, rogue: Rogue, fault: str) -> None:
    rogue.default = SLOW[fault]
    client = make_client(rogue, timeout_ms=200)
    seconds, decision = client.elapsed_and_check(subject="a")
    assert_by_on_error(decision, "timeout", 0, True)
    assert 0.19 < seconds < 4
    assert make_client(rogue, timeout_ms=200, on_error="raise").raised(check={"subject": "a"})["kind"] == "timeout"
    assert len(rogue.requests) == 2
    # The late reply must not become the answer of the next check.
    rogue.default = reply(200, {**ALLOWED, "remaining": 7})
    assert client.check(subject="a")["remaining"] == 7
    wait_until("the connections that timed out to be closed", lambda: rogue.open <= 1)


@pytest.mark.parametrize("tls", [False, True])
def test_connecting_is_part_of_the_timeout(make_client: MakeClient, tls: bool) -> None:
    # A listener with a full queue: further connections get no answer. With TLS the connection comes, and no handshake.
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0 if not tls else 16)
        where = listener.getsockname()
        fillers = []
        try:
            for _ in range(0 if tls else 4):
                filler = socket.socket()
                filler.setblocking(False)
                filler.connect_ex(where)
                fillers.append(filler)
            client = make_client(url=f"{'https' if tls else 'http'}://127.0.0.1:{where[1]}", timeout_ms=200)
            seconds, decision = client.elapsed_and_check(subject="a")
            assert decision["error"]["kind"] == "timeout"
            assert 0.19 < seconds < 4
        finally:
            for filler in fillers:
                filler.close()


def test_the_timeout_of_a_held_check_is_longer_by_its_wait(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue, timeout_ms=100)
    rogue.default = later(0.5, reply(200, ALLOWED))
    assert client.check(subject="a", wait="30s")["decided"]
    assert rogue.requests[-1].body["wait"] == "30s"
    rogue.default = silence
    seconds, decision = client.elapsed_and_check(subject="a", wait="500ms")
    assert decision["error"]["kind"] == "timeout" and 0.59 < seconds < 5


def log_lines(client: ClientUnderTest, rogue: Rogue) -> list[str]:
    """The lines of the log that name this agent."""
    return [line for line in client.adapter.output().splitlines() if f"127.0.0.1:{rogue.port}" in line]


def test_an_error_is_logged_once_for_its_kind_and_not_with_each_call(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue)
    rogue.default = reply(500, b"")
    for _ in range(20):
        client.check(subject="a")
    wait_until("a line in the log", lambda: log_lines(client, rogue))
    assert len(log_lines(client, rogue)) == 1
    rogue.default = reply(404, b"")
    client.check(subject="a")
    wait_until("a line of the other kind", lambda: len(log_lines(client, rogue)) == 2)
    first, second = log_lines(client, rogue)
    assert "unavailable" in first and "refused" in second
    rogue.default = reply(200, ALLOWED)
    client.check(subject="a")
    assert len(log_lines(client, rogue)) == 2


def test_a_faulty_check_of_a_batch_is_logged_too(make_client: MakeClient, rogue: Rogue) -> None:
    client = make_client(rogue)
    rogue.default = reply(200, {"results": [ALLOWED, {"status": 422, "detail": "`cost` must be 0 or more"}]})
    decisions = client.batch({"subject": "a"}, {"subject": "b", "cost": -1})
    assert [one["decided"] for one in decisions] == [True, False]
    wait_until("a line in the log", lambda: log_lines(client, rogue))
    assert "refused" in log_lines(client, rogue)[0]


def test_release_and_renew_raise_only_where_they_should(make_client: MakeClient, rogue: Rogue) -> None:
    rogue.default = reply(503, {"status": 503, "code": "counters_unavailable"})
    for on_error in ("allow", "deny"):
        client = make_client(rogue, on_error=on_error)
        assert client.send("release", lease_id="a").answer()["released"] is False
        assert client.send("renew", lease_id="a").answer()["lease_expires_at"] is None
    raising = make_client(rogue, on_error="raise")
    expected: Optional[str] = "unavailable"
    assert raising.raised("release", lease_id="a")["kind"] == expected
    assert raising.raised("renew", lease_id="a")["kind"] == expected
