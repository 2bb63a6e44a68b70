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


def plain(expression: str, dashboard: dict[str, Any], interval: str) -> str:
    """An expression of a dashboard as Prometheus takes it, with all values of each variable chosen."""
    expression = expression.replace("$__rate_interval", interval)
    for variable in dashboard["templating"]["list"]:
        expression = expression.replace(f'"${variable["name"]}"', f'"{variable.get("allValue", "")}"')
    return expression


def expressions(interval: str = "5m") -> dict[str, str]:
    """Dashboard, panel and query → PromQL."""
    return {f"{dashboard['title']}: {panel['title']} {target['refId']}": plain(target["expr"], dashboard, interval)
            for dashboard in dashboards() for panel in panels(dashboard) for target in panel["targets"]}
