"""examples/beast_server: a server with the engine inside, under real clients."""

import http.client
import json
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.process import Process, free_port, wait_until
from support.program import findings, program_path

SECONDS = 30.0


def bundle(orders: int) -> str:
    """So many orders an hour for each user, and two reports at a time."""
    return json.dumps({"format": "sluice/v1", "tenants": [{"id": "shop"}], "policies": [
        {"tenant_id": "shop", "id": "orders", "scope": {"resource": "GET:/orders/{id}"}, "key_by": ["subject"],
         "limits": [{"name": "rate", "algorithm": "fixed_window", "limit": orders, "window": "1h", "align": "first"}]},
        {"tenant_id": "shop", "id": "reports", "scope": {"resource": "GET:/report"}, "key_by": ["subject"],
         "limits": [{"name": "places", "algorithm": "concurrency", "limit": 2, "lease_ttl": "1h"}]}]})


class Site:
    """The server."""

    def __init__(self, folder: Path, address: str = "127.0.0.1") -> None:
        self.policies = folder / "policies.json"
        self.policies.write_text(bundle(3))
        self.port = free_port()
        self.process = Process([str(program_path("sluice-agent").with_name("beast_server")), f"{address}:{self.port}", str(self.policies)],
                               folder / "site.log")
        wait_until("the server", lambda: "listening" in self.process.output(), SECONDS)

    def get(self, path: str, user: str = "ada", of: str = "127.0.0.1") -> tuple[int, str, dict[str, str]]:
        """Status, text and headers. The caller has the address `of`, and calls the server's of the same family."""
        server = "::1" if ":" in of else "127.0.0.1"
        connection = http.client.HTTPConnection(server, self.port, timeout=SECONDS, source_address=(of, 0))
        connection.request("GET", path, headers={"x-user": user} if user else {})
        answer = connection.getresponse()
        found = answer.status, answer.read().decode(), {name.lower(): value for name, value in answer.getheaders()}
        connection.close()
        return found

    def ask_for_report(self, user: str = "ada") -> socket.socket:
        """A caller who waits for a report of a minute."""
        caller = socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)
        caller.sendall(f"GET /report?ms=60000 HTTP/1.1\r\nhost: x\r\nx-user: {user}\r\n\r\n".encode())
        return caller


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """The server, running."""
    made = Site(tmp_path)
    yield made
    assert made.process.end() == 0
    assert findings(made.process.log) == []


def problem_of(answer: tuple[int, str, dict[str, str]]) -> dict[str, Any]:
    """The body of a denial."""
    assert answer[2]["content-type"] == "application/problem+json"
    return dict(json.loads(answer[1]))


def test_callers_get_what_the_policy_says_by_the_pattern_of_the_route(site: Site) -> None:
    for number in range(3):
        status, text, headers = site.get(f"/orders/{number}")
        assert (status, text) == (200, f"{number} is on its way\n")
        assert headers["x-ratelimit-limit"] == "3" and headers["x-ratelimit-remaining"] == str(2 - number)
    denied = site.get("/orders/another")
    assert denied[0] == 429 and 0 < int(denied[2]["retry-after"]) <= 3600
    assert denied[2]["x-ratelimit-remaining"] == "0" and problem_of(denied)["status"] == 429
    assert site.get("/orders/1", user="grace")[0] == 200
    assert [site.get("/healthz")[0] for _ in range(5)] == [200] * 5
    assert "x-ratelimit-limit" not in site.get("/healthz")[2]
    assert site.get("/nothing")[0] == 404


def test_callers_without_a_name_are_told_apart_by_their_address(tmp_path: Path) -> None:
    # A socket for both families, where a caller of IPv4 looks like one of IPv6.
    site = Site(tmp_path, "::")
    for of in ("127.0.0.1", "127.0.0.2", "::1"):
        assert [site.get("/orders/1", user="", of=of)[0] for _ in range(4)] == [200, 200, 200, 429], of
    # The policy may count by the address, too.
    policies = json.loads(bundle(2))
    policies["policies"][0]["key_by"] = ["source_ip"]
    site.policies.write_text(json.dumps(policies))
    site.process.send(signal.SIGHUP)
    wait_until("the new policies", lambda: "read again" in site.process.output(), SECONDS)
    for of in ("127.0.0.1", "127.0.0.2", "::1"):
        assert [site.get("/orders/1", of=of)[0] for _ in range(3)] == [200, 200, 429], of
    assert site.process.end() == 0
    assert findings(site.process.log) == []


def test_policies_change_while_it_runs(site: Site) -> None:
    assert [site.get("/orders/1")[0] for _ in range(4)] == [200, 200, 200, 429]
    site.policies.write_text(bundle(5))
    site.process.send(signal.SIGHUP)
    wait_until("the new policies", lambda: "read again" in site.process.output(), SECONDS)
    assert [site.get("/orders/1")[0] for _ in range(3)] == [200, 200, 429]
    site.policies.write_text("{")
    site.process.send(signal.SIGHUP)
    wait_until("the fault", lambda: "line 1" in site.process.output(), SECONDS)
    assert site.get("/orders/1")[0] == 429


def test_a_lease_ends_with_the_answer_and_when_the_caller_leaves(site: Site) -> None:
    assert [site.get("/report?ms=1")[0] for _ in range(6)] == [200] * 6, "each gives its place back"
    callers = [site.ask_for_report() for _ in range(2)]
    wait_until("both places to be taken", lambda: site.get("/report?ms=0")[0] == 429, SECONDS)
    assert site.get("/report?ms=0", user="grace")[0] == 200
    callers[0].close()
    wait_until("the place of who has left", lambda: site.get("/report?ms=0")[0] == 200, SECONDS)
    callers[1].close()


@pytest.mark.parametrize(("words", "text"), [([], "ADDRESS:PORT"), (["127.0.0.1:0", "/none"], "/none"), (["nowhere:1", "policies"], "nowhere:1")])
def test_what_it_cannot_use_is_named(tmp_path: Path, words: list[str], text: str) -> None:
    (tmp_path / "policies").write_text(bundle(1))
    process = Process([str(program_path("sluice-agent").with_name("beast_server")), *words], tmp_path / "log", cwd=tmp_path)
    assert process.wait(SECONDS) != 0
    assert text in process.output()
