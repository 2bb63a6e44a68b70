"""An agent that demands a certificate of whoever asks over TLS."""

import json
from collections.abc import Callable
from pathlib import Path

from support.agent import Agent
from support.bundle import MintedKey
from support.certificate import certificate
from support.client_certificates import Clients, assert_admits_only, assert_follows_the_file
from support.standard import standard_bundle
from support.tls_client import TlsClient

Make = Callable[..., Agent]
CHECK = json.dumps({"plan_id": "fixed", "subject": "user:1", "cost": 0})


def guarded(make_agent: Make, key: MintedKey, other_key: MintedKey, folder: Path) -> tuple[Agent, Clients, TlsClient]:
    """An agent of two workers that admits clients of the first authority."""
    cert, private = certificate(folder, "gateway")
    clients = Clients(folder)
    agent = make_agent(standard_bundle(key, other_key), "memory", "--workers", "2", "--tls-cert", str(cert), "--tls-key",
                       str(private), "--tls-client-ca", str(clients.file)).start()
    return agent, clients, TlsClient(agent.port, cert, "/v1/check", {"x-api-key": key.text}, CHECK)


def test_only_clients_with_a_certificate_of_the_authority_are_answered_and_others_are_counted(
        make_agent: Make, key: MintedKey, other_key: MintedKey, tmp_path: Path) -> None:
    agent, clients, client = guarded(make_agent, key, other_key, tmp_path)
    assert_admits_only(client, clients, lambda: agent.metric("sluice_tls_handshake_failures_total", listener="checks"), 200)
    with agent.unix_client(key.text) as local:   # no TLS there
        assert local.check(plan_id="fixed", subject="user:1").status == 200


def test_the_authorities_are_exchanged_under_load_and_nobody_is_refused_who_should_not_be(
        make_agent: Make, key: MintedKey, other_key: MintedKey, tmp_path: Path) -> None:
    agent, clients, client = guarded(make_agent, key, other_key, tmp_path)
    assert_follows_the_file(client, clients, agent.process.output, 200)


def test_authorities_of_clients_without_tls_or_in_a_broken_file_end_the_start(
        make_agent: Make, key: MintedKey, other_key: MintedKey, tmp_path: Path) -> None:
    bundle = standard_bundle(key, other_key)
    cert, private = certificate(tmp_path, "gateway")
    clear = make_agent(bundle, "memory", "--tls-client-ca", str(cert)).launch()
    assert clear.process.wait(30) == 2
    assert "--tls-client-ca" in clear.process.output() and "add --tls-cert and --tls-key" in clear.process.output()
    broken = make_agent(bundle, "memory", "--tls-cert", str(cert), "--tls-key", str(private), "--tls-client-ca",
                        str(private)).launch()
    assert broken.process.wait(30) == 1
    assert "client_ca_failed" in broken.process.output() and "holds no certificate" in broken.process.output()
