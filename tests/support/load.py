"""Steady load on an agent from one thread: many keep-alive connections, one request in flight on each, all measured."""

import json
import selectors
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Optional

from support.agent import Agent
from support.process import starved_seconds, wait_until


finished: list["Load"] = []   # all loads of this process that have ended, for the table of faults


@dataclass
class Sample:
    """One request and what became of it. Times are seconds of time.monotonic()."""

    sent: float
    unanswered: float        # when there was no answer yet, for certain: up to here the wait was the agent's
    answered: float          # when we had read it
    status: int              # 0: never answered
    body: dict[str, Any]
    request_id: str
    plan: str
    starved: float = 0.0     # how long the agent was ready to work meanwhile and other programs had the processors

    @property
    def seconds(self) -> float:
        """How long the answer took, with the time we needed to notice it."""
        return self.answered - self.sent

    @property
    def least_seconds(self) -> float:
        """What of that was the agent's own at least, however slow we and the machine were."""
        return max(0.0, self.unanswered - self.sent - self.starved)

    @property
    def reason(self) -> str:
        """Why it was allowed or not."""
        return str(self.body.get("reason", ""))


@dataclass
class _Connection:
    socket: socket.socket
    received: bytes = b""
    sent: float = 0.0
    starved: float = 0.0
    request_id: str = ""
    plan: str = ""
    busy: bool = False


@dataclass
class Load:
    """`with Load(...)`: fires until the block is left; then `samples` is complete.

    `body(number)` makes the fields of the request of that number: `plan_id` and whatever else. Requests go out at
    `rate` a second as far as a connection is free; none is given up before `patience` seconds.
    """

    agent: Agent
    key: str
    body: Callable[[int], dict[str, Any]]
    connections: int = 32
    rate: float = 1000.0
    patience: float = 20.0
    samples: list[Sample] = field(default_factory=list)
    sent: int = 0   # requests
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: Optional[threading.Thread] = None
    _failure: Optional[BaseException] = None
    _starved: float = 0.0   # of the agent, as last seen

    def __enter__(self) -> "Load":
        self._thread = threading.Thread(target=self._guarded, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        assert self._thread is not None
        self._thread.join(self.patience + 30)
        finished.append(self)
        if self._failure is not None:
            raise self._failure

    def _guarded(self) -> None:
        try:
            self._run()
        except BaseException as failure:  # carried over to the test's own thread
            self._failure = failure

    def _run(self) -> None:
        selector = selectors.DefaultSelector()
        idle = deque(self._open(selector) for _ in range(self.connections))   # each in turn, so that the agent closes none as idle
        number, due = 0, time.monotonic()
        looked = due   # when we last looked for answers: one that comes now was not there then
        while not self._stop.is_set() or len(idle) < self.connections:
            now = time.monotonic()
            while idle and due <= now and not self._stop.is_set():
                self._send(idle.popleft(), number)
                number += 1
                due = max(due + 1 / self.rate, now - 0.05)
            before, looked = looked, time.monotonic()
            self._starved = starved_seconds(self.agent.process.pid)
            for ready, _ in selector.select(max(0.0, min(0.005, due - now)) if idle else 0.005):
                connection: _Connection = ready.data
                if self._receive(connection, selector, before):
                    idle.append(connection)
            self._give_up(selector)
        for mapped in list(selector.get_map().values()):
            mapped.data.socket.close()
        selector.close()

    def _open(self, selector: selectors.BaseSelector) -> _Connection:
        opened = socket.create_connection(("127.0.0.1", self.agent.port), timeout=10)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = _Connection(opened)
        selector.register(opened, selectors.EVENT_READ, connection)
        return connection

    def _send(self, connection: _Connection, number: int) -> None:
        fields = self.body(number)
        connection.request_id, connection.plan = f"n{number}", str(fields.get("plan_id", ""))
        text = json.dumps({**fields, "request_id": connection.request_id}).encode()
        head = (f"POST /v1/check HTTP/1.1\r\nHost: localhost\r\nx-api-key: {self.key}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n").encode()
        connection.busy, connection.sent, connection.starved = True, time.monotonic(), self._starved
        self.sent += 1
        connection.socket.sendall(head + text)

    def _receive(self, connection: _Connection, selector: selectors.BaseSelector, looked: float) -> bool:
        """Reads what is there; true once the connection is free again. `looked`: when nothing was there yet."""
        try:
            data = connection.socket.recv(65536)
        except OSError:
            data = b""
        if not data:
            self._lost(connection, selector)
            return False
        connection.received += data
        head, found, rest = connection.received.partition(b"\r\n\r\n")
        if not found:
            return False
        length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        if len(rest) < length:
            return False
        connection.received = rest[length:]
        body = json.loads(rest[:length])
        self.samples.append(Sample(connection.sent, looked, time.monotonic(), int(head.split(b" ", 2)[1]), body,
                                   connection.request_id, connection.plan, self._starved - connection.starved))
        connection.busy = False
        return True

    def _lost(self, connection: _Connection, selector: selectors.BaseSelector) -> None:
        selector.unregister(connection.socket)
        connection.socket.close()
        self.samples.append(Sample(connection.sent, time.monotonic(), time.monotonic(), 0, {"reason": "closed"},
                                   connection.request_id, connection.plan))
        raise AssertionError("the agent closed a connection with a request in flight on it" if connection.busy else
                             "the agent closed an idle connection under load")

    def _give_up(self, selector: selectors.BaseSelector) -> None:
        now = time.monotonic()
        for mapped in list(selector.get_map().values()):
            connection: _Connection = mapped.data
            if connection.busy and now - connection.sent > self.patience:
                raise AssertionError(f"request {connection.request_id} had no answer for {self.patience:g} s")

    def wait_past(self, moment: float) -> None:
        """Until a request was answered that was sent after a moment (time.monotonic())."""
        wait_until("the load", lambda: any(sample.sent > moment for sample in self.samples[-self.connections:]),
                   max(0.0, moment - time.monotonic()) + self.patience)

    def reasons(self, since: float = 0.0, until: float = float("inf")) -> Counter[str]:
        """Reasons of the requests sent within a span of time."""
        return Counter(sample.reason for sample in self.samples if since <= sample.sent < until)

    def slowest(self) -> list[float]:
        """What each answer took of the agent's time at least, the longest first."""
        return sorted((sample.least_seconds for sample in self.samples), reverse=True)

    def percentile(self, percent: float) -> float:
        """What an answer took as we saw it."""
        ordered = sorted(sample.seconds for sample in self.samples)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]
