"""Tests for each listener that demands client certificates."""

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

from support.certificate import Authority
from support.process import wait_until
from support.tls_client import Callers, Identity, TlsClient

SECONDS = 30.0   # a listener looks at its files every 5 s


class Clients:
    """Two authorities with a client each, and the file that says whose clients a listener admits."""

    def __init__(self, folder: Path) -> None:
        self.authorities = []
        self.identities: list[Identity] = []
        self.file = folder / "clients.crt"
        for name in ("first", "second"):
            self.authorities.append(Authority(folder, name))
            self.identities.append(self.issue(f"of-the-{name}"))
        self.admit(0)

    def issue(self, name: str, of: int = -1, days: float = 1) -> tuple[Path, Path]:
        """A certificate that ends in so many days, of the authority made last unless one is named."""
        authority = self.authorities[of]
        return authority.sign(self.file.parent, name, datetime.now(timezone.utc) + timedelta(days=days))

    def admit(self, *which: int) -> None:
        """Replaces the file, as one does."""
        self.write("".join(self.authorities[i].cert.read_text() for i in which))

    def write(self, text: str) -> None:
        """Replaces the file."""
        new = self.file.with_suffix(".new")
        new.write_text(text)
        new.replace(self.file)


def assert_admits_only(client: TlsClient, clients: Clients, failures: Callable[[], float], good: int) -> None:
    """A client of the first authority is answered `good`; others are refused and counted."""
    before = failures()
    expired = clients.issue("expired", of=0, days=-0.01)
    refused = [client.status(identity) for identity in (None, clients.identities[1], expired)]
    assert refused == [0, 0, 0]
    wait_until("three failed handshakes", lambda: failures() == before + 3, SECONDS)
    assert client.status(clients.identities[0]) == good
    assert failures() == before + 3


def assert_follows_the_file(client: TlsClient, clients: Clients, log: Callable[[], str], good: int) -> None:
    """The authorities are exchanged while clients come: none who is admitted before and after is refused in between."""
    first, second = clients.identities
    kept = client.open(first)
    assert client.ask(kept) == good
    with Callers(client, first) as callers:
        clients.admit(0, 1)
        wait_until("clients of the second authority", lambda: client.status(second) == good, SECONDS)
    assert callers.statuses and set(callers.statuses) == {good}
    with Callers(client, second) as callers:
        clients.admit(1)
        wait_until("no client of the first authority", lambda: client.status(first) == 0, SECONDS)
        clients.write("no certificate")
        wait_until("the refusal of a broken file", lambda: "client_ca_refused" in log(), SECONDS)
        assert client.status(first) == 0
    assert callers.statuses and set(callers.statuses) == {good}
    assert client.ask(kept) == good, "who is connected stays"
    kept.close()
