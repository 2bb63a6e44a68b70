"""Quotas of calls a second and of agents: who is held to them, that every server does so within a second, and that they
cost PostgreSQL nothing."""

import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from support.admin import AdminClient, fresh_id
from support.client import Answer
from support.process import wait_until
from support.server import Server
from support.sync_client import Reply, SyncAgent

pytestmark = pytest.mark.alone   # calls a second, and changes within a second

SOON = 1.0   # seconds until every server holds to a quota


@pytest.fixture(scope="module")
def servers(module_server: Callable[..., Server]) -> list[Server]:
    """Two that share a database; without a quota, tokens may call as often as they like."""
    first = module_server().start()
    second = module_server(database=first.database)
    second.token = first.token
    return [first, second.start()]


@pytest.fixture
def admin(servers: list[Server]) -> Iterator[AdminClient]:
    """A platform_admin at the first server."""
    with servers[0].admin() as client:
        yield client


def reader(admin: AdminClient, organization: str, *tenants: str) -> str:
    """A token that reads an organization, or some of its tenants."""
    return str(admin.create("/tokens", {"name": fresh_id("token"), "role": "auditor", "organization_id": organization,
                                        **({"tenant_ids": list(tenants)} if tenants else {})})["token"])


def set_quotas(admin: AdminClient, owner: str, **quotas: int) -> None:
    """`owner`: the end of the path."""
    assert admin.put(f"/quotas/{owner}", {"quotas": quotas}).status == 200


def reads(server: Server, token: str, calls: int) -> tuple[Counter[int], list[Answer]]:
    """How many calls got which status, and the answers that were refused."""
    with server.admin(token) as client:
        answers = [client.get("/policies", query={"limit": "1"}) for _ in range(calls)]
    return Counter(answer.status for answer in answers), [answer for answer in answers if answer.status == 429]


def refuses_soon(server: Server, token: str, slack: Callable[[float], float]) -> Answer:
    """The first refusal, which must come soon."""
    return wait_until("a refusal", lambda: next(iter(reads(server, token, 12)[1]), None), slack(SOON))


def test_every_server_holds_a_tenants_tokens_to_its_rate_within_a_second_and_no_others(
        servers: list[Server], admin: AdminClient, slack: Callable[[float], float]) -> None:
    organization = admin.organization()
    noisy, quiet = admin.tenant(organization), admin.tenant(organization)
    mine, other, both = (reader(admin, organization, *tenants) for tenants in ((noisy,), (quiet,), (noisy, quiet)))
    assert reads(servers[0], mine, 30)[0] == {200: 30}
    set_quotas(admin, f"tenants/{noisy}", admin_reads_per_second=2)
    for server in servers:
        refused = refuses_soon(server, mine, slack)
        assert refused.body["type"] == "/problems/rate-limited", refused
        assert f'The quota admin_reads_per_second of tenant "{noisy}" allows a token 2 reads a second' in refused.body["detail"]
        assert refused.headers["retry-after"] == "1"
        assert server.metric("sluice_admin_calls_throttled_total", kind="read") > 0
        assert reads(server, other, 30)[0] == {200: 30}
        assert reads(server, both, 30)[0] == {200: 30}, "its scope is not the one tenant"
    set_quotas(admin, f"organizations/{organization}", admin_reads_per_second=3)
    for token, owner in ((other, "organization"), (both, "organization"), (mine, "tenant")):
        assert f"of {owner} " in refuses_soon(servers[1], token, slack).body["detail"]
    # Raised and taken away, both at once: served again within a second.
    assert admin.delete(f"/quotas/organizations/{organization}").status == 204
    set_quotas(admin, f"tenants/{noisy}", admin_reads_per_second=1_000_000)
    for token in (mine, other, both):
        wait_until("to be served", lambda token=token: reads(servers[1], token, 12)[0] == {200: 12}, slack(SOON))


