"""Redis Sentinel: the primary is killed or replaced under load, sentinels are dead or lie, and logins are wrong."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket, window
from support.certificate import certificate
from support.faults import Fault
from support.load import Load
from support.process import free_port, wait_until
from support.sentinel import LyingSentinel, SentinelSet, names
from support.server import Server

LIMIT = 200
BACK_WITHIN = 2.0   # seconds after the sentinels name the new primary
DEADLINE = ["--redis-deadline", "250ms"]
DECIDED = {"within_limit", "limit_exceeded"}


@pytest.fixture
def make_set(tmp_path: Path) -> Iterator[Callable[..., SentinelSet]]:
    """Makes sets of Redis and sentinels: the arguments are SentinelSet's."""
    made: list[SentinelSet] = []

    def make(**options: Any) -> SentinelSet:
        made.append(SentinelSet(tmp_path / f"set{len(made)}", **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def bundle(key: MintedKey) -> Bundle:
    """A plan that fills up, and one that never does."""
    made = Bundle().key(key)
    made.plan("limited", window("fixed_window", LIMIT, "1d", align="first"))
    return made.plan("closed", token_bucket(300_000, "1/1h"))


def load_on(agent: Agent, key: MintedKey) -> Load:
    """Every other request is charged to one subject of the plan that fills up."""
    return Load(agent, key.text, lambda number: {
        "plan_id": "limited" if number % 2 else "closed", "subject": "one" if number % 2 else f"load{number % 7}"},
        rate=500)


def wait_until_full(load: Load) -> None:
    """Until the limit is used up, so that what a failover forgets shows."""
    wait_until("a full limit", lambda: load.reasons()["limit_exceeded"] > 0)


def wait_until_judged(load: Load, promoted: float) -> None:
    """Until there is what assert_back() looks at."""
    load.wait_past(promoted + BACK_WITHIN + 0.25)


def assert_bounds(load: Load, failovers: int, fault: Fault) -> None:
    """Every request was answered by Redis or by the failure mode, and no more were admitted than the bound allows."""
    assert {(sample.status, sample.reason) for sample in load.samples} <= {
        (200, "within_limit"), (429, "limit_exceeded"), (503, "fail_closed")}
    admitted = sum(sample.plan == "limited" and sample.reason == "within_limit" for sample in load.samples)
    fault.admitted(admitted, LIMIT * (1 + failovers), least=LIMIT)


def assert_back(load: Load, promoted: float, fault: Fault) -> None:
    """Redis decides everything from BACK_WITHIN after the promotion on, for at least a quarter of a second."""
    until = promoted + BACK_WITHIN + 0.25
    failed = [sample.sent - promoted for sample in load.samples if promoted < sample.sent < until
              and sample.reason not in DECIDED]
    fault.recovered(max(failed, default=0.0), BACK_WITHIN)
    reasons = load.reasons(promoted + BACK_WITHIN, until)
    assert reasons and set(reasons) <= DECIDED, reasons


def wait_for_decision(agent: Agent, key: MintedKey, seconds: float = 10.0) -> None:
    """Until Redis decides."""
    with agent.client(key.text) as client:
        wait_until("a decision by Redis", lambda: client.check(
            plan_id="closed", subject="probe", cost=0).body["reason"] == "within_limit", seconds)


def events(agent: Agent, event: str) -> list[str]:
    """The lines of the agent's log about an event."""
    return [line for line in agent.log.read_text().splitlines() if f'"{event}"' in line]


@pytest.mark.fault("primary-killed", topology="sentinel", least=1000)
def test_a_killed_primary_is_followed_and_no_replica_decides(
        key: MintedKey, bundle: Bundle, make_set: Callable[..., SentinelSet], make_agent: Callable[..., Agent],
        fault: Fault) -> None:
    redis = make_set().start()
    agent = make_agent(bundle, redis.url(), "--workers", "2", *DEADLINE).start()
    agent.wait_for_redis(key.text, "closed")
    killed = redis.primary()
    with load_on(agent, key) as load:
        wait_until_full(load)
        killed.kill9()
        promoted = redis.wait_for_promotion(killed.port)
        wait_until_judged(load, promoted)
    assert_bounds(load, 1, fault)
    assert_back(load, promoted, fault)
    never_primary = next(node for node in redis.nodes if node not in (killed, redis.primary()))
    assert never_primary.calls("time") == 0
    assert redis.primary().calls("time") > 100
    assert agent.metric("sluice_redis_primary_changes_total") == 2, "one for each worker"
    changed = events(agent, "redis_primary_changed")
    assert len(changed) == 2 and str(killed.port) in changed[0] and str(redis.primary().port) in changed[0]


@pytest.mark.fault("failovers-in-a-row", topology="sentinel", least=1000)
def test_three_failovers_in_a_row_are_followed(
        key: MintedKey, bundle: Bundle, make_set: Callable[..., SentinelSet], make_agent: Callable[..., Agent],
        fault: Fault) -> None:
    redis = make_set().start()
    agent = make_agent(bundle, redis.url(), *DEADLINE).start()
    agent.wait_for_redis(key.text, "closed")
    promotions = []
    with load_on(agent, key) as load:
        wait_until_full(load)
        for _ in range(3):
            promotions.append(redis.failover())
            wait_until_judged(load, promotions[-1])
    assert_bounds(load, 3, fault)
    for promoted in promotions:
        assert_back(load, promoted, fault)
    assert agent.metric("sluice_redis_primary_changes_total") == 3


@pytest.mark.fault("lying-sentinel", topology="sentinel")
def test_one_dead_and_one_lying_sentinel_do_not_stop_the_third(
        key: MintedKey, bundle: Bundle, make_set: Callable[..., SentinelSet], make_agent: Callable[..., Agent]) -> None:
    redis = make_set().start()
    primary, (replica, frozen) = redis.primary(), redis.replicas()
    dead, honest, _ = redis.sentinels
    lies: dict[str, Callable[[str], bytes]] = {
        "a replica": names(replica.port),
        "an address where nobody listens": names(free_port()),
        "a Redis that does not answer": names(frozen.port),
        "an unknown name": lambda command: b"-ERR No such master with that name\r\n" if command == "MASTER" else b"*-1\r\n",
        "garbage": lambda command: b"!!!\r\n",
    }
    liars = [LyingSentinel(lie) for lie in lies.values()]
    frozen.pause()
    dead.kill9()
    agents = [make_agent(bundle, redis.url(sentinels=[dead.port, liar.port, honest.port]), *DEADLINE).launch()
              for liar in liars]
    for agent in agents:
        wait_for_redis(agent, key)
    assert replica.calls("time") == 0   # each decision asks for the time
    frozen.resume()
    wait_until("the resumed replica", lambda: honest.about()["flags"] == "master" and redis.sound_replicas(honest) == 2)
    primary.kill9()
    promoted = redis.wait_for_promotion(primary.port, [honest])
    for agent in agents:
        wait_for_decision(agent, key, promoted + BACK_WITHIN - time.monotonic())
    for liar in liars:
        assert liar.asked > 0
        liar.close()


def wait_for_redis(agent: Agent, key: MintedKey) -> None:
    """Until the agent listens, and Redis decides."""

    def decides() -> bool:
        try:
            with agent.client(key.text) as client:
                return client.check(plan_id="closed", subject="x", cost=0).body["reason"] == "within_limit"
        except OSError:
            return False

    wait_until("a decision by Redis", decides, 20)


@pytest.mark.fault("nothing-at-start", topology="sentinel")
def test_an_agent_that_started_before_redis_and_the_sentinels_connects_once_they_are_there(
        key: MintedKey, bundle: Bundle, make_set: Callable[..., SentinelSet], make_agent: Callable[..., Agent]) -> None:
    redis = make_set()
    agent = make_agent(bundle, redis.url(), *DEADLINE).start()
    with agent.client(key.text) as client:
        assert client.check(plan_id="closed", subject="a").body["reason"] == "fail_closed"
    refused = wait_until("the refusal in the log", lambda: events(agent, "redis_connect_failed"))
    assert '"refused"' in refused[0] and refused[0].count("sentinel redis://") == 3
    redis.start()
    wait_for_decision(agent, key, BACK_WITHIN)


def test_users_and_passwords_of_nodes_and_sentinels_are_apart(
        key: MintedKey, bundle: Bundle, make_set: Callable[..., SentinelSet], make_agent: Callable[..., Agent],
        tmp_path: Path) -> None:
    redis = make_set(
        password="nodes-own", sentinel_password="sentinels-own",
        node_options=["--user", *"counter on >node-secret ~* &* +@all".split()],
        sentinel_lines=["user watcher on >sentinel-secret -@all +info +ping +client|setname +subscribe +unsubscribe "
                        "+sentinel|master +sentinel|get-master-addr-by-name resetchannels &+switch-master"]).start()
    login = tmp_path / "sentinel-login"
    login.write_text("watcher\nwrong\n")
    agent = make_agent(bundle, redis.url("counter:node-secret@"), "--redis-sentinel-login-file", str(login), *DEADLINE).start()
    wait_until("the refusal", lambda: events(agent, "redis_connect_failed"))
    refusal = events(agent, "redis_connect_failed")[-1]
    assert '"sentinel_login"' in refusal and "watcher" in refusal and "secret" not in refusal and "wrong" not in refusal
    login.write_text("watcher\nsentinel-secret\n")
    wait_for_decision(agent, key)
    redis.failover()
    wait_for_decision(agent, key, BACK_WITHIN)

    without = make_agent(bundle, redis.url("counter:node-secret@"), *DEADLINE).start()
    wait_until("the refusal", lambda: '"sentinel_login"' in "".join(events(without, "redis_connect_failed")))
    password = tmp_path / "sentinel-password"
    password.write_text("sentinels-own\n")
    wrong_user = make_agent(bundle, redis.url("counter:no@"), "--redis-sentinel-password-file", str(password)).start()
    wait_until("the refusal", lambda: '"authentication"' in "".join(events(wrong_user, "redis_connect_failed")))
    assert "nodes-own" not in wrong_user.log.read_text() + without.log.read_text() + agent.log.read_text()


@pytest.mark.fault("failover-over-tls", topology="sentinel", least=500)
def test_sentinels_and_nodes_are_reached_over_tls_and_followed(
        key: MintedKey, bundle: Bundle, make_set: Callable[..., SentinelSet], make_agent: Callable[..., Agent],
        tmp_path: Path, fault: Fault) -> None:
    cert, private = certificate(tmp_path, "redis")
    redis = make_set(tls=["--tls-cert-file", str(cert), "--tls-key-file", str(private), "--tls-ca-cert-file", str(cert),
                          "--tls-auth-clients", "optional"]).start()
    agent = make_agent(bundle, redis.url(), "--redis-tls-ca", cert, *DEADLINE).start()
    agent.wait_for_redis(key.text, "closed")
    with load_on(agent, key) as load:
        wait_until_full(load)
        promoted = redis.failover()
        wait_until_judged(load, promoted)
    assert_bounds(load, 1, fault)
    assert_back(load, promoted, fault)
    changed = events(agent, "redis_primary_changed")
    assert len(changed) == 1 and f"rediss://127.0.0.1:{redis.port_of(redis.primary())}" in changed[0]
    distrusting = make_agent(bundle, redis.url(), *DEADLINE).start()
    wait_until("the refusal", lambda: '"tls"' in "".join(events(distrusting, "redis_connect_failed")))


@pytest.mark.fault("server-primary-killed", topology="sentinel")
def test_the_server_publishes_overrides_after_a_failover(make_set: Callable[..., SentinelSet],
                                                         make_server: Callable[..., Server]) -> None:
    redis = make_set().start()
    server = make_server("--counters", redis.url(), "--redis-deadline", "2s").start()
    with server.admin() as admin:
        tenant = admin.tenant()
        limit = {"name": "burst", "algorithm": "fixed_window", "limit": 10, "window": "1h"}
        assert admin.put("/policies/orders", {"scope": {"resource": "orders"}, "key_by": ["subject"], "limits": [limit]},
                         tenant=tenant).status == 201

        def put(name: str) -> bool:
            answer = admin.put(f"/overrides/{name}", {"policy_id": "orders", "limit_name": "burst",
                                                      "identity": {"subject": name}, "set": {"limit": 500}}, tenant=tenant)
            assert answer.status == 201, answer
            return bool(answer.body["published"])

        assert put("ann")
        before = redis.primary()
        before.kill9()
        promoted = redis.wait_for_promotion(before.port)
        put("bob")
        wait_until("bob's override", lambda: admin.get("/overrides/bob", tenant=tenant).body["published"], 5)
        assert put("cid")
        assert time.monotonic() - promoted < 5
    assert redis.primary().calls("time") > 0
