"""The same calls by stock clients of three languages, over TCP, a Unix socket and TLS, get the same answers."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import pytest

from interop.conftest import run
from support.agent import Agent
from support.bundle import Bundle, MintedKey, concurrency, token_bucket
from support.certificate import certificate
from support.client import fresh_subject
from support.grpc_client import DECISIONS, REFLECTION, GrpcClient, grpc, message, message_class
from support.process import free_port

pytestmark = pytest.mark.timeout(1800)   # the first test of a client builds it

EXPECTED = {"check": [True, "1"], "batch": [True, False], "denied": True, "stream": [["1", "2", "3"], 2],
            "lease": [True, True, False], "health": "SERVING", "listed": True, "stranger": True}


@dataclass(frozen=True)
class Door:
    """One way to reach the agent."""

    target: str
    key: MintedKey
    authority: Optional[Path] = None

    def environment(self) -> dict[str, str]:
        """What a client is told."""
        return {"SLUICE_TARGET": self.target, "SLUICE_KEY": self.key.text, "SLUICE_SUBJECT": fresh_subject(),
                "SLUICE_CA": str(self.authority or "")}


@pytest.fixture(scope="module", params=["tcp", "unix", "tls"])
def door(request: pytest.FixtureRequest, program: Path, key: MintedKey,
         tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """An agent of two workers that counts in memory. Two checks an hour for each subject, and two leases."""
    folder = tmp_path_factory.mktemp(request.param)
    bundle = Bundle().key(key).plan("two", token_bucket(2, "1/1h")).plan("leases", concurrency(2, "1h"))
    target, flags, authority = f"localhost:{free_port()}", [], None
    if request.param == "unix":
        target = f"unix:{folder / 'grpc.sock'}"
    if request.param == "tls":
        authority, private = certificate(folder, "agent")
        flags = ["--tls-cert", str(authority), "--tls-key", str(private)]
    address = target.replace("localhost", "127.0.0.1")
    agent = Agent(program, folder / "agent", bundle.write(folder / "bundle.json"), "memory",
                  ["--workers", "2", "--grpc", address, *flags])
    agent.start()
    yield Door(target, key, authority)
    agent.close()


def test_grpc_go_gets_every_answer(door: Door, grpc_go: Path) -> None:
    assert json.loads(run([grpc_go], grpc_go.parent, door.environment())) == EXPECTED


def test_grpc_cpp_gets_every_answer(door: Door, grpc_cpp: Path) -> None:
    assert json.loads(run([grpc_cpp], grpc_cpp.parent, door.environment())) == EXPECTED


def denied_with(call: Callable[[], Any]) -> Optional[grpc.StatusCode]:
    """The status of a call that fails; None if it does not."""
    try:
        call()
    except grpc.RpcError as error:
        return error.code()
    return None


def test_grpcio_gets_every_answer(door: Door) -> None:
    told = door.environment()
    subject = told["SLUICE_SUBJECT"]
    secure = grpc.ssl_channel_credentials(door.authority.read_bytes()) if door.authority else None
    check = message("CheckRequest", plan_id="two", subject=subject)
    with GrpcClient(door.target, door.key.text, secure) as client:
        first = client.call("Check", check)
        batch = client.call("CheckBatch", message("CheckBatchRequest", checks=[check, check])).results
        strict = denied_with(lambda: client.check(plan_id="two", subject=subject, deny_with_status=True))
        asked = (message("CheckStreamRequest", id=i, check=message("CheckRequest", plan_id="two", subject=f"{subject}-stream"))
                 for i in (1, 2, 3))
        streamed = list(client.check_stream(asked))
        lease = client.check(plan_id="leases", subject=subject).lease_id
        renewed = client.call("Renew", message("RenewRequest", lease_id=lease)).renewed
        released = [client.call("Release", message("ReleaseRequest", lease_id=lease)).released for _ in range(2)]
        listing = message_class("grpc.reflection.v1.ServerReflectionRequest")(list_services="")
        method = client.method(REFLECTION, "ServerReflectionInfo")
        listed = next(iter(client.channel.stream_stream(*method)(iter([listing]), timeout=20))).list_services_response.service
        stranger = denied_with(lambda: client.check([("x-api-key", "nobody")], plan_id="two", subject=subject))
        got = {"check": [first.allowed, str(first.remaining)], "batch": [result.decision.allowed for result in batch],
               "denied": strict == grpc.StatusCode.RESOURCE_EXHAUSTED,
               "stream": [sorted(str(answer.id) for answer in streamed), sum(a.result.decision.allowed for a in streamed)],
               "lease": [renewed, *released], "health": client.health(DECISIONS),
               "listed": DECISIONS in {service.name for service in listed},
               "stranger": stranger == grpc.StatusCode.UNAUTHENTICATED}
    assert got == EXPECTED
