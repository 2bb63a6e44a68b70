"""The files of --ratelimit-config change while the agent runs: what is good is in force soon, what is not changes nothing."""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent
from support.process import wait_until
from support.rate_limits import ask, limited, write_config
from support.reload import RELOAD_SECONDS, degraded, events

Make = Callable[..., Agent]


def rules(requests: int, domain: str = "shop") -> str:
    """A file with one limit."""
    return (f"domain: {domain}\ndescriptors:\n  - key: user\n"
            f"    rate_limit: {{unit: year, requests_per_unit: {requests}}}\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a limit of 5."""
    return write_config(tmp_path / "limits", shop=rules(5))


@pytest.fixture
def agent(make_agent: Make, folder: Path) -> Agent:
    """An agent without policies, with counters in memory. It has one worker, because workers take new rules one by one."""
    return make_agent(None, "memory", "--ratelimit-config", str(folder), "--workers", "1").start()


def limit_of(agent: Agent, domain: str = "shop") -> int:
    """The limit that decides now, without a hit; 0 where there is none."""
    with agent.client() as client:
        answer = ask(client, domain, limited(("user", "reader"), hitsAddend=0))
    assert answer.status == 200
    return int(answer.body["statuses"][0].get("currentLimit", {}).get("requestsPerUnit", 0))


def wait_for_limit(agent: Agent, limit: int, domain: str = "shop") -> None:
    """Waits until this limit decides."""
    wait_until(f"the limit {limit} (log {agent.log})", lambda: limit_of(agent, domain) == limit, RELOAD_SECONDS)


def loads(agent: Agent, result: str) -> float:
    """How often the files were read with this result."""
    return agent.metric("sluice_ratelimit_config_loads_total", result=result)


def wait_for_refusal(agent: Agent) -> None:
    """Waits until the files are refused."""
    wait_until(f"a refusal (log {agent.log})", lambda: loads(agent, "refused") >= 1, RELOAD_SECONDS)


def test_a_changed_file_is_in_force_soon(agent: Agent, folder: Path) -> None:
    assert limit_of(agent) == 5
    write_config(folder, shop=rules(7))
    wait_for_limit(agent, 7)
    # It is in force at the first worker a moment before it is counted.
    wait_until("the count of loads", lambda: loads(agent, "loaded") == 2)
    line = events(agent, "ratelimit_config_loaded")[-1]
    assert (line["files"], line["domains"], line["limits"]) == (1, 1, 1)
    assert agent.metric("sluice_ratelimit_config_refused") == 0


def test_files_come_and_go(agent: Agent, folder: Path) -> None:
    write_config(folder, market=rules(9, "market"))
    wait_for_limit(agent, 9, "market")
    (folder / "market.yaml").unlink()
    wait_for_limit(agent, 0, "market")
    assert limit_of(agent) == 5


def test_a_changed_link_is_in_force_soon(make_agent: Make, tmp_path: Path) -> None:
    """So does Kubernetes change the files of a ConfigMap."""
    for version in (1, 2):
        write_config(tmp_path / f"..v{version}", shop=rules(version))
    folder = tmp_path / "mounted"
    folder.mkdir()
    (folder / "..data").symlink_to(tmp_path / "..v1")
    (folder / "shop.yaml").symlink_to("..data/shop.yaml")
    agent = make_agent(None, "memory", "--ratelimit-config", str(folder), "--workers", "1").start()
    assert limit_of(agent) == 1
    (folder / "..next").symlink_to(tmp_path / "..v2")
    os.replace(folder / "..next", folder / "..data")
    wait_for_limit(agent, 2)


def test_a_faulty_file_is_refused_with_its_line_and_the_former_rules_stay(agent: Agent, folder: Path) -> None:
    write_config(folder, shop=rules(7) + "colour: red\n")
    wait_for_refusal(agent)
    assert limit_of(agent) == 5
    fault = events(agent, "ratelimit_config_refused")[0]
    assert (fault["file"], fault["line"], fault["pointer"]) == (str(folder / "shop.yaml"), 5, "/colour")
    assert "not a field" in fault["message"]
    assert events(agent, "ratelimit_config_kept")
    assert agent.metric("sluice_ratelimit_config_refused") == 1
    reasons = degraded(agent)
    assert len(reasons) == 1 and "shop.yaml" in reasons[0] and "line 5" in reasons[0]
    write_config(folder, shop=rules(8))
    wait_for_limit(agent, 8)
    assert degraded(agent) == []
    assert agent.metric("sluice_ratelimit_config_refused") == 0


def test_one_faulty_file_refuses_the_good_ones_with_it(agent: Agent, folder: Path) -> None:
    write_config(folder, shop=rules(7), other=rules(1, "shop"))
    wait_for_refusal(agent)
    assert limit_of(agent) == 5
    assert "another file" in events(agent, "ratelimit_config_refused")[0]["message"]


def test_a_folder_that_is_emptied_or_gone_changes_nothing(agent: Agent, folder: Path) -> None:
    (folder / "shop.yaml").unlink()
    wait_for_refusal(agent)
    folder.rmdir()
    assert limit_of(agent) == 5
    write_config(folder, shop=rules(6))
    wait_for_limit(agent, 6)


def test_a_hangup_reads_the_files_again(agent: Agent) -> None:
    agent.process.send(signal.SIGHUP)
    wait_until("the second load", lambda: loads(agent, "loaded") == 2, RELOAD_SECONDS)
    assert limit_of(agent) == 5


def test_counters_live_on_when_the_rules_change(agent: Agent, folder: Path) -> None:
    def left() -> int:
        with agent.client() as client:
            answer = ask(client, "shop", limited(("user", "ada"), hitsAddend=0))
        return int(answer.body["statuses"][0]["limitRemaining"])

    with agent.client() as client:
        ask(client, "shop", [("user", "ada")], hitsAddend=3)
    assert left() == 2
    write_config(folder, shop=rules(10))
    wait_for_limit(agent, 10)
    assert left() == 7


def test_an_agent_does_not_start_with_faulty_files(make_agent: Make, tmp_path: Path) -> None:
    folder = write_config(tmp_path / "limits", shop="domain: ''\n", other="domain: d\nx: 1\n")
    agent = make_agent(None, "memory", "--ratelimit-config", str(folder)).launch()
    assert agent.process.wait(30) == 1
    assert [(Path(line["file"]).name, line["line"]) for line in events(agent, "ratelimit_config_refused")] == [
        ("other.yaml", 2), ("shop.yaml", 1)]


def run(program: Path, *flags: str) -> "subprocess.CompletedProcess[str]":
    """Runs the agent to its end."""
    return subprocess.run([str(program), *flags], capture_output=True, text=True, timeout=60, check=False)


def test_check_config_prints_every_fault_as_compilers_do(program: Path, tmp_path: Path) -> None:
    folder = write_config(tmp_path / "limits", shop="domain: d\nx: 1\ndescriptors:\n  - value: v\n", other="domain: ''\n")
    checked = run(program, "--check-config", "--ratelimit-config", str(folder))
    assert checked.returncode == 1
    lines = checked.stderr.splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        f"{folder}/other.yaml:1:9", f"{folder}/shop.yaml:4:5", f"{folder}/shop.yaml:2:4"]


def test_check_config_says_what_is_good_and_what_is_ignored(program: Path, tmp_path: Path) -> None:
    folder = write_config(tmp_path / "limits", shop=rules(5) + "shadow_mode: true\n")
    checked = run(program, "--check-config", "--ratelimit-config", str(folder))
    assert checked.returncode == 0
    assert checked.stdout == f"{folder}: ok (1 domains, 1 limits)\n"
    assert checked.stderr == (f"{folder}/shop.yaml:5:14: warning: /shadow_mode: `shadow_mode` has no meaning in the top level "
                              "and is ignored\n")


@pytest.mark.parametrize(("flags", "says"), [
    (["--ratelimit-config", "/nowhere"], "is not a folder"),
    (["--rls-decision", "atomic"], "has no use without --ratelimit-config"),
    (["--ratelimit-config", "/tmp", "--rls-decision", "all"], "must be per-descriptor or atomic"),
    (["--ratelimit-config", "/tmp", "--ratelimit-tenant", "A"], "must match"),
])
def test_faulty_flags_are_named(program: Path, flags: list[str], says: Any) -> None:
    ended = run(program, *flags)
    assert ended.returncode == 2
    assert says in ended.stderr
