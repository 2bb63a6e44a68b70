"""/v1/authz: what the sub-request of a proxy is answered with. tests/proxies asks through the real proxies."""

import http.client
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Optional

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket
from support.client import Answer, Client
from support.process import wait_until
from support.raw import RawConnection

Make = Callable[..., Agent]
PROXY = "127.0.0.2"   # the trusted one; tests of the untrusted ask from 127.0.0.1
FLAGS = ("--trusted-proxies", f"{PROXY},unix", "--authz-map", "x-user-id=subject,x-plan=plan_id", "--workers", "1")


def bundle_for(key: MintedKey, other_key: MintedKey) -> Bundle:
    """Two requests an hour for each subject; ten for all together on /shared."""
    bundle = Bundle().key(key).add_tenant("rival").key(other_key, tenant="rival")
    bundle.plan("two", token_bucket(2, "1/1h"))
    bundle.plan("gold", token_bucket(50, "1/1h"))
    bundle.policy("orders", {"resource": "GET:/orders"}, "two")
    bundle.policy("writes", {"method": "POST", "endpoint": "/orders"}, "two")
    bundle.policy("hosts", {"service": "pay.example"}, "two", key_by=["service"])
    bundle.policy("pipelined", {"resource": "GET:/pipelined"}, "two", key_by=["service"])
    bundle.policy("long", {"resource": "GET:/files/*"}, "two")
    bundle.policy("user", {"resource": "GET:/mine"}, "two", key_by=["user"], require_key_by=True)
    return bundle


@pytest.fixture(scope="module")
def agent(key: MintedKey, other_key: MintedKey, module_agent: Make) -> Agent:
    """One with counters in memory."""
    return module_agent(bundle_for(key, other_key), "memory", *FLAGS).start()


@pytest.fixture
def proxy(agent: Agent, key: MintedKey) -> Iterator[Client]:
    """A connection of the trusted proxy."""
    with Client(agent.port, key.text, source=PROXY) as connection:
        yield connection


@pytest.fixture
def stranger(agent: Agent, key: MintedKey) -> Iterator[Client]:
    """A connection from another address, with a good key."""
    with Client(agent.port, key.text) as connection:
        yield connection


_addresses = iter(f"198.51.{third}.{fourth}" for third in range(256) for fourth in range(1, 255))


def fresh_address() -> str:
    """A client that nobody was yet."""
    return next(_addresses)


