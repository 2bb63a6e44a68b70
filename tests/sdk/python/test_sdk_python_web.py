"""FastAPI, Flask and Django in their servers: what sdk/CONTRACT.md says of middleware."""

import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sdk.python.web import STACKS, App, Stack
from sdk.rogue import ALLOWED, Rogue, later, reply
from support.agent import Agent
from support.bundle import Bundle, MintedKey, concurrency, token_bucket, window
from support.client import Answer, Client, fresh_subject
from support.process import wait_until

LIMITED = ("/users/{name}", "/files/{name}", "/own-headers", "/costly", "/decorated/{name}", "/decorated-async/{name}", "/depends/{name}",
           "/orders/{number}/lines", "/inner/deep/{name}", "/old/{name}/", "{unmatched}")


@pytest.fixture(scope="session")
def web_bundle(key: MintedKey) -> Bundle:
    """A policy for each route, by its pattern."""
    bundle = Bundle().key(key).plan("five", token_bucket(5, "1/1h")).plan("leases", concurrency(2, "1h"))
    bundle.plan("short", concurrency(2, "300ms")).plan("5-per-3600s", window("fixed_window", 5, "1h"))
    bundle.plan("delaying", token_bucket(1, "5/1s"), action="delay", max_delay="1h")
    for number, route in enumerate(LIMITED):
        bundle.policy(f"limited-{number}", {"resource": f"GET:{route}"}, "five", key_by=["subject", "resource"])
    bundle.policy("renamed", {"resource": "other-name"}, "five")
    bundle.policy("shadowed", {"resource": "GET:/shadowed"}, "five", mode="shadow")
    bundle.policy("delayed", {"resource": "GET:/delayed"}, "delaying", action="delay", max_delay="1h")
    for route in ("/leased", "/fail", "/stream", "/stream-async"):
        bundle.policy(f"lease-{route.strip('/')}", {"resource": f"GET:{route}"}, "leases", key_by=["subject"])
    return bundle


