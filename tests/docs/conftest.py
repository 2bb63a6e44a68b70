"""The programs that the documentation's examples talk to."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.agent import Agent
from support.markdown import ROOT
from support.process import free_port
from support.redis_server import RedisServer
from support.server import Server


@pytest.fixture(scope="module")
def clone(program: Path, server_program: Path, sluicectl_program: Path, module_folder: Path, redis: RedisServer,
          module_server: Callable[..., Server]) -> Iterator[Path]:
    """A folder as scripts/up leaves it: a server and two agents of the tests' own behind .run/env."""
    webhook_key = module_folder / "webhook.key"
    webhook_key.write_text("a key of more than 32 bytes for webhooks")
    port = free_port()   # of the first agent
    server = module_server("--counters", redis.counters, "--redis-deadline", "2s", "--notify-secret-file", str(webhook_key),
                           "--playground-agent", f"http://127.0.0.1:{port}").start()
    folder = module_folder / "clone"
    run, programs = folder / ".run", folder / "build/release/bin"
    run.mkdir(parents=True)
    programs.mkdir(parents=True)
    (programs / "sluice-agent").symlink_to(program.resolve())
    (programs / "sluice-server").symlink_to(server_program.resolve())
    (programs / "sluicectl").symlink_to(sluicectl_program.resolve())
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "scripts").mkdir()
    urls = folder / "scripts/postgres"   # answers as scripts/postgres does for the PostgreSQL of scripts/up
    urls.write_text(f"#!/bin/sh\necho '{server.database.url()}'\n")
    urls.chmod(0o755)
    (run / "admin-token").write_text(server.token)
    subprocess.run([sys.executable, ROOT / "scripts/demo_tenant.py", "--server", f"http://127.0.0.1:{server.port}", "--token",
                    run / "admin-token", "--example", ROOT / "examples/demo.json", "--key", run / "key", "--agent-token",
                    run / "agent-token"], check=True, timeout=60)
    key = (run / "key").read_text().strip()
    agents = [Agent(program, folder / name, None, redis.counters,
                    ["--redis-deadline", "2s", "--server", f"http://127.0.0.1:{server.port}", "--agent-id", name,
                     "--agent-token-file", str(run / "agent-token")]) for name in ("agent", "agent2")]
    agents[0].port = port
    for agent in agents:
        agent.start()
        agent.wait_for_redis(key, "pro")
    first, second = agents
    (run / "env").write_text(f"AGENT=http://127.0.0.1:{first.port}\nAGENT_ADMIN=http://127.0.0.1:{first.admin_port}\n"
                             f"AGENT2=http://127.0.0.1:{second.port}\nKEY={key}\n"
                             f"SERVER=http://127.0.0.1:{server.port}\nADMIN={server.token}\n")
    yield folder
    for agent in agents:
        agent.close()
