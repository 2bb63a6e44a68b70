"""A stock gRPC client (grpcio), with messages made of the .proto files of api/ and common/grpc/proto.

grpcio is not Debian's; scripts/setup test puts it into .run/grpcio, with xds-protos, which has the messages of Envoy itself. Import those
after this module."""

import functools
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Optional

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / f".run/grpcio/lib/python3.{sys.version_info.minor}/site-packages"))

import grpc  # noqa: E402
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # noqa: E402

PROTO_FOLDERS = (ROOT / "api", ROOT / "common/grpc/proto")
DECISIONS = "sluice.v1.Decisions"
HEALTH = "grpc.health.v1.Health"
REFLECTION = "grpc.reflection.v1.ServerReflection"
TYPE_PREFIX = "type.googleapis.com/"


@functools.cache
def pool() -> descriptor_pool.DescriptorPool:
    """The descriptors of all .proto files, as protoc compiles them."""
    files = [str(file) for folder in PROTO_FOLDERS for file in sorted(folder.rglob("*.proto"))]
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["protoc", *(f"-I{folder}" for folder in PROTO_FOLDERS), f"--descriptor_set_out={out.name}", *files],
                       check=True)
        described = descriptor_pb2.FileDescriptorSet.FromString(Path(out.name).read_bytes())
    made = descriptor_pool.DescriptorPool()
    for file in described.file:
        made.Add(file)
    return made


def message_class(name: str) -> Any:
    """The class of a message, by its full name."""
    return message_factory.GetMessageClass(pool().FindMessageTypeByName(name))


def message(name: str, **fields: Any) -> Any:
    """A message of the package sluice.v1."""
    return message_class(f"sluice.v1.{name}")(**fields)


def details(error: grpc.RpcError) -> dict[str, Any]:
    """The details of a status, by the name of their type: {"RetryInfo": …}."""
    trailers = dict(error.trailing_metadata())
    status = message_class("google.rpc.Status").FromString(trailers["grpc-status-details-bin"])
    assert status.code == error.code().value[0]
    found = {}
    for detail in status.details:
        name = detail.type_url.removeprefix(TYPE_PREFIX)
        found[name.rpartition(".")[2]] = message_class(name).FromString(detail.value)
    return found


class GrpcClient:
    """A channel to an agent. Calls block and raise grpc.RpcError."""

    def __init__(self, target: str, key: str = "", credentials: Optional[grpc.ChannelCredentials] = None,
                 options: Optional[list[tuple[str, Any]]] = None) -> None:
        # Channels of a process share connections unless they have pools of their own.
        settings = [("grpc.use_local_subchannel_pool", 1), *(options or [])]
        self.channel = (grpc.secure_channel(target, credentials, settings) if credentials
                        else grpc.insecure_channel(target, settings))
        self.metadata = [("x-api-key", key)] if key else []

    def __enter__(self) -> "GrpcClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.channel.close()

    def method(self, service: str, name: str) -> tuple[str, Callable[[Any], bytes], Callable[[bytes], Any]]:
        """Path, serializer and deserializer of a method."""
        method = pool().FindServiceByName(service).FindMethodByName(name)
        answer = message_class(method.output_type.full_name)
        return f"/{service}/{name}", lambda request: request.SerializeToString(), answer.FromString

    def unary(self, service: str, name: str) -> grpc.UnaryUnaryMultiCallable:
        """A method with one message each way."""
        return self.channel.unary_unary(*self.method(service, name))

    def check(self, metadata: Optional[list[tuple[str, str]]] = None, timeout: float = 20, **fields: Any) -> Any:
        """One check; its CheckResponse."""
        return self.unary(DECISIONS, "Check")(message("CheckRequest", **fields), timeout=timeout,
                                              metadata=self.metadata if metadata is None else metadata)

    def call(self, name: str, request: Any) -> Any:
        """Another method of Decisions."""
        return self.unary(DECISIONS, name)(request, timeout=20, metadata=self.metadata)

    def check_stream(self, requests: Iterator[Any], timeout: float = 20) -> Any:
        """A call of CheckStream: an iterator of its answers."""
        return self.channel.stream_stream(*self.method(DECISIONS, "CheckStream"))(
            requests, timeout=timeout, metadata=self.metadata)

    def health(self, service: str = "") -> str:
        """The state that Health/Check names."""
        request = message_class("grpc.health.v1.HealthCheckRequest")(service=service)
        answer = self.unary(HEALTH, "Check")(request, timeout=20)
        return str(type(answer).ServingStatus.Name(answer.status))

    def watch(self, service: str = "") -> Iterator[str]:
        """The states that Health/Watch names, as they come."""
        request = message_class("grpc.health.v1.HealthCheckRequest")(service=service)
        for answer in self.channel.unary_stream(*self.method(HEALTH, "Watch"))(request, timeout=20):
            yield str(type(answer).ServingStatus.Name(answer.status))
