"""Redis users per scope: what the login of one tenant's agent can do, and how soon all is well after Redis lost the users.

`--redis-users per-scope`: the server makes one Redis user for each agent token, and loads the functions that it calls.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

import pytest

from support.admin import AdminClient, bucket, fresh_id
from support.agent import Agent
from support.client import Client, fresh_subject
from support.cluster import Cluster
from support.load import Load
from support.process import all_of, free_port, wait_until
from support.redis_server import RedisServer
from support.resp import RedisError, Reply, RespConnection
from support.sentinel import SentinelSet
from support.server import Server
from support.sync_client import SyncAgent

BACK_WITHIN = 2.0   # seconds
DEADLINE = ["--redis-deadline", "250ms"]
SECRET, NEXT_SECRET = "first secret, which is long enough", "second secret, which is long enough"
USERS_ACL = Path(__file__).resolve().parents[2] / "images/redis/users.acl"
DECIDED = {"within_limit", "limit_exceeded"}


@dataclass
class Tenant:
    """A tenant with a plan, an API key and an agent token of its own."""

    id: str
    key: str
    token: dict[str, Any]


@dataclass
class Site:
    """A server that makes Redis users, and what is needed for agents of it."""

    server: Server
    secret_file: Path
    make_agent: Callable[..., Agent]
    folder: Path

    def tenant(self, tenant: str = "") -> Tenant:
        """A new tenant."""
        with self.server.admin() as admin:
            tenant = tenant or admin.tenant()
            assert admin.put("/plans/pro", bucket(bucket_capacity=1_000_000), tenant=tenant).status == 201
            key = str(admin.create("/keys", {"tenant_id": tenant, "name": "app"})["key"])
            token = admin.create("/agent-tokens", {"name": "agents", **scope_of(admin, tenant)})
        return Tenant(tenant, key, token)

    def token(self, **scope: Any) -> dict[str, Any]:
        """A new agent token."""
        with self.server.admin() as admin:
            return admin.create("/agent-tokens", {"name": "agents", **scope})

    def login(self, token: dict[str, Any]) -> dict[str, Any]:
        """What an agent of this token is told."""
        answer = SyncAgent(self.server.port, token["token"]).request("GET", "/counters?functions=1")
        assert answer.status == 200, answer
        return dict(answer.body)

    def agent(self, token: dict[str, Any], counters: str, *flags: str) -> Agent:
        """An agent that takes its login from the server, not started yet."""
        name = fresh_id("agent")
        file = self.folder / f"{name}.token"
        file.write_text(token["token"])
        file.chmod(0o600)
        return self.make_agent(None, re.sub("//.*@", "//", counters), "--server", f"http://127.0.0.1:{self.server.port}", "--agent-token-file", str(file),
                               "--snapshot-cache", str(self.folder / name), "--redis-password-from-server", "--agent-id", name,
                               "--workers", "1", *flags)


def scope_of(admin: AdminClient, tenant: str) -> dict[str, Any]:
    """The scope of a token for one tenant."""
    return {"organization_id": admin.get(f"/tenants/{tenant}").body["organization_id"], "tenant_ids": [tenant]}


def user_of(token: dict[str, Any]) -> str:
    """The name of its Redis user."""
    return f"sluice-agent-t-{token['id']}"


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


def users(redis: RedisServer) -> set[str]:
    """Those that servers have made."""
    found = redis.cli("ACL", "USERS")
    assert isinstance(found, list)
    return {str(name) for name in found if str(name).startswith("sluice-agent-")}


def passwords(redis: RedisServer, user: str) -> list[Reply]:
    """The hashes of a user's passwords."""
    found = redis.cli("ACL", "GETUSER", user)
    if found is None:
        return []
    assert isinstance(found, list)
    listed = found[found.index("passwords") + 1]
    assert isinstance(listed, list)
    return listed


