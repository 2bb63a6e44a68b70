"""Error replies of Redis, each by the class of the failure document: what callers see, what is counted, how it heals."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from faults.conftest import CAPACITY
from support.agent import Agent
from support.bundle import Bundle, MintedKey
from support.client import Client
from support.gate import Gate
from support.process import wait_until
from support.redis_server import RedisServer
from support.resp import RedisError

Connect = Callable[..., Agent]


def assert_fails_by_mode(client: Client) -> None:
    """Both failure modes, as their plans say."""
    closed = wait_until("fail_closed", lambda: next(
        (a for a in [client.check(plan_id="closed", subject="x")] if a.status == 503), None))
    assert closed.body["reason"] == "fail_closed"
    opened = client.check(plan_id="open", subject="x")
    assert (opened.status, opened.body["reason"]) == (200, "fail_open")


def assert_heals(client: Client, seconds: float = 5.0) -> None:
    """Decisions come from Redis again."""
    wait_until("Redis' decisions", lambda: client.check(
        plan_id="closed", subject="x").body["reason"] == "within_limit", seconds)


def errors(agent: Agent, fault: str) -> float:
    """How often this class of error was counted."""
    return agent.metric("sluice_redis_errors_total", **{"class": fault})


@pytest.mark.fault("script-flush")
def test_noscript_is_never_seen_by_a_client_also_while_scripts_are_flushed_in_a_loop(
        key: MintedKey, make_redis: Callable[..., RedisServer], connected: Connect) -> None:
    server = make_redis()
    agent = connected(server, "--redis-deadline", "2s")
    stop = threading.Event()
    flushed = [0]

    def flush() -> None:
        connection = server.connect()
        while not stop.wait(0.002):
            connection.command("SCRIPT", "FLUSH", "SYNC")
            flushed[0] += 1
        connection.close()

    thread = threading.Thread(target=flush)
    thread.start()
    try:
        with agent.client(key.text) as client:
            for number in range(500):
                answer = client.check(plan_id="closed", subject="flushed")
                assert (answer.status, answer.body["reason"]) == (200, "within_limit")
                assert answer.body["remaining"] == CAPACITY - 1 - number, "each call is charged exactly once"
    finally:
        stop.set()
        thread.join()
    assert flushed[0] > 20


@pytest.mark.fault("wrong-password")
def test_a_wrong_password_fails_and_a_corrected_password_file_heals(
        key: MintedKey, both_modes: Bundle, tmp_path: Path, make_redis: Callable[..., RedisServer],
        make_agent: Callable[..., Agent]) -> None:
    server = make_redis(tcp=True, password="right")
    password = tmp_path / "password"
    password.write_text("wrong\n")
    agent = make_agent(both_modes, f"redis://127.0.0.1:{server.port}", "--redis-password-file", str(password)).start()
    with agent.client(key.text) as client:
        assert_fails_by_mode(client)
        wait_until("the error's class", lambda: errors(agent, "authentication") > 0)
        password.write_text("right\n")
        assert_heals(client)


@pytest.mark.fault("password-changed")
def test_a_password_changed_under_a_running_agent_is_read_again(
        key: MintedKey, both_modes: Bundle, tmp_path: Path, make_redis: Callable[..., RedisServer],
        make_agent: Callable[..., Agent]) -> None:
    server = make_redis(tcp=True)
    server.cli("ACL", "SETUSER", "agent", "on", ">first", "~*", "+@all")
    password = tmp_path / "password"
    password.write_text("first")
    agent = make_agent(both_modes, f"redis://agent:@127.0.0.1:{server.port}", "--redis-password-file",
                       str(password)).start()
    agent.wait_for_redis(key.text, "closed")
    server.cli("ACL", "SETUSER", "agent", "resetpass", ">second")
    server.cli("CLIENT", "KILL", "USER", "agent")
    with agent.client(key.text) as client:
        assert_fails_by_mode(client)
        password.write_text("second")
        assert_heals(client)


@pytest.mark.fault("no-permission")
def test_noperm_fails_by_mode_and_heals(key: MintedKey, both_modes: Bundle, make_redis: Callable[..., RedisServer],
                                        make_agent: Callable[..., Agent]) -> None:
    server = make_redis(tcp=True)
    server.cli("ACL", "SETUSER", "agent", "on", ">pw", "~*", "+@all")
    agent = make_agent(both_modes, f"redis://agent:pw@127.0.0.1:{server.port}").start()
    agent.wait_for_redis(key.text, "closed")
    server.cli("ACL", "SETUSER", "agent", "-evalsha", "-eval")
    with agent.client(key.text) as client:
        assert_fails_by_mode(client)
        assert errors(agent, "authentication") > 0
        server.cli("ACL", "SETUSER", "agent", "+evalsha", "+eval")
        assert_heals(client)


@pytest.mark.fault("loading")
def test_loading_fails_by_mode_and_heals(key: MintedKey, make_redis: Callable[..., RedisServer],
                                         connected: Connect) -> None:
    server = make_redis(appendonly=True)
    agent = connected(server)
    server.cli("DEBUG", "POPULATE", 10_000, "filler", 64)
    server.cli("BGREWRITEAOF")
    wait_until("the rewrite", lambda: "aof_rewrite_in_progress:0" in str(server.cli("INFO", "persistence")), 30)
    server.kill9()
    # Each key of the log holds the server up for a moment, so that it is seen loading.
    slow = RedisServer(server.folder, appendonly=True, options=["--key-load-delay", "200", "--loading-process-events-interval-bytes", "1024"])
    slow.socket = server.socket
    slow.launch()
    try:
        wait_until("LOADING", lambda: is_loading(slow))
        with agent.client(key.text) as client:
            assert_fails_by_mode(client)
            wait_until("the error's class", lambda: errors(agent, "loading") > 0)
            assert_heals(client, 30)
    finally:
        slow.close()


def is_loading(server: RedisServer) -> bool:
    """Whether the server says it is reading its log."""
    try:
        server.cli("GET", "x")
        return False
    except RedisError as error:
        return str(error).startswith("LOADING")
    except OSError:
        return False


@pytest.mark.fault("out-of-memory")
def test_out_of_memory_fails_by_mode_and_heals(key: MintedKey, make_redis: Callable[..., RedisServer],
                                               connected: Connect) -> None:
    server = make_redis()
    agent = connected(server)
    server.cli("CONFIG", "SET", "maxmemory", 1)
    with agent.client(key.text) as client:
        assert_fails_by_mode(client)
        assert errors(agent, "out_of_memory") > 0
        server.cli("CONFIG", "SET", "maxmemory", 0)
        assert_heals(client)


@pytest.mark.fault("demoted")
def test_a_demoted_primary_fails_by_mode_and_heals_when_it_is_promoted(
        key: MintedKey, make_redis: Callable[..., RedisServer], connected: Connect) -> None:
    server = make_redis()
    agent = connected(server)
    server.cli("REPLICAOF", "127.0.0.1", 1)
    with agent.client(key.text) as client:
        assert_fails_by_mode(client)
        assert errors(agent, "read_only") > 0
        server.cli("REPLICAOF", "NO", "ONE")
        assert_heals(client)


@pytest.mark.fault("readonly-once-more")
def test_readonly_is_tried_once_more_on_a_new_connection_and_no_more(
        key: MintedKey, both_modes: Bundle, make_redis: Callable[..., RedisServer], make_agent: Connect) -> None:
    server = make_redis()
    with Gate(server) as gate:
        agent = make_agent(both_modes, gate.counters, "--redis-deadline", "5s").start()
        agent.wait_for_redis(key.text, "closed")
        with agent.client(key.text) as client:
            gate.spoil(b"-READONLY You can't write against a read only replica.\r\n")
            assert client.check(plan_id="closed", subject="x").body["reason"] == "within_limit"
            assert errors(agent, "read_only") == 1
            server.cli("REPLICAOF", "127.0.0.1", 1)
            assert client.check(plan_id="closed", subject="x").body["reason"] == "fail_closed"
            assert errors(agent, "read_only") == 3, "the call and its one retry"
            assert errors(agent, "timeout") == 0


@pytest.mark.fault("too-few-replicas")
def test_too_few_replicas_fails_by_mode_and_heals(key: MintedKey, make_redis: Callable[..., RedisServer],
                                                  connected: Connect) -> None:
    server = make_redis()
    agent = connected(server)
    server.cli("CONFIG", "SET", "min-replicas-to-write", 1)
    with agent.client(key.text) as client:
        assert_fails_by_mode(client)
        assert errors(agent, "no_replicas") > 0
        server.cli("CONFIG", "SET", "min-replicas-to-write", 0)
        assert_heals(client)


@pytest.mark.fault("wrong-type-key")
def test_a_key_of_the_wrong_type_fails_its_own_subject_only(key: MintedKey, make_redis: Callable[..., RedisServer],
                                                            connected: Connect) -> None:
    server = make_redis()
    agent = connected(server)
    server.cli("LPUSH", "sl:{acme|subject=odd}:l=closed", "not ours")
    with agent.client(key.text) as client:
        for _ in range(3):
            assert client.check(plan_id="closed", subject="odd").body["reason"] == "fail_closed"
            assert client.check(plan_id="closed", subject="even").body["reason"] == "within_limit"
    assert errors(agent, "wrong_type") == 3


@pytest.mark.fault("garbage-in-a-key")
def test_garbage_in_a_counter_key_fails_its_own_subject_only(key: MintedKey, make_redis: Callable[..., RedisServer],
                                                           connected: Connect) -> None:
    server = make_redis()
    agent = connected(server)
    with agent.client(key.text) as client:
        for number, garbage in enumerate((b"", b"x", b"\xff" * 200, b"\x00" * 40)):
            server.cli("SET", f"sl:{{acme|subject=bad{number}}}:l=closed", garbage)
            answer = client.check(plan_id="closed", subject=f"bad{number}")
            assert (answer.status, answer.body["reason"]) in ((200, "within_limit"), (503, "fail_closed"))
            assert client.check(plan_id="closed", subject="good").body["reason"] == "within_limit"


@pytest.mark.fault("busy")
def test_a_busy_redis_fails_by_mode_and_heals(key: MintedKey, make_redis: Callable[..., RedisServer],
                                              connected: Connect) -> None:
    server = make_redis(options=["--busy-reply-threshold", "50"])
    agent = connected(server)
    endless = server.connect()
    endless.send("EVAL", "while true do end", 0)
    with agent.client(key.text) as client:
        assert_fails_by_mode(client)
        wait_until("the error's class", lambda: client.check(plan_id="closed", subject="x") and errors(agent, "busy") > 0)
        server.cli("SCRIPT", "KILL")
        assert_heals(client)
    endless.close()


@pytest.mark.fault("evicting")
def test_an_evicting_redis_is_warned_of_and_counted(key: MintedKey, make_redis: Callable[..., RedisServer],
                                                    connected: Connect) -> None:
    server = make_redis()
    server.cli("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    agent = connected(server)
    assert "maxmemory-policy" in agent.process.output() or "noeviction" in agent.process.output()
    assert agent.metric("sluice_redis_eviction_policy_ok") == 0


@pytest.mark.fault("clients-killed")
def test_clients_killed_one_after_the_other_are_replaced(key: MintedKey, make_redis: Callable[..., RedisServer],
                                                         connected: Connect) -> None:
    server = make_redis()
    agent = connected(server)
    with agent.client(key.text) as client:
        for _ in range(5):
            server.cli("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            assert_heals(client)
