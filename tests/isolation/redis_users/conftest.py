"""A server that makes Redis users, on a Redis that lets in nobody without a password."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent
from support.process import free_port
from support.redis_server import RedisServer
from support.redis_users import SECRET, Site
from support.server import Server


@pytest.fixture
def make_site(make_server: Callable[..., Server], make_agent: Callable[..., Agent], tmp_path: Path) -> Callable[..., Site]:
    """Makes a server on these counters; on a port that it keeps, so that agents find it again."""
    def make(counters: str, *flags: str, **options: Any) -> Site:
        secret = tmp_path / "redis-users-secret"
        secret.write_text(SECRET + "\n")
        server = make_server("--counters", counters, "--listen", f"127.0.0.1:{free_port()}", "--redis-users", "per-scope",
                             "--redis-users-secret-file", str(secret), *flags, **options)
        return Site(server.start(), secret, make_agent, tmp_path)

    return make


@pytest.fixture
def redis(make_redis: Callable[..., RedisServer]) -> RedisServer:
    """One that lets in nobody without a password."""
    return make_redis(tcp=True, password="the-tests-own")


@pytest.fixture(params=["redis-server", "valkey"])
def either(request: pytest.FixtureRequest, make_redis: Callable[..., RedisServer]) -> RedisServer:
    """The same, and Valkey."""
    program = request.param if request.param == "redis-server" else request.getfixturevalue("valkey")
    return make_redis(tcp=True, password="the-tests-own", program=program)


@pytest.fixture
def site(make_site: Callable[..., Site], redis: RedisServer) -> Site:
    """A site on that Redis."""
    return make_site(redis.counters)
