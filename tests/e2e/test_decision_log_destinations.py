"""Where the decision log goes: a file that rotates, syslog, standard error. What it costs when that place fails."""

import json
import os
import re
import resource
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Union

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket
from support.process import all_of, free_port, wait_until
from support.syslog_receiver import SyslogReceiver, SyslogStreamReceiver

MakeAgent = Callable[..., Agent]
DROPPED = "sluice_decision_log_lines_dropped_total"


@pytest.fixture
def bucket(key: MintedKey) -> Bundle:
    """One plan that allows everything here."""
    return Bundle().key(key).plan("bucket", token_bucket(100_000, "1/1h"))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder for the log."""
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder


def start(make_agent: MakeAgent, bucket: Bundle, to: str, *flags: str) -> Agent:
    """An agent that logs every decision to a place."""
    return make_agent(bucket, "memory", "--decision-log", "all", "--decision-log-to", to, *flags).start()


def ask(agent: Agent, key: MintedKey, *ids: str) -> None:
    """One check for each id, in batches."""
    with agent.client(key.text) as client:
        for at in range(0, len(ids), 100):
            answer = client.batch(*[{"plan_id": "bucket", "subject": "u", "request_id": each} for each in ids[at:at + 100]])
            assert answer.status == 200 and all_of(answer.body["results"], lambda result: result["allowed"])


def names(prefix: str, count: int) -> list[str]:
    """Request ids that are used once."""
    return [f"{prefix}-{number}" for number in range(count)]


def ids_in(*files: Path) -> list[str]:
    """The request ids of the lines of these files. Every line must be whole."""
    text = "".join(file.read_text() for file in files)
    assert text == "" or text.endswith("\n")
    return [json.loads(line)["request_id"] for line in text.splitlines()]


def lines_in(*files: Path) -> int:
    """How many lines these files have so far. Who reads while the agent writes may see half a line at the end."""
    return sum(file.read_text().count("\n") for file in files if file.exists())


def logged(agent: Agent, event: str) -> list[dict[str, Any]]:
    """The lines of the agent's own log that have this event."""
    return [json.loads(line) for line in agent.log.read_text().splitlines() if f'"event":"{event}"' in line]


# --- a file ---

