"""Carries out a plan, and puts together what happened."""

import contextlib
import http.client
import itertools
import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Optional

from simulator.plan import Plan, Step, Writer
from simulator.record import Burst, Claim, Run, Wrote, read_log
from simulator.rig import Programs, Replicas, SwarmProcess, in_parallel, now_us
from simulator.validator import Load

BURSTS = 2
CLIENTS = 4        # of a burst
SETTLE = 60.0      # seconds: longer than the longest wait of anybody who comes back
QUIET = 5.0        # two heartbeats


class Driver:
    """One run of a plan."""

    def __init__(self, plan: Plan, replicas: Replicas, swarm: SwarmProcess) -> None:
        self.plan = plan
        self.replicas = replicas
        self.swarm = swarm
        self.done: list[Wrote] = []
        self.faults: Counter[str] = Counter()
        self.claims: list[Claim] = []
        self._over = threading.Event()
        self.figures: dict[str, object] = {}
        self._failure: Optional[BaseException] = None
        self._later: list[threading.Timer] = []

    def run(self, base: tuple[int, str]) -> Run:
        """All of it."""
        self.note("first states", self.swarm.converged(self.replicas.position()[0], SETTLE))
        begin = time.monotonic()
        asking = threading.Thread(target=self._ask_for_claims)
        asking.start()
        lanes = [threading.Thread(target=self._lane, args=(begin, steps, act))
                 for steps, act in ((self.plan.writes, self._write), (self.plan.faults, self._break))]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()
        try:
            self._mend()
        finally:
            self._over.set()
            asking.join()
        if self._failure is not None:
            raise self._failure
        bursts = [self._burst(number) for number in range(BURSTS)]
        time.sleep(QUIET)
        self.note("converged at the end", self.swarm.converged(self.replicas.position()[0], SETTLE))
        head = self.replicas.head()
        self.claims.append(self.replicas.enforcement(0, head[0], "10s"))
        shown = self.replicas.fleet()
        history = self.replicas.history(base)
        finals = self.swarm.finals()
        return Run(self.swarm.scopes, read_log(self.swarm.events), history, head, self.done, bursts, self.replicas.export(),
                   finals, self.claims, shown, dict(self.faults))

    def _ask_for_claims(self) -> None:
        """All the time, of a revision that is new: whether all agents enforce it."""
        for turn in itertools.count():
            if self._over.wait(0.05):
                return
            if self.done:
                with contextlib.suppress(OSError, http.client.HTTPException, AssertionError):   # a replica that is down
                    number = turn % len(self.replicas.servers)
                    self.claims.append(self.replicas.enforcement(number, self.done[-1].revision, "4s"))

    def note(self, what: str, seconds: Optional[float]) -> None:
        """A figure of the run."""
        self.figures[what] = "never" if seconds is None else f"{seconds:.2f} s"

    def _lane(self, begin: float, steps: tuple[Step, ...], act: Callable[[Step], None]) -> None:
        try:
            for step in steps:
                if self._failure is not None:
                    return
                time.sleep(max(0.0, begin + step.at - time.monotonic()))
                act(step)
        except BaseException as failure:   # pylint: disable=broad-exception-caught
            self._failure = failure

    def _write(self, step: Step) -> None:
        if len(step.calls) > 1:
            self.done += in_parallel(self.replicas, step.calls, CLIENTS)
            return
        writer = self.replicas.writer()
        try:
            self.done.append(writer.write(step.calls[0]))
        finally:
            writer.close()

    def _break(self, step: Step) -> None:
        getattr(self, f"_do_{step.fault}")(step)
        self.faults[step.fault] += 1

    def _after(self, seconds: float, *words: object, of: Callable[..., object]) -> None:
        timer = threading.Timer(seconds, of, words)
        timer.start()
        self._later.append(timer)

    def _do_cut_share(self, step: Step) -> None:
        self.replicas.balancer.ask("cut", "share", step.amount)

    def _do_cut_agent(self, step: Step) -> None:
        self.replicas.balancer.ask("cut", "agent", f"swarm-{step.target}")

    def _do_hold_agent(self, step: Step) -> None:
        self.replicas.balancer.ask("hold", "agent", f"swarm-{step.target}")
        self._after(step.amount, "release", "agent", f"swarm-{step.target}", of=self.replicas.balancer.ask)

    def _do_hold_replica(self, step: Step) -> None:
        self.replicas.balancer.ask("hold", "backend", f"r{step.target}")
        time.sleep(step.amount)
        self.replicas.balancer.ask("release", "backend", f"r{step.target}")

    def _do_kill_replica(self, step: Step) -> None:
        self.replicas.servers[step.target].kill9()
        time.sleep(step.amount)
        self.replicas.bring_back(step.target)

    def _do_end_replica(self, step: Step) -> None:
        code = self.replicas.servers[step.target].stop()
        assert code == 0, f"the server ended with {code} after SIGTERM (log {self.replicas.servers[step.target].log})"
        time.sleep(step.amount)
        self.replicas.bring_back(step.target)

    def _do_kill_postgres(self, step: Step) -> None:
        self.replicas.postgres.kill9()
        time.sleep(step.amount)
        self.replicas.postgres.restart()

    def _do_restart_postgres(self, step: Step) -> None:
        self.replicas.postgres.stop()
        time.sleep(step.amount)
        self.replicas.postgres.start()

    def _do_tamper(self, step: Step) -> None:
        """Changes content behind the servers' backs: there is no revision, and only one of them reads it."""
        self.replicas.database.execute(
            "UPDATE policies SET document = replace(document::text, 'mark', 'muck')::json"
            " WHERE (tenant_id, id) = (SELECT tenant_id, id FROM policies ORDER BY tenant_id, id LIMIT 1)")
        self._do_kill_replica(Step(step.at, (), "kill_replica", 0, step.amount))

    def _do_restart_agent(self, step: Step) -> None:
        self.swarm.ask("kill", step.target)
        self._after(step.amount, "restart", step.target, of=self.swarm.ask)

    def _do_fresh_agent(self, step: Step) -> None:
        self.swarm.ask("leave", step.target)
        self._after(step.amount + 1.2, "start", step.target, of=self.swarm.ask)

    def _do_refuse(self, step: Step) -> None:
        self.swarm.ask("refuse", step.target, int(step.amount))

    def _do_late(self, step: Step) -> None:
        self.swarm.ask("late", step.target, int(step.amount))

    def _mend(self) -> None:
        """Nothing is broken any more. A state for everybody, so that whoever was told to refuse one has done so."""
        for timer in self._later:
            timer.join()
        self.replicas.ready()
        if self._failure is None:
            writer = self._writer(0)
            self.done += in_parallel(self.replicas, [writer.put_policy(tenant) for tenant in writer.tenants], CLIENTS)
            self.note("converged after the faults", self.swarm.converged(self.replicas.position()[0], SETTLE))
        self.swarm.ask("refuse", "all", 0)
        self.swarm.ask("late", "all", 0)

    def _writer(self, number: int) -> Writer:
        """For writes that come after those of the plan."""
        tenants = {tenant["id"]: tenant["organization_id"] for tenant in self.plan.bundle["tenants"]}
        return Writer(random.Random(f"{self.plan.seed} {number}"), [], tenants, {name: [] for name in tenants},
                      {name: [] for name in tenants}, 1_000_000 * (number + 1))

    def _burst(self, number: int) -> Burst:
        """Writes as fast as they go, in peace."""
        size = self.plan.size
        calls = self._writer(number + 1).burst(size.burst)
        time.sleep(0.3)   # longer than a window: what was before has nothing to do with it
        begin = now_us()
        done = in_parallel(self.replicas, calls, CLIENTS)
        self.done += done
        last = max(write.acknowledged_us for write in done)
        self.note(f"converged after burst {number + 1}", self.swarm.converged(max(write.revision for write in done), SETTLE))
        time.sleep(0.3)
        return Burst(begin, last, now_us(), size.burst)


