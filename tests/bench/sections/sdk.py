"""What a check costs with each SDK, beside a bare HTTP client of the same language, in turns against one agent."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from bench.report import Report, number
from bench.rig import ROOT, Rig
from sdk.node import node
from support.bundle import Bundle, mint_key, token_bucket
from testbed.toolchain import find_go

ORDER = 90
ABOUT = "a check with each SDK, beside a bare HTTP client of its language"
PROGRAMS = ["sluice-agent"]
SETUP = ["sdk"]

FOLDER = ROOT / "sdk"
MOST = 1.3   # times the bare client
Figures = dict[str, dict[str, float]]   # by what is measured and by the client: µs a call


def run(rig: Rig, report: Report) -> None:
    """Each language measures by turns on its own, with the program that its tests use."""
    for language, measure in {"Python": python, "TypeScript": typescript, "Go": go, "Java": java}.items():
        found = measure(rig)
        report.raw.setdefault("sdk", {})[language] = found
        for kind, figures in found.items():
            compare(report, f"{language}, {kind}", figures)


def compare(report: Report, what: str, found: dict[str, float]) -> None:
    """A row: the SDK against the fastest of the bare clients."""
    bare = {name: us for name, us in found.items() if name != "sluice"}
    fastest = min(bare, key=lambda name: bare[name])
    report.at_most(f"{what}: a check to a call of {fastest}", MOST, found["sluice"] / bare[fastest],
                   measured=" · ".join(f"{name} {number(us)} µs" for name, us in found.items()))


def output(*command: object, cwd: Path, env: "dict[str, str]") -> str:
    """What a program prints. The sanitized builds' variables and those of a client are not for it."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
    done = subprocess.run([str(word) for word in command], cwd=cwd, env={**inherited, **env}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout, done.stderr, file=sys.stderr)
        raise RuntimeError(f"{command[0]} ended with {done.returncode}")
    return done.stdout


def python(rig: Rig) -> Figures:
    """http.client and streams of asyncio, and the SDK's two clients."""
    key = mint_key(rig.program("sluice-agent"))
    bundle = Bundle("acme").plan("wide", token_bucket(1_000_000_000, "1000000/1s")).policy("cost", {"resource": "GET:/cost"}, "wide")
    bundle.policy("orders", {"resource": "GET:/orders"}, "wide").key(key)
    with rig.agent("agent-sdk", bundle.write(rig.folder / "sdk.json"), key, "memory") as agent:
        costs = json.loads(output(ROOT / ".run/sdk-python/bin/python", ROOT / "tests/sdk/python/cost_program.py", "times", agent.port, key.text,
                                  10 if rig.quick else 60, 100, cwd=rig.folder, env={"PYTHONPATH": str(FOLDER / "python/src")}))
    return {f"{kind} {unit}": {bare: costs[f"bare_{kind}"][of], "sluice": costs[f"sdk_{kind}"][of]}
            for kind, bare in (("sync", "http.client"), ("async", "asyncio's streams")) for unit, of in (("time", "us"), ("CPU", "cpu_us"))}


def typescript(rig: Rig) -> Figures:
    """node:http and the SDK, each in a process of its own."""
    folder = FOLDER / "typescript"
    output(node(), "scripts/build.mjs", cwd=folder, env={})
    costs = json.loads(output(node(), "bench/overhead.mjs", "--json", "--rounds", 2 if rig.quick else 5, "--calls", 5000 if rig.quick else 20000,
                              cwd=folder, env={"SLUICE_AGENT_BIN": str(rig.program("sluice-agent"))}))
    return {unit: {"node:http": costs["bare"][of], "sluice": costs["sluice"][of]} for unit, of in (("time", "time_us"), ("CPU", "cpu_us"))}


def go(rig: Rig) -> Figures:
    """net/http and the SDK: medians of the blocks of the test that also holds the bound."""
    printed = output(find_go(FOLDER / "go/go.mod"), "test", "-count=1", "-v", "-run", "CostsAtMost", ".", cwd=FOLDER / "go",
                     env={"TEST_AGENT": str(rig.program("sluice-agent")), "GOWORK": "off"})
    found = re.search(r"a bare call ([\d.]+)µs, a check ([\d.]+)µs", printed)
    if found is None:
        raise RuntimeError(f"go test printed no times: {printed}")
    return {"time": {"net/http": float(found[1]), "sluice": float(found[2])}}


def java(rig: Rig) -> Figures:
    """HttpURLConnection, java.net.http and the SDK: the best rounds of CostTest."""
    folder = FOLDER / "java"
    output("mvn", "-q", "-B", f"-Dmaven.repo.local={ROOT / '.run/maven'}", "-Dsurefire.failIfNoSpecifiedTests=false", "-pl", "test-support", "-am", "test",
           "-Dtest=CostTest#aCheckCosts*", cwd=folder, env={"TEST_AGENT": str(rig.program("sluice-agent"))})
    printed = (folder / "test-support/target/surefire-reports/dev.sluice.testsupport.CostTest-output.txt").read_text()
    found = re.findall(r"(\w+)=([\d.]+)", printed.partition("nanoseconds a call: ")[2])
    return {"time": {"sluice" if name == "check" else name: float(ns) / 1000 for name, ns in found}}
