"""A server with the settings and the rights that the manifests give it, against a real API server: it needs no more, and it
understands each of them."""

import base64
import http.client
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from support.kube import KubeCluster
from support.manifests import K8S, containers, objects, one, rendered
from support.metrics_table import SERVER, types_of
from support.process import all_of, wait_until
from support.redis_server import RedisServer
from support.server import Server, run_command

NAMESPACE = "sluice-system"
DEV = K8S / "overlays/dev"
SECONDS = 60.0
SNAPSHOT = "/v1/sync/snapshot"


@pytest.fixture(scope="module")
def plane(own_control_plane: KubeCluster) -> KubeCluster:
    """With overlay dev, none of whose pods run."""
    own_control_plane.kubectl("apply", "-k", str(DEV))
    return own_control_plane


def of_account(plane: KubeCluster, account: str, folder: Path) -> dict[str, str]:
    """What tells a server outside where the cluster is, and that it is this account."""
    token = folder / f"{account}.token"
    token.write_text(plane.token(NAMESPACE, account))
    return {"SLUICE_SERVER_KUBERNETES": plane.url, "SLUICE_SERVER_KUBERNETES_CA": str(plane.ca_file),
            "SLUICE_SERVER_KUBERNETES_TOKEN_FILE": str(token), "SLUICE_SERVER_KUBERNETES_NAMESPACE": NAMESPACE}


def settings(folder: Path, password: str) -> dict[str, str]:
    """The server's variables as overlay dev sets them; each file that they name is here, with the password in it."""
    found = objects(rendered(DEV))
    container = containers(one(found, "Deployment", "sluice-server")["spec"]["template"])[-1]
    given: dict[str, str] = dict(one(found, "ConfigMap", container["envFrom"][0]["configMapRef"]["name"])["data"])
    given |= {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}
    for name, value in given.items():
        if value.startswith("/etc/sluice/"):
            (folder / name).write_text(password)
            given[name] = str(folder / name)
    return given


def test_the_job_makes_the_secrets_and_may_do_it_again(plane: KubeCluster, server_program: Path, tmp_path: Path) -> None:
    rights = of_account(plane, "sluice-make-secrets", tmp_path)
    for said in ("sluice-database created\nsluice-redis created\n", "sluice-database exists, unchanged\nsluice-redis exists, unchanged\n"):
        done = run_command(server_program, "make-secrets", env=rights)
        assert (done.returncode, done.stdout) == (0, said), done.stderr
    assert "owner-url" in plane.get("secret", "sluice-database", NAMESPACE)["data"]


@pytest.fixture
def server(plane: KubeCluster, make_server: Callable[..., Server], make_redis: Callable[..., RedisServer], tmp_path: Path) -> Server:
    """As a pod of the Deployment, but for where things are."""
    redis = make_redis(tcp=True, password="x1y2z3")
    secret = tmp_path / "redis-users-secret"
    secret.write_text("a secret of more than 32 bytes for passwords")
    env = settings(tmp_path, redis.password) | of_account(plane, "sluice-server", tmp_path) | {
        "SLUICE_SERVER_COUNTERS": f"redis://127.0.0.1:{redis.port}/0", "SLUICE_SERVER_AGENTS_REDIS_USER": "sluice-agent",
        "SLUICE_SERVER_REDIS_SURVEY_EVERY": "200ms", "SLUICE_SERVER_REDIS_USERS": "per-scope",
        "SLUICE_SERVER_REDIS_USERS_SECRET_FILE": str(secret),
        "SLUICE_SERVER_INJECT_COUNTERS": "redis://redis.example:6379/0"}   # no pod could reach 127.0.0.1
    return make_server("--webhook", "127.0.0.1:0", "--inject-missed-every", "1s", env=env).start()


def trusted(plane: KubeCluster) -> str:
    """The authority of the servers' certificate."""
    return base64.b64decode(plane.get("secret", "sluice-tls", NAMESPACE)["data"]["ca.crt"]).decode()


def bundle(plane: KubeCluster) -> str:
    """Whom the API server trusts when it asks the webhook."""
    hook = plane.get("mutatingwebhookconfiguration", "sluice-injector")["webhooks"][0]
    return base64.b64decode(hook["clientConfig"].get("caBundle", "")).decode()


def status(plane: KubeCluster, server: Server, path: str, token: str) -> int:
    """What somebody with this token is answered."""
    context = ssl.create_default_context(cadata=trusted(plane))
    connection = http.client.HTTPSConnection("localhost", server.port, context=context, timeout=30)
    connection.request("GET", path, headers={"authorization": f"Bearer {token}"})
    return connection.getresponse().status


def test_the_server_keeps_its_certificate_and_tells_the_api_server_of_it(plane: KubeCluster, server: Server) -> None:
    assert server.metric("sluice_tls_certificate_expiry_timestamp_seconds", certificate="serving") > 0
    wait_until("the webhook's caBundle", lambda: bundle(plane) == trusted(plane), SECONDS)
    plane.kubectl("apply", "-k", str(DEV))
    assert bundle(plane) == trusted(plane), "an apply leaves it alone"


def test_every_metric_of_a_server_in_a_cluster_is_in_the_readme_and_every_row_is_a_metric(plane: KubeCluster, server: Server) -> None:
    assert status(plane, server, "/v1/admin/organizations", "none") == 401   # some are there from the first request on
    late = ("sluice_redis_eviction_policy_ok", "sluice_http_requests_total", "sluice_redis_tenant_share")
    scraped = wait_until("a scrape with what comes late", lambda: next(
        (text for text in [str(server.probe("/metrics").body)] if all_of(late, lambda name: name in text)), None))
    assert types_of(scraped) == SERVER.types


def test_it_reviews_tokens(plane: KubeCluster, server: Server) -> None:
    assert status(plane, server, SNAPSHOT, plane.token(NAMESPACE, "sluice-server")) == 401, "it is for another audience"
    assert status(plane, server, SNAPSHOT, plane.token(NAMESPACE, "sluice-server", "sluice")) == 403, "it is good, and nothing binds it"


def test_it_finds_pods_without_an_agent_and_marks_them(plane: KubeCluster, server: Server, make_namespace: Callable[..., str]) -> None:
    namespace = make_namespace(plane, {"sluice.dev/inject": "enabled"})   # whose webhook nobody answers here: Ignore
    plane.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "missed", "namespace": namespace},
                 "spec": {"containers": [{"name": "app", "image": "app:1"}]}})
    wait_until("the missed pod", lambda: server.metric("sluice_injector_missed_pods") >= 1, SECONDS)
    wait_until("its Event", lambda: [event for event in plane.get("events", "", namespace)["items"]
                                     if event["reason"] == "SidecarMissing" and event["involvedObject"]["name"] == "missed"], SECONDS)
    assert server.metric("sluice_injector_scans_total", result="error") == 0
