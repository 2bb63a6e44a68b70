"""What the server's log says about outages: of PostgreSQL under admin traffic, and of Redis."""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.postgres import PostgresServer
from support.process import wait_until
from support.redis_server import RedisServer
from support.server import Server

BACK_WITHIN = 30.0


def told(server: Server, *names: str) -> list[dict[str, Any]]:
    """The lines with these events."""
    return [line for line in server.lines() if line["event"] in names]


@pytest.mark.fault("postgres-killed-log")
def test_an_outage_of_postgresql_under_admin_traffic_is_few_lines(
        on_own: Callable[..., Server], own_postgres: PostgresServer, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("a key of more than 32 bytes for webhooks")
    server = on_own("--notify-secret-file", str(secret))
    gone = time.monotonic()
    own_postgres.kill9()
    wait_until("the line", lambda: told(server, "feed_lost"))
    with server.admin() as admin:
        for _ in range(30):
            assert admin.get("/tenants").status == 503
    assert not told(server, "database_failure"), "the feed's lines count these calls"
    wait_until("the fleet's line", lambda: told(server, "fleet_failed"))
    assert server.metric("sluice_fleet_errors_total") > 0
    wait_until("the webhooks' line", lambda: told(server, "webhooks_failing"))
    assert server.metric("sluice_webhook_errors_total") > 0
    own_postgres.restart()
    back, = wait_until("the end", lambda: told(server, "feed_back"), BACK_WITHIN)
    away_ms = 1000 * (time.monotonic() - gone)
    assert back["failures"] >= 30 and 0 < back["duration_ms"] < away_ms, back
    wait_until("the webhooks' end", lambda: told(server, "webhooks_work"), BACK_WITHIN)
    stored, = wait_until("the fleet's end", lambda: told(server, "fleet_stored"), BACK_WITHIN)
    assert 0 < stored["duration_ms"] < away_ms, stored
    lost, = told(server, "feed_lost")
    assert (lost["level"], lost["code"]) == ("warn", "unreachable") and lost["reason"], lost
    assert len(told(server, "fleet_failed")) == 1


@pytest.mark.fault("server-redis-killed-log")
def test_an_outage_of_the_servers_redis_is_one_line_at_its_start_and_one_at_its_end(
        make_server: Callable[..., Server], make_redis: Callable[..., RedisServer]) -> None:
    redis = make_redis()
    server = make_server("--counters", redis.counters).start()
    wait_until("Redis", lambda: server.metric("sluice_redis_connected") == 1)
    redis.kill9()
    gone = time.monotonic()
    wait_until("the line", lambda: told(server, "redis_disconnected"))
    time.sleep(3.0)   # how long it is away
    redis.restart()
    back, = wait_until("the end", lambda: told(server, "redis_back"), BACK_WITHIN)
    assert back["failures"] >= 3 and 0 < back["duration_ms"] < 1000 * (time.monotonic() - gone), back
    counts = Counter(line["event"] for line in server.lines() if line["level"] != "debug")
    assert counts["redis_connected"] == counts["redis_disconnected"] == counts["redis_back"] == 1, counts
    assert not {"redis_connect_failed", "breaker_opened", "redis_still_away"} & set(counts), counts
