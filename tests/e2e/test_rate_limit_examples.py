"""Every shape of a descriptor that envoyproxy/ratelimit documents: which limit decides, as its README says."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Optional

import pytest

from support.agent import Agent
from support.client import Client
from support.rate_limits import Entries, ask, codes, write_config

FILES = {
    "two_values": """
domain: two_values
descriptors:
  - {key: table, value: people, rate_limit: {unit: second, requests_per_unit: 400}}
  - {key: table, value: rest, rate_limit: {unit: second, requests_per_unit: 500}}
""",
    "nested": """
domain: nested
descriptors:
  - key: kind
    value: advert
    descriptors:
      - {key: phone, rate_limit: {unit: day, requests_per_unit: 5}}
  - {key: phone, rate_limit: {unit: day, requests_per_unit: 100}}
""",
    "most_specific": """
domain: most_specific
descriptors:
  - {key: address, rate_limit: {unit: second, requests_per_unit: 10}}
  - {key: address, value: 192.0.2.5, rate_limit: {unit: second, requests_per_unit: 0}}
""",
    "flat": """
domain: flat
descriptors:
  - {key: outer, value: a, rate_limit: {unit: second, requests_per_unit: 300}}
""",
    "deep": """
domain: deep
descriptors:
  - key: outer
    value: a
    descriptors:
      - {key: inner, rate_limit: {unit: second, requests_per_unit: 300}}
""",
    "unlimited": """
domain: unlimited
descriptors:
  - {key: directory, rate_limit: {unlimited: true}}
  - {key: cloud, rate_limit: {unit: minute, requests_per_unit: 100}}
""",
    "replaced": """
domain: replaced
descriptors:
  - key: read
    value: all
    descriptors:
      - {key: user, value: ada, rate_limit: {name: reading, unit: year, requests_per_unit: 5}}
  - key: path
    value: feed
    descriptors:
      - {key: user, value: ada, rate_limit: {replaces: [{name: reading}], unit: year, requests_per_unit: 10}}
""",
    "detailed": """
domain: detailed
descriptors:
  - {key: route, detailed_metric: true, rate_limit: {unit: minute, requests_per_unit: 10}}
  - {key: route, value: known, rate_limit: {unit: minute, requests_per_unit: 20}}
""",
    "wildcard": """
domain: wildcard
descriptors:
  - {key: route, value: api*, rate_limit: {unit: minute, requests_per_unit: 20}}
  - {key: route, value: files*, value_to_metric: true, rate_limit: {unit: minute, requests_per_unit: 30}}
""",
    "cluster": """---
domain: cluster
descriptors:
  - key: source
    value: proxy
    descriptors:
      - {key: destination, value: mock, rate_limit: {unit: minute, requests_per_unit: 1}}
  - key: foo
    rate_limit: {unit: minute, requests_per_unit: 2}
    descriptors:
      - {key: bar, rate_limit: {unit: minute, requests_per_unit: 3}}
      - {key: bar, value: banned, rate_limit: {unit: minute, requests_per_unit: 0}}
      - {key: baz, rate_limit: {unit: second, requests_per_unit: 1}}
      - {key: baz, value: shady, shadow_mode: true, rate_limit: {unit: minute, requests_per_unit: 1}}
      - {key: bay, rate_limit: {unlimited: true}}
  - {key: qux, rate_limit: {unlimited: true}}
""",
    "units": """
domain: units
descriptors:
  - {key: week, rate_limit: {unit: WEEK, requests_per_unit: 1}}
  - {key: month, rate_limit: {unit: Month, requests_per_unit: 2}}
  - {key: year, rate_limit: {unit: year, requests_per_unit: 3}}
""",
    "placeholder": """
domain: placeholder
descriptors:
  - {key: free}
