"""Shares of what was measured: of single times, and of a Prometheus histogram."""


def percentile(seconds: list[float], part: float) -> float:
    """The value that so large a part of all does not exceed."""
    return sorted(seconds)[min(len(seconds) - 1, int(part * len(seconds)))]


def histogram(text: str, metric: str, **labels: str) -> dict[float, float]:
    """A histogram's cumulative counts by upper bound, summed over what else it tells apart."""
    lines = [line for line in text.splitlines() if line.startswith(f"{metric}_bucket")]
    bounds = {line.split('le="')[1].split('"')[0] for line in lines}
    counts = {}
    for bound in bounds:
        wanted = [f'le="{bound}"', *(f'{label}="{value}"' for label, value in labels.items())]
        counts[float(bound)] = sum(float(line.rsplit(" ", 1)[1]) for line in lines if all(part in line for part in wanted))
    return counts


def share_within(now: dict[float, float], before: dict[float, float], bound: float) -> float:
    """Which part of what came since is within the bound."""
    total = now[float("inf")] - before.get(float("inf"), 0)
    assert total > 0
    return (now[bound] - before.get(bound, 0)) / total
