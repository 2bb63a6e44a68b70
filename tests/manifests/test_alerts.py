"""Alert rules and dashboard: promtool takes the rules, each alert fires and does not, and every metric is one that the
programs have."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.agent import Agent
from support.certificate import certificate
from support.manifests import K8S, objects
from support.process import wait_until
from support.redis_server import RedisServer
from support.server import Server

MONITORING = K8S / "components/monitoring"
ROOT = K8S.parent
TESTS = sorted((Path(__file__).parent / "alerts").glob("*.yaml"))
GUIDE = (ROOT / "docs/guide/operating.md").read_text()
METRIC = re.compile(r"\b((?:sluice|process)_[a-z_]+)\b")
# Metrics that only a server in a cluster has: these no program shows here, and must stand in its source.
IN_CLUSTER = re.compile(r"sluice_(?:injector|token_reviews)_\w+?(?=(?:_bucket|_sum|_count)?$)")


def rule_groups() -> list[dict[str, Any]]:
    """Of every PrometheusRule."""
    return [group for path in sorted(MONITORING.glob("alerts-*.yaml")) for item in objects(path.read_text())
            for group in item["spec"]["groups"]]


def alerts() -> list[dict[str, Any]]:
    """Every rule."""
    return [rule for group in rule_groups() for rule in group["rules"]]


def promtool(*words: str, folder: Path) -> str:
    """What promtool said; it must find nothing."""
    assert shutil.which("promtool"), "there is no promtool: scripts/setup manifests"
    done = subprocess.run(["promtool", *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def write_rules(folder: Path, groups: list[dict[str, Any]]) -> None:
    """As Prometheus reads them."""
    (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": groups}))


def test_promtool_finds_no_fault_in_the_rules(tmp_path: Path) -> None:
    write_rules(tmp_path, rule_groups())
    assert f"{len(alerts())} rules found" in promtool("check", "rules", "rules.yaml", folder=tmp_path)


@pytest.mark.parametrize("file", TESTS, ids=lambda path: path.stem)
def test_the_alerts_fire_when_they_should_and_only_then(file: Path, tmp_path: Path) -> None:
    groups = rule_groups()
    for group in groups:
        for rule in group["rules"]:
            rule["annotations"] = {"summary": rule["annotations"]["summary"]}
    write_rules(tmp_path, groups)
    shutil.copy(file, tmp_path / "tests.yaml")
    promtool("test", "rules", "tests.yaml", folder=tmp_path)


def test_each_alert_is_seen_firing_and_silent_and_stands_in_the_guide() -> None:
    checks = [check for file in TESTS for test in yaml.safe_load(file.read_text())["tests"]
              for check in test["alert_rule_test"]]
    names = {rule["alert"] for rule in alerts()}
    assert {check["alertname"] for check in checks if check.get("exp_alerts")} == names
    assert {check["alertname"] for check in checks if not check.get("exp_alerts")} == names
    sections = dict(re.findall(r"^### (Sluice\w+)\n(.*?)(?=^#|\Z)", GUIDE, re.M | re.S))
    assert set(sections) == names
    for name, section in sections.items():
        assert all(re.search(rf"^\*\*{part}\*\*", section, re.M) for part in ("Means", "Effect", "Do")), name
    for rule in alerts():
        assert rule["labels"]["severity"] in ("warning", "critical"), rule
        assert set(rule["annotations"]) == {"summary", "description", "runbook"}, rule["alert"]
        assert rule["annotations"]["runbook"] == f"docs/guide/operating.md#{rule['alert'].lower()}"


def dashboard() -> dict[str, Any]:
    """The Grafana dashboard."""
    made: dict[str, Any] = json.loads((MONITORING / "sluice.json").read_text())
    return made


def expressions() -> dict[str, str]:
    """Where → PromQL."""
    found = {f"alert {rule['alert']}": str(rule["expr"]) for rule in alerts()}
    for panel in dashboard()["panels"]:
        for number, target in enumerate(panel.get("targets", [])):
            found[f"panel {panel['title']} {number}"] = target["expr"]
    return found


def test_prometheus_reads_every_expression_of_the_dashboard(tmp_path: Path) -> None:
    plain = {where: text.replace("$__rate_interval", "5m").replace("$namespace", ".+") for where, text in expressions().items()}
    write_rules(tmp_path, [{"name": "dashboard", "rules": [
        {"record": f"expression_{number}", "expr": text} for number, text in enumerate(plain.values())]}])
    assert f"{len(plain)} rules found" in promtool("check", "rules", "rules.yaml", folder=tmp_path)


def names_in(metrics: str) -> set[str]:
    """Every name that can be asked for, of what was scraped."""
    found = set()
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", metrics, re.M):
        found |= {f"{name}_{part}" for part in ("bucket", "sum", "count")} if kind == "histogram" else {name}
    return found


@pytest.fixture
def scraped(make_server: Callable[..., Server], make_agent: Callable[..., Agent], make_redis: Callable[..., RedisServer],
            tmp_path: Path) -> dict[str, set[str]]:
    """Job → names of metrics: of a server with Redis and TLS, and of an agent that follows it and listens with TLS."""
    redis = make_redis()
    server = make_server("--counters", redis.counters).start()
    with server.admin() as admin:
        token = admin.create("/agent-tokens", {"name": "agents"})["token"]
        api_key = admin.create("/keys", {"tenant_id": admin.tenant(), "name": "app"})["key"]
    (tmp_path / "token").write_text(token)
    (tmp_path / "token").chmod(0o600)
    cert, key = certificate(tmp_path, "agent")
    agent = make_agent(None, redis.counters, "--server", f"http://127.0.0.1:{server.port}", "--agent-token-file",
                       str(tmp_path / "token"), "--snapshot-cache", str(tmp_path / "kept"), "--tls-cert", str(cert),
                       "--tls-key", str(key)).start()
    with agent.unix_client(api_key) as client:
        wait_until("a decision", lambda: client.check(resource="GET:/", subject="user:1").status == 200)
    metrics = wait_until("a scrape with the eviction policy", lambda: next(
        (text for text in [agent.metrics()] if "sluice_redis_eviction_policy_ok" in text), None))
    secured = make_server("--tls-cert", str(cert), "--tls-key", str(key)).start()
    return {"sluice-agent": names_in(metrics),
            "sluice-server": names_in(str(server.probe("/metrics").body)) | names_in(str(secured.probe("/metrics").body))}


def source_names() -> set[str]:
    """Names of metrics in the server's source."""
    return {name for path in (ROOT / "server").rglob("*.[ch]pp") for name in re.findall(r'"(sluice_[a-z_]+)"', path.read_text())}


def test_every_metric_in_rules_and_dashboard_is_one_of_the_program_that_is_asked(scraped: dict[str, set[str]]) -> None:
    in_source = source_names()
    for where, expression in expressions().items():
        jobs = set(re.findall(r'job="([^"]+)"', expression)) or set(scraped)
        assert jobs <= set(scraped), f"{where}: {jobs}"
        asked = METRIC.findall(re.sub(r'"[^"]*"', '""', expression))
        assert asked or "up{" in expression, where
        for name in asked:
            in_cluster = IN_CLUSTER.match(name)
            known = any(name in scraped[job] for job in jobs) or (in_cluster and in_cluster[0] in in_source)
            assert known, f"{where} asks {' or '.join(sorted(jobs))} for {name}, which it does not have"
