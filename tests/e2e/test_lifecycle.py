"""Start, stop and sudden death of the agent; what the command line says."""

import json
import os
import re
import pwd
import signal
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket, window
from support.client import Client
from support.process import Process, free_port, wait_until
from support.program import withheld
from support.raw import RawConnection, check_request
from support.redis_server import RedisServer
from support.server import run_command

PLENTY = 300_000
FLAGS = ["--policies", "--counters", "--redis-password-file", "--max-in-flight", "--listen", "--listen-unix", "--admin",
         "--workers", "--redis-deadline", "--headers", "--decision-log", "--no-snapshot", "--check-config"]


def run(program: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs the agent to its end."""
    return subprocess.run([str(program), *arguments], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **env}, check=False)


@pytest.fixture
def simple(key: MintedKey) -> Bundle:
    """One plan that never fills up."""
    return Bundle().key(key).plan("bucket", token_bucket(PLENTY, "1/1h"))


def test_help_names_every_flag_and_its_environment_variable(program: Path) -> None:
    done = run(program, "--help")
    assert done.returncode == 0
    for flag in FLAGS:
        assert flag in done.stdout, flag
    for flag in FLAGS[:-1]:
        assert "SLUICE_AGENT_" + flag[2:].replace("-", "_").upper() in done.stdout, flag
    assert "mint-key" in done.stdout


@pytest.mark.parametrize("command", [[], ["mint-key"], ["reference"], ["reference", "openapi"]], ids=" ".join)
def test_a_short_h_is_help_before_and_behind_a_command(program: Path, command: list[str]) -> None:
    long = run(program, *command, "--help")
    for arguments in ([*command, "-h"], ["-h", *command], [*command, "-h", "--nonsense"]):
        done = run(program, *arguments)
        assert (done.returncode, done.stdout, done.stderr) == (0, long.stdout, ""), arguments


def test_a_misspelt_variable_is_a_warning_with_the_right_name(program: Path, simple: Bundle, tmp_path: Path) -> None:
    path = simple.write(tmp_path / "bundle.json")
    arguments = ["--policies", str(path), "--counters", "memory", "--check-config"]
    done = run(program, *arguments, SLUICE_AGENT_WORKRES="s3cret", SLUICE_LISTEN="x", SLUICE_AGENT_PORT="tcp://10.0.0.1:8088",
               SLUICE_AGENT_SERVICE_PORT_HTTP="8088", SLUICE_SERVER_LISTENN="x", SLUICE_URL="http://127.0.0.1:8088")
    assert done.returncode == 0
    warnings = [line for line in done.stderr.splitlines() if "environment variable" in line]
    assert len(warnings) == 2 and "s3cret" not in done.stderr, done.stderr
    assert any("SLUICE_AGENT_WORKRES" in line and "SLUICE_AGENT_WORKERS?" in line for line in warnings)
    assert any("SLUICE_LISTEN " in line and "SLUICE_AGENT_LISTEN?" in line for line in warnings)


def test_check_config_refuses_two_plans_of_one_name_and_a_running_agent_warns(
        program: Path, simple: Bundle, tmp_path: Path, make_agent: Callable[..., Agent]) -> None:
    pro = {**simple.document["plans"][0], "name": "Pro"}
    simple.document["plans"] += [{**pro, "id": "one"}, {**pro, "id": "two"}]
    path = simple.write(tmp_path / "bundle.json")
    done = run(program, "--policies", str(path), "--counters", "memory", "--check-config")
    assert done.returncode == 1 and 'has the name "Pro" already' in done.stderr and "2 faults" in done.stderr, done
    agent = make_agent(simple, "memory").start()
    assert agent.process.output().count("has the name") == 2, "it warns"


YAML_BUNDLE = """# by hand
format: sluice/v1
tenants:
  - id: shop
plans:
  - id: pro
    tenant_id: shop
    limits: &limits
      - {name: a, algorithm: fixed_window, limit: 5, window: 1m}
  - id: same
    tenant_id: shop
    limits: *limits
"""


@pytest.mark.parametrize("name", ["bundle.yaml", "bundle.yml", "bundle"])
def test_check_config_reads_yaml_and_names_lines_of_it(program: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    arguments = ["--policies", str(path), "--counters", "memory", "--check-config"]
    path.write_text(YAML_BUNDLE)
    done = run(program, *arguments)
    assert done.returncode == 0 and "ok (1 tenants, 2 plans" in done.stdout, done
    path.write_text(YAML_BUNDLE + "  - id: bad\n    tenant_id: nobody\n    limits: []\n")
    faulty = run(program, *arguments)
    assert faulty.returncode == 1
    assert f"{path}:14:16: /plans/2/tenant_id: " in faulty.stderr, faulty.stderr
    path.write_text(YAML_BUNDLE + "policies: [\n")
    broken = run(program, *arguments)
    assert broken.returncode == 1 and re.search(rf"^{path}:\d+:\d+: the text is not YAML", broken.stderr, re.MULTILINE), broken.stderr


def test_yaml_and_json_have_the_same_faults(program: Path, tmp_path: Path) -> None:
    document = {"format": "sluice/v1", "tenants": [{"id": "shop"}], "plans": [
        {"id": "p", "tenant_id": "shop", "limits": [{"name": "a", "algorithm": "fixed_window", "limit": "no", "window": "5 parsecs"}]}]}
    found = []
    for name, text in (("b.json", json.dumps(document)), ("b.yaml", json.dumps(document, indent=1))):
        (tmp_path / name).write_text(text)
        done = run(program, "--policies", str(tmp_path / name), "--counters", "memory", "--check-config")
        assert done.returncode == 1
        found.append(re.findall(r"^\S+:\d+:\d+: (/.*)$", done.stderr, re.MULTILINE))
    assert found[0] == found[1] and len(found[0]) >= 2, found


@pytest.mark.parametrize(("text", "said"), [
    ("a: &a [1,1,1,1,1,1,1,1]\n" + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(12)), "aliases add"),
    ("[" * 200 + "]" * 200, "deep"), ("a: 1\n---\nb: 2\n", "more than one document"), ("<<: {}\n", "merge keys"), ("# " + "x" * (4 << 20), "4 MiB")],
    ids=["aliases", "nesting", "documents", "merge", "size"])
def test_yaml_that_is_a_trap_is_refused_at_once(program: Path, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "trap.yaml"
    path.write_text(text)
    done = run(program, "--policies", str(path), "--counters", "memory", "--check-config")
    assert done.returncode == 1 and said in done.stderr, done.stderr


def test_a_flag_can_come_from_its_environment_variable(program: Path, simple: Bundle, tmp_path: Path) -> None:
    path = simple.write(tmp_path / "bundle.json")
    arguments = ["--check-config", "--counters", "memory"]
    assert run(program, *arguments, SLUICE_AGENT_POLICIES=str(path)).returncode == 0
    assert run(program, *arguments, SLUICE_AGENT_POLICIES=str(tmp_path / "none")).returncode != 0


def test_check_config_accepts_a_good_bundle_and_the_examples(program: Path, simple: Bundle, tmp_path: Path) -> None:
    example = Path(__file__).resolve().parents[2] / "examples/demo.json"
    for path in (simple.write(tmp_path / "bundle.json"), example):
        done = run(program, "--policies", str(path), "--counters", "memory", "--check-config")
        assert done.returncode == 0, done.stderr


def test_check_config_names_every_fault_of_a_bundle_with_its_pointer(program: Path, simple: Bundle,
                                                                     tmp_path: Path) -> None:
    simple.plan("bad", {"name": "a", "algorithm": "no_such", "limit": 1})
    simple.plan("worse", window("fixed_window", -1, "10 parsecs"))
    simple.policy("lost", {"resource": "x"}, "nowhere")
    done = run(program, "--policies", str(simple.write(tmp_path / "bundle.json")), "--counters", "memory", "--check-config")
    assert done.returncode != 0
    for pointer in ("/plans/1/limits/0/algorithm", "/plans/2/limits/0/limit", "/plans/2/limits/0/window",
                    "/policies/0/plan_id"):
        assert pointer in done.stderr + done.stdout, pointer


def test_check_config_names_line_and_column_of_every_fault_a_bad_expression_among_them(program: Path,
                                                                                       tmp_path: Path) -> None:
    path = tmp_path / "bundle.json"
    path.write_text('{"format":"sluice/v1","mode":"loud",\n'
                    ' "tenants":[{"id":"shop"}],\n'
                    ' "policies":[{"id":"ü", "rate":"1/s",\n'
                    '   "match_expr":"region==eu && usr==x"}, {"id":"b"}]}\n')
    done = run(program, "--policies", str(path), "--counters", "memory", "--check-config")
    assert done.returncode != 0
    assert [line.split(": ")[:2] for line in done.stderr.splitlines()[:-1]] == [
        [f"{path}:1:30", "/mode"], [f"{path}:3:20", "/policies/0/id"], [f"{path}:4:17", "/policies/0/match_expr"],
        [f"{path}:4:42", "/policies/1/plan_id"]]
    assert 'column 15: "usr" is not a dimension: did you mean "user"?' in done.stderr


def test_check_config_names_line_and_column_of_a_fault_in_the_syntax_once(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "bundle.json"
    path.write_text('{"format":"sluice/v1",\n "ä":}')
    done = run(program, "--policies", str(path), "--counters", "memory", "--check-config")
    assert done.returncode != 0
    assert done.stderr.startswith(f"{path}:2:6: not valid JSON: ")
    assert "column" not in done.stderr


def test_a_fault_of_the_whole_file_has_no_line(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate((128 << 20) + 1)
    done = run(program, "--policies", str(path), "--counters", "memory", "--check-config")
    assert done.returncode != 0
    assert done.stderr.startswith(f"{path}: the document is larger than 128 MiB")


def test_a_refused_bundle_is_logged_with_line_and_column(simple: Bundle, make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(simple, "memory")
    assert agent.bundle is not None
    agent.bundle.write_text('{"format":"sluice/v1",\n "mode":"loud"}')
    assert agent.launch().process.wait(30) == 1
    refused = [json.loads(line) for line in agent.process.output().splitlines() if '"bundle_refused"' in line]
    assert [(line["pointer"], line["line"], line["column"]) for line in refused] == [("/mode", 2, 9)]


def test_all_faults_of_the_configuration_are_said_at_once_before_a_port_is_bound(program: Path, tmp_path: Path) -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):   # a bound port would be a fault of its own: it is not reached
        done = run(program, "--policies", str(tmp_path / "missing.json"), "--counters", "mongodb://x",
                   "--listen", f"127.0.0.1:{port}", "--workers", "0", "--decision-log", "sometimes", "--headers", "y")
    assert done.returncode != 0
    said = done.stderr + done.stdout
    for word in ("missing.json", "--counters", "--workers", "--decision-log", "--headers"):
        assert word in said, f"{word} is not in: {said}"
    assert "in use" not in said


def test_an_unknown_flag_is_refused(program: Path) -> None:
    done = run(program, "--polices", "x")
    assert done.returncode != 0
    assert "--polices" in done.stderr + done.stdout


@pytest.mark.parametrize(("flag", "workers"), [("--listen", "1"), ("--listen", "2"), ("--admin", "1")])
def test_a_port_in_use_is_said_with_its_flag(program: Path, simple: Bundle, tmp_path: Path, flag: str,
                                             workers: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ports = {"--listen": f"127.0.0.1:{free_port()}", "--admin": f"127.0.0.1:{free_port()}", flag: f"127.0.0.1:{port}"}
        done = run(program, "--policies", str(simple.write(tmp_path / "b.json")), "--counters", "memory",
                   "--workers", workers, *(word for pair in ports.items() for word in pair))
    assert done.returncode == 1
    (refusal,) = [json.loads(line) for line in done.stderr.splitlines() if '"error"' in line]
    assert f"127.0.0.1:{port}" in refusal["message"] and refusal["message"].endswith(f"with {flag}.")


def test_a_unix_socket_in_use_is_said_with_its_flag(program: Path, simple: Bundle, tmp_path: Path,
                                                    make_agent: Callable[..., Agent]) -> None:
    first = make_agent(simple, "memory").start()
    done = run(program, "--policies", str(simple.write(tmp_path / "b.json")), "--counters", "memory",
               "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--listen-unix", str(first.socket))
    assert done.returncode == 1
    assert str(first.socket) in done.stderr and "--listen-unix" in done.stderr


@pytest.mark.parametrize("workers", [("1", "1"), ("2", "2"), ("2", "1"), ("1", "2")])
def test_a_second_agent_does_not_share_a_port(simple: Bundle, make_agent: Callable[..., Agent],
                                              workers: tuple[str, str]) -> None:
    first = make_agent(simple, "memory", "--workers", workers[0]).start()
    second = make_agent(simple, "memory", "--workers", workers[1])
    second.port = first.port
    assert second.launch().process.wait(30) == 1
    assert f"127.0.0.1:{first.port}" in second.process.output()


def test_several_workers_listen_on_the_one_port_that_was_free(key: MintedKey, simple: Bundle,
                                                              make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(simple, "memory", "--workers", "3", "--listen", "127.0.0.1:0")
    agent.start()
    # The log is written by a thread of its own: the line may come after the first answer.
    (agent.port,) = wait_until("the listener's log line", lambda: {
        entry["port"] for entry in log_entries(agent) if entry.get("listener") == "checks"})
    assert listeners(agent.port) == 3
    with agent.client(key.text) as client:
        assert client.check(plan_id="bucket", subject="a").status == 200


def log_entries(agent: Agent) -> list[dict[str, Any]]:
    """The whole lines of the agent's log so far."""
    lines = agent.process.output().splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("\n")]


