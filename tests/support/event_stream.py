"""A reader of server-sent events."""

import http.client
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Optional

from support.admin import ADMIN
from support.client import Answer

FLEET = f"{ADMIN}/fleet/events"


@dataclass
class Event:
    """One event; `name` is "" for a comment. `data` is parsed JSON."""

    name: str
    data: Any = None
    id: Optional[str] = None
    at: float = 0.0


class EventStream:
    """An open stream of events, or the refusal to open one."""

    def __init__(self, port: int, token: str, query: str = "", path: str = FLEET,
                 headers: Optional[Mapping[str, str]] = None, timeout: float = 60.0, source: str = "") -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout,
                                                      source_address=(source, 0) if source else None)
        authorization = {"Authorization": f"Bearer {token}"} if token else {}
        self._connection.request("GET", path + query, headers={"Accept": "text/event-stream", **authorization, **(headers or {})})
        self._response = self._connection.getresponse()
        self.status = self._response.status
        self.headers = {name.lower(): value for name, value in self._response.getheaders()}

    def __enter__(self) -> "EventStream":
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        self._response.close()   # else the socket stays open, as the response reads from it
        self._connection.close()

    def refusal(self) -> Answer:
        """The answer, where no stream was opened."""
        return Answer(self.status, self.headers, json.loads(self._response.read()), 0.0)

    def event(self) -> Optional[Event]:
        """The next event or comment; None where the stream was finished. A stream that is cut off is an error."""
        found = Event("")
        seen = False
        while line := self._response.readline():
            text = line.decode()
            assert text.endswith("\n"), text
            text = text[:-1]
            if not text:
                if seen:
                    found.at = time.monotonic()
                    return found
                continue
            name, _, value = text.partition(":")
            value = value.removeprefix(" ")
            seen = seen or name != "retry"
            if name == "event":
                found.name = value
            elif name == "data":
                found.data = json.loads(value)
            elif name == "id":
                found.id = value
            else:
                assert name in ("", "retry"), text
        return None

    def until(self, what: str, wanted: Callable[[Event], bool], seconds: float = 30.0) -> Event:
        """The next event that is wanted."""
        end = time.monotonic() + seconds
        seen = []
        while time.monotonic() < end:
            event = self.event()
            assert event is not None, f"the stream ended before {what}; it had {seen}"
            if event.name and wanted(event):
                return event
            seen.append(event)
        raise AssertionError(f"no event in {seconds} s: {what}; there were {seen}")
