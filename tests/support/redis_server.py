"""A private Redis (or Valkey) for a test: started, paused, killed, restarted at will, and always stopped."""

import os
import signal
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Optional, Union

from support.process import Process, free_port, freeze, wait_until
from support.resp import Monitor, RedisError, Reply, RespConnection


class RedisServer:
    """One server with a data folder and a Unix socket of its own; a port too where `tcp` is wanted."""

    def __init__(self, folder: Path, *, tcp: bool = False, password: str = "", program: str = "redis-server",
                 appendonly: bool = False, options: Sequence[str] = (),
                 env: Optional[Mapping[str, str]] = None) -> None:
        self.folder = folder
        self.password = password
        self.port = free_port() if tcp else 0
        self._program = program
        self._appendonly = appendonly
        self._options = list(options)
        self._env = dict(env or {})
        folder.mkdir(parents=True, exist_ok=True)
        # The path of a Unix socket ends at 107 bytes, and a test's folder may be longer: the socket lives apart.
        self._socket_folder = tempfile.TemporaryDirectory(prefix="sluice-redis-")
        self.socket = Path(self._socket_folder.name) / "redis.sock"
        self._process: Optional[Process] = None

    @property
    def counters(self) -> str:
        """The value for --counters."""
        if self.port:
            user = f":{self.password}@" if self.password else ""
            return f"redis://{user}127.0.0.1:{self.port}/0"
        return f"unix:{self.socket}"

    @property
    def pid(self) -> int:
        """The number of the server's process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> "RedisServer":
        """Starts it and waits until it answers (an error reply is an answer)."""
        self.launch()
        wait_until(f"{self._program} (log in {self.folder})", self._answers, 20)
        return self

    def launch(self) -> None:
        """Starts it without waiting: it may be loading for a while."""
        command = [self._program, "--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket", str(self.socket),
                   "--dir", str(self.folder), "--save", "", "--appendonly", "yes" if self._appendonly else "no",
                   "--maxmemory-policy", "noeviction", "--daemonize", "no", "--enable-debug-command", "yes"]
        if self.password:
            command += ["--requirepass", self.password]
        self._process = Process(command + self._options, self.folder / "redis.log", self._env, self.folder)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.alive(), f"Redis ended at once: {self._process.output()[-2000:]}"
        try:
            connection = self.connect()
        except OSError:
            return False
        except RedisError:
            return True
        connection.close()
        return True

    def address(self) -> Union[Path, tuple[str, int]]:
        """Where the tests reach it."""
        return ("127.0.0.1", self.port) if self.port else self.socket

    def connect(self) -> RespConnection:
        """A connection of the tests' own."""
        return RespConnection(self.address(), self.password)

    def cli(self, *words: Union[str, int, bytes]) -> Reply:
        """One command on a connection of its own."""
        connection = self.connect()
        try:
            return connection.command(*words)
        finally:
            connection.close()

    def monitor(self) -> Monitor:
        """A MONITOR capture, for a `with` statement."""
        return Monitor(self.connect(), self.connect())

    def calls(self, command: str) -> int:
        """How often Redis ran a command since it started."""
        for line in str(self.cli("INFO", "commandstats")).splitlines():
            if line.startswith(f"cmdstat_{command}:"):
                return int(line.split("calls=")[1].split(",")[0])
        return 0

    def pause(self) -> None:
        """SIGSTOP: connections stay open and nothing answers."""
        freeze(self.pid)

    def resume(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    def kill9(self) -> None:
        """Dies at once, without a word."""
        assert self._process is not None
        self._process.kill()

    def restart(self) -> "RedisServer":
        """Starts it again on the same addresses, after kill9() or stop()."""
        self.stop()
        return self.start()

    def stop(self) -> None:
        """Ends it; does nothing where it is not running."""
        if self._process is not None and self._process.alive():
            self._process.end(5)
        self.socket.unlink(missing_ok=True)

    def close(self) -> None:
        """Ends it for good."""
        self.stop()
        self._socket_folder.cleanup()
