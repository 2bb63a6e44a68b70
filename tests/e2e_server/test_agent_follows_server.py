"""Agents follow the server: what is written through the API is what they enforce, and its death changes nothing."""

import http.client
import json
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.admin import ADMIN, AdminClient, bucket, fresh_id
from support.agent import Agent
from support.certificate import certificate
from support.client import Client, fresh_subject
from support.process import wait_until
from support.server import Server

MakeAgent = Callable[..., Agent]


@dataclass
class Shop:
    """A tenant with a plan, a policy for GET:/orders and an API key."""

    admin: AdminClient
    tenant: str
    key_id: str
    key: str

    @staticmethod
    def open(admin: AdminClient) -> "Shop":
        """A new one."""
        tenant = admin.tenant()
        assert admin.put("/plans/pro", bucket(bucket_capacity=3, refill_rate_per_sec=0.001), tenant=tenant).status in (200, 201)
        policy = {"scope": {"resource": ["GET:/orders"]}, "plan_id": "pro"}
        assert admin.put("/policies/orders", policy, tenant=tenant).status in (200, 201)
        made = admin.create("/keys", {"tenant_id": tenant, "name": "app"})
        return Shop(admin, tenant, made["id"], made["key"])


@pytest.fixture
def shop(admin: AdminClient) -> Shop:
    """A tenant of one test."""
    return Shop.open(admin)


@pytest.fixture
def token_file(admin: AdminClient, tmp_path: Path) -> Path:
    """The token of a platform-wide agent, in its file."""
    path = tmp_path / "token"
    path.write_text(admin.create("/agent-tokens", {"name": "agents"})["token"] + "\n")
    path.chmod(0o600)
    return path


@pytest.fixture
def flags(server: Server, token_file: Path, tmp_path: Path) -> list[str]:
    """What an agent is told of the server."""
    return ["--server", f"http://127.0.0.1:{server.port}", "--agent-token-file", str(token_file), "--snapshot-cache",
            str(tmp_path / "kept"), "--agent-id", fresh_id("agent")]


@pytest.fixture
def agent(make_agent: MakeAgent, flags: list[str]) -> Agent:
    """An agent that follows the server, with counters in memory."""
    started: Agent = make_agent(None, "memory", "--workers", "2", *flags).start()
    return started


def enforced(agent: Agent) -> int:
    """The revision that the agent shows; 0 for none."""
    with agent.client() as client:
        return int(client.get("/v1/snapshot").body.get("revision", 0))


def degraded(agent: Agent, status: int = 200) -> list[str]:
    """What /readyz says is degraded; 503: the agent had no policies yet."""
    with Client(agent.admin_port) as admin:
        answer = admin.get("/readyz")
    assert answer.status == status, answer
    return list(answer.body["degraded"])


def await_head(agent: Agent, admin: AdminClient) -> None:
    """Waits until the agent has all that was written."""
    head = admin.get("/revision").body["revision"]
    wait_until(f"revision {head} on the agent", lambda: enforced(agent) >= head, 20)


def check(client: Client, **fields: Any) -> int:
    """The status of a check of GET:/orders."""
    return client.check(resource="GET:/orders", **fields).status


def test_what_is_written_through_the_api_is_enforced(agent: Agent, admin: AdminClient, shop: Shop) -> None:
    await_head(agent, admin)
    with agent.client(shop.key) as client:
        subject = fresh_subject()
        assert [check(client, subject=subject) for _ in range(4)] == [200, 200, 200, 429]
        admin.put("/plans/pro", bucket(bucket_capacity=1, refill_rate_per_sec=0.001), tenant=shop.tenant)
        await_head(agent, admin)
        subject = fresh_subject()
        assert [check(client, subject=subject) for _ in range(2)] == [200, 429]
    assert wait_until("nothing degraded", lambda: degraded(agent) == [], 20)
    assert agent.metric("sluice_sync_connected") == 1
    assert agent.metric("sluice_sync_fetches_total", result="delta") >= 1


def test_a_revoked_key_is_refused_within_a_second(agent: Agent, admin: AdminClient, shop: Shop) -> None:
    await_head(agent, admin)
    with agent.client(shop.key) as client:
        # The metric of the revision may be a moment ahead of the worker that answers.
        wait_until("the key", lambda: check(client, subject="a") == 200, 5.0)
        assert admin.delete(f"/keys/{shop.key_id}").status in (200, 204)
        wait_until("the key's refusal", lambda: check(client, subject="a") == 401, 1.0)


def test_the_servers_death_changes_no_answer_and_a_start_without_it_serves_from_the_disk(
        module_server: Callable[..., Server], make_agent: MakeAgent, tmp_path: Path) -> None:
    server = module_server().start()
    token = tmp_path / "its-token"
    with server.admin() as admin:
        shop = Shop.open(admin)
        token.write_text(admin.create("/agent-tokens", {"name": "agents"})["token"])
        flags = ["--server", f"http://127.0.0.1:{server.port}", "--agent-token-file", str(token), "--snapshot-cache",
                 str(tmp_path / "its-cache")]
        agent = make_agent(None, "memory", *flags).start()
        await_head(agent, admin)
    wait_until("the first file", lambda: (tmp_path / "its-cache.state/1").exists())
    server.process.kill()
    with agent.client(shop.key) as client:
        wait_until("the loss", lambda: any("cannot be followed" in reason for reason in degraded(agent)))
        assert [check(client, subject="s") for _ in range(4)] == [200, 200, 200, 429]
    assert agent.stop() == 0
    assert (tmp_path / "its-cache.state/1").stat().st_mode & 0o777 == 0o600
    assert shop.key not in (tmp_path / "its-cache.state/1").read_text(errors="replace")
    again = make_agent(None, "memory", *flags).start()
    with again.client(shop.key) as client:
        assert check(client, subject="s") == 200
    assert any("the server has not been reached yet" in reason for reason in degraded(again))