def authz(client: Client, path: str = "/v1/authz", method: str = "GET", body: Optional[bytes] = None, **headers: str) -> Answer:
    """A sub-request; headers as x_forwarded_uri="/orders"."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.request(method, path, body, {"x-api-key": client.key, **named})


def test_a_request_within_its_limit_gets_200_with_headers_and_no_body(proxy: Client) -> None:
    answer = authz(proxy, x_forwarded_uri="/orders?page=2", x_forwarded_method="GET", x_forwarded_for=fresh_address())
    assert (answer.status, answer.body) == (200, "")
    assert answer.headers["content-length"] == "0" and "content-type" not in answer.headers
    assert answer.headers["x-ratelimit-limit"] == "2"
    assert answer.headers["x-ratelimit-remaining"] == "1"
    assert "ratelimit" in answer.headers and "retry-after" not in answer.headers


def test_a_request_over_its_limit_gets_429_with_the_wait_and_no_names(proxy: Client) -> None:
    sent: dict[str, Any] = {"x_forwarded_uri": "/orders", "x_forwarded_for": fresh_address()}
    statuses = [authz(proxy, **sent).status for _ in range(3)]
    assert statuses == [200, 200, 429]
    answer = authz(proxy, **sent)
    assert set(answer.body) == {"allowed", "reason", "retry_after_ms"}
    assert answer.body["reason"] == "limit_exceeded" and 3_000_000 < answer.body["retry_after_ms"] <= 3_600_000
    assert int(answer.headers["retry-after"]) == -(-answer.body["retry_after_ms"] // 1000)
    assert answer.headers["x-ratelimit-remaining"] == "0"
    assert authz(proxy, accept="text/plain", **sent).body == "Rate limit exceeded"


def test_it_counts_with_checks_of_the_same_request(proxy: Client) -> None:
    client = fresh_address()
    assert authz(proxy, x_original_uri="/orders", x_original_method="GET", x_forwarded_for=client).status == 200
    assert proxy.check(resource="GET:/orders", subject=client).body["remaining"] == 0
    assert authz(proxy, x_original_url="https://any/orders?x", x_forwarded_for=client).status == 429


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"])
def test_every_method_is_answered_alike(proxy: Client, method: str) -> None:
    client = fresh_address()
    answers = [authz(proxy, method=method, body=b"", x_forwarded_method="GET", x_forwarded_uri="/orders", x_forwarded_for=client)
               for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert answers[2].headers["retry-after"] and answers[2].headers["x-ratelimit-limit"] == "2"
    assert (answers[2].body == "") == (method == "HEAD")


def test_under_the_prefix_the_sub_request_is_the_request(proxy: Client) -> None:
    client = fresh_address()
    for remaining in ("1", "0"):
        answer = authz(proxy, "/v1/authz/orders?headers=any", "POST", b"", x_forwarded_for=client,
                       x_original_uri="/cheap", x_forwarded_uri="/cheap", x_forwarded_method="GET")
        assert (answer.status, answer.headers["x-ratelimit-remaining"]) == (200, remaining)
    assert authz(proxy, "/v1/authz/a/%2e%2e//orders", "POST", b"", x_forwarded_for=client).status == 429


def test_the_host_is_the_service(proxy: Client) -> None:
    for host in ("pay.example", "Pay.Example:8443"):
        assert authz(proxy, x_forwarded_uri="/x", x_forwarded_host=host).status == 200
    assert authz(proxy, x_original_url="https://pay.example/y").status == 429
    assert authz(proxy, "/v1/authz/z", host="pay.example").status == 429


def test_mapped_headers_name_who_is_counted(proxy: Client) -> None:
    user = f"user:{fresh_address()}"
    statuses = [authz(proxy, x_forwarded_uri="/orders", x_user_id=user, x_forwarded_for=fresh_address()).status for _ in range(3)]
    assert statuses == [200, 200, 429]


def test_a_body_is_ignored_and_the_connection_goes_on(proxy: Client) -> None:
    client = fresh_address()
    for body in (b"{", b"x" * 16_000):
        assert authz(proxy, method="POST", body=body, x_forwarded_uri="/orders", x_forwarded_method="GET",
                     x_forwarded_for=client, content_type="image/png").status == 200
    port = proxy.local_port
    assert authz(proxy, x_forwarded_uri="/orders", x_forwarded_for=client).status == 429
    assert proxy.local_port == port


def test_long_and_odd_paths_are_decided(proxy: Client) -> None:
    for path in ("/files/" + "a" * 6_000, "/files/" + "%ff" * 1_500, "/files/\xe9\xe9" + "b" * 300):
        client = fresh_address()
        statuses = [authz(proxy, x_forwarded_uri=path, x_forwarded_for=client).status for _ in range(3)]
        assert statuses == [200, 200, 429], path[:20]
    assert authz(proxy, x_forwarded_uri="*", x_forwarded_method="OPTIONS").status == 200


def test_ipv6_clients_have_one_spelling(proxy: Client) -> None:
    statuses = [authz(proxy, x_forwarded_uri="/orders", x_forwarded_for=address).status
                for address in ("2001:db8::7", "2001:DB8:0::0007", "[2001:db8::7]:443")]
    assert statuses == [200, 200, 429]


def test_the_client_is_the_right_most_address_that_is_no_proxy(proxy: Client) -> None:
    client = fresh_address()
    for invented in (f"{fresh_address()}, {client}", f"{fresh_address()}, {client}, {PROXY}", client):
        last = authz(proxy, x_forwarded_uri="/orders", x_forwarded_for=invented)
    assert last.status == 429


def test_several_headers_of_a_chain_are_one_list(agent: Agent, key: MintedKey) -> None:
    client = fresh_address()
    connection = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=30, source_address=(PROXY, 0))
    statuses = []
    for _ in range(3):
        connection.putrequest("GET", "/v1/authz")
        for name, value in (("x-api-key", key.text), ("x-forwarded-uri", "/orders"), ("x-forwarded-for", fresh_address()),
                            ("x-forwarded-for", client)):
            connection.putheader(name, value)
        connection.endheaders()
        reply = connection.getresponse()
        reply.read()
        statuses.append(reply.status)
    connection.close()
    assert statuses == [200, 200, 429]


def test_headers_of_an_untrusted_peer_change_nothing(agent: Agent, key: MintedKey, stranger: Client) -> None:
    for number in range(3):   # whatever it says, it is 127.0.0.1 that asks for /orders
        answer = authz(stranger, "/v1/authz/orders", x_forwarded_for=fresh_address(), x_user_id=f"user:{number}",
                       x_original_uri=f"/{number}", x_forwarded_uri="/x", x_forwarded_method="POST", x_plan="gold")
        assert answer.status == (429 if number == 2 else 200)
    with Client(agent.port, key.text, source="127.0.0.3") as other:
        assert authz(other, "/v1/authz/orders", x_forwarded_for="127.0.0.1").status == 200


def test_422_an_untrusted_peer_is_told_how_to_be_trusted(stranger: Client) -> None:
    for headers in ({}, {"x_forwarded_uri": "/orders"}, {"x_original_uri": "/orders"}):
        answer = authz(stranger, **headers)
        assert answer.status == 422 and answer.body["errors"][0]["pointer"] == "/resource"
        assert "127.0.0.1 is not a trusted proxy" in answer.body["errors"][0]["detail"]
        assert "--trusted-proxies" in answer.body["errors"][0]["detail"]


@pytest.mark.parametrize("path, headers, rule", [
    ("/v1/authz", {}, "X-Forwarded-Uri is required"),
    ("/v1/authz?headers=original", {"x_forwarded_uri": "/a"}, "X-Original-URI or X-Original-URL is required"),
    ("/v1/authz", {"x_forwarded_uri": "orders"}, 'X-Forwarded-Uri must be a path such as /orders?page=2, or a URL; got "orders"'),
    ("/v1/authz", {"x_original_url": "ftp://a/b"}, "X-Original-URL must be a path"),
    ("/v1/authz", {"x_forwarded_uri": "/a", "x_original_uri": "/b"}, "both there"),
    ("/v1/authz?header=original", {"x_original_uri": "/a"}, "must be headers=forwarded or headers=original"),
])
def test_422_a_faulty_configuration_of_the_proxy_is_named(proxy: Client, path: str, headers: dict[str, str], rule: str) -> None:
    answer = authz(proxy, path, **headers)
    assert answer.status == 422
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert rule in answer.body["errors"][0]["detail"]
    assert authz(proxy, x_forwarded_uri="/free").status == 200


def test_422_a_dimension_that_the_counter_needs_is_named(proxy: Client) -> None:
    answer = authz(proxy, x_forwarded_uri="/mine")
    assert (answer.status, answer.body["errors"][0]["pointer"]) == (422, "/user")


def test_404_a_plan_that_the_tenant_has_not(proxy: Client) -> None:
    answer = authz(proxy, x_forwarded_uri="/orders", x_plan="golden")
    assert (answer.status, answer.body["code"]) == (404, "unknown_plan")


def test_401_without_a_key(proxy: Client) -> None:
    answer = proxy.request("GET", "/v1/authz", None, {"x-forwarded-uri": "/orders"})
    assert (answer.status, answer.body["code"]) == (401, "missing")


def test_paths_that_only_begin_alike_are_unknown(proxy: Client) -> None:
    assert authz(proxy, "/v1/authzother").status == 404


def test_sub_requests_in_one_write_are_answered_in_order(agent: Agent, key: MintedKey) -> None:
    with RawConnection(agent.port) as raw:
        one = f"GET /v1/authz/pipelined HTTP/1.1\r\nHost: pay.test\r\nx-api-key: {key.text}\r\n\r\n"
        raw.send(one.encode() * 3)
        replies = [raw.reply() for _ in range(3)]
    assert [reply.status if reply else 0 for reply in replies] == [200, 200, 429]


def test_they_are_counted_by_route(agent: Agent, proxy: Client) -> None:
    def count(route: str) -> float:
        return agent.metric("sluice_http_requests_total", route=route, status="200")

    before = count("/v1/authz"), count("/v1/authz/{path}")
    authz(proxy, x_forwarded_uri="/free")
    authz(proxy, "/v1/authz/free")
    wait_until("both to be counted", lambda: (count("/v1/authz"), count("/v1/authz/{path}")) == (before[0] + 1, before[1] + 1))


def test_a_request_id_comes_back(proxy: Client) -> None:
    assert authz(proxy, x_forwarded_uri="/free", x_request_id="abc-1").headers["x-request-id"] == "abc-1"


# --- a key of the agent's own -------------------------------------------------------------------------------------------

def write_key(path: Path, text: str) -> None:
    """Replaces the file by renaming."""
    new = path.with_suffix(".new")
    new.write_text(text)
    os.rename(new, path)


def test_the_key_file_stands_in_for_trusted_proxies_only(make_agent: Make, key: MintedKey, other_key: MintedKey,
                                                         tmp_path: Path) -> None:
    file = tmp_path / "key"
    write_key(file, key.text + "\n")
    agent = make_agent(bundle_for(key, other_key), "memory", *FLAGS, "--authz-key-file", str(file)).start()
    with Client(agent.port, source=PROXY) as trusted, Client(agent.port) as other:
        assert authz(trusted, x_forwarded_uri="/orders").status == 200
        # A client's own x-api-key, which proxies copy, is no credential of Sluice.
        assert authz(trusted, x_forwarded_uri="/orders", x_api_key="of-the-application").status == 200
        assert authz(trusted, x_forwarded_uri="/orders", x_api_key=other_key.text).status == 429
        assert authz(other, "/v1/authz/orders").status == 401
        assert trusted.check(subject="a").status == 401
        # The rival has no policies. A faulty file changes nothing; a good one does, within 5 s.
        write_key(file, "no key")
        wait_until("the refusal", lambda: "authz_key_refused" in agent.log.read_text(), 15)
        assert authz(trusted, x_forwarded_uri="/orders").status == 429
        write_key(file, other_key.text)
        wait_until("the new key", lambda: authz(trusted, x_forwarded_uri="/orders").status == 200, 15)
    assert key.text not in agent.log.read_text()


def test_an_agent_with_a_faulty_key_file_does_not_start(make_agent: Make, key: MintedKey, other_key: MintedKey,
                                                        tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(key.text[:-1] + "\n")
    agent = make_agent(bundle_for(key, other_key), "memory", *FLAGS, "--authz-key-file", str(file)).launch()
    assert agent.process.wait(30) == 1
    assert "holds no API key" in agent.log.read_text() and key.text[:-1] not in agent.log.read_text()


def test_loopback_and_unix_socket_are_trusted_by_default(make_agent: Make, key: MintedKey, other_key: MintedKey) -> None:
    agent = make_agent(bundle_for(key, other_key), "memory").start()
    with agent.client(key.text) as tcp, agent.unix_client(key.text) as unix:
        client = fresh_address()
        assert [authz(one, x_forwarded_uri="/orders", x_forwarded_for=client).status for one in (tcp, unix, tcp)] == [200, 200, 429]


def test_ipv6_peers_are_trusted_by_their_network(make_agent: Make, key: MintedKey, other_key: MintedKey) -> None:
    agent = make_agent(bundle_for(key, other_key), "memory", "--listen", "[::1]:0", "--trusted-proxies", "::/64")
    agent.start_without_policies()
    port = wait_until("the port", lambda: port_in(agent.log), 15)
    connection = http.client.HTTPConnection("::1", port, timeout=30)
    statuses = []
    for _ in range(3):
        connection.request("GET", "/v1/authz", headers={"x-api-key": key.text, "x-forwarded-uri": "/orders",
                                                        "x-forwarded-for": "2001:db8::9"})
        reply = connection.getresponse()
        reply.read()
        statuses.append(reply.status)
    connection.close()
    assert statuses == [200, 200, 429]


def port_in(log: Path) -> int:
    """The port that the log says checks are served on; 0 until it does."""
    for line in log.read_text().splitlines():
        entry = json.loads(line) if line.startswith("{") else {}
        if entry.get("event") == "listening" and entry.get("listener") == "checks":
            return int(entry["port"])
    return 0
