"""Two real agents that follow one server, and how soon their decisions show what was written."""

import threading
import time
from typing import Any

from bench.rig import Rig
from support.admin import AdminClient, bucket
from support.agent import Agent
from support.process import all_of, wait_until
from support.server import Server
from simulator.figures import quantile
from simulator.history import Scope
from simulator.rig import Programs, Replicas, now_us

AGENTS = 2
PATIENCE = 10.0   # seconds for one write


class Watcher:
    """Asks one agent for decisions all the time, and notes when each mark was seen first."""

    def __init__(self, agent: Agent, key: str) -> None:
        self.seen: dict[str, int] = {}
        self._stop = threading.Event()
        self._client = agent.client(key)
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def _ask(self) -> None:
        while not self._stop.is_set():
            answer = self._client.check(resource="GET:/probe", subject="bench")
            at = now_us()
            mark = (answer.body.get("metadata") or {}).get("mark") if isinstance(answer.body, dict) else None
            if mark is not None:
                self.seen.setdefault(mark, at)
            time.sleep(0.0005)

    def close(self) -> None:
        """Ends."""
        self._stop.set()
        self._thread.join()
        self._client.close()


def write_all(admin: AdminClient, watchers: list[Watcher], count: int) -> dict[str, int]:
    """One mark after the other, each when all have seen the one before: the revision of each."""
    revisions = {}
    for number in range(count):
        mark = str(number)
        answer = admin.patch("/policies/probe", {"metadata": {"mark": mark}}, tenant="shop")
        assert answer.status == 200, answer
        revisions[mark] = int(answer.body["revision"])
        wait_until("a write to be enforced", lambda mark=mark: all_of(watchers, lambda watcher: mark in watcher.seen), PATIENCE)
        time.sleep(0.15 + 0.013 * (number % 10))   # longer than a window: nothing is going on when the next one comes
    return revisions


def latencies_ms(server: Server, revisions: dict[str, int], watchers: list[Watcher]) -> list[float]:
    """From when a revision was taken, just before its commit, to the first decision that shows it."""
    offset = time.time_ns() // 1000 - now_us()
    rows = server.database.execute("SELECT revision, (extract(epoch FROM made_at) * 1000000)::bigint FROM versions")
    made = {int(revision): int(at) - offset for revision, at in rows}
    return [(watcher.seen[mark] - made[revision]) / 1000 for watcher in watchers for mark, revision in revisions.items()]


def enforced_by_agents(rig: Rig, count: int) -> dict[str, Any]:
    """Idle but for these writes."""
    folder = rig.folder / "sync-real"
    folder.mkdir()
    programs = Programs(rig.program("sluice-server"), rig.program("sluice_swarm"), rig.program("sluice_balancer"))
    replicas = Replicas(programs, folder, 1, durable=True)
    agents: list[Agent] = []
    watchers: list[Watcher] = []
    try:
        server = replicas.servers[0]
        with server.admin() as admin:
            admin.create("/organizations", {"id": "acme"})
            admin.create("/tenants", {"id": "shop", "organization_id": "acme"})
            admin.create("/plans", bucket(id="pro", bucket_capacity=1_000_000, refill_rate_per_sec=1_000_000), tenant="shop")
            probe = {"scope": {"resource": "GET:/probe"}, "plan_id": "pro", "key_by": ["subject"], "metadata": {"mark": "none"}}
            assert admin.put("/policies/probe", probe, tenant="shop").status == 201
            key = str(admin.create("/keys", {"tenant_id": "shop", "name": "bench"})["key"])
            token = folder / "agent-token"
            token.write_text(Replicas.agent_token(admin, Scope()))
            token.chmod(0o600)
            for number in range(AGENTS):
                flags = ["--server", f"http://127.0.0.1:{server.port}", "--agent-token-file", str(token), "--agent-id",
                         f"bench-{number}", "--workers", "1"]
                agents.append(Agent(rig.program("sluice-agent"), folder / f"agent{number}", None, "memory", flags).start())
            watchers += [Watcher(agent, key) for agent in agents]
            wait_until("the first decisions", lambda: all_of(watchers, lambda watcher: "none" in watcher.seen), 30)
            revisions = write_all(admin, watchers, count)
        found = latencies_ms(server, revisions, watchers)
    finally:
        for watcher in watchers:
            watcher.close()
        for agent in agents:
            agent.close()
        replicas.close()
    return {"writes": count, "agents": AGENTS, "p50_ms": quantile(found, 0.5), "p99_ms": quantile(found, 0.99),
            "max_ms": max(found)}
