"""How long answers take to a client that asks one request after the other."""

import math
import time
from collections import Counter
from collections.abc import Callable
from typing import Any


def times(ask: Callable[[], Any], seconds: float) -> tuple[list[float], Counter[int]]:
    """Asks one request after the other for so long; the times of the answers, and how often each status came."""
    took, statuses, end = [], Counter[int](), time.monotonic() + seconds
    while time.monotonic() < end:
        answer = ask()
        took.append(answer.seconds)
        statuses[answer.status] += 1
        time.sleep(0.002)
    return sorted(took), statuses


def p99(took: list[float]) -> float:
    """Of sorted times."""
    return took[math.ceil(len(took) * 0.99) - 1]
