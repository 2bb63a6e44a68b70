"""The number of series stays bounded, whatever callers send and however many policies there are."""

import re
from collections.abc import Callable

from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket, window
from support.client import Client
from support.metrics_table import types_of
from support.server import Server

# docs/guide/operating.md says them.
MAX_POLICIES, MAX_LIMITS = 200, 1000
# Of one tenant and two routes: each policy has a few outcomes, and a histogram of 14 lines.
MOST_OF_AGENT = MAX_POLICIES * (6 + 14 + 3) + 2 * MAX_LIMITS + 1500
MOST_OF_SERVER = 1500


def series(metrics: str) -> int:
    """How many lines have a value."""
    return len(re.findall(r"^[a-z]", metrics, re.M))


def series_of(metrics: str, name: str) -> int:
    """How many series a metric has."""
    return len(re.findall(rf"^{name}[{{ ]", metrics, re.M))


def test_thousands_of_subjects_dimensions_policies_and_routes_make_few_series_of_an_agent(
        key: MintedKey, make_agent: Callable[..., Agent]) -> None:
    bundle = Bundle().key(key).plan("bucket", token_bucket(5, "1/1h"), window("fixed_window", 3, "1h"))
    for number in range(1500):
        bundle.policy(f"p{number}", {"resource": f"r{number}"}, "bucket", mode="shadow" if number % 10 == 9 else "enforce")
    agent = make_agent(bundle, "memory", "--metrics-policy-label", "--metrics-aliases", "--max-in-flight", "20000").start()
    with agent.client(key.text) as client:
        for first in range(0, 3000, 250):
            checks = [{"resource": f"r{number % 1500}", "subject": f"s{number}", "tags": {f"t{number}": f"v{number}"},
                       "attributes": {f"a{number}": "x"}, "endpoint": f"/e/{number}"} for number in range(first, first + 250)]
            assert client.batch(*checks).status == 200
        for number in range(2000):
            assert client.get(f"/v1/nothing/{number}").status == 404
    metrics = agent.metrics()
    assert "s2999" not in metrics and "/v1/nothing" not in metrics
    assert series(metrics) < MOST_OF_AGENT
    assert series_of(metrics, "sluice_limit_utilization_count") == MAX_POLICIES + 1
    assert 0 < series_of(metrics, "sluice_limit_configured") <= MAX_LIMITS
    # Of 1,500 policies and a plan of two limits, 500 are listed.
    assert agent.metric("sluice_limit_configured_omitted") == 1001
    assert agent.metric("sluice_decisions_total", policy="other") > 0
    counted = agent.metric("sluice_decisions_total")
    assert counted == 3000 == agent.metric("decisions_total")


def test_thousands_of_unknown_routes_and_tenants_make_few_series_of_a_server(make_server: Callable[..., Server]) -> None:
    server = make_server().start()
    with server.admin() as admin:
        organization = admin.organization()
        for _ in range(300):
            admin.tenant(organization)
    before = series(str(server.probe("/metrics").body))
    with Client(server.port) as client:
        for number in range(2000):
            assert client.get(f"/nothing/{number}").status == 404
    metrics = str(server.probe("/metrics").body)
    assert "/nothing" not in metrics and types_of(metrics)
    assert series(metrics) <= before + 30
    assert series(metrics) < MOST_OF_SERVER
