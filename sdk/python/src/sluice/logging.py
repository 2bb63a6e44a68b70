"""The standard library's logging: a filter that lets records pass by decision.

    handler.addFilter(RateLimitFilter(client))

Add it to handlers rather than to loggers: a logger's filter does not see the records of the loggers below it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from sluice._decision import Decision
from sluice._errors import SluiceError
from sluice._sync import Client
from sluice._web import fit

__all__ = ["RateLimitFilter"]


class RateLimitFilter(logging.Filter):
    """Drops records whose check is denied. Each record costs a check, so set a short `timeout` for the client.

    The check has the resource `log:LOGGER`, the subject LOGGER, and the severity. `fields` adds or replaces members, from the record.
    `least`: records of this level and above always pass. A record that passes has `suppressed`: how many of its logger were dropped
    since the last one that passed. Records of the SDK itself pass unchecked.
    """

    def __init__(self, client: Client, *, fields: Callable[[logging.LogRecord], Mapping[str, Any]] | None = None,
                 least: int = logging.CRITICAL) -> None:
        super().__init__()
        self._client = client
        self._fields = fields
        self._least = least
        self._lock = threading.Lock()
        self._dropped: dict[str, int] = {}
        self._inside = threading.local()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record passes."""
        if record.name == "sluice" or record.name.startswith("sluice.") or getattr(self._inside, "yes", False):
            return True
        allowed = record.levelno >= self._least or self._allowed(record)
        with self._lock:
            if not allowed:
                self._dropped[record.name] = self._dropped.get(record.name, 0) + 1
                return False
            record.suppressed = self._dropped.pop(record.name, 0)
        return True

    def _allowed(self, record: logging.LogRecord) -> bool:
        fields: dict[str, Any] = {"resource": fit(f"log:{record.name}"), "subject": fit(record.name), "signal": "log",
                                  "severity": fit(record.levelname.lower())}
        self._inside.yes = True   # what a check itself logs must not be checked
        try:
            decision: Decision = self._client.check(**{**fields, **(self._fields(record) if self._fields is not None else {})})
            return decision.allowed
        except SluiceError:   # on_error is raise; a filter must not break the program that logs
            return True
        finally:
            self._inside.yes = False
