"""What only the Python SDK has: names of routes, subjects of addresses, results, forks, several event loops."""

import asyncio
import ctypes
import json
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from sdk.rogue import ALLOWED, DENIED, Rogue, reply
from sdk.sdks import FOLDER
from support.process import wait_until

sys.path.insert(0, str(FOLDER / "python/src"))

import sluice   # noqa: E402
from sluice import _web, testing   # noqa: E402
from sluice._decision import Decision, RateLimitResult   # noqa: E402


@pytest.mark.parametrize("route, expected", [
    ("/users/{id}", "/users/{id}"), ("/users/{id:int}", "/users/{id}"), ("/files/{path:path}", "/files/{path}"),
    ("/users/<id>", "/users/{id}"), ("/users/<int:id>/x", "/users/{id}/x"), ("/<any(de, en):language>/x", "/{language}/x"), ("users/<int:id>/", "/users/{id}/"),
    ("/users/:id", "/users/{id}"), ("/users/:id/posts/:post", "/users/{id}/posts/{post}"), ("/t/10:30", "/t/10:30"),
    (r"/users/{id:\d+}", "/users/{id}"), (r"/users/{id:\d{2}}", "/users/{id}"), ("/static/*", "/static/{path}"), ("/static/*rest", "/static/{rest}"),
    (r"^users/(?P<id>[0-9]+)/$", "/users/{id}/"), (r"^a/(?P<y>\d{4})/(?P<m>(0[1-9]|1[0-2]))/?$", "/a/{y}/{m}/"), (r"^x/(\w+)\.html\Z", "/x/{path}.html"),
    (r"^(?:en/)?about/$", "/about/"), (r"^p/(?P<a>[()]+)/b$", "/p/{a}/b"), ("", "/"), ("/", "/"),
])
def test_a_route_of_any_notation_is_a_pattern(route: str, expected: str) -> None:
    assert _web.pattern(route) == expected


@pytest.mark.parametrize("address, subject, source", [
    ("203.0.113.7", "ip:203.0.113.7", "203.0.113.7"), ("2001:db8:1:2:3:4:5:6", "ip:2001:db8:1:2::/64", "2001:db8:1:2:3:4:5:6"),
    ("2001:DB8:1:2::1", "ip:2001:db8:1:2::/64", "2001:db8:1:2::1"), ("::ffff:203.0.113.7", "ip:203.0.113.7", "203.0.113.7"),
    ("::1", "ip:::/64", "::1"), ("fe80::1%eth0", "ip:fe80::/64", "fe80::1"), ("", None, None), (None, None, None), ("/run/app.sock", None, None),
    ("testclient", None, None),
])
def test_an_address_is_a_subject(address: "str | None", subject: "str | None", source: "str | None") -> None:
    assert (_web.subject_of(address), _web.source_ip(address)) == (subject, source)


@pytest.mark.parametrize("accept, text", [
    ("", False), ("*/*", False), ("text/plain", True), ("application/json, text/plain, */*", False), ("text/plain, */*;q=0.8", True),
    ("text/html, text/plain;q=0.5, application/json;q=0.9", False), ("text/*", True), ("text/plain;q=0", False), ("text/plain;q=x", False),
    ("image/png", False),
])
def test_a_client_gets_the_form_that_it_prefers(accept: str, text: bool) -> None:
    refusal = _web.denial(Decision(False, "limit_exceeded", "deny", retry_after=1.2), accept)
    assert refusal.headers["Content-Type"].startswith("text/plain") is text
    assert (refusal.status, refusal.headers["Retry-After"]) == (429, "2")


@pytest.mark.parametrize("value", ["x" * 257, "é" * 129, "🙂" * 65, "a\ud800"])
def test_a_value_that_an_agent_would_refuse_is_hashed(value: str) -> None:
    found = _web.Settings(key=lambda request: value).check(None, value, "/{id}", "203.0.113.7", _web.Rule())
    for name in ("subject", "method", "resource"):
        assert found[name].startswith("sha256:") and len(found[name]) == 71
    assert found["subject"] != _web.fit(value + "x")


@pytest.mark.parametrize("value", ["", "x" * 256, "é" * 128, "🙂" * 64, "user:42 äöü"])
def test_other_values_stay_as_they_are(value: str) -> None:
    assert _web.fit(value) == value


def test_without_a_key_and_an_address_all_clients_count_together() -> None:
    for key in (None, lambda request: None, lambda request: ""):
        settings: _web.Settings[None] = _web.Settings(key=key)
        assert settings.check(None, "GET", "/", None, _web.Rule())["subject"] == "ip:unknown"
        assert settings.check(None, "GET", "/", "203.0.113.7", _web.Rule())["subject"] == "ip:203.0.113.7"


def test_what_may_be_exposed_is_named_once_and_a_star_stays() -> None:
    assert _web.expose(["RateLimit", "X-RateLimit-Limit"], "X-Own, ratelimit") == "X-Own, ratelimit, X-RateLimit-Limit"
    assert _web.expose(["RateLimit"], "*") == "*"


