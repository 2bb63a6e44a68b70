"""scripts/demo against an agent with examples/demo.json, as scripts/up starts it."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.agent import Agent
from support.bundle import MintedKey
from support.redis_server import RedisServer

ROOT = Path(__file__).resolve().parents[2]
PLANS = ["demo-bucket", "demo-leaky", "demo-fixed", "demo-sliding", "demo-log", "demo-concurrency", "demo-quota"]


@pytest.fixture(scope="module")
def demo_agent(program: Path, module_folder: Path, key: MintedKey, redis: RedisServer) -> Agent:
    """An agent with the example bundle and the tests' key in it."""
    document = json.loads((ROOT / "examples/demo.json").read_text())
    document["keys"] = [{"tenant_id": "demo", "id": key.id, "name": "test", "key_hash": key.hash}]
    bundle = module_folder / "demo.json"
    bundle.write_text(json.dumps(document))
    agent = Agent(program, module_folder / "demo-agent", bundle, redis.counters, ["--redis-deadline", "2s"]).start()
    agent.wait_for_redis(key.text, "demo-bucket")
    yield agent
    agent.close()


def demo(agent: Agent, key: MintedKey, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the demo without a terminal."""
    return subprocess.run([sys.executable, str(ROOT / "scripts/demo"), "--agent", f"http://127.0.0.1:{agent.port}",
                           "--key", key.text, *arguments], capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "PYTHONUTF8": "1"})


def test_the_bucket_allows_10_of_13_and_6_more_three_seconds_later(demo_agent: Agent, key: MintedKey) -> None:
    done = demo(demo_agent, key, "--only", "demo-bucket")
    assert done.returncode == 0, done.stderr
    sums = re.findall(r"(\d+) allowed, (\d+) throttled, p50 [\d.]+ ms, p99 [\d.]+ ms", done.stdout)
    assert sums == [("10", "3"), ("6", "7")]


@pytest.mark.parametrize("plan", PLANS[1:])
def test_every_other_algorithm_allows_10_of_13(demo_agent: Agent, key: MintedKey, plan: str) -> None:
    done = demo(demo_agent, key, "--only", plan)
    assert done.returncode == 0, done.stderr
    assert "  10 allowed, 3 throttled" in done.stdout
    assert len(re.findall(r"429 throttled .*Retry-After \d+ s", done.stdout)) == 3


def test_without_a_terminal_it_is_plain_text(demo_agent: Agent, key: MintedKey) -> None:
    done = demo(demo_agent, key, "--only", "demo-log", "--burst", "2")
    assert "\033" not in done.stdout and done.stdout.isascii()
    assert "  2 allowed, 0 throttled" in done.stdout


def test_a_bar_shows_what_is_left_in_the_limiter_and_the_time_stands_beside_it(demo_agent: Agent, key: MintedKey) -> None:
    done = demo(demo_agent, key, "--only", "demo-fixed")
    rows = re.findall(r"^ +\d+ ([#.]{24}) \d+ \w+ +remaining (\d+) +[\d.]+ ms", done.stdout, re.MULTILINE)
    assert len(rows) == 13, done.stdout
    assert [bar.count("#") for bar, _ in rows] == [round(24 * int(left) / 10) for _, left in rows]
    assert [int(left) for _, left in rows] == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0]
    assert all(bar == bar.replace(".", "").ljust(24, ".") for bar, _ in rows), "it drains from the right"


def test_a_released_lease_lets_the_next_request_in(demo_agent: Agent, key: MintedKey) -> None:
    done = demo(demo_agent, key, "--only", "demo-concurrency")
    assert "release one lease: 200, released true" in done.stdout
    assert done.stdout.strip().splitlines()[-1].split()[2] == "200"


@pytest.mark.parametrize("burst", ["0", "26", "x", "-1"])
def test_a_burst_outside_1_to_25_is_refused(demo_agent: Agent, key: MintedKey, burst: str) -> None:
    done = demo(demo_agent, key, f"--burst={burst}")
    assert done.returncode == 2
    assert "from 1 to 25" in done.stderr


def test_an_agent_that_is_not_there_is_said(demo_agent: Agent, key: MintedKey) -> None:
    done = demo(demo_agent, key, "--agent", "http://127.0.0.1:9")
    assert done.returncode == 1
    assert "does not answer" in done.stderr and "scripts/up" in done.stderr


def test_the_readme_example_is_allowed_ten_times_and_then_429(demo_agent: Agent, key: MintedKey) -> None:
    with demo_agent.client(key.text) as client:
        answers = [client.check(resource="GET:/orders", subject="user:42", cost=1) for _ in range(11)]
    assert [answer.status for answer in answers[:10]] == [200] * 10
    denied = next(a for a in answers + [client.check(resource="GET:/orders", subject="user:42") for _ in range(20)]
                  if a.status == 429)
    for header in ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "retry-after"):
        assert denied.header(header) is not None
