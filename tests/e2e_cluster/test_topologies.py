"""overlays/dev-cluster installed: servers and agents count in a Redis Cluster of six pods."""

import json
from collections.abc import Iterator

import pytest

from support.installed import OVERLAY, SYSTEM, Installed, MakeApp
from support.manifests import K8S
from support.process import wait_until

NAME = "sluice-redis-cluster"
NODES = 6
BODIES = """for i in $(seq {count}); do curl -s -m 5 -X POST "$SLUICE_URL/v1/check" -H "x-api-key: $KEY" \
 -H 'content-type: application/json' -d "{\\"resource\\":\\"GET:/orders\\",\\"subject\\":\\"{subject}\\"}"; echo; done"""
UNTIL_TOLD = """while [ ! -e /tmp/stop ]; do i=$((i + 1)); curl -s -m 5 -X POST "$SLUICE_URL/v1/check" -H "x-api-key: $KEY" \
 -H 'content-type: application/json' -d "{\\"resource\\":\\"GET:/orders\\",\\"subject\\":\\"user:{subject}-$i\\"}" || echo lost; echo; done"""


def ask(installed: Installed, node: int, *words: str) -> str:
    """What a node answers to the user for nodes; what kubectl says, while the node is away."""
    password = "IFS= read -r REDISCLI_AUTH </etc/sluice/redis/node-password; export REDISCLI_AUTH"
    script = f"{password}; redis-cli --user sluice-node {' '.join(words)}"
    done = installed.cluster.try_kubectl("exec", f"{NAME}-{node}", "-n", SYSTEM, "-c", "redis", "--", "sh", "-c", script)
    return done.stdout + done.stderr


def whole(installed: Installed) -> bool:
    """Whether each node sees all slots served, and each replica has a connection to its primary."""
    states = [ask(installed, node, "cluster", "info") + ask(installed, node, "info", "replication") for node in range(NODES)]
    return len([state for state in states if "cluster_slots_ok:16384" in state and "cluster_known_nodes:6" in state
                and ("role:master" in state or "master_link_status:up" in state)]) == NODES


def primaries(installed: Installed) -> list[int]:
    """The nodes that are one."""
    return [node for node in range(NODES) if "role:master" in ask(installed, node, "info", "replication")]


def restarts(installed: Installed, node: int) -> int:
    """How often its container was started anew."""
    status = installed.cluster.get("pod", f"{NAME}-{node}", SYSTEM)["status"]
    return int(status["containerStatuses"][0]["restartCount"])


def reasons(bodies: str) -> list[str]:
    """Of each decision; "lost" where there was no answer."""
    return ["lost" if line == "lost" else json.loads(line)["reason"] for line in bodies.splitlines() if line]


@pytest.fixture(scope="module")
def on_cluster(installed: Installed) -> Iterator[Installed]:
    """The installation, with the Redis Cluster instead of the one Redis."""
    installed.cluster.kubectl("apply", "-k", str(K8S / "overlays/dev-cluster"))
    try:
        installed.rolled_out("deployment/sluice-server")
        wait_until("the Cluster", lambda: whole(installed), 180)
        yield installed
    finally:
        installed.cluster.kubectl("apply", "-k", str(OVERLAY))
        installed.rolled_out("deployment/sluice-server")
        installed.cluster.kubectl("-n", SYSTEM, "delete", f"statefulset/{NAME}", f"service/{NAME}")
        wait_until("the end of the nodes", lambda: not [pod for pod in installed.cluster.get(
            "pods", "", SYSTEM, "-l", "app.kubernetes.io/component=redis-cluster")["items"]], 120)


def test_pods_share_a_limit_and_subjects_are_spread_over_the_nodes(on_cluster: Installed, make_app: MakeApp) -> None:
    one, other = make_app().ready(), make_app().ready()
    on_cluster.admin("PUT", "/policies/shared?tenant_id=demo", {   # gains nothing while the calls are made
        "resource": "GET:/shared", "strategy": "token_bucket", "key_by": "subject", "limit": 10, "window": "1h"})
    on_cluster.enforced()
    script = BODIES.replace("GET:/orders", "GET:/shared").replace("{count}", "6").replace("{subject}", "user:shared")
    found = [reasons(app.run(script)) for app in (one, other)]
    assert found == [["within_limit"] * 6, ["within_limit"] * 4 + ["limit_exceeded"] * 2]
    one.run("for i in $(seq 60); do check GET:/orders user:spread-$i; done")
    chosen = primaries(on_cluster)
    assert len(chosen) == 3
    for node in chosen:
        assert "db0:keys=" in ask(on_cluster, node, "info", "keyspace")


def test_an_override_of_the_admin_api_is_in_force(on_cluster: Installed, make_app: MakeApp) -> None:
    app = make_app().ready()
    on_cluster.admin("PUT", "/overrides/spread?tenant_id=demo", {
        "policy_id": "orders", "limit_name": "burst", "identity": {"subject": "user:overridden"}, "set": {"capacity": 3}})
    wait_until("the override in Redis", lambda: on_cluster.admin("GET", "/overrides/spread?tenant_id=demo")["published"])
    found = reasons(app.run(BODIES.replace("{count}", "4").replace("{subject}", "user:overridden")))
    assert found == ["within_limit"] * 3 + ["limit_exceeded"]


def test_a_node_that_ends_costs_a_few_seconds_and_no_answer(on_cluster: Installed, make_app: MakeApp) -> None:
    app = make_app().ready()
    node = primaries(on_cluster)[0]
    before = restarts(on_cluster, node)
    with app.start(UNTIL_TOLD.replace("{subject}", "ending")) as load:
        on_cluster.cluster.kubectl("exec", f"{NAME}-{node}", "-n", SYSTEM, "-c", "redis", "--", "sh", "-c", "kill -TERM 1")
        wait_until("the restart", lambda: restarts(on_cluster, node) == before + 1, 60)
        wait_until("the Cluster", lambda: whole(on_cluster), 60)
        wait_until("decisions by all nodes", lambda: reasons(app.run(BODIES.replace("{count}", "30").replace(
            "{subject}", f"user:after-{on_cluster.number()}-$i"))) == ["within_limit"] * 30, 20)
        app.run(": >/tmp/stop")
        said, _ = load.communicate(timeout=60)
    during = reasons(said)
    assert len(during) > 100
    assert set(during) <= {"within_limit", "fail_open", "fail_closed"}, set(during)
