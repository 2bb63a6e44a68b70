"""Grafana dashboards: written from their description, provisioned by ConfigMaps, and asking only for what the programs have."""

import re
import subprocess
from pathlib import Path

from manifests.test_alerts import GUIDE, JOBS, SELECTOR, TARGET, family_of, faults_of, grouped_labels, promtool, write_rules
from support.dashboards import FOLDER, dashboards, expressions, panels
from support.manifests import K8S, objects, rendered, with_components

TITLES = {"Overview", "Tenant", "Policy", "Fleet", "Redis", "Server and sync"}
ADDED = TARGET | {"instance"}   # labels that Prometheus adds


def test_the_dashboards_are_what_their_description_says() -> None:
    done = subprocess.run([K8S.parent / "scripts/dashboards", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_each_dashboard_is_a_config_map_that_grafana_finds(tmp_path: Path) -> None:
    found = {name: item for item in objects(rendered(with_components(tmp_path, "base", ("dashboards",))))
             if item["kind"] == "ConfigMap" and item["metadata"].get("labels", {}).get("grafana_dashboard") == "1"
             for name in item["data"]}
    assert {name: item["data"][name] for name, item in found.items()} == {path.name: path.read_text() for path in FOLDER.glob("*.json")}
    assert all(item["metadata"]["namespace"] == "sluice-system" for item in found.values())


def test_every_panel_says_what_it_shows_in_which_unit_and_none_covers_another() -> None:
    assert {each["title"] for each in dashboards()} == {f"Sluice / {title}" for title in TITLES}
    assert len({each["uid"] for each in dashboards()}) == len(TITLES)
    for dashboard in dashboards():
        for panel in panels(dashboard):
            assert panel["description"] and panel["fieldConfig"]["defaults"]["unit"] and panel["targets"], panel["title"]
            assert panel["datasource"]["uid"] == "${datasource}"
        cells = [(each["gridPos"]["x"] + x, each["gridPos"]["y"] + y) for each in dashboard["panels"]
                 for x in range(each["gridPos"]["w"]) for y in range(each["gridPos"]["h"])]
        assert len(set(cells)) == len(cells) and max(x for x, _ in cells) < 24


def test_every_link_leads_to_a_section_of_the_guide() -> None:
    headlines = {re.sub(r"[^a-z0-9 -]", "", line.lower()).replace(" ", "-") for line in re.findall(r"^#+ (.+)$", GUIDE, re.M)}
    links = [link["url"] for dashboard in dashboards() for panel in panels(dashboard) for link in panel.get("links", [])]
    assert len(links) > 20
    for link in links:
        page, _, section = link.partition("#")
        assert page == "${runbooks}" and section in headlines, link


def test_the_variables_of_a_dashboard_are_those_that_its_expressions_use() -> None:
    for dashboard in dashboards():
        offered = {each["name"] for each in dashboard["templating"]["list"]} - {"datasource", "runbooks"}
        text = " ".join(target["expr"] for panel in panels(dashboard) for target in panel["targets"])
        assert set(re.findall(r'"\$(\w+)"', text)) == offered, dashboard["title"]


def test_every_metric_and_label_is_one_of_the_program_that_is_asked(tmp_path: Path) -> None:
    for where, expression in expressions().items():
        bare = re.sub(r',?instance=~"[^"]*"', "", expression)
        names = [name for name, _ in SELECTOR.findall(bare)]
        assert names or "up{" in bare, where
        assert faults_of(bare) == [], where
        of_metrics = {label for name in names for table in JOBS.values() if (family := family_of(name, table)) for label in table.labels[family]}
        assert grouped_labels(expression) <= of_metrics | ADDED | {"le"}, where
    write_rules(tmp_path, [{"name": "dashboards", "rules": [
        {"record": f"expression_{number}", "expr": text} for number, text in enumerate(expressions().values())]}])
    assert f"{len(expressions())} rules found" in promtool("check", "rules", "rules.yaml", folder=tmp_path)