def test_application_kits_numbers() -> None:
    reset = int(time.time()) + 60
    within = RateLimitResult.of(Decision(True, "within_limit", "allow", limit=10, remaining=7, reset=reset))
    assert (within.is_over_limit, within.request_count, within.max_requests, within.remaining) == (False, 3, 10, 7)
    assert 58 <= within.ttl <= 60
    assert within.to_headers() == {"RateLimit-Limit": "10", "RateLimit-Remaining": "7", "RateLimit-Reset": str(within.ttl)}
    over = RateLimitResult.of(Decision(False, "limit_exceeded", "deny", limit=10, remaining=2, reset=reset, over_limit=True))
    assert (over.is_over_limit, over.remaining) == (True, 0)
    none = RateLimitResult.of(Decision(True, "no_policy", "allow"))
    assert (none.is_over_limit, none.request_count, none.ttl, none.max_requests) == (False, 0, 0, 0)
    with pytest.raises(AttributeError):
        within.ttl = 5   # type: ignore[misc]


def test_a_decision_is_a_value(rogue: Rogue) -> None:
    decision = sluice.Client(url=rogue.url, timeout=10).check("a", "b")
    assert decision == pickle.loads(pickle.dumps(decision)) and "within_limit" in repr(decision)
    with pytest.raises(AttributeError):
        decision.allowed = False   # type: ignore[misc]
    error = sluice.SluiceError("refused", "why", status=422, code="invalid", errors=[{"pointer": "/cost"}])
    copied = pickle.loads(pickle.dumps(error))
    assert (copied.kind, copied.status, copied.code, copied.errors, str(copied)) == ("refused", 422, "invalid", error.errors, "why")


@pytest.mark.parametrize("misuse", [
    lambda client: client.check("a", cost=float("nan")), lambda client: client.check("a", tags={"a": object()}),
    lambda client: client.check_batch("abc"), lambda client: client.check_batch([5]), lambda client: client.check_batch({"a": {}}),
    lambda client: client.release(5), lambda client: client.wait("a", up_to=-1), lambda client: client.wait("a", up_to="2s"),
    lambda client: client.check("a", traceparent="00\r\nX-Api-Key: other"),
])
def test_misuse_raises_and_sends_nothing(rogue: Rogue, misuse: Callable[[sluice.Client], object]) -> None:
    with pytest.raises((TypeError, ValueError)):
        misuse(sluice.Client(url=rogue.url, timeout=10, on_error="allow"))
    assert rogue.requests == []


def test_a_child_process_has_connections_of_its_own(rogue: Rogue) -> None:
    client = sluice.Client(url=rogue.url, timeout=10)
    client.check("a", "parent")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = client.check("a", "child")
            os.write(write, json.dumps(answer.decided).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 100) == b"true"
    os.close(read)
    os.close(write)
    assert client.check("a", "parent").decided
    assert [(seen.connection, seen.body["subject"]) for seen in rogue.requests] == [(1, "parent"), (2, "child"), (1, "parent")]


def test_each_event_loop_has_connections_of_its_own(rogue: Rogue) -> None:
    client = sluice.AsyncClient(url=rogue.url, timeout=10)

    async def twice() -> bool:
        return (await client.check("a", "b")).decided and (await client.check("a", "b")).decided

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(lambda _: asyncio.run(twice()), range(8)))
    assert rogue.connections == 8 and len(rogue.requests) == 16


class Interrupted(BaseException):
    """As KeyboardInterrupt, but of one thread."""


def test_an_interrupted_thread_closes_its_connection(rogue: Rogue) -> None:
    client = sluice.Client(url=rogue.url, timeout=30, max_connections=1)
    outcome: list[BaseException] = []

    def ask() -> None:
        try:
            client.wait("a", "b", up_to=60)
        except BaseException as error:
            outcome.append(error)

    # An exception reaches a thread between two steps of Python, so this one waits in short pieces: denied, and asked again.
    rogue.default = reply(429, {**DENIED, "retry_after_ms": 20})
    thread = threading.Thread(target=ask)
    thread.start()
    wait_until("some questions", lambda: len(rogue.requests) > 3)
    assert ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Interrupted)) == 1
    thread.join()
    assert len(outcome) == 1 and isinstance(outcome[0], Interrupted)
    rogue.default = reply(200, ALLOWED)
    assert client.check("a", "b").decided   # its only place is free


def test_doubles_for_asyncio_record_leases() -> None:
    async def run() -> tuple[bool, int, int]:
        client = testing.scripted_async([True, False])
        async with client.lease("job") as lease:
            during = len(client.open_leases)
            assert lease.lease_id
        return (await client.check("a")).allowed, during, len(client.open_leases)

    assert asyncio.run(run()) == (False, 1, 0)


def test_a_release_goes_on_when_its_task_is_cancelled_again_and_again(rogue: Rogue) -> None:
    """As anyio does it: each await in a cancelled scope is cancelled."""

    async def run() -> None:
        client = sluice.AsyncClient(url=rogue.url, timeout=10)
        entered = asyncio.Event()

        async def block() -> None:
            async with client.lease("a"):
                entered.set()
                await asyncio.sleep(60)

        rogue.then(reply(200, {**ALLOWED, "lease_id": "lease-1", "lease_expires_at": int(time.time()) + 60}), rogue.hold())
        task = asyncio.create_task(block())
        await entered.wait()
        for _ in range(5):
            task.cancel()
            await asyncio.sleep(0.01)
        assert task.cancelled()
        rogue.let_go()
        await client.close()

    asyncio.run(run())
    assert [seen.path for seen in rogue.requests] == ["/v1/check", "/v1/release"]
