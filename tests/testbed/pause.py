"""The image of the container that holds a pod's network: one program that waits to be ended, compiled here."""

import hashlib
import io
import json
import platform
import subprocess
import tarfile
from pathlib import Path

from testbed.failure import Failure

NAME = "localhost/pause:1"
CODE = b"""#include <signal.h>
#include <unistd.h>
static void end(int number) { _exit(number & 0); }
int main(void) {
  signal(SIGTERM, end);
  signal(SIGINT, end);
  for (;;) pause();
}
"""


def _tar(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def make_pause_image(path: Path) -> None:
    """Writes it as a Docker archive, for containerd to import."""
    program = path.with_name("pause")
    done = subprocess.run(["cc", "-x", "c", "-static", "-Os", "-s", "-o", program, "-"], input=CODE, capture_output=True,
                          check=False)
    if done.returncode:
        raise Failure(f"cc could not compile the pause program: {done.stderr.decode().strip()}")
    layer = _tar({"pause": program.read_bytes()})
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    config = json.dumps({"architecture": architecture, "os": "linux",
                         "config": {"Entrypoint": ["/pause"], "User": "65535:65535"},
                         "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}}).encode()
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [NAME], "Layers": ["layer.tar"]}]).encode()
    path.write_bytes(_tar({"config.json": config, "layer.tar": layer, "manifest.json": manifest}))
