"""Clients that need no agent (sdk/CONTRACT.md, Test doubles)."""

import itertools
from typing import Any

from sdk.adapter import Adapter, ClientUnderTest

_names = itertools.count(1)


def double(adapter: Adapter, kind: str, script: "list[dict[str, Any]] | None" = None) -> ClientUnderTest:
    """A client of this kind."""
    made = ClientUnderTest.__new__(ClientUnderTest)
    made.adapter, made.name = adapter, f"double{next(_names)}"
    answer = adapter.ask("double", client=made.name, kind=kind, script=script or [])
    assert answer.get("ok") is True, answer
    return made


def test_a_double_allows_or_denies_everything_and_records_what_it_was_asked(adapter: Adapter) -> None:
    for kind, allowed in (("always_allow", True), ("always_deny", False)):
        client = double(adapter, kind)
        first = client.check(resource="GET:/orders", subject="user:42", cost=3)
        assert (first["allowed"], first["decided"], first["error"]) == (allowed, True, None)
        assert [one["allowed"] for one in client.batch({"subject": "a"}, {"subject": "b"})] == [allowed] * 2
        recorded = adapter.ask("recorded", client=client.name)
        assert recorded["checks"] == [{"resource": "GET:/orders", "subject": "user:42", "cost": 3}, {"subject": "a"}, {"subject": "b"}]
        assert recorded["open_leases"] == []


def test_a_script_answers_in_order_and_then_allows(adapter: Adapter) -> None:
    client = double(adapter, "scripted", [{"allowed": False, "retry_after_ms": 1500}, {"error": "timeout"},
                                          {"allowed": True, "limit": 5, "remaining": 2, "policy": "orders"}])
    denied, failed, allowed, after = (client.check(subject="a") for _ in range(4))
    assert (denied["allowed"], denied["retry_after_ms"], denied["decided"]) == (False, 1500, True)
    assert (failed["allowed"], failed["decided"], failed["error"]["kind"]) == (True, False, "timeout")
    assert (allowed["allowed"], allowed["limit"], allowed["remaining"], allowed["policy"]) == (True, 5, 2, "orders")
    assert (after["allowed"], after["decided"]) == (True, True)
    assert len(adapter.ask("recorded", client=client.name)["checks"]) == 4


def test_a_double_knows_the_leases_that_are_open(adapter: Adapter) -> None:
    client = double(adapter, "always_allow")
    for block in ("double-a", "double-b"):
        assert client.lease(block, subject="a")["lease_id"]
    assert len(adapter.ask("recorded", client=client.name)["open_leases"]) == 2
    client.end_lease("double-a", "fail")
    assert len(adapter.ask("recorded", client=client.name)["open_leases"]) == 1
    client.end_lease("double-b")
    assert adapter.ask("recorded", client=client.name)["open_leases"] == []


def test_a_denied_lease_is_not_open(adapter: Adapter) -> None:
    client = double(adapter, "always_deny")
    assert client.lease("double-c", subject="a")["lease_id"] is None
    assert adapter.ask("recorded", client=client.name)["open_leases"] == []
    client.end_lease("double-c")


def test_a_double_waits_as_a_client_does(adapter: Adapter) -> None:
    client = double(adapter, "scripted", [{"allowed": False, "retry_after_ms": 200}])
    seconds, decision = client.wait(10_000, subject="a")
    assert decision["allowed"] and seconds > 0.19
    assert len(adapter.ask("recorded", client=client.name)["checks"]) == 2
