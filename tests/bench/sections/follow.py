"""An agent that follows a server: memory, the time of a swap, and the latency of checks while policies change among very many."""

import json
import threading
import time
from pathlib import Path

from bench.policies import write_bundle
from bench.report import Report, median, number
from bench.rig import Rig
from bench.sections.idle import memory_mb
from support.agent import Agent
from support.bundle import MintedKey, mint_key
from support.postgres import PostgresServer
from support.process import wait_until
from support.reload import events
from support.server import Installation, Server

ORDER = 62
ABOUT = "an agent that follows a server: memory, swaps, checks while 100,000 policies change"
PROGRAMS = ["sluice-server", "sluice-agent"]

MANY = 100_000
SIDECAR = 10_000
ELSEWHERE = "elsewhere"   # a tenant outside of the agents' scope
ROUNDS = 5   # the median of as many counts
PAUSE_S = 0.1


class Changes:
    """Writes policies of a tenant one after another, each to another one, for as long as the block lasts."""

    def __init__(self, server: Server, tenant: str, first: int) -> None:
        self._server, self._tenant, self._next = server, tenant, first
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.count = 0

    def __enter__(self) -> "Changes":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(60)

    def _run(self) -> None:
        with self._server.admin() as admin:
            while not self._ended.is_set():
                answer = admin.patch(f"/policies/p{self._next + self.count}", {"priority": 1 + self.count % 9},
                                     tenant=self._tenant)
                assert answer.status == 200, answer
                self.count += 1
                self._ended.wait(PAUSE_S)


def apply(rig: Rig, server: Server, key: MintedKey, count: int, keys: int) -> None:
    """Gives the server so many policies and keys."""
    bundle = json.loads(write_bundle(rig.folder / "followed.json", count, keys=keys, key=key).read_text())
    bundle["organizations"] = [{"id": "acme"}]
    for tenant in bundle["tenants"]:
        tenant["organization_id"] = "acme"
    for policy in bundle["policies"]:
        del policy["version"]
    # What no agent here hears of.
    bundle["tenants"].append({"id": ELSEWHERE, "organization_id": "acme"})
    bundle["plans"] += [plan | {"tenant_id": ELSEWHERE} for plan in bundle["plans"]]
    bundle["policies"] += [policy | {"tenant_id": ELSEWHERE} for policy in bundle["policies"][:SIDECAR]]
    with server.admin(timeout=600) as admin:
        answer = admin.post("/apply", bundle)
        assert answer.status == 200, answer


def follow(rig: Rig, server: Server, name: str) -> Agent:
    """An agent that is up to date."""
    token = rig.folder / "agent-token"
    with server.admin() as admin:
        if not token.exists():
            token.write_text(admin.create("/agent-tokens", {
                "name": "bench", "organization_id": "acme", "tenant_ids": ["bench"]})["token"])
            token.chmod(0o600)
        newest = admin.get("/revision").body["revision"]
    agent = Agent(rig.program("sluice-agent"), rig.folder / name, None, "memory",
                  ["--workers", "1", "--server", f"http://127.0.0.1:{server.port}", "--agent-token-file", str(token),
                   "--agent-id", name, "--snapshot-cache", str(rig.folder / f"{name}.snapshot")]).start()
    # What it is given first may be older than what the server has answered.
    wait_until("policies", lambda: any(event["revision"] >= newest for event in events(agent, "snapshot_loaded")), 120)
    return agent


def measure_memory(rig: Rig, report: Report, server: Server, key: MintedKey) -> None:
    """What policies and keys cost an agent."""
    empty = follow(rig, server, "empty")
    before = memory_mb(empty.process)["own"]
    empty.close()
    apply(rig, server, key, SIDECAR, SIDECAR)
    agent = follow(rig, server, "sidecar")
    wait_until("the file of what is in force", lambda: any(
        kept.stat().st_size > 1_000_000 for kept in rig.folder.glob("sidecar.snapshot.[12]")))
    after = memory_mb(agent.process)["own"]
    agent.close()
    start_alone(rig, report, "sidecar", key)
    report.raw["follow_memory"] = {"before_mb": before, "after_mb": after}
    report.measured(f"an agent with {SIDECAR:,} policies and keys that follows", f"{number(after)} MB",
                    f"{number(after - before)} MB more than without")


