"""Celery, Kafka, logging and OpenTelemetry with the SDK for Python."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sdk.python.web import HERE, PYTHON, environment
from sdk.rogue import ALLOWED, Rogue, reply
from support.agent import Agent
from support.bundle import Bundle, MintedKey, concurrency, token_bucket
from support.client import fresh_subject
from support.process import Process, wait_until
from support.redis_server import RedisServer


@pytest.fixture(scope="module")
def worker_bundle(key: MintedKey) -> Bundle:
    """A policy for each task, topic, logger and span."""
    bundle = Bundle().key(key).plan("two", token_bucket(2, "1/1h")).plan("soon", token_bucket(1, "1/400ms")).plan("one", concurrency(1, "1h"))
    for number, (resource, plan) in enumerate((("task:celery_app.fast", "soon"), ("task:celery_app.dropped", "two"),
                                               ("task:celery_app.leased", "one"), ("log:chatty", "two"), ("span:limited", "two"))):
        bundle.policy(f"p{number}", {"resource": resource}, plan)
    return bundle.policy("events", {"topic": "events", "subject": "slow"}, "soon")


@pytest.fixture(scope="module")
def variables(module_agent: Callable[..., Agent], worker_bundle: Bundle, key: MintedKey) -> dict[str, str]:
    """What a program is told of the agent."""
    agent = module_agent(worker_bundle, "memory").start()
    return {"SLUICE_URL": f"http://127.0.0.1:{agent.port}", "SLUICE_API_KEY": key.text, "SLUICE_TIMEOUT": "10s"}


def run(program: str, *words: str, env: dict[str, str]) -> list[Any]:
    """The lines of a program, each as JSON."""
    done = subprocess.run([str(PYTHON), str(HERE / program), *words], env=environment(env), capture_output=True, text=True, timeout=120,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("library", ["confluent", "aiokafka"])
def test_messages_come_when_their_checks_pass_and_in_order(module_agent: Callable[..., Agent], worker_bundle: Bundle, key: MintedKey,
                                                          library: str) -> None:
    agent = module_agent(worker_bundle, "memory").start()   # with counters that the other library has not spent
    lines = run("kafka_program.py", library, env={"SLUICE_URL": f"http://127.0.0.1:{agent.port}", "SLUICE_API_KEY": key.text,
                                                  "SLUICE_TIMEOUT": "10s"})
    assert lines.pop() == {"done": True}
    slow = [line for line in lines if line["key"] == "slow"]
    free = [line for line in lines if line["key"] == "free"]
    assert [line["value"] for line in slow] == ["0", "1", "2", "3"]
    assert [line["value"] for line in free] == ["0", "1", "2", "3", "4", "5"]
    assert slow[-1]["at"] - slow[0]["at"] > 1.1   # three refills of 400 ms
    if library == "confluent":
        assert max(line["at"] for line in free) < slow[-1]["at"]   # the other partition did not wait


def test_logs_and_spans_pass_by_decision(variables: dict[str, str], make_rogue: Callable[..., Rogue]) -> None:
    (result,) = run("telemetry_program.py", env=variables)
    assert result["logging"]["passed"] == [["chatty", "number 0"], ["chatty", "number 1"], ["chatty", "always"], ["quiet", "one"],
                                           ["sluice", "of the SDK itself"]]
    assert result["logging"]["suppressed"] == [0, 0, 3, 0, None]
    assert result["span_exporter"] == ["limited", "limited", "other"]
    assert result["span_processor"] == ["limited", "limited", "other"]
    assert result["log_exporter"] == ["number 0", "number 1"]
    assert result["log_processor"] == ["number 0", "number 1"]
    assert result["attributes"] == {"ratelimit.over_limit": "{unmatched}"}
    rogue = make_rogue()
    (traced,) = run("telemetry_program.py", env={"SLUICE_URL": rogue.url, "SLUICE_TIMEOUT": "10s"})
    seen = rogue.requests[-1]
    assert seen.headers["traceparent"].split("-")[1] == traced["trace"]
    assert seen.body == {"resource": "traced", "subject": "trace"}


class Worker:
    """A Celery worker with its broker."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.redis = RedisServer(folder / "broker", tcp=True).start()
        self._env = environment({**env, "BROKER": self.redis.counters})
        log = folder / "worker.log"
        self._process = Process([str(PYTHON), "-m", "celery", "-A", "celery_app", "worker", "-c", "4", "--without-gossip", "--without-mingle",
                                 "--loglevel", "INFO"], log, self._env, cwd=HERE)
        try:
            wait_until(f"the worker (log {log})", lambda: " ready." in log.read_text(), 60)
        except AssertionError:
            self.close()
            raise

    def send(self, task: str, *words: str) -> None:
        """Sends a task, from another process."""
        code = f"import celery_app; celery_app.{task}.delay(*{words!r})"
        subprocess.run([str(PYTHON), "-c", code], env=self._env, cwd=HERE, check=True, timeout=60)

    def notes(self, what: str) -> int:
        """How many notes tasks have made."""
        found = self.redis.cli("LLEN", what)
        assert isinstance(found, int)
        return found

    def close(self) -> None:
        """Ends both."""
        self._process.end()
        self.redis.close()


