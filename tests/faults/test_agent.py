"""Faults of the agent itself and of where it runs: frozen, a full disk, a bundle that is none."""

import os
import signal
import threading
import time
from collections.abc import Callable

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey
from support.client import Answer
from support.process import freeze, wait_until
from support.redis_server import RedisServer

FROZEN_SECONDS = float(os.environ.get("SLUICE_FROZEN_SECONDS", "2"))   # nightly 30


@pytest.mark.fault("agent-frozen")
@pytest.mark.parametrize("counters", ["memory", "redis"])
def test_an_agent_that_was_frozen_keeps_its_connections_and_answers_what_came_meanwhile(
        key: MintedKey, both_modes: Bundle, make_redis: Callable[..., RedisServer], make_agent: Callable[..., Agent],
        counters: str) -> None:
    agent = make_agent(both_modes, counters if counters == "memory" else make_redis().counters).start()
    agent.wait_for_redis(key.text, "closed")
    answers: list[Answer] = []
    with agent.client(key.text) as idle, agent.client(key.text) as asking:
        assert idle.check(plan_id="closed", subject="a").status == 200
        port = idle.local_port
        freeze(agent.process.pid)
        waiting = threading.Thread(target=lambda: answers.append(asking.check(plan_id="closed", subject="a")))
        waiting.start()
        time.sleep(FROZEN_SECONDS)
        agent.process.send(signal.SIGCONT)
        waiting.join(10)
        assert answers[0].body["reason"] == "within_limit"
        assert idle.check(plan_id="closed", subject="a").body["reason"] == "within_limit"
        assert idle.local_port == port, "time it did not see is not held against a client"


@pytest.mark.fault("agent-disk-full")
def test_a_full_disk_under_its_logs_costs_lines_and_nothing_else(key: MintedKey, both_modes: Bundle,
                                                                 make_agent: Callable[..., Agent]) -> None:
    onto_a_full_disk = ["/bin/sh", "-c", 'exec "$@" >/dev/full 2>/dev/full', "sh"]
    agent = make_agent(both_modes, "memory", "--decision-log", "all", started_by=onto_a_full_disk).start()
    with agent.client(key.text) as client:
        for _ in range(200):
            assert client.check(plan_id="closed", subject="a").status == 200
    wait_until("the lost lines to be counted", lambda: agent.metric("sluice_decision_log_lines_dropped_total") == 200)
    assert agent.metric("sluice_log_lines_dropped_total") > 0


@pytest.mark.fault("log-not-read")
def test_a_reader_of_the_log_who_does_not_read_holds_up_nobody(key: MintedKey, both_modes: Bundle,
                                                               make_agent: Callable[..., Agent]) -> None:
    # The pipe's other end stays open and unread: `sleep` has it.
    to_nobody = ["/bin/bash", "-c", 'exec "$@" > >(exec sleep 60)', "bash"]
    agent = make_agent(both_modes, "memory", "--decision-log", "all", started_by=to_nobody).start()
    with agent.client(key.text) as client:
        for _ in range(1000):
            assert client.check(plan_id="closed", subject="a").status == 200


@pytest.mark.fault("bad-bundle")
@pytest.mark.parametrize("content", ["", "{", "[]", '{"format":"sluice/v2"}', '{"format":"sluice/v1","plans":7}', "\x00" * 100])
def test_a_bundle_that_is_none_ends_the_start_with_its_faults(both_modes: Bundle, make_agent: Callable[..., Agent],
                                                              content: str) -> None:
    agent = make_agent(both_modes, "memory")
    assert agent.bundle is not None
    agent.bundle.write_text(content)
    assert agent.launch().process.wait(30) == 1
    assert "bundle_refused" in agent.process.output()
    assert str(agent.bundle) in agent.process.output()
