"""Our .proto files of Envoy's services describe the wire format that Envoy's own messages have."""

import importlib
from collections.abc import Iterator
from typing import Any

import pytest

from support.grpc_client import pool

from google.protobuf.descriptor import Descriptor, FieldDescriptor

VARINT = {FieldDescriptor.TYPE_BOOL, FieldDescriptor.TYPE_ENUM, FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_INT64,
          FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_UINT64}
LENGTH = {FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES}


def on_the_wire(field: FieldDescriptor) -> Any:
    """What two fields must have in common to be read as each other."""
    kind = "varint" if field.type in VARINT else "text" if field.type in LENGTH else field.type
    return field.number, kind, field.is_repeated


def differences(ours: Descriptor, theirs: Descriptor, seen: set[tuple[str, str]]) -> Iterator[str]:
    """Fields of ours that are not in theirs, or are written otherwise."""
    if (ours.full_name, theirs.full_name) in seen:
        return
    seen.add((ours.full_name, theirs.full_name))
    for field in ours.fields:
        other = theirs.fields_by_number.get(field.number)
        if other is None or on_the_wire(field) != on_the_wire(other):
            yield f"{ours.full_name}.{field.name}"
        elif field.message_type is not None:
            yield from differences(field.message_type, other.message_type, seen)


@pytest.mark.parametrize("module, service, method, newer", [
    ("envoy.service.auth.v3.external_auth_pb2", "envoy.service.auth.v3.Authorization", "Check", set()),
    # Envoy 1.38 has the field; the pinned xds-protos does not yet. tests/proxies has it from the real Envoy.
    ("envoy.service.ratelimit.v3.rls_pb2", "envoy.service.ratelimit.v3.RateLimitService", "ShouldRateLimit",
     {"envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.is_negative_hits"}),
])
def test_our_description_of_a_service_is_that_of_envoy(module: str, service: str, method: str, newer: set[str]) -> None:
    ours = pool().FindServiceByName(service).FindMethodByName(method)
    theirs = importlib.import_module(module).DESCRIPTOR.services_by_name[service.rpartition(".")[2]].FindMethodByName(method)
    seen: set[tuple[str, str]] = set()
    found = set(differences(ours.input_type, theirs.input_type, seen)) | set(differences(ours.output_type, theirs.output_type, seen))
    assert found == newer
    assert len(seen) > 8
