"""examples/otlp_pipe between a real exporter and a receiver."""

import contextlib
import gzip
import http.client
import http.server
import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Optional

import pytest

from support.process import Process, free_port, wait_until
from support.program import findings, program_path

import support.grpc_client  # noqa: F401 - makes .run/grpcio importable
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2

ROOT = Path(__file__).resolve().parents[2]
APPLICATION = [str(ROOT / ".run/otlp-exporter/bin/python"), str(Path(__file__).with_name("sdk_application.py"))]
PROTOBUF = {"Content-Type": "application/x-protobuf"}
SECONDS = 30.0


def policy(name: str, scope: dict[str, str], limit: int, **more: Any) -> dict[str, Any]:
    """So many records an hour of each service."""
    return {"tenant_id": "shop", "id": name, "scope": scope, "key_by": ["service"], **more,
            "limits": [{"name": "rate", "algorithm": "fixed_window", "limit": limit, "window": "1h", "align": "first"}]}


POLICIES = [policy("debug", {"signal": "logs", "severity": "DEBUG"}, 5, action="drop"),
            policy("info", {"signal": "logs", "severity": "INFO"}, 10, action="sample", sample_rate=0.25),
            policy("poll", {"signal": "traces", "span_name": "poll"}, 20, action="sample", sample_rate=0.5),
            policy("cache", {"signal": "traces", "span_name": "cache"}, 0, action="drop_low_priority")]


