"""Reports with invented agent ids: the token that sends them is refused at its quota, and the agents of other tenants are
listed, and their usage is counted, as when all is quiet."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import Any

import pytest

from support.admin import AdminClient, fresh_id
from support.process import wait_until
from support.raw import RawConnection, RawReply
from support.server import Server
from support.sync_client import SyncAgent

QUOTA = 5000   # agents a token
INVENTED = int(os.environ.get("SLUICE_ISOLATION_IDS", "6000"))
AT_ONCE = 50   # requests on one connection


@pytest.fixture(scope="module")
def server(module_server: Callable[..., Server]) -> Server:
    """Stores usage quickly."""
    return module_server("--analytics-every", "100ms").start()


@pytest.fixture
def admin(server: Server) -> Iterator[AdminClient]:
    """A platform_admin."""
    with server.admin() as client:
        yield client


def token_for(admin: AdminClient, tenant: str) -> str:
    """An agent token of one tenant."""
    organization = admin.get(f"/tenants/{tenant}").body["organization_id"]
    return str(admin.create("/agent-tokens", {"name": "agents", "organization_id": organization,
                                              "tenant_ids": [tenant]})["token"])


def usage(number: int, tenant: str) -> dict[str, Any]:
    """One decision of a tenant."""
    now = f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
    return {"number": number, "from": now, "to": now,
            "counts": [{"tenant_id": tenant, "policy_id": "orders", "outcome": "allowed", "count": 1}]}


class Flood:
    """A client that reports as one agent after the other, many requests at once."""

    def __init__(self, server: Server, token: str, tenant: str) -> None:
        self.taken = 0
        self.refusals: list[RawReply] = []
        self._server, self._token, self._tenant = server, token, tenant
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Flood":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()

    @property
    def running(self) -> bool:
        """Whether it still sends."""
        return self._thread.is_alive()

    def _run(self) -> None:
        with RawConnection(self._server.port, timeout=60) as connection:
            for first in range(0, INVENTED, AT_ONCE):
                numbers = range(first, min(first + AT_ONCE, INVENTED))
                connection.send(b"".join(self._report(number) for number in numbers))
                for _ in numbers:
                    reply = connection.reply()
                    assert reply is not None
                    if reply.status == 200:
                        self.taken += 1
                    else:
                        self.refusals.append(reply)

    def _report(self, number: int) -> bytes:
        body = json.dumps({"agent_id": f"invented-{number}", "pod": "", "boot_id": "b", "version": "0.1.0", "revision": None,
                           "chain": None, "degraded": [], "refusal": None, "reports": [usage(1, self._tenant)]}).encode()
        return (f"POST /v1/sync/report HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self._token}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode() + body


def live_through(server: Server, admin: AdminClient, tenant: str) -> float:
    """A new agent of the tenant reports usage, is listed, and its usage is counted; how long that took, in seconds."""
    begin = time.monotonic()
    agent = SyncAgent(server.port, token_for(admin, tenant), fresh_id("agent"))

    def settled() -> bool:
        answer = agent.report(reports=[usage(1, tenant)])
        assert answer.status in (200, 401), answer   # 401: the server does not know the new token yet
        return bool(answer.status == 200 and answer.body["stored"] == 1)

    counted = admin.get("/analytics", tenant=tenant).body["totals"]["decisions"]
    wait_until("its usage to be stored", settled, 30)
    assert admin.get("/analytics", tenant=tenant).body["totals"]["decisions"] == counted + 1
    wait_until("it to be listed", lambda: [item for item in admin.items("/agents", query={"tenant_id": tenant})
                                           if item["id"] == agent.agent_id], 30)
    return time.monotonic() - begin


def test_invented_agent_ids_are_refused_at_the_quota_and_cost_no_other_tenant_anything(server: Server,
                                                                                      admin: AdminClient) -> None:
    organization = admin.organization()
    noisy, beside, elsewhere = admin.tenant(organization), admin.tenant(organization), admin.tenant()
    quiet = max(live_through(server, admin, tenant) for tenant in (beside, elsewhere))
    token = token_for(admin, noisy)
    attacked: list[float] = []
    with Flood(server, token, noisy) as flood:
        wait_until("the flood", lambda: flood.taken > 0)
        while flood.running:
            attacked += [live_through(server, admin, tenant) for tenant in (beside, elsewhere)]
    attacked += [live_through(server, admin, tenant) for tenant in (beside, elsewhere)]   # while the list is full
    print(f"a new agent is listed and counted after {quiet:.2f} s quiet, {max(attacked):.2f} s attacked ({len(attacked)} agents)")
    assert (flood.taken, len(flood.refusals)) == (QUOTA, INVENTED - QUOTA)
    for refusal in flood.refusals:
        problem = refusal.json()
        assert (refusal.status, problem["type"]) == (429, "/problems/quota"), refusal
        assert "agents_per_token" in problem["detail"] and f"{QUOTA} of {QUOTA}" in problem["detail"], problem
        assert refusal.headers["retry-after"], refusal
    # All that was taken counts, and the noisy one goes on with the agents that it has.
    wait_until("the usage of those that were taken",
               lambda: admin.get("/analytics", tenant=noisy).body["totals"]["decisions"] == QUOTA, 60)
    known = SyncAgent(server.port, token, "invented-0")
    assert known.report().status == 200
    assert SyncAgent(server.port, token, "another").report().status == 429
    assert server.metric("sluice_fleet_unlisted_agents_total") == len(flood.refusals) + 1
    # More tokens of the tenant do not make room.
    second = SyncAgent(server.port, token_for(admin, noisy), "another")
    refused = wait_until("an answer", lambda: (answer := second.report()).status != 401 and answer)
    assert refused.status == 429 and f'The quota agents of tenant "{noisy}"' in refused.body["detail"], refused


def test_an_agent_that_ends_makes_room_for_another_one(server: Server, admin: AdminClient) -> None:
    tenant = admin.tenant()
    token = token_for(admin, tenant)
    with Flood(server, token, tenant) as flood:
        pass
    assert flood.taken == QUOTA
    newcomer = SyncAgent(server.port, token, "newcomer")
    assert newcomer.report().status == 429
    assert SyncAgent(server.port, token, "invented-0").report(leaving=True).status == 200
    wait_until("room", lambda: newcomer.report().status == 200, 30)
