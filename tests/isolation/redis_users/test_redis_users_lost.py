"""Redis loses its users: all is well again within two seconds, and before that every check has an honest answer."""

import time
from collections.abc import Callable
from pathlib import Path

from support.agent import Agent
from support.cluster import Cluster
from support.load import Load
from support.process import all_of, wait_until
from support.redis_server import RedisServer
from support.redis_users import BACK_WITHIN, DEADLINE, DECIDED, Site, check, load_on, user_of, users, wait_for_decision
from support.sentinel import SentinelSet
from support.server import Server


def seconds_until_well(load: Load, moment: float) -> float:
    """How long after a moment the last check was answered that Redis did not decide."""
    return max((sample.sent - moment for sample in load.samples if sample.reason not in DECIDED), default=0.0)


def assert_well_after(load: Load, moment: float, within: float) -> None:
    """From then on Redis decides, and before that every check had an honest answer."""
    assert {(sample.status, sample.reason) for sample in load.samples} <= {(200, "within_limit"), (503, "fail_closed")}
    took = seconds_until_well(load, moment)
    print(f"well after {took:.2f} s")
    assert took <= within
    assert set(load.reasons(moment + within)) == {"within_limit"}


def test_a_redis_that_restarts_empty_is_well_again_within_two_seconds(site: Site, redis: RedisServer,
                                                                       slack: Callable[[float], float]) -> None:
    tenant = site.tenant()
    agent = site.agent(tenant.token, redis.counters, *DEADLINE).start()
    wait_for_decision(agent, tenant.key)
    with load_on(agent, tenant.key) as load:
        load.wait_past(time.monotonic() + 0.5)
        redis.kill9()
        load.wait_past(time.monotonic() + 1)
        redis.restart()
        back = time.monotonic()
        load.wait_past(back + BACK_WITHIN + 1)
    assert load.reasons()["fail_closed"] > 0
    assert_well_after(load, back, BACK_WITHIN)
    assert site.server.metric("sluice_redis_users_primaries_total") == 2


def test_without_the_server_the_failure_mode_answers_until_two_seconds_after_it_is_back(site: Site, redis: RedisServer) -> None:
    tenant = site.tenant()
    agent = site.agent(tenant.token, redis.counters, *DEADLINE).start()
    wait_for_decision(agent, tenant.key)
    assert site.server.stop() == 0
    with load_on(agent, tenant.key) as load:
        load.wait_past(time.monotonic() + 1)
        assert set(load.reasons()) == {"within_limit"}, "a server that is away changes nothing"
        redis.kill9()
        redis.restart()
        restarted = time.monotonic()
        load.wait_past(restarted + 3)
        assert set(load.reasons(restarted, restarted + 3)) == {"fail_closed"}
        site.server.start()
        back = time.monotonic()
        load.wait_past(back + BACK_WITHIN + 1)
    assert_well_after(load, back, BACK_WITHIN)


def test_functions_that_are_gone_are_not_executed_and_the_failure_mode_says_so(site: Site, redis: RedisServer) -> None:
    tenant = site.tenant()
    agent = site.agent(tenant.token, redis.counters, *DEADLINE).start()
    wait_for_decision(agent, tenant.key)
    assert site.server.stop() == 0
    redis.cli("FUNCTION", "FLUSH")
    for _ in range(20):
        assert check(agent, tenant.key) == "fail_closed"
    assert agent.metric("sluice_redis_errors_total", **{"class": "no_function"}) == 20, "each was asked for once"
    assert agent.metric("sluice_breaker_state") == 0
    site.server.start()
    wait_for_decision(agent, tenant.key)


def test_with_the_fixed_login_nobody_notices_that_the_server_is_away(make_server: Callable[..., Server],
                                                                      make_redis: Callable[..., RedisServer],
                                                                      make_agent: Callable[..., Agent], tmp_path: Path) -> None:
    fixed, acl = tmp_path / "fixed", tmp_path / "users.acl"
    fixed.write_text("fixed-password")
    acl.write_text("user default on >the-tests-own ~* &* +@all\nuser sluice-agent on >fixed-password ~sl:{*|* +@all\n")
    redis = make_redis(tcp=True, password="the-tests-own", options=["--aclfile", str(acl)])
    server = make_server("--counters", redis.counters, "--agents-redis-user", "sluice-agent", "--agents-redis-password-file",
                         str(fixed)).start()
    site = Site(server, fixed, make_agent, tmp_path)
    tenant = site.tenant()
    agent = site.agent(tenant.token, redis.counters, *DEADLINE).start()
    wait_for_decision(agent, tenant.key)
    assert server.stop() == 0
    with load_on(agent, tenant.key) as load:
        load.wait_past(time.monotonic() + 0.5)
        redis.kill9()
        redis.restart()
        back = time.monotonic()
        load.wait_past(back + BACK_WITHIN + 1)
    assert_well_after(load, back, BACK_WITHIN)
    assert redis.calls("fcall") == 0 and users(redis) == set()


def test_a_sentinel_failover_is_over_within_two_seconds(make_site: Callable[..., Site], tmp_path: Path) -> None:
    redis = SentinelSet(tmp_path / "set")
    try:
        redis.start()
        site = make_site(redis.url())
        tenant = site.tenant()
        agent = site.agent(tenant.token, redis.url(), *DEADLINE).start()
        wait_for_decision(agent, tenant.key)
        with load_on(agent, tenant.key) as load:
            load.wait_past(time.monotonic() + 0.5)
            killed = redis.primary()
            killed.kill9()
            promoted = redis.wait_for_promotion(killed.port)
            load.wait_past(promoted + BACK_WITHIN + 1)
        assert_well_after(load, promoted, BACK_WITHIN)
        assert users(redis.primary()) == {user_of(tenant.token)}
    finally:
        redis.close()


def test_a_cluster_node_that_is_promoted_or_joins_has_all_users(make_site: Callable[..., Site], tmp_path: Path,
                                                                slack: Callable[[float], float]) -> None:
    with Cluster(tmp_path / "cluster") as redis:
        site = make_site(redis.counters)
        tenant = site.tenant()
        agent = site.agent(tenant.token, redis.counters, *DEADLINE).start()
        wait_for_decision(agent, tenant.key)
        for node in redis.primaries():
            wait_until("the user", lambda node=node: users(node) == {user_of(tenant.token)})   # type: ignore[misc]
        with load_on(agent, tenant.key) as load:
            wait_until("calls on all nodes", lambda: all_of(redis.primaries(), lambda node: node.calls("fcall") > 0))
            killed = redis.primaries()[0]
            replica = redis.replica_of(killed)
            killed.kill9()
            wait_until("the promotion", lambda: "role:master" in str(replica.cli("INFO", "replication")), 30)
            promoted = time.monotonic()
            load.wait_past(promoted + BACK_WITHIN + 2)
        assert_well_after(load, promoted, BACK_WITHIN + 1)   # one second more: to notice the new slot map
        assert users(replica) == {user_of(tenant.token)}
        killed.restart()
        redis.wait_until_healthy()
        joined = redis.join()
        redis.move(0, joined)
        began = time.monotonic()
        wait_until("the user", lambda: users(joined) == {user_of(tenant.token)})
        assert time.monotonic() - began < slack(BACK_WITHIN)
        redis.move_all(range(1, 1000), joined)
        with load_on(agent, tenant.key) as load:
            wait_until("calls on the new node", lambda: joined.calls("fcall") > 0)
            load.wait_past(time.monotonic() + 0.5)
        assert set(load.reasons()) == {"within_limit"}
