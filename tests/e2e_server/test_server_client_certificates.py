"""A server that demands a certificate of whoever calls its API, and one whose webhook does."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

from support.certificate import certificate
from support.client_certificates import Clients, assert_admits_only, assert_follows_the_file
from support.injector import InjectorServer, pod, review
from support.server import Server, run_command
from support.tls_client import TlsClient

Make = Callable[..., Server]


def guarded(make_server: Make, folder: Path) -> tuple[Server, Clients, TlsClient]:
    """A server that admits clients of the first authority."""
    cert, key = certificate(folder, "server")
    clients = Clients(folder)
    server = make_server("--tls-cert", str(cert), "--tls-key", str(key), "--tls-client-ca", str(clients.file)).start()
    return server, clients, TlsClient(server.port, cert, "/v1/admin/organizations", {"authorization": f"Bearer {server.token}"})


def test_only_clients_with_a_certificate_of_the_authority_reach_the_api_and_a_token_is_needed_all_the_same(
        make_server: Make, tmp_path: Path) -> None:
    server, clients, client = guarded(make_server, tmp_path)
    assert_admits_only(client, clients, lambda: server.metric("sluice_tls_handshake_failures_total", listener="api"), 200)
    anonymous = TlsClient(server.port, tmp_path / "server.crt", "/v1/admin/organizations")
    assert anonymous.status(clients.identities[0]) == 401
    assert server.probe("/readyz").status == 200   # probes have no TLS


def test_the_authorities_of_the_apis_clients_are_exchanged_under_load(make_server: Make, tmp_path: Path) -> None:
    server, clients, client = guarded(make_server, tmp_path)
    assert_follows_the_file(client, clients, server.process.output, 200)


def test_the_webhook_demands_a_certificate_of_its_own_clients_and_the_api_goes_without(make_server: Make, tmp_path: Path) -> None:
    clients = Clients(tmp_path)
    injector = InjectorServer(make_server, tmp_path, "--webhook-tls-client-ca", str(clients.file))
    server = injector.server.start()
    client = TlsClient(injector.port, injector.authority, "/v1/inject", {"content-type": "application/json"},
                       json.dumps(review(pod("cart"))))
    assert_admits_only(client, clients, lambda: server.metric("sluice_tls_handshake_failures_total", listener="webhook"), 200)
    api = TlsClient(server.port, injector.authority, "/v1/admin/organizations", {"authorization": f"Bearer {server.token}"})
    assert api.status() == 200
    assert server.metric("sluice_tls_handshake_failures_total", listener="api") == 0


def test_without_the_flag_the_webhook_asks_nobody_for_a_certificate(make_server: Make, tmp_path: Path) -> None:
    injector = InjectorServer(make_server, tmp_path)
    injector.server.start()
    with contextlib.closing(injector.webhook()) as webhook:
        assert webhook.ask(review(pod("cart"))).status == 200


def test_authorities_of_clients_that_have_no_use_are_refused_with_the_flag_to_add(server_program: Path, tmp_path: Path) -> None:
    cert, key = certificate(tmp_path, "server")
    database = ("--database-url", "postgresql://sluice_app@localhost/sluice")
    clear = run_command(server_program, *database, "--tls-client-ca", str(cert))
    assert clear.returncode == 2
    for part in ("--tls-client-ca", "add --tls-cert and --tls-key or --tls-self-managed"):
        assert part in clear.stderr
    useless = run_command(server_program, *database, "--tls-cert", str(cert), "--tls-key", str(key), "--webhook-tls-client-ca", str(cert))
    assert useless.returncode == 2
    assert "--webhook-tls-client-ca" in useless.stderr and "without --webhook" in useless.stderr


def test_a_broken_file_of_authorities_ends_the_start(make_server: Make, tmp_path: Path) -> None:
    cert, key = certificate(tmp_path, "server")
    broken = make_server("--tls-cert", str(cert), "--tls-key", str(key), "--tls-client-ca", str(key),
                         allow=("client_ca_failed",)).launch()
    assert broken.process.wait(30) == 1
    assert "client_ca_failed" in broken.process.output() and "holds no certificate" in broken.process.output()


def test_a_server_that_demands_certificates_says_that_injected_agents_have_none(make_server: Make, tmp_path: Path) -> None:
    clients = Clients(tmp_path)
    server = InjectorServer(make_server, tmp_path, "--tls-client-ca", str(clients.file)).server.start()
    assert [line["level"] for line in server.lines() if line["event"] == "sidecars_without_certificate"] == ["warn"]
