"""A primary, two replicas and three sentinels for a test; and a sentinel that lies."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Optional, Union

from support.process import Process, all_of, free_port, wait_until
from support.redis_server import RedisServer
from support.resp import RedisError, Reply, RespConnection

NAME = "shop.primary"


class Sentinel:
    """One sentinel with a folder and a configuration of its own."""

    def __init__(self, folder: Path, lines: Sequence[str], password: str = "", tls_port: int = 0) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.port = free_port()
        self.tls_port = tls_port   # 0: no TLS
        self.password = password
        self._config = folder / "sentinel.conf"   # the sentinel rewrites it
        self._config.write_text("\n".join([f"port {self.port}", *([f"tls-port {tls_port}"] if tls_port else []),
                                           "bind 127.0.0.1", f"dir {folder}", *lines]) + "\n")
        self._process: Optional[Process] = None

    def start(self) -> None:
        """Starts it, also again, with times that suit a test."""
        command = ["redis-server", str(self._config), "--sentinel"]
        self._process = Process(command, self.folder / "sentinel.log", cwd=self.folder)
        wait_until(f"the sentinel in {self.folder}", self._answers)
        # A replica is good enough for five of these periods. The leader of a failover looks for the new role once a second,
        # and after four publish periods the other sentinels would make the new primary a replica again.
        self.cli("SENTINEL", "DEBUG", "INFO-PERIOD", 300, "PING-PERIOD", 200, "PUBLISH-PERIOD", 500, "ASK-PERIOD", 100,
                 "MIN-LINK-RECONNECT-PERIOD", 100)

    def _answers(self) -> bool:
        assert self._process is not None and self._process.alive(), (self.folder / "sentinel.log").read_text()
        with contextlib.suppress(OSError):
            return self.cli("PING") == "PONG"
        return False

    def cli(self, *words: Union[str, int]) -> Reply:
        """One command on a connection of its own."""
        connection = RespConnection(("127.0.0.1", self.port), self.password)
        try:
            return connection.command(*words)
        finally:
            connection.close()

    def primary(self) -> int:
        """The port that it names."""
        found = self.cli("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)
        assert isinstance(found, list)
        return int(str(found[1]))

    def about(self) -> dict[str, str]:
        """What SENTINEL MASTER says."""
        words = self.cli("SENTINEL", "MASTER", NAME)
        assert isinstance(words, list)
        return {str(words[i]): str(words[i + 1]) for i in range(0, len(words), 2)}

    def kill9(self) -> None:
        """Dies at once."""
        assert self._process is not None
        self._process.kill()

    def stop(self) -> None:
        """Ends it; does nothing where it is not running."""
        if self._process is not None and self._process.alive():
            self._process.end(5)


class SentinelSet:
    """Nodes and sentinels, ready for a failover. `password`: of the data nodes. `sentinel_password`: of the sentinels.

    `tls`: options of a listener for TLS on each node and sentinel. Then the sentinels and replicas use TLS only, and the
    sentinels name the nodes' TLS ports; the ports without TLS stay open for the tests.
    """

    def __init__(self, folder: Path, password: str = "", sentinel_password: str = "",
                 node_options: Sequence[str] = (), sentinel_lines: Sequence[str] = (), tls: Sequence[str] = ()) -> None:
        options = ["--repl-diskless-sync-delay", "0", "--replica-announce-ip", "127.0.0.1", *node_options]
        if password:
            options += ["--masterauth", password]
        if tls:
            tls = [*tls, "--tls-replication", "yes"]
        self._tls_ports = [free_port() if tls else 0 for _ in range(3)]
        self.nodes = [RedisServer(folder / f"node{i}", tcp=True, password=password,
                                  options=[*options, *tls, *(["--tls-port", str(port)] if tls else [])])
                      for i, port in enumerate(self._tls_ports)]
        lines = [f"sentinel monitor {NAME} 127.0.0.1 {self.port_of(self.nodes[0])} 1",
                 f"sentinel failover-timeout {NAME} 3000", f"sentinel parallel-syncs {NAME} 2", *sentinel_lines,
                 *(f"{name[2:]} {value}" for name, value in zip(tls[::2], tls[1::2]))]
        if password:
            lines.append(f"sentinel auth-pass {NAME} {password}")
        if sentinel_password:
            lines += [f"requirepass {sentinel_password}", f"sentinel sentinel-pass {sentinel_password}"]
        # One sentinel notices a dead primary before the others do, and one is enough to begin a failover. So votes are
        # never split, which would cost six seconds.
        self.sentinels = [Sentinel(folder / f"sentinel{i}",
                                   [*lines, f"sentinel down-after-milliseconds {NAME} {500 + 400 * i}"], sentinel_password,
                                   tls_port=free_port() if tls else 0)
                          for i in range(3)]

    def port_of(self, node: RedisServer) -> int:
        """The port that the sentinels name."""
        return self._tls_ports[self.nodes.index(node)] or node.port

    def start(self) -> "SentinelSet":
        """Starts all of them and waits until a failover would work."""
        for node in self.nodes:
            node.launch()
        for node in self.nodes:
            wait_until("a node", lambda node=node: _pings(node))   # type: ignore[misc]
        for node in self.nodes[1:]:
            node.cli("REPLICAOF", "127.0.0.1", self.port_of(self.nodes[0]))
        for sentinel in self.sentinels:
            sentinel.start()
        self.wait_until_formed()
        return self

    def wait_until_formed(self, replicas: int = 2) -> None:
        """Until the sentinels know each other and replicas that follow the primary."""

        def knows_all(sentinel: Sentinel) -> bool:
            about = sentinel.about()
            return (int(about["num-other-sentinels"]) == 2 and about["flags"] == "master"
                    and self.sound_replicas(sentinel) >= replicas)

        wait_until("the sentinels to know all", lambda: all_of(self.sentinels, knows_all), 30)

    @staticmethod
    def sound_replicas(sentinel: Sentinel) -> int:
        """How many replicas it knows that follow the primary."""
        found = sentinel.cli("SENTINEL", "REPLICAS", NAME)
        assert isinstance(found, list)
        sound = 0
        for words in found:
            assert isinstance(words, list)
            fields = {str(words[i]): str(words[i + 1]) for i in range(0, len(words), 2)}
            sound += fields["flags"] == "slave" and fields.get("master-link-status") == "ok"
        return sound

    def primary(self) -> RedisServer:
        """The node that the first living sentinel names."""
        port = self.sentinels[0].primary()
        return next(node for node in self.nodes if self.port_of(node) == port)

    def replicas(self) -> list[RedisServer]:
        """The others."""
        primary = self.primary()
        return [node for node in self.nodes if node is not primary]

    def url(self, user: str = "", sentinels: Optional[Sequence[int]] = None) -> str:
        """The value for --counters. `user`: USER:PASSWORD@."""
        ports = [sentinel.tls_port or sentinel.port for sentinel in self.sentinels] if sentinels is None else sentinels
        scheme = "rediss" if self.sentinels[0].tls_port else "redis"
        return f"{scheme}+sentinel://{user}" + ",".join(f"127.0.0.1:{port}" for port in ports) + f"/{NAME}"

    def failover(self) -> float:
        """SENTINEL FAILOVER; when most of the sentinels name another primary, as time.monotonic()."""
        before = self.port_of(self.primary())
        leader = self.sentinels[0]

        def promoted() -> bool:
            if leader.primary() == before and "failover_in_progress" not in leader.about()["flags"]:
                with contextlib.suppress(RedisError):   # no replica is good enough yet
                    leader.cli("SENTINEL", "FAILOVER", NAME)
            return self._names_another(self.sentinels, before)

        wait_until("a failover", promoted, 30)
        return time.monotonic()

    def wait_for_promotion(self, before: int, sentinels: Optional[Sequence[Sentinel]] = None) -> float:
        """When most of these sentinels name a primary on another port than `before`."""
        wait_until("a promotion", lambda: self._names_another(sentinels or self.sentinels, before), 30)
        return time.monotonic()

    @staticmethod
    def _names_another(sentinels: Sequence[Sentinel], before: int) -> bool:
        return 2 * sum(each.primary() != before for each in sentinels) > len(sentinels)

    def close(self) -> None:
        """Ends all of them."""
        for sentinel in self.sentinels:
            sentinel.stop()
        for node in self.nodes:
            node.close()


def _pings(node: RedisServer) -> bool:
    with contextlib.suppress(OSError, RedisError):
        return node.cli("PING") == "PONG"
    return False


class LyingSentinel:
    """Answers like a sentinel of Redis 7, except about the primary: there it says `answer(command)`, in RESP."""

    def __init__(self, answer: Callable[[str], bytes]) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.asked = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), connection, connection.makefile("rb") as reader:
            while line := reader.readline():
                words = []
                for _ in range(int(line[1:])):
                    size = int(reader.readline()[1:])
                    words.append(reader.read(size + 2)[:-2].decode())
                connection.sendall(self._reply(words))

    def _reply(self, words: list[str]) -> bytes:
        command = " ".join(words[:2]).upper()
        if words[0] == "INFO":
            return bulk("redis_version:7.0.15\r\n" if words[1] == "server" else "")
        if command.startswith("SENTINEL"):
            self.asked += 1
            return self._answer(words[1].upper())
        if command.startswith(("SUBSCRIBE", "UNSUBSCRIBE")):
            return b"*3\r\n" + bulk(words[0].lower()) + bulk(words[1]) + b":1\r\n"
        return b"+OK\r\n"

    def close(self) -> None:
        """Ends it."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def bulk(text: str) -> bytes:
    """A string in RESP."""
    return f"${len(text)}\r\n{text}\r\n".encode()


def names(port: int) -> Callable[[str], bytes]:
    """A lie: this port of the loopback is the primary, by an epoch that nobody beats."""

    def answer(command: str) -> bytes:
        if command == "MASTER":
            return b"*4\r\n" + bulk("flags") + bulk("master") + bulk("config-epoch") + bulk("999999")
        return b"*2\r\n" + bulk("127.0.0.1") + bulk(str(port))

    return answer
