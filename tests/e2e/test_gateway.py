"""Gateway mode: the same agent on another address, with TLS."""

import http.client
import json
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path

from support.agent import Agent
from support.bundle import MintedKey
from support.certificate import certificate
from support.process import wait_until
from support.standard import standard_bundle

Make = Callable[..., Agent]
CHECK = {"plan_id": "fixed", "subject": "user:1"}


def secure_check(agent: Agent, key: MintedKey, trusted: Path) -> int:
    """The status of a check over TLS; raises ssl.SSLError where the certificate is not the trusted one."""
    connection = http.client.HTTPSConnection("127.0.0.1", agent.port, timeout=30,
                                             context=ssl.create_default_context(cafile=str(trusted)))
    connection.request("POST", "/v1/check", json.dumps(CHECK), {"x-api-key": key.text})
    status = connection.getresponse().status
    connection.close()
    return status


def test_checks_over_tls_count_with_those_on_the_unix_socket(make_agent: Make, key: MintedKey, other_key: MintedKey,
                                                             tmp_path: Path) -> None:
    cert, private = certificate(tmp_path, "gateway")
    agent = make_agent(standard_bundle(key, other_key), "memory", "--workers", "2", "--tls-cert", str(cert),
                       "--tls-key", str(private)).start()
    statuses = [secure_check(agent, key, cert) for _ in range(3)]
    with agent.unix_client(key.text) as client:   # in clear: it never leaves the machine
        statuses += [client.check(**CHECK).status for _ in range(3)]
    assert statuses == [200] * 5 + [429]
    assert agent.metric("sluice_tls_certificate_expiry_timestamp_seconds") > 0
    with agent.client(key.text) as clear:
        assert clear.check(**CHECK).status == 400


def test_check_config_looks_into_the_files_of_tls(program: Path, key: MintedKey, other_key: MintedKey, tmp_path: Path) -> None:
    cert, private = certificate(tmp_path, "gateway")
    other, _ = certificate(tmp_path, "other")
    bundle = standard_bundle(key, other_key).write(tmp_path / "bundle.json")

    def check(*flags: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([program, "--check-config", "--counters", "memory", *map(str, flags)],
                              capture_output=True, text=True, timeout=30, check=False)

    pair = ("--tls-cert", cert, "--tls-key", private)
    assert check("--policies", bundle, *pair, "--tls-client-ca", other).returncode == 0
    swapped = check("--policies", bundle, "--tls-cert", private, "--tls-key", cert, "--tls-client-ca", private)
    assert swapped.returncode == 1 and f"{private} holds no certificate" in swapped.stderr
    assert "--tls-cert, --tls-key: " in swapped.stderr and "--tls-client-ca: " in swapped.stderr
    assert "is not the key" in check("--policies", bundle, "--tls-cert", other, "--tls-key", private).stderr
    token = tmp_path / "agent-token"
    token.write_text("eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln\n")   # as a service account has it
    follows = check("--server", "https://127.0.0.1:1", "--agent-token-file", token, *pair)
    assert (follows.returncode, follows.stdout) == (0, "the flags are good; the server has the policies\n"), follows.stderr


def test_a_renewed_certificate_is_taken_without_a_restart(make_agent: Make, key: MintedKey, other_key: MintedKey,
                                                          tmp_path: Path) -> None:
    cert, private = certificate(tmp_path, "first")
    agent = make_agent(standard_bundle(key, other_key), "memory", "--tls-cert", str(cert), "--tls-key", str(private)).start()
    assert secure_check(agent, key, cert) == 200
    new_cert, new_private = certificate(tmp_path, "second")
    new_private.replace(private)
    new_cert.replace(cert)

    def renewed() -> bool:
        try:
            return secure_check(agent, key, cert) == 200
        except ssl.SSLError:
            return False

    wait_until("the renewed certificate", renewed, 30)


def test_others_reach_it_with_tls_or_where_that_is_meant(make_agent: Make, key: MintedKey, other_key: MintedKey,
                                                         tmp_path: Path) -> None:
    bundle = standard_bundle(key, other_key)
    refused = make_agent(bundle, "memory")
    refused.host = "0.0.0.0"
    refused.launch()
    assert refused.process.wait(30) == 2
    assert "--tls-cert" in refused.process.output()
    cert, private = certificate(tmp_path, "gateway")
    agent = make_agent(bundle, "memory", "--tls-cert", str(cert), "--tls-key", str(private))
    agent.host = "0.0.0.0"
    agent.start()
    assert secure_check(agent, key, cert) == 200


def test_a_certificate_of_another_key_ends_the_start(make_agent: Make, key: MintedKey, other_key: MintedKey,
                                                     tmp_path: Path) -> None:
    cert, _ = certificate(tmp_path, "one")
    _, private = certificate(tmp_path, "two")
    agent = make_agent(standard_bundle(key, other_key), "memory", "--tls-cert", str(cert), "--tls-key", str(private)).launch()
    assert agent.process.wait(30) == 1
    assert "tls_failed" in agent.process.output()
