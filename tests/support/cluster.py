"""A Redis Cluster for a test: primaries with a replica each, resharded, failed over and joined at will."""

import contextlib
import re
import time
from collections.abc import Sequence
from pathlib import Path

from support.process import all_of, free_port, wait_until
from support.redis_server import RedisServer
from support.resp import RedisError, Reply

SLOTS = 16384
MANUAL_FAILOVER = 6.0   # seconds; Redis tries for 5 s


def slot_of(key: str) -> int:
    """CRC-16/XMODEM of the hash tag, as Redis computes it."""
    start = key.find("{")
    end = key.find("}", start + 1)
    tag = key[start + 1:end] if start >= 0 and end > start + 1 else key
    crc = 0
    for byte in tag.encode():
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1) ^ 0x1021 if crc & 0x8000 else crc << 1
            crc &= 0xFFFF
    return crc % SLOTS


class Cluster:
    """`primaries` nodes that share the slots evenly, and as many replicas where `replicas` is 1.

    `tls`: options of a listener for TLS on each node, on tls_ports. Such a Cluster has no replicas.
    """

    def __init__(self, folder: Path, *, primaries: int = 3, replicas: int = 1, password: str = "",
                 node_timeout_ms: int = 1000, options: Sequence[str] = (), tls: Sequence[str] = ()) -> None:
        self.folder = folder
        self.password = password
        self._options = ["--cluster-enabled", "yes", "--cluster-node-timeout", str(node_timeout_ms),
                         "--cluster-require-full-coverage", "no", "--repl-diskless-sync-delay", "0",
                         "--cluster-replica-validity-factor", "0", "--cluster-allow-replica-migration", "no",
                         *options]
        if password:
            self._options += ["--masterauth", password]
        self._tls = ["--tls-cluster", "yes", *tls] if tls else []
        self.tls_ports: list[int] = []
        self._primaries = primaries
        self.nodes = [self._make(i) for i in range(primaries * (1 + replicas))]

    def _make(self, number: int) -> RedisServer:
        own = ["--cluster-port", str(free_port())]
        if self._tls:
            self.tls_ports.append(free_port())
            own += [*self._tls, "--tls-port", str(self.tls_ports[-1])]
        return RedisServer(self.folder / f"node{number}", tcp=True, password=self.password, options=[*self._options, *own])

    @property
    def counters(self) -> str:
        """The value for --counters: three nodes of it."""
        user = f":{self.password}@" if self.password else ""
        return f"redis+cluster://{user}" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes[:3])

    def start(self) -> "Cluster":
        """Starts all nodes, gives the slots to the primaries, and waits until all know all and replicas are in step."""
        for node in self.nodes:
            node.launch()
        for node in self.nodes:
            wait_until("a node", lambda node=node: answers(node))   # type: ignore[misc]
        first = self.nodes[0]
        for i, node in enumerate(self.nodes):
            node.cli("CLUSTER", "SET-CONFIG-EPOCH", i + 1)
        for i, node in enumerate(self.nodes[:self._primaries]):
            node.cli("CLUSTER", "ADDSLOTSRANGE", SLOTS * i // self._primaries, SLOTS * (i + 1) // self._primaries - 1)
        for node in self.nodes[1:]:
            meet(node, first)
        wait_until("the nodes to know each other", lambda: all_of(self.nodes, lambda node: len(known(node)) == len(self.nodes)))
        for i, node in enumerate(self.nodes[self._primaries:]):
            self.replicate(node, self.nodes[i])
        self.wait_until_healthy()
        return self

    def wait_until_healthy(self) -> None:
        """Until all nodes see all slots served, and the replicas are in step."""
        wait_until("the Cluster", lambda: all_of(self.nodes, healthy), 30)

    @staticmethod
    def replicate(replica: RedisServer, primary: RedisServer) -> None:
        """Makes a node a replica."""
        replica.cli("CLUSTER", "REPLICATE", node_id(primary))

    def join(self) -> RedisServer:
        """A new primary without slots, that all know."""
        node = self._make(len(self.nodes))
        node.start()
        meet(node, self.nodes[0])
        self.nodes.append(node)
        wait_until("the nodes to know the new one",
                   lambda: all_of(self.nodes, lambda each: len(known(each)) == len(self.nodes) and healthy(each)))
        return node

    def owner(self, slot: int) -> RedisServer:
        """The primary of a slot, as the first living node says."""
        return self._at(owner_port(self._alive(), slot))

    def primaries(self) -> list[RedisServer]:
        """All nodes that have slots."""
        ports = {int(str(entry[2][1])) for entry in slots(self._alive())}   # type: ignore[index]
        return [self._at(port) for port in sorted(ports)]

    def replica_of(self, primary: RedisServer) -> RedisServer:
        """A replica of it that is in step."""
        connected = re.search(r"slave0:ip=[^,]*,port=(\d+),state=online", str(primary.cli("INFO", "replication")))
        assert connected, f"{primary.port} has no replica"
        return self._at(int(connected.group(1)))

    def _alive(self) -> RedisServer:
        return next(node for node in self.nodes if answers(node))

    def _at(self, port: int) -> RedisServer:
        return next(node for node in self.nodes if node.port == port)

    def begin_move(self, slot: int, target: RedisServer) -> RedisServer:
        """The first half of a migration: who asks for an absent key is sent to the target. Returns the source."""
        source = self.owner(slot)
        target.cli("CLUSTER", "SETSLOT", slot, "IMPORTING", node_id(source))
        source.cli("CLUSTER", "SETSLOT", slot, "MIGRATING", node_id(target))
        return source

    def move_keys(self, slot: int, source: RedisServer, target: RedisServer) -> None:
        """Moves what the slot holds."""
        auth: list[str] = ["AUTH", self.password] if self.password else []
        port = self.tls_ports[self.nodes.index(target)] if self.tls_ports else target.port
        while keys := source.cli("CLUSTER", "GETKEYSINSLOT", slot, 50):
            assert isinstance(keys, list)
            source.cli("MIGRATE", "127.0.0.1", port, "", 0, 5000, *auth, "KEYS", *[str(key) for key in keys])

    def end_move(self, slot: int, target: RedisServer) -> None:
        """The second half: the target has the slot. The target is told first, so that the slot always has an owner."""
        owner = node_id(target)
        primaries = self.primaries()
        for node in [target, *[each for each in primaries if each is not target]]:
            node.cli("CLUSTER", "SETSLOT", slot, "NODE", owner)
        # A target of the next move that has not heard of this one's epoch would lose its slot again.
        wait_until("the nodes to agree", lambda: len({view(node) for node in primaries}) == 1)

    def move(self, slot: int, target: RedisServer) -> None:
        """A whole migration of one slot."""
        if self.owner(slot) is target:
            return
        source = self.begin_move(slot, target)
        self.move_keys(slot, source, target)
        self.end_move(slot, target)

    def move_all(self, moved: Sequence[int], target: RedisServer) -> None:
        """Migrates many slots to one node."""
        if not moved:
            return
        first, *rest = moved
        self.move(first, target)   # gives the target the highest epoch; so the other slots need no agreement in between
        primaries, owner = self.primaries(), node_id(target)
        others = {node.port: node.connect() for node in primaries if node is not target}
        own = target.connect()
        for slot in rest:
            source = self._at(owner_port(target, slot))
            if source is target:
                continue
            own.command("CLUSTER", "SETSLOT", slot, "IMPORTING", node_id(source))
            others[source.port].command("CLUSTER", "SETSLOT", slot, "MIGRATING", owner)
            self.move_keys(slot, source, target)
            for connection in [own, *others.values()]:
                connection.command("CLUSTER", "SETSLOT", slot, "NODE", owner)
        for connection in [own, *others.values()]:
            connection.close()
        wait_until("the nodes to agree", lambda: len({view(node) for node in primaries}) == 1, 60)

    def fail_over(self, replica: RedisServer) -> None:
        """CLUSTER FAILOVER: the replica takes over, and nothing is lost."""
        asked = float("-inf")

        def promoted() -> bool:
            nonlocal asked
            if role(replica) == "master":
                return True
            # Redis may give a manual failover up after its time, for example when it got no votes. Then ask again.
            if time.monotonic() - asked > MANUAL_FAILOVER:
                asked = time.monotonic()
                replica.cli("CLUSTER", "FAILOVER")
            return False

        wait_until("the failover", promoted, 5 * MANUAL_FAILOVER)

    def stop(self) -> None:
        """Ends all nodes."""
        for node in self.nodes:
            node.close()

    def __enter__(self) -> "Cluster":
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_: object) -> None:
        self.stop()


