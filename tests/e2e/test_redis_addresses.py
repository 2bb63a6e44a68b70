"""Each way to name a Redis: TCP, Unix socket, password, ACL user, database number, password file, TLS."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket
from support.process import free_port
from support.redis_server import RedisServer


@pytest.fixture
def simple(key: MintedKey) -> Bundle:
    """One plan."""
    return Bundle().key(key).plan("bucket", token_bucket(5, "1/1h"))


def assert_counts_in(agent: Agent, key: MintedKey, server: RedisServer, database: int = 0) -> None:
    """A decision comes from this server and leaves its state in this database."""
    agent.start().wait_for_redis(key.text, "bucket")
    with agent.client(key.text) as client:
        assert client.check(plan_id="bucket", subject="address").body["remaining"] == 4
    connection = server.connect()
    connection.command("SELECT", database)
    assert connection.command("KEYS", "sl:*address*")
    connection.close()


def test_tcp_with_a_password(key: MintedKey, simple: Bundle, make_redis: Callable[..., RedisServer],
                             make_agent: Callable[..., Agent]) -> None:
    server = make_redis(tcp=True, password="p%40ss:w/rd")
    counters = f"redis://:p%2540ss%3Aw%2Frd@127.0.0.1:{server.port}"
    assert_counts_in(make_agent(simple, counters), key, server)


def test_an_acl_user_with_the_commands_it_needs(key: MintedKey, simple: Bundle, make_redis: Callable[..., RedisServer],
                                                make_agent: Callable[..., Agent]) -> None:
    server = make_redis(tcp=True)
    server.cli("ACL", "SETUSER", "agent", "on", ">secret", "~sl:*", "+@all", "-@admin", "-@dangerous", "+info")
    assert_counts_in(make_agent(simple, f"redis://agent:secret@127.0.0.1:{server.port}"), key, server)


def test_a_database_number(key: MintedKey, simple: Bundle, make_redis: Callable[..., RedisServer],
                           make_agent: Callable[..., Agent]) -> None:
    server = make_redis(tcp=True)
    assert_counts_in(make_agent(simple, f"redis://127.0.0.1:{server.port}/3"), key, server, 3)


def test_a_unix_socket(key: MintedKey, simple: Bundle, make_redis: Callable[..., RedisServer],
                       make_agent: Callable[..., Agent]) -> None:
    server = make_redis()
    assert_counts_in(make_agent(simple, f"unix:{server.socket}"), key, server)


def test_a_password_file(key: MintedKey, simple: Bundle, tmp_path: Path, make_redis: Callable[..., RedisServer],
                         make_agent: Callable[..., Agent]) -> None:
    server = make_redis(tcp=True, password="from-a-file")
    (tmp_path / "password").write_text("from-a-file\n")
    agent = make_agent(simple, f"redis://127.0.0.1:{server.port}", "--redis-password-file", str(tmp_path / "password"))
    assert_counts_in(agent, key, server)


def certificate(folder: Path, name: str = "redis") -> None:
    """A self-signed certificate for the loopback."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.crt", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"], check=True, capture_output=True)


def test_tls_with_a_certificate_that_is_trusted_and_only_then(
        key: MintedKey, simple: Bundle, tmp_path: Path, make_redis: Callable[..., RedisServer],
        make_agent: Callable[..., Agent]) -> None:
    certificate(tmp_path)
    certificate(tmp_path, "stranger")
    tls_port = free_port()
    server = make_redis(options=["--tls-port", str(tls_port), "--tls-cert-file", str(tmp_path / "redis.crt"),
                                 "--tls-key-file", str(tmp_path / "redis.key"), "--tls-auth-clients", "no"])
    url = f"rediss://127.0.0.1:{tls_port}"
    assert_counts_in(make_agent(simple, url, "--redis-tls-ca", str(tmp_path / "redis.crt")), key, server)
    wary = make_agent(simple, url, "--redis-tls-ca", str(tmp_path / "stranger.crt")).start()
    with wary.client(key.text) as client:
        for _ in range(20):
            assert client.check(plan_id="bucket", subject="a").body["reason"] == "fail_closed"


def test_passwords_are_never_in_the_log(key: MintedKey, simple: Bundle, make_redis: Callable[..., RedisServer],
                                        make_agent: Callable[..., Agent]) -> None:
    server = make_redis(tcp=True, password="hunter2hunter2")
    agent = make_agent(simple, f"redis://:wrong-hunter3@127.0.0.1:{server.port}").start()
    with agent.client(key.text) as client:
        assert client.check(plan_id="bucket", subject="a").body["reason"] == "fail_closed"
    assert "hunter3" not in agent.process.output()