def test_rotation_under_load_loses_no_line_and_divides_none(key: MintedKey, bucket: Bundle, make_agent: MakeAgent, logs: Path) -> None:
    file = logs / "decisions.log"
    agent = start(make_agent, bucket, f"file:{file}", "--decision-log-rotate-size", "64kB", "--decision-log-rotate-keep", "1000",
                  "--workers", "2")
    batches = [names(f"t{number}", 1500) for number in range(4)]
    threads = [threading.Thread(target=ask, args=(agent, key, *each)) for each in batches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_until("the last line", lambda: lines_in(*logs.iterdir()) == 6000)
    files = sorted(logs.iterdir(), key=lambda each: int(each.suffix[1:]) if each.suffix[1:].isdigit() else 0)
    assert [each.name for each in files] == ["decisions.log"] + [f"decisions.log.{number}" for number in range(1, len(files))]
    assert len(files) > 20
    assert all(32_000 < each.stat().st_size <= 64_000 for each in files[1:])
    assert sorted(ids_in(*files)) == sorted(sum(batches, []))
    assert agent.metric(DROPPED) == 0


def test_as_many_old_files_stay_as_are_asked_for_and_they_are_the_newest(
        key: MintedKey, bucket: Bundle, make_agent: MakeAgent, logs: Path) -> None:
    file = logs / "decisions.log"
    agent = start(make_agent, bucket, f"file:{file}", "--decision-log-rotate-size", "64kB", "--decision-log-rotate-keep", "2")
    ids = names("r", 2000)
    ask(agent, key, *ids)
    assert agent.stop() == 0
    assert sorted(each.name for each in logs.iterdir()) == ["decisions.log", "decisions.log.1", "decisions.log.2"]
    found = ids_in(logs / "decisions.log.2", logs / "decisions.log.1", file)
    assert found == ids[-len(found):]


def test_a_file_that_logrotate_renamed_is_left_without_a_signal(
        key: MintedKey, bucket: Bundle, make_agent: MakeAgent, logs: Path) -> None:
    file, old = logs / "decisions.log", logs / "decisions.log-20260101"
    agent = start(make_agent, bucket, f"file:{file}", "--decision-log-rotate-size", "0")
    ask(agent, key, *names("before", 10))
    wait_until("the lines", lambda: lines_in(file) == 10)
    file.rename(old)
    ask(agent, key, *names("after", 10))
    wait_until("the new file", lambda: lines_in(file) == 10)
    assert ids_in(old) == names("before", 10) and ids_in(file) == names("after", 10)


def test_lines_wait_in_memory_while_the_disk_is_full(key: MintedKey, bucket: Bundle, make_agent: MakeAgent, logs: Path) -> None:
    file = logs / "decisions.log"
    agent = start(make_agent, bucket, f"file:{file}")
    unlimited = resource.prlimit(agent.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(agent.process.pid, resource.RLIMIT_FSIZE, (50_000, unlimited[1]))   # its own log stays far below
    ids = names("r", 1000)
    ask(agent, key, *ids)
    wait_until("the outage", lambda: logged(agent, "decision_log_failed"))
    assert file.read_text().endswith("\n") and len(ids_in(file)) > 100
    ask(agent, key, "one-more")
    resource.prlimit(agent.process.pid, resource.RLIMIT_FSIZE, unlimited)
    wait_until("the lines", lambda: lines_in(file) == 1001)
    assert ids_in(file) == [*ids, "one-more"]
    assert agent.metric(DROPPED) == 0
    wait_until("the end of the outage", lambda: logged(agent, "decision_log_back"), 30)
    (line,) = logged(agent, "decision_log_failed")
    assert line["level"] == "warn" and line["code"] == "log_file_not_written" and str(file) in line["reason"]


def test_a_long_outage_costs_the_oldest_lines_and_each_is_counted(
        key: MintedKey, bucket: Bundle, make_agent: MakeAgent, logs: Path) -> None:
    file = logs / "decisions.log"
    agent = start(make_agent, bucket, f"file:{file}")
    logs.rename(logs.with_name("away"))
    ids = [f"r{number:0100}" for number in range(16_000)]   # some 6 MB of lines, where 4 MiB may wait
    ask(agent, key, *ids)
    wait_until("the outage", lambda: logged(agent, "decision_log_failed"))
    assert agent.metric(DROPPED) > 0
    logs.with_name("away").rename(logs)
    wait_until("the lines", lambda: lines_in(file) + agent.metric(DROPPED) == len(ids))
    found = ids_in(file)
    assert found[-1] == ids[-1] and found == sorted(set(found))


def test_a_folder_that_was_deleted_and_made_again_loses_no_line(
        key: MintedKey, bucket: Bundle, make_agent: MakeAgent, logs: Path) -> None:
    file = logs / "decisions.log"
    agent = start(make_agent, bucket, f"file:{file}")
    ask(agent, key, "before")
    wait_until("the line", lambda: lines_in(file) == 1)
    shutil.rmtree(logs)
    ask(agent, key, *names("meanwhile", 10))
    wait_until("the outage", lambda: logged(agent, "decision_log_failed"))
    assert logged(agent, "decision_log_failed")[0]["code"] == "log_file_not_opened"
    logs.mkdir()
    wait_until("the lines", lambda: lines_in(file) == 10)
    assert ids_in(file) == names("meanwhile", 10)
    assert agent.metric(DROPPED) == 0


# --- syslog ---

def check_messages(agent: Agent, receiver: Union[SyslogReceiver, SyslogStreamReceiver], ids: list[str]) -> None:
    """The next messages are the lines of these checks, and say where they come from."""
    for message, request_id in zip(receiver.receive(len(ids)), ids, strict=True):
        line = json.loads(message.text)
        assert (line["event"], line["request_id"]) == ("check", request_id)
        assert (message.facility, message.severity) == (16, 6), "local0, info"
        assert (message.host, message.app) == (socket.gethostname(), "sluice-agent")
        assert (message.process, message.id) == (str(agent.process.pid), "decision")
        assert datetime.fromisoformat(message.time) >= datetime.fromisoformat(line["time"])
    assert receiver.is_empty()


def test_each_decision_is_one_message_of_rfc_5424_on_the_local_socket(
        key: MintedKey, bucket: Bundle, make_agent: MakeAgent, logs: Path) -> None:
    receiver = SyslogReceiver(logs / "log")
    agent = start(make_agent, bucket, f"syslog:unix:{logs / 'log'}")
    ids = [*names("r", 300), "new\nline <1>1 - - - - - - x\u20ac"]
    asking = threading.Thread(target=ask, args=(agent, key, *ids))
    asking.start()
    check_messages(agent, receiver, ids)
    asking.join()
    assert agent.metric(DROPPED) == 0
    receiver.close()


def test_a_syslogd_that_is_restarted_gets_what_was_logged_meanwhile(
        key: MintedKey, bucket: Bundle, make_agent: MakeAgent, logs: Path) -> None:
    receiver = SyslogReceiver(logs / "log")
    agent = start(make_agent, bucket, f"syslog:unix:{logs / 'log'}")
    ask(agent, key, "before")
    check_messages(agent, receiver, ["before"])
    receiver.close()
    ask(agent, key, *names("meanwhile", 100))
    wait_until("the outage", lambda: logged(agent, "decision_log_failed"))
    assert logged(agent, "decision_log_failed")[0]["code"] == "syslog_not_sent"
    receiver = SyslogReceiver(logs / "log")
    check_messages(agent, receiver, names("meanwhile", 100))
    assert agent.metric(DROPPED) == 0
    receiver.close()


def test_a_syslogd_that_does_not_read_holds_up_no_check(key: MintedKey, bucket: Bundle, make_agent: MakeAgent, logs: Path) -> None:
    receiver = SyslogReceiver(logs / "log")
    agent = start(make_agent, bucket, f"syslog:unix:{logs / 'log'}")
    ids = names("r", 2000)   # more than such a socket holds
    ask(agent, key, *ids)
    check_messages(agent, receiver, ids)
    assert agent.metric(DROPPED) == 0 and not logged(agent, "decision_log_failed")
    receiver.close()


def test_each_decision_is_one_message_over_udp(key: MintedKey, bucket: Bundle, make_agent: MakeAgent) -> None:
    receiver = SyslogReceiver()
    agent = start(make_agent, bucket, f"syslog:udp://localhost:{receiver.port}")
    ids = names("r", 300)
    ask(agent, key, *ids)
    check_messages(agent, receiver, ids)
    receiver.close()


def test_each_decision_is_one_frame_over_tcp(key: MintedKey, bucket: Bundle, make_agent: MakeAgent) -> None:
    receiver = SyslogStreamReceiver()
    agent = start(make_agent, bucket, f"syslog:tcp://localhost:{receiver.port}")
    ids = [*names("r", 300), "new\nline 5 <1>1 - - - - - - x\u20ac"]
    asking = threading.Thread(target=ask, args=(agent, key, *ids))
    asking.start()
    check_messages(agent, receiver, ids)
    asking.join()
    assert agent.metric(DROPPED) == 0 and not logged(agent, "decision_log_failed")
    receiver.close()


def test_a_receiver_over_tcp_that_is_restarted_gets_what_was_logged_meanwhile(
        key: MintedKey, bucket: Bundle, make_agent: MakeAgent) -> None:
    receiver = SyslogStreamReceiver()
    agent = start(make_agent, bucket, f"syslog:tcp://127.0.0.1:{receiver.port}")
    ask(agent, key, "before")
    check_messages(agent, receiver, ["before"])
    port = receiver.port
    receiver.close()
    ask(agent, key, *names("meanwhile", 100))
    wait_until("the outage", lambda: logged(agent, "decision_log_failed"))
    (line,) = logged(agent, "decision_log_failed")
    assert line["code"].startswith("syslog_not_") and f"tcp://127.0.0.1:{port}" in line["reason"]
    receiver = SyslogStreamReceiver(port)
    check_messages(agent, receiver, names("meanwhile", 100))
    assert agent.metric(DROPPED) == 0
    receiver.close()


def test_a_receiver_over_tcp_that_does_not_read_holds_up_no_check_and_costs_the_oldest_lines_and_each_is_counted(
        key: MintedKey, bucket: Bundle, make_agent: MakeAgent) -> None:
    receiver = SyslogStreamReceiver()
    agent = start(make_agent, bucket, f"syslog:tcp://127.0.0.1:{receiver.port}")
    ids = [f"r{number:0100}" for number in range(30_000)]   # some 11 MB, where 4 MiB and the buffers of both sockets hold less
    ask(agent, key, *ids)
    wait_until("lines that are dropped", lambda: agent.metric(DROPPED) > 0)
    dropped = int(agent.metric(DROPPED))
    found = [json.loads(message.text)["request_id"] for message in receiver.receive(len(ids) - dropped)]
    assert agent.metric(DROPPED) == dropped
    assert found[0] == ids[0] and found[-1] == ids[-1] and found == sorted(set(found))
    receiver.close()


def test_the_agent_ends_in_time_while_nobody_answers_over_tcp(key: MintedKey, bucket: Bundle, make_agent: MakeAgent) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, socket.create_connection(listener.getsockname()):
        # The queue of connections is full, so each further one waits until it gives up.
        agent = start(make_agent, bucket, f"syslog:tcp://127.0.0.1:{listener.getsockname()[1]}")
        ask(agent, key, *names("r", 100))
        began = time.monotonic()
        assert agent.stop() == 0
        assert time.monotonic() - began < 5


# --- standard error, signals, wrong values ---

def test_the_decision_log_can_go_to_standard_error(program: Path, key: MintedKey, bucket: Bundle, make_agent: MakeAgent, tmp_path: Path) -> None:
    out = tmp_path / "stdout"
    agent = make_agent(bucket, "memory", "--decision-log", "all", "--decision-log-to", "stderr",
                       started_by=["/bin/sh", "-c", f'exec "$@" >{out}', "sh"]).start()
    ask(agent, key, *names("r", 10))
    wait_until("the lines", lambda: [line["request_id"] for line in logged(agent, "check")] == names("r", 10))
    assert out.read_text() == ""


@pytest.mark.parametrize("signal", ["log", "span"])
def test_a_check_of_a_signal_finds_its_policy_and_its_line_names_the_signal(
        key: MintedKey, make_agent: MakeAgent, logs: Path, signal: str) -> None:
    file = logs / "decisions.log"
    bundle = Bundle().key(key).plan("two", token_bucket(2, "1/1h"))
    for name in ("log", "span"):
        bundle.policy(f"{name}s", {"signal": name}, "two")
    agent = start(make_agent, bundle, f"file:{file}")
    with agent.client(key.text) as client:
        for status in (200, 200, 429):
            answer = client.check(signal=signal, service="shop", subject="u")
            assert answer.status == status and answer.body["policy_id"] == f"{signal}s"
        assert client.check(service="shop", subject="u").body["reason"] == "no_policy"
    assert agent.stop() == 0
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(line["policy_id"], line.get("signal"), line["outcome"]) for line in lines] == [
        (f"{signal}s", signal, "allowed"), (f"{signal}s", signal, "allowed"), (f"{signal}s", signal, "denied"), (None, None, "allowed")]


@pytest.mark.parametrize(("flags", "flag", "rule"), [
    (("--decision-log-to", "journal"), "--decision-log-to", "must be stdout, stderr, file:PATH, syslog, syslog:unix:PATH, syslog:udp"),
    (("--decision-log-to", "file:decisions.log"), "--decision-log-to", "must name a file by an absolute path"),
    (("--decision-log-to", "file:/nowhere/decisions.log"), "--decision-log-to", "is in a folder that is missing or not writable"),
    (("--decision-log-to", "file:/dev/null"), "--decision-log-to", "is no regular file; name another path"),
    (("--decision-log-to", "syslog:udp://host"), "--decision-log-to", "must name a host and a port, such as"),
    (("--decision-log-to", "syslog:tcp://host"), "--decision-log-to", "must name a host and a port, such as syslog:tcp://"),
    (("--decision-log-rotate-size", "1MB"), "--decision-log-rotate-size", "has no use without --decision-log-to file:PATH"),
    (("--decision-log-rotate-keep", "3"), "--decision-log-rotate-keep", "has no use without --decision-log-to file:PATH"),
    (("--decision-log-to", "file:/tmp/d.log", "--decision-log-rotate-size", "1kB"), "--decision-log-rotate-size",
     "must be a size from 64kB to 1000GB (or 0: never)"),
    (("--decision-log-to", "file:/tmp/d.log", "--decision-log-rotate-keep", "0"), "--decision-log-rotate-keep",
     "must be a whole number from 1 to 1000"),
    (("--decision-log-to", "file:/tmp/d.log", "--decision-log-rotate-size", "0", "--decision-log-rotate-keep", "3"),
     "--decision-log-rotate-keep", "and a size to rotate at; leave it out"),
])
def test_a_wrong_destination_names_the_flag_the_rule_and_the_fix(program: Path, flags: tuple[str, ...], flag: str, rule: str) -> None:
    done = subprocess.run([str(program), "--counters", "memory", "--listen", f"127.0.0.1:{free_port()}",
                           "--admin", f"127.0.0.1:{free_port()}", *flags], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done
    assert re.search(rf"{flag}: .*{re.escape(rule)}", done.stderr), done.stderr
    assert not os.path.exists("/tmp/d.log")
