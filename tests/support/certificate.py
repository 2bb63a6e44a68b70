"""Certificates for listeners under test."""

import subprocess
from datetime import datetime, timedelta, timezone
from pathlib import Path

EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
HERE = "IP:127.0.0.1,DNS:localhost"
SETTINGS = """[ca]
default_ca = own
[own]
database = {folder}/index
new_certs_dir = {folder}
rand_serial = yes
unique_subject = no
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
"""


def _names(names: str) -> tuple[str, str]:
    return "-addext", f"subjectAltName={names}"


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 and localhost, signed by itself, and its key."""
    cert, key = folder / f"{name}.crt", folder / f"{name}.key"
    _openssl("req", "-x509", *EC, "-days", "2", "-subj", f"/CN={name}", *_names(HERE), "-keyout", str(key), "-out", str(cert))
    return cert, key


class Authority:
    """Signs certificates that end when a test wants."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder / name
        self._folder.mkdir()
        (self._folder / "index").touch()
        (self._folder / "settings").write_text(SETTINGS.format(folder=self._folder))
        self.cert, self._key = certificate(self._folder, name)

    def sign(self, folder: Path, name: str, ends: datetime, names: str = HERE) -> tuple[Path, Path]:
        """A certificate for 127.0.0.1 and localhost, or for other names, and its key."""
        cert, key, wanted = folder / f"{name}.crt", folder / f"{name}.key", self._folder / f"{name}.csr"
        _openssl("req", "-new", *EC, "-subj", f"/CN={name}", *_names(names), "-keyout", str(key), "-out", str(wanted))
        began = datetime.now(timezone.utc) - timedelta(hours=1)
        _openssl("ca", "-batch", "-notext", "-config", str(self._folder / "settings"), "-cert", str(self.cert), "-keyfile",
                 str(self._key), "-startdate", f"{began:%y%m%d%H%M%SZ}", "-enddate", f"{ends:%y%m%d%H%M%SZ}", "-in", str(wanted),
                 "-out", str(cert))
        return cert, key


def _openssl(*words: str) -> None:
    done = subprocess.run(["openssl", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