class Pipe:
    """The program, in front of a collector's port."""

    def __init__(self, folder: Path, collector: int, policies: list[dict[str, Any]], *flags: str) -> None:
        self.file = folder / "policies.json"
        self.write(policies)
        self.port = free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self.process = Process([str(program_path("sluice-agent").with_name("otlp_pipe")), "--policies", str(self.file),
                                "--listen", f"127.0.0.1:{self.port}", "--collector", f"http://127.0.0.1:{collector}", *flags],
                               folder / "pipe.log")
        wait_until("the pipe", lambda: "listening on" in self.process.output(), SECONDS)

    def write(self, policies: list[dict[str, Any]]) -> None:
        """Replaces its policies."""
        self.file.write_text(json.dumps({"format": "sluice/v1", "tenants": [{"id": "shop"}], "policies": policies}))

    def request(self, method: str, path: str, body: bytes = b"", headers: Optional[dict[str, str]] = None) -> tuple[int, str, dict[str, str]]:
        """Status, text and headers of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace"), {name.lower(): value for name, value in answer.getheaders()}

    def counts(self, signal_: str) -> Counter[str]:
        """Of one signal, by outcome; `waiting` too."""
        return counts_of(self.request("GET", "/metrics")[1], signal_)

    def end(self) -> Counter[str]:
        """SIGTERM; the last counts of the logs."""
        assert self.process.end() == 0
        assert findings(self.process.log) == []
        return counts_of(self.process.output(), "logs")


def counts_of(text: str, signal_: str) -> Counter[str]:
    """Of one signal, from the text of /metrics."""
    found = Counter({outcome: int(value) for outcome, value in
                     re.findall(rf'otlp_pipe_records_total{{signal="{signal_}",outcome="(\w+)"}} (\d+)', text)})
    found["waiting"] = int(re.findall(rf'otlp_pipe_waiting_records{{signal="{signal_}"}} (\d+)', text)[0])
    # Nothing is lost that is not counted.
    assert found["received"] == sum(found[each] for each in ("forwarded", "dropped", "refused", "given_up", "waiting")), found
    return found


@pytest.fixture
def make_pipe(tmp_path: Path) -> Iterator[Callable[..., Pipe]]:
    """Makes a pipe in the test's folder: the arguments are Pipe's. It ends with the test, whatever happens."""
    made: list[Pipe] = []

    def make(*words: Any) -> Pipe:
        made.append(Pipe(tmp_path, *words))
        return made[-1]

    yield make
    for pipe in made:
        pipe.process.end()


class CollectorProcess:
    """A receiver that can be killed and comes back at the same port."""

    def __init__(self, folder: Path) -> None:
        self.port, self._folder, self.file = free_port(), folder, folder / "records.jsonl"
        self.start()

    def start(self) -> None:
        """Starts it again."""
        self.process = Process([sys.executable, "-m", "examples.collector_process", str(self.port), str(self.file)],
                               self._folder / "collector.log", cwd=ROOT / "tests")

    def records(self) -> list[dict[str, Any]]:
        """What it has taken so far."""
        if not self.file.exists():
            return []
        return [json.loads(line) for line in self.file.read_text().splitlines() if line.endswith("}")]


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[CollectorProcess]:
    """A receiver, running."""
    made = CollectorProcess(tmp_path)
    yield made
    made.process.end()


@contextlib.contextmanager
def answering(answer: Any) -> Iterator[int]:
    """A receiver that answers each request as `answer(handler, body)` does; its port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        """One connection."""

        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:  # noqa: N802 - the base class names it
            """One request."""
            answer(self, self.rfile.read(int(self.headers["Content-Length"])))

        def log_message(self, *_: Any) -> None:
            """Silent."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def reply(handler: http.server.BaseHTTPRequestHandler, status: int, **headers: str) -> None:
    """An answer without a body."""
    handler.send_response(status)
    for name, value in {"Content-Length": "0", **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()


def logs(count: int, first: int = 0, severity: int = 17) -> bytes:
    """An export request with so many records, each with a number."""
    request = logs_service_pb2.ExportLogsServiceRequest()
    group = request.resource_logs.add()
    pair = group.resource.attributes.add(key="service.name")
    pair.value.string_value = "checkout"
    scope = group.scope_logs.add()
    for number in range(first, first + count):
        record = scope.log_records.add(severity_number=severity)
        record.body.string_value = "something went wrong"
        record.attributes.add(key="n").value.int_value = number
    return bytes(request.SerializeToString())


def send(application_lines: list[dict[str, Any]], pipe: Pipe) -> list[str]:
    """What the exporters of a real application say."""
    done = subprocess.run([*APPLICATION, pipe.endpoint], input="\n".join(map(json.dumps, application_lines)), capture_output=True,
                          text=True, timeout=120, check=True)
    return list(json.loads(done.stdout)["results"])


@pytest.mark.parametrize("flags", [[], ["--gzip"]])
def test_what_policy_drops_is_gone_and_what_it_samples_is_marked(make_pipe: Callable[..., Pipe], collector: CollectorProcess, flags: list[str]) -> None:
    pipe = make_pipe(collector.port, POLICIES, *flags)
    lines: list[dict[str, Any]] = []
    for number in range(200):
        lines += [{"log": "noise", "level": "DEBUG", "n": number}, {"log": "often", "level": "INFO", "n": number},
                  {"log": "broken", "level": "ERROR", "n": number}, {"span": "poll", "n": number},
                  {"span": "cache", "n": number, "failed": number % 10 == 0}]
    assert set(send(lines, pipe)) == {"SUCCESS"}
    logged, traced = pipe.counts("logs"), pipe.counts("traces")
    wait_until("all", lambda: pipe.counts("logs")["waiting"] + pipe.counts("traces")["waiting"] == 0, SECONDS)
    found = collector.records()
    assert {record["packed"] for record in found} == {bool(flags)}
    by_text = Counter(record.get("body") or record["name"] for record in found)
    assert by_text["noise"] == 5 and by_text["broken"] == 200
    assert {record["attributes"]["n"] for record in found if record.get("body") == "broken"} == set(range(200))
    assert by_text["cache"] == 20, "spans with an error have a high priority"

    # 10 within the limit, and of the 190 others about a quarter: more than 6 standard deviations is no chance.
    often = [record["attributes"] for record in found if record.get("body") == "often"]
    marked = [attributes for attributes in often if "sluice.policy" in attributes]
    assert len(often) - len(marked) == 10 and 12 <= len(marked) <= 84
    assert {(each["sluice.sample_rate"], each["sluice.policy"]) for each in marked} == {(0.25, "info")}
    polls = [record for record in found if record.get("name") == "poll"]
    assert sum("sluice.policy" not in each["attributes"] for each in polls) == 20 and 20 + 48 <= len(polls) <= 20 + 132
    assert logged["sampled"] == len(marked) and traced["sampled"] == len(polls) - 20
    # What is no business of the pipe's is as it was.
    assert {(each["service"], each["scope"]) for each in found} == {("checkout", "shop")}
    assert all(each["events"] == 1 for each in polls) and all(each["attributes"]["http.route"] == "/cart/{id}" for each in found if "body" in each)
    assert logged["received"] == 600 and logged["dropped"] == 195 + 190 - len(marked) and traced["received"] == 400
    pipe.end()


def test_what_it_does_not_know_is_forwarded(make_pipe: Callable[..., Pipe]) -> None:
    later = b"\xc2\x3e\x05later"   # field 1000, which no version of today has
    request = logs_service_pb2.ExportLogsServiceRequest.FromString(logs(3) + logs(2, first=10, severity=5))
    for group in request.resource_logs:
        group.MergeFromString(later)
        group.resource.MergeFromString(later)
        for scope in group.scope_logs:
            scope.MergeFromString(later)
            scope.scope.name, scope.scope.version, scope.schema_url = "shop", "2", "https://example.com/schema"
            for record in scope.log_records:
                record.MergeFromString(later)
                record.attributes.add(key="list").value.array_value.values.add().string_value = "x"
                record.attributes.add(key="empty")
    request.MergeFromString(later)
    bodies: list[bytes] = []

    def answer(handler: http.server.BaseHTTPRequestHandler, body: bytes) -> None:
        bodies.append(body)
        reply(handler, 200)

    with answering(answer) as port:
        pipe = make_pipe(port, [policy("debug", {"signal": "logs", "severity": "DEBUG"}, 1, action="drop")])
        for _ in range(2):
            assert pipe.request("POST", "/v1/logs", request.SerializeToString(), PROTOBUF)[0] == 200
            wait_until("the collector", lambda: pipe.counts("logs")["waiting"] == 0, SECONDS)
        pipe.end()
    # One debug record passes; then none, and the group that has nothing else is left out.
    del request.resource_logs[1].scope_logs[0].log_records[1]
    first = request.SerializeToString()
    del request.resource_logs[1]
    assert bodies == [first, request.SerializeToString()]


def test_a_record_with_long_or_many_attributes_is_decided_like_others(make_pipe: Callable[..., Pipe], collector: CollectorProcess) -> None:
    request = logs_service_pb2.ExportLogsServiceRequest.FromString(logs(6))
    crashed, wide, twice = request.resource_logs[0].scope_logs[0].log_records[:3]
    crashed.attributes.add(key="exception.stacktrace").value.string_value = "at main()\n" * 100
    crashed.attributes.add(key="k" * 300).value.int_value = 1
    for number in range(70):
        wide.attributes.add(key=f"a{number}").value.int_value = number
    twice.attributes.add(key="n").value.int_value = 7
    pipe = make_pipe(collector.port, [policy("errors", {"signal": "logs", "severity": "ERROR"}, 0, action="drop")])
    assert pipe.request("POST", "/v1/logs", request.SerializeToString(), PROTOBUF)[0] == 200
    found = pipe.end()
    assert (found["received"], found["dropped"], found["undecided"]) == (6, 6, 0)


def test_a_resource_names_its_tenant(make_pipe: Callable[..., Pipe], collector: CollectorProcess) -> None:
    pipe = make_pipe(collector.port, [], "--tenant-attribute", "team", "--tenant", "shop")
    none = policy("none", {"signal": "logs"}, 0, action="drop")
    pipe.file.write_text(json.dumps({"format": "sluice/v1", "tenants": [{"id": "shop"}, {"id": "bank"}],
                                     "policies": [{**none, "tenant_id": "bank"}]}))
    pipe.process.send(signal.SIGHUP)
    wait_until("the new policies", lambda: "read again" in pipe.process.output(), SECONDS)
    for team in ("bank", "shop", None, "nobody"):
        request = logs_service_pb2.ExportLogsServiceRequest.FromString(logs(2))
        if team:
            request.resource_logs[0].resource.attributes.add(key="team").value.string_value = team
        assert pipe.request("POST", "/v1/logs", request.SerializeToString(), PROTOBUF)[0] == 200
    found = pipe.end()
    assert (found["received"], found["dropped"], found["undecided"], found["forwarded"]) == (8, 2, 2, 6)


def test_what_the_collector_rejects_of_a_request_is_counted(make_pipe: Callable[..., Pipe]) -> None:
    def answer(handler: http.server.BaseHTTPRequestHandler, _: bytes) -> None:
        said = logs_service_pb2.ExportLogsServiceResponse()
        said.partial_success.rejected_log_records, said.partial_success.error_message = 3, "too old"
        body = said.SerializeToString()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    with answering(answer) as port:
        pipe = make_pipe(port, [])
        for size in (10, 2):   # of the second it claims to reject more than it has
            assert pipe.request("POST", "/v1/logs", logs(size), PROTOBUF)[0] == 200
        found = pipe.end()
    assert (found["forwarded"], found["refused"]) == (7, 5)


def test_policies_change_while_it_runs(make_pipe: Callable[..., Pipe], collector: CollectorProcess) -> None:
    pipe = make_pipe(collector.port, [policy("all", {"signal": "logs"}, 0, action="drop")])
    assert pipe.request("POST", "/v1/logs", logs(3), PROTOBUF)[0] == 200
    assert pipe.counts("logs")["dropped"] == 3
    pipe.write([])
    pipe.process.send(signal.SIGHUP)
    wait_until("the new policies", lambda: "read again" in pipe.process.output(), SECONDS)
    assert pipe.request("POST", "/v1/logs", logs(3), PROTOBUF)[0] == 200
    pipe.file.write_text("{")
    pipe.process.send(signal.SIGHUP)
    wait_until("the fault", lambda: "line 1" in pipe.process.output(), SECONDS)
    assert pipe.request("POST", "/v1/logs", logs(1), PROTOBUF)[0] == 200
    assert pipe.end()["forwarded"] == 4
    assert len(collector.records()) == 4


def test_backpressure_reaches_the_exporter_which_sends_again(make_pipe: Callable[..., Pipe]) -> None:
    opened = threading.Event()
    taken: list[int] = []

    def answer(handler: http.server.BaseHTTPRequestHandler, body: bytes) -> None:
        if not opened.is_set():
            return reply(handler, 503, Retry_After="0")
        request = logs_service_pb2.ExportLogsServiceRequest.FromString(body)
        taken.extend(pair.value.int_value for group in request.resource_logs for scope in group.scope_logs
                     for record in scope.log_records for pair in record.attributes if pair.key == "n")
        return reply(handler, 200)

    with answering(answer) as port:
        pipe = make_pipe(port, [], "--queue-bytes", "40000", "--senders", "1")
        # Fills the queue, and is told when to come again.
        accepted = 0
        while (answered := pipe.request("POST", "/v1/logs", logs(100, 1000 + 100 * accepted), PROTOBUF))[0] == 200:
            accepted += 1
        assert (answered[0], answered[2]["retry-after"]) == (503, "1") and 1 <= accepted < 20
        results: list[str] = []
        application = threading.Thread(
            target=lambda: results.extend(send([{"log": "broken", "level": "ERROR", "n": number} for number in range(300)], pipe)))
        application.start()
        wait_until("an exporter that is turned away",
                   lambda: not re.search(r"turned_away_requests_total [01]$", pipe.request("GET", "/metrics")[1], re.M), SECONDS)
        opened.set()
        application.join(60)
        assert set(results) == {"SUCCESS"} and pipe.end()["forwarded"] == 300 + 100 * accepted
    assert sorted(taken) == [*range(300), *range(1000, 1000 + 100 * accepted)], "each once"


@pytest.mark.parametrize("status", [None, 503, 400])
def test_a_dead_receiver_loses_nothing_that_is_not_counted(make_pipe: Callable[..., Pipe], status: Optional[int]) -> None:
    with contextlib.ExitStack() as running:
        port = free_port() if status is None else running.enter_context(answering(lambda handler, _: reply(handler, status)))
        pipe = make_pipe(port, [policy("all", {"signal": "logs"}, 30, action="drop")], "--patience", "0.3")
        for number in range(4):
            assert pipe.request("POST", "/v1/logs", logs(10, 10 * number), PROTOBUF)[0] == 200
        wait_until("the end of patience", lambda: pipe.counts("logs")["waiting"] == 0, SECONDS)
        found = pipe.end()
    assert found["received"] == 40 and found["dropped"] == 10 and found["forwarded"] == 0
    assert found["refused" if status == 400 else "given_up"] == 30


def test_a_receiver_that_is_killed_and_comes_back_gets_everything(make_pipe: Callable[..., Pipe], collector: CollectorProcess) -> None:
    pipe = make_pipe(collector.port, [])
    for number in range(60):
        assert pipe.request("POST", "/v1/logs", logs(5, 5 * number), PROTOBUF)[0] == 200
        if number == 20:
            collector.process.end(by=signal.SIGKILL)
        if number == 40:
            collector.start()
    wait_until("everything", lambda: pipe.counts("logs")["waiting"] == 0, SECONDS)
    assert pipe.end()["forwarded"] == 300
    # What was written down and not yet answered when it was killed comes twice, as OTLP says.
    assert {record["attributes"]["n"] for record in collector.records()} == set(range(300))


def test_a_stop_drains(make_pipe: Callable[..., Pipe]) -> None:
    let_through = threading.Semaphore(0)
    taken: list[int] = []

    def answer(handler: http.server.BaseHTTPRequestHandler, body: bytes) -> None:
        let_through.acquire()
        taken.append(len(body))
        reply(handler, 200)

    with answering(answer) as port:
        pipe = make_pipe(port, [], "--senders", "2", "--drain", "30")
        for number in range(20):
            assert pipe.request("POST", "/v1/logs", logs(1, number), PROTOBUF)[0] == 200
        pipe.process.send(signal.SIGTERM)
        for _ in range(20):
            let_through.release()
        assert pipe.end()["forwarded"] == 20
    assert len(taken) == 20


def test_a_stop_counts_what_it_gives_up(make_pipe: Callable[..., Pipe]) -> None:
    pipe = make_pipe(free_port(), [], "--drain", "0.2")
    assert pipe.request("POST", "/v1/logs", logs(7), PROTOBUF)[0] == 200
    assert pipe.end()["given_up"] == 7


def test_a_collector_that_does_not_answer_does_not_hold_up_a_stop(make_pipe: Callable[..., Pipe]) -> None:
    asked, answered = threading.Event(), threading.Event()

    def answer(handler: http.server.BaseHTTPRequestHandler, _: bytes) -> None:
        asked.set()
        answered.wait(SECONDS)
        handler.close_connection = True

    with answering(answer) as port:
        pipe = make_pipe(port, [], "--drain", "0.2")
        assert pipe.request("POST", "/v1/logs", logs(7), PROTOBUF)[0] == 200
        assert asked.wait(SECONDS)
        began = time.monotonic()
        assert pipe.end()["given_up"] == 7
        # One request may take 10 seconds.
        assert time.monotonic() - began < 8
        answered.set()


def test_bad_input_gets_a_clear_answer_and_the_next_request_is_taken(make_pipe: Callable[..., Pipe], collector: CollectorProcess) -> None:
    pipe = make_pipe(collector.port, [])
    bomb = gzip.compress(bytes(64 << 20))
    packed = {**PROTOBUF, "Content-Encoding": "gzip"}
    for method, path, body, headers, status, text in [
            ("POST", "/v1/logs", b"{}", {"Content-Type": "application/json"}, 415, "application/x-protobuf"),
            ("POST", "/v1/logs", b"\x0a\xff\xff", PROTOBUF, 400, "not the message"),
            ("POST", "/v1/traces", b"\xff" * 30, PROTOBUF, 400, "not the message"),
            ("POST", "/v1/logs", b"no gzip", packed, 400, "not gzip"),
            ("POST", "/v1/logs", gzip.compress(logs(3))[:-9], packed, 400, "not gzip"),
            ("POST", "/v1/logs", bomb, packed, 413, "too large"), ("POST", "/v1/logs", bytes(9 << 20), PROTOBUF, 413, "too large"),
            ("POST", "/v1/logs", b"", {**PROTOBUF, "Content-Encoding": "zstd"}, 415, "gzip"),
            ("GET", "/v1/logs", b"", {}, 405, "POST"), ("POST", "/v2/logs", b"", PROTOBUF, 404, "/v1/logs")]:
        found = pipe.request(method, path, body, headers)
        assert found[0] == status and text in found[1], (path, found)
    assert pipe.request("POST", "/v1/logs", gzip.compress(logs(3)), packed)[0] == 200
    assert pipe.request("POST", "/v1/metrics", b"\x0a\x00", PROTOBUF)[0] == 200
    assert pipe.request("POST", "/v1/logs", b"", PROTOBUF)[0] == 200   # an empty message is one
    wait_until("all", lambda: pipe.counts("logs")["forwarded"] == 3 and pipe.counts("metrics")["forwarded"] == 1, SECONDS)
    assert pipe.end()["received"] == 3


@pytest.mark.parametrize(("flags", "text"), [
    (["--listen", "nowhere"], "--listen must be"), (["--collector", "ftp://a"], "--collector must be"), (["--policies", "/none"], "--policies"),
    (["--patience", "x"], "--patience"), (["--frobnicate"], "--frobnicate")])
def test_a_flag_that_is_wrong_is_named(tmp_path: Path, flags: list[str], text: str) -> None:
    (tmp_path / "policies.json").write_text('{"format":"sluice/v1"}')
    words = {"--policies": str(tmp_path / "policies.json"), "--collector": "http://127.0.0.1:1", "--listen": "127.0.0.1:0"}
    words.update(dict([flags]) if len(flags) == 2 else {})
    command = [str(program_path("sluice-agent").with_name("otlp_pipe")), *(word for pair in words.items() for word in pair)]
    done = subprocess.run([*command, *(flags if len(flags) == 1 else [])], capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.returncode != 0 and text in done.stderr
