"""The cluster's certificates and kubeconfigs, made with the openssl command; kept as long as the folder."""

import base64
import json
import subprocess
from pathlib import Path

from testbed.failure import Failure
from testbed.layout import NODE_IP, SERVICE_IP, USERS, Layout

DAYS = "30"
EC_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
SERVER_USAGE = ("extendedKeyUsage=serverAuth\n"
                f"subjectAltName=IP:127.0.0.1,IP:{SERVICE_IP},IP:{NODE_IP},"
                "DNS:localhost,DNS:kubernetes.default.svc,DNS:kubernetes.default")
CLIENT_USAGE = "extendedKeyUsage=clientAuth"


def _openssl(folder: Path, *arguments: str) -> None:
    try:
        done = subprocess.run(("openssl", *arguments), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True, check=False)
    except FileNotFoundError:
        raise Failure("openssl is not installed: scripts/setup kube") from None
    if done.returncode:
        raise Failure(f"openssl {' '.join(arguments)}: {done.stderr.strip()}")


def make_certificates(layout: Layout) -> None:
    """All that is in pki/, unless a former start made it."""
    pki = layout.pki
    if (pki / "done").exists():
        return
    pki.mkdir(parents=True, exist_ok=True)
    pki.chmod(0o700)
    _openssl(pki, "req", "-x509", *EC_KEY, "-keyout", "ca.key", "-out", "ca.crt", "-days", DAYS, "-subj", "/CN=testbed-ca",
             "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    _openssl(pki, "genrsa", "-out", "sa.key", "2048")
    _openssl(pki, "rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub")
    _sign(pki, "apiserver", "/CN=kube-apiserver", SERVER_USAGE)
    for name, subject in USERS.items():
        _sign(pki, name, subject, CLIENT_USAGE)
    (pki / "done").touch()


def _sign(pki: Path, name: str, subject: str, usage: str) -> None:
    (pki / f"{name}.ext").write_text(f"{usage}\nkeyUsage=critical,digitalSignature\n")
    _openssl(pki, "req", "-new", *EC_KEY, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", subject)
    _openssl(pki, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
             "-days", DAYS, "-extfile", f"{name}.ext", "-out", f"{name}.crt")


def write_kubeconfigs(layout: Layout, server: str) -> None:
    """One for each of USERS, with everything inside."""

    def data(name: str) -> str:
        return base64.b64encode((layout.pki / name).read_bytes()).decode()

    for user in USERS:
        path = layout.kubeconfig(user)
        path.touch(mode=0o600)
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "testbed",
            "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": user}}],
            "clusters": [{"name": "testbed", "cluster": {"server": server, "certificate-authority-data": data("ca.crt")}}],
            "users": [{"name": user, "user": {"client-certificate-data": data(f"{user}.crt"),
                                              "client-key-data": data(f"{user}.key")}}]}, indent=1))