def load_of(plan: Plan) -> Load:
    """What a run of this plan must have had at the least."""
    size = plan.size
    wanted = Counter(step.fault for step in plan.faults)
    writes = sum(len(step.calls) for step in plan.writes) + BURSTS * size.burst + len(plan.bundle["tenants"])
    return Load(agents=size.agents, writes=writes, applies=3, swaps_per_agent=min(10.0, len(plan.writes) / 20),
                deltas=2 * size.agents, adopted=size.agents, refused=min(1, wanted["refuse"]),
                lost_watches=size.agents // 2 if wanted else 0, faults=dict(wanted), bursts=BURSTS,
                claims=3)


def run_plan(plan: Plan, folder: Path, programs: Programs, *, durable: bool = False,
             threads: int = 1) -> tuple[Run, dict[str, object]]:
    """Starts everything, carries it out, and ends everything. What is left of it is in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plan.json").write_text(json.dumps(asdict(plan), indent=1))
    replicas = Replicas(programs, folder, plan.size.replicas, durable=durable, seed=plan.seed)
    try:
        tokens = replicas.setup(plan)
        base = replicas.position()
        swarm = SwarmProcess(programs, replicas, plan, tokens, threads=threads)
        try:
            driver = Driver(plan, replicas, swarm)
            run = driver.run(base)
        finally:
            _close(swarm.close)
    finally:
        _close(replicas.close)
    return run, driver.figures


def _close(close: Callable[[], None]) -> None:
    """Complaints at the end do not hide why the end came."""
    if sys.exc_info()[0] is None:
        close()
        return
    try:
        close()
    except AssertionError as failure:
        print(f"also: {failure}", file=sys.stderr)
