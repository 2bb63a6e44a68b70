"""What the Python SDK costs beside a bare client, and that many calls leave nothing behind."""

import json
import subprocess
from collections.abc import Callable, Iterator

import pytest

from sdk.python.web import HERE, PYTHON, environment
from sdk.rogue import Rogue, silence
from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket
from support.process import wait_until


@pytest.fixture
def cheap_agent(make_agent: Callable[..., Agent], key: MintedKey) -> Iterator[Agent]:
    """An agent whose limit is never met."""
    bundle = Bundle().key(key).plan("wide", token_bucket(1_000_000_000, "1000000/1s"))
    yield make_agent(bundle.policy("cost", {"resource": "GET:/cost"}, "wide"), "memory").start()


def run(*words: object) -> dict[str, object]:
    """What the program measured."""
    done = subprocess.run([str(PYTHON), str(HERE / "cost_program.py"), *map(str, words)], env=environment(), capture_output=True, text=True,
                          timeout=280, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, object] = json.loads(done.stdout)
    print(result)
    return result


def test_a_call_costs_at_most_a_third_more_than_with_a_bare_client(cheap_agent: Agent, key: MintedKey) -> None:
    # The best of several rounds by turns: other programs may use the processors.
    costs = run("times", cheap_agent.port, key.text, 60, 100)
    for kind in ("sync", "async"):
        bare, sdk = costs[f"bare_{kind}"], costs[f"sdk_{kind}"]
        assert isinstance(bare, dict) and isinstance(sdk, dict)
        assert sdk["cpu_us"] <= 1.3 * bare["cpu_us"], costs
        assert sdk["us"] <= 1.3 * bare["us"], costs


@pytest.mark.slow
def test_a_hundred_thousand_calls_and_a_thousand_cancelled_ones_leave_nothing_behind(
        cheap_agent: Agent, key: MintedKey, rogue: Rogue) -> None:
    rogue.default = silence
    result = run("leaks", cheap_agent.port, key.text, 100_000, 1_000, rogue.port)
    assert result["after"] <= result["before"] + 2, result   # the loop's own
    assert result["grown"] < 8 << 20, result                 # bytes, after a tenth of the calls had warmed up
    assert result["ticks"] > 60, result                      # of about 200 in two seconds: the event loop was not blocked
    wait_until("all connections of cancelled calls to be closed", lambda: rogue.open == 0)
