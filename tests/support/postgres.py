"""A private PostgreSQL for tests: started, stopped, killed, restarted at will, with databases made in milliseconds."""

import atexit
import contextlib
import functools
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import psycopg2
from psycopg2 import sql

from support.process import Process, all_of, wait_until

POSTGRES = "/usr/lib/postgresql/15/bin/postgres"
PG_BASEBACKUP = "/usr/lib/postgresql/15/bin/pg_basebackup"
NEW_CLUSTER = (Path(__file__).resolve().parents[2] / "scripts/postgres", "init")

# The roles of each server; the database sluice is owned by the second.
SUPERUSER = "postgres"
OWNER = "sluice_owner"
APP = "sluice_app"

# Shared memory in files goes with the folder, also where the server is killed.
SETTINGS = ("autovacuum=off", "dynamic_shared_memory_type=mmap", "max_connections=200")


def _folder() -> Path:
    """A new folder that the user whom root runs PostgreSQL as can reach, and short: a socket's path ends at 107 bytes."""
    return Path(tempfile.mkdtemp(prefix="sluice-postgres-", dir="/tmp"))


@functools.cache
def _new_cluster() -> Path:
    """A cluster to copy; made once, for it takes a second."""
    folder = _folder()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    subprocess.run([*NEW_CLUSTER, folder, "--no-sync"], check=True)
    return folder


class PostgresServer:
    """One server with data and a Unix socket in a folder of its own, and its log in `folder`.

    What was committed survives kill9(); with `durable` it would survive a loss of power too, as in production (fsync).
    `options`: more settings, "name=value". `disk_mb`: on a file system of its own that is so large (needs root).
    """

    def __init__(self, folder: Path, *, durable: bool = False, options: Sequence[str] = (), disk_mb: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "postgres.log"
        self._settings = [*SETTINGS, f"fsync={'on' if durable else 'off'}", *options]
        self._home = _folder()
        self._mounted = disk_mb > 0
        if self._mounted:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={disk_mb}m,mode=0700", "tmpfs", self._home], check=True)
        subprocess.run(["cp", "-aT", _new_cluster(), self._home], check=True)
        self._process: Optional[Process] = None
        self._names = (f"test{number}" for number in itertools.count(1))

    def url(self, role: str = APP, database: str = "sluice") -> str:
        """Where a role finds a database, as libpq takes it."""
        return f"postgresql:///{database}?host={self._home}&port=5432&user={role}"

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self._home / ".s.PGSQL.5432"

    @property
    def pid(self) -> int:
        """The number of the server's first process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> "PostgresServer":
        """Starts it and waits until it answers."""
        self.launch()
        wait_until(f"PostgreSQL (log {self.log})", self._answers, 30)
        return self

    def launch(self) -> None:
        """Starts it without waiting: it may be recovering for a while."""
        command = [POSTGRES, "-D", str(self._home / "data"), "-k", str(self._home), "-p", "5432"]
        for setting in self._settings:
            command += ["-c", setting]
        self._process = Process(command, self.log, cwd=self._home, user=self._home.stat().st_uid)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.alive(), f"PostgreSQL ended at once: {self._process.output()[-2000:]}"
        try:
            self.execute("SELECT 1")
        except psycopg2.OperationalError:
            return False
        return True

    def execute(self, statement: "str | sql.Composable", parameters: Sequence[Any] = (), *, role: str = SUPERUSER,
                database: str = "postgres") -> list[tuple[Any, ...]]:
        """Runs a statement in a connection and a transaction of its own; its rows. (CREATE DATABASE works as well.)"""
        with contextlib.closing(psycopg2.connect(self.url(role, database))) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute(statement, parameters or None)
                return cursor.fetchall() if cursor.description else []

    def create_database(self, template: str = "sluice") -> "Database":
        """A new database, a copy of another one, to which nobody may be connected."""
        name = next(self._names)
        self.execute(sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE {}").format(
            sql.Identifier(name), sql.Identifier(OWNER), sql.Identifier(template)))
        return Database(self, name)

    def kill9(self) -> None:
        """Dies at once with all its processes."""
        assert self._process is not None
        self._process.send(signal.SIGSTOP)   # so that it starts no more
        pids = [self.pid, *_children(self.pid)]
        for pid in pids:
            _send(pid, signal.SIGKILL)
        self._process.wait(10)
        wait_until("the end of PostgreSQL's processes", lambda: all_of(pids, lambda pid: not _alive(pid)))

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Neither it nor any of its processes does anything meanwhile; connections stay open."""
        assert self._process is not None
        self._process.send(signal.SIGSTOP)   # first, so that it starts no more
        children = _children(self.pid)
        for pid in children:
            _send(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in (*children, self.pid):
                _send(pid, signal.SIGCONT)

    def restart(self) -> "PostgresServer":
        """Starts it again at the same place, after kill9() or stop()."""
        self.stop()
        return self.start()

    def revive(self) -> None:
        """Starts it again if it has ended, as it does where it cannot write its log of changes."""
        assert self._process is not None
        if not self._process.alive():
            self.start()

    def base_backup(self) -> None:
        """Copies the cluster with pg_basebackup, in place of an earlier copy."""
        copy = self._home / "backup"
        shutil.rmtree(copy, ignore_errors=True)
        owner = self._home.stat().st_uid
        subprocess.run([PG_BASEBACKUP, "--pgdata", copy, "--checkpoint=fast", "--host", self._home, "--port", "5432",
                        "--username", SUPERUSER], check=True, user=owner, cwd=self._home)

    def put_back(self) -> None:
        """Puts that copy in place of the cluster. REQUIRES: it does not run."""
        assert self._process is not None and not self._process.alive()
        shutil.rmtree(self._home / "data")
        shutil.copytree(self._home / "backup", self._home / "data", copy_function=shutil.copy2)
        subprocess.run(["chown", "-R", "--reference", self._home, self._home / "data"], check=True)

    @contextlib.contextmanager
    def full_disk(self) -> Iterator[None]:
        """Leaves not one free block on its disk meanwhile. REQUIRES: `disk_mb`."""
        assert self._mounted
        ballast = self._home / "ballast"
        try:
            with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
            yield
        finally:
            ballast.unlink()

    def stop(self) -> None:
        """Ends it in order, rolling back what is open; does nothing where it is not running."""
        self._end(signal.SIGINT)

    def close(self) -> None:
        """Ends it for good, and whatever it held."""
        self._end(signal.SIGQUIT)
        if self._mounted:
            subprocess.run(["umount", "--lazy", self._home], check=True)
        shutil.rmtree(self._home, ignore_errors=True)

    def _end(self, by: signal.Signals) -> None:
        if self._process is not None and self._process.alive():
            self._process.end(30, by)


@dataclass(frozen=True)
class Database:
    """A database of one test."""

    server: PostgresServer
    name: str

    def url(self, role: str = APP) -> str:
        """Where a role finds it."""
        return self.server.url(role, self.name)

    def execute(self, statement: "str | sql.Composable", parameters: Sequence[Any] = (), *,
                role: str = SUPERUSER) -> list[tuple[Any, ...]]:
        """Runs a statement here; its rows."""
        return self.server.execute(statement, parameters, role=role, database=self.name)

    def drop(self) -> None:
        """Takes it away, whoever is connected."""
        self.server.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(self.name)))


def _children(parent: int) -> list[int]:
    """The processes it started."""
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def _alive(pid: int) -> bool:
    """Whether it has not ended; one that has, and that nobody waited for, is still listed, as Z."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _send(pid: int, number: signal.Signals) -> None:
    """Sends a signal, if there is still somebody to get it."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
