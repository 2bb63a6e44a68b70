"""What README.md promises: its examples run as they are pasted, its flags are the program's."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.agent import Agent
from support.process import free_port
from support.redis_server import RedisServer
from support.server import Server

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
EXAMPLES = [block for block in re.findall(r"^```sh\n(.*?)^```", README, re.M | re.S)
            if re.search("curl|printf", block)]
# What each example must print, in the order of the file.
PRINTED = [r"^HTTP/1\.1 200 OK\r$",
           r"^(200 ){10}(200 )?429 ",   # a token comes back each second: where curl is slow, one more passes
           r'"now_us": \d{16}', r'^\{"released":true\}$', r'"pointer": "/checks/2/cost"', r"^OK$",
           r'^\{"status":"ready","degraded":\[\]\}$',
           r'"key":"slk_', r'"rollout_percent":25(.|\n)*"version":3', r'"enforced_by_all":true(.|\n)*^(200|429)\n(200|429)$',
           r'"published":true(.|\n)*"spent": \d+(.|\n)*"published":true',
           r'"outcome": "decides"(.|\n)*"dry_run": true',
           r"rows in \d+ chains: all as they were written",
           r'"service_account":"checkout","organization_id":',
           r'"id": "agent"(.|\n)*"id": "agent2"',
           r'^\{"allowed":true,',
           r"^8171$", r'"outcome": "decides"']


@pytest.fixture
def clone(program: Path, server_program: Path, tmp_path: Path, make_redis: Callable[..., RedisServer],
          make_server: Callable[..., Server]) -> Iterator[Path]:
    """A folder as it is after scripts/up, with two agents and a server of our own behind .run/env."""
    redis = make_redis()
    server = make_server("--counters", redis.counters, "--redis-deadline", "2s").start()
    run, programs = tmp_path / ".run", tmp_path / "build/release/bin"
    run.mkdir()
    programs.mkdir(parents=True)
    (programs / "sluice-agent").symlink_to(program.resolve())
    (programs / "sluice-server").symlink_to(server_program.resolve())
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "scripts").mkdir()
    urls = tmp_path / "scripts/postgres"   # what scripts/postgres says of the one that scripts/up starts
    urls.write_text(f"#!/bin/sh\necho '{server.database.url()}'\n")
    urls.chmod(0o755)
    (run / "admin-token").write_text(server.token)
    subprocess.run([sys.executable, ROOT / "scripts/demo_tenant.py", "--server", f"http://127.0.0.1:{server.port}", "--token",
                    run / "admin-token", "--example", ROOT / "examples/demo.json", "--key", run / "key", "--agent-token",
                    run / "agent-token"], check=True, timeout=60)
    key = (run / "key").read_text().strip()
    agents = [Agent(program, tmp_path / name, None, redis.counters,
                    ["--redis-deadline", "2s", "--server", f"http://127.0.0.1:{server.port}", "--agent-id", name,
                     "--agent-token-file", str(run / "agent-token")]).start() for name in ("agent", "agent2")]
    for agent in agents:
        agent.wait_for_redis(key, "pro")
    first, second = agents
    (run / "env").write_text(f"AGENT=http://127.0.0.1:{first.port}\nAGENT_ADMIN=http://127.0.0.1:{first.admin_port}\n"
                             f"AGENT2=http://127.0.0.1:{second.port}\nKEY={key}\n"
                             f"SERVER=http://127.0.0.1:{server.port}\nADMIN={server.token}\n")
    yield tmp_path
    for agent in agents:
        agent.close()


def test_every_example_runs_as_it_is_pasted(clone: Path) -> None:
    assert len(EXAMPLES) == len(PRINTED)
    for example, printed in zip(EXAMPLES, PRINTED):
        pasted = example.replace("8188", str(free_port())).replace("9188", str(free_port()))
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", pasted], cwd=clone, capture_output=True, timeout=60, check=False)
        said = done.stdout.decode()
        assert done.returncode == 0, (example, said, done.stderr)
        assert re.search(printed, said, re.M), (example, said)


def flags_told(program: str) -> list[tuple[str, str]]:
    """The flags of README's table for a program, with their defaults."""
    section = README.split(f"## Flags of `{program}`")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`--.*?) \| ([^|]*?) \| ", section, re.M)
    return [(flag, default) for names, default in rows for flag in re.findall(r"`(--[a-z-]+)", names)]


@pytest.mark.parametrize("which, least", [("sluice-agent", 13), ("sluice-server", 9)])
def test_the_flags_are_those_of_help_with_their_defaults(which: str, least: int, program: Path, server_program: Path) -> None:
    runs = {"sluice-agent": program, "sluice-server": server_program}[which]
    told = subprocess.run([runs, "--help"], capture_output=True, text=True, check=True).stdout
    rows = flags_told(which)
    assert len(rows) >= least
    for flag, default in rows:
        found = re.search(rf"^  {flag} .*?\[(?:default: (.*?), )?env: (\w+)\]", told, re.M | re.S)
        assert found, f"{flag} is not in --help"
        assert found[2] == f"{which}{flag[1:]}".replace("-", "_").upper()
        expected = {"none": None, "off": "false"}.get(default, default.strip("`"))
        assert found[1] == expected, f"{flag}: README says {default}, --help {found[1]}"


def test_the_policies_it_shows_are_accepted(program: Path, tmp_path: Path) -> None:
    shown = re.findall(r"^```json\n(.*?)^```", README, re.M | re.S) + re.findall(r"^`(\{\"endpoint\".*\})`", README, re.M)
    assert len(shown) == 2
    bundle = tmp_path / "bundle.json"
    bundle.write_text(json.dumps({
        "format": "sluice/v1", "organizations": [{"id": "acme", "name": "Acme"}],
        "tenants": [{"id": "shop", "organization_id": "acme"}],
        "plans": [{"tenant_id": "shop", "id": "pro", "rate": "10/minute"}],
        "policies": [json.loads(policy) for policy in shown]}))
    done = subprocess.run([program, "--policies", bundle, "--check-config"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