def listeners(port: int) -> int:
    """How many sockets listen on a port."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return sum(1 for line in lines if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A")


def test_another_bind_address_than_the_loopback_needs_a_word(program: Path, simple: Bundle, tmp_path: Path) -> None:
    done = run(program, "--policies", str(simple.write(tmp_path / "b.json")), "--counters", "memory",
               "--listen", f"0.0.0.0:{free_port()}", "--admin", f"127.0.0.1:{free_port()}", "--check-config")
    assert done.returncode != 0
    assert "--insecure-listen" in done.stderr + done.stdout


@pytest.mark.parametrize("url", ["redis://me:hunter2@redis.invalid:6379/0", "redis://10.0.0.1", "redis://127.evil.invalid",
                                 "redis+sentinel://127.0.0.1,b.invalid/main", "redis+cluster://localhost,b.invalid"])
def test_clear_text_to_a_redis_elsewhere_needs_a_word(program: Path, simple: Bundle, tmp_path: Path, url: str) -> None:
    flags = ["--policies", str(simple.write(tmp_path / "b.json")), "--counters", url]
    for more in ([], ["--check-config"]):
        done = run(program, *flags, *more)
        assert done.returncode == 2 and "  --counters: would send passwords and subjects" in done.stderr, done.stderr
        assert "--insecure-redis" in done.stderr and "rediss://" in done.stderr and "hunter2" not in done.stderr, done.stderr
    assert run(program, *flags, "--check-config", "--insecure-redis").returncode == 0
    assert run(program, *flags[:2], "--counters", url.replace("redis", "rediss", 1), "--check-config").returncode == 0


def test_an_agent_that_may_use_clear_text_runs_whether_its_redis_is_there_or_not(
        key: MintedKey, simple: Bundle, make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(simple, "redis://redis.invalid", "--insecure-redis").start()
    with agent.client(key.text) as client:
        assert client.check(plan_id="bucket", subject="a").body["reason"] == "fail_closed"


def test_mint_key_gives_a_new_key_and_its_hash_each_time(program: Path) -> None:
    first, second = run(program, "mint-key").stdout, run(program, "mint-key").stdout
    minted = json.loads(first)
    assert minted["key"].startswith(f"slk_{minted['id']}_")
    assert minted["bundle_entry"]["key_hash"] == minted["key_hash"] and minted["key_hash"].startswith("sha256:")
    assert minted["key"][-49:] not in minted["key_hash"]
    assert first != second


def test_mint_key_makes_the_entry_a_bundle_takes(program: Path, simple: Bundle, make_agent: Callable[..., Agent]) -> None:
    minted = json.loads(run(program, "mint-key", "--id", "mine", "--tenant", "acme", "--name", "a test").stdout)
    simple.document["keys"] = [minted["bundle_entry"]]
    agent = make_agent(simple, "memory").start()
    with agent.client(minted["key"]) as client:
        assert client.check(plan_id="bucket", subject="a").status == 200


def test_no_core_file_and_no_debugger_of_its_user_gets_the_programs_memory(program: Path, server_program: Path,
                                                                           tmp_path: Path) -> None:
    commands = {program: ["--counters", "memory", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"],
                server_program: ["--database-url", f"postgresql://sluice_app@/sluice?host={tmp_path}", "--listen", "127.0.0.1:0",
                                 "--admin", "127.0.0.1:0"]}
    user = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
    for each, flags in commands.items():
        try:
            process = Process([str(each), *flags], tmp_path / f"{each.name}.log", user=user)
        except PermissionError:
            pytest.skip(f"nobody may not run {each}: without a user of its own /proc does not tell")
        wait_until(f"{each.name} to start", lambda now=process: '"starting"' in now.output())
        # LeakSanitizer, a part of AddressSanitizer, is a debugger of the program's own.
        debugged = b"__asan_init" in each.read_bytes()
        assert withheld(process.pid) == {"core": True, "memory": not debugged}, each
        process.kill()


def test_a_password_on_the_command_line_is_warned_about_and_not_shown(simple: Bundle, make_agent: Callable[..., Agent],
                                                                      server_program: Path) -> None:
    agent = make_agent(simple, "redis://me:hunter2@127.0.0.1:1").start()
    warning, = [line for line in map(json.loads, agent.process.output().splitlines())
                if line["event"] == "password_on_command_line"]
    assert warning["flag"] == "--counters" and "--redis-password-file" in warning["message"], warning
    assert "hunter2" not in agent.process.output()
    url = "postgresql://sluice_app:hunter2@127.0.0.1:1/sluice"
    done = run_command(server_program, "bootstrap", "--database-url", url)
    assert done.returncode == 1 and done.stderr.count("warning: --database-url has a password") == 1, done.stderr
    assert "--database-password-file" in done.stderr and "hunter2" not in done.stderr, done.stderr
    done = run_command(server_program, "bootstrap", env={"SLUICE_SERVER_DATABASE_URL": url})
    assert done.returncode == 1 and "warning" not in done.stderr, done.stderr


def test_a_check_of_the_flags_warns_as_a_start_would(program: Path, simple: Bundle, tmp_path: Path) -> None:
    done = run(program, "--policies", str(simple.write(tmp_path / "b.json")), "--counters", "redis://me:hunter2@127.0.0.1:1",
               "--check-config")
    assert done.returncode == 0 and done.stderr.count("warning: --counters has a password on the command line") == 1, done.stderr
    assert "--redis-password-file" in done.stderr and "hunter2" not in done.stdout + done.stderr


def test_the_agent_starts_and_answers_while_redis_is_not_there(key: MintedKey, simple: Bundle, tmp_path: Path,
                                                               make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(simple, f"unix:{tmp_path}/nowhere.sock").start()
    with agent.client(key.text) as client, Client(agent.admin_port) as admin:
        assert client.check(plan_id="bucket", subject="a").body["reason"] == "fail_closed"
        assert admin.get("/readyz").status == 200
        assert admin.get("/livez").status == 200


def test_sigterm_answers_what_is_in_flight_and_exits_0(key: MintedKey, simple: Bundle, redis: RedisServer,
                                                       make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(simple, redis.counters, "--redis-deadline", "10s").start()
    agent.wait_for_redis(key.text, "bucket")
    request = check_request(key.text, b'{"plan_id":"bucket","subject":"in-flight"}')
    connections = [RawConnection(agent.port) for _ in range(20)]
    with agent.client(key.text) as before:
        redis.pause()
        try:
            for connection in connections:
                connection.send(request)
            # The last one's request has been read when the agent has read all that came before on the loopback.
            wait_until("the requests to arrive", lambda: unread(agent.port) == 0)
            agent.process.send(signal.SIGTERM)
            wait_until("the listener to close", lambda: refuses(agent.port))
            assert agent.process.alive(), "it must wait for what is in flight"
        finally:
            redis.resume()
        replies = [connection.reply() for connection in connections]
        assert [reply and reply.status for reply in replies] == [200] * 20
        assert all(reply and reply.headers.get("connection", "").lower() == "close" for reply in replies)
        before.close()
    for connection in connections:
        connection.close()
    assert agent.process.wait(20) == 0


def refuses(port: int) -> bool:
    """Whether nobody listens on the port."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        return False
    except OSError:
        return True


