"""The processes of a test: a proxy with its page's configuration, and the application behind it."""

import itertools
import os
from pathlib import Path
from typing import Optional

from proxies.page import AGENT, APP, FRONT, GRPC, files_of, write
from support.client import Client
from support.process import Process, free_port, wait_until

START_SECONDS = 60.0
_settled = itertools.count()

# nginx of Debian keeps these below /var, where only root may write.
NGINX_TEMPORARY = "".join(f"  {name}_temp_path {name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))

APP_CONFIGURATION = """\
worker_processes 1;
events {}
http {
""" + NGINX_TEMPORARY + """\
  log_format noted '$request_method $request_uri $http_host $http_x_api_key $http_x_ratelimit_limit $http_x_ratelimit_remaining';
  access_log noted.log noted;
  keepalive_requests 10000000;
  server {
    listen 127.0.0.1:PORT;
    default_type text/plain;
    location /broken { return 500 "broken\\n"; }
    location / { return 200 "app\\n"; }
  }
}
"""


def nginx_command(program: str, folder: Path, configuration: str) -> list[str]:
    """nginx in the foreground with all its files in one folder."""
    return [program, "-p", str(folder), "-c", str(folder / configuration), "-e", "error.log",
            "-g", "daemon off; pid nginx.pid;" + (" user root;" if os.geteuid() == 0 else "")]


class Listening:
    """A process that listens on a port of the loopback."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        folder.mkdir(parents=True, exist_ok=True)
        self._process: Optional[Process] = None

    def command(self) -> list[str]:
        """How it is started."""
        raise NotImplementedError

    def start(self) -> "Listening":
        """Starts it and waits until it answers."""
        self._process = Process(self.command(), self.folder / "output.log", cwd=self.folder)
        wait_until(f"{self.command()[0]} (log {self.folder}/output.log)", self._answers, START_SECONDS)
        return self

    def _answers(self) -> bool:
        assert self._process is not None and self._process.alive(), (self.folder / "output.log").read_text()[-3000:]
        try:
            with Client(self.port, source="127.0.0.9") as client:
                return client.get("/start").status == 200   # Traefik listens before it has routes
        except OSError:
            return False

    def close(self) -> None:
        """Ends it."""
        if self._process is not None:
            self._process.end()


class App(Listening):
    """The application. `notes`: whether it notes its requests."""

    def __init__(self, program: str, folder: Path, notes: bool = True) -> None:
        super().__init__(folder)
        self._program = program
        text = APP_CONFIGURATION.replace("PORT", str(self.port))
        (folder / "nginx.conf").write_text(text if notes else text.replace("noted.log noted", "off"))

    def command(self) -> list[str]:
        return nginx_command(self._program, self.folder, "nginx.conf")

    def start(self) -> "App":
        super().start()
        return self

    def seen(self, path: str) -> list[str]:
        """The requests for this path that reached it so far: method, target, host, x-api-key, and its x-ratelimit-limit and -remaining.

        nginx notes a request after it has answered it, one after the other: when it has noted ours, it has all before."""
        settled = f"/settled/{next(_settled)}"
        with Client(self.port) as client:
            client.get(settled)
        wait_until("the application's notes", lambda: self._noted(settled))
        return self._noted(path)

    def _noted(self, path: str) -> list[str]:
        return [line for line in (self.folder / "noted.log").read_text().splitlines() if line.split(" ")[1].startswith(path)]


class Front(Listening):
    """A proxy. Subclasses say how it is started."""

    name = ""   # of the program
    page = ""   # of docs/proxies, where it is not the program's name
    tells_limits = True    # whether clients get the limit's headers with a 200
    open_after = 0.0       # seconds until a proxy that fails open sees that the agent is away
    paths: dict[str, str] = {}   # what the page shows, and the test's file in the folder instead

    def __init__(self, program: str, folder: Path, variant: str, agent_port: int, app_port: int, grpc_port: int) -> None:
        super().__init__(folder)
        self.program = program
        ports = {AGENT: agent_port, GRPC: grpc_port, FRONT: self.port, APP: app_port}
        write(self.configured(files_of(self.page or self.name, variant)), folder, ports,
              {shown: str(folder / here) for shown, here in self.paths.items()})

    def configured(self, files: dict[str, str]) -> dict[str, str]:
        """The page's files with what the test must change."""
        return files

    def start(self) -> "Front":
        super().start()
        return self
