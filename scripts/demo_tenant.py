"""Puts the example into a running server through its admin API, and makes what agents and applications need of it.

Applies the example bundle (what is there already stays), and makes an API key for applications and a token for agents where
none is kept or the kept one is not the server's. Running it again changes nothing that has not changed.
"""

import argparse
import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, NoReturn, Optional

KEY_NAME = "scripts/up"
AGENTS = "scripts/up: agents"
TENANT = "demo"


def stop(text: str) -> NoReturn:
    """Says what is wrong, and ends."""
    print(f"sluice: {text}", file=sys.stderr)
    sys.exit(1)


def write_private(path: Path, text: str) -> None:
    """Replaces a file whole; nobody else may read it."""
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    fresh.replace(path)


class Admin:
    """The admin API of one server."""

    def __init__(self, server: str, token: str) -> None:
        self.server, self.token = server, token

    def ask(self, method: str, path: str, body: Optional[dict[str, Any]] = None) -> str:
        """The body of the answer; ends the program where it is a problem."""
        request = urllib.request.Request(
            f"{self.server}/v1/admin{path}", None if body is None else json.dumps(body).encode(),
            {"authorization": f"Bearer {self.token}", "content-type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError as problem:
            stop(f"{method} {path}: {problem.code}: {problem.read().decode(errors='replace')}")
        except OSError as away:
            stop(f"{method} {path}: the server does not answer: {away}")

    def get(self, path: str) -> dict[str, Any]:
        """An object."""
        return dict(json.loads(self.ask("GET", path)))


def make_key(admin: Admin) -> str:
    """A new key of the demo's tenant, in place of those of earlier runs."""
    for key in admin.get(f"/keys?tenant_id={TENANT}&limit=1000")["items"]:
        if key.get("name") == KEY_NAME:
            admin.ask("DELETE", f"/keys/{key['id']}")
    return str(json.loads(admin.ask("POST", "/keys", {"tenant_id": TENANT, "name": KEY_NAME}))["key"])


def known(admin: Admin, kept: Path) -> bool:
    """Whether the token of a file is one that the server takes: its id stands in its text."""
    if not kept.exists():
        return False
    return any(kept.read_text().startswith(f"slg_{token['id']}_") and not token["revoked"]
               for token in admin.get("/agent-tokens?limit=1000")["items"])


def make_agent_token(admin: Admin) -> str:
    """A new token for agents of the whole platform, in place of those of earlier runs."""
    for token in admin.get("/agent-tokens?limit=1000")["items"]:
        if token["name"] == AGENTS:
            admin.ask("DELETE", f"/agent-tokens/{token['id']}")
    return str(json.loads(admin.ask("POST", "/agent-tokens", {"name": AGENTS}))["token"])


def main() -> None:
    """Reads the arguments and does it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True, help="URL of the server")
    parser.add_argument("--token", type=Path, required=True, help="file with an admin token")
    parser.add_argument("--example", type=Path, required=True, help="the bundle to apply")
    parser.add_argument("--key", type=Path, required=True, help="file of the API key: kept, or written")
    parser.add_argument("--agent-token", type=Path, required=True, help="file of the agents' token: kept, or written")
    options = parser.parse_args()

    admin = Admin(options.server, options.token.read_text().strip())
    admin.ask("POST", "/apply", json.loads(options.example.read_text()))
    if not options.key.exists():
        write_private(options.key, make_key(admin) + "\n")
    if not known(admin, options.agent_token):
        write_private(options.agent_token, make_agent_token(admin) + "\n")


if __name__ == "__main__":
    main()
