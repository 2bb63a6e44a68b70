"""Changing the bundle file under a running agent, in each way that administrators and platforms do."""

import json
import os
import re
from pathlib import Path
from typing import Any

from support.agent import Agent
from support.bundle import Bundle
from support.client import Client
from support.process import wait_until

RELOAD_SECONDS = 30.0


def text_of(bundle: Bundle) -> str:
    """The bundle as JSON."""
    return json.dumps(bundle.document, indent=1)


def rename_over(path: Path, text: str) -> None:
    """Replaces a file by renaming a new one over it."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text)
    os.replace(fresh, path)


def rewrite(path: Path, text: str) -> None:
    """Replaces what is in a file: truncates it and writes it anew."""
    path.write_text(text)


def snapshot(agent: Agent) -> dict[str, Any]:
    """What GET /v1/snapshot says."""
    with Client(agent.port) as client:
        answer = client.get("/v1/snapshot")
    assert answer.status == 200
    return dict(answer.body)


def wait_for_revision(agent: Agent, revision: int) -> None:
    """Waits until all workers decide by this revision. GET /v1/snapshot tells of one of them; the log line of all."""
    wait_until(f"revision {revision} (log {agent.log})", lambda: snapshot(agent)["revision"] == revision and any(
        event["revision"] == revision for event in events(agent, "snapshot_loaded")), RELOAD_SECONDS)


def loads(agent: Agent, result: str) -> int:
    """How often the file was read with this result."""
    return int(agent.metric("sluice_bundle_loads_total", result=result))


def wait_for_loads(agent: Agent, result: str, count: int) -> None:
    """Waits until the file was read with this result so often."""
    wait_until(f"{count} × {result} (log {agent.log})", lambda: loads(agent, result) >= count, RELOAD_SECONDS)


def degraded(agent: Agent) -> list[str]:
    """What /readyz says is degraded; the agent is ready all the while."""
    with Client(agent.admin_port) as admin:
        answer = admin.get("/readyz")
    assert answer.status == 200
    assert answer.body["status"] == "ready"
    return list(answer.body["degraded"])


def events(agent: Agent, name: str) -> list[dict[str, Any]]:
    """The lines of the log with this event."""
    lines = [line for line in agent.process.output().splitlines() if re.search(rf'"event":"{name}"', line)]
    return [json.loads(line) for line in lines]
