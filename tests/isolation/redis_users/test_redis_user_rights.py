"""What the login of one tenant's agent can do in Redis, and who is given one."""

from collections.abc import Callable
from pathlib import Path

from support.process import wait_until
from support.redis_server import RedisServer
from support.redis_users import SECRET, Site, connected, library_of, refusal, user_of, wait_for_decision
from support.server import Server
from support.sync_client import SyncAgent

USERS_ACL = Path(__file__).resolve().parents[3] / "images/redis/users.acl"


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
