"""The gRPC listener itself: health, reflection, TLS, sockets, the drain, and clients that misbehave."""

import queue
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.agent import Agent
from support.bundle import MintedKey
from support.certificate import certificate
from support.client import fresh_subject
from support.client_certificates import Clients
from support.grpc_client import DECISIONS, HEALTH, REFLECTION, GrpcClient, grpc, message, message_class
from support.http2_frames import (CONTINUATION, END_HEADERS, ENHANCE_YOUR_CALM, HEADERS, PING, RST_STREAM, SETTINGS,
                                  Http2Connection, frame, literal, request_fields)
from support.process import free_port, wait_until
from support.standard import standard_bundle

Make = Callable[..., Agent]
SECONDS = 20.0
CHECK = f"/{DECISIONS}/Check"


class GrpcAgent:
    """An agent with a gRPC port, counting in memory."""

    def __init__(self, make: Make, key: MintedKey, other_key: MintedKey, *flags: str) -> None:
        self.port = free_port()
        self.agent = make(standard_bundle(key, other_key), "memory", "--grpc", f"127.0.0.1:{self.port}", *flags).start()
        self.target = f"127.0.0.1:{self.port}"


@pytest.fixture
def served(make_agent: Make, key: MintedKey, other_key: MintedKey) -> GrpcAgent:
    """An agent of two workers."""
    return GrpcAgent(make_agent, key, other_key, "--workers", "2")


def test_health_knows_the_server_and_its_services(served: GrpcAgent) -> None:
    with GrpcClient(served.target) as client:
        assert [client.health(service) for service in ("", DECISIONS, HEALTH)] == ["SERVING"] * 3
        with pytest.raises(grpc.RpcError) as raised:
            client.health("none")
        assert raised.value.code() == grpc.StatusCode.NOT_FOUND
        assert next(client.watch("none")) == "SERVICE_UNKNOWN"


def test_an_agent_without_policies_does_not_serve(make_agent: Make) -> None:
    port = free_port()
    make_agent(None, "memory", "--grpc", f"127.0.0.1:{port}").start_without_policies()
    with GrpcClient(f"127.0.0.1:{port}") as client:
        assert client.health() == "NOT_SERVING"
        assert client.check(resource="GET:/orders").reason == "no_snapshot"


def test_a_drain_answers_what_is_under_way_and_tells_who_watches(served: GrpcAgent, key: MintedKey) -> None:
    """GOAWAY ends the channel's connection; the agent exits when all is answered."""
    with GrpcClient(served.target, key.text) as client:
        states: "queue.Queue[str]" = queue.Queue()

        def watch() -> None:
            try:
                for state in client.watch():
                    states.put(state)
            except grpc.RpcError as error:
                states.put(error.code().name)

        watching = threading.Thread(target=watch)
        watching.start()
        assert states.get(timeout=SECONDS) == "SERVING"
        subject = fresh_subject()
        for _ in range(2):
            client.check(plan_id="leases", subject=subject)
        held = client.unary(DECISIONS, "Check").future(message("CheckRequest", plan_id="leases", subject=subject, wait="60s"),
                                                       metadata=client.metadata, timeout=60)
        wait_until("a check that is held", lambda: served.agent.metric("sluice_checks_held") == 1, SECONDS)
        served.agent.process.send(signal.SIGTERM)
        assert not held.result(timeout=SECONDS).allowed
        assert [states.get(timeout=SECONDS) for _ in range(2)] == ["NOT_SERVING", "UNAVAILABLE"]
        watching.join()
        assert served.agent.process.wait(SECONDS) == 0


def test_a_stream_of_checks_ends_when_the_agent_drains(served: GrpcAgent, key: MintedKey) -> None:
    questions: "queue.Queue[object]" = queue.Queue()
    with GrpcClient(served.target, key.text) as client:
        answers = client.check_stream(iter(questions.get, None))
        questions.put(message("CheckStreamRequest", id=7, check=message("CheckRequest", resource="GET:/orders")))
        assert next(answers).id == 7
        served.agent.process.send(signal.SIGTERM)
        with pytest.raises(grpc.RpcError) as raised:
            next(answers)
        assert raised.value.code() == grpc.StatusCode.UNAVAILABLE
        questions.put(None)
        assert served.agent.process.wait(SECONDS) == 0