def test_an_agent_of_a_tenant_decides_for_that_tenant_only(make_agent: MakeAgent, admin: AdminClient, server: Server,
                                                           tmp_path: Path) -> None:
    ours, theirs = Shop.open(admin), Shop.open(admin)
    organization = admin.get(f"/tenants/{ours.tenant}").body["organization_id"]
    token = tmp_path / "scoped"
    token.write_text(admin.create("/agent-tokens", {"name": "scoped", "organization_id": organization,
                                                    "tenant_ids": [ours.tenant]})["token"])
    agent = make_agent(None, "memory", "--server", f"http://127.0.0.1:{server.port}", "--agent-token-file",
                       str(token)).start()
    wait_until("policies", lambda: enforced(agent) > 0)
    with agent.client(ours.key) as client:
        wait_until("our key", lambda: check(client, subject="s") == 200)
    with agent.client(theirs.key) as client:
        assert check(client, subject="s") == 401


def test_a_revoked_token_is_said_to_be_refused_and_a_new_one_in_its_file_is_taken(
        agent: Agent, admin: AdminClient, token_file: Path) -> None:
    wait_until("the stream", lambda: agent.metric("sluice_sync_connected") == 1)
    token_id = token_file.read_text().removeprefix("slg_").split("_")[0]
    assert admin.patch(f"/agent-tokens/{token_id}", {"revoked": True}).status == 200
    wait_until("the refusal", lambda: any("(401)" in reason for reason in degraded(agent)), 20)
    renewed = token_file.with_suffix(".new")
    renewed.write_text(admin.create("/agent-tokens", {"name": "agents"})["token"])
    renewed.replace(token_file)
    shop = Shop.open(admin)
    await_head(agent, admin)
    wait_until("nothing degraded", lambda: degraded(agent) == [], 20)
    with agent.client(shop.key) as client:
        assert check(client, subject="s") == 200


def test_checks_say_that_the_server_refuses_the_token(make_agent: MakeAgent, admin: AdminClient, flags: list[str],
                                                      token_file: Path) -> None:
    token_id = token_file.read_text().removeprefix("slg_").split("_")[0]
    assert admin.patch(f"/agent-tokens/{token_id}", {"revoked": True}).status == 200
    agent = make_agent(None, "memory", *flags).start_without_policies()
    with agent.client("whatever") as client:
        wait_until("the cause", lambda: "(401)" in client.check(resource="a").body.get("cause", ""), 20)


def test_the_server_is_followed_over_tls_where_its_certificate_is_trusted(
        make_server: Callable[..., Server], make_agent: MakeAgent, tmp_path: Path) -> None:
    cert, private = certificate(tmp_path, "server")
    server = make_server("--tls-cert", str(cert), "--tls-key", str(private)).start()
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=30,
                                             context=ssl.create_default_context(cafile=str(cert)))
    connection.request("POST", f"{ADMIN}/agent-tokens", json.dumps({"name": "agents"}),
                       {"authorization": f"Bearer {server.token}", "content-type": "application/json"})
    token = tmp_path / "its-token"
    token.write_text(json.load(connection.getresponse())["token"])
    connection.close()
    flags = ["--server", f"https://127.0.0.1:{server.port}", "--agent-token-file", str(token)]
    trusting = make_agent(None, "memory", *flags, "--server-tls-ca", str(cert)).start()
    wait_until("the stream", lambda: trusting.metric("sluice_sync_connected") == 1, 20)
    wary = make_agent(None, "memory", *flags).start_without_policies()
    wait_until("the certificate's refusal", lambda: any("certificate" in reason for reason in degraded(wary, 503)), 20)
    assert wary.metric("sluice_sync_connected") == 0


def test_without_server_and_without_cache_it_starts_and_answers_no_snapshot(make_agent: MakeAgent, flags: list[str],
                                                                           tmp_path: Path) -> None:
    flags[1] = "http://127.0.0.1:1"
    agent = make_agent(None, "memory", *flags).start_without_policies()
    with agent.client("whatever") as client:
        answer = client.check(resource="GET:/orders")
        assert (answer.status, answer.body["reason"]) == (503, "no_snapshot")
        wait_until("the cause", lambda: "http://127.0.0.1:1 cannot be followed since" in client.check(resource="a").body.get("cause", ""), 20)
    assert any("no policies are loaded" in reason for reason in degraded(agent, 503))
    lost = wait_until("a line of the log", lambda: next(
        (line for line in agent.process.output().splitlines() if "sync_lost" in line), None))
    assert json.loads(lost)["level"] == "warn"