def library_of(redis: RedisServer) -> str:
    """The name of the one library of functions."""
    found = redis.cli("FUNCTION", "LIST")
    assert isinstance(found, list) and len(found) == 1 and isinstance(found[0], list)
    return str(found[0][1])


def connected(redis: RedisServer, login: dict[str, Any]) -> RespConnection:
    """A connection with a login, as soon as Redis takes it."""
    connection = RespConnection(redis.address())

    def accepted() -> bool:
        try:
            return connection.command("AUTH", login["username"], login["password"]) == "OK"
        except RedisError as error:
            assert str(error).startswith("WRONGPASS"), error
            return False

    wait_until("the user", accepted)
    return connection


def check(agent: Agent, key: str) -> str:
    """How a check is decided now."""
    with Client(agent.port, key) as client:
        return str(client.check(plan_id="pro", subject=fresh_subject()).body.get("reason"))


def wait_for_decision(agent: Agent, key: str) -> None:
    """Until Redis decides."""
    wait_until(f"a decision by Redis (log {agent.log})", lambda: check(agent, key) in DECIDED, 30)


def load_on(agent: Agent, key: str) -> Load:
    """Many subjects, so that each node of a Cluster has some."""
    return Load(agent, key, lambda number: {"plan_id": "pro", "subject": f"load{number % 97}"}, rate=200)


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


# What the login can do.


def refusal(connection: RespConnection, *words: Union[str, int]) -> str:
    """The first word of Redis' refusal, or "none"."""
    try:
        connection.command(*words)
    except RedisError as error:
        return str(error).split()[0]
    return "none"


def test_the_login_of_one_tenant_does_nothing_to_another_and_runs_no_script_of_its_own(
        make_site: Callable[..., Site], either: RedisServer) -> None:
    redis = either
    site = make_site(redis.counters)
    mine, other = site.tenant(), site.tenant()
    agent = site.agent(other.token, redis.counters).start()
    wait_for_decision(agent, other.key)
    found = redis.cli("KEYS", f"sl:{{{other.id}|*")
    assert isinstance(found, list) and found
    victim, own = str(found[0]), f"sl:{{{mine.id}|x}}"
    before = redis.cli("GET", victim)
    evalsha = redis.cli("SCRIPT", "LOAD", "return 1")
    library = library_of(redis)
    connection = connected(redis, site.login(mine.token))
    assert refusal(connection, "SET", own, "x") == "none"
    assert refusal(connection, "DEL", own) == "none"
    for words in (("GET", victim), ("SET", victim, "x"), ("DEL", victim), ("PEXPIRE", victim, 1), ("GET", "sl:{marker}"),
                  ("FCALL", f"{library}_check", 1, victim, "x"), ("FCALL", f"{library}_release", 1, victim, "x"),
                  ("EVAL", "return 1", 0), ("EVALSHA", str(evalsha), 0), ("EVAL_RO", "return 1", 0), ("FCALL_RO", "x", 0),
                  ("SCRIPT", "LOAD", "return 1"), ("SCRIPT", "FLUSH"), ("FUNCTION", "LOAD", "#!lua name=x\n"), ("FUNCTION", "FLUSH"),
                  ("FUNCTION", "DUMP"), ("FUNCTION", "LIST"), ("CONFIG", "GET", "*"), ("CONFIG", "SET", "maxmemory", 1), ("KEYS", "*"),
                  ("SCAN", 0), ("RANDOMKEY",), ("DBSIZE",), ("FLUSHALL",), ("FLUSHDB",), ("ACL", "LIST"), ("ACL", "WHOAMI"),
                  ("CLIENT", "LIST"), ("CLIENT", "KILL", "ID", 1), ("MONITOR",), ("SUBSCRIBE", "x"), ("RENAME", own, victim),
                  ("COPY", own, victim), ("MIGRATE", "h", 1, own, 0, 1), ("DEBUG", "SLEEP", 0), ("SHUTDOWN",), ("REPLICAOF", "h", 1)):
        assert refusal(connection, *words) == "NOPERM", words
    assert redis.cli("GET", victim) == before