def start_alone(rig: Rig, report: Report, name: str, key: MintedKey) -> None:
    """From the start of the process to its first decision, by what an agent of this name kept, while no server answers."""
    found: list[float] = []
    for turn in range(ROUNDS):
        agent = Agent(rig.program("sluice-agent"), rig.folder / f"{name}-alone-{turn}", None, "memory",
                      ["--workers", "1", "--server", "http://127.0.0.1:1", "--agent-token-file", str(rig.folder / "agent-token"),
                       "--snapshot-cache", str(rig.folder / f"{name}.snapshot")])
        begin = time.monotonic()
        agent.launch()
        wait_until("a decision", lambda agent=agent: decides(agent, key))
        found.append(time.monotonic() - begin)
        agent.close()
    report.raw["follow_start_s"] = found
    report.at_most(f"started without its server, with {SIDECAR:,} policies and keys: from exec to a decision", 100,
                   median(found) * 1000, "ms")


def decides(agent: Agent, key: MintedKey) -> bool:
    """Whether it decides by policies."""
    try:
        with agent.client(key.text) as client:
            return client.check(resource="GET:/orders", subject="first").status == 200
    except OSError:
        return False


def p99_ms(rounds: list[dict[str, float]]) -> str:
    """The median round's."""
    return number(median(each["p99_us"] for each in rounds) / 1000)


def measure_changes(rig: Rig, report: Report, server: Server, key: MintedKey) -> None:
    """The same load with changes of what the agent enforces, and with as many of what it does not, in turns: all that differs
    is the agent's work."""
    agent = follow(rig, server, "many")
    whole = events(agent, "snapshot_loaded")[-1]
    seconds = 2 if rig.quick else 5
    still, calm, busy, changes = [], [], [], 0
    rig.wrk(agent.port, 16, 1, key.text)   # does not count
    for turn in range(ROUNDS):
        still.append(rig.wrk(agent.port, 16, seconds, key.text))
        with Changes(server, ELSEWHERE, 10 + turn * 1000):
            calm.append(rig.wrk(agent.port, 16, seconds, key.text))
        with Changes(server, "bench", 10 + turn * 1000) as made:
            busy.append(rig.wrk(agent.port, 16, seconds, key.text))
        changes += made.count
    deltas = [event for event in events(agent, "snapshot_loaded") if event["revision"] > whole["revision"]]
    report.raw["follow_changes"] = {"still": still, "calm": calm, "busy": busy, "swaps": deltas}
    report.measured(f"the whole state of {MANY:,} policies: validated and compiled, then decided by", f"{whole['load_ms']} ms",
                    f"{number(float(whole['swap_ms']))} ms")
    report.measured(f"a change among {MANY:,}: compiled, then decided by",
                    f"median {number(median(float(event['load_ms']) for event in deltas))} ms",
                    f"{number(median(float(event['swap_ms']) for event in deltas))} ms", f"{len(deltas)} swaps")
    ratio = median(one["p99_us"] / other["p99_us"] for one, other in zip(busy, calm))
    report.at_most(f"p99 of checks while {changes} of {MANY:,} policies change, to p99 while as many of others do", 1.5, ratio,
                   measured=f"{p99_ms(busy)} ms to {p99_ms(calm)} ms; nothing written: {p99_ms(still)} ms")
    report.measured(f"the agent's memory with {MANY:,} policies and {SIDECAR:,} keys, after {len(deltas)} swaps",
                    f"{number(memory_mb(agent.process)['own'])} MB")
    agent.close()


def run(rig: Rig, report: Report) -> None:
    """One PostgreSQL, one server, one agent at a time."""
    postgres = PostgresServer(Path(rig.folder) / "postgres-follow").start()
    try:
        made = Installation.make(rig.program("sluice-server"), postgres)
        server = Server(rig.program("sluice-server"), rig.folder / "server-follow", made.database, made.token, []).start()
        try:
            key = mint_key(rig.program("sluice-agent"))
            with server.admin() as admin:
                tenants = [{"id": tenant, "organization_id": "acme"} for tenant in ("bench", ELSEWHERE)]
                document = {"format": "sluice/v1", "organizations": [{"id": "acme"}], "tenants": tenants}
                assert admin.post("/apply", document).status == 200
            measure_memory(rig, report, server, key)
            apply(rig, server, key, MANY, SIDECAR)
            measure_changes(rig, report, server, key)
        finally:
            server.close()
    finally:
        postgres.close()