def unread(port: int) -> int:
    """How many bytes wait unread on the connections the agent accepted on this port."""
    waiting: list[int] = []
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1].endswith(f":{port:04X}") and fields[3] == "01":
            waiting.append(int(fields[4].split(":")[1], 16))
    assert waiting, f"nobody is connected to port {port}"
    return sum(waiting)


def test_sigterm_ends_an_idle_agent_although_clients_stay_connected(key: MintedKey, simple: Bundle,
                                                                    make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(simple, "memory").start()
    with agent.client(key.text) as client:
        assert client.check(plan_id="bucket", subject="a").status == 200
        agent.process.send(signal.SIGTERM)
        assert agent.process.wait(20) == 0


@pytest.mark.fault("agent-sigterm")
def test_sigterm_under_load_loses_no_request_it_took(key: MintedKey, simple: Bundle, redis: RedisServer,
                                                     make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(simple, redis.counters, "--redis-deadline", "5s").start()
    agent.wait_for_redis(key.text, "bucket")
    answered, strange = [0], []
    running = threading.Event()

    def load() -> None:
        request = check_request(key.text, b'{"plan_id":"bucket","subject":"load"}')
        try:
            with RawConnection(agent.port) as raw:
                while (reply := raw.send(request).reply()) is not None:
                    if reply.status != 200:
                        strange.append((reply.status, reply.body))
                    answered[0] += 1
                    running.set()
        except ConnectionRefusedError:
            return

    threads = [threading.Thread(target=load) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert running.wait(20)
    agent.process.send(signal.SIGTERM)
    for thread in threads:
        thread.join(30)
    assert agent.process.wait(20) == 0
    assert not strange
    # Everything that was charged was answered: nothing was dropped on the way out.
    reader = make_agent(simple, redis.counters).start()
    reader.wait_for_redis(key.text, "bucket")
    with reader.client(key.text) as client:
        spent = PLENTY - client.check(plan_id="bucket", subject="load", cost=0).body["remaining"]
    assert spent == answered[0]


def test_kill_9_in_a_burst_loses_no_counts(key: MintedKey, simple: Bundle, redis: RedisServer,
                                           make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(simple, redis.counters, "--redis-deadline", "5s").start()
    agent.wait_for_redis(key.text, "bucket")
    lock, sent, answered = threading.Lock(), [0], [0]
    enough = threading.Event()

    def load() -> None:
        with RawConnection(agent.port) as raw:
            while True:
                with lock:
                    sent[0] += 1
                reply = raw.send(check_request(key.text, b'{"plan_id":"bucket","subject":"killed"}')).reply()
                if reply is None:
                    return
                assert reply.status == 200
                with lock:
                    answered[0] += 1
                    if answered[0] > 300:
                        enough.set()

    threads = [threading.Thread(target=load) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert enough.wait(30)
    agent.kill9()
    for thread in threads:
        thread.join(30)
    again = make_agent(simple, redis.counters).start()
    again.wait_for_redis(key.text, "bucket")
    with again.client(key.text) as client:
        spent = PLENTY - client.check(plan_id="bucket", subject="killed", cost=0).body["remaining"]
    assert answered[0] <= spent <= sent[0]


@pytest.mark.fault("log-injection")
def test_the_decision_log_holds_no_raw_subject_and_no_key(key: MintedKey, simple: Bundle,
                                                          make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(simple, "memory", "--decision-log", "all").start()
    with agent.client(key.text) as client:
        client.check({"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, plan_id="bucket",
                     subject="secret-subject", request_id='r"1\n{"event":"forged"}')

    def logged() -> list[dict[str, object]]:
        return [entry for entry in log_entries(agent) if entry.get("event") == "check"]

    (entry,) = wait_until("the line", logged)
    assert set(entry) >= {"event", "tenant", "subject_hash", "plan_id", "algorithm", "outcome", "reason", "request_id",
                          "traceparent"}
    assert entry["request_id"] == 'r"1\n{"event":"forged"}'
    assert "0af7651916cd43dd8448eb211c80319c" in str(entry["traceparent"])
    assert "secret-subject" not in agent.process.output()
    assert key.text not in agent.process.output() and key.text[-20:] not in agent.process.output()
