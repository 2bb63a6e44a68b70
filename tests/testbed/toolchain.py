"""Which Go builds the binary: one that is there, or Go's own distribution as a module.

From 1.21 on a go command fetches the toolchain that go.mod asks for by itself. Debian 12's 1.19 does not, but it can
download that toolchain like any module; then we unpack what it verified, against the sum pinned here as well.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from testbed.failure import Failure

FETCHES_ITSELF = (1, 21)
PLACES = ("/usr/local/go/bin/go", "/usr/lib/go/bin/go", "/usr/bin/go")

# What an older go downloads, and the sums of these modules as go.sum would hold them.
VERSION = "1.26.8"
SUMS = {
    "linux-amd64": "h1:ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM=",
    "linux-arm64": "h1:sYL/O6MqS68ML0kjsQ36WoYIpJqkw60TxizWUYUKQMc=",
}


def cache_folder() -> Path:
    """What is kept beyond a checkout: below XDG_CACHE_HOME."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sluice"


def _number(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def _version(go: str) -> tuple[int, ...]:
    """Of that command itself, whatever toolchain it would choose; () where it does not run."""
    done = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=False, cwd="/",
                          env=dict(os.environ, GOTOOLCHAIN="local"))
    return _number(done.stdout) if done.returncode == 0 else ()


def find_go(module: Path) -> str:
    """A go command that builds the module of this go.mod; fetches one where none is new enough."""
    wanted = re.search(r"^go (\S+)$", module.read_text(), re.MULTILINE)
    least = min(_number(wanted.group(1)) if wanted else (), FETCHES_ITSELF)
    present = [found for place in ("go", *PLACES) if (found := shutil.which(place))]
    for go in dict.fromkeys(present):
        if _version(go) >= least:
            return go
    if not present:
        raise Failure("no Go here: scripts/setup kube installs one, or put Go 1.21 or later into PATH")
    return str(_fetch(present[0]))


def _fetch(go: str) -> Path:
    """The distribution's go command, below the cache; `go` downloads it."""
    kind = "linux-" + {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    if kind not in SUMS:
        raise Failure(f"no toolchain is pinned for {kind}: put Go {VERSION} or later into PATH")
    folder = cache_folder() / "go" / f"{VERSION}-{kind}"
    if (folder / "bin/go").exists():
        return folder / "bin/go"
    name = f"golang.org/toolchain@v0.0.1-go{VERSION}.{kind}"
    print(f"fetching {name}", file=sys.stderr, flush=True)
    module = _download([go, "mod", "download", "-json", name])
    if module.get("Sum") != SUMS[kind]:
        raise Failure(f"{name} has the sum {module.get('Sum')}, not the pinned {SUMS[kind]}: not used")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        copy = Path(temporary, "go")
        shutil.copytree(module["Dir"], copy, copy_function=_copy_writable)
        for program in [*copy.glob("bin/*"), *copy.glob("pkg/tool/*/*")]:
            program.chmod(0o755)   # modules do not say what is a program
        copy.rename(folder)
    return folder / "bin/go"


def _download(command: Sequence[str]) -> dict[str, str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    answer: dict[str, str] = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    if done.returncode or answer.get("Error"):
        raise Failure(f"{' '.join(command)}: {answer.get('Error') or done.stderr.strip()}")
    return answer


def _copy_writable(source: str, target: str) -> str:
    """The module cache is read-only; what we make of it can be deleted."""
    shutil.copyfile(source, target)
    return target
