"""The server's certificate expires: agents keep deciding by what they have, say why they do not follow, and follow its renewal."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from support.certificate import Authority
from support.client import Client, fresh_subject
from support.crew import Crew
from support.faults import Fault
from support.process import wait_until
from support.server import Server

BACK_WITHIN = 25.0   # seconds: the server looks at its files every 10 s, and an agent tries again every 10 s at most


def _expiry(server: Server) -> float:
    return server.metric("sluice_tls_certificate_expiry_timestamp_seconds", certificate="serving")


@pytest.mark.fault("server-certificate-expired")
def test_an_expired_certificate_changes_no_answer_and_its_renewal_is_followed(
        make_crew: Callable[..., Crew], make_server: Callable[..., Server], tmp_path: Path, fault: Fault) -> None:
    authority = Authority(tmp_path)
    now = datetime.now(timezone.utc)
    cert, key = authority.sign(tmp_path, "server", now + timedelta(days=1))
    crew = make_crew()
    secure = make_server("--tls-cert", str(cert), "--tls-key", str(key), database=crew.server.database,
                         token=crew.server.token).start()
    crew.relay.target, crew.relay.scheme = secure.port, "https"
    agent, = crew.hire(1, "--server-tls-ca", str(authority.cert))
    with crew.admin() as admin:
        crew.set_limit(admin, 5000)
        crew.await_limit(5000)

        ended = now - timedelta(minutes=1)
        new_cert, new_key = authority.sign(tmp_path, "expired", ended)
        new_key.replace(key)
        new_cert.replace(cert)
        wait_until("the expired certificate in use", lambda: _expiry(secure) < time.time(), 30)
        crew.relay.cut()
        with Client(agent.admin_port) as probe:
            wait_until("why the agent does not follow", lambda: "certificate has expired" in str(probe.get("/readyz").body), 30)
        crew.set_limit(admin, 5001)
        with Client(agent.port, crew.key) as client:
            for _ in range(100):
                answer = client.check(resource="GET:/probe", subject=fresh_subject())
                assert (answer.status, answer.header("x-ratelimit-limit")) == (200, "5000"), answer
        with Client(agent.admin_port) as probe:
            assert probe.get("/readyz").status == 200

        new_cert, new_key = authority.sign(tmp_path, "renewed", now + timedelta(days=1))
        new_key.replace(key)
        new_cert.replace(cert)
        renewed = time.monotonic()
        crew.await_limit(5001)
        fault.recovered(time.monotonic() - renewed, BACK_WITHIN)
