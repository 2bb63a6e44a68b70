"""A client of the admin API that holds every answer to what all answers have in common."""

import itertools
import json
import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Optional, Union
from urllib.parse import quote, urlencode

from support.client import Address, Answer, Client

ADMIN = "/v1/admin"
Body = Union[bytes, str, dict[str, Any], list[Any], None]
_names = itertools.count(1)


def fresh_id(prefix: str) -> str:
    """An id nobody has used yet."""
    return f"{prefix}-{time.time_ns():x}-{next(_names)}"


CREDENTIAL_CODES = {"missing", "malformed", "wrong_kind", "expired", "unknown"}


def pointers(answer: Answer) -> list[str]:
    """The fields an error names."""
    return [error["pointer"] for error in answer.body.get("errors", [])]


# What is refused while it is read never becomes a call, and so has no request id.
UNREAD = {f"/problems/{name}" for name in ("framing", "body-too-large", "length-required", "header-too-large", "timeout")}


def assert_well_formed(answer: Answer) -> None:
    """What holds for every answer of the admin API, the good and the bad."""
    if answer.status >= 400 and isinstance(answer.body, dict) and answer.body.get("type") in UNREAD:
        assert answer.body["status"] == answer.status, answer
        return
    assert answer.header("x-request-id"), answer
    assert answer.header("cache-control") == "no-store", answer
    assert answer.header("x-content-type-options") == "nosniff", answer
    if answer.status in (204, 304):
        assert answer.body == "", answer
        return
    kind = (answer.header("content-type") or "").split(";")[0]
    if kind == "application/yaml":   # of an export
        assert isinstance(answer.body, str) and answer.status == 200, answer
        return
    if kind == "text/event-stream":   # of which the client takes only the head
        return
    assert isinstance(answer.body, dict), f"no JSON object: {answer}"
    if answer.status < 400:
        assert kind == "application/json", answer
        return
    assert kind == "application/problem+json", answer
    assert set(answer.body) >= {"type", "title", "status", "code", "detail", "request_id"}, answer
    if answer.body["type"] == "/problems/unauthorized":
        assert answer.body["code"] in CREDENTIAL_CODES, answer
    else:
        assert answer.body["type"] == "/problems/" + answer.body["code"].replace("_", "-"), answer
    assert answer.body["status"] == answer.status
    assert answer.body["request_id"] == answer.header("x-request-id")
    assert answer.body["title"] and answer.body["detail"], answer
    for error in answer.body.get("errors", []):
        assert set(error) >= {"pointer", "detail"} and error["detail"], answer


class AdminClient:
    """One connection that stays open, with a token. Paths are those below /v1/admin; bodies become JSON.

    `query` and `tenant` go into the query; `key` is an Idempotency-Key; `headers` replace or add, and None takes away.
    """

    def __init__(self, address: Address, token: Optional[str], timeout: float = 60.0, source: str = "") -> None:
        self._client = Client(address, timeout=timeout, source=source)
        self.token = token

    def __enter__(self) -> "AdminClient":
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        self._client.close()

    @property
    def local_port(self) -> int:
        """Which connection this is."""
        return self._client.local_port

    def request(self, method: str, path: str, body: Body = None, *, tenant: str = "", key: str = "",
                query: Optional[Mapping[str, Any]] = None,
                headers: Optional[Mapping[str, Optional[str]]] = None) -> Answer:
        """Sends one request and checks the form of its answer."""
        sent: dict[str, Optional[str]] = {"authorization": f"Bearer {self.token}" if self.token else None,
                                          "idempotency-key": key or None}
        if body is not None:
            sent["content-type"] = "application/json"
            if not isinstance(body, (bytes, str)):
                body = json.dumps(body)
            if isinstance(body, str):
                body = body.encode()
        sent.update(headers or {})
        parameters = {**(query or {}), **({"tenant_id": tenant} if tenant else {})}
        target = ADMIN + path + (f"?{urlencode(parameters)}" if parameters else "")
        answer = self._client.request(method, target, body,
                                      {name: value for name, value in sent.items() if value is not None})
        assert_well_formed(answer)
        return answer

    def get(self, path: str, **options: Any) -> Answer:
        """GET."""
        return self.request("GET", path, **options)

    def post(self, path: str, body: Body, **options: Any) -> Answer:
        """POST."""
        return self.request("POST", path, body, **options)

    def put(self, path: str, body: Body, **options: Any) -> Answer:
        """PUT."""
        return self.request("PUT", path, body, **options)

    def patch(self, path: str, body: Body, **options: Any) -> Answer:
        """PATCH."""
        return self.request("PATCH", path, body, **options)

    def delete(self, path: str, **options: Any) -> Answer:
        """DELETE."""
        return self.request("DELETE", path, **options)

    def create(self, path: str, body: Body, **options: Any) -> dict[str, Any]:
        """POST that must succeed; what was made."""
        answer = self.post(path, body, **options)
        assert answer.status == 201, answer
        made: dict[str, Any] = answer.body
        return made

    def items(self, path: str, **options: Any) -> Iterator[dict[str, Any]]:
        """All items of a list, page by page."""
        query = dict(options.pop("query", {}))
        while True:
            page = self.get(path, query=query, **options)
            assert page.status == 200, page
            assert set(page.body) >= {"items", "next"}, page
            yield from page.body["items"]
            if page.body["next"] is None:
                return
            query["cursor"] = page.body["next"]

    def organization(self, prefix: str = "org") -> str:
        """Makes an organization; its id."""
        name = fresh_id(prefix)
        return str(self.create("/organizations", {"id": name, "name": name})["id"])

    def tenant(self, organization: str = "", prefix: str = "tenant", **fields: Any) -> str:
        """Makes a tenant, in an organization of its own where none is named; its id."""
        owner = organization or self.organization()
        return str(self.create("/tenants", {"id": fresh_id(prefix), "organization_id": owner, **fields})["id"])


def segment(text: str) -> str:
    """A text as one segment of a path."""
    return quote(text, safe="")


def bucket(**fields: Any) -> dict[str, Any]:
    """A plan of one token bucket, called like its id: names are unique in a tenant."""
    return {"name": fields.get("id", "pro"), "algorithm": "token_bucket", "bucket_capacity": 100, "refill_rate_per_sec": 20, **fields}


ONE_PER_SECOND = {"name": "token_bucket", "algorithm": "token_bucket", "capacity": 10, "refill": "1/s"}
READ_ONLY = {"version", "revision", "created_at", "updated_at", "warnings"}


def content(body: dict[str, Any]) -> dict[str, Any]:
    """What was stored, without what the store adds and what the test's tenant is called."""
    return {name: value for name, value in body.items() if name not in READ_ONLY | {"tenant_id", "id"}}
