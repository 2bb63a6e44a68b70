"""The certificate that servers keep for themselves in a Secret: shared, renewed, replaced, by a real API server."""

import functools
import json
import ssl
import threading
import time
import urllib.error
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import pytest

from support.injector import IMAGE, pod
from support.kube import KubeCluster
from support.kube_server import ApiReader, Home, served_to
from support.process import all_of, free_port, wait_until
from support.server import Server

Make = Callable[..., Server]

# Short enough that a test sees a certificate go by its age, and five seconds longer than a busy machine needs to renew it.
SHORT = ["--tls-lifetime", "15s", "--tls-ca-lifetime", "2m", "--tls-look-every", "200ms"]
QUICK = ["--tls-look-every", "200ms"]


@pytest.fixture
def home(control_plane: KubeCluster, make_namespace: Callable[..., str], tmp_path: Path) -> Iterator[Home]:
    """A namespace for servers."""
    made = Home.make(control_plane, make_namespace(control_plane), tmp_path)
    yield made
    made.close()


@pytest.fixture
def reader(control_plane: KubeCluster) -> ApiReader:
    """The administrator."""
    return ApiReader(control_plane)


def start_on_port(server: Server) -> int:
    """Starts it; where it serves TLS."""
    return server.start().port


class Again:
    """Does things again and again, each on a thread of its own, for as long as the block lasts."""

    def __init__(self, *things: Callable[[], None]) -> None:
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(thing,)) for thing in things]

    def _run(self, thing: Callable[[], None]) -> None:
        while not self._ended.is_set():
            thing()

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()


class Admissions(Again):
    """Pods that are made, without being kept, through a webhook without which there are none."""

    def __init__(self, home: Home, reader: ApiReader, space: str) -> None:
        super().__init__(self._ask, self._ask)
        self.made = 0
        self.faults: list[str] = []
        self._home, self._reader, self._space = home, reader, space

    def begin(self, port: int) -> None:
        """Leads the webhook there, and waits until the API server has heard of it."""
        self._home.cluster.kubectl("patch", "mutatingwebhookconfiguration", self._home.webhooks, "--type=json", "-p", json.dumps([
            {"op": "replace", "path": "/webhooks/0/clientConfig/url", "value": f"https://127.0.0.1:{port}/v1/inject"},
            {"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Fail"},
            {"op": "replace", "path": "/webhooks/0/namespaceSelector", "value": {
                "matchLabels": {"kubernetes.io/metadata.name": self._space}}}]))
        wait_until("the webhook in force", self._one, 30)

    def _one(self) -> bool:
        """Makes one; whether it has the sidecar."""
        made = self._reader.post(f"/api/v1/namespaces/{self._space}/pods?dryRun=All", pod("cart"))
        return [container["name"] for container in made["spec"].get("initContainers", [])] == ["sluice-agent"]

    def _ask(self) -> None:
        try:
            if not self._one():
                self.faults.append("no sidecar")
        except urllib.error.HTTPError as refusal:
            self.faults.append(refusal.read().decode())
        self.made += 1


class Handshakes(Again):
    """Whoever trusts shakes hands with listeners: the API server by the caBundle in force, and an agent that
    was told of an authority once and of none since."""

    def __init__(self, home: Home, reader: ApiReader, ports: Callable[[], list[int]], told: str = "") -> None:
        super().__init__(*(functools.partial(self._ask, trusting) for trusting in {"", told}))
        self.refused: list[str] = []
        self.made = 0
        self.served: set[bytes] = set()
        self._home, self._reader, self._ports = home, reader, ports

    def _ask(self, told: str) -> None:
        for port in self._ports():
            self._shake_hands(port, told)

    def _shake_hands(self, port: int, told: str) -> None:
        trusted = told or self._home.bundle(self._reader)
        try:
            self.served.add(served_to(port, trusted))
        except ssl.SSLError as refusal:
            if port in self._ports():   # else it was killed meanwhile
                self.refused.append(f"{'an agent' if told else 'the API server'}: {refusal}")
        except OSError:
            return   # it was killed
        self.made += 1


