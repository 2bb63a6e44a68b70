"""How a program may end that has an engine: closed before, closed by a static object, or never closed while its threads run."""

from collections.abc import Callable
from pathlib import Path

import pytest

from in_process.engine_process import EngineProcess
from support.certificate import certificate
from support.process import free_port
from support.redis_server import RedisServer


@pytest.mark.parametrize("last_word", ["", "exit", "leave"])
def test_a_program_ends_with_its_engine_open_or_closed(
        last_word: str, tmp_path: Path, make_redis: Callable[..., RedisServer], make_engine: Callable[..., EngineProcess]) -> None:
    cert, private = certificate(tmp_path, "redis")
    port = free_port()
    server = make_redis(options=["--tls-port", str(port), "--tls-cert-file", str(cert), "--tls-key-file", str(private),
                                 "--tls-ca-cert-file", str(cert), "--tls-auth-clients", "no"])
    tls = {"redis_url": f"rediss://127.0.0.1:{port}", "redis_tls_ca_file": cert}
    for options in ({}, {"redis_url": f"unix:{server.socket}"}, tls):
        # OpenSSL ends its own state at the exit of a process, so threads that use TLS must have ended by then.
        for threads in (0,) if options is tls and last_word else (0, 2):
            engine = make_engine(threads=threads, metrics="true", watch_file="true", **options)
            engine.wait_for_redis()
            assert engine.check("limited", f"{last_word}-{len(options)}-{threads}").reason == "within_limit"
            assert engine.end(last_word) == 0, engine.log.read_text()
