"""The seven algorithms in exact arithmetic, as plainly as the algorithms document defines them.

Each model is told the time by the caller (the agent's `now_us`) and judges one limit: judge(now, cost) returns the
fields the agent must show. Times are microseconds; -1 is never.
"""

import calendar
import datetime
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import Any

NEVER = -1


@dataclass(frozen=True)
class Verdict:
    """What one limit says of one call."""

    admitted: bool
    remaining: int
    reset_after_us: int
    retry_after_us: int
    delay_us: int = 0


@dataclass
class Bucket:
    """Token bucket and leaky bucket: `units` come back every `per_us` microseconds."""

    capacity: int
    units: int
    per_us: int
    leaky: bool = False
    spent: Fraction = Fraction(0)
    time: int = 0

    def judge(self, now: int, cost: int) -> Verdict:
        """Judges and, where admitted, charges."""
        rate = Fraction(self.units, self.per_us)
        before = max(Fraction(0), self.spent - (now - self.time) * rate)
        admitted = cost == 0 or before + cost <= self.capacity
        retry = 0
        if not admitted:
            retry = NEVER if cost > self.capacity else ceil((before + cost - self.capacity) / rate)
        after = before + cost if admitted else before
        if admitted:
            self.spent, self.time = after, now
        delay = ceil(before / rate) if self.leaky and admitted else 0
        return Verdict(admitted, max(0, floor(self.capacity - after)), ceil(after / rate), retry, delay)


@dataclass
class FixedWindow:
    """A count that starts afresh with each window; `first` windows open at the first hit."""

    limit: int
    window: int
    first: bool = False
    start: int = 0
    count: int = 0

    def judge(self, now: int, cost: int) -> Verdict:
        """Judges and, where admitted, charges."""
        start, count = self.start, self.count
        if self.first:
            if now >= start + self.window or count == 0:
                start, count = now, 0
        elif now - now % self.window > start:
            start, count = now - now % self.window, 0
        left = start + self.window - now
        admitted = cost == 0 or count + cost <= self.limit
        retry = 0 if admitted else NEVER if cost > self.limit else left
        if admitted and cost:
            count += cost
            self.start, self.count = start, count
        return Verdict(admitted, max(0, self.limit - count), left if count else 0, retry)


@dataclass
class SlidingWindow:
    """The counter of this window and the last, weighed by how much of the last one is still in sight."""

    limit: int
    window: int
    start: int = 0
    previous: int = 0
    current: int = 0

    def judge(self, now: int, cost: int) -> Verdict:
        """Judges and, where admitted, charges."""
        width = self.window
        elapsed = now % width
        start = now - elapsed
        if start > self.start:
            self.previous = self.current if start - width == self.start else 0
            self.start, self.current = start, 0
        weighed = Fraction(self.previous * (width - elapsed), width)
        admitted = cost == 0 or weighed + self.current + cost <= self.limit
        retry = 0
        if not admitted and cost > self.limit:
            retry = NEVER
        elif not admitted and self.current + cost <= self.limit:
            retry = width - elapsed - (self.limit - self.current - cost) * width // self.previous
        elif not admitted:
            retry = 2 * width - elapsed - (self.limit - cost) * width // self.current
        if admitted:
            self.current += cost
        reset = 2 * width - elapsed if self.current else width - elapsed if self.previous else 0
        return Verdict(admitted, max(0, floor(self.limit - weighed - self.current)), reset, retry)


@dataclass
class Entries:
    """What the log and the leases share: weights that are there until a time of their own."""

    limit: int
    lifetime: int
    ends: list[tuple[int, int]] = field(default_factory=list)   # (end, weight), by end

    def judge(self, now: int, cost: int) -> Verdict:
        """Judges and, where admitted, charges."""
        self.ends = [entry for entry in self.ends if entry[0] > now]
        spent = sum(weight for _, weight in self.ends)
        admitted = cost == 0 or spent + cost <= self.limit
        retry = 0
        if not admitted and cost > self.limit:
            retry = NEVER
        elif not admitted:
            left = spent
            for end, weight in self.ends:
                left -= weight
                if left + cost <= self.limit:
                    retry = end - now
                    break
        if admitted and cost:
            self.ends.append((now + self.lifetime, cost))
            spent += cost
        return Verdict(admitted, max(0, self.limit - spent), self.ends[-1][0] - now if self.ends else 0, retry)


@dataclass
class MonthlyQuota:
    """A budget for each calendar month, UTC."""

    limit: int
    month: tuple[int, int] = (0, 0)
    count: int = 0

    def judge(self, now: int, cost: int) -> Verdict:
        """Judges and, where admitted, charges."""
        moment = datetime.datetime.fromtimestamp(now // 1_000_000, datetime.timezone.utc)
        if (moment.year, moment.month) != self.month:
            self.month, self.count = (moment.year, moment.month), 0
        days = calendar.monthrange(moment.year, moment.month)[1]
        first = datetime.datetime(moment.year, moment.month, 1, tzinfo=datetime.timezone.utc)
        left = int(first.timestamp() + days * 86400) * 1_000_000 - now
        admitted = cost == 0 or self.count + cost <= self.limit
        retry = 0 if admitted else NEVER if cost > self.limit else left
        if admitted:
            self.count += cost
        return Verdict(admitted, max(0, self.limit - self.count), left if self.count else 0, retry)


def binding_limit(limits: list[dict[str, Any]]) -> dict[str, Any]:
    """Which limit a decision shows, of those that `explain` lists in the plan's order: of the limits that deny, the one with
    the longest wait; else, of those that the call spends from (a read: of all), the one with the smallest share left."""
    denying = [limit for limit in limits if not limit["admitted"]]
    if denying:
        return max(denying, key=lambda limit: float("inf") if limit["retry_after_us"] == NEVER else limit["retry_after_us"])
    spent = [limit for limit in limits if limit["cost"] > 0] or limits
    return min(spent, key=lambda limit: Fraction(limit["remaining"], limit["limit"]) if limit["limit"] else Fraction(0))