""",
}

# The domain, the entries, and the limit that decides: None where none does.
CASES: list[tuple[str, Entries, Optional[tuple[int, str]]]] = [
    ("two_values", [("table", "people")], (400, "SECOND")),
    ("two_values", [("table", "rest")], (500, "SECOND")),
    ("two_values", [("table", "other")], None),
    ("nested", [("kind", "advert"), ("phone", "1")], (5, "DAY")),
    ("nested", [("phone", "1")], (100, "DAY")),
    ("nested", [("kind", "advert")], None),
    ("nested", [("kind", "bill"), ("phone", "1")], None),
    ("most_specific", [("address", "192.0.2.1")], (10, "SECOND")),
    ("flat", [("outer", "a"), ("inner", "b")], None),
    ("deep", [("outer", "a"), ("inner", "b")], (300, "SECOND")),
    ("deep", [("outer", "a")], None),
    ("unlimited", [("directory", "x")], None),
    ("unlimited", [("cloud", "x")], (100, "MINUTE")),
    ("replaced", [("read", "all"), ("user", "ada")], (5, "YEAR")),
    ("replaced", [("path", "feed"), ("user", "ada")], (10, "YEAR")),
    ("detailed", [("route", "unknown")], (10, "MINUTE")),
    ("detailed", [("route", "known")], (20, "MINUTE")),
    ("wildcard", [("route", "api/users")], (20, "MINUTE")),
    ("wildcard", [("route", "files/1")], (30, "MINUTE")),
    ("wildcard", [("route", "web")], None),
    ("cluster", [("source", "proxy"), ("destination", "mock")], (1, "MINUTE")),
    ("cluster", [("foo", "x")], (2, "MINUTE")),
    ("cluster", [("foo", "x"), ("bar", "y")], (3, "MINUTE")),
    ("cluster", [("foo", "x"), ("baz", "y")], (1, "SECOND")),
    ("cluster", [("foo", "x"), ("baz", "shady")], (1, "MINUTE")),
    ("cluster", [("foo", "x"), ("bay", "y")], None),
    ("cluster", [("qux", "x")], None),
    ("units", [("week", "x")], (1, "WEEK")),
    ("units", [("month", "x")], (2, "MONTH")),
    ("units", [("year", "x")], (3, "YEAR")),
    ("placeholder", [("free", "x")], None),
]


@pytest.fixture(scope="module")
def agent(program: Path, module_folder: Path) -> Iterator[Agent]:
    """An agent that serves all the domains."""
    limits = write_config(module_folder / "limits", **FILES)
    started = Agent(program, module_folder / "agent", None, "memory", ["--ratelimit-config", str(limits)]).start()
    yield started
    started.close()


@pytest.fixture
def connection(agent: Agent) -> Iterator[Client]:
    """A connection to it."""
    with agent.client() as client:
        yield client


@pytest.mark.parametrize(("domain", "entries", "limit"), CASES)
def test_the_limit_that_decides_is_the_documented_one(connection: Client, domain: str, entries: Entries,
                                                      limit: Optional[tuple[int, str]]) -> None:
    answer = ask(connection, domain, entries)
    assert answer.status == 200
    current = answer.body["statuses"][0].get("currentLimit")
    assert (current and (current["requestsPerUnit"], current["unit"])) == limit


@pytest.mark.parametrize(("domain", "entries"), [
    ("most_specific", [("address", "192.0.2.5")]), ("cluster", [("foo", "x"), ("bar", "banned")])])
def test_a_limit_of_0_is_a_ban(connection: Client, domain: str, entries: Entries) -> None:
    assert ask(connection, domain, entries).status == 429


def test_the_answer_is_the_or_of_all_descriptors(connection: Client) -> None:
    two = [("kind", "advert"), ("phone", "7")], [("phone", "7")]
    assert [codes(ask(connection, "nested", *two))[0] for _ in range(6)] == [200] * 5 + [429]
    assert codes(ask(connection, "nested", *two))[2] == ["OVER_LIMIT", "OK"]


def test_unlimited_descriptors_have_the_largest_number_left(connection: Client) -> None:
    for domain, entries in (("unlimited", [("directory", "x")]), ("cluster", [("qux", "x")])):
        assert ask(connection, domain, entries).body["statuses"] == [{"code": "OK", "limitRemaining": 4294967295}]


def test_a_rule_that_is_replaced_is_neither_judged_nor_charged(connection: Client) -> None:
    both = [("read", "all"), ("user", "ada")], [("path", "feed"), ("user", "ada")]
    left: Callable[[Entries], int] = lambda entries: ask(
        connection, "replaced", {"entries": [{"key": key, "value": value} for key, value in entries],
                                 "hitsAddend": 0}).body["statuses"][0]["limitRemaining"]
    before = left(both[0])
    first, second = ask(connection, "replaced", *both).body["statuses"]
    assert first == {"code": "OK"} and second["currentLimit"]["requestsPerUnit"] == 10
    assert left(both[0]) == before


def test_shadow_mode_answers_ok_whatever_is_counted(connection: Client) -> None:
    entries = [("foo", "y"), ("baz", "shady")]
    assert [codes(ask(connection, "cluster", entries)) for _ in range(3)] == [(200, "OK", ["OK"])] * 3
