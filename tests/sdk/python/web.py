"""Applications of the tests, each in the server that its framework is run with."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from sdk.sdks import FOLDER, ROOT
from support.client import Client
from support.process import Process, free_port, wait_until

HERE = Path(__file__).resolve().parent
PYTHON = ROOT / ".run/sdk-python/bin/python"


def environment(extra: Optional[Mapping[str, str]] = None) -> dict[str, str]:
    """Variables of a program that uses the SDK from the sources."""
    assert PYTHON.exists(), f"there is no {PYTHON}: run scripts/setup sdk"
    return {"PYTHONPATH": f"{FOLDER / 'python/src'}:{HERE}", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1", **(extra or {})}


@dataclass(frozen=True)
class Stack:
    """A framework and its server. `notation`: what its routes are. `also`: routes that only this one has."""

    name: str
    command: tuple[str, ...]   # {port}
    stream: str = "/stream"
    depends: bool = False      # has FastAPI's routes


STACKS = (
    Stack("fastapi-uvicorn", ("uvicorn", "fastapi_app:app", "--port", "{port}", "--log-level", "warning"), depends=True),
    Stack("flask-gunicorn", ("gunicorn", "flask_app:app", "-b", "127.0.0.1:{port}", "-k", "gthread", "--threads", "8", "--no-control-socket")),
    Stack("flask-werkzeug", ("flask", "--app", "flask_app", "run", "-p", "{port}")),
    Stack("django-uvicorn", ("uvicorn", "django_app:asgi", "--port", "{port}", "--log-level", "warning"), stream="/stream-async"),
    Stack("django-gunicorn", ("gunicorn", "django_app:wsgi", "-b", "127.0.0.1:{port}", "-k", "gthread", "--threads", "8",
                              "--no-control-socket")),
)


class App:
    """One running application."""

    def __init__(self, stack: Stack, folder: Path, variables: Mapping[str, str]) -> None:
        self.stack = stack
        self.port = free_port()
        self.log = folder / f"{stack.name}-{self.port}.log"
        command = [str(PYTHON), "-m", *(word.format(port=self.port) for word in stack.command)]
        inherited = {name: "" for name in os.environ if name.startswith("SLUICE_")}
        self._process = Process(command, self.log, {**inherited, **environment(variables)}, cwd=HERE)
        try:
            wait_until(f"{stack.name} (log {self.log})", self._answers, 60)
        except AssertionError as failure:
            self._process.end()
            raise AssertionError(f"{failure}: {self.log.read_text()[-3000:]}") from None

    def client(self) -> Client:
        """A connection."""
        return Client(self.port)

    def close(self) -> None:
        """Ends it."""
        self._process.end()

    def _answers(self) -> bool:
        assert self._process.alive(), f"{self.stack.name} ended: {self.log.read_text()[-3000:]}"
        try:
            with self.client() as client:
                return client.get("/healthz").status == 200
        except OSError:
            return False
