"""Adds up JUnit files and prints the closing line of scripts/test.

ctest counts programs; the doctest cases inside them are what people mean by tests, so those are counted.
Usage: test_sum.py FAILED_SUITES FILE...
"""

import re
import sys
import xml.etree.ElementTree as ElementTree

CASES = re.compile(r"\[doctest\] test cases:\s*(\d+)\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed")


def count(case: ElementTree.Element) -> tuple[int, int, int]:
    """Passed, failed and skipped tests behind one <testcase>."""
    if case.find("skipped") is not None or case.get("status") in ("disabled", "notrun"):
        return 0, 0, 1
    broken = case.find("failure") is not None or case.find("error") is not None
    text = "".join(node.text or "" for node in case.iter("system-out"))
    summaries = CASES.findall(text)
    if not summaries:
        return (0, 1, 0) if broken else (1, 0, 0)
    passed = sum(int(summary[1]) for summary in summaries)
    failed = sum(int(summary[2]) for summary in summaries)
    # A program may fail although all its cases pass: a crash at the end, or a sanitizer's finding.
    return passed, max(failed, int(broken)), 0


def main() -> int:
    """Prints the sum; 1 where anything failed or nothing ran."""
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0 if len(sys.argv) == 2 else 2
    broken_suites, totals = int(sys.argv[1]), [0, 0, 0]
    for path in sys.argv[2:]:
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            totals = [total + more for total, more in zip(totals, count(case))]
    passed, failed, skipped = totals
    failed = max(failed, broken_suites)
    if skipped:
        print(f"({skipped} skipped)")
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
