"""Redis Cluster: slots move, nodes die and join under load; what is exact on one node stays exact on several."""

import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, concurrency, token_bucket, window
from support.certificate import certificate
from support.cluster import SLOTS, Cluster, answers, owner_port, role, slot_of
from support.faults import Fault
from support.load import Load
from support.process import all_of, wait_until
from support.rate_limits import ask, limited, write_config
from support.redis_server import RedisServer
from support.server import Server

USERS = Path(__file__).parents[2] / "images/redis/users.acl"
LIMIT = 30
RESHARD_ALL = "SLUICE_RESHARD_ALL" in os.environ   # move all slots, not only those that are in use
SUBJECTS = 24
DESCRIPTORS = """
domain: {domain}
descriptors:
  - key: large
    rate_limit: {{unit: year, requests_per_unit: 1000}}
  - key: user
    rate_limit: {{unit: year, requests_per_unit: 2}}
  - key: other
    rate_limit: {{unit: year, requests_per_unit: 1000}}
"""
BACK_WITHIN = 2.0   # seconds after a promotion
DEADLINE = ["--redis-deadline", "250ms"]
DECIDED = {"within_limit", "limit_exceeded"}


@pytest.fixture
def make_cluster() -> Iterator[Callable[..., Cluster]]:
    """Makes Clusters: the arguments are Cluster's.

    Their files are in memory. A node syncs nodes.conf to the disk for each slot that moves, and serves nobody meanwhile: a disk
    that stalls for longer than the deadline is another fault than a reshard.
    """
    made: list[Cluster] = []
    with tempfile.TemporaryDirectory(prefix="sluice-cluster-", dir="/dev/shm") as folder:

        def make(**options: Any) -> Cluster:
            made.append(Cluster(Path(folder) / str(len(made)), **options))
            return made[-1]

        yield make
        for each in made:
            each.stop()


@pytest.fixture
def acl_rules() -> list[str]:
    """What we say an agent needs."""
    line = next(line for line in USERS.read_text().splitlines() if line.startswith("user AGENT "))
    return line.split()[4:]


@pytest.fixture
def bundle(key: MintedKey) -> Bundle:
    """A plan that fills up, the same with a log (whose entries are in a key of their own), and one that never fills up."""
    made = Bundle().key(key)
    made.plan("limited", window("fixed_window", LIMIT, "1d", align="first"))
    made.plan("logged", window("sliding_window_log", LIMIT, "1d"))
    made.plan("leased", concurrency(LIMIT, "1h"))
    return made.plan("closed", token_bucket(300_000, "1/1h"))


def subject(number: int) -> str:
    """One of a few subjects, which lie in different slots."""
    return f"s{number % SUBJECTS}"


def slot(number: int) -> int:
    """The slot of its counters."""
    return slot_of(f"sl:{{acme|subject={subject(number)}}}")


