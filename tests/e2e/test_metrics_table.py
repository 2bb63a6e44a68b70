"""docs/reference/metrics.md has every metric: its names, types and labels are those of /metrics, and no other."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket
from support.metrics_table import AGENT, ALIASES, ENVOY, SERVER, labels_of, types_of
from support.process import wait_until
from support.rate_limits import write_config
from support.redis_server import RedisServer
from support.server import Server

EXTRAS = ("--metrics-policy-label", "--metrics-aliases")
# What an agent says that takes its policies from a file, and listens without TLS and without further services.
LOCAL = AGENT.types_without("--server", "--tls", "--grpc", "--otlp", "--ratelimit-config", "--ratelimit-metrics", "--metrics-aliases")
# What a server has outside of Kubernetes that listens without TLS.
PLAIN = SERVER.types_without("--tls", "--kubernetes", "--webhook", "--redis-users", "--notify", "--playground", "--otlp")


def bundle_of(key: MintedKey) -> Bundle:
    """A policy, so that the policy label has something to say."""
    return Bundle().key(key).plan("bucket", token_bucket(5, "1/1h")).policy("orders", {"resource": "GET:/orders"}, "bucket") \
        .policy("trial", {"resource": "GET:/trial"}, "bucket", mode="shadow")


@pytest.fixture(scope="module")
def scraped(redis: RedisServer, key: MintedKey, module_agent: Callable[..., Agent]) -> str:
    """What an agent says that has decided by a policy, with Redis."""
    agent = module_agent(bundle_of(key), redis.counters, "--redis-deadline", "5s", "--metrics-policy-label").start()
    agent.wait_for_redis(key.text, "bucket")
    with agent.client(key.text) as client:
        assert client.check(resource="GET:/orders", subject="user:1").status == 200
        assert client.check(resource="GET:/trial", subject="user:1").body["shadow"]
    # Redis is asked for its eviction policy beside the first decisions.
    return wait_until("a scrape with the eviction policy", lambda: next(
        (text for text in [agent.metrics()] if "sluice_redis_eviction_policy_ok" in text), None))


def test_every_metric_is_in_the_reference_and_every_row_is_a_metric(scraped: str) -> None:
    assert len(AGENT.types) == len(AGENT.rows), "a metric has two rows"
    assert types_of(scraped) == LOCAL


def test_the_labels_are_those_of_the_reference(scraped: str) -> None:
    assert labels_of(scraped) == {name: AGENT.labels[name] for name in LOCAL}


def test_with_counters_in_memory_only_those_of_redis_are_missing(key: MintedKey,
                                                                 make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(bundle_of(key), "memory").start()
    with agent.client(key.text) as client:
        assert client.check(resource="GET:/orders", subject="user:1").status == 200
    assert types_of(agent.metrics()) == AGENT.types_without(
        "--server", "--tls", "--grpc", "--otlp", "--ratelimit-config", "--ratelimit-metrics", "--counters", *EXTRAS)


def test_the_rate_limit_service_adds_its_own(key: MintedKey, make_agent: Callable[..., Agent], tmp_path: Path) -> None:
    limits = write_config(tmp_path / "limits", shop="domain: shop\n")
    agent = make_agent(bundle_of(key), "memory", "--ratelimit-config", str(limits)).start()
    with agent.client(key.text) as client:
        assert client.check(resource="GET:/orders", subject="user:1").status == 200
    assert types_of(agent.metrics()) == AGENT.types_without(
        "--server", "--tls", "--grpc", "--otlp", "--ratelimit-metrics", "--counters", *EXTRAS)


def test_the_names_of_envoyproxy_ratelimit_are_added_on_demand(key: MintedKey, make_agent: Callable[..., Agent], tmp_path: Path) -> None:
    limits = write_config(tmp_path / "limits", shop="""
domain: shop
descriptors:
  - key: route
    descriptors:
      - {key: user, rate_limit: {unit: year, requests_per_unit: 2}}
""")
    agent = make_agent(bundle_of(key), "memory", "--ratelimit-config", str(limits), "--ratelimit-metrics").start()
    with agent.client(key.text) as client:
        assert client.check(resource="GET:/orders", subject="user:1").status == 200
    assert types_of(agent.metrics()) == AGENT.types_without("--server", "--tls", "--grpc", "--otlp", "--counters", *EXTRAS)
    names = [name for name in AGENT.types if name.startswith(ENVOY)]
    assert len(names) == 8
    scraped = labels_of(agent.metrics())
    assert {name: scraped[name] for name in names} == {name: AGENT.labels[name] for name in names}


def test_the_names_of_other_limiters_are_added_on_demand(key: MintedKey, make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(bundle_of(key), "memory", "--metrics-aliases").start()
    with agent.client(key.text) as client:
        assert client.check(resource="GET:/orders", subject="user:1").status == 200
    metrics = agent.metrics()
    assert {name for name in types_of(metrics) if name.split("_")[0] not in ("sluice", "process")} == ALIASES
    scraped = labels_of(metrics)
    assert {name: scraped[name] for name in ALIASES} == {name: AGENT.labels[name] for name in ALIASES}
    # It finds what cannot be helped: the name has milliseconds.
    said = subprocess.run(["promtool", "check", "metrics"], input=metrics, capture_output=True, text=True, check=False)
    faults = (said.stdout + said.stderr).splitlines()
    assert faults and all(line.startswith("algorithm_latency_ms ") for line in faults), faults


def test_every_metric_of_the_server_is_in_the_reference_and_every_row_is_a_metric(
        make_server: Callable[..., Server], make_redis: Callable[..., RedisServer]) -> None:
    redis = make_redis()
    redis.cli("SET", "sl:{shop|subject=a}:p=orders", "a counter of the tenant shop")
    server = make_server("--counters", redis.counters, "--redis-survey-every", "200ms").start()
    with server.admin() as admin:
        assert admin.get("/organizations").status == 200
    scraped = wait_until("a survey of Redis", lambda: next(
        (text for text in [str(server.probe("/metrics").body)] if 'sluice_redis_tenant_share{tenant="shop"}' in text), None))
    assert len(SERVER.types) == len(SERVER.rows), "a metric has two rows"
    assert types_of(scraped) == PLAIN
    assert labels_of(scraped) == {name: SERVER.labels[name] for name in PLAIN}


def test_without_counters_the_server_lacks_only_what_is_about_them(module_server: Callable[..., Server]) -> None:
    server = module_server().start()
    with server.admin() as admin:
        assert admin.get("/organizations").status == 200
    assert types_of(str(server.probe("/metrics").body)) == SERVER.types_without("--tls", "--kubernetes", "--webhook", "--redis-users", "--counters", "--notify", "--playground", "--otlp")
