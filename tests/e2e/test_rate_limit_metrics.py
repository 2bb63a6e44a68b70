"""--ratelimit-metrics: the names of envoyproxy/ratelimit. Each is driven, and moves."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent
from support.client import Client, fresh_subject
from support.process import free_port, wait_until
from support.rate_limits import ask, limited, write_config

RULES = """
domain: shop
descriptors:
  - {key: user, rate_limit: {unit: year, requests_per_unit: 10}}
  - {key: user, value: ada, rate_limit: {unit: year, requests_per_unit: 5, name: ada}}
  - {key: file, value: a*, rate_limit: {unit: year, requests_per_unit: 5}}
  - {key: trial, shadow_mode: true, rate_limit: {unit: year, requests_per_unit: 1}}
  - {key: each, detailed_metric: true, rate_limit: {unit: year, requests_per_unit: 5}}
  - key: route
    value_to_metric: true
    descriptors:
      - {key: client, rate_limit: {unit: year, requests_per_unit: 5}}
  - {key: plan, rate_limit: {unit: year, requests_per_unit: 5, replaces: [{name: ada}]}}
"""


def start(program: Path, folder: Path, counters: str, *flags: str) -> Agent:
    """An agent with the rules."""
    return Agent(program, folder / "agent", None, counters,
                 ["--ratelimit-config", str(write_config(folder / "config", shop=RULES)), *flags]).start()


@pytest.fixture
def agent(program: Path, tmp_path: Path) -> Iterator[Agent]:
    """One with counters in memory, and two workers."""
    made = start(program, tmp_path, "memory", "--ratelimit-metrics", "--workers", "2")
    yield made
    made.close()


def hits(agent: Agent, counter: str, **labels: str) -> float:
    """A sample of the domain."""
    return agent.metric(f"ratelimit_service_rate_limit_{counter}", domain="shop", **labels)


def counted(agent: Agent, **labels: str) -> list[float]:
    """All counters of a series."""
    return [hits(agent, counter, **labels) for counter in ("total_hits", "within_limit", "near_limit", "over_limit", "shadow_mode")]


def test_every_counter_of_a_rule_moves(agent: Agent) -> None:
    with agent.client() as client:
        user = fresh_subject()
        assert counted(agent, key1="user") == [0, 0, 0, 0, 0]
        for added, expected in ((8, [8, 8, 0, 0, 0]), (2, [10, 10, 2, 0, 0]), (3, [13, 10, 2, 3, 0])):
            ask(client, "shop", limited(("user", user), hitsAddend=added))
            assert counted(agent, key1="user") == expected
        for _ in range(3):
            assert ask(client, "shop", [("trial", user)]).status == 200
        assert counted(agent, key1="trial") == [3, 1, 1, 2, 2]


def test_labels_are_those_of_the_rule_or_have_values_where_the_rule_says_so(agent: Agent) -> None:
    with agent.client() as client:
        ask(client, "shop", [("user", "ada")], [("file", "abc")], [("each", "10.0.0.7")], [("route", "pay"), ("client", "x")],
            limited(("brought", "1"), limit={"requestsPerUnit": 5, "unit": "YEAR"}))
    for labels in ({"key1": "user_ada"}, {"key1": "file_a*"}, {"key1": "each_10.0.0.7"}, {"key1": "route_pay", "key2": "client"},
                   {"key1": "brought_1"}):
        assert counted(agent, **labels)[:2] == [1, 1], labels
    assert "each\"" not in agent.metrics() and hits(agent, "total_hits", key1="user") == 0


def test_a_replaced_rule_counts_nothing(agent: Agent) -> None:
    with agent.client() as client:
        ask(client, "shop", [("user", "ada")], [("plan", "gold")])
    assert (hits(agent, "total_hits", key1="user_ada"), hits(agent, "total_hits", key1="plan")) == (0, 1)


def test_values_of_requests_make_a_bounded_number_of_series(agent: Agent) -> None:
    with agent.client() as client:
        for first in range(0, 2100, 100):
            ask(client, "shop", *[[("each", str(number))] for number in range(first, first + 100)])
    assert hits(agent, "total_hits", key1="_other") == 100
    assert hits(agent, "total_hits", key1="each_0") == 1
    assert agent.metrics().count("\nratelimit_service_rate_limit_total_hits{") < 2020


def test_loads_of_the_files_and_errors_are_counted(agent: Agent, tmp_path: Path) -> None:
    def value(name: str, **labels: str) -> float:
        return agent.metric(f"ratelimit_service_{name}", **labels)

    assert (value("config_load_success"), value("config_load_error")) == (1, 0)
    file = tmp_path / "config/shop.yaml"
    file.write_text(RULES.replace("rate_limit", "rate_limits"))
    wait_until("the refusal", lambda: value("config_load_error") == 1)
    new = tmp_path / "new"
    new.write_text(RULES + "  - {key: later, rate_limit: {unit: year, requests_per_unit: 5}}\n")
    os.rename(new, file)
    wait_until("the load", lambda: value("config_load_success") == 2)
    assert hits(agent, "total_hits", key1="later") == 0
    with agent.client() as client:
        assert ask(client, "", [("user", "a")]).status == 400
    assert value("should_rate_limit_error", err_type="service_error") == 1
    assert value("should_rate_limit_error", err_type="redis_error") == 0


def test_a_counter_store_that_is_away_is_a_redis_error(program: Path, tmp_path: Path) -> None:
    agent = start(program, tmp_path, f"redis://127.0.0.1:{free_port()}/0", "--ratelimit-metrics")
    with agent.client() as client:
        assert ask(client, "shop", [("user", "a")]).status == 503
    assert agent.metric("ratelimit_service_should_rate_limit_error", err_type="redis_error") == 1
    assert counted(agent, key1="user") == [0, 0, 0, 0, 0]
    agent.close()


def test_without_the_flag_there_are_none_and_without_the_files_it_is_refused(program: Path, tmp_path: Path,
                                                                             make_agent: Callable[..., Any]) -> None:
    agent = start(program, tmp_path, "memory")
    with agent.client() as client:
        ask(client, "shop", [("each", "x")])
    assert "ratelimit_service_" not in agent.metrics()
    agent.close()
    alone = make_agent(None, "memory", "--ratelimit-metrics").launch()
    assert alone.process.wait(30) == 2
    assert '--ratelimit-metrics: "true" has no use without --ratelimit-config' in alone.log.read_text()


def test_a_client_cannot_break_the_page(agent: Agent) -> None:
    with agent.client() as client:
        ask(client, "shop", [("each", 'x"} 1\n# TYPE y counter\ny 2')], [("each", "\u00e9" * 200)])
    text = agent.metrics()
    assert "\ny 2" not in text
    with Client(agent.admin_port) as admin:
        assert admin.get("/metrics").status == 200
    assert hits(agent, "total_hits", key1="each_" + "\u00e9" * 61) == 1
