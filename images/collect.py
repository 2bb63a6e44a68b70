"""Makes the tree of a minimal image out of a stage that has too much in it.

  collect.py --into ROOT --name NAME --version VERSION [--own PATH] [--compiled-in FILE] [--empty PATH[:MODE[:UID]]]
             [--link PATH=TARGET] PATH[=DESTINATION]...

Copies each PATH (folders with all below), and of programs the shared libraries they load; names the users root and
sluice (65532); and writes what the tree holds:

  /usr/share/sluice/sbom.spdx.json   each package with its version, each file with its hash
  /usr/share/doc/*/copyright         the packages' licences
  /var/lib/dpkg/status.d/*           their stanzas, where scanners of images look

A file that is neither a Debian package's nor --own is refused: then the document would be no true one.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Optional

from packages import Owners, Package, installed, merged, recorded
from sbom import document

USER = 65532
PASSWD = f"root:x:0:0:root:/:/sbin/nologin\nsluice:x:{USER}:{USER}:sluice:/:/sbin/nologin\n"
GROUP = f"root:x:0:\nsluice:x:{USER}:\n"
NSSWITCH = "passwd: files\ngroup: files\nhosts: files dns\n"
SBOM = "/usr/share/sluice/sbom.spdx.json"


class Tree:
    """What is collected so far: each file with the package it comes from."""

    def __init__(self, root: Path, own: list[str]) -> None:
        self.root = root
        self.files: dict[str, Optional[Package]] = {}
        self._own = tuple(own)
        self._owners = Owners()
        self._packages: dict[str, Package] = {}
        root.mkdir(parents=True)
        for folder in ("/bin", "/sbin", "/lib", "/lib64"):
            (root / ("usr" + folder)).mkdir(parents=True)
            (root / folder[1:]).symlink_to("usr" + folder)

    def write(self, path: str, text: str) -> None:
        """A file of ours."""
        target = self.root / path[1:]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        self.files[path] = None

    def copy(self, source: Path, destination: str) -> None:
        """A file, a link with what it leads to, or a folder with all below."""
        if source.is_dir() and not source.is_symlink():
            for entry in sorted(source.iterdir()):
                self.copy(entry, f"{destination}/{entry.name}")
            return
        destination = merged(destination)
        target = self.root / destination[1:]
        if os.path.lexists(target):
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.symlink_to(os.readlink(source))
            real = source.resolve(strict=True)
            self.copy(real, str(real))
            return
        self.files[destination] = self._package_of(str(source))
        shutil.copy2(source, target)
        for library in libraries_of(source):
            self.copy(library, str(library))

    def _package_of(self, source: str) -> Optional[Package]:
        if source.startswith(self._own):
            return None
        name = self._owners.of(source)
        if not name:
            sys.exit(f"collect: {source} is in no Debian package, and --own does not name it")
        if name not in self._packages:
            self._packages[name] = installed(name)
        return self._packages[name]

    def add_records(self) -> None:
        """Licences and stanzas of the packages that files came from."""
        for package in self._packages.values():
            path = f"/usr/share/doc/{package.name}/copyright"
            target = self.root / path[1:]
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)   # often a link into another package
            self.files[path] = package
            self.write(f"/var/lib/dpkg/status.d/{package.name}", package.status)


def libraries_of(program: Path) -> list[Path]:
    """The shared libraries that the loader would load, with the loader; none for what is no dynamic program."""
    with program.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            return []
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    if "not found" in done.stdout:
        sys.exit(f"collect: {program} needs a library that is not there:\n{done.stdout}")
    if done.returncode:
        return []   # statically linked
    return [Path(found) for found in re.findall(r"(?:=> |^\s*)(/\S+) \(", done.stdout, re.MULTILINE)]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--own", action="append", default=[], metavar="PATH", help="what is below it is ours")
    parser.add_argument("--compiled-in", type=Path, metavar="FILE",
                        help="packages of which our programs hold parts, a line each, as compiled_in.sh wrote them")
    parser.add_argument("--empty", action="append", default=[], metavar="PATH[:MODE[:UID]]", help="an empty folder")
    parser.add_argument("--link", action="append", default=[], metavar="PATH=TARGET")
    parser.add_argument("paths", nargs="+", metavar="PATH[=DESTINATION]")
    return parser.parse_args()


def main() -> None:
    """The whole tree."""
    given = arguments()
    tree = Tree(given.into, given.own)
    for item in given.paths:
        source, _, destination = item.partition("=")
        tree.copy(Path(source), destination or source)
    for item in given.link:
        path, _, target = item.partition("=")
        (tree.root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        (tree.root / path[1:]).symlink_to(target)
    for item in given.empty:
        path, mode, user, *_ = item.split(":") + ["755", "0"][item.count(":"):]
        folder = tree.root / path[1:]
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(int(mode, 8))
        os.chown(folder, int(user), int(user))
    for path, text in (("/etc/passwd", PASSWD), ("/etc/group", GROUP), ("/etc/nsswitch.conf", NSSWITCH)):
        tree.write(path, text)
    tree.add_records()
    compiled_in, embedded = recorded(given.compiled_in) if given.compiled_in else ([], [])
    sbom = document(given.name, given.version, tree.root, tree.files, compiled_in, embedded)
    target = tree.root / SBOM[1:]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(sbom, indent=1) + "\n")


if __name__ == "__main__":
    main()
