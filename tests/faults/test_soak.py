"""A Cluster under mixed load, with faults chosen by a seed, one after the other: nothing leaks, and no invariant breaks.

SLUICE_SOAK_SECONDS (12) says how long, SLUICE_FAULTS_SEED which faults.
"""

import os
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, concurrency, token_bucket, window
from support.cluster import Cluster, answers, role, slot_of
from support.faults import Fault
from support.load import Load, finished
from support.process import all_of, wait_until
from support.redis_server import RedisServer

SECONDS = float(os.environ.get("SLUICE_SOAK_SECONDS", "12"))
SEED = os.environ.get("SLUICE_FAULTS_SEED", "1")
LIMIT = 20
SUBJECTS = 8        # few, so that each asks for more than its limit several times over
BACK_WITHIN = 2.0   # seconds after the last fault
DECIDED = {"within_limit", "limit_exceeded"}
ANSWERS = {(200, "within_limit"), (429, "limit_exceeded"), (503, "fail_closed"), (503, "overload")}
PLANS = ("limited", "logged", "leased", "closed")


class Faults:
    """What can happen to a Cluster. All of it, in an order by the seed, and then again in another one.

    `losses` counts how often a node took over that may lack charges of the former one.
    """

    def __init__(self, cluster: Cluster, chosen: random.Random) -> None:
        self._cluster = cluster
        self._random = chosen
        self._due: list[Callable[[], None]] = []
        self.losses = 0
        self.happened: Counter[str] = Counter()

    def one(self) -> bool:
        """The next one; returns when the Cluster is whole again. True: it was the last of all that can happen."""
        if not self._due:
            self._due = [self.kill, self.freeze, self.fail_over, self.move, self.flush_scripts, self.drop_connections, self.delay]
            self._random.shuffle(self._due)
        fault = self._due.pop()
        self.happened[fault.__name__] += 1
        fault()
        return not self._due

    def pause(self) -> float:
        """Seconds until the next one."""
        return self._random.uniform(0.1, 1.0)

    def _primary(self) -> RedisServer:
        primaries = self._cluster.primaries()
        return self._random.choice([node for node in self._cluster.nodes if node in primaries])

    def kill(self) -> None:
        """A primary dies. Its replica takes over, and it comes back as a replica."""
        killed = self._primary()
        replica = self._cluster.replica_of(killed)
        self.losses += 1
        killed.kill9()
        wait_until("the promotion", lambda: role(replica) == "master", 30)
        killed.launch()
        wait_until("the killed node", lambda: answers(killed), 30)
        self._cluster.wait_until_healthy()

    def freeze(self) -> None:
        """A primary answers nothing for a while. On a busy machine that may be long enough for a failover."""
        frozen = self._primary()
        frozen.pause()
        time.sleep(self._random.uniform(0.02, 0.6))
        frozen.resume()
        self._cluster.wait_until_healthy()
        self.losses += frozen not in self._cluster.primaries()

    def fail_over(self) -> None:
        """A replica takes over, and nothing is lost."""
        self._cluster.fail_over(self._cluster.replica_of(self._primary()))
        self._cluster.wait_until_healthy()

    def move(self) -> None:
        """A slot that is in use gets another node."""
        slot = slot_of(f"sl:{{acme|subject=s{self._random.randrange(SUBJECTS)}}}")
        self._cluster.move(slot, self._primary())

    def flush_scripts(self) -> None:
        """A node forgets all scripts."""
        self._primary().cli("SCRIPT", "FLUSH")

    def drop_connections(self) -> None:
        """A node closes the connections of all clients."""
        self._primary().cli("CLIENT", "KILL", "TYPE", "normal")

    def delay(self) -> None:
        """A node lets everybody wait."""
        self._primary().cli("CLIENT", "PAUSE", self._random.randrange(10, 400), "ALL")


def used(agent: Agent) -> tuple[int, int, int]:
    """Memory in KiB, descriptors and threads of an agent."""
    process = Path(f"/proc/{agent.process.pid}")
    memory = next(int(line.split()[1]) for line in (process / "status").read_text().splitlines() if line.startswith("VmRSS:"))
    return memory, len(list((process / "fd").iterdir())), len(list((process / "task").iterdir()))


@pytest.mark.timeout(300 + 2 * SECONDS)
@pytest.mark.fault("soak", topology="cluster", least=2000)
def test_faults_in_any_order_break_no_invariant_and_leak_nothing(
        key: MintedKey, make_agent: Callable[..., Agent], tmp_path: Path, fault: Fault, sanitized: bool) -> None:
    bundle = Bundle().key(key)
    bundle.plan("limited", window("fixed_window", LIMIT, "1d", align="first"))
    bundle.plan("logged", window("sliding_window_log", LIMIT, "1d"))
    bundle.plan("leased", concurrency(LIMIT, "1h"))
    bundle.plan("closed", token_bucket(300_000, "1/1h"))
    with Cluster(tmp_path / "cluster") as cluster:
        agent = make_agent(bundle, cluster.counters, "--workers", "2", "--redis-deadline", "250ms").start()

        def decides(number: int) -> bool:
            with agent.client(key.text) as client:
                return client.check(plan_id="closed", subject=f"s{number}", cost=0).body["reason"] == "within_limit"

        def body(number: int) -> dict[str, object]:
            return {"plan_id": PLANS[number // SUBJECTS % len(PLANS)], "subject": f"s{number % SUBJECTS}"}

        wait_until("decisions by all nodes", lambda: all_of(range(SUBJECTS), decides))
        with Load(agent, key.text, lambda number: {**body(number), "subject": f"warm{number % SUBJECTS}"}, rate=400) as warm:
            wait_until("what is allocated once", lambda: len(warm.samples) > 800, 30)
        finished.clear()      # it does not count
        wait_until("closed connections", lambda: agent.metric("sluice_http_open_connections") <= 1)
        before = used(agent)
        faults = Faults(cluster, random.Random(SEED))
        try:
            with Load(agent, key.text, body, rate=400) as load:
                ends = time.monotonic() + SECONDS
                while not faults.one() or time.monotonic() < ends:
                    time.sleep(faults.pause())
                ended = time.monotonic()
                wait_until("requests after it is normal", lambda: load.samples[-1].sent > ended + BACK_WITHIN + 1, 30)
        finally:
            print(f"seed {SEED}: {dict(faults.happened)}")
        assert {(sample.status, sample.reason) for sample in load.samples} <= ANSWERS
        # Every worker has a breaker of its own for each node: normal is when the last of them is closed again.
        fault.recovered(max([0.0, *(sample.sent - ended for sample in load.samples if sample.reason not in DECIDED)]), BACK_WITHIN)
        assert 2 * sum(load.reasons()[reason] for reason in DECIDED) > len(load.samples), load.reasons()
        for sample in load.samples:
            assert (sample.body["plan_id"], sample.body["request_id"]) == (sample.plan, sample.request_id)
        for plan in ("limited", "logged", "leased"):
            admitted = Counter(int(sample.request_id[1:]) % SUBJECTS for sample in load.samples
                               if sample.plan == plan and sample.reason == "within_limit")
            fault.admitted(max(admitted.values(), default=0), LIMIT * (1 + faults.losses), least=LIMIT)
        wait_until("as many descriptors as before", lambda: used(agent)[1] <= before[1], 30)   # idle nodes are left after 10 to 20 s
        after = used(agent)
    assert after[2] == before[2]
    if not sanitized:   # AddressSanitizer gives no memory back
        assert after[0] <= before[0] * 1.15 + 2048, f"KiB before and after: {before[0]}, {after[0]}"
