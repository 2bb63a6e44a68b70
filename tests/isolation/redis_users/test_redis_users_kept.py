"""Which users Redis has, and with which passwords: tokens come and go, the secret changes, somebody else writes users too."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.agent import Agent
from support.process import free_port, wait_until
from support.redis_server import RedisServer
from support.redis_users import (BACK_WITHIN, DEADLINE, SECRET, Site, check, connected, load_on, passwords, refusal, user_of, users,
                                 wait_for_decision)
from support.resp import RespConnection
from support.server import Server

NEXT_SECRET = "second secret, which is long enough"


def test_a_revoked_token_loses_its_user_and_its_connections_and_an_expired_one_too(site: Site, redis: RedisServer) -> None:
    kept, revoked = site.token(), site.token()
    connection = connected(redis, site.login(revoked))
    own = connected(redis, site.login(kept))
    redis.cli("ACL", "SETUSER", "sluice-agents-own", "on", "nopass")   # of somebody else
    with site.server.admin() as admin:
        began = time.monotonic()
        assert admin.delete(f"/agent-tokens/{revoked['id']}").status in (200, 204)
    wait_until("the end of the user", lambda: user_of(revoked) not in users(redis))
    assert time.monotonic() - began < BACK_WITHIN
    with pytest.raises((ConnectionError, OSError)):
        connection.command("PING")
    assert own.command("PING") == "PONG"
    assert redis.cli("ACL", "GETUSER", "sluice-agents-own") is not None
    assert site.server.metric("sluice_redis_users") == len(users(redis))


def test_users_that_somebody_else_deletes_or_leaves_behind_are_put_right(site: Site, redis: RedisServer) -> None:
    token = site.token()
    connected(redis, site.login(token))
    redis.cli("ACL", "SETUSER", "sluice-agent-t-left-behind", "on", "nopass", "~*", "+@all")
    redis.cli("ACL", "DELUSER", user_of(token))
    redis.cli("FUNCTION", "FLUSH")
    wait_until("the users", lambda: users(redis) == {user_of(token)}, 15)
    wait_until("the functions", lambda: redis.cli("FUNCTION", "LIST") != [], 15)


def test_a_server_without_the_right_to_make_users_says_which_it_lacks(make_site: Callable[..., Site], redis: RedisServer) -> None:
    rights = ["resetkeys", "~sl:*", "resetchannels", "+@all", "-@admin", "-@dangerous", "+info"]   # of SERVER in users.acl
    redis.cli("ACL", "SETUSER", "server", "on", ">pw", *rights)
    site = make_site(redis.counters.replace("://:the-tests-own", "://server:pw"))
    site.token()
    wait_until("the log line", lambda: any(line["event"] == "redis_users_failed" for line in site.server.lines()))
    line = next(line for line in site.server.lines() if line["event"] == "redis_users_failed")
    for right in ("+acl|setuser", "+acl|deluser", "+acl|users", "+function|load", "+function|list"):
        assert right in line["reason"]
    assert "cannot be written" in str(site.server.probe("/readyz").body)
    assert site.server.metric("sluice_redis_users_behind") == 1
    redis.cli("ACL", "SETUSER", "server", "+acl|setuser", "+acl|deluser", "+acl|users")
    wait_until("the user", lambda: len(users(redis)) == 1, 30)
    wait_until("that all is well", lambda: "cannot be written" not in str(site.server.probe("/readyz").body), 30)
    assert site.server.metric("sluice_redis_users_behind") == 0


def test_five_thousand_users_cost_a_restarted_redis_no_more_time(site: Site, redis: RedisServer, slack: Callable[[float], float]) -> None:
    tenant = site.tenant()
    assert site.server.stop() == 0
    site.server.database.execute(
        "INSERT INTO agent_tokens (organization_id, id, version, document, secret_hash) "
        "SELECT organization_id, 'many' || n, version, jsonb_set(document::jsonb, '{id}', to_jsonb('many' || n))::json, secret_hash "
        "FROM agent_tokens, generate_series(1, 5000) AS n")
    site.server.start()
    agent = site.agent(tenant.token, redis.counters, *DEADLINE).start()
    wait_for_decision(agent, tenant.key)
    wait_until("all users", lambda: len(users(redis)) == 5001, 30)
    redis.kill9()
    redis.restart()
    restarted = time.monotonic()
    wait_until("all users", lambda: len(users(redis)) == 5001, 30)
    assert time.monotonic() - restarted < slack(BACK_WITHIN)
    wait_for_decision(agent, tenant.key)


# Changes of the secret and of the mode.


@pytest.mark.timeout(180)
def test_a_new_secret_changes_all_passwords_and_no_check_fails(site: Site, redis: RedisServer) -> None:
    tenant = site.tenant()
    first, second = (site.agent(tenant.token, redis.counters, *DEADLINE).start() for _ in range(2))
    for agent in (first, second):
        wait_for_decision(agent, tenant.key)
    user, old = user_of(tenant.token), site.login(tenant.token)
    wait_until("the end of the start", lambda: len(passwords(redis, user)) == 1)
    with load_on(first, tenant.key) as load:
        load.wait_past(time.monotonic() + 0.5)
        site.secret_file.write_text(NEXT_SECRET)
        wait_until("two good passwords", lambda: len(passwords(redis, user)) == 2)
        wait_until("the new login", lambda: site.login(tenant.token)["generation"] != old["generation"])
        # The old password is good, because the first agent has not asked again.
        connected(redis, old).close()
        assert second.stop() == 0
        second.start()
        wait_for_decision(second, tenant.key)
        load.wait_past(time.monotonic() + 20)
        connected(redis, old).close()
        assert len(passwords(redis, user)) == 2
    assert set(load.reasons()) == {"within_limit"}
    assert first.stop() == 0
    first.start()
    wait_for_decision(first, tenant.key)
    with load_on(first, tenant.key) as load:
        wait_until("the end of the old password", lambda: len(passwords(redis, user)) == 1, 60)
        load.wait_past(time.monotonic() + 1)
    assert set(load.reasons()) == {"within_limit"}
    connection = RespConnection(redis.address())
    assert refusal(connection, "AUTH", old["username"], old["password"]) == "WRONGPASS"
    connected(redis, site.login(tenant.token)).close()


def test_a_secret_that_cannot_be_used_changes_nothing(make_site: Callable[..., Site], redis: RedisServer) -> None:
    site = make_site(redis.counters, allow=["redis_users_secret_unusable"])
    token = site.token()
    login = site.login(token)
    site.secret_file.write_text("short")
    wait_until("the log line", lambda: any(line["event"] == "redis_users_secret_unusable" for line in site.server.lines()))
    assert site.login(token) == login
    assert "at least 32" in str(site.server.probe("/readyz").body)
    site.secret_file.write_text(SECRET)
    wait_until("that all is well", lambda: "at least 32" not in str(site.server.probe("/readyz").body))
    assert site.login(token) == login


def test_agents_change_from_the_fixed_login_to_their_own_without_a_restart(make_server: Callable[..., Server], redis: RedisServer,
                                                                            make_agent: Callable[..., Agent], tmp_path: Path) -> None:
    fixed, secret = tmp_path / "fixed", tmp_path / "secret"
    fixed.write_text("fixed password")
    secret.write_text(SECRET)
    redis.cli("ACL", "SETUSER", "sluice-agent", "on", ">fixed password", "~sl:*", "+@all")
    listen = ("--counters", redis.counters, "--listen", f"127.0.0.1:{free_port()}")
    before = make_server(*listen, "--agents-redis-user", "sluice-agent", "--agents-redis-password-file", str(fixed)).start()
    tenant = Site(before, secret, make_agent, tmp_path).tenant()
    assert before.stop() == 0
    after = make_server(*listen, "--agents-redis-user", "sluice-agent", "--agents-redis-password-file", str(fixed), "--redis-users",
                        "per-scope", "--redis-users-secret-file", str(secret), database=before.database)
    before.start()
    agent = Site(before, secret, make_agent, tmp_path).agent(tenant.token, redis.counters, *DEADLINE).start()
    wait_for_decision(agent, tenant.key)
    assert redis.calls("fcall") == 0
    assert before.stop() == 0
    after.start()
    wait_until("the user", lambda: users(redis) == {user_of(tenant.token)})
    # A connection that is cut with a login that does not work any more makes the agent ask again.
    redis.cli("ACL", "SETUSER", "sluice-agent", "resetpass")
    redis.cli("CLIENT", "KILL", "USER", "sluice-agent")
    wait_until("calls of functions", lambda: redis.calls("fcall") > 0 or (check(agent, tenant.key) and False), 30)
    wait_for_decision(agent, tenant.key)
