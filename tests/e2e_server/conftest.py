"""The tenants that most end-to-end tests of the server share, and what tests of webhooks share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.admin import AdminClient
from support.program import is_sanitized
from support.server import Server
from support.webhook_receiver import Receiver
from support.webhooks import KEY


@pytest.fixture(scope="module")
def organization(server: Server) -> str:
    """An organization of the module's."""
    with server.admin() as client:
        return client.organization()


@pytest.fixture
def tenant(admin: AdminClient, organization: str) -> str:
    """A tenant of one test."""
    return admin.tenant(organization)


@pytest.fixture(scope="session")
def sanitized_server(server_program: Path) -> bool:
    """Whether times and memory of this binary mean little."""
    return is_sanitized(server_program)


@pytest.fixture(scope="module")
def webhook_key_file(module_folder: Path) -> Path:
    """The key that all servers of the module have for their webhooks."""
    path = module_folder / "webhook.key"
    path.write_text(KEY + "\n")
    return path


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A customer's receiver of webhooks."""
    made = Receiver()
    yield made
    made.close()
