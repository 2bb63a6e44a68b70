"""An agent's side of policy sync, by hand: fetches, watches and reports as they are on the wire."""

import gzip
import hashlib
import http.client
import json
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Optional

SYNC = "/v1/sync"


@dataclass
class Reply:
    """One answer. `body` is unpacked, and parsed where it is JSON."""

    status: int
    headers: dict[str, str]
    body: Any
    raw: bytes


def object_sum(objects: list[tuple[str, str, str, str]]) -> str:
    """The order-free checksum of objects: kind, tenant_id, id, the document's text."""
    lanes = [0, 0, 0, 0]
    for parts in objects:
        digest = hashlib.sha256(b"".join(len(part.encode()).to_bytes(8, "big") + part.encode() for part in parts)).digest()
        for lane in range(4):
            lanes[lane] = (lanes[lane] + int.from_bytes(digest[8 * lane:8 * lane + 8], "little")) % 2**64
    return b"".join(lane.to_bytes(8, "little") for lane in lanes).hex()


class Watch:
    """An open watch stream; each line with the moment at which it came."""

    def __init__(self, port: int, headers: dict[str, str], query: str, timeout: float) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        self._connection.request("GET", f"{SYNC}/watch{query}", headers=headers)
        self._response = self._connection.getresponse()
        self.status = self._response.status
        self.headers = {name.lower(): value for name, value in self._response.getheaders()}

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self._connection.close()

    def line(self) -> Optional[dict[str, Any]]:
        """The next one; None where the stream was finished. A stream that is cut off is an error."""
        text = self._response.readline()
        if not text:
            return None
        assert text.endswith(b"\n"), text
        line: dict[str, Any] = json.loads(text)
        line["at"] = time.monotonic()
        return line

    def invalidation(self) -> Optional[dict[str, Any]]:
        """The next line that is no heartbeat."""
        while (line := self.line()) is not None and line.get("heartbeat"):
            pass
        return line

    def heartbeat(self) -> dict[str, Any]:
        """The next line, which must be a heartbeat."""
        line = self.line()
        assert line is not None and line.get("heartbeat") is True, line
        return line


@dataclass
class SyncAgent:
    """One agent of a token. It keeps what it was given, and holds each answer to its checksum."""

    port: int
    token: str
    agent_id: str = "agent-1"
    position: Optional[tuple[int, str]] = None
    objects: dict[tuple[str, str, str], str] = field(default_factory=dict)
    reads: str = ""   # the header Sluice-Reads; "": none, as agents of an earlier release

    def headers(self) -> dict[str, str]:
        """Of every request."""
        return {"Authorization": f"Bearer {self.token}", "Sluice-Agent": self.agent_id,
                **({"Sluice-Reads": self.reads} if self.reads else {})}

    def query(self) -> str:
        """Where it is."""
        return "" if self.position is None else "?since={}&chain={}".format(*self.position)

    def request(self, method: str, path: str, body: Optional[bytes] = None, packed: bool = False) -> Reply:
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            headers = {**self.headers(), **({"Accept-Encoding": "gzip"} if packed else {})}
            connection.request(method, SYNC + path, body, headers)
            response = connection.getresponse()
            raw = response.read()
        finally:
            connection.close()
        given = {name.lower(): value for name, value in response.getheaders()}
        text = gzip.decompress(raw) if given.get("content-encoding") == "gzip" else raw
        return Reply(response.status, given, json.loads(text) if text else None, raw)

    def fetch(self, packed: bool = False, heard: Optional[tuple[int, str]] = None) -> Reply:
        """Fetches and applies what is new; `heard`: a position that it was told of."""
        query = self.query()
        if heard is not None:
            query += "{}heard={}&heard_chain={}".format("&" if query else "?", *heard)
        answer = self.request("GET", f"/snapshot{query}", packed=packed)
        if answer.status == 200:
            self.apply(answer.body)
        return answer

    def apply(self, document: dict[str, Any]) -> None:
        """Takes a document in; its checksum must hold. (Documents are compact JSON with their members in order.)"""
        assert document["format"] == "sluice-sync/v1"
        if "since" in document:
            assert self.position is not None and document["since"] == self.position[0]
        else:
            self.objects = {}
        for item in document.get("removed", []):
            self.objects.pop((item["kind"], item["tenant_id"], item["id"]), None)
        for item in document["objects"]:
            text = json.dumps(item["document"], separators=(",", ":"), ensure_ascii=False)
            self.objects[item["kind"], item["tenant_id"], item["id"]] = text
        assert object_sum([(*key, text) for key, text in self.objects.items()]) == document["checksum"]
        self.position = document["revision"], document["chain"]

    def watch(self, timeout: float = 30) -> Watch:
        """Opens a watch from where it is."""
        return Watch(self.port, self.headers(), self.query(), timeout)

    def report(self, **members: Any) -> Reply:
        """Reports its state and these reports."""
        revision, chain = self.position or (None, None)
        body = {"agent_id": self.agent_id, "pod": "", "boot_id": "b1", "version": "0.1.0", "revision": revision, "chain": chain,
                "degraded": [], "refusal": None, "reports": [], **members}
        return self.request("POST", "/report", json.dumps(body).encode())
