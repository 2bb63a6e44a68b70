"""The three images in a cluster, under Pod Security's level "restricted": with a read-only root, as nobody in particular."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import pytest

from support.bundle import Bundle, MintedKey, token_bucket
from support.client import fresh_subject
from support.kube import KubeCluster
from support.process import wait_until

SECURITY = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": True,
            "runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
# Nothing that a shell, SQL or an ACL would take apart may hurt.
SERVER_PASSWORD, AGENT_PASSWORD = "s'e $(r)ver\\", 'a"g;e -nt'
APP_PASSWORD, OWNER_PASSWORD = "a'p''p\\", "owner-42"
TESTS = Path(__file__).resolve().parents[1]
PGDATA = "/var/lib/postgresql"
# On the cluster's network: one check over gRPC, of arguments target, key and subject. Says whether it is allowed.
GRPC_CHECK = """import sys
from support.grpc_client import GrpcClient
with GrpcClient(sys.argv[1], sys.argv[2]) as client:
    print(client.check(plan_id="two", subject=sys.argv[3]).allowed)
"""

Json = dict[str, Any]


def pod(name: str, namespace: str, container: Json, secret: str = "", data: str = "") -> Json:
    """A pod of one container; `secret` is mounted at /etc/sluice/NAME, `data` is the path of its volume."""
    mounts, volumes = [], []
    if secret:
        mounts.append({"name": "secret", "mountPath": f"/etc/sluice/{name}", "readOnly": True})
        volumes.append({"name": "secret", "secret": {"secretName": secret, "defaultMode": 0o440}})
    if data:
        mounts.append({"name": "data", "mountPath": data})
        volumes.append({"name": "data", "emptyDir": {}})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
            "spec": {"securityContext": {"fsGroup": 65532}, "volumes": volumes, "automountServiceAccountToken": False,
                     "containers": [{"name": name, "imagePullPolicy": "Never", "securityContext": SECURITY,
                                     "volumeMounts": mounts, **container}]}}


def service(name: str, namespace: str, port: int) -> Json:
    """What makes a pod known by its name."""
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace},
            "spec": {"selector": {"app": name}, "ports": [{"port": port}]}}


def secret_of(name: str, namespace: str, **values: str) -> Json:
    """A Secret; underscores in names are hyphens there."""
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace},
            "stringData": {key.replace("_", "-"): value for key, value in values.items()}}


@dataclass
class Stores:
    """A restricted namespace with PostgreSQL and Redis."""

    cluster: KubeCluster
    namespace: str
    app_password: str = APP_PASSWORD

    def run(self, name: str, *command: str) -> str:
        """What a command in one of the pods said, also where it failed."""
        done = self.cluster.try_kubectl("exec", name, "-n", self.namespace, "--", *command)
        return (done.stdout + done.stderr).strip()

    def redis(self, user: str, password: str, *words: str) -> str:
        """One command, logged in as that user."""
        login = ["--no-auth-warning", "--user", user, "--pass", password] if user else []
        return self.run("redis", "redis-cli", *login, *words)

    def psql(self, user: str, password: str, statement: str) -> str:
        """One statement as a role, over the network."""
        address = f"host=postgres port=5432 dbname=sluice user={user} password='{_escaped(password)}'"
        return self.run("postgres", "psql", "-qAtX", "-c", statement, address)

    def wait(self, name: str, restarts: int = 0) -> None:
        """Until the pod is ready, after so many restarts."""

        def ready() -> Optional[bool]:
            statuses = self.cluster.get("pod", name, self.namespace)["status"].get("containerStatuses", [])
            return any(status["ready"] and status["restartCount"] >= restarts for status in statuses) or None

        wait_until(f"pod {name}", ready, 90)

    def log(self, name: str, *words: str) -> str:
        """What a pod said."""
        return self.cluster.kubectl("logs", name, "-n", self.namespace, *words)


def _escaped(password: str) -> str:
    return password.replace("\\", "\\\\").replace("'", "\\'")


@pytest.fixture(scope="module")
def stores(cluster: KubeCluster, image_file: Callable[[str], Path]) -> Stores:
    """Both, ready."""
    cluster.load(*(image_file(name) for name in ("sluice", "sluice-postgres", "sluice-redis")))
    namespace = "images"
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": namespace, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    wait_until("the service account", lambda: cluster.try_kubectl("get", "sa", "default", "-n", namespace).returncode == 0)
    redis = {"image": "localhost/sluice-redis:dev", "readinessProbe": {
        "exec": {"command": ["redis-cli", "-e", "ping"]}, "periodSeconds": 1, "timeoutSeconds": 5}}
    postgres = {"image": "localhost/sluice-postgres:dev", "readinessProbe": {
        "exec": {"command": ["pg_isready", "-q", "-h", "127.0.0.1"]}, "periodSeconds": 1, "timeoutSeconds": 5}}
    cluster.apply([
        secret_of("redis", namespace, server_user="sluice-server", server_password=SERVER_PASSWORD,
                  agent_user="sluice-agent", agent_password=AGENT_PASSWORD),
        secret_of("database", namespace, password=APP_PASSWORD, owner_password=OWNER_PASSWORD),
        service("redis", namespace, 6379), service("postgres", namespace, 5432),
        pod("redis", namespace, redis, "redis", "/var/lib/redis"),
        pod("postgres", namespace, {**postgres, "env": [{"name": "SLUICE_SECRETS", "value": "/etc/sluice/postgres"}]},
            "database", PGDATA)])
    made = Stores(cluster, namespace)
    for name in ("redis", "postgres"):
        made.wait(name)
    return made


def test_redis_answers_who_does_not_log_in_with_a_pong_and_nothing_else(stores: Stores) -> None:
    assert stores.redis("", "", "ping") == "PONG"
    assert "NOPERM" in stores.redis("", "", "get", "sl:{t|a}:p=x")


def test_redis_lets_agents_call_scripts_on_counters_and_nothing_else(stores: Stores) -> None:
    def agent(*words: str) -> str:
        return stores.redis("sluice-agent", AGENT_PASSWORD, *words)

    script = "#!lua\nreturn redis.call('TIME')[1]"
    sha = agent("script", "load", script)
    assert agent("evalsha", sha, "1", "sl:{t|a}:p=x").isdigit()
    for refused in (["get", "sl:{marker}"], ["get", "other"], ["flushall"], ["keys", "*"], ["config", "get", "dir"],
                    ["acl", "list"], ["eval", "return 1", "0"], ["rename", "sl:{t|a}:p=x", "sl:{t|a}:p=y"]):
        assert "NOPERM" in agent(*refused), refused
    assert "WRONGPASS" in stores.redis("sluice-agent", "guessed", "ping")


def test_redis_lets_servers_work_with_every_key_of_sluice_and_no_other(stores: Stores) -> None:
    def server(*words: str) -> str:
        return stores.redis("sluice-server", SERVER_PASSWORD, *words)

    assert server("set", "sl:{marker}:next", "1") == "OK"
    assert server("rename", "sl:{marker}:next", "sl:{marker}") == "OK"
    assert "redis_version:7" in server("info", "server")
    for refused in (["get", "other"], ["flushall"], ["config", "set", "maxmemory", "1"], ["acl", "list"], ["shutdown"]):
        assert "NOPERM" in server(*refused), refused


def test_redis_keeps_counters_when_its_container_ends(stores: Stores) -> None:
    assert stores.redis("sluice-server", SERVER_PASSWORD, "set", "sl:{t|kept}:p=x", "7") == "OK"
    stores.run("redis", "sh", "-c", "kill -TERM 1")
    stores.wait("redis", restarts=1)
    assert "bye bye" in stores.log("redis", "--previous")
    assert stores.redis("sluice-server", SERVER_PASSWORD, "get", "sl:{t|kept}:p=x") == "7"


def test_postgres_has_both_roles_by_their_passwords_and_no_other(stores: Stores) -> None:
    assert stores.psql("sluice_app", APP_PASSWORD, "select current_user") == "sluice_app"
    assert stores.psql("sluice_owner", OWNER_PASSWORD, "select pg_get_userbyid(datdba) from pg_database "
                                                       "where datname = 'sluice'") == "sluice_owner"
    assert "password authentication failed" in stores.psql("sluice_app", OWNER_PASSWORD, "select 1")
    assert "no pg_hba.conf entry" in stores.psql("postgres", "x", "select 1")
    superusers = stores.psql("sluice_app", APP_PASSWORD, "select rolname from pg_roles where rolsuper or rolbypassrls")
    assert superusers == "postgres"


def test_who_is_in_the_postgres_container_administers_it(stores: Stores) -> None:
    assert stores.run("postgres", "psql", "-qAtX", "-c", "select current_user || current_database()") == "postgressluice"


def test_postgres_stops_in_order_keeps_what_it_holds_and_takes_a_new_password(stores: Stores) -> None:
    stores.psql("sluice_owner", OWNER_PASSWORD, "create table kept as select 42 as answer")
    former, stores.app_password = stores.app_password, "another one"
    stores.cluster.apply(secret_of("database", stores.namespace, password=stores.app_password, owner_password=OWNER_PASSWORD))
    wait_until("the changed Secret in the pod",
               lambda: stores.run("postgres", "cat", "/etc/sluice/postgres/password") == stores.app_password, 120)
    stores.run("postgres", "sh", "-c", "kill -INT 1")   # what the image's STOPSIGNAL says
    stores.wait("postgres", restarts=1)
    assert "database system is shut down" in stores.log("postgres", "--previous")
    assert stores.psql("sluice_owner", OWNER_PASSWORD, "select answer from kept") == "42"
    assert stores.psql("sluice_app", stores.app_password, "select 1") == "1"
    assert "password authentication failed" in stores.psql("sluice_app", former, "select 1")


def test_postgres_that_did_not_stop_in_order_recovers(stores: Stores) -> None:
    stores.psql("sluice_owner", OWNER_PASSWORD, "create table survived as select 1")
    stores.run("postgres", "sh", "-c", "kill -QUIT 1")
    stores.wait("postgres", restarts=2)
    assert "automatic recovery" in stores.run("postgres", "cat", f"{PGDATA}/first.log")   # by the first that opened it
    assert stores.psql("sluice_owner", OWNER_PASSWORD, "select count(*) from survived") == "1"


@pytest.mark.parametrize("name, said", [("redis", "sluice-redis: there is no file /etc/sluice/redis/server-password"),
                                        ("postgres", "sluice-postgres: there is no file /etc/sluice/database/password")])
def test_a_store_without_its_secret_says_so_and_ends(stores: Stores, name: str, said: str) -> None:
    cluster, namespace = stores.cluster, stores.namespace
    bare = pod(f"bare-{name}", namespace, {"image": f"localhost/sluice-{name}:dev"}, data=f"/var/lib/{name}".replace(
        "/postgres", "/postgresql"))
    bare["spec"]["restartPolicy"] = "Never"
    cluster.apply(bare)
    cluster.wait_for_pod(f"bare-{name}", namespace, "Failed")
    assert said in stores.log(f"bare-{name}")


def test_the_server_makes_its_schema_and_serves(stores: Stores) -> None:
    cluster, namespace = stores.cluster, stores.namespace
    env = {"DATABASE_URL": "postgresql://sluice_app@postgres/sluice", "DATABASE_PASSWORD_FILE": "/etc/sluice/server/password",
           "DATABASE_OWNER_URL": f"postgresql://sluice_owner:{OWNER_PASSWORD}@postgres/sluice",
           "COUNTERS": "redis://sluice-server:@redis:6379/0", "REDIS_PASSWORD_FILE": "/etc/sluice/server/server-password",
           "INSECURE_DATABASE": "true", "INSECURE_REDIS": "true"}
    cluster.apply(secret_of("both", namespace, password=stores.app_password, server_password=SERVER_PASSWORD))
    cluster.apply(pod("server", namespace, {
        "image": "localhost/sluice:dev", "command": ["/usr/bin/sluice-server"],
        "env": [{"name": f"SLUICE_SERVER_{name}", "value": value} for name, value in env.items()],
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": 9090}, "periodSeconds": 1}}, "both"))
    cluster.wait_for_pod("server", namespace, seconds=90)


def test_the_agent_counts_in_redis_over_http_and_grpc_and_ends_with_0(stores: Stores, key: MintedKey, tmp_path: Path) -> None:
    cluster, namespace = stores.cluster, stores.namespace
    bundle = Bundle().key(key).plan("two", token_bucket(2, "1/1h")).write(tmp_path / "bundle.json").read_text()
    cluster.apply([secret_of("agent", namespace, password=AGENT_PASSWORD),
                   {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bundle", "namespace": namespace},
                    "data": {"bundle.json": bundle}}])
    wanted = pod("agent", namespace, {
        "image": "localhost/sluice:dev",
        "command": ["/usr/bin/sluice-agent", "--policies", "/etc/bundle/bundle.json", "--counters",
                    "redis://sluice-agent:@redis:6379/0", "--redis-password-file", "/etc/sluice/agent/password",
                    "--insecure-redis", "--listen", "0.0.0.0:8088", "--grpc", "0.0.0.0:50051", "--insecure-listen"],
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": 9088}, "periodSeconds": 1}}, "agent")
    wanted["metadata"]["finalizers"] = ["sluice.dev/test"]   # so that its end can be looked at
    wanted["spec"]["volumes"].append({"name": "bundle", "configMap": {"name": "bundle"}})
    wanted["spec"]["containers"][0]["volumeMounts"].append({"name": "bundle", "mountPath": "/etc/bundle"})
    cluster.apply(wanted)
    address = cluster.wait_for_pod("agent", namespace)["status"]["podIP"]

    def check(subject: str) -> str:
        asked = cluster.on_network("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", f"x-api-key: {key.text}",
                                   "-H", "content-type: application/json", "-d",
                                   json.dumps({"plan_id": "two", "subject": subject}), f"http://{address}:8088/v1/check")
        return subprocess.run(asked, capture_output=True, text=True, check=True, timeout=20).stdout

    def check_over_grpc(subject: str) -> str:
        asked = cluster.on_network(sys.executable, "-c", GRPC_CHECK, f"{address}:50051", key.text, subject)
        return subprocess.run(asked, cwd=TESTS, capture_output=True, text=True, check=True, timeout=60).stdout.strip()

    wait_until("the agent's connection to Redis", lambda: check(fresh_subject()) == "200", 30)
    assert [check("user:1") for _ in range(3)] == ["200", "200", "429"]
    assert [check_over_grpc("user:2"), check("user:2")] == ["True", "200"]
    assert [check_over_grpc("user:2"), check("user:2")] == ["False", "429"]
    cluster.kubectl("delete", "pod", "agent", "-n", namespace, "--wait=false")
    ended = wait_until("the agent's end", lambda: cluster.get("pod", "agent", namespace)["status"]["containerStatuses"][0][
        "state"].get("terminated"), 60)
    cluster.kubectl("patch", "pod", "agent", "-n", namespace, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    assert ended["exitCode"] == 0