def test_the_first_server_makes_the_secret_and_the_second_serves_the_same(make_server: Make, home: Home, reader: ApiReader) -> None:
    one, two = (make_server(*home.flags(*QUICK)) for _ in range(2))
    first = served_to(start_on_port(one), home.bundle(reader))
    assert served_to(start_on_port(two), home.bundle(reader)) == first
    assert served_to(two.port, home.bundle(reader), "127.0.0.1") == first
    secret = home.secret(reader)
    assert secret["ca.crt"] == home.bundle(reader) and "PRIVATE KEY" in secret["ca.key"]
    assert one.metric("sluice_tls_certificate_expiry_timestamp_seconds", certificate="serving") > time.time() + 80 * 86_400
    assert one.metric("sluice_tls_certificate_expiry_timestamp_seconds", certificate="ca") > time.time() + 3_600 * 86_400
    assert one.metric("sluice_tls_check_errors_total") == 0
    assert "PRIVATE" not in one.log.read_text() + two.log.read_text()


def test_servers_that_start_at_once_come_to_one_certificate(make_server: Make, home: Home, reader: ApiReader) -> None:
    servers = [make_server(*home.flags(*QUICK)).launch() for _ in range(3)]
    for server in servers:
        wait_until("the certificate", lambda server=server: server.metric("sluice_tls_certificate_expiry_timestamp_seconds", certificate="serving"), 30)
    assert len({served_to(server.port, home.bundle(reader)) for server in servers}) == 1


def test_no_handshake_is_lost_while_certificates_and_authorities_are_replaced(
        make_server: Make, home: Home, reader: ApiReader) -> None:
    servers = [make_server(*home.flags(*SHORT)) for _ in range(2)]
    ports = [start_on_port(server) for server in servers]
    def authority() -> str:
        return home.secret(reader)["ca.crt"].partition("-----END")[0]

    with Handshakes(home, reader, lambda: ports) as stream:
        for _ in range(2):
            former = authority()
            home.cluster.kubectl("annotate", "secret", "sluice-tls", "-n", home.namespace, "sluice.dev/renew=ca")
            wait_until("another authority", lambda former=former: authority() != former, 60)
        wait_until("a certificate renewed by its age", lambda: all_of(
            servers, lambda server: server.metric("sluice_tls_rotations_total") >= 3), 60)
    assert not stream.refused, stream.refused[:3]
    assert stream.made > 20 and len(stream.served) >= 4


def test_no_admission_is_lost_while_certificates_and_authorities_are_replaced(
        make_server: Make, make_namespace: Callable[..., str], home: Home, reader: ApiReader) -> None:
    port = free_port()
    server = make_server(*home.flags(*SHORT), "--webhook", f"127.0.0.1:{port}", "--inject-image", IMAGE,
                         "--inject-counters", "memory").start()
    load = Admissions(home, reader, make_namespace(home.cluster, restricted=True))
    wait_until("whom to trust", lambda: home.bundle(reader), 30)
    load.begin(port)
    with load:
        for number in range(2):
            served = server.metric("sluice_tls_rotations_total")
            home.cluster.kubectl("annotate", "secret", "sluice-tls", "-n", home.namespace, "sluice.dev/renew=ca")
            wait_until("a certificate of another authority", lambda served=served: server.metric("sluice_tls_rotations_total") > served, 60)
            made = load.made
            wait_until(f"pods after replacement {number + 1}", lambda made=made: load.made > made + 10, 60)
        served = server.metric("sluice_tls_rotations_total")
        wait_until("a certificate renewed by its age", lambda: server.metric("sluice_tls_rotations_total") > served, 60)
    assert not load.faults, load.faults[:3]
    assert load.made > 40


def test_agents_that_know_the_former_authority_only_trust_what_the_next_one_signs(
        make_server: Make, home: Home, reader: ApiReader) -> None:
    servers = [make_server(*home.flags(*QUICK)) for _ in range(2)]
    ports = [start_on_port(server) for server in servers]
    told = home.bundle(reader)
    first = {served_to(port, told) for port in ports}
    with Handshakes(home, reader, lambda: ports, told) as stream:
        home.cluster.kubectl("annotate", "secret", "sluice-tls", "-n", home.namespace, "sluice.dev/renew=ca")
        wait_until("both to serve a certificate of the next authority", lambda: all_of(
            ports, lambda port: served_to(port, told) not in first), 60)
        made = stream.made
        wait_until("handshakes with it", lambda: stream.made > made + 20, 60)
    assert not stream.refused, stream.refused[:3]
    assert home.bundle(reader).count("BEGIN CERTIFICATE") == 2, "the former one is trusted until its last certificate ends"


