"""Alert rules and dashboard: promtool takes the rules, each alert fires and does not, and every metric is one that the
programs have."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

import pytest
import yaml

from support.admin import bucket
from support.agent import Agent
from support.certificate import certificate
from support.client import Client
from support.manifests import K8S, objects, rendered, with_components
from support.metrics_table import AGENT, SERVER, Table, is_foreign, types_of
from support.process import free_port, wait_until
from support.rate_limits import write_config
from support.redis_server import RedisServer
from support.server import Server
from testbed.binary import KUSTOMIZE, OLDEST_KUSTOMIZE

MONITORING = K8S / "components/monitoring"
ROOT = K8S.parent
TESTS = sorted((Path(__file__).parent / "alerts").glob("*.yaml"))
GUIDE = (ROOT / "docs/guide/operating.md").read_text()
# A metric as PromQL names it, with its matchers.
SELECTOR = re.compile(r"\b((?:sluice|process)_[a-z_]+)\b(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)(=~|!~|!=|=)"([^"]*)"')
JOBS = {"sluice-agent": AGENT, "sluice-server": SERVER}
TARGET = {"job", "namespace", "pod"}   # labels that Prometheus adds to every series
# Words for what became of something: the place of these is a label.
RESULTS = {"ok", "error", "errors", "failed", "failures", "accepted", "refused", "stored", "replayed", "dropped", "unchanged", "lost", "live",
           "missing"}


def rule_groups() -> list[dict[str, Any]]:
    """Of every PrometheusRule."""
    return [group for path in sorted(MONITORING.glob("alerts-*.yaml")) for item in objects(path.read_text())
            for group in item["spec"]["groups"]]


def rules() -> list[dict[str, Any]]:
    """Every rule, the recording ones too."""
    return [rule for group in rule_groups() for rule in group["rules"]]


def alerts() -> list[dict[str, Any]]:
    """Every rule that is an alert."""
    return [rule for rule in rules() if "alert" in rule]


def promtool(*words: str, folder: Optional[Path] = None, text: Optional[str] = None) -> str:
    """What promtool said, of files in a folder or of a text; it must find nothing."""
    assert shutil.which("promtool"), "there is no promtool: scripts/setup manifests"
    done = subprocess.run(["promtool", *words], cwd=folder, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def write_rules(folder: Path, groups: list[dict[str, Any]]) -> None:
    """As Prometheus reads them."""
    (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": groups}))


def test_promtool_finds_no_fault_in_the_rules(tmp_path: Path) -> None:
    write_rules(tmp_path, rule_groups())
    assert f"{len(rules())} rules found" in promtool("check", "rules", "rules.yaml", folder=tmp_path)


@pytest.mark.parametrize("file", TESTS, ids=lambda path: path.stem)
def test_the_alerts_fire_when_they_should_and_only_then(file: Path, tmp_path: Path) -> None:
    groups = rule_groups()
    for group in groups:
        for rule in group["rules"]:
            if "alert" in rule:
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
        assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}, rule["alert"]


def test_each_runbook_is_on_the_page_that_the_server_serves(make_server: Callable[..., Server]) -> None:
    server = make_server().start()
    with Client(server.port) as client:
        page = client.get("/runbooks")
    assert page.status == 200
    anchors = set(re.findall(r'<h3 id="([^"]+)">', str(page.body)))
    for rule in alerts():
        address, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        # Where the guide forwards the server's port to, and one of the names of its certificate.
        assert address == "https://localhost:8080/runbooks", rule["alert"]
        assert anchor == rule["alert"].lower() and anchor in anchors, rule["alert"]
    links = set(re.findall(r'<a href="#([^"]+)">', str(page.body)))
    assert links and links <= set(re.findall(r' id="([^"]+)">', str(page.body)))


def test_one_setting_says_where_the_runbooks_are(tmp_path: Path) -> None:
    own = "https://git.example/sluice/docs/guide/operating.md"
    folder = with_components(tmp_path, "overlays/ha", ("monitoring",))
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    kustomization["transformers"] = [os.path.relpath(K8S / "transformers/runbooks", folder)]
    kustomization["configMapGenerator"] = [{"name": "sluice-runbooks", "literals": [f"url={own}"], "options": {
        "annotations": {"config.kubernetes.io/local-config": "true"}}}]
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    for program in (KUSTOMIZE, OLDEST_KUSTOMIZE):
        found = objects(rendered(folder, program))
        assert not [item for item in found if item["metadata"]["name"].startswith("sluice-runbooks")]
        urls = [rule["annotations"]["runbook_url"] for item in found if item["kind"] == "PrometheusRule"
                for group in item["spec"]["groups"] for rule in group["rules"] if "alert" in rule]
        assert sorted(urls) == sorted(f"{own}#{rule['alert'].lower()}" for rule in alerts())


def expressions() -> dict[str, str]:
    """Rule → PromQL."""
    return {f"{'alert' if 'alert' in rule else 'record'} {rule.get('alert') or rule['record']}": str(rule["expr"]) for rule in rules()}


@pytest.fixture
def scraped(make_server: Callable[..., Server], make_agent: Callable[..., Agent], make_redis: Callable[..., RedisServer],
            tmp_path: Path) -> dict[str, str]:
    """Job → /metrics: of a server with Redis and users in it, and of an agent that follows it and serves all it can."""
    redis = make_redis()
    secret = tmp_path / "redis-users-secret"
    secret.write_text("a secret of more than 32 bytes for passwords")
    server = make_server("--counters", redis.counters, "--redis-survey-every", "200ms", "--redis-users", "per-scope",
                         "--redis-users-secret-file", str(secret), "--notify-secret-file", str(secret),
                         "--playground-agent", "http://127.0.0.1:9").start()
    with server.admin() as admin:
        token = admin.create("/agent-tokens", {"name": "agents"})["token"]
        tenant = admin.tenant()
        assert admin.put("/plans/pro", bucket(), tenant=tenant).status == 201   # a limit to show
        api_key = admin.create("/keys", {"tenant_id": tenant, "name": "app"})["key"]
    (tmp_path / "token").write_text(token)
    (tmp_path / "token").chmod(0o600)
    cert, key = certificate(tmp_path, "agent")
    agent = make_agent(None, redis.counters, "--server", f"http://127.0.0.1:{server.port}", "--agent-token-file",
                       str(tmp_path / "token"), "--snapshot-cache", str(tmp_path / "kept"), "--tls-cert", str(cert),
                       "--tls-key", str(key), "--grpc", f"127.0.0.1:{free_port()}", "--metrics-policy-label", "--ratelimit-config",
                       str(write_config(tmp_path / "limits", shop="domain: shop\n"))).start()
    with agent.unix_client(api_key) as client:
        wait_until("a decision", lambda: client.check(resource="GET:/", subject="user:1").status == 200)
    metrics = wait_until("a scrape with the eviction policy", lambda: next(
        (text for text in [agent.metrics()] if "sluice_redis_eviction_policy_ok" in text), None))
    of_server = wait_until("a survey of Redis' keys", lambda: next(
        (text for text in [str(server.probe("/metrics").body)] if "sluice_redis_tenant_share" in text), None))
    return {"sluice-agent": metrics, "sluice-server": of_server}


def test_promtool_finds_no_fault_in_what_the_programs_expose(scraped: dict[str, str]) -> None:
    for job, metrics in scraped.items():
        assert promtool("check", "metrics", text=metrics) == "", job


def test_the_reference_has_every_metric_of_both_programs_and_no_other(scraped: dict[str, str]) -> None:
    assert types_of(scraped["sluice-agent"]) == AGENT.types_without("--ratelimit-metrics", "--metrics-aliases", "--otlp")   # those: e2e/test_metrics_table, e2e/test_tracing
    assert types_of(scraped["sluice-server"]) == SERVER.types_without("--tls", "--kubernetes", "--webhook", "--otlp")   # those: e2e_cluster, e2e_follow/test_traces


@pytest.mark.parametrize("table", JOBS.values(), ids=JOBS)
def test_names_of_metrics_follow_prometheus_conventions(table: Table) -> None:
    assert table.rows
    bare: dict[str, str] = {}
    for name, kind, _, _ in table.rows:
        if is_foreign(name):
            continue
        assert name.endswith("_total") == (kind == "counter"), name
        assert kind != "histogram" or name.endswith(("_seconds", "_utilization")), name
        assert not re.search(r"_(not_after|until|expiry)_seconds$", name), f"{name}: a point in time ends in _timestamp_seconds"
        without = "_".join(word for word in name.split("_") if word not in RESULTS)
        assert without not in bare, f"{name} and {bare[without]} differ in a result, which belongs into a label"
        bare[without] = name


def test_promtool_finds_no_fault_in_the_names_that_need_a_cluster() -> None:
    for table in JOBS.values():
        text = ""
        for name, kind, _, _ in table.rows:
            if is_foreign(name):
                continue
            suffixes = ('_bucket{le="+Inf"}', "_sum", "_count") if kind == "histogram" else ("",)
            text += f"# HELP {name} Help.\n# TYPE {name} {kind}\n" + "".join(f"{name}{suffix} 1\n" for suffix in suffixes)
        assert promtool("check", "metrics", text=text) == ""


def family_of(name: str, table: Table) -> Optional[str]:
    """The metric in a program's table that a name in PromQL belongs to."""
    if table.types.get(name) in ("counter", "gauge"):
        return name
    family = re.sub(r"_(bucket|sum|count)$", "", name)
    return family if family != name and table.types.get(family) == "histogram" else None


