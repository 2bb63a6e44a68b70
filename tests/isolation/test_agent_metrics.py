"""An agent's metrics name tenants. Who may read them can be limited, and probes stay open for all."""

import os
from collections.abc import Callable
from pathlib import Path

from support.agent import Agent
from support.bundle import MintedKey
from support.client import Answer, Client
from support.process import free_port
from support.standard import standard_bundle

TOKEN = "scrape-0123456789abcdef"
PROBES = ("/v1/health", "/livez", "/readyz", "/startupz")
MakeAgent = Callable[..., Agent]


def scrape(port: int, token: str = "") -> Answer:
    """What /metrics of a port says."""
    with Client(port) as client:
        return client.request("GET", "/metrics", headers={"authorization": f"Bearer {token}"} if token else {})


def probes(port: int) -> set[int]:
    """The statuses of all probes, asked without a token."""
    with Client(port) as client:
        return {client.get(path).status for path in PROBES}


def test_without_a_flag_the_admin_port_has_probes_and_metrics(make_agent: MakeAgent, key: MintedKey,
                                                              other_key: MintedKey) -> None:
    agent = make_agent(standard_bundle(key, other_key), "memory").start()
    assert probes(agent.admin_port) == {200}
    assert scrape(agent.admin_port).status == 200


def test_with_a_listener_of_their_own_metrics_are_there_only(make_agent: MakeAgent, key: MintedKey,
                                                             other_key: MintedKey) -> None:
    port = free_port()
    agent = make_agent(standard_bundle(key, other_key), "memory", "--metrics-listen", f"127.0.0.1:{port}").start()
    with agent.client(key.text) as client:
        client.check(resource="GET:/orders", subject="user:1")
    assert probes(agent.admin_port) == {200}
    refused = scrape(agent.admin_port)
    assert refused.status == 404 and "tenant" not in str(refused.body)
    assert 'tenant="' in str(scrape(port).body)
    assert probes(port) == {404}


def test_with_a_token_metrics_need_it_and_probes_do_not(make_agent: MakeAgent, key: MintedKey, other_key: MintedKey,
                                                        tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    agent = make_agent(standard_bundle(key, other_key), "memory", "--metrics-token-file", str(file)).start()
    assert probes(agent.admin_port) == {200}
    for token in ("", "other-0123456789abcdef", TOKEN[:-1]):
        refused = scrape(agent.admin_port, token)
        assert (refused.status, refused.header("www-authenticate")) == (401, 'Bearer realm="sluice-metrics"')
    assert scrape(agent.admin_port, TOKEN).status == 200
    (tmp_path / "new").write_text(TOKEN[::-1])
    os.replace(tmp_path / "new", file)
    assert scrape(agent.admin_port, TOKEN).status == 401
    assert scrape(agent.admin_port, TOKEN[::-1]).status == 200
    assert TOKEN not in agent.log.read_text() and TOKEN[::-1] not in agent.log.read_text()


def test_an_agent_with_a_faulty_metrics_token_does_not_start(make_agent: MakeAgent, key: MintedKey, other_key: MintedKey,
                                                             tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("short")
    agent = make_agent(standard_bundle(key, other_key), "memory", "--metrics-token-file", str(file))
    assert agent.launch().process.wait(20) == 1
    assert "16 to 1024 visible ASCII characters" in agent.log.read_text()