@pytest.fixture(scope="session")
def web_agent(program: Path, web_bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """An agent for all applications."""
    folder = tmp_path_factory.mktemp("web-agent")
    started = Agent(program, folder, web_bundle.write(folder / "bundle.json"), "memory").start()
    yield started
    started.close()


@pytest.fixture(scope="module", params=STACKS, ids=[stack.name for stack in STACKS])
def stack(request: pytest.FixtureRequest) -> Stack:
    """A framework and its server."""
    chosen: Stack = request.param
    return chosen


@pytest.fixture(scope="module")
def app(stack: Stack, web_agent: Agent, key: MintedKey, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """Its application, configured as the injector does, by variables."""
    running = App(stack, tmp_path_factory.mktemp("app"), {"SLUICE_SOCKET": str(web_agent.socket), "SLUICE_API_KEY": key.text,
                                                          "SLUICE_TIMEOUT": "10s"})
    yield running
    running.close()


@pytest.fixture
def start_app(stack: Stack, tmp_path: Path) -> Iterator[Callable[..., App]]:
    """Starts applications of one test with these variables."""
    apps: list[App] = []

    def start(**variables: str) -> App:
        apps.append(App(stack, tmp_path, variables))
        return apps[-1]

    yield start
    for one in apps:
        one.close()


@pytest.fixture
def web(app: App) -> Iterator[Client]:
    """A connection to the application."""
    with app.client() as client:
        yield client


def get(client: Client, path: str, user: str = "", **headers: str) -> Answer:
    """A request of a user."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.request("GET", path, headers={**({"x-user": user} if user else {}), **sent})


def limited_routes(stack: Stack) -> list[str]:
    """Routes with a limit of five that this application has, as paths."""
    routes = ["/users/u-{}", "/files/a/b/{}", "/decorated/u-{}", "/orders/{}/lines", "/no/such/{}"]
    if stack.depends:
        routes += ["/depends/u-{}", "/inner/deep/{}"]
    else:
        routes += ["/decorated-async/u-{}"]
    return routes


def test_a_route_has_one_limit_whatever_its_path_is(web: Client, stack: Stack) -> None:
    for route in limited_routes(stack):
        user = fresh_subject()
        answers = [get(web, route.format(number), user) for number in range(7)]
        passed = 404 if route.startswith("/no/") else 200
        assert [one.status for one in answers] == [passed] * 5 + [429] * 2, route
        assert [one.header("x-ratelimit-remaining") for one in answers] == ["4", "3", "2", "1", "0", "0", "0"], route


def test_a_regular_expression_is_a_pattern_too(web: Client, stack: Stack) -> None:
    if not stack.name.startswith("django"):
        pytest.skip("only Django has them")
    user = fresh_subject()
    assert [get(web, f"/old/{name}/", user).status for name in "abcdefg"] == [200] * 5 + [429] * 2


def test_a_denial_is_a_problem_with_headers(web: Client) -> None:
    user = fresh_subject()
    for _ in range(5):
        get(web, "/users/a", user)
    answer = get(web, "/users/a", user)
    assert (answer.status, answer.header("content-type")) == (429, "application/problem+json")
    assert answer.body == {"type": "about:blank", "title": "Too Many Requests", "status": 429, "detail": "The rate limit is exceeded.",
                           "retry_after": answer.body["retry_after"]}
    assert answer.body["retry_after"] == int(str(answer.header("retry-after"))) and 3500 < answer.body["retry_after"] <= 3600
    exposed = str(answer.header("access-control-expose-headers")).lower()
    assert all(name in exposed for name in ("retry-after", "x-ratelimit-limit", "ratelimit"))
    text = get(web, "/users/a", user, accept="text/plain, application/json;q=0.5")
    assert (text.status, text.body.strip()) == (429, "Rate limit exceeded")
    assert str(text.header("content-type")).startswith("text/plain")
    decorated = [get(web, "/decorated/a", user) for _ in range(6)][-1]
    assert (decorated.status, decorated.header("content-type")) == (429, "application/problem+json")
    assert decorated.header("retry-after") and decorated.body["retry_after"] > 0


def test_headers_are_added_and_those_of_the_handler_stay(web: Client) -> None:
    plain = get(web, "/users/a", fresh_subject())
    assert plain.body == {"name": "a", "remaining": 4}
    assert (plain.header("x-ratelimit-limit"), plain.header("x-ratelimit-remaining")) == ("5", "4")
    assert "r=4" in str(plain.header("ratelimit"))
    own = get(web, "/own-headers", fresh_subject())
    assert (own.header("x-ratelimit-limit"), own.header("x-ratelimit-remaining")) == ("mine", "4")
    exposed = [name.strip() for name in str(own.header("access-control-expose-headers")).split(",")]
    assert exposed[0] == "X-Own" and "X-RateLimit-Remaining" in exposed


def test_exempt_routes_and_costs(web: Client) -> None:
    user = fresh_subject()
    answers = [get(web, "/healthz", user) for _ in range(20)]
    assert {one.status for one in answers} == {200}
    assert all(one.header("x-ratelimit-limit") is None for one in answers)
    assert [get(web, "/costly", user).status for _ in range(3)] == [200, 429, 429]


def test_a_rule_of_a_route_may_have_its_own_resource_and_key(web: Client) -> None:
    answers = [get(web, "/renamed", fresh_subject()) for _ in range(6)]
    assert answers[-1].status == 429


def test_a_shadow_passes_with_the_headers_that_the_agent_sends(web: Client) -> None:
    user = fresh_subject()
    answers = [get(web, "/shadowed", user) for _ in range(7)]
    assert {one.status for one in answers} == {200}


def test_a_short_delay_is_slept_and_a_long_one_is_a_denial(web: Client, app: App) -> None:
    user = fresh_subject()
    answers = [get(web, "/delayed", user) for _ in range(3)]
    assert [one.status for one in answers] == [200, 200, 200]
    assert answers[1].seconds > 0.1
    # Without waiting for each other, so that delays add up to more than a second.
    sockets = [socket.create_connection(("127.0.0.1", app.port)) for _ in range(8)]
    for one in sockets:
        one.sendall(f"GET /delayed HTTP/1.1\r\nHost: a\r\nX-User: {user}\r\nConnection: close\r\n\r\n".encode())
    statuses = [int(one.makefile("rb").readline().split()[1]) for one in sockets]
    for one in sockets:
        one.close()
    assert set(statuses) == {200, 429}


def held(agent: Agent, key: MintedKey, path: str, user: str) -> int:
    """How many leases a user has for a route."""
    with agent.client(key.text) as client:
        return 2 - int(client.check(resource=f"GET:{path}", subject=user, cost=0).body["remaining"])


@pytest.mark.parametrize("path, status", [("/leased", 200), ("/fail", 500)])
def test_a_lease_ends_with_the_response_and_when_the_handler_fails(app: App, web_agent: Agent, key: MintedKey, path: str,
                                                                   status: int) -> None:
    user = fresh_subject()
    for _ in range(5):
        with app.client() as web:   # servers close the connection of a handler that failed
            assert get(web, path, user).status == status
        wait_until("the release", lambda: held(web_agent, key, path, user) == 0)


def test_a_lease_lasts_as_long_as_a_response_and_ends_when_its_client_goes_away(
        app: App, web_agent: Agent, key: MintedKey) -> None:
    user = fresh_subject()
    connections = []
    for count in (1, 2):
        one = socket.create_connection(("127.0.0.1", app.port))
        one.sendall(f"GET {app.stack.stream} HTTP/1.1\r\nHost: a\r\nX-User: {user}\r\n\r\n".encode())
        assert b" 200 " in one.recv(100)
        assert held(web_agent, key, app.stack.stream, user) == count
        connections.append(one)
    with app.client() as third:
        assert get(third, app.stack.stream, user).status == 429
    for left, one in zip((1, 0), connections):
        one.close()
        wait_until(f"the release when the client went away ({left} left)", lambda: held(web_agent, key, app.stack.stream, user) == left, 30)


def test_the_lease_of_a_dependency_lasts_as_long_as_its_response(app: App, web_agent: Agent, key: MintedKey) -> None:
    if not app.stack.depends:
        pytest.skip("only FastAPI has dependencies")
    user = fresh_subject()
    with socket.create_connection(("127.0.0.1", app.port)) as one:
        one.sendall(f"GET /depends-stream HTTP/1.1\r\nHost: a\r\nX-User: {user}\r\n\r\n".encode())
        assert b" 200 " in one.recv(100)
        assert held(web_agent, key, "/stream", user) == 1
    wait_until("the release when the client went away", lambda: held(web_agent, key, "/stream", user) == 0, 30)
    with app.client() as web:
        assert get(web, "/depends-fail", user).status == 500
    wait_until("the release after a failure", lambda: held(web_agent, key, "/fail", user) == 0)


@pytest.mark.parametrize("on_error, status", [("allow", 200), ("deny", 503), ("raise", 503)])
def test_when_the_agent_is_killed_on_error_decides(start_app: Callable[..., App], make_agent: Callable[..., Agent], web_bundle: Bundle,
                                                   key: MintedKey, on_error: str, status: int) -> None:
    agent = make_agent(web_bundle, "memory").start()
    app = start_app(SLUICE_URL=f"http://127.0.0.1:{agent.port}", SLUICE_API_KEY=key.text, SLUICE_ON_ERROR=on_error,
                    SLUICE_TIMEOUT="5s")
    with app.client() as web:
        assert get(web, "/users/a", "u").header("x-ratelimit-remaining") == "4"
        agent.kill9()
        for path in ("/users/a", "/decorated/a"):
            answer = get(web, path, "u")
            assert answer.status == status, path
            assert answer.header("x-ratelimit-remaining") is None
            if status == 503:
                assert answer.body["detail"] == "The rate limiter is unavailable."
                text = get(web, path, "u", accept="text/plain")
                assert (text.status, text.body.strip()) == (503, "Rate limiter unavailable")
        assert get(web, "/healthz").status == 200
    agent.process.wait(10)
    agent._process = None


def test_what_a_check_says_of_a_request(start_app: Callable[..., App], make_rogue: Callable[..., Rogue]) -> None:
    rogue = make_rogue()
    app = start_app(SLUICE_URL=rogue.url, SLUICE_TIMEOUT="10s")
    with app.client() as web:
        get(web, "/users/a?b=c")
        get(web, "/no/such/thing", "somebody")
        web.request("POST", "/users/a")
    bodies = [seen.body for seen in rogue.requests]
    assert bodies[0] == {"resource": "GET:/users/{name}", "endpoint": "/users/{name}", "method": "GET", "subject": "ip:127.0.0.1",
                         "source_ip": "127.0.0.1"}
    assert bodies[1]["resource"] == "GET:{unmatched}" and bodies[1]["subject"] == "somebody"
    assert bodies[2]["method"] == "POST"


def test_a_trace_goes_on_and_what_is_none_is_left_out(start_app: Callable[..., App], make_rogue: Callable[..., Rogue]) -> None:
    rogue = make_rogue()
    app = start_app(SLUICE_URL=rogue.url, SLUICE_TIMEOUT="10s")
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    sent = ({"traceparent": parent, "tracestate": "a=b"}, {"traceparent": parent, "tracestate": "a=\xe9"}, {"traceparent": "00-broken"},
            {"tracestate": "a=b"})
    with app.client() as web:
        for path in ("/users/a", "/decorated/a"):
            for headers in sent:
                assert get(web, path, **headers).status == 200
    found = [(seen.headers.get("traceparent"), seen.headers.get("tracestate")) for seen in rogue.requests]
    assert found == [(parent, "a=b"), (parent, None), (None, None), (None, None)] * 2


LEASE = {**ALLOWED, "lease_id": "lease-1", "lease_expires_at": 4102444800}


def test_the_lease_of_a_delay_that_is_too_long_is_given_back(start_app: Callable[..., App], make_rogue: Callable[..., Rogue], stack: Stack) -> None:
    rogue = make_rogue()
    app = start_app(SLUICE_URL=rogue.url, SLUICE_TIMEOUT="10s")
    with app.client() as web:
        for path in ("/users/a", "/decorated/a", *(("/depends/a", "/applied") if stack.depends else ("/decorated-async/a",))):
            rogue.requests.clear()
            rogue.then(reply(200, {**LEASE, "action": "delay", "delay_ms": 60_000}))
            answer = get(web, path, "u")
            assert (answer.status, answer.header("retry-after"), answer.body["retry_after"]) == (429, "60", 60), path
            wait_until("the release", lambda: [seen.path for seen in rogue.requests] == ["/v1/check", "/v1/release"])


def test_the_lease_of_a_client_that_left_during_its_check_is_given_back(start_app: Callable[..., App], make_rogue: Callable[..., Rogue]) -> None:
    rogue = make_rogue()
    app = start_app(SLUICE_URL=rogue.url, SLUICE_TIMEOUT="20s")
    rogue.then(later(0.5, reply(200, LEASE)))
    with socket.create_connection(("127.0.0.1", app.port)) as one:
        one.sendall(b"GET /users/a HTTP/1.1\r\nHost: a\r\n\r\n")
        wait_until("the check", lambda: len(rogue.requests) == 1)
    wait_until("the release", lambda: [seen.path for seen in rogue.requests] == ["/v1/check", "/v1/release"])


def test_a_lease_is_renewed_as_long_as_its_response_lasts(start_app: Callable[..., App], make_rogue: Callable[..., Rogue], stack: Stack) -> None:
    rogue = make_rogue()
    app = start_app(SLUICE_URL=rogue.url, SLUICE_TIMEOUT="10s")
    rogue.then(reply(200, {**LEASE, "lease_expires_at": int(time.time()) + 2}))
    rogue.default = reply(200, {"renewed": True, "lease_expires_at": int(time.time()) + 3, "released": True})
    with socket.create_connection(("127.0.0.1", app.port)) as one:
        one.sendall(f"GET {stack.stream} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        wait_until("two renewals", lambda: [seen.path for seen in rogue.requests].count("/v1/renew") >= 2)
    wait_until("the release", lambda: rogue.requests[-1].path == "/v1/release", 30)


def test_application_kits_entry_points(web: Client, stack: Stack) -> None:
    if stack.name.startswith("flask"):
        pytest.skip("application-kit has none for Flask")
    user = fresh_subject()
    answers = [get(web, "/applied", user) for _ in range(6)]
    assert [one.status for one in answers] == [200] * 5 + [429]
    for answer, left in ((answers[0], "4"), (answers[5], "0")):
        assert (answer.header("ratelimit-limit"), answer.header("ratelimit-remaining")) == ("5", left)
        assert "RateLimit-Reset" in str(answer.header("access-control-expose-headers"))
    if not stack.depends:
        return
    assert answers[0].body == {"remaining": 4, "over": False, "count": 1, "max": 5}
    assert 0 < int(str(answers[0].header("ratelimit-reset"))) <= 3600
    user = fresh_subject()
    assert [get(web, "/elements?count=3", user).status for _ in range(2)] == [200, 429]
    for route in ("/project", "/path"):   # by the address, and by the route
        statuses: list[Any] = [get(web, route, fresh_subject()).status for _ in range(6)]
        assert statuses == [200] * 5 + [429], route
        assert get(web, route, fresh_subject()).header("ratelimit-remaining") == "0", route