def wrong_matchers(matchers: str, labels: dict[str, set[str]], histogram: bool) -> list[str]:
    """Matchers that can match no series of a metric, because it has no such label or the label no such value."""
    wrong = []
    for label, operator, value in MATCHER.findall(matchers):
        values = labels.get(label, set())
        matches = {one for one in values if (re.fullmatch(value, one) if "~" in operator else one == value)}
        if label not in labels and label not in TARGET | ({"le"} if histogram else set()):
            wrong.append(f"there is no label {label}")
        elif values and not matches:
            wrong.append(f"{label} never is {value}")
    return wrong


def faults_of(expression: str) -> list[str]:
    """What an expression asks for that the programs do not have."""
    faults = []
    for name, matchers in SELECTOR.findall(expression):
        job = re.search(r'job="([^"]+)"', matchers)
        tables = [JOBS[job[1]]] if job else list(JOBS.values())
        families = [(table, family) for table in tables if (family := family_of(name, table))]
        if not families:
            faults.append(f"{name} is no metric of {job[1] if job else 'a program'}")
        found = [wrong_matchers(matchers, table.values[family], table.types[family] == "histogram") for table, family in families]
        if found and all(found):
            faults += [f"{name}: {text}" for text in found[0]]
    return faults


def grouped_labels(expression: str) -> set[str]:
    """Labels that an expression groups or joins by."""
    return {label for labels in re.findall(r"\b(?:by|on) \(([^)]*)\)", expression) for label in re.findall(r"\w+", labels)}


