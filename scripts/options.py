"""Answers an unknown option of a script with the nearest one that it has.

For scripts in Python: OptionParser. For those in bash: `options.py UNKNOWN KNOWN...` prints the nearest known word.
"""

import argparse
import difflib
import sys
from collections.abc import Sequence
from typing import Any, Optional


def nearest(unknown: str, known: Sequence[str]) -> str:
    """The known option that is most like it, or nothing."""
    return next(iter(difflib.get_close_matches(unknown.partition("=")[0], known, n=1)), "")


class OptionParser(argparse.ArgumentParser):
    """As its base, and an unknown option is answered with the nearest one."""

    def parse_args(self, args: Optional[Sequence[str]] = None, namespace: Any = None) -> Any:   # type: ignore[override]
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            flags = [flag for action in self._actions for flag in action.option_strings]
            hint = nearest(unknown[0], flags)
            self.error(f"unknown option '{unknown[0]}'" + (f": did you mean {hint}?" if hint else " (see --help)"))
        return options


def main() -> int:
    """Prints the nearest word for a script in bash."""
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0
    print(nearest(sys.argv[1], sys.argv[2:]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
