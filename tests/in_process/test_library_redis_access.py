"""How an engine of the library reaches one Redis: a Unix socket, passwords, ACL users and TLS; and what it says where it cannot."""

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from in_process.engine_process import LIMIT, EngineProcess
from support.certificate import Authority
from support.process import free_port
from support.redis_server import RedisServer

AGENT_RULES = next(line for line in (Path(__file__).parents[2] / "images/redis/users.acl").read_text().splitlines()
                   if line.startswith("user AGENT ")).split()[4:]


def assert_counts_in(engine: EngineProcess, server: RedisServer) -> None:
    """Redis decides, and its counter is what the decision said."""
    assert engine.opened == "opened"
    engine.wait_for_redis()
    decision = engine.check("limited", "ann")
    assert (decision.code, decision.allowed, decision.reason) == ("ok", True, "within_limit")
    keys = server.cli("KEYS", "sl:*ann*")
    assert isinstance(keys, list) and len(keys) == 1
    assert engine.check("limited", "ann").remaining == decision.remaining - 1


def assert_refused(engine: EngineProcess, code: str, *parts: str) -> str:
    """The failure mode decides, and the log says why. `code`: how the error's code begins."""
    assert engine.opened == "opened"
    assert engine.check("limited", "ann").reason == "fail_closed"
    return engine.wait_for_log("redis_connect_failed", f'"code":"{code}', *parts)


@pytest.mark.parametrize("threads", [0, 2])
def test_a_unix_socket(threads: int, make_redis: Callable[..., RedisServer],
                       make_engine: Callable[..., EngineProcess]) -> None:
    server = make_redis()
    assert_counts_in(make_engine(redis_url=f"unix:{server.socket}", threads=threads), server)
    absent = make_engine(redis_url=f"unix:{server.socket}.absent", threads=threads)
    assert_refused(absent, "refused", f"{server.socket}.absent")


def test_a_user_with_the_permissions_of_agents_and_no_other(make_redis: Callable[..., RedisServer],
                                                            make_engine: Callable[..., EngineProcess]) -> None:
    server = make_redis(tcp=True)
    server.cli("ACL", "SETUSER", "counter", "on", ">s3cret", *AGENT_RULES)
    server.cli("ACL", "SETUSER", "blind", "on", ">s3cret", *[rule for rule in AGENT_RULES if rule != "+info"])
    assert_counts_in(make_engine(redis_url=f"redis://counter:s3cret@127.0.0.1:{server.port}"), server)
    for user, code in [("counter:wr0ng", "authentication"), ("blind:s3cret", "permission")]:
        engine = make_engine(redis_url=f"redis://{user}@127.0.0.1:{server.port}")
        line = assert_refused(engine, code, str(server.port))
        assert "s3cret" not in line and "wr0ng" not in line


def test_a_password_in_a_file_that_changes(tmp_path: Path, make_redis: Callable[..., RedisServer],
                                           make_engine: Callable[..., EngineProcess]) -> None:
    server = make_redis(tcp=True, password="old")
    password = tmp_path / "password"
    password.write_text("old\n")
    engine = make_engine(redis_url=f"redis://127.0.0.1:{server.port}", redis_password_file=password, threads=1)
    assert_counts_in(engine, server)
    server.cli("ACL", "SETUSER", "default", ">new")
    password.write_text("new\n")
    engine.wait_for_log("redis_credentials_renewed")
    server.cli("ACL", "SETUSER", "default", "<old")
    server.password = "new"
    server.cli("CLIENT", "KILL", "TYPE", "NORMAL", "SKIPME", "yes")
    engine.wait_for_redis()
    assert engine.check("limited", "ann").remaining == LIMIT - 3


def test_tls_with_a_client_certificate(tmp_path: Path, make_redis: Callable[..., RedisServer],
                                       make_engine: Callable[..., EngineProcess]) -> None:
    authority, stranger = Authority(tmp_path), Authority(tmp_path, "stranger")
    tomorrow = datetime.now(timezone.utc) + timedelta(days=1)
    cert, private = authority.sign(tmp_path, "redis", tomorrow)
    own_cert, own_private = authority.sign(tmp_path, "engine", tomorrow)
    port = free_port()
    server = make_redis(options=["--tls-port", str(port), "--tls-cert-file", str(cert), "--tls-key-file", str(private),
                                 "--tls-ca-cert-file", str(authority.cert), "--tls-auth-clients", "yes"])
    url = f"rediss://127.0.0.1:{port}"
    identity = {"redis_tls_cert_file": own_cert, "redis_tls_key_file": own_private}
    trusted = {"redis_tls_ca_file": authority.cert}
    for threads in (0, 2):
        assert_counts_in(make_engine(redis_url=url, threads=threads, **trusted, **identity), server)
        server.cli("FLUSHALL")
    # Each mistake is named in one line, with the address.
    wrong_authority = make_engine(redis_url=url, redis_tls_ca_file=stranger.cert, **identity)
    assert_refused(wrong_authority, "tls", url, "certificate")
    assert_refused(make_engine(redis_url=url, **trusted), "", url, "demands a client certificate")
    other_cert, other_private = stranger.sign(tmp_path, "other", tomorrow)
    unknown_client = make_engine(redis_url=url, redis_tls_cert_file=other_cert, redis_tls_key_file=other_private, **trusted)
    assert_refused(unknown_client, "", url, "does not trust the client certificate")
    missing = make_engine(redis_url=url, redis_tls_ca_file=tmp_path / "absent")
    assert missing.opened.startswith("refused unreachable redis.tls_ca_file: ") and "absent" in missing.opened
    assert server.cli("KEYS", "sl:*") == []