def test_functions_are_refused_before_their_first_instruction_as_scripts_are(make_site: Callable[..., Site], either: RedisServer) -> None:
    site = make_site(either.counters)
    connected(either, site.login(site.token())).close()
    connection, call = either.connect(), ("FCALL", f"{library_of(either)}_check", 1, "sl:{x|y}", "not the arguments of a check")
    assert refusal(connection, *call) == "ERR", "it runs, and fails"
    for name, value, back, code in (("maxmemory", 1, 0, "OOM"), ("min-replicas-to-write", 1, 0, "NOREPLICAS")):
        either.cli("CONFIG", "SET", name, value)
        assert refusal(connection, *call) == code
        either.cli("CONFIG", "SET", name, back)
    either.cli("REPLICAOF", "127.0.0.1", 1)
    assert refusal(connection, *call) == "READONLY"


def test_a_user_has_the_rights_of_the_fixed_one_but_calls_functions_instead_of_scripts(site: Site, redis: RedisServer) -> None:
    line = next(line for line in USERS_ACL.read_text().splitlines() if line.startswith("user AGENT"))
    fixed = {word for word in line.split() if word.startswith("+")}
    token = site.token()
    connected(redis, site.login(token))
    found = redis.cli("ACL", "GETUSER", user_of(token))
    assert isinstance(found, list)
    commands = str(found[found.index("commands") + 1]).split()
    assert commands[0] == "-@all" and found[found.index("keys") + 1] == "~sl:{*|*" and not found[found.index("channels") + 1]
    assert set(commands[1:]) == fixed - {"+evalsha", "+script|load"} | {"+fcall"}


def test_agents_of_a_tenant_and_of_the_platform_count_with_users_of_their_own(make_site: Callable[..., Site],
                                                                                either: RedisServer) -> None:
    redis = either
    site = make_site(redis.counters)
    one, two = site.tenant(), site.tenant()
    for token, reaches in ((one.token, [one]), (site.token(), [one, two])):
        agent = site.agent(token, redis.counters).start()
        for tenant in reaches:
            wait_for_decision(agent, tenant.key)
        assert agent.metric("sluice_redis_errors_total", **{"class": "no_function"}) == 0
        login = site.login(token)
        kept = Path(f"{agent.flags[agent.flags.index('--snapshot-cache') + 1]}.redis")
        assert kept.read_text() == f"{login['username']}\n{login['password']}\nfunctions\n"
    assert redis.calls("evalsha") == 1, "the server's own trial"
    assert redis.calls("fcall") > 0


def test_an_agent_that_cannot_call_functions_gets_no_login_at_all(site: Site) -> None:
    token = site.token()
    answer = SyncAgent(site.server.port, token["token"], "old-agent").request("GET", "/counters")
    assert (answer.status, answer.body["type"]) == (403, "/problems/agent-too-old")
    assert "upgrade the agent" in answer.body["detail"] and "password" not in answer.body
    # The log is written behind the answer.
    wait_until("the line of the log", lambda: [line["agent"] for line in site.server.lines() if line["event"] == "agent_too_old"] == ["old-agent"])
    told = site.server.log.read_text()
    assert SECRET not in told and site.login(token)["password"] not in told


def test_servers_with_one_secret_give_the_same_login(site: Site, redis: RedisServer, make_server: Callable[..., Server]) -> None:
    token = site.token()
    second = make_server("--counters", redis.counters, "--redis-users", "per-scope", "--redis-users-secret-file", str(site.secret_file),
                         database=site.server.database).start()
    assert SyncAgent(second.port, token["token"]).request("GET", "/counters?functions=1").body == site.login(token)


# Who comes and goes.


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


# Redis loses its users: must-hold.


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