def test_every_metric_and_label_in_rules_is_one_of_the_program_that_is_asked() -> None:
    for where, expression in expressions().items():
        names = [name for name, _ in SELECTOR.findall(expression)]
        recorded = set(re.findall(r"\bsluice:[a-z0-9_:]+", expression))
        assert names or recorded or "up{" in expression, where
        assert recorded <= {rule.get("record") for rule in rules()}, where
        assert faults_of(expression) == [], where
        of_metrics = {label for name in names for table in JOBS.values() if (family := family_of(name, table)) for label in table.labels[family]}
        assert grouped_labels(expression) <= of_metrics | TARGET | {"le"}, where


@pytest.mark.parametrize("expression, fault", [
    ('rate(sluice_sync_fetches_total{job="sluice-agent",result="whole"}[5m])', "sluice_sync_fetches_total: result never is whole"),
    ('sluice_sync_fetches_total{job="sluice-agent",kind="delta"}', "sluice_sync_fetches_total: there is no label kind"),
    ('sluice_checks_in_flight{job="sluice-server"}', "sluice_checks_in_flight is no metric of sluice-server"),
    ("rate(sluice_decision_duration_seconds[5m])", "sluice_decision_duration_seconds is no metric of a program"),
    ("sluice_nothing", "sluice_nothing is no metric of a program")])
def test_an_expression_that_asks_for_nothing_is_found(expression: str, fault: str) -> None:
    assert faults_of(expression) == [fault]
