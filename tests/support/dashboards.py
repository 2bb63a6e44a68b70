"""The Grafana dashboards of k8s/components/dashboards, and their expressions as Grafana asks them."""

import json
from typing import Any

from support.manifests import K8S

FOLDER = K8S / "components/dashboards"


def dashboards() -> list[dict[str, Any]]:
    """Each dashboard."""
    return [json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))]


def panels(dashboard: dict[str, Any]) -> list[dict[str, Any]]:
    """The panels that have queries."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def expressions(interval: str = "5m") -> dict[str, str]:
    """"Dashboard: panel A" → PromQL, with all values of each variable chosen."""
    found = {}
    for dashboard in dashboards():
        for panel in panels(dashboard):
            for target in panel["targets"]:
                text = target["expr"].replace("$__rate_interval", interval)
                for variable in dashboard["templating"]["list"]:
                    text = text.replace(f'"${variable["name"]}"', f'"{variable.get("allValue", "")}"')
                found[f"{dashboard['title']}: {panel['title']} {target['refId']}"] = text
    return found
