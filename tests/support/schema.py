"""Kubernetes' schemas: what is wrong with a manifest, said without a cluster. scripts/setup manifests installs what knows them."""

import subprocess
import tempfile
from pathlib import Path

import yaml

from testbed.binary import kubernetes_version
from support.manifests import Object

PROGRAM = Path(__file__).resolve().parents[2] / ".run/kubernetes-validate/bin/kubernetes-validate"


def faults(*manifests: Object) -> str:
    """Every fault that strict validation finds, unknown fields too; "" where there is none."""
    assert PROGRAM.exists(), f"there is no {PROGRAM}: scripts/setup manifests"
    version = kubernetes_version().removeprefix("v").rpartition(".")[0]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump_all(manifests, file)
        file.flush()
        done = subprocess.run([PROGRAM, "--strict", "--quiet", "-k", version, file.name], capture_output=True, text=True, check=False)
    assert done.returncode == 0 or done.stdout + done.stderr, "it said nothing"
    return "" if done.returncode == 0 else done.stdout + done.stderr
