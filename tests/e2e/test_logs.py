"""The agent's logs as people and programs read them: format, decision log, refused requests, and wrong flags."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket
from support.client import Client
from support.process import free_port, wait_until
from support.raw import RawConnection

TEXT = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z (DEBUG|INFO |WARN |ERROR) [a-z_]+  .+")


@pytest.fixture
def bucket(key: MintedKey) -> Bundle:
    """One plan with four tokens."""
    return Bundle().key(key).plan("bucket", token_bucket(4, "1/1h"))


def first_lines(program: Path, tmp_path: Path, stderr: int, *flags: str) -> subprocess.Popen[bytes]:
    """An agent that writes its log to a descriptor."""
    command = [str(program), "--counters", "memory", "--policies", str(tmp_path / "b.json"), "--listen", f"127.0.0.1:{free_port()}",
               "--admin", f"127.0.0.1:{free_port()}", *flags]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr)


def log_on_terminal(program: Path, tmp_path: Path, *flags: str) -> list[str]:
    """What an agent shows on a terminal until it listens."""
    ours, theirs = os.openpty()
    agent = first_lines(program, tmp_path, theirs, *flags)
    os.close(theirs)
    shown = b""
    try:
        while shown.count(b"listening") < 2:
            shown += os.read(ours, 4096)
    finally:
        agent.terminate()
        agent.wait(30)
        os.close(ours)
    return shown.decode().replace("\r\n", "\n").splitlines()[:3]


def log_in_pipe(program: Path, tmp_path: Path, *flags: str) -> list[str]:
    """What an agent writes into a pipe until it listens."""
    agent = first_lines(program, tmp_path, subprocess.PIPE, *flags)
    assert agent.stderr is not None
    lines = [agent.stderr.readline().decode().rstrip("\n") for _ in range(3)]
    agent.terminate()
    agent.communicate(timeout=30)
    return lines


def test_the_log_is_text_on_a_terminal_and_json_in_a_pipe(program: Path, tmp_path: Path, bucket: Bundle) -> None:
    bucket.write(tmp_path / "b.json")
    shown = log_on_terminal(program, tmp_path)
    assert len(shown) == 3
    for line in shown:
        assert TEXT.match(line), line
    assert " INFO  starting  The agent is starting.  version=" in shown[0]
    piped = [json.loads(line) for line in log_in_pipe(program, tmp_path)]
    assert piped[0]["event"] == "starting" and piped[0]["message"] == "The agent is starting."


def test_the_format_that_is_asked_for_is_used_wherever_the_log_goes(program: Path, tmp_path: Path, bucket: Bundle) -> None:
    bucket.write(tmp_path / "b.json")
    for line in log_on_terminal(program, tmp_path, "--log-format", "json"):
        assert set(json.loads(line)) >= {"time", "level", "event", "message"}
    for line in log_in_pipe(program, tmp_path, "--log-format", "text"):
        assert TEXT.match(line), line


@pytest.mark.parametrize(("flag", "value", "rule"), [
    ("--log-format", "xml", "must be auto, json or text"),
    ("--log-level", "loud", "must be debug, info, warn or error"),
    ("--decision-log", "sample=2", "must be off, denied, all, or sample=SHARE"),
    ("--decision-log", "sample=0", "such as sample=0.01"),
    ("--decision-log", "some", "must be off, denied, all, or sample=SHARE"),
])
def test_a_wrong_value_names_the_flag_the_value_and_the_rule(program: Path, flag: str, value: str, rule: str) -> None:
    done = subprocess.run([str(program), "--counters", "memory", flag, value], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done
    assert flag in done.stderr and f'"{value}"' in done.stderr and rule in done.stderr, done.stderr


def decisions(agent: Agent) -> list[dict[str, Any]]:
    """The lines of the decision log."""
    return [json.loads(line) for line in agent.log.read_text().splitlines() if '"event":"check"' in line]


def ask(agent: Agent, key: MintedKey, count: int) -> None:
    """Checks of one subject: the first four are allowed."""
    with agent.client(key.text) as client:
        for number in range(count):
            assert client.check(plan_id="bucket", subject="u", request_id=f"r{number}").status == (200 if number < 4 else 429)


def test_a_line_of_the_decision_log_says_who_was_decided_by_what_and_how_long_it_took(
        key: MintedKey, bucket: Bundle, make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(bucket, "memory", "--decision-log", "all").start()
    ask(agent, key, 5)
    wait_until("the lines", lambda: len(decisions(agent)) == 5)
    for number, line in enumerate(decisions(agent)):
        assert list(line)[:10] == ["time", "event", "algorithm", "tenant", "subject_hash", "policy_id", "plan_id", "outcome",
                                   "reason", "remaining"]
        assert (line["algorithm"], line["tenant"], line["plan_id"], line["policy_id"]) == ("token_bucket", "acme", "bucket", None)
        assert line["remaining"] == max(0, 3 - number)
        assert (line["outcome"], line["reason"]) == (("allowed", "within_limit") if number < 4 else ("denied", "limit_exceeded"))
        assert 0 < line["duration_us"] < 10_000_000
        assert re.fullmatch("[0-9a-f]{16}", line["subject_hash"])


def test_the_decision_log_has_denied_checks_only_where_these_are_asked_for(
        key: MintedKey, bucket: Bundle, make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(bucket, "memory", "--decision-log", "denied").start()
    ask(agent, key, 10)
    assert agent.stop() == 0   # the rest of the log is written
    assert [line["request_id"] for line in decisions(agent)] == [f"r{number}" for number in range(4, 10)]


def test_the_decision_log_has_the_share_that_is_asked_for(key: MintedKey, bucket: Bundle, make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(bucket, "memory", "--decision-log", "sample=0.1").start()
    ask(agent, key, 100)
    assert agent.stop() == 0
    assert len(decisions(agent)) == 10


def refused(agent: Agent) -> list[dict[str, Any]]:
    """The lines about refused requests."""
    return [json.loads(line) for line in agent.log.read_text().splitlines() if '"event":"requests_refused"' in line]


def test_refused_requests_are_counted_by_cause_and_told_once_without_any_secret(
        key: MintedKey, other_key: MintedKey, bucket: Bundle, make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(bucket, "memory").start()
    stranger = other_key.text   # its secret must not come into the log
    with Client(agent.port, stranger) as client:
        for _ in range(50):
            assert client.check(plan_id="bucket", subject="u").status == 401
        assert client.get(f"/{stranger}").status == 404
    with agent.client(key.text) as client:
        assert client.check(plan_id="bucket", subject="u", **{stranger: 1}).status == 400
        assert client.check(plan_id="bucket", subject="u", cost=5).status == 429
        assert client.check(plan_id="bucket", subject="u").status == 200
    expected = {"unknown": 50, "not_found": 1, "invalid": 1}
    for code, count in expected.items():
        assert agent.metric("sluice_http_refused_total", code=code) == count
    assert agent.metric("sluice_http_refused_total") == 52
    wait_until("the lines", lambda: {line["code"] for line in refused(agent)} == set(expected))
    lines = {line["code"]: line for line in refused(agent)}
    assert len(refused(agent)) == 3, "one line for each cause in ten seconds"
    assert lines["unknown"]["level"] == "info" and "unknown, revoked" in lines["unknown"]["why"]
    assert lines["invalid"]["count"] == lines["not_found"]["count"] == 1
    told = agent.process.output()
    assert stranger not in told and stranger.rsplit("_", 1)[1] not in told and key.text not in told


def test_what_is_refused_before_its_route_is_known_is_counted_too(bucket: Bundle, make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(bucket, "memory").start()
    with RawConnection(agent.port) as raw:
        raw.send(b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n")
        answer = raw.reply()
        assert answer is not None and answer.status == 400
    with RawConnection(agent.port) as raw:
        answer = raw.send(b"GET /v1/health HTTP/1.1\r\nHost: a\r\nX-Long: " + b"x" * 9000 + b"\r\n\r\n").reply()
        assert answer is not None and answer.status == 431
    assert agent.metric("sluice_http_refused_total", code="framing") == 1
    assert agent.metric("sluice_http_refused_total", code="header_too_large") == 1
    wait_until("the lines", lambda: {line["code"] for line in refused(agent)} == {"framing", "header_too_large"})
