"""An agent and a server for the programs, and their documents as they serve them."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket
from support.client import Client
from support.server import Server


@dataclass(frozen=True)
class World:
    """Where the programs are, and the folder with agent.json and server.json."""

    agent: Agent
    server: Server
    key: MintedKey
    documents: Path

    def environment(self, name: str) -> dict[str, str]:
        """What a program is told; `name` is its subject and the id of what it creates."""
        return {"SLUICE_NAME": name, "SLUICE_AGENT_URL": f"http://127.0.0.1:{self.agent.port}",
                "SLUICE_KEY": self.key.text, "SLUICE_SERVER_URL": f"http://127.0.0.1:{self.server.port}",
                "SLUICE_TOKEN": self.server.token}


@pytest.fixture(scope="module")
def world(key: MintedKey, module_agent: Callable[..., Agent], module_server: Callable[..., Server],
          module_folder: Path) -> World:
    """Each subject may call once an hour."""
    bundle = Bundle().plan("once", token_bucket(1, "1/hour")).policy("orders", {"resource": "GET:/orders"}, "once").key(key)
    agent, server = module_agent(bundle, "memory").start(), module_server().start()
    documents = module_folder / "documents"
    documents.mkdir()
    for name, port in (("agent", agent.port), ("server", server.port)):
        with Client(port) as client:
            answer = client.get("/openapi.json")
        assert answer.status == 200
        (documents / f"{name}.json").write_text(json.dumps(answer.body))
    return World(agent, server, key, documents)
