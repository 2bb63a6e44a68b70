"""The programs that are built from the module in go/: where they are, and how they are built there once for everybody.

They lie in a cache outside the checkout under a hash of all they are made from, so that clones and worktrees share them,
and a change of one file here makes others. Builders exclude each other with a lock; a program appears whole or not at all.
"""

import fcntl
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from testbed.failure import Failure
from testbed.toolchain import cache_folder, find_go

SOURCE = Path(__file__).resolve().parent / "go"


@dataclass(frozen=True)
class Program:
    """One of them: its folder in the module, what it holds, how long its build takes, and the versions it is built from."""

    name: str
    folder: str
    holds: str
    takes: str
    versions: str = "go"   # NAME.mod and NAME.sum

    def sources(self) -> list[Path]:
        """All that it is made from."""
        return sorted([self.module(), SOURCE / f"{self.versions}.sum", *(SOURCE / self.folder).glob("*.go")])

    def module(self) -> Path:
        """The file that pins the versions and, with the sums beside it, what is downloaded."""
        return SOURCE / f"{self.versions}.mod"


TESTBED = Program("kube-testbed", ".", "Kubernetes", "5 minutes or more")        # the one binary a cluster consists of
KUSTOMIZE = Program("kustomize", "kustomize", "kustomize of Kubernetes", "a minute")   # renders manifests; needs no cluster
# The same as the oldest kubectl has it that docs/guide/kubernetes.md allows.
OLDEST_KUSTOMIZE = Program("kustomize-oldest", "kustomize", "kustomize of kubectl", "a minute", "oldest")


def binary_path(program: Program = TESTBED) -> Path:
    """Where the binary of these sources belongs, be it there or not."""
    digest = hashlib.sha256()
    for file in program.sources():
        content = file.read_bytes()
        digest.update(f"{file.name} {len(content)}\n".encode() + content)
    return cache_folder() / "kube" / digest.hexdigest()[:16] / program.name


def kubernetes_version(program: Program = TESTBED) -> str:
    """The version that a program is of, as its file of versions pins it: "v1.36.3". kubectl's modules begin with v0."""
    text = program.module().read_text()
    found = re.search(r"^\s*k8s\.io/kubernetes v1(\.\S+)$", text, re.MULTILINE) or re.search(
        r"^\s*k8s\.io/kubectl v0(\.\S+)$", text, re.MULTILINE)
    if not found:
        raise Failure(f"{program.module()} requires neither k8s.io/kubernetes nor k8s.io/kubectl")
    return f"v1{found.group(1)}"


def _linker_flags(program: Program) -> str:
    """What `kubectl version` and the server's /version say: modules do not carry it."""
    version = kubernetes_version(program)
    major, minor = version.removeprefix("v").split(".")[:2]
    flags = ["-s", "-w"]
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
        for name, value in (("gitVersion", version), ("gitMajor", major), ("gitMinor", minor)):
            flags += ["-X", f"{package}.{name}={value}"]
    return " ".join(flags)


def build(program: Program = TESTBED) -> Path:
    """The binary, built where it is missing; says what it does on stderr."""
    binary = binary_path(program)
    if binary.exists():
        return binary
    binary.parent.mkdir(parents=True, exist_ok=True)
    with open(binary.parent.parent / "lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another build is under way: waiting for it", file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        if not binary.exists():
            _compile(program, binary)
    return binary


def _compile(program: Program, binary: Path) -> None:
    go = find_go(SOURCE / "go.mod")
    print(f"building {program.holds} {kubernetes_version(program)} into {binary} with {go}: {program.takes}, once", file=sys.stderr,
          flush=True)
    with tempfile.TemporaryDirectory(dir=binary.parent) as folder:
        built = Path(folder, program.name)
        environment = dict(os.environ, CGO_ENABLED="0", GOWORK="off", GOTOOLCHAIN="auto")
        done = subprocess.run([go, "build", f"-modfile={program.module()}", "-trimpath", "-buildvcs=false", "-ldflags",
                               _linker_flags(program), "-o", built, f"./{program.folder}"], cwd=SOURCE, env=environment, check=False)
        if done.returncode:
            raise Failure(f"go build failed ({done.returncode}) and said why above; it needs a Go module proxy (go env GOPROXY)")
        built.rename(binary)
