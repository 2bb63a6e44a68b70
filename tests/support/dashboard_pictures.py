"""Draws the dashboards from a Prometheus' answers to their own queries, for people who want to see them without a Grafana.

Needs matplotlib (Debian's python3-matplotlib)."""

import re
from pathlib import Path
from typing import Any

from support.dashboards import dashboards, panels, plain
from support.prometheus import Prometheus

SECONDS = 40.0   # of time that a picture shows
UNITS = {"reqps": "requests/s", "ops": "1/s", "s": "seconds", "bytes": "MB", "Bps": "kB/s", "percentunit": "%", "short": ""}
FACTORS = {"bytes": 1e-6, "Bps": 1e-3, "percentunit": 100.0}


def named(legend: str, labels: dict[str, str]) -> str:
    """A legend with the values of its labels."""
    for label, value in labels.items():
        legend = legend.replace("{{" + label + "}}", value)
    return re.sub(r"{{\w+}}", "(none)", legend)


def draw_panel(axes: Any, panel: dict[str, Any], dashboard: dict[str, Any], prometheus: Prometheus, interval: str) -> None:
    """One panel: its series as lines, or its newest values."""
    unit = panel["fieldConfig"]["defaults"]["unit"]
    axes.set_title(panel["title"], loc="left", fontsize=9)
    values = []
    for target in panel["targets"]:
        for labels, samples in prometheus.ranges(plain(target["expr"], dashboard, interval), SECONDS):
            name = named(target["legendFormat"], labels)
            values.append(f"{name}  {samples[-1][1]:g}")
            if panel["type"] == "timeseries":
                axes.plot([at - samples[-1][0] for at, _ in samples], [value * FACTORS.get(unit, 1) for _, value in samples], label=name)
    if panel["type"] == "stat":
        axes.axis("off")
        axes.text(0, 0.5, "\n".join(values), fontsize=14, va="center")
        return
    axes.set_ylim(bottom=0)
    axes.set_xlim(-SECONDS, 0)
    axes.set_ylabel(UNITS[unit], fontsize=7)
    axes.tick_params(labelsize=7)
    axes.grid(alpha=0.3)
    if values:
        axes.legend(fontsize=6, loc="upper left", ncols=2 if len(values) > 4 else 1)


def draw(folder: Path, prometheus: Prometheus, interval: str) -> None:
    """A PNG for each dashboard."""
    import matplotlib   # pylint: disable=import-outside-toplevel  # only who draws needs it
    matplotlib.use("Agg")
    from matplotlib import pyplot   # pylint: disable=import-outside-toplevel
    for dashboard in dashboards():
        height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in dashboard["panels"])
        figure = pyplot.figure(figsize=(18, height / 3.2))
        figure.suptitle(dashboard["title"], x=0.02, ha="left")
        for panel in panels(dashboard):
            place = panel["gridPos"]
            axes = figure.add_axes((place["x"] / 24 + 0.03, 0.97 - (place["y"] + place["h"] - 1.5) / (height + 1), place["w"] / 24 - 0.045,
                                    (place["h"] - 2.5) / (height + 1)))
            draw_panel(axes, panel, dashboard, prometheus, interval)
        figure.savefig(folder / f"{dashboard['uid']}.png", dpi=70)
        pyplot.close(figure)