@pytest.mark.parametrize("service", [REFLECTION, "grpc.reflection.v1alpha.ServerReflection"])
def test_reflection_lists_and_describes_the_services(served: GrpcAgent, service: str) -> None:
    from google.protobuf import descriptor_pb2  # of .run/grpcio

    request = message_class(service.rpartition(".")[0] + ".ServerReflectionRequest")
    asked = [request(list_services=""), request(file_containing_symbol=f"{DECISIONS}.Check"),
             request(file_by_filename="grpc/health/v1/health.proto"), request(file_containing_symbol="no.Such")]
    with GrpcClient(served.target) as client:
        answers = list(client.channel.stream_stream(*client.method(service, "ServerReflectionInfo"))(iter(asked), timeout=20))
    assert [entry.name for entry in answers[0].list_services_response.service][0] == DECISIONS
    names = [[descriptor_pb2.FileDescriptorProto.FromString(file).name
              for file in answer.file_descriptor_response.file_descriptor_proto] for answer in answers[1:3]]
    assert names == [["sluice/v1/decisions.proto"], ["grpc/health/v1/health.proto"]]
    assert answers[3].error_response.error_code == grpc.StatusCode.NOT_FOUND.value[0]


def test_a_unix_socket_serves_the_same(make_agent: Make, key: MintedKey, other_key: MintedKey, tmp_path: Path) -> None:
    path = tmp_path / "g.sock"
    make_agent(standard_bundle(key, other_key), "memory", "--grpc", f"unix:{path}", "--listen-unix-mode", "0600").start()
    assert path.stat().st_mode & 0o777 == 0o600
    with GrpcClient(f"unix:{path}", key.text) as client:
        assert client.check(resource="GET:/orders", subject=fresh_subject()).allowed


def test_tls_is_that_of_the_other_listener_and_clients_need_a_certificate(
        make_agent: Make, key: MintedKey, other_key: MintedKey, tmp_path: Path) -> None:
    cert, private = certificate(tmp_path, "gateway")
    clients = Clients(tmp_path)
    served = GrpcAgent(make_agent, key, other_key, "--tls-cert", str(cert), "--tls-key", str(private), "--tls-client-ca",
                       str(clients.file))
    good, stranger = (grpc.ssl_channel_credentials(cert.read_bytes(), secret.read_bytes(), public.read_bytes())
                      for public, secret in clients.identities)
    nobody = grpc.ssl_channel_credentials(cert.read_bytes())
    with GrpcClient(served.target, key.text, good) as client:
        assert client.check(resource="GET:/orders", subject=fresh_subject()).allowed
    for refused in (stranger, nobody):
        with GrpcClient(served.target, key.text, refused) as client, pytest.raises(grpc.RpcError) as raised:
            client.check(resource="GET:/orders", timeout=5)
        assert raised.value.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
    wait_until("counted failures",
               lambda: served.agent.metric("sluice_grpc_connections_total", result="tls") >= 2, SECONDS)


def rapid_resets() -> Iterator[bytes]:
    fields = request_fields(CHECK)
    for i in range(20_000):
        stream = 2 * i + 1
        yield frame(HEADERS, END_HEADERS, stream, fields) + frame(RST_STREAM, 0, stream, b"\0\0\0\x08")


def continuations() -> Iterator[bytes]:
    yield frame(HEADERS, 0, 1, request_fields(CHECK))
    for i in range(2_000):
        yield frame(CONTINUATION, 0, 1, literal(f"x-{i}", "y" * 100))


def pings() -> Iterator[bytes]:
    for _ in range(20_000):
        yield frame(PING, 0, 0, b"12345678")


def settings() -> Iterator[bytes]:
    for _ in range(20_000):
        yield frame(SETTINGS, 0, 0)


@pytest.mark.parametrize("flood", [rapid_resets, continuations, pings, settings])
def test_a_flood_of_frames_ends_its_connection_only(served: GrpcAgent, key: MintedKey,
                                                    flood: Callable[[], Iterator[bytes]]) -> None:
    with GrpcClient(served.target, key.text) as client, Http2Connection(served.port) as attacker:
        assert client.check(resource="GET:/orders", subject=fresh_subject()).allowed
        for frames in flood():
            if not attacker.send(frames):
                break
        assert attacker.error_of_goaway() == ENHANCE_YOUR_CALM
        assert client.check(resource="GET:/orders", subject=fresh_subject()).allowed
    wait_until("a counted flood", lambda: served.agent.metric("sluice_grpc_connections_total", result="flood") == 1, SECONDS)


def test_an_address_that_others_reach_needs_tls_and_a_port_of_its_own(make_agent: Make, key: MintedKey,
                                                                      other_key: MintedKey) -> None:
    bundle = standard_bundle(key, other_key)
    for flags, word in ((("--grpc", "0.0.0.0:0"), "--insecure-listen"), (("--grpc", "unix:"), "must name a socket")):
        agent = make_agent(bundle, "memory", *flags).launch()
        assert agent.process.wait(30) == 2
        assert "--grpc" in agent.process.output() and word in agent.process.output()
    agent = make_agent(bundle, "memory")
    agent.flags += ["--grpc", f"127.0.0.1:{agent.port}"]
    assert agent.launch().process.wait(30) == 2
    assert "has the port of --listen" in agent.process.output()