@pytest.fixture(scope="module")
def worker(module_folder: Path, variables: dict[str, str]) -> Iterator[Worker]:
    """A worker for all tests of Celery."""
    started = Worker(module_folder, variables)
    yield started
    started.close()


def test_a_task_that_is_denied_is_retried_when_it_may_run(worker: Worker) -> None:
    name = fresh_subject()
    for _ in range(4):
        worker.send("fast", name)   # max_retries of the task is 1
    wait_until("all four runs", lambda: worker.notes(f"ran:{name}") == 4, 60)
    times = sorted(float(one) for one in worker.redis.cli("LRANGE", f"ran:{name}", "0", "-1"))
    assert times[-1] - times[0] > 0.3


def test_a_task_that_is_dropped_does_not_run(worker: Worker) -> None:
    name, other = fresh_subject(), fresh_subject()
    for _ in range(4):
        worker.send("dropped", name)
    wait_until("two runs", lambda: worker.notes(f"ran:{name}") == 2, 60)
    worker.send("dropped", other)   # the queue is in order: what comes after the dropped ones has run
    wait_until("the other's run", lambda: worker.notes(f"ran:{other}") == 1, 60)
    assert worker.notes(f"ran:{name}") == 2


@pytest.mark.parametrize("how", ["return", "fail"])
def test_a_lease_lasts_as_long_as_its_task(worker: Worker, how: str) -> None:
    name = fresh_subject()
    worker.send("leased", name, how)
    wait_until("the first run", lambda: worker.notes(f"began:{name}") == 1, 60)
    worker.redis.cli("RPUSH", f"go:{name}", "now")
    # The second run begins only if the first gave its lease back; the plan's lease would live for an hour.
    worker.send("leased", name, "return")
    worker.redis.cli("RPUSH", f"go:{name}", "now")
    wait_until("the second run", lambda: worker.notes(f"began:{name}") == 2, 60)


def test_the_lease_of_a_task_whose_delay_is_too_long_is_given_back(rogue: Rogue) -> None:
    rogue.then(reply(200, {**ALLOWED, "action": "delay", "delay_ms": 60_000, "lease_id": "lease-1", "lease_expires_at": 4102444800}))
    code = """
import celery, sluice
from sluice.celery import rate_limit
app = celery.Celery("tests")
@app.task
@rate_limit(sluice.Client(), when_denied="drop")
def job():
    print("ran")
job.apply()
"""
    done = subprocess.run([str(PYTHON), "-c", code], env=environment({"SLUICE_URL": rogue.url, "SLUICE_TIMEOUT": "10s"}), check=True, timeout=60,
                          capture_output=True, text=True)
    assert done.stdout == ""
    assert [seen.path for seen in rogue.requests] == ["/v1/check", "/v1/release"]


def test_names_of_telemetry_that_an_agent_would_refuse_are_hashed() -> None:
    """An agent would refuse the check, and with `on_error` allow all of them would pass."""
    code = """
import json, logging
from opentelemetry.sdk.trace import TracerProvider
from sluice import otel, testing
from sluice.logging import RateLimitFilter
span = TracerProvider().get_tracer("t").start_span("\u00e9" * 200)
double = testing.always_allow()
RateLimitFilter(double).filter(logging.makeLogRecord({"name": "n" * 300, "levelno": logging.INFO, "levelname": "INFO"}))
print(json.dumps([otel.span_fields(span), double.checks[0]]))
"""
    done = subprocess.run([str(PYTHON), "-c", code], env=environment(), check=True, timeout=60, capture_output=True, text=True)
    span, record = json.loads(done.stdout)
    for value in (span["resource"], span["span_name"], record["resource"], record["subject"]):
        assert value.startswith("sha256:") and len(value) == 71
    assert record["severity"] == "info"
