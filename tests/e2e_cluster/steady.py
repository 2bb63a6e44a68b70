"""A steady load on an agent, for whoever measures it: `python3 -m e2e_cluster.steady PORT RATE SECONDS`, the key on standard input."""

import sys
import time
from collections import Counter

from support.client import Client, fresh_subject


def main() -> int:
    """Asks so many times a second, one at a time; prints how many were answered with which status, and the slowest hundredth."""
    port, rate, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    statuses: Counter[int] = Counter()
    took: list[float] = []
    with Client(port, sys.stdin.read().strip()) as client:
        begin = time.monotonic()
        for number in range(int(rate * seconds)):
            time.sleep(max(0.0, begin + number / rate - time.monotonic()))
            answer = client.check(resource="GET:/orders", subject=fresh_subject())
            statuses[answer.status] += 1
            took.append(answer.seconds)
    elapsed = time.monotonic() - begin
    print(f"{dict(statuses)} {len(took) / elapsed:.0f}/s p99 {sorted(took)[len(took) * 99 // 100] * 1000:.2f} ms")
    return 0 if set(statuses) == {200} else 1


if __name__ == "__main__":
    sys.exit(main())
