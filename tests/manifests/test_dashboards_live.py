"""Every panel of the dashboards shows something: a real Prometheus scrapes a server, its agent and their Redis under load.

With SLUICE_DASHBOARD_PICTURES=FOLDER it also draws them there (support/dashboard_pictures.py)."""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from support.agent import Agent
from support.client import Client
from support.dashboard_pictures import draw
from support.dashboards import FOLDER, expressions
from support.process import wait_until
from support.prometheus import Prometheus
from support.redis_server import RedisServer
from support.server import Server

INTERVAL = "15s"


class Load:
    """Checks that are allowed, refused, shadowed, not matched and overloaded, and calls of the admin API, until close()."""

    def __init__(self, agent: Agent, key: str, server: Server) -> None:
        self._agent, self._key, self._server = agent, key, server
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        with Client(self._agent.port, self._key) as client, self._server.admin() as admin:
            while not self._stop.wait(0.05):
                for resource in ("GET:/orders", "GET:/other"):
                    client.check(resource=resource, subject="user:1")
                admin.get("/organizations")
                client.batch(*[{"resource": "GET:/orders", "subject": f"user:{number}"} for number in range(10)])

    def close(self) -> None:
        """Ends it."""
        self._stop.set()
        self._thread.join()


@pytest.fixture
def redis(make_redis: Callable[..., RedisServer]) -> RedisServer:
    """A Redis that the test may stop."""
    return make_redis()


@pytest.fixture
def prometheus(redis: RedisServer, make_server: Callable[..., Server], make_agent: Callable[..., Agent],
               tmp_path: Path) -> Iterator[Prometheus]:
    """Prometheus with an agent under load and the server that it follows."""
    server = make_server("--counters", redis.counters, "--redis-survey-every", "1s").start()
    with server.admin() as admin:
        tenant = admin.tenant()
        # A shadow is judged where it ranks above the policy that decides.
        for name, limit, mode, scope in (("orders", 50, "enforce", {}), ("orders-next", 20, "shadow", {"subject": "user:1"})):
            answer = admin.put(f"/policies/{name}", {
                "scope": {"resource": "GET:/orders", **scope}, "key_by": ["subject"], "mode": mode,
                "limits": [{"name": "all", "algorithm": "fixed_window", "limit": limit, "window": "10s"}]}, tenant=tenant)
            assert answer.status in (200, 201), answer
        key = admin.create("/keys", {"tenant_id": tenant, "name": "app"})["key"]
        token = admin.create("/agent-tokens", {"name": "agents"})["token"]
    (tmp_path / "token").write_text(token)
    (tmp_path / "token").chmod(0o600)
    agent = make_agent(None, redis.counters, "--server", f"http://127.0.0.1:{server.port}", "--agent-token-file",
                       str(tmp_path / "token"), "--snapshot-cache", str(tmp_path / "kept"), "--metrics-policy-label",
                       "--max-in-flight", "4", "--redis-deadline", "1s").start()
    load = Load(agent, key, server)
    made = Prometheus(tmp_path / "prometheus", {"sluice-agent": [agent.admin_port], "sluice-server": [server.admin_port]})
    yield made
    made.close()
    load.close()


def of_an_outage() -> set[str]:
    """The panels that are empty as long as all is well."""
    return {f"{dashboard['title']}: {panel['title']}" for dashboard in yaml.safe_load((FOLDER / "dashboards.yaml").read_text())
            for row in dashboard["rows"] for members in row.values() for panel in members if panel.get("needs") == "outage"}


def test_every_panel_has_data_under_load_and_those_of_an_outage_have_it_then(prometheus: Prometheus, redis: RedisServer) -> None:
    outage = of_an_outage()
    quiet = {where: text for where, text in expressions(INTERVAL).items() if where[:-2] not in outage}
    assert len(quiet) > 40 and outage

    def empty() -> list[str]:
        return [where for where, text in quiet.items() if not prometheus.values(text)]

    missing: list[str] = []

    def all_have_data() -> bool:
        missing[:] = empty()
        return not missing

    try:
        wait_until("data for every panel", all_have_data, 60)
    except AssertionError as error:
        raise AssertionError(f"no data for {missing}") from error
    if folder := os.environ.get("SLUICE_DASHBOARD_PICTURES"):
        draw(Path(folder), prometheus, INTERVAL)
    redis.kill9()
    for where, text in expressions(INTERVAL).items():
        if where[:-2] in outage:
            wait_until(where, lambda text=text: prometheus.values(text), 60)
