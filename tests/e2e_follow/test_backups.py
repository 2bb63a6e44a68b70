"""An older backup of PostgreSQL is restored: agents notice by the chain that their history is not the server's any more, and take
the whole state, also once new writes have passed the old number."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.crew import Crew
from support.postgres import OWNER, SUPERUSER, PostgresServer
from support.process import wait_until
from support.server import Server

POSTGRES = Path("/usr/lib/postgresql/15/bin")
WRITES = 5


class Dump:
    """pg_dump of the database, restored into it with pg_restore."""

    def __init__(self, server: Server, folder: Path) -> None:
        self._database = server.database
        self._file = folder / "backup.dump"

    def take(self) -> None:
        """Backs up."""
        subprocess.run([POSTGRES / "pg_dump", "--format=custom", "--file", self._file, "--dbname",
                        self._database.url(SUPERUSER)], check=True)

    def restore(self) -> None:
        """Puts the backup in place of what is there."""
        name, server = self._database.name, self._database.server
        server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
        server.execute(f'CREATE DATABASE "{name}" OWNER "{OWNER}" TEMPLATE template0')
        subprocess.run([POSTGRES / "pg_restore", "--exit-on-error", "--single-transaction", "--dbname",
                        self._database.url(SUPERUSER), self._file], check=True)


class BaseBackup:
    """pg_basebackup of the cluster, put in place of its files."""

    def __init__(self, server: Server, folder: Path) -> None:
        del folder
        self._server: PostgresServer = server.database.server

    def take(self) -> None:
        """Backs up."""
        self._server.base_backup()

    def restore(self) -> None:
        """Puts the backup in place of what is there."""
        self._server.kill9()
        self._server.put_back()
        self._server.start()


Backup = Callable[[Server, Path], "Dump | BaseBackup"]


@pytest.fixture(params=["pg_dump", "pg_basebackup"])
def backup(request: pytest.FixtureRequest) -> Backup:
    """Each of the two ways."""
    return {"pg_dump": Dump, "pg_basebackup": BaseBackup}[request.param]


def writable(crew: Crew) -> bool:
    """Whether the server has found its PostgreSQL again."""
    with crew.admin() as admin:
        return admin.get("/revision").status == 200


@pytest.mark.fault("older-backup-restored")
@pytest.mark.parametrize("restart", [False, True], ids=["server stays", "server restarted"])
@pytest.mark.parametrize("passed", [False, True], ids=["behind the old number", "past the old number"])
def test_agents_follow_into_the_restored_history(own_server: Server, make_crew: Callable[..., Crew], tmp_path: Path,
                                                 backup: Backup, passed: bool, restart: bool) -> None:
    crew = make_crew(server=own_server)
    with crew.admin() as admin:
        crew.set_limit(admin, 100)
    connected, = crew.hire(1)
    apart, = crew.hire(1)
    crew.await_limit(100)
    kept = backup(own_server, tmp_path)
    kept.take()
    with crew.admin() as admin:
        for number in range(WRITES):
            crew.set_limit(admin, 200 + number)
    crew.await_limit(200 + WRITES - 1)
    old = crew.await_head()
    crew.relay.cut()
    if passed:
        apart.process.send(19)   # SIGSTOP: it sees nothing of the restored history until that has passed its own

    if restart:
        own_server.stop()
    kept.restore()
    if restart:
        own_server.start()
        crew.relay.target = own_server.port
    wait_until("the server's PostgreSQL", lambda: writable(crew), 30)
    if not passed:
        crew.await_limit(100)    # agents that were ahead go back without any new write
        head = crew.await_head()
        assert head["revision"] < old["revision"]
    with crew.admin() as admin:
        for number in range(2 * WRITES if passed else 1):
            crew.set_limit(admin, 300 + number)
    crew.await_limit(300 + (2 * WRITES - 1 if passed else 0), [connected])
    apart.process.send(18)       # SIGCONT
    head = crew.await_head()
    assert head["chain"] != old["chain"]
    assert passed == (int(head["revision"]) > int(old["revision"]))
    for agent in crew.agents:    # of one history whole, of the other nothing
        assert crew.limit_at(agent) == 300 + (2 * WRITES - 1 if passed else 0)