def test_a_server_that_is_killed_in_the_middle_leaves_what_others_and_the_next_one_go_on_with(
        make_server: Make, home: Home, reader: ApiReader) -> None:
    steady, mortal = (make_server(*home.flags(*SHORT)) for _ in range(2))
    port = start_on_port(steady)
    alive: list[int] = [port]
    with Handshakes(home, reader, lambda: list(alive)) as stream:
        for pause in (0.0, 0.15, 0.4, 0.9):
            alive.append(start_on_port(mortal))
            home.cluster.kubectl("annotate", "secret", "sluice-tls", "-n", home.namespace, "sluice.dev/renew=ca", "--overwrite")
            stopped = threading.Event()
            stopped.wait(pause)   # somewhere among announcing, telling and promoting
            alive.pop()
            mortal.kill9()
    assert not stream.refused, stream.refused[:3]
    last = start_on_port(mortal)
    wait_until("both to serve the same", lambda: len({served_to(each, home.bundle(reader)) for each in (port, last)}) == 1, 30)


def test_while_the_api_server_is_away_what_is_in_force_stays_and_it_is_said(
        make_server: Make, make_cluster: Callable[..., KubeCluster], tmp_path: Path) -> None:
    cluster = make_cluster().start()
    cluster.kubectl("create", "namespace", "sluice-system")
    home, reader = Home.make(cluster, "sluice-system", tmp_path), ApiReader(cluster)
    server = make_server(*home.flags("--tls-lifetime", "30s", "--tls-ca-lifetime", "1h", *QUICK))
    port = start_on_port(server)
    trusted = home.bundle(reader)
    before = served_to(port, trusted)
    cluster.stop()
    wait_until("the failure", lambda: server.metric("sluice_tls_check_errors_total") > 1, 30)
    assert served_to(port, trusted) == before
    ready = server.probe("/readyz")
    assert ready.status == 200 and "certificate" in json.dumps(ready.body)
    late = make_server(*home.flags(*QUICK)).launch()
    wait_until("its failure", lambda: late.metric("sluice_tls_check_errors_total") > 0, 30)
    assert late.probe("/readyz").status == 503 and late.probe("/livez").status == 200
    with pytest.raises(OSError):
        served_to(late.port, trusted)
    cluster.start()
    wait_until("a renewed certificate", lambda: served_to(port, trusted) != before, 90)
    wait_until("the server that came late", lambda: late.probe("/readyz").status == 200, 30)
    assert served_to(late.port, trusted)
    assert "certificate" not in json.dumps(server.probe("/readyz").body)
    told = [line for line in server.lines() if line["event"] == "tls_check_failed"]
    assert 0 < len(told) < 10, "a fault is told once, not at every look"


def test_a_secret_of_somebody_else_is_left_alone_and_that_is_said(make_server: Make, home: Home, reader: ApiReader) -> None:
    home.cluster.kubectl("create", "secret", "generic", "sluice-tls", "-n", home.namespace, "--from-literal=tls.crt=theirs",
                         "--from-literal=tls.key=theirs", "--from-literal=ca.crt=theirs")
    server = make_server(*home.flags(*QUICK)).launch()
    wait_until("the fault", lambda: server.metric("sluice_tls_check_errors_total") > 0, 30)
    assert server.probe("/readyz").status == 503
    assert any("--tls-cert" in line["message"] for line in server.lines() if line["event"] == "tls_check_failed")
    assert home.secret(reader)["tls.crt"] == "theirs"


def test_a_webhook_configuration_that_is_applied_again_keeps_its_bundle(make_server: Make, home: Home, reader: ApiReader) -> None:
    server = make_server(*home.flags(*QUICK))
    start_on_port(server)
    before = home.bundle(reader)
    assert before
    path = f"mutatingwebhookconfiguration/{home.webhooks}"
    home.cluster.kubectl("patch", path, "--type=json", "-p", json.dumps(
        [{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]))
    wait_until("the bundle to be put back", lambda: home.bundle(reader) == before, 30)
    url = home.cluster.get("mutatingwebhookconfiguration", home.webhooks)["webhooks"][0]["clientConfig"]["url"]
    assert url == "https://127.0.0.1:1/v1/inject", "nothing else was touched"
