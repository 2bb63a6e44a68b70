"""What agent and server take in a cluster, idle and under 500 checks a second, beside what the manifests ask for them."""

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from support.installed import SYSTEM, App, Installed, MakeApp
from support.kube import TESTS
from support.process import cpu_us

RATE = 500
SECONDS = 20.0


@dataclass
class Footprint:
    """Of one process, over some seconds."""

    rss_mib: float
    millicores: float

    def __str__(self) -> str:
        return f"{self.rss_mib:.1f} MiB, {self.millicores:.1f}m CPU"


def measure(pids: dict[str, int], during: Callable[[], None]) -> dict[str, Footprint]:
    """What these processes take while something goes on."""
    begin, before = time.monotonic(), {name: cpu_us(pid) for name, pid in pids.items()}
    during()
    elapsed = time.monotonic() - begin
    found = {}
    for name, pid in pids.items():
        rss = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
        found[name] = Footprint(int(rss.split()[1]) / 1024, (cpu_us(pid) - before[name]) / elapsed / 1e3)
    return found


def in_the_pod(pid: int, key: str) -> None:
    """Asks the agent as the application would: on the pod's own network."""
    done = subprocess.run(["nsenter", f"--target={pid}", "--net", "--", sys.executable, "-m", "e2e_cluster.steady", "8088", str(RATE),
                           str(SECONDS)], cwd=TESTS, input=key, capture_output=True, text=True, timeout=SECONDS + 60, check=False)
    print(f"    {RATE} checks a second: {done.stdout.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr


def test_requests_cover_what_agent_and_server_take(installed: Installed, make_app: MakeApp) -> None:
    app = make_app().ready()
    server = App(installed, SYSTEM, installed.cluster.get("pods", "", SYSTEM, "-l", "app.kubernetes.io/name=sluice-server")[
        "items"][0]["metadata"]["name"])
    pids = {"agent": app.processes("sluice-agent")[0], "server": server.processes("sluice-server")[0]}
    key = app.run('printf %s "$KEY"')
    idle = measure(pids, lambda: time.sleep(SECONDS))
    busy = measure(pids, lambda: in_the_pod(pids["agent"], key))
    for name, found in (("idle", idle), ("busy", busy)):
        print(f"    {name}: " + "; ".join(f"{program} {footprint}" for program, footprint in found.items()))
    # requests: 10m and 16Mi of an agent, 100m and 64Mi of a server; limits: 64Mi and 512Mi
    assert idle["agent"].rss_mib < 16 and idle["agent"].millicores < 10
    assert busy["agent"].rss_mib < 32
    assert idle["server"].rss_mib < 64 and idle["server"].millicores < 100
    assert busy["server"].rss_mib < 128
