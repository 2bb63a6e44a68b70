"""The packages install, serve programs, and leave nothing behind."""

import os
import subprocess
from pathlib import Path

import pytest

from support.unpacked import EXAMPLES, packages

# Runs in a mount namespace of its own: what it changes is in memory, above this machine's files, and gone at its end.
OVERLAY = """
set -eu
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
mount --rbind /dev "$1/root/dev"
mount -t proc proc "$1/root/proc"
mkdir -p "$1/root/run/debs" "$1/root/run/try"
cp "${@:4}" "$1/root/run/debs"
cp -r "$2/." "$1/root/run/try"
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive chroot "$1/root" bash -c "$3" 2>&1
cd "$1/upper"
echo "--- left"
find . -path ./run -prune -o -path './dev' -prune -o -iname '*sluice*' ! -type c -print
"""

STORY = """
set -eu
ldconfig -p | grep sluice && { echo "installed before"; exit 1; }
dpkg -i /run/debs/*.deb
dpkg --verify libsluice0 libsluice-dev sluicectl
ldconfig -p | grep -c libsluice.so.0
sluicectl --version
cd /run/try
g++ -std=c++20 cpp/check.cpp -o by-pkg-config $(pkg-config --cflags --libs sluice)
./by-pkg-config
clang++-19 -std=c++20 cpp/check.cpp -o plain -lsluice
./plain
CXX=g++ cmake -G Ninja -S cpp -B built >/dev/null
cmake --build built >/dev/null
built/check
python3 python/check.py
cd /
dpkg --purge sluicectl libsluice-dev libsluice0
ldconfig -p | grep sluice && { echo "left in the linker's cache"; exit 1; }
dpkg-query -W -f '${Package} ${db:Status-Status}\\n' libsluice0 libsluice-dev sluicectl 2>&1 || :
"""

CPP = ["allowed, 2 left", "allowed, 1 left", "allowed, 0 left", "denied, 0 left"]


def test_packages_install_serve_and_leave_nothing_behind(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("installing packages needs root")
    done = subprocess.run(["unshare", "--mount", "bash", "-c", OVERLAY, "overlay", str(tmp_path), str(EXAMPLES), STORY,
                           *map(str, packages().values())], capture_output=True, text=True, check=False)
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    lines = done.stdout.splitlines()
    at = [i for i, line in enumerate(lines) if line == CPP[0]]
    assert [lines[i:i + 4] for i in at] == [CPP] * 3, text
    assert "exporting" in lines, text
    left = lines[lines.index("--- left") + 1:]
    # dpkg's own lists are gone with the packages; its log and backup of the status are not named after them.
    assert left == [], text
