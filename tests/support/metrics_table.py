"""The tables of metrics in docs/reference/metrics.md, and what a program's /metrics has of them."""

import re
from pathlib import Path

REFERENCE = (Path(__file__).resolve().parents[2] / "docs/reference/metrics.md").read_text()


# Names of envoyproxy/ratelimit (--ratelimit-metrics) and of other limiters (--metrics-aliases), which do not follow our conventions.
ENVOY = "ratelimit_service_"
ALIASES = {"rl_allowed_total", "rl_blocked_total", "requests_total", "decisions_total", "decisions_allowed_total",
           "decisions_denied_total", "decisions_shadow_total", "algorithm_latency_ms", "counter_store_errors_total",
           "policy_cache_hit_total", "backend_fail_open_total", "rate_limiter_fail_open_total"}


def is_foreign(name: str) -> bool:
    """Whether a metric has a name of others."""
    return name.startswith(ENVOY) or name in ALIASES


class Table:
    """What the reference says of a program's metrics."""

    def __init__(self, program: str) -> None:
        section = REFERENCE.split(f"## Metrics of `{program}`")[1].split("\n## ")[0]
        self.rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) \| .+? (Only [^|]+?\. )?\|$", section, re.M)
        self.types = {name: kind for name, kind, _, _ in self.rows}
        self.when = {name: when.strip() for name, _, _, when in self.rows}
        # "`result`: `ok`, `error`<br>`status`: HTTP status": each label with its values, none where the reference does not list them.
        self.values = {name: {label: set(re.findall(r"`([^`]+)`", values)) if values.startswith("`") else set()
                              for label, values in re.findall(r"(?:^|<br>)`(\w+)`: (.*?)(?=<br>|$)", labels)}
                       for name, _, labels, _ in self.rows}
        self.labels = {name: set(labels) for name, labels in self.values.items()}

    def types_without(self, *flags: str) -> dict[str, str]:
        """Name → type of what is there without these flags."""
        return {name: kind for name, kind in self.types.items() if not any(f"`{flag}" in self.when[name] for flag in flags)}


AGENT, SERVER = Table("sluice-agent"), Table("sluice-server")


def types_of(metrics: str) -> dict[str, str]:
    """Name → type of what was scraped."""
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", metrics, re.M))


def labels_of(metrics: str) -> dict[str, set[str]]:
    """Name → labels of what was scraped; a histogram's own `le` is no label of ours."""
    found: dict[str, set[str]] = {name: set() for name in types_of(metrics)}
    for name, labels in re.findall(r"^(\w+)\{(.*)\} \S+$", metrics, re.M):
        family = name if name in found else re.sub(r"_(bucket|sum|count)$", "", name)
        found[family] |= set(re.findall(r'(?:^|,)(\w+)="', labels)) - {"le"}
    return found
