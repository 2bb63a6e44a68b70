"""The tenants that most end-to-end tests of the server share."""

from pathlib import Path

import pytest

from support.admin import AdminClient
from support.program import is_sanitized
from support.server import Server


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
