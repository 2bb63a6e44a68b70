"""The description of the API, as anybody can read it, and its examples, sent as they stand."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.admin import ADMIN, AdminClient
from support.browser_session import BrowserSession
from support.client import Client
from support.redis_server import RedisServer
from support.server import Server

# What is made first: the examples refer to each other.
CREATED = ("organizations", "tenants", "plans", "policies", "keys", "tokens", "agent-tokens", "bindings", "group-mappings", "webhooks")
METHODS = ("put", "patch", "get", "post", "delete")   # what is deleted is of no more use, nor what POST clears


@pytest.fixture
def open_client(server: Server) -> Iterator[Client]:
    """A connection without a token."""
    with Client(server.port) as client:
        yield client


def document_of(client: Client) -> dict[str, Any]:
    """/openapi.json."""
    answer = client.get("/openapi.json")
    assert answer.status == 200
    document: dict[str, Any] = answer.body
    return document


@pytest.mark.parametrize(("path", "kind"), [("/openapi.json", "application/json"), ("/docs", "text/html"),
                                            ("/v1/health", "application/json"), ("/problems/invalid", "text/html"),
                                            ("/runbooks", "text/html")])
def test_anybody_may_read_an_open_page_and_nothing_else_can_be_done_with_it(open_client: Client, path: str,
                                                                            kind: str) -> None:
    answer = open_client.get(path)
    assert answer.status == 200
    assert (answer.header("content-type") or "").split(";")[0] == kind
    assert answer.header("x-content-type-options") == "nosniff"
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"):
        refused = open_client.request(method, path, b"" if method in ("POST", "PUT", "PATCH") else None)
        assert refused.status == 405, (method, refused)
        assert refused.header("allow") == "GET, HEAD"


def test_the_page_needs_nothing_from_elsewhere(open_client: Client) -> None:
    page = open_client.get("/docs")
    assert (page.header("content-security-policy") or "").startswith("default-src 'none';")
    assert not re.search(r"(src|href)=\"?(https?:)?//", str(page.body))
    assert "/openapi.json" in str(page.body).split("<noscript>")[1].split("</noscript>")[0]


def test_every_example_of_the_description_works_as_it_stands(make_server: Callable[..., Server],
                                                             make_redis: Callable[..., RedisServer], tmp_path: Path) -> None:
    redis = make_redis()
    key = tmp_path / "webhook.key"
    key.write_text("a key of more than 32 bytes for webhooks")
    server = make_server("--counters", redis.counters, "--redis-deadline", "2s", "--notify-secret-file", str(key),
                         "--playground-agent", "http://127.0.0.1:9").start()
    with Client(server.port) as client:
        document = document_of(client)
    with server.admin() as admin:
        made = {kind: create(admin, document, kind) for kind in CREATED}
        # Last of all, as an override may be of a limit that an old version has not.
        paths = sorted(document["paths"].items(), key=lambda pair: pair[0].endswith("/rollback"))
        for method in METHODS:
            for path, item in paths:
                is_creating = method == "post" and path.removeprefix(f"{ADMIN}/") in CREATED
                # test_playground.py has an agent.
                if method in item and path.startswith(ADMIN) and not is_creating and path != f"{ADMIN}/playground/check":
                    send(admin, document, method, path, item[method], made)


def create(admin: AdminClient, document: dict[str, Any], kind: str) -> str:
    """Sends the examples of a kind's POST; the id of the first that was made."""
    operation = document["paths"][f"{ADMIN}/{kind}"]["post"]
    examples = operation["requestBody"]["content"]["application/json"]["examples"].values()
    return str([admin.create(f"/{kind}", example["value"])["id"] for example in examples][0])


def send(admin: AdminClient, document: dict[str, Any], method: str, path: str, operation: dict[str, Any],
         made: dict[str, str]) -> None:
    """Sends each example of an operation, or the call alone, with the examples of its parameters."""
    query = {}
    for reference in operation["parameters"]:
        parameter = document["components"]["parameters"][reference["$ref"].rpartition("/")[2]]
        if parameter["in"] == "path":
            # The server makes the ids of tokens.
            kind = path.removeprefix(f"{ADMIN}/").split("/")[0]
            value = made[kind] if kind.endswith("tokens") else str(parameter["example"])
            if parameter["name"] == "delivery":   # its id is random
                value = admin.post("/webhooks/alerts/test", {}, query=query or {"tenant_id": "shop"}).body["id"]
            path = path.replace(f"{{{parameter['name']}}}", value)
        elif parameter["in"] == "query" and "example" in parameter:
            query[parameter["name"]] = parameter["example"]
    if method == "delete":
        # What others refer to stays: that is an answer too.
        assert admin.delete(path.removeprefix(ADMIN), query=query).status in (204, 404, 409)
        return
    content = operation.get("requestBody", {}).get("content", {})
    if not content:
        # A call with a token has no session.
        caller = BrowserSession.sign_in(admin) if path == f"{ADMIN}/session" else admin
        answer = caller.request(method.upper(), path.removeprefix(ADMIN), query=query)
        assert answer.status == 200, (method, path, answer)
    if path == f"{ADMIN}/whatif":   # the bundle that was applied before says nothing of it
        assert admin.patch("/tenants/shop", {"record_requests": True}).status == 200
    for kind, media in content.items():
        for example in media["examples"].values():
            value = example["value"]
            text = value if isinstance(value, str) else json.dumps(value)
            answer = admin.request(method.upper(), path.removeprefix(ADMIN), text, query=query,
                                   headers={"content-type": kind})
            assert answer.status in (200, 201), (method, path, value, answer)
