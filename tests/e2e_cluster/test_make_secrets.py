"""`sluice-server make-secrets` against a real API server."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.kube import KubeCluster
from support.kube_server import ApiReader, Home
from support.server import run_command


@pytest.fixture
def home(control_plane: KubeCluster, make_namespace: Callable[..., str], tmp_path: Path) -> Iterator[Home]:
    """A namespace with the server's account."""
    made = Home.make(control_plane, make_namespace(control_plane), tmp_path)
    yield made
    made.close()


def test_secrets_are_made_where_they_are_absent_and_never_touched_again(
        server_program: Path, control_plane: KubeCluster, home: Home) -> None:
    reader = ApiReader(control_plane)
    control_plane.kubectl("create", "secret", "generic", "sluice-redis", "-n", home.namespace, "--from-literal=mine=1")
    done = run_command(server_program, "make-secrets", *home.api_flags(), "--database-host", "db.example:5433")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "sluice-database created\nsluice-redis exists, unchanged\n"
    database = home.secret(reader, "sluice-database")
    assert database["url"] == "postgresql://sluice_app@db.example:5433/sluice"
    assert database["owner-url"] == f"postgresql://sluice_owner:{database['owner-password']}@db.example:5433/sluice"
    assert len(database["password"]) == 43 and database["password"] not in done.stdout
    assert home.secret(reader, "sluice-redis") == {"mine": "1"}
    assert run_command(server_program, "make-secrets", *home.api_flags()).returncode == 0
    assert home.secret(reader, "sluice-database") == database


def test_a_refusal_is_the_api_servers_own_words(server_program: Path, control_plane: KubeCluster, home: Home) -> None:
    elsewhere = [*home.api_flags()[:-1], "default"]
    done = run_command(server_program, "make-secrets", *elsewhere)
    assert done.returncode == 1 and "forbidden" in done.stderr and "sluice-database" in done.stderr


def test_outside_of_a_cluster_it_says_what_is_missing(server_program: Path) -> None:
    done = run_command(server_program, "make-secrets")
    assert done.returncode == 2 and "KUBERNETES_SERVICE_HOST" in done.stderr
