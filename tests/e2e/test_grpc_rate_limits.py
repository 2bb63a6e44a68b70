"""Envoy's rate limit service over gRPC, asked by a stock client: the answers of /json, by the same files."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent
from support.bundle import Bundle
from support.client import fresh_subject
from support.grpc_client import GrpcClient, details, grpc, message_class
from support.process import free_port
from support.rate_limits import ask, codes, write_config

SERVICE = "envoy.service.ratelimit.v3.RateLimitService"
OK, OVER = 1, 2
COUNTED = (("sluice_ratelimit_requests_total", "outcome"), ("sluice_http_refused_total", "code"))
YEAR = 6
SHOP = """
domain: shop
descriptors:
  - key: user
    rate_limit: {unit: year, requests_per_unit: 2, name: each}
  - key: large
    rate_limit: {unit: year, requests_per_unit: 1000}
"""


def descriptor(*entries: tuple[str, str], **fields: Any) -> dict[str, Any]:
    """A descriptor with further fields."""
    return {"entries": [{"key": key, "value": value} for key, value in entries], **fields}


def should_limit(client: GrpcClient, *descriptors: dict[str, Any], domain: str = "shop", **fields: Any) -> Any:
    """One call; its RateLimitResponse."""
    request = message_class("envoy.service.ratelimit.v3.RateLimitRequest")(domain=domain, descriptors=descriptors, **fields)
    return client.unary(SERVICE, "ShouldRateLimit")(request, timeout=20)


@pytest.fixture(scope="module")
def agent(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """An agent with nothing but the files and a port for gRPC."""
    folder = tmp_path_factory.mktemp("limits")
    port = free_port()
    made = Agent(program, folder / "agent", None, "memory",
                 ["--ratelimit-config", str(write_config(folder / "config", shop=SHOP)), "--grpc", f"127.0.0.1:{port}"])
    made.grpc_port = port  # type: ignore[attr-defined]
    yield made.start()
    made.close()


@pytest.fixture
def rpc(agent: Agent) -> Iterator[GrpcClient]:
    """A channel without an API key."""
    with GrpcClient(f"127.0.0.1:{agent.grpc_port}") as client:  # type: ignore[attr-defined]
        yield client


def test_a_limit_is_counted_and_described_and_shared_with_json(agent: Agent, rpc: GrpcClient) -> None:
    user = fresh_subject()
    first = should_limit(rpc, descriptor(("user", user)))
    assert (first.overall_code, [status.code for status in first.statuses]) == (OK, [OK])
    limit = first.statuses[0].current_limit
    assert (limit.requests_per_unit, limit.unit, limit.name) == (2, YEAR, "each")
    assert first.statuses[0].limit_remaining == 1
    assert 0 < first.statuses[0].duration_until_reset.seconds <= 365 * 86400
    with agent.client() as client:
        assert codes(ask(client, "shop", [("user", user)])) == (200, "OK", ["OK"])
    assert should_limit(rpc, descriptor(("user", user))).overall_code == OVER


def test_hits_are_those_of_the_descriptor_or_of_the_request(rpc: GrpcClient) -> None:
    name = fresh_subject()
    looked = should_limit(rpc, descriptor(("large", name), hits_addend={"value": 0}), hits_addend=7)
    assert looked.statuses[0].limit_remaining == 1000
    assert should_limit(rpc, descriptor(("large", name)), hits_addend=7).statuses[0].limit_remaining == 993
    assert should_limit(rpc, descriptor(("large", name), hits_addend={"value": 3}), hits_addend=7).statuses[0].limit_remaining == 990
    brought = should_limit(rpc, descriptor(("large", name), limit={"requests_per_unit": 5, "unit": 4}))
    assert brought.statuses[0].current_limit.requests_per_unit == 5


def test_a_call_that_cannot_be_judged_says_why(agent: Agent, rpc: GrpcClient) -> None:
    invalid, refused = (agent.metric(name, **{label: "invalid"}) for name, label in COUNTED)
    for fields, says in (({"domain": ""}, "domain"), ({"negative": True}, "negative")):
        asked = descriptor(("user", "a"), is_negative_hits=bool(fields.pop("negative", False)))
        with pytest.raises(grpc.RpcError) as raised:
            should_limit(rpc, asked, **fields)
        assert raised.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert says in raised.value.details()
    with pytest.raises(grpc.RpcError) as raised:
        rpc.channel.unary_unary(f"/{SERVICE}/ShouldRateLimit")(b"\x0a\xff", timeout=20)
    assert raised.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert details(raised.value)["ErrorInfo"].reason == "invalid"
    assert [agent.metric(name, **{label: "invalid"}) for name, label in COUNTED] == [invalid + 3, refused + 3]


def test_the_agent_is_healthy_and_lists_the_service(rpc: GrpcClient) -> None:
    assert rpc.health() == "SERVING" and rpc.health(SERVICE) == "SERVING"


def test_the_calls_are_counted_by_method(agent: Agent, rpc: GrpcClient) -> None:
    before = agent.metric("sluice_grpc_requests_total", method=f"{SERVICE}/ShouldRateLimit", code="OK")
    should_limit(rpc, descriptor(("user", fresh_subject())))
    assert agent.metric("sluice_grpc_requests_total", method=f"{SERVICE}/ShouldRateLimit", code="OK") == before + 1


def test_an_agent_without_the_files_has_no_such_service(bundle: Bundle, make_agent: Callable[..., Agent]) -> None:
    port = free_port()
    make_agent(bundle, "memory", "--grpc", f"127.0.0.1:{port}").start()
    with GrpcClient(f"127.0.0.1:{port}") as client:
        with pytest.raises(grpc.RpcError) as raised:
            should_limit(client, descriptor(("user", "a")))
    assert raised.value.code() == grpc.StatusCode.UNIMPLEMENTED