def load_on(agent: Agent, key: MintedKey, *plans: str, rate: float = 400) -> Load:
    """Requests of all subjects by all these plans in turn."""
    return Load(agent, key.text, lambda number: {
        "plan_id": plans[number // SUBJECTS % len(plans)], "subject": subject(number)}, rate=rate)


def admitted(load: Load, plan: str) -> Counter[str]:
    """How many requests of each subject passed."""
    return Counter(subject(int(sample.request_id[1:])) for sample in load.samples
                   if sample.plan == plan and sample.reason == "within_limit")


def assert_exact(load: Load, plan: str, fault: Fault) -> None:
    """Each subject was admitted its limit, no more and no less."""
    found = admitted(load, plan)
    fault.admitted(max(found.values(), default=0), LIMIT)
    assert found == Counter({subject(i): LIMIT for i in range(SUBJECTS)})


def used_slots(cluster: Cluster) -> dict[int, RedisServer]:
    """The slots of all subjects and their nodes, as soon as each of them holds something."""
    found: dict[int, RedisServer] = {}

    def look() -> bool:
        for node in cluster.primaries():
            keys = node.cli("KEYS", "sl:*")
            assert isinstance(keys, list)
            found.update({slot_of(str(name)): node for name in keys})
        return len(found) == SUBJECTS

    wait_until("a request of each subject", look)
    return found


def keys_of(node: RedisServer) -> list[str]:
    """The counters that it holds."""
    found = node.cli("KEYS", "sl:*")
    assert isinstance(found, list)
    return [str(name) for name in found]


def events(agent: Agent, event: str) -> list[str]:
    """The lines of the agent's log about an event."""
    return [line for line in agent.log.read_text().splitlines() if f'"{event}"' in line]


def decides(agent: Agent, key: MintedKey, who: str) -> bool:
    """Whether Redis decides about this subject."""
    with agent.client(key.text) as client:
        return client.check(plan_id="closed", subject=who, cost=0).body["reason"] == "within_limit"


def wait_for_all(agent: Agent, key: MintedKey, seconds: float = 10.0) -> None:
    """Until Redis decides about every subject."""
    wait_until("decisions by all nodes", lambda: all_of(range(SUBJECTS), lambda i: decides(agent, key, subject(i))), seconds)


@pytest.mark.timeout(2400 if RESHARD_ALL else 300)
@pytest.mark.fault("reshard", topology="cluster", least=2000)
def test_a_reshard_is_not_noticed_and_charges_nothing_twice(
        key: MintedKey, bundle: Bundle, make_cluster: Callable[..., Cluster], make_agent: Callable[..., Agent],
        fault: Fault) -> None:
    cluster = make_cluster(replicas=0).start()
    agent = make_agent(bundle, cluster.counters, *DEADLINE).start()
    wait_for_all(agent, key)
    with load_on(agent, key, "limited", "closed") as load:
        home = used_slots(cluster)
        assert len(set(home.values())) == 3
        new = cluster.join()
        moved = {each: cluster.owner(each) for each in range(SLOTS)} if RESHARD_ALL else home
        cluster.move_all(list(moved), new)
        for node in set(moved.values()):
            cluster.move_all([each for each, owner in moved.items() if owner is node], node)
        wait_until("as many requests as exceed every limit", lambda: len(load.samples) > 3 * LIMIT * SUBJECTS, 60)
    assert set(load.reasons()) == DECIDED, load.reasons()
    assert_exact(load, "limited", fault)
    assert agent.metric("sluice_redis_redirects_total") > 0
    assert new.calls("time") > 0


@pytest.mark.fault("reshard-several-keys", topology="cluster", least=2000)
def test_a_call_with_several_keys_waits_while_its_slot_moves(
        key: MintedKey, bundle: Bundle, make_cluster: Callable[..., Cluster], make_agent: Callable[..., Agent],
        fault: Fault) -> None:
    cluster = make_cluster(replicas=0).start()
    agent = make_agent(bundle, cluster.counters, *DEADLINE).start()
    wait_for_all(agent, key)
    with load_on(agent, key, "logged", "leased", rate=200) as load:
        for each, node in used_slots(cluster).items():
            primaries = cluster.primaries()
            cluster.move(each, primaries[(primaries.index(node) + 1) % 3])
        wait_until("as many requests as exceed every limit", lambda: len(load.samples) > 3 * LIMIT * SUBJECTS, 60)
    assert set(load.reasons()) == DECIDED, load.reasons()
    for plan in ("logged", "leased"):
        assert_exact(load, plan, fault)


@pytest.mark.fault("moved-storm", topology="cluster", least=2000)
def test_a_storm_of_redirections_after_a_failover_without_loss_is_not_noticed(
        key: MintedKey, bundle: Bundle, make_cluster: Callable[..., Cluster], make_agent: Callable[..., Agent],
        fault: Fault) -> None:
    cluster = make_cluster().start()
    agent = make_agent(bundle, cluster.counters, "--workers", "2", *DEADLINE).start()
    wait_for_all(agent, key)
    with load_on(agent, key, "limited", "closed", rate=800) as load:
        for primary in cluster.primaries():
            time.sleep(0.3)
            cluster.fail_over(cluster.replica_of(primary))
        wait_until("as many requests as exceed every limit", lambda: len(load.samples) > 3 * LIMIT * SUBJECTS, 60)
    assert set(load.reasons()) == DECIDED, load.reasons()
    assert_exact(load, "limited", fault)
    asked = sum(node.calls("cluster|slots") for node in cluster.nodes)
    assert asked < 60, "the slot map is asked for a few times, not for each redirection"


@pytest.mark.fault("node-killed", topology="cluster", least=1000)
def test_a_killed_node_costs_only_its_own_keys_until_its_replica_takes_over(
        key: MintedKey, bundle: Bundle, make_cluster: Callable[..., Cluster], make_agent: Callable[..., Agent],
        fault: Fault) -> None:
    cluster = make_cluster().start()
    agent = make_agent(bundle, cluster.counters, *DEADLINE).start()
    wait_for_all(agent, key)
    killed, survivor = cluster.primaries()[0], cluster.primaries()[1]
    replica = cluster.replica_of(killed)
    lost = {subject(i) for i in range(SUBJECTS) if owner_port(survivor, slot(i)) == killed.port}
    assert 0 < len(lost) < SUBJECTS
    with load_on(agent, key, "limited", "closed") as load:
        time.sleep(0.5)
        died = time.monotonic()
        killed.kill9()
        wait_until("the promotion", lambda: role(replica) == "master", 20)
        promoted = time.monotonic()
        time.sleep(BACK_WITHIN + 0.5)
    assert {(sample.status, sample.reason) for sample in load.samples} <= {
        (200, "within_limit"), (429, "limit_exceeded"), (503, "fail_closed")}
    during = [sample for sample in load.samples if sample.sent > died and sample.reason == "fail_closed"]
    assert {subject(int(sample.request_id[1:])) for sample in during} == lost
    fault.recovered(max(0.0, max(sample.sent for sample in during) - promoted), BACK_WITHIN)
    reasons = load.reasons(promoted + BACK_WITHIN, promoted + BACK_WITHIN + 0.5)
    assert reasons and set(reasons) <= DECIDED, reasons
    fault.admitted(max(admitted(load, "limited").values()), 2 * LIMIT)
    killed.launch()
    wait_until("the killed node", lambda: answers(killed), 30)
    wait_for_all(agent, key)


@pytest.mark.fault("slot-uncovered", topology="cluster", least=200)
def test_a_slot_that_nobody_serves_fails_alone(
        key: MintedKey, bundle: Bundle, make_cluster: Callable[..., Cluster], make_agent: Callable[..., Agent]) -> None:
    cluster = make_cluster(replicas=0).start()
    agent = make_agent(bundle, cluster.counters, *DEADLINE).start()
    wait_for_all(agent, key)
    alone = slot(0)
    owner = cluster.owner(alone)
    for node in cluster.primaries():
        node.cli("CLUSTER", "DELSLOTS", alone)
    wait_until("the failure", lambda: not decides(agent, key, subject(0)))
    with load_on(agent, key, "closed") as load:
        time.sleep(1.0)
    failed = {subject(int(sample.request_id[1:])) for sample in load.samples if sample.reason == "fail_closed"}
    assert failed == {subject(0)}
    assert set(load.reasons()) == {"within_limit", "fail_closed"}
    assert agent.metric("sluice_breaker_state") == 0, "the node answers"
    owner.cli("CLUSTER", "ADDSLOTS", alone)
    wait_for_all(agent, key)


@pytest.mark.fault("nothing-at-start", topology="cluster")
def test_an_agent_that_started_before_the_cluster_connects_once_it_is_there(
        key: MintedKey, bundle: Bundle, make_cluster: Callable[..., Cluster], make_agent: Callable[..., Agent]) -> None:
    cluster = make_cluster(replicas=0)
    agent = make_agent(bundle, cluster.counters, *DEADLINE).start()
    with agent.client(key.text) as client:
        assert client.check(plan_id="closed", subject="a").body["reason"] == "fail_closed"
    assert '"refused"' in events(agent, "redis_connect_failed")[0]
    cluster.start()
    wait_for_all(agent, key, BACK_WITHIN)
    assert {line.split('"address":"')[1].split('"')[0] for line in events(agent, "redis_connected")} == {
        f"redis://127.0.0.1:{node.port}/0" for node in cluster.nodes}


@pytest.mark.fault("nothing-at-start-without-traffic", topology="cluster")
def test_an_agent_and_a_server_without_traffic_find_a_cluster_that_comes_late(
        key: MintedKey, bundle: Bundle, make_cluster: Callable[..., Cluster], make_agent: Callable[..., Agent],
        make_server: Callable[..., Server]) -> None:
    cluster = make_cluster(replicas=0)
    agent = make_agent(bundle, cluster.counters, *DEADLINE).start()
    server = make_server("--counters", cluster.counters).start()
    wait_until("open breakers", lambda: agent.metric("sluice_breaker_state") >= 2, 20)
    cluster.start()
    wait_until("the agent's connections", lambda: agent.metric("sluice_redis_connected") == 1, 10)
    wait_until("the server's markers", lambda: all_of(cluster.nodes, lambda node: node.cli("KEYS", "sl:{marker*")), 10)
    del key


def test_a_url_of_the_other_kind_is_named_in_the_log(
        key: MintedKey, bundle: Bundle, make_redis: Callable[..., RedisServer], make_cluster: Callable[..., Cluster],
        make_agent: Callable[..., Agent]) -> None:
    cluster = make_cluster(primaries=1, replicas=0).start()
    one = make_agent(bundle, f"redis://127.0.0.1:{cluster.nodes[0].port}", *DEADLINE).start()
    wait_until("the refusal", lambda: events(one, "redis_connect_failed"))
    assert '"cluster"' in events(one, "redis_connect_failed")[0]
    assert "redis+cluster://" in events(one, "redis_connect_failed")[0]
    many = make_agent(bundle, f"redis+cluster://127.0.0.1:{make_redis(tcp=True).port}", *DEADLINE).start()
    wait_until("the refusal", lambda: events(many, "redis_connect_failed"))
    assert '"no_cluster"' in events(many, "redis_connect_failed")[0]


def test_a_cluster_is_reached_over_tls_by_the_names_of_its_hosts(
        key: MintedKey, bundle: Bundle, make_cluster: Callable[..., Cluster], make_agent: Callable[..., Agent],
        tmp_path: Path) -> None:
    cert, private = certificate(tmp_path, "redis")   # of localhost
    cluster = make_cluster(replicas=0, tls=["--tls-cert-file", str(cert), "--tls-key-file", str(private),
                                            "--tls-ca-cert-file", str(cert), "--tls-auth-clients", "optional"],
                           options=["--cluster-announce-hostname", "localhost",
                                    "--cluster-preferred-endpoint-type", "hostname"]).start()
    agent = make_agent(bundle, f"rediss+cluster://localhost:{cluster.tls_ports[0]}", "--redis-tls-ca", cert, *DEADLINE).start()
    wait_for_all(agent, key)
    with load_on(agent, key, "limited", "closed") as load:
        for each, node in used_slots(cluster).items():
            primaries = cluster.primaries()
            cluster.move(each, primaries[(primaries.index(node) + 1) % 3])
        wait_until("as many requests as exceed every limit", lambda: len(load.samples) > 3 * LIMIT * SUBJECTS, 60)
    assert set(load.reasons()) == DECIDED, load.reasons()
    assert admitted(load, "limited") == Counter({subject(i): LIMIT for i in range(SUBJECTS)})
    assert {line.split('"address":"')[1].split('"')[0] for line in events(agent, "redis_connected")} == {
        f"rediss://localhost:{port}/0" for port in cluster.tls_ports}
    assert all(node.calls("time") > 0 for node in cluster.nodes)


def test_a_batch_and_leases_find_the_nodes_of_their_keys(
        key: MintedKey, bundle: Bundle, make_cluster: Callable[..., Cluster], make_agent: Callable[..., Agent]) -> None:
    cluster = make_cluster(replicas=0).start()
    agent = make_agent(bundle, cluster.counters, *DEADLINE).start()
    wait_for_all(agent, key)
    with agent.client(key.text) as client:
        checks = [{"plan_id": "limited", "subject": subject(i), "cost": i + 1, "request_id": f"r{i}"} for i in range(SUBJECTS)]
        results = client.batch(*checks).body["results"]
        assert [result["request_id"] for result in results] == [f"r{i}" for i in range(SUBJECTS)]
        assert [result["remaining"] for result in results] == [LIMIT - i - 1 for i in range(SUBJECTS)]
        for i in range(SUBJECTS):
            held = client.check(plan_id="leased", subject=subject(i)).body
            assert client.renew(held["lease_id"]).status == 200
            assert client.release(held["lease_id"]).status == 200
            assert client.check(plan_id="leased", subject=subject(i), cost=0).body["remaining"] == LIMIT


def test_an_atomic_rate_limit_request_is_one_slot_and_goes_to_its_node(
        make_cluster: Callable[..., Cluster], make_agent: Callable[..., Agent], tmp_path: Path) -> None:
    """All descriptors of a domain share a slot; per descriptor they spread. Either way a request is exact on all nodes."""
    cluster = make_cluster(replicas=0).start()
    domains = [f"shop{i}" for i in range(12)]
    limits = write_config(tmp_path / "limits", **{domain: DESCRIPTORS.format(domain=domain) for domain in domains})
    descriptors = [[("large", "x")], [("user", "y")], [("other", "z")]]
    owners = {}
    for decision in ("atomic", "per-descriptor"):
        agent = make_agent(None, cluster.counters, *DEADLINE, "--ratelimit-config", str(limits), "--rls-decision", decision).start()
        with agent.client() as client:
            # A node that is not known yet has no answer, and nothing is charged.
            looks = [limited(*each, hitsAddend=0) for each in descriptors]
            wait_until("answers of all nodes",
                       lambda: all_of(domains, lambda domain: ask(client, domain, *looks).status == 200), 30)
            for domain in domains:
                answers = [ask(client, domain, *descriptors) for _ in range(5)]
                assert [answer.status for answer in answers] == [200] * 2 + [429] * 3
                charged = 2 if decision == "atomic" else 5
                left = ask(client, domain, *looks).body["statuses"]
                assert [status.get("limitRemaining", 0) for status in left] == [1000 - charged, 0, 1000 - charged]
        tags = [f"rls:{domain}" if decision == "atomic" else f"rls:{domain}|{key}={value}"
                for domain in domains for [(key, value)] in descriptors]
        owners[decision] = {cluster.owner(slot_of(f"{{default|{tag}}}")).port for tag in tags}
        held = {slot_of(str(name)) for node in cluster.primaries() for name in keys_of(node)}
        assert held == {slot_of(f"{{default|{tag}}}") for tag in tags}
        assert len(held) == (len(domains) if decision == "atomic" else len(domains) * len(descriptors))
        agent.close()
        for node in cluster.primaries():
            node.cli("FLUSHALL")
    assert len(owners["atomic"]) == len(owners["per-descriptor"]) == 3


def test_a_user_with_the_least_rights_is_enough_while_a_slot_moves(
        key: MintedKey, bundle: Bundle, make_cluster: Callable[..., Cluster], make_agent: Callable[..., Agent],
        acl_rules: list[str]) -> None:
    cluster = make_cluster(replicas=0, options=["--user", "counter", "on", ">node-secret", *acl_rules]).start()
    url = cluster.counters.replace("://", "://counter:node-secret@")
    agent = make_agent(bundle, url, *DEADLINE).start()
    wait_for_all(agent, key)
    with load_on(agent, key, "limited", "closed") as load:
        home = used_slots(cluster)
        target = cluster.primaries()[0]
        for each, node in home.items():
            if node is not target:
                cluster.move(each, target)
    assert set(load.reasons()) <= DECIDED
    wait_until("redirections", lambda: agent.metric("sluice_redis_redirects_total") > 0)
    assert "node-secret" not in agent.log.read_text()


def test_a_user_that_may_not_read_the_slots_is_told_so(
        key: MintedKey, bundle: Bundle, make_cluster: Callable[..., Cluster], make_agent: Callable[..., Agent],
        acl_rules: list[str]) -> None:
    rules = [rule for rule in acl_rules if rule != "+cluster|slots"]
    cluster = make_cluster(replicas=0, options=["--user", "counter", "on", ">node-secret", *rules]).start()
    agent = make_agent(bundle, cluster.counters.replace("://", "://counter:node-secret@"), *DEADLINE).start()
    wait_until("the refusal", lambda: events(agent, "redis_connect_failed"))
    assert '"permission"' in events(agent, "redis_connect_failed")[0]
    assert "+cluster|slots" in events(agent, "redis_connect_failed")[0]


@pytest.mark.fault("server-node-flushed", topology="cluster")
def test_the_server_publishes_overrides_to_every_node_and_again_after_one_has_lost_them(
        make_cluster: Callable[..., Cluster], make_server: Callable[..., Server]) -> None:
    cluster = make_cluster(replicas=0).start()
    server = make_server("--counters", cluster.counters, "--redis-deadline", "2s").start()

    def stored() -> int:
        return sum(len(node.cli("KEYS", "sl:{*|*")) for node in cluster.nodes)   # type: ignore[arg-type]

    with server.admin() as admin:
        tenant = admin.tenant()
        limit = {"name": "burst", "algorithm": "fixed_window", "limit": 10, "window": "1h"}
        assert admin.put("/policies/orders", {"scope": {"resource": "orders"}, "key_by": ["subject"], "limits": [limit]},
                         tenant=tenant).status == 201
        for i in range(SUBJECTS):
            answer = admin.put(f"/overrides/o{i}", {"policy_id": "orders", "limit_name": "burst",
                                                    "identity": {"subject": subject(i)}, "set": {"limit": 500}},
                               tenant=tenant)
            assert answer.status == 201 and answer.body["published"], answer
        assert stored() == SUBJECTS
        assert all(node.cli("KEYS", "sl:{marker*") for node in cluster.nodes)
        target = cluster.nodes[0]
        for number in range(SUBJECTS):   # as where a node died and its slots were given to another one, empty
            each = slot_of(f"sl:{{{tenant}|subject={subject(number)}}}")
            if cluster.owner(each) is cluster.nodes[2]:
                cluster.nodes[2].cli("FLUSHALL")
                cluster.move(each, target)
        wait_until("the overrides of the moved slots", lambda: stored() == SUBJECTS, 10)
        for node in cluster.nodes:
            node.cli("FLUSHALL")
            wait_until("the overrides", lambda: stored() == SUBJECTS, 10)

        # A node that does not answer keeps back only what is its own.
        cluster.nodes[0].pause()
        wait_until("the others", lambda: [admin.put(
            f"/overrides/p{i}", {"policy_id": "orders", "limit_name": "burst", "identity": {"subject": f"late{i}"},
                                 "set": {"limit": 500}}, tenant=tenant) for i in range(SUBJECTS)], 60)
        published = [i for i in range(SUBJECTS)
                     if admin.get(f"/overrides/p{i}", tenant=tenant).body["published"]]
        assert 0 < len(published) < SUBJECTS
        cluster.nodes[0].resume()
        wait_until("the rest", lambda: all_of(
            range(SUBJECTS), lambda i: admin.get(f"/overrides/p{i}", tenant=tenant).body["published"]), 20)
    assert stored() == 2 * SUBJECTS
