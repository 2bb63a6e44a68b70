"""How long a page keeps a person waiting: what Chromium itself measures, and frames that come late."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

# Runs before the page's own script. A frame that comes late is what a person sees of any work, on the main thread or
# elsewhere; a long task is the page's own share of it.
WATCH = """
window.timing = { tasks: [], events: [], frames: [], largest: 0 };
new PerformanceObserver((list) => list.getEntries().forEach((each) => timing.tasks.push([each.startTime, each.duration])))
  .observe({ type: "longtask", buffered: true });
new PerformanceObserver((list) => list.getEntries().forEach((each) => timing.events.push([each.startTime, each.duration, each.name])))
  .observe({ type: "event", durationThreshold: 16, buffered: true });
new PerformanceObserver((list) => list.getEntries().forEach((each) => { timing.largest = each.startTime; }))
  .observe({ type: "largest-contentful-paint", buffered: true });
let last = performance.now();
requestAnimationFrame(function frame(now) {
  if (now - last > 20) timing.frames.push([last, now - last]);
  last = now;
  requestAnimationFrame(frame);
});
"""


@dataclass(frozen=True)
class Pauses:
    """The longest of one phase, in ms; 0 where there was none that Chromium reports."""

    cpu: float     # processor time of one task of the page's thread, by Chromium's trace: what other work on the machine cannot lengthen
    task: float    # that kept the page's thread (above 50 ms)
    frame: float   # between two frames (above 20 ms)
    event: float   # from a key or a click to the next frame that shows its effect (in steps of 8 ms)


def longest_cpu(trace: bytes) -> float:
    """Of the tasks of a page's main thread, in ms."""
    events = json.loads(trace)["traceEvents"]
    mains = {(each["pid"], each["tid"]) for each in events
             if each.get("name") == "thread_name" and each["args"].get("name") == "CrRendererMain"}
    took = [each["tdur"] for each in events if (each["pid"], each["tid"]) in mains and "tdur" in each]
    assert took, "the trace has no task of a page"
    return float(max(took)) / 1000


@dataclass(frozen=True)
class FirstView:
    """Milliseconds since the page was asked for."""

    contentful: float   # the first paint with a content
    largest: float      # the largest content so far
    rows: float         # the first rows of the table
    whole: float        # all rows


class Timing:
    """Of one page, which was made with WATCH as an init script."""

    def __init__(self, browser: Any, page: Any) -> None:
        self._browser = browser
        self._page = page

    @contextmanager
    def phase(self, found: dict[str, Pauses], name: str) -> Iterator[None]:
        """Keeps the pauses of what happens within."""
        self._browser.start_tracing(page=self._page, categories=["toplevel", "__metadata"])
        begin = self._settle()
        yield
        self._settle()
        found[name] = Pauses(longest_cpu(self._browser.stop_tracing()), *self._since(begin))

    def _settle(self) -> float:
        """Two frames later, when entries of what was before have arrived; the page's clock."""
        now: float = self._page.evaluate(
            "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(performance.now()), 50))))")
        return now

    def _since(self, begin: float) -> list[float]:
        longest: list[float] = self._page.evaluate(
            "begin => [timing.tasks, timing.frames, timing.events].map((all) => "
            "Math.max(0, ...all.filter(([at]) => at >= begin).map(([, took]) => took)))", begin)
        return longest

    def first_view(self) -> FirstView:
        """Of the table of policies: loads the page that is open anew, and waits until all rows are there."""
        self._page.reload(wait_until="commit")
        seen: list[float] = self._page.evaluate("""() => new Promise((done) => {
          let rows = 0;
          (function look() {
            if (rows === 0 && document.querySelector("tbody tr")) rows = performance.now();
            const text = document.querySelector(".table footer")?.textContent ?? "";
            if (rows > 0 && text !== "" && !text.includes("loading")) done([rows, performance.now()]);
            else requestAnimationFrame(look);
          })();
        })""")
        self._settle()
        painted: float = self._page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1")
        return FirstView(painted, self._page.evaluate("timing.largest"), *seen)
