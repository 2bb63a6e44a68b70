"""Which Debian package a file comes from, by dpkg's own lists; and the packages that are compiled in."""

import base64
import subprocess
from dataclasses import dataclass
from pathlib import Path

DPKG = Path("/var/lib/dpkg")
MERGED = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")   # links into /usr since Debian merged them

# Created by a package's scripts during installation, and so in no package's list of files.
MADE = {"/etc/ssl/certs/ca-certificates.crt": "ca-certificates"}


@dataclass(frozen=True)
class Package:
    """One installed package."""

    name: str
    version: str
    architecture: str
    source: str          # "openssl"
    source_version: str
    status: str          # its entry as dpkg -s prints it


@dataclass(frozen=True)
class NpmPackage:
    """A package of npm, of which parts are in the console."""

    name: str            # "@preact/signals"
    version: str
    sha512: str          # of the archive that npm serves, in hexadecimal digits
    licence: str         # an expression of SPDX


def merged(path: str) -> str:
    """/lib/x is /usr/lib/x; packages' lists hold the one or the other."""
    return "/usr" + path if path.startswith(tuple(folder + "/" for folder in MERGED)) else path


class Owners:
    """Looked up once, when made."""

    def __init__(self, root: Path = DPKG) -> None:
        self._by_path: dict[str, str] = {}
        for listing in sorted((root / "info").glob("*.list")):
            for line in listing.read_text().splitlines():
                self._by_path.setdefault(merged(line), listing.stem)

    def of(self, path: str) -> str:
        """The package, as dpkg names it ("libssl3:amd64"); "" where no package has it."""
        return MADE.get(path) or self._by_path.get(merged(path), "")


FIELDS = "${Package} ${Version} ${Architecture} ${source:Package} ${source:Version}\\n"   # a line of dpkg-query -W -f


def installed(name: str) -> Package:
    """What dpkg knows of a package."""
    fields = subprocess.run(["dpkg-query", "-W", "-f", FIELDS, name], check=True, capture_output=True, text=True).stdout
    status = subprocess.run(["dpkg-query", "-s", name], check=True, capture_output=True, text=True).stdout
    return Package(*fields.split(), status=status)


NPM = "npm:"   # begins a line of server/console/build.mjs: npm:NAME VERSION INTEGRITY LICENCE


def npm_package(line: str) -> NpmPackage:
    """One such line, without its beginning."""
    name, version, integrity, licence = line.split(maxsplit=3)
    kind, _, digest = integrity.partition("-")
    if kind != "sha512":
        raise ValueError(f"the package {name} has an integrity that is not a sha512: {integrity}")
    return NpmPackage(name, version, base64.b64decode(digest, validate=True).hex(), licence)


def recorded(file: Path) -> tuple[list[Package], list[NpmPackage]]:
    """What was compiled in where this file was written (compiled_in.sh): Debian's packages, in lines of FIELDS, and npm's."""
    lines = file.read_text().splitlines()
    return ([Package(*line.split(), status="") for line in lines if not line.startswith(NPM)],
            [npm_package(line.removeprefix(NPM)) for line in lines if line.startswith(NPM)])
