"""A request through each proxy of docs/proxies: without a limiter, with the proxy's own one, and with Sluice as its page says."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from bench.report import Report, number
from bench.rig import Rig
from proxies.front import App, Front
from proxies.fronts import LimitedEnvoy, proxy_program
from proxies.own import KINDS, Change, Kind, altered
from support.agent import Agent
from support.process import free_port
from support.redis_server import RedisServer

ORDER = 38
ABOUT = "latency of a request through nginx, HAProxy, Traefik, Caddy and Envoy: without a limiter, with their own, with Sluice"
PROGRAMS = ["sluice-agent"]
SETUP = ["proxies"]

MOST = 16
CONNECTIONS = (1, MOST)
TURNS = 3                  # a round
UNREACHED = 1_000_000_000  # a limit, in requests a minute
PLAIN, OWN, SLUICE = "no limiter", "its own limiter", "Sluice"
Figures = dict[str, float]


def ways(kind: Kind) -> dict[str, Optional[Change]]:
    """The contenders; None: the page's configuration as it is."""
    own = {OWN: kind.own(UNREACHED)} if kind.own else {}
    return {PLAIN: kind.alone, **own, SLUICE: None}


def asked(agent: Agent, kind: Kind) -> float:
    """How often this kind of proxy asked the agent so far."""
    return agent.metric("sluice_ratelimit_requests_total" if kind.front is LimitedEnvoy else "sluice_decisions_total")


@dataclass
class World:
    """What all proxies stand between."""

    agent: Agent
    grpc_port: int
    app: App

    @contextlib.contextmanager
    def front(self, kind: Kind, change: Optional[Change], folder: Path) -> Iterator[Front]:
        """This proxy, running."""
        front = altered(kind, change)(proxy_program(kind.front.name), folder, "", agent_port=self.agent.port,
                                      app_port=self.app.port, grpc_port=self.grpc_port)
        front.start()
        try:
            yield front
        finally:
            front.close()


@contextlib.contextmanager
def world(rig: Rig, redis: RedisServer) -> Iterator[World]:
    """An agent that answers every kind of proxy, and an application that answers at once."""
    bundle, key = rig.bundle()
    files = rig.folder / "ratelimit"
    files.mkdir()
    (files / "shop.yaml").write_text(
        "domain: shop\ndescriptors: [{key: user, rate_limit: {unit: hour, requests_per_unit: 1000000000}}]\n")
    key_file = rig.folder / "api-key"
    key_file.write_text(key.text + "\n")
    grpc_port = free_port()
    flags = ["--authz-key-file", str(key_file), "--ratelimit-config", str(files), "--grpc", f"127.0.0.1:{grpc_port}"]
    app = App(proxy_program("nginx"), rig.folder / "app", notes=False)
    with rig.agent("agent-proxies", bundle, key, redis.counters, *flags) as agent:
        try:
            yield World(agent, grpc_port, app.start())
        finally:
            app.close()


def measure(rig: Rig, world_: World, kind: Kind) -> dict[tuple[str, int], list[Figures]]:
    """Drives every way for a second in turn: short turns, so that other work of the machine meets all of them alike."""
    found: dict[tuple[str, int], list[Figures]] = {}
    with contextlib.ExitStack() as running:
        fronts = {way: running.enter_context(world_.front(kind, change, rig.folder / f"{kind.name}-{way}".replace(" ", "-")))
                  for way, change in ways(kind).items()}
        for front in fronts.values():
            rig.wrk(front.port, MOST, 1, script="get.lua")   # warms up, and does not count
        for _ in range(rig.rounds * (1 if rig.quick else TURNS)):
            for connections in CONNECTIONS:
                for way, front in fronts.items():
                    before = asked(world_.agent, kind)
                    figures = rig.wrk(front.port, connections, 1, script="get.lua")
                    times = asked(world_.agent, kind) - before
                    # wrk leaves requests behind that the turn before it has not answered.
                    if times < figures["requests"] if way == SLUICE else times > MOST:
                        raise RuntimeError(f"{kind.name}, {way}: Sluice was asked {times:.0f} times in "
                                           f"{figures['requests']:.0f} requests")
                    found.setdefault((way, connections), []).append(figures)
    return found


def describe(found: dict[tuple[str, int], list[Figures]], way: str, connections: int) -> list[str]:
    """The least latency of all turns, because other work of the machine can only add; and what the limiter adds."""
    def least(figure: str, of: str) -> float:
        return min(turn[figure] for turn in found[of, connections])

    words = []
    for figure, name in (("p50_us", "p50"), ("p99_us", "p99")):
        here, alone = least(figure, way), least(figure, PLAIN)
        more = "" if way == PLAIN else f" ({here - alone:+,.0f} µs, {number(here / alone)} ×)"
        words.append(f"{name} {number(here)} µs{more}")
    return [*words, f"{number(max(turn['rps'] for turn in found[way, connections]))}/s"]


def run(rig: Rig, report: Report) -> None:
    """One proxy after the other, all ways of one beside each other."""
    with rig.redis("redis-proxies") as redis, world(rig, redis) as world_:
        for kind in KINDS:
            found = measure(rig, world_, kind)
            report.raw[f"proxies, {kind.name}"] = {f"{way}, c={connections}": rounds
                                                   for (way, connections), rounds in found.items()}
            for connections in CONNECTIONS:
                for way in ways(kind):
                    report.measured(f"{kind.name}, {way}, c = {connections}", *describe(found, way, connections))
