"""CustomResourceDefinitions of others, out of their Go modules: pinned by version and hash, kept in the cache of kube-testbed,
outside of the checkout."""

import json
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from testbed.binary import SOURCE
from testbed.toolchain import cache_folder, find_go


@dataclass(frozen=True)
class Module:
    """One Go module and the files of it that are wanted."""

    path: str
    version: str
    sum: str                  # as in go.sum
    files: tuple[str, ...]

    def definitions(self) -> list[dict[str, Any]]:
        """What the files define, without the labels and annotations, which are templates of somebody's installer."""
        found = []
        for name in self.files:
            definition = yaml.safe_load((self._folder() / Path(name).name).read_text())
            for part in ("labels", "annotations"):
                definition["metadata"].pop(part, None)
            found.append(definition)
        return found

    def _folder(self) -> Path:
        """The files; fetched where they are not there yet."""
        digest = self.sum.removeprefix("h1:").translate(str.maketrans("+/", "-_"))[:16]
        folder = cache_folder() / "kube" / "crds" / f"{self.path.rpartition('/')[2]}-{self.version}-{digest}"
        if not all((folder / Path(name).name).exists() for name in self.files):
            self._fetch(folder)
        return folder

    def _fetch(self, folder: Path) -> None:
        done = subprocess.run([find_go(SOURCE / "go.mod"), "mod", "download", "-json", f"{self.path}@{self.version}"], capture_output=True,
                              text=True, check=False, cwd=tempfile.gettempdir())
        assert done.returncode == 0, f"{self.path} cannot be had: {done.stdout}{done.stderr}"
        told = json.loads(done.stdout)
        assert told["Sum"] == self.sum, f"{self.path}@{self.version} is not what was pinned: {told['Sum']}"
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=folder.parent))
        for name in self.files:
            shutil.copyfile(Path(told["Dir"]) / name, fresh / Path(name).name)
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)


PROMETHEUS = Module("github.com/prometheus-operator/prometheus-operator", "v0.85.0",
                    "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
                    tuple(f"example/prometheus-operator-crd/monitoring.coreos.com_{kind}.yaml"
                          for kind in ("servicemonitors", "podmonitors", "prometheusrules")))
CERT_MANAGER = Module("github.com/cert-manager/cert-manager", "v1.18.2", "h1:H2P75ycGcTMauV3gvpkDqLdS3RSXonWF2S49QGA1PZE=",
                      ("deploy/crds/crd-certificates.yaml", "deploy/crds/crd-issuers.yaml"))
