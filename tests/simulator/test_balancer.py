"""The balancer does what a scenario tells it: a run proves little where cutting does not cut."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.process import wait_until
from simulator.commanded import Commanded
from simulator.rig import Programs

NAMED = b"GET / HTTP/1.1\r\nHost: x\r\nSluice-Agent: swarm-7\r\n\r\n"


class Echo:
    """A server that says its name to whoever comes, and then sends back what it gets."""

    def __init__(self, name: str) -> None:
        self.name = name.encode()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            client.sendall(self.name)
            while data := client.recv(65536):
                client.sendall(data)

    def close(self) -> None:
        """No more come."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def balancer(tmp_path: Path) -> Iterator[Commanded]:
    """One with two backends, a and b."""
    made = Commanded([Programs.newest().balancer, 1], tmp_path / "log")
    echoes = [Echo(name) for name in "ab"]
    for echo in echoes:
        made.ask("backend", echo.name.decode(), echo.port)
    yield made
    made.close()
    for echo in echoes:
        echo.close()


def connect(balancer: Commanded) -> tuple[socket.socket, str]:
    """A connection, and which backend it got."""
    client = socket.create_connection(("127.0.0.1", balancer.greeting["port"]), timeout=10)
    return client, client.recv(1).decode()


def say(client: socket.socket, text: bytes) -> bytes:
    """Sends it, and what comes back; nothing where the connection has ended."""
    try:
        client.sendall(text)
        got = b""
        while len(got) < len(text):
            part = client.recv(65536)
            if not part:
                return b""
            got += part
        return got
    except ConnectionError:
        return b""


def test_connections_go_in_turn_and_much_goes_through(balancer: Commanded) -> None:
    (first, one), (second, other) = connect(balancer), connect(balancer)
    assert {one, other} == {"a", "b"}
    much = bytes(range(256)) * 4096
    sender = threading.Thread(target=first.sendall, args=(much,))
    sender.start()
    got = b""
    while len(got) < len(much):
        got += first.recv(65536)
    sender.join()
    assert got == much and say(second, b"hello") == b"hello"
    stats = balancer.ask("stats")
    assert (stats["open"], stats["accepted"], sum(stats["per_interval"])) == (2, 2, 2)


def test_an_agents_connections_are_cut_and_no_others(balancer: Commanded) -> None:
    (named, _), (other, _) = connect(balancer), connect(balancer)
    assert say(named, NAMED) == NAMED and say(other, b"GET / HTTP/1.1\r\n\r\n")
    assert balancer.ask("cut", "agent", "swarm-7")["cut"] == 1
    assert say(named, b"x") == b"" and say(other, b"x") == b"x"


def test_what_is_held_is_neither_lost_nor_passed_on_until_it_is_released(balancer: Commanded) -> None:
    (named, _), (other, _) = connect(balancer), connect(balancer)
    assert say(named, NAMED) == NAMED
    balancer.ask("hold", "agent", "swarm-7")
    named.sendall(b"later")
    assert say(other, b"x") == b"x"
    named.settimeout(0.3)
    with pytest.raises(TimeoutError):
        named.recv(1)
    balancer.ask("release", "agent", "swarm-7")
    named.settimeout(10)
    assert named.recv(5) == b"later"


def test_a_backend_that_is_away_is_passed_over_and_without_any_the_client_is_closed(balancer: Commanded) -> None:
    gone = Echo("c")
    gone.close()
    balancer.ask("backend", "a", gone.port)
    assert [connect(balancer)[1] for _ in range(4)] == ["b"] * 4
    balancer.ask("remove", "b")
    wait_until("a refusal", lambda: connect(balancer)[1] == "")
    assert balancer.ask("stats")["refused"] >= 1


def test_all_connections_of_a_share_and_of_a_backend_are_cut(balancer: Commanded) -> None:
    clients = [connect(balancer) for _ in range(6)]
    assert balancer.ask("cut", "backend", "a")["cut"] == 3
    assert [say(client, b"x") for client, name in clients if name == "b"] == [b"x"] * 3
    assert balancer.ask("cut", "share", 1.0)["cut"] == 3
    assert all(say(client, b"x") == b"" for client, _ in clients)