def test_a_quota_of_no_writes_freezes_a_tenant_and_lets_it_read(servers: list[Server], admin: AdminClient,
                                                               slack: Callable[[float], float]) -> None:
    organization = admin.organization()
    tenant = admin.tenant(organization)
    made = admin.create("/tokens", {"name": "o", "role": "operator", "organization_id": organization, "tenant_ids": [tenant]})
    set_quotas(admin, f"tenants/{tenant}", admin_writes_per_second=0)
    with servers[0].admin(made["token"]) as operator:
        refused = wait_until("a refusal", lambda: (answer := operator.post("/validate", {})).status == 429 and answer,
                             slack(SOON))
        assert "allows a token 0 writes a second" in refused.body["detail"] and refused.headers["retry-after"] == "60"
        assert operator.get("/policies").status == 200
    shown = admin.get(f"/quotas/tenants/{tenant}").body["limits"]
    assert (shown["admin_writes_per_second"], shown["admin_reads_per_second"]) == (0, None), "the tests' servers set no rate"


def test_calls_that_a_quota_refuses_ask_postgres_nothing(servers: list[Server], admin: AdminClient,
                                                        slack: Callable[[float], float]) -> None:
    organization = admin.organization()
    token = reader(admin, organization)
    set_quotas(admin, f"organizations/{organization}", admin_reads_per_second=0)
    refuses_soon(servers[0], token, slack)

    def transactions() -> int:
        database = servers[0].database
        rows = database.execute("SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()")
        return int(rows[0][0])

    before, begin = transactions(), time.monotonic()
    assert reads(servers[0], token, 400)[0] == {429: 400}
    seconds = time.monotonic() - begin
    # What the servers do by themselves, 20 transactions a second, is not of the calls.
    assert transactions() - before < 100 + 20 * seconds


def agent_token(admin: AdminClient, organization: str, *tenants: str) -> str:
    """A token for agents."""
    return str(admin.create("/agent-tokens", {"name": "agents", "organization_id": organization,
                                              **({"tenant_ids": list(tenants)} if tenants else {})})["token"])


def report(agent: SyncAgent) -> Reply:
    """The answer once the server knows the token."""
    return wait_until("an answer", lambda: (reply := agent.report()).status != 401 and reply)


def test_quotas_of_agents_are_held_shown_with_their_use_and_changed_within_a_second(
        servers: list[Server], admin: AdminClient, slack: Callable[[float], float]) -> None:
    organization = admin.organization()
    tenant = admin.tenant(organization)
    port = servers[0].port
    set_quotas(admin, f"tenants/{tenant}", agents=3, agents_per_token=2)
    set_quotas(admin, f"organizations/{organization}", agents=1)
    first, second = (agent_token(admin, organization, tenant) for _ in range(2))
    for number in range(2):
        assert report(SyncAgent(port, first, f"a{number}")).status == 200
    refused = report(SyncAgent(port, first, "a2"))
    assert (refused.status, refused.body["type"]) == (429, "/problems/quota")
    assert "The quota agents_per_token of token " in refused.body["detail"] and "2 of 2" in refused.body["detail"]
    assert report(SyncAgent(port, second, "b0")).status == 200
    refused = report(SyncAgent(port, second, "b1"))
    assert f'The quota agents of tenant "{tenant}" is used up: 3 of 3.' in refused.body["detail"]
    whole = agent_token(admin, organization)
    assert report(SyncAgent(port, whole, "c0")).status == 200
    refused = report(SyncAgent(port, whole, "c1"))
    assert f'The quota agents of organization "{organization}" is used up: 1 of 1.' in refused.body["detail"]
    # The use is of all servers, so it is read from PostgreSQL, where they store it every second.
    for owner, agents, most in ((f"tenants/{tenant}", 3, 2), (f"organizations/{organization}", 1, 2)):
        wait_until("the use", lambda owner=owner, agents=agents, most=most: [
            admin.get(f"/quotas/{owner}").body["used"][name] for name in ("agents", "agents_per_token")] == [agents, most], 20)
    with servers[0].admin(reader(admin, organization, tenant)) as auditor:
        assert auditor.get(f"/quotas/tenants/{tenant}").body["used"]["agents"] == 3
    set_quotas(admin, f"tenants/{tenant}", agents=4, agents_per_token=3)
    wait_until("room", lambda: report(SyncAgent(port, second, "b1")).status == 200, slack(SOON))
