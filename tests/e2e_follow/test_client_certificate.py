"""A server demands a certificate of its agents: who has one follows, and goes on when it is exchanged."""

from collections.abc import Callable
from pathlib import Path

from support.certificate import certificate
from support.client_certificates import Clients
from support.crew import Crew
from support.process import wait_until
from support.server import Server


def guarded(make_crew: Callable[..., Crew], make_server: Callable[..., Server], folder: Path) -> tuple[Crew, Server, Clients, Path]:
    """A crew whose relay leads to a server that admits agents of the first authority; that server and its certificate."""
    cert, key = certificate(folder, "server")
    clients = Clients(folder)
    crew = make_crew()
    secure = make_server("--tls-cert", str(cert), "--tls-key", str(key), "--tls-client-ca", str(clients.file),
                         database=crew.server.database, token=crew.server.token).start()
    crew.relay.target, crew.relay.scheme = secure.port, "https"
    return crew, secure, clients, cert


def test_an_agent_follows_with_its_certificate_and_takes_a_new_one_without_a_restart(
        make_crew: Callable[..., Crew], make_server: Callable[..., Server], tmp_path: Path) -> None:
    crew, server, clients, cert = guarded(make_crew, make_server, tmp_path)
    files = (tmp_path / "agent.crt", tmp_path / "agent.key")

    def give(which: int) -> None:
        identity = clients.identities[which]
        assert identity is not None
        for source, target in zip(identity, files):
            target.with_suffix(".new").write_bytes(source.read_bytes())
            target.with_suffix(".new").replace(target)

    give(0)
    crew.hire(1, "--server-tls-ca", str(cert), "--server-tls-cert", str(files[0]), "--server-tls-key", str(files[1]))
    with crew.admin() as admin:
        crew.set_limit(admin, 2001)
        crew.await_limit(2001)
        clients.admit(0, 1)
        wait_until("both authorities", lambda: "client_ca_renewed" in server.process.output(), 30)
        give(1)
        crew.set_limit(admin, 2002)   # by the connection that is there
        crew.await_limit(2002)
        clients.admit(1)
        wait_until("the second authority alone", lambda: server.process.output().count("client_ca_renewed") == 2, 30)
        crew.relay.cut()
        crew.set_limit(admin, 2003)
        crew.await_limit(2003)
    assert server.metric("sluice_tls_handshake_failures_total", listener="api") == 0


def test_an_agent_without_a_good_certificate_gets_no_policies_and_says_why(
        make_crew: Callable[..., Crew], make_server: Callable[..., Server], tmp_path: Path) -> None:
    crew, server, clients, cert = guarded(make_crew, make_server, tmp_path)
    expired = clients.issue("expired", of=0, days=-0.01)
    rows = [((), "certificate required"), (clients.identities[1], "unknown ca"), (expired, "certificate expired")]
    for identity, says in rows:
        flags = ["--server-tls-cert", str(identity[0]), "--server-tls-key", str(identity[1])] if identity else []
        agent = crew.make_agent(None, "memory", "--server", crew.relay.url, "--agent-token-file", str(crew.token_file),
                                "--server-tls-ca", str(cert), *flags).start_without_policies()
        wait_until(f"the reason in {agent.log}", lambda agent=agent, says=says: says in agent.process.output(), 30)
        with agent.client() as client:
            assert not client.get("/v1/snapshot").body.get("loaded")
        agent.stop()
    assert server.metric("sluice_tls_handshake_failures_total", listener="api") >= 3