def answers(node: RedisServer) -> bool:
    """Whether it takes commands."""
    with contextlib.suppress(OSError, RedisError):
        return node.cli("PING") == "PONG"
    return False


def meet(node: RedisServer, other: RedisServer) -> None:
    """Introduces a node to another one. The Cluster's own port is in the options."""
    node.cli("CLUSTER", "MEET", "127.0.0.1", other.port, bus_port(other))


def bus_port(node: RedisServer) -> int:
    """Where the nodes talk to each other."""
    found = node.cli("CONFIG", "GET", "cluster-port")
    assert isinstance(found, list)
    return int(str(found[1]))


def node_id(node: RedisServer) -> str:
    """Its name in the Cluster."""
    return str(node.cli("CLUSTER", "MYID"))


def known(node: RedisServer) -> list[str]:
    """The nodes that it knows and has shaken hands with."""
    return [line for line in str(node.cli("CLUSTER", "NODES")).splitlines() if "handshake" not in line]


def view(node: RedisServer) -> frozenset[str]:
    """Which node has which epoch and which slots, as this one sees it."""
    found = set()
    for line in str(node.cli("CLUSTER", "NODES")).splitlines():
        words = line.split()
        found.add(" ".join([words[0], words[6], *[word for word in words[8:] if not word.startswith("[")]]))
    return frozenset(found)


def slots(node: RedisServer) -> list[Reply]:
    """CLUSTER SLOTS."""
    found = node.cli("CLUSTER", "SLOTS")
    assert isinstance(found, list)
    return found


def owner_port(node: RedisServer, slot: int) -> int:
    """The port of the slot's primary, as this node says."""
    for entry in slots(node):
        assert isinstance(entry, list)
        if int(str(entry[0])) <= slot <= int(str(entry[1])):
            return int(str(entry[2][1]))   # type: ignore[index]
    raise AssertionError(f"slot {slot} has no owner")


def role(node: RedisServer) -> str:
    """master or slave."""
    found = node.cli("ROLE")
    assert isinstance(found, list)
    return str(found[0])


def healthy(node: RedisServer) -> bool:
    """Whether it sees all slots served, and is in step with its primary where it is a replica."""
    state = "cluster_state:ok" in str(node.cli("CLUSTER", "INFO"))
    replication = str(node.cli("INFO", "replication"))
    return state and ("role:master" in replication or "master_link_status:up" in replication)
