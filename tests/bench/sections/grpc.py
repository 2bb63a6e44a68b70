"""What one agent spends on a decision over gRPC, for Envoy and for other proxies, beside a check over HTTP."""

import statistics
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.report import Report, median, number
from bench.rig import Rig, h2load
from support.agent import Agent
from support.bundle import Bundle, MintedKey, mint_key
from support.grpc_client import DECISIONS, message, message_class
from support.process import cpu_us, free_port
from support.rate_limits import write_config

from envoy.service.auth.v3 import external_auth_pb2 as auth   # of xds-protos

ORDER = 20
ABOUT = "CPU of a decision over gRPC, of Envoy's calls and of /v1/authz, to that of a check over HTTP"
PROGRAMS = ["sluice-agent"]

CONNECTIONS = 64
LIMITS = "envoy.service.ratelimit.v3.RateLimitService"
AUTHORIZATION = "envoy.service.auth.v3.Authorization"
SEVERAL = 10
CLIENT = "203.0.113.9"
ATOMIC = "atomic"
GRPC_HEADERS = ("-H", "content-type: application/grpc", "-H", "te: trailers", "-H", "grpc-timeout: 10S")
ENVOY_HEADERS = ("-H", "x-envoy-internal: true", "-H", "x-forwarded-for: 192.0.2.2", "-H", "x-envoy-expected-rq-timeout-ms: 10000")
CHECK, AUTHZ = "check over HTTP, 64 connections", "/v1/authz, 64 connections"
GRPC, GRPC_ONE = "check over gRPC, 64 connections", "check over gRPC, 64 calls at a time on one connection"
EXT_AUTHZ = "ext_authz over gRPC, 64 connections"


def limits_name(count: int, streams: int, decision: str = "") -> str:
    """The name of a call of Envoy's rate limit service. `decision`: of --rls-decision, if it is not the usual one."""
    how = "64 connections" if streams == 1 else "64 calls at a time on one connection"
    return f"{count} descriptor{'s' if count > 1 else ''} for Envoy, {decision + ', ' if decision else ''}{how}"


@dataclass
class Way:
    """One kind of request; `drive` sends it for so many seconds and returns how many were answered."""

    name: str
    agent: Agent
    drive: Callable[[float], int]

    def cpu(self, seconds: float) -> float:
        """µs of the agent's CPU for each. A limit must have admitted all of them: a refusal is cheaper."""
        decided = self._admitted()
        before = cpu_us(self.agent.process.pid)
        answered = self.drive(seconds)
        used = cpu_us(self.agent.process.pid) - before
        if self._admitted() - decided < answered:
            raise RuntimeError(f"{self.name}: not every request was admitted by a limit")
        return used / answered

    def _admitted(self) -> float:
        return (self.agent.metric("sluice_decisions_total", outcome="allowed", reason="within_limit")
                + self.agent.metric("sluice_ratelimit_descriptors_total", outcome="ok"))


