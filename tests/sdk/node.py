"""Node.js for the tests of the npm package: the machine's, if it is new enough, else the one that `scripts/setup` puts under .run/node."""

import os
import re
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

OWN = Path(__file__).resolve().parents[2] / ".run/node/bin"
LEAST = 20


@lru_cache
def search_path() -> str:
    """PATH with a `node` and an `npm` that can be used."""
    node = shutil.which("node")
    if node and shutil.which("npm"):
        version = re.match(r"v(\d+)\.", subprocess.run([node, "--version"], capture_output=True, text=True, timeout=60, check=False).stdout)
        if version and int(version[1]) >= LEAST:
            return os.environ["PATH"]
    return f"{OWN}{os.pathsep}{os.environ['PATH']}"


def node() -> str:
    """The program `node`."""
    return shutil.which("node", path=search_path()) or "node"
