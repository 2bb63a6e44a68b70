"""A restart storm: all agents of one token start at once, and agents of other tenants do not wait for them."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from simulator.commanded import Commanded
from simulator.rig import Programs
from support.admin import AdminClient, fresh_id
from support.bundle import many_policies
from support.process import memory_of
from support.server import Server

pytestmark = pytest.mark.alone   # times of a storm

FULL = os.environ.get("SLUICE_ISOLATION_FULL") == "1"
AGENTS = 1000 if FULL else 200
OTHERS = 10
POLICIES = 2000
MEMORY = 512 << 20   # bytes; the server's limit in k8s/base


class Agents:
    """`with Agents(...)`: so many agents of one token, all started at once without a state."""

    def __init__(self, server: Server, folder: Path, token: str, count: int) -> None:
        name = fresh_id("agents")
        names = folder / f"{name}.txt"
        names.write_text("".join(f"{name}-{number} {token}\n" for number in range(count)), encoding="utf-8")
        self._swarm = Commanded([Programs.newest().swarm, "--server", f"http://127.0.0.1:{server.port}", "--agents", names,
                                 "--events", folder / f"{name}.jsonl"], folder / f"{name}.log")
        self._began = time.monotonic()

    def __enter__(self) -> "Agents":
        return self

    def __exit__(self, *_: object) -> None:
        self._swarm.close()

    def served(self, revision: int, within: float) -> float:
        """Waits until all have the policies of this revision and are told of newer ones; the seconds since they started."""
        while True:
            summary = self._swarm.ask("summary", revision)
            took = time.monotonic() - self._began
            if summary["at"] == summary["connected"] == summary["agents"]:
                return took
            assert took < within, f"after {took:.1f} s: {summary}"
            time.sleep(0.02)


def tenant_with_policies(admin: AdminClient, policies: int) -> tuple[str, int]:
    """An agent token of a new tenant with so many policies, and their revision."""
    tenant = admin.tenant()
    organization = admin.get(f"/tenants/{tenant}").body["organization_id"]
    applied = admin.post("/apply", many_policies(tenant, organization, policies))
    assert applied.status == 200, applied
    token = admin.create("/agent-tokens", {"name": fresh_id("token"), "tenant_ids": [tenant]})["token"]
    return str(token), int(admin.get("/revision").body["revision"])


@pytest.mark.timeout(280)
def test_a_restart_storm_is_served_and_delays_no_other_tenant(
        make_server: Callable[..., Server], tmp_path: Path, sanitized: bool, slack: Callable[[float], float]) -> None:
    server = make_server().start()
    with server.admin() as admin:
        noisy, revision = tenant_with_policies(admin, POLICIES)
        other, others_revision = tenant_with_policies(admin, 10)
    with Agents(server, tmp_path, other, OTHERS) as before:
        quiet = before.served(others_revision, slack(2))
    with Agents(server, tmp_path, noisy, AGENTS) as storm, Agents(server, tmp_path, other, OTHERS) as others:
        took_others = others.served(others_revision, slack(2))
        took_storm = storm.served(revision, slack(30))
    most = memory_of(server.process.pid, "VmHWM")
    print(f"    {AGENTS} agents served in {took_storm:.2f} s, {OTHERS} of another tenant in {took_others:.2f} s (quiet: {quiet:.2f} s); "
          f"server at most {most >> 20} MiB")
    if not sanitized:
        assert most <= MEMORY