class Caller:
    """Makes the ways of asking one agent."""

    def __init__(self, agent: Agent, grpc_port: int, key: MintedKey, folder: Path) -> None:
        self._agent, self._port, self._folder = agent, grpc_port, folder
        self._key = ("-H", f"x-api-key: {key.text}")

    def http(self, name: str, path: str, *options: object) -> Way:
        """Over HTTP/1.1."""
        url = f"http://127.0.0.1:{self._agent.port}{path}"
        return Way(name, self._agent, lambda seconds: h2load(url, CONNECTIONS, 1, seconds, "--h1", *self._key, *options))

    def grpc(self, name: str, method: str, request: Any, streams: int, metadata: Sequence[str] = ()) -> Way:
        """64 calls at a time, with so many of them on one connection. All must end with the status OK. `metadata`: in place of the key."""
        body, file = request.SerializeToString(), self._folder / f"{name.replace(' ', '-').replace('/', '-')}.bin"
        file.write_bytes(b"\0" + struct.pack(">I", len(body)) + body)
        url = f"http://127.0.0.1:{self._port}/{method}"

        def drive(seconds: float) -> int:
            ended = self._ended(method)
            answered = h2load(url, CONNECTIONS // streams, streams, seconds, "-d", file, *GRPC_HEADERS, *(metadata or self._key))
            if self._ended(method) - ended < answered:
                raise RuntimeError(f"{name}: not every call ended with OK")
            return answered

        return Way(name, self._agent, drive)

    def _ended(self, method: str) -> float:
        return self._agent.metric("sluice_grpc_requests_total", method=method, code="OK")

    def rate_limits(self, descriptors: int, streams: int, decision: str = "", rules: bool = False) -> Way:
        """A call of Envoy's rate limit service. `rules`: each descriptor has a rule of its own."""
        request = message_class("envoy.service.ratelimit.v3.RateLimitRequest")(domain="bench", descriptors=[
            {"entries": [{"key": f"rule{i}" if rules else "user", "value": f"user:{i:06}"}]} for i in range(descriptors)])
        name = limits_name(descriptors, streams, decision) + (", each with a rule of its own" if rules else "")
        return self.grpc(name, f"{LIMITS}/ShouldRateLimit", request, streams)

    def ext_authz(self) -> Way:
        """A call of Envoy's external authorization for a small request, with all that Envoy 1.40 sends. The client is that of /v1/authz."""
        headers = {":method": "GET", ":path": "/orders", ":authority": "shop.example", ":scheme": "http", "user-agent": "curl/8.5.0",
                   "accept": "*/*", "x-forwarded-proto": "http", "x-request-id": "7a1f0c52-5d0e-4f6f-9d53-0a4f9f4f1f0a",
                   "x-forwarded-for": CLIENT, "x-envoy-external-address": CLIENT}
        asked = {"id": "6310394135727696178", "method": "GET", "path": "/orders", "host": "shop.example", "scheme": "http",
                 "protocol": "HTTP/1.1", "headers": headers}
        request = auth.CheckRequest(attributes={
            "source": {"address": {"socket_address": {"address": CLIENT, "port_value": 40000}}},
            "destination": {"address": {"socket_address": {"address": "192.0.2.7", "port_value": 8080}}},
            "request": {"time": {"seconds": 1_795_694_006, "nanos": 365_646_000}, "http": asked},
            "metadata_context": {}, "route_metadata_context": {}})
        return self.grpc(EXT_AUTHZ, f"{AUTHORIZATION}/Check", request, 1, ENVOY_HEADERS)

    def ways(self) -> list[Way]:
        """All of them."""
        asked = message("CheckRequest", resource="GET:/orders", subject="user:000001", cost=1)
        body = self._folder / "check.json"
        body.write_text('{"resource":"GET:/orders","subject":"user:000001","cost":1}')
        made = [self.http(CHECK, "/v1/check", "-d", body, "-H", "content-type: application/json"),
                self.grpc(GRPC, f"{DECISIONS}/Check", asked, 1),
                self.grpc(GRPC_ONE, f"{DECISIONS}/Check", asked, CONNECTIONS),
                self.http(AUTHZ, "/v1/authz", "-H", "x-original-method: GET", "-H", "x-original-uri: /orders",
                          "-H", f"x-forwarded-for: {CLIENT}")]
        made += [self.rate_limits(count, streams) for streams in (1, CONNECTIONS) for count in (1, SEVERAL)]
        return [*made, self.rate_limits(SEVERAL, CONNECTIONS, rules=True), self.ext_authz()]


def rate_limit_config() -> str:
    """One rule for all users, and rules of different units and numbers, none of which is ever reached here."""
    rules = [("user", "year", 4_000_000_000)]
    rules += [(f"rule{i}", ("day", "week", "month", "year")[i % 4], 4_000_000_000 - i) for i in range(SEVERAL)]
    return "domain: bench\ndescriptors:\n" + "".join(
        f"  - {{key: {key}, rate_limit: {{unit: {unit}, requests_per_unit: {most}}}}}\n" for key, unit, most in rules)


def bundle_for(key: MintedKey) -> Bundle:
    """A limit that one subject never reaches here."""
    limit = {"name": "burst", "algorithm": "token_bucket", "capacity": 1_000_000_000, "refill": "1000/1s"}
    return Bundle("acme").plan("bench", limit).policy("orders", {"resource": "GET:/orders"}, "bench").key(key)


def quartiles(values: list[float]) -> str:
    """Of the rounds; of one round only its number."""
    if len(values) < 2:
        return number(values[0])
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"quartiles {number(low)} to {number(high)}"


def judge(name: str, found: dict[str, list[float]], report: Report) -> None:
    """The targets; a ratio is taken within a round, and the median counts."""
    def bound(what: str, most: float, one: str, other: str) -> None:
        ratios = [a / b for a, b in zip(found[one], found[other])]
        report.at_most(f"{what}, counters in {name}", most, median(ratios), "×", quartiles(ratios))

    bound("a check over gRPC, 64 connections, to one over HTTP", 1.5, GRPC, CHECK)
    bound("a check over gRPC, 64 calls at a time on one connection, to one over HTTP with 64 connections", 1.5, GRPC_ONE, CHECK)
    for streams in (1, CONNECTIONS):
        for decision in ("", ATOMIC):
            several, one = (limits_name(count, streams, decision) for count in (SEVERAL, 1))
            bound(f"{several}, to one", 2.5, several, one)
    bound("/v1/authz to a check over HTTP", 1.1, AUTHZ, CHECK)
    bound("ext_authz over gRPC to a check over gRPC", 1.1, EXT_AUTHZ, GRPC)


def run(rig: Rig, report: Report) -> None:
    """Each round asks in every way once; every second round goes backwards."""
    key = mint_key(rig.program("sluice-agent"))
    bundle = bundle_for(key).write(rig.folder / "grpc.json")
    key_file = rig.folder / "grpc-key"
    key_file.write_text(key.text + "\n")
    limits = write_config(rig.folder / "rate-limits", bench=rate_limit_config())
    seconds = 1 if rig.quick else 2
    with rig.redis("redis-grpc") as redis:
        for name, counters in (("memory", "memory"), ("Redis", redis.counters)):
            ports = free_port(), free_port()
            flags = ["--ratelimit-config", str(limits), "--trusted-proxies", "127.0.0.1", "--authz-key-file", str(key_file)]
            found: dict[str, list[float]] = {}
            with rig.agent(f"agent-grpc-{name}", bundle, key, counters, *flags, "--grpc", f"127.0.0.1:{ports[0]}") as agent, \
                    rig.agent(f"agent-atomic-{name}", bundle, key, counters, *flags, "--grpc", f"127.0.0.1:{ports[1]}",
                              "--rls-decision", ATOMIC) as atomic:
                ways = Caller(agent, ports[0], key, rig.folder).ways()
                all_or_none = Caller(atomic, ports[1], key, rig.folder)
                ways += [all_or_none.rate_limits(count, streams, ATOMIC) for streams in (1, CONNECTIONS) for count in (1, SEVERAL)]
                for way in ways:
                    way.drive(1)  # warms up, and does not count
                for turn in range(rig.rounds):
                    for way in ways[::-1] if turn % 2 else ways:
                        found.setdefault(way.name, []).append(way.cpu(seconds))
            report.raw[f"grpc, {name}"] = found
            for what, rounds in found.items():
                report.measured(f"{what}, counters in {name}", f"agent CPU {number(median(rounds))} µs", quartiles(rounds))
            judge(name, found, report)
