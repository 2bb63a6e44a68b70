"""The Debian packages of the library, unpacked as on a machine of their own, and programs compiled against them."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "in_process"


def run(command: list[str], folder: Path, env: Optional[dict[str, str]] = None) -> str:
    """What a command prints; fails with all that it has said."""
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def packages() -> dict[str, Path]:
    """Name of a package -> the file that scripts/package has made."""
    folder = Path(os.environ.get("PACKAGES_OF_SLUICE") or ROOT / "build" / "package")
    found = {file.name.split("_")[0]: file for file in sorted(folder.glob("*.deb"))}
    assert {"libsluice0", "libsluice-dev", "sluicectl"} <= found.keys(), f"there are no packages in {folder}: run scripts/package"
    return found


@dataclass(frozen=True)
class Unpacked:
    """A folder `usr` with the files of libsluice0 and libsluice-dev."""

    usr: Path

    @property
    def libraries(self) -> Path:
        return next(self.usr.glob("lib/*/libsluice.a")).parent

    @property
    def env(self) -> dict[str, str]:
        """Where CMake, pkg-config and the dynamic linker look, as they would by themselves below /usr."""
        return {**os.environ, "CMAKE_PREFIX_PATH": str(self.usr), "PKG_CONFIG_PATH": str(self.libraries / "pkgconfig"),
                "LD_LIBRARY_PATH": str(self.libraries)}

    def pkg_config(self, *arguments: str) -> list[str]:
        return run(["pkg-config", *arguments], self.usr, self.env).split()


def unpack(folder: Path) -> Unpacked:
    for name in ("libsluice0", "libsluice-dev"):
        run(["dpkg-deb", "-x", str(packages()[name]), str(folder)], folder)
    return Unpacked(folder / "usr")


def example(name: str, folder: Path) -> Path:
    """A copy of one example with its policies, and nothing else."""
    shutil.copytree(EXAMPLES / name, folder / name)
    shutil.copy(EXAMPLES / "policies.yaml", folder)
    return folder / name
