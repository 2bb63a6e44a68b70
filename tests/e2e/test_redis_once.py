"""A decision is exactly one EVALSHA: what MONITOR sees of the agent is counted."""

import threading
from collections.abc import Callable

from support.agent import Agent
from support.bundle import MintedKey
from support.client import Client, fresh_subject
from support.raw import RawConnection, check_request
from support.redis_server import RedisServer

CHECKS = 1000
PLANS = ["bucket", "leaky", "fixed", "sliding", "log", "leases", "monthly", "two", "tokens", "delaying"]


def assert_only_evalsha(commands: list[str], count: int) -> None:
    """Exactly `count` commands, and each an EVALSHA."""
    others = [line for line in commands if '"EVALSHA"' not in line]
    assert not others, others[:5]
    assert len(commands) == count


def test_a_thousand_checks_are_a_thousand_evalsha_and_nothing_else(
        agent: Agent, client: Client, key: MintedKey, redis: RedisServer) -> None:
    subject = fresh_subject()
    for plan in PLANS:
        client.check(plan_id=plan, subject=subject)

    def run(worker: int) -> None:
        with agent.client(key.text) as connection:
            for number in range(CHECKS // 10):
                answer = connection.check(plan_id=PLANS[(number + worker) % len(PLANS)], subject=fresh_subject())
                assert answer.status in (200, 429)

    with redis.monitor() as monitor:
        workers = [threading.Thread(target=run, args=(worker,)) for worker in range(10)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert_only_evalsha(monitor.commands(), CHECKS)


def test_pipelined_checks_are_one_evalsha_each(agent: Agent, key: MintedKey, redis: RedisServer) -> None:
    body = b'{"plan_id":"two","subject":"%s"}' % fresh_subject().encode()
    with RawConnection(agent.port) as raw, redis.monitor() as monitor:
        raw.send(check_request(key.text, body) * 200)
        statuses = [reply.status for reply in (raw.reply() for _ in range(200)) if reply]
    assert len(statuses) == 200 and set(statuses) == {200, 429}
    assert_only_evalsha(monitor.commands(), 200)


def test_a_release_and_a_renewal_are_one_evalsha_each(client: Client, redis: RedisServer) -> None:
    # Once beforehand, so that the scripts are known.
    lease = client.check(plan_id="leases", subject=fresh_subject()).body["lease_id"]
    client.renew(lease), client.release(lease)
    lease = client.check(plan_id="leases", subject=fresh_subject()).body["lease_id"]
    with redis.monitor() as monitor:
        assert client.renew(lease).body["renewed"] and client.release(lease).body["released"]
    assert_only_evalsha(monitor.commands(), 2)


def test_a_denial_writes_nothing(client: Client, redis: RedisServer, spend: Callable[..., None]) -> None:
    subject = fresh_subject()
    spend(5, plan_id="bucket", subject=subject)
    changes = changed(redis)
    for _ in range(20):
        assert client.check(plan_id="bucket", subject=subject).status == 429
    assert changed(redis) == changes


def changed(redis: RedisServer) -> int:
    """How many changes Redis has seen."""
    return int(str(redis.cli("INFO", "persistence")).split("rdb_changes_since_last_save:")[1].split()[0])


def test_what_matches_no_policy_does_not_reach_redis(client: Client, redis: RedisServer) -> None:
    with redis.monitor() as monitor:
        for _ in range(20):
            client.check(resource="GET:/unknown", subject="a")
            client.check(resource="GET:/off", subject="a")
    assert monitor.commands() == []


def test_a_subject_takes_one_short_key(client: Client, redis: RedisServer) -> None:
    subject = "u42"
    client.check(plan_id="two", subject=subject)
    keys = [str(name) for name in redis.cli("KEYS", "sl:*u42*") or []]
    assert keys == ["sl:{acme|subject=u42}:l=two"]
