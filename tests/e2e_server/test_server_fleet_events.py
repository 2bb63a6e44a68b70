"""The fleet as server-sent events: the state first, then what changes, for as long as the caller may read it."""

import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.admin import AdminClient, fresh_id
from support.browser_session import BrowserSession
from support.client import Client
from support.event_stream import FLEET, Event, EventStream
from support.postgres import PostgresServer
from support.process import wait_until
from support.server import Installation, Server
from support.sync_client import SyncAgent

Make = Callable[..., Server]
SOON = 30.0   # s, for what takes one or two on a machine that is not busy


@pytest.fixture
def agent(server: Server, admin: AdminClient, organization: str, tenant: str) -> Iterator[SyncAgent]:
    """An agent of one tenant, which leaves at the end."""
    made = agent_of(server, admin, organization_id=organization, tenant_ids=[tenant])
    yield made
    made.report(leaving=True)


def agent_of(server: Server, admin: AdminClient, **scope: Any) -> SyncAgent:
    """An agent with a token of its own."""
    token = admin.create("/agent-tokens", {"name": "agents", **scope})["token"]
    return SyncAgent(server.port, token, fresh_id("agent"))


def reader_of(admin: AdminClient, organization: str, *tenants: str) -> dict[str, Any]:
    """An auditor's token of these tenants."""
    return admin.create("/tokens", {"name": "reader", "role": "auditor", "organization_id": organization,
                                    **({"tenant_ids": list(tenants)} if tenants else {})})


def at_head(admin: AdminClient, agent: SyncAgent) -> int:
    """Takes the agent to the newest revision, by its own word."""
    newest = admin.get("/revision").body
    agent.position = newest["revision"], newest["chain"]
    assert agent.report().status == 200
    return int(newest["revision"])


def ids(event: Event) -> list[str]:
    """Of the agents that an event has."""
    return [item["id"] for item in event.data["items"]]


def with_agent(name: str, **members: Any) -> Callable[[Event], bool]:
    """Whether an event has this agent, with these members."""
    return lambda event: event.name == "agents" and any(
        item["id"] == name and all(item[member] == value for member, value in members.items()) for item in event.data["items"])


def without_agent(name: str) -> Callable[[Event], bool]:
    """Whether an event says that this agent is gone."""
    return lambda event: event.name == "agents" and name in [gone["id"] for gone in event.data["gone"]]


def enforced(**counts: int) -> Callable[[Event], bool]:
    """Whether an event has these counts of agents."""
    return lambda event: event.name == "enforcement" and all(event.data["agents"][name] == count for name, count in counts.items())


def test_the_state_comes_first_then_an_agent_joins_lags_enforces_and_leaves(server: Server, admin: AdminClient, agent: SyncAgent,
                                                                          organization: str, tenant: str) -> None:
    at_head(admin, agent)
    listed = wait_until("the agent", lambda: list(admin.items("/agents", query={"tenant_id": tenant})))
    reader = reader_of(admin, organization, tenant)["token"]
    at_head(admin, agent)
    with EventStream(server.port, reader) as stream:
        assert stream.status == 200 and stream.headers["content-type"] == "text/event-stream"
        assert stream.headers["cache-control"] == "no-store" and stream.headers["x-accel-buffering"] == "no"
        first = stream.event()
        assert first is not None and first.name == "agents" and first.id
        assert first.data["whole"] is True and first.data["more"] is False and first.data["gone"] == []
        assert ids(first) == [agent.agent_id] and set(first.data["items"][0]) == set(listed[0])
        assert first.data["items"][0]["scope"] == listed[0]["scope"]
        second = stream.event()
        assert second is not None and second.name == "enforcement" and second.data["agents"]["total"] == 1
        stream.until("that it enforces the newest", enforced(total=1, enforcing=1))

        other = agent_of(server, admin, organization_id=organization, tenant_ids=[tenant])   # which makes a revision
        stream.until("that the first lags", enforced(enforcing=0, lagging=1))
        at_head(admin, agent)
        revision = at_head(admin, other)
        stream.until("the second", with_agent(other.agent_id, status="live", revision=revision))
        told = stream.until("that both enforce it", enforced(total=2, enforcing=2))
        assert told.data == {"newest": revision, "revision": revision, "enforced_by_all": True, "agents": {
            "total": 2, "enforcing": 2, "lagging": 0, "missing": 0, "refusing": 0, "foreign": 0}}

        other.report(degraded=["redis: away"])
        stream.until("its trouble", with_agent(other.agent_id, degraded=["redis: away"]))
        other.report(leaving=True)
        gone = stream.until("that it left", without_agent(other.agent_id))
        assert gone.data["gone"] == [{"id": other.agent_id, "scope": {"organization_id": organization, "tenant_ids": [tenant]}}]
        stream.until("that one is left", enforced(total=1))


def test_a_change_can_be_followed_until_all_enforce_it(server: Server, admin: AdminClient, agent: SyncAgent, organization: str,
                                                       tenant: str) -> None:
    reader = reader_of(admin, organization, tenant)["token"]
    at_head(admin, agent)
    revision = admin.patch(f"/tenants/{tenant}", {"name": fresh_id("n")}).body["revision"]
    with EventStream(server.port, reader, f"?only=enforcement&revision={revision}") as stream:
        first = stream.event()
        assert first is not None and (first.name, first.data["revision"]) == ("enforcement", revision)
        admin.patch(f"/tenants/{tenant}", {"name": fresh_id("n")})   # a later change does not matter
        before = first if first.data["agents"]["lagging"] else stream.until("the lagging agent", enforced(lagging=1))
        assert before.data["enforced_by_all"] is False
        at_head(admin, agent)
        done = stream.until("the end", lambda event: bool(event.name == "enforcement" and event.data["enforced_by_all"]))
        assert done.data["revision"] == revision < done.data["newest"]
    # A revision that was made after the last read, which all streams of a scope share.
    with EventStream(server.port, reader, "?only=enforcement") as stream:
        assert stream.event() is not None
        newer = admin.patch(f"/tenants/{tenant}", {"name": fresh_id("n")}).body["revision"]
        with EventStream(server.port, reader, f"?only=enforcement&revision={newer}") as follower:
            told = follower.event()
            assert told is not None and told.data["newest"] >= told.data["revision"] == newer
    asked = admin.get(f"/revisions/{revision}").body
    with EventStream(server.port, admin.token or "", f"?only=enforcement&revision={revision}") as stream:
        told = stream.event()
        assert told is not None and set(told.data["agents"]) == set(asked["agents"])
    for query, status in ((f"?revision={2 ** 40}", 404), ("?revision=x", 400), ("?revision=", 400), ("?only=agents", 400),
                          ("?limit=3", 400)):
        with EventStream(server.port, reader, query) as refused:
            assert refused.status == status, query
            assert refused.refusal().body["status"] == status


def test_a_reader_sees_what_the_list_shows_to_its_token(server: Server, admin: AdminClient, agent: SyncAgent, organization: str,
                                                        tenant: str) -> None:
    at_head(admin, agent)
    wait_until("the agent", lambda: list(admin.items("/agents", query={"tenant_id": tenant})))
    neighbour, stranger = admin.tenant(organization), admin.tenant()
    for token in (reader_of(admin, organization, tenant), reader_of(admin, organization, neighbour), reader_of(admin, organization),
                  reader_of(admin, admin.get(f"/tenants/{stranger}").body["organization_id"])):
        with server.admin(token["token"]) as caller, EventStream(server.port, token["token"]) as stream:
            first = stream.event()
            assert first is not None and ids(first) == [item["id"] for item in caller.items("/agents")], token
    with EventStream(server.port, admin.token or "", f"?tenant_id={tenant}") as stream:
        first = stream.event()
        assert first is not None and agent.agent_id in ids(first)
    with EventStream(server.port, admin.token or "", f"?tenant_id={stranger}") as stream:
        first = stream.event()
        assert first is not None and agent.agent_id not in ids(first)


def test_a_reader_that_comes_back_goes_on_from_its_last_event(server: Server, admin: AdminClient, agent: SyncAgent,
                                                              organization: str, tenant: str) -> None:
    other = agent_of(server, admin, organization_id=organization, tenant_ids=[tenant])
    reader = reader_of(admin, organization, tenant)["token"]
    at_head(admin, agent)
    at_head(admin, other)
    with EventStream(server.port, reader) as stream:
        last = stream.until("both", lambda event: event.name == "agents" and bool(event.id)
                            and other.agent_id in ids(event) and agent.agent_id in ids(event))
    other.report(degraded=["meanwhile"])
    with EventStream(server.port, reader, headers={"Last-Event-ID": str(last.id)}) as stream:
        news = stream.until("what changed meanwhile", with_agent(other.agent_id, degraded=["meanwhile"]))
        assert news.data["whole"] is False and ids(news) == [other.agent_id]
    with EventStream(server.port, reader, headers={"Last-Event-ID": "f" * 16 + ".1"}) as stream:
        first = stream.event()
        assert first is not None and first.data["whole"] is True and len(first.data["items"]) == 2
    other.report(leaving=True)


@pytest.mark.fault("foreign-and-expired-credentials")
def test_a_stream_ends_with_its_token_and_says_so(server: Server, admin: AdminClient, organization: str, tenant: str) -> None:
    token = reader_of(admin, organization, tenant)
    ended_before = server.metric("sluice_event_streams_ended_total")
    with EventStream(server.port, token["token"]) as stream:
        assert stream.event() is not None
        assert admin.patch(f"/tokens/{token['id']}", {"revoked": True}).status == 200
        begin = time.monotonic()
        end = stream.until("the end", lambda event: event.name == "end", SOON)
        assert end.data["status"] == 401 and end.data["code"] == "unknown", end
        assert end.at - begin < SOON and stream.event() is None
    assert server.metric("sluice_event_streams_ended_total") == ended_before + 1
    with EventStream(server.port, token["token"]) as stream:
        assert stream.status == 401


def test_a_stream_by_session_ends_with_the_session(server: Server, admin: AdminClient) -> None:
    with server.admin(admin.token) as client:
        browser = BrowserSession.sign_in(client)
        headers = {"Cookie": browser.cookie, "Sec-Fetch-Site": "same-origin"}
        with EventStream(server.port, "", headers=headers) as stream:
            assert stream.status == 200 and stream.event() is not None
            assert browser.request("DELETE", "/session").status == 204
            assert stream.until("the end", lambda event: event.name == "end", SOON).data["status"] == 401
            assert stream.event() is None
        with EventStream(server.port, "", headers={**headers, "Sec-Fetch-Site": "cross-site"}) as stream:
            assert stream.status in (401, 403)


def test_one_replica_tells_what_another_was_told(make_server: Make, installation: Installation) -> None:
    database = installation.copy()
    one = make_server(database=database, token=installation.token).start()
    other = make_server(database=database, token=installation.token).start()
    with one.admin() as admin, EventStream(other.port, other.token) as stream:
        agent = agent_of(one, admin)
        revision = at_head(admin, agent)
        stream.until("the agent", with_agent(agent.agent_id, revision=revision))
        stream.until("that it enforces", enforced(total=1, enforcing=1))
        with agent.watch() as watch:
            assert watch.line() is not None
            stream.until("its watch", with_agent(agent.agent_id, connected=True))
        agent.report(leaving=True)
        stream.until("that it left", without_agent(agent.agent_id))


def test_streams_end_at_once_when_the_server_stops(make_server: Make) -> None:
    server = make_server().start()
    with EventStream(server.port, server.token) as stream, EventStream(server.port, server.token, "?only=enforcement") as other:
        assert stream.event() is not None and other.event() is not None
        assert server.metric("sluice_event_streams") == 2
        begin = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - begin < 20
        for each in (stream, other):
            while each.event() is not None:   # a stream that is cut off is an error
                pass


def test_a_reader_that_does_not_read_is_cut_off_and_nothing_is_queued_for_it(make_server: Make) -> None:
    server = make_server().start()
    with server.admin() as admin, contextlib.closing(socket.socket()) as slow:
        agents = [agent_of(server, admin) for _ in range(30)]
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", server.port))
        slow.sendall(f"GET {FLEET} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode())
        wait_until("the stream", lambda: server.metric("sluice_event_streams") == 1)
        with EventStream(server.port, server.token) as quick:
            end = time.monotonic() + 120
            number = 0
            while server.metric("sluice_event_streams") == 2:
                assert time.monotonic() < end, "the slow reader is still there"
                number += 1
                for agent in agents:   # together about 1 MB a round
                    agent.report(degraded=[f"{number} {reason} ".ljust(1000, "x") for reason in range(32)])
                quick.until("the last state", lambda event: any(
                    item["degraded"] and item["degraded"][0].startswith(f"{number} ") for item in event.data.get("items", [])))
            assert server.metric("sluice_event_streams") == 1


def test_a_token_has_a_bounded_number_of_streams(server: Server, admin: AdminClient, organization: str) -> None:
    token = reader_of(admin, organization)["token"]
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(EventStream(server.port, token, "?only=enforcement")) for _ in range(20)]
        assert {stream.status for stream in streams} == {200}
        refused_before = server.metric("sluice_event_streams_refused_total")
        with EventStream(server.port, token) as refused:
            assert refused.status == 429 and refused.headers["retry-after"]
            answer = refused.refusal().body
            assert answer["type"] == "/problems/too-many-streams" and "close one first" in answer["detail"]
        assert server.metric("sluice_event_streams_refused_total") == refused_before + 1
        with EventStream(server.port, admin.token or "") as other:
            assert other.status == 200
        streams[0].close()

        def again() -> bool:
            with EventStream(server.port, token) as stream:
                return stream.status == 200
        wait_until("room for another", again)


def test_silence_is_broken_by_comments_and_a_head_alone_is_refused(server: Server, admin: AdminClient, organization: str) -> None:
    token = reader_of(admin, admin.organization())["token"]
    with EventStream(server.port, token, "?only=enforcement&revision=1") as stream:
        assert stream.event() is not None
        event = stream.event()
        assert event is not None and event.name == ""
    with Client(server.port) as client:
        answer = client.request("HEAD", FLEET, headers={"Authorization": f"Bearer {token}"})
    assert answer.status == 405 and answer.header("allow") == "GET"


def test_readers_are_told_when_postgres_is_away_and_when_it_is_back(make_postgres: Callable[..., PostgresServer],
                                                                    server_program: Any, make_server: Make) -> None:
    postgres = make_postgres()
    made = Installation.make(server_program, postgres)
    server = make_server(database=made.database, token=made.token, allow=("database_failure", "feed_lost", "fleet_failed")).start()
    with EventStream(server.port, server.token) as stream:
        assert stream.event() is not None
        postgres.stop()
        told = stream.until("that PostgreSQL is away", lambda event: event.name == "stale", 60)
        assert told.data["stale"] is True and "PostgreSQL" in told.data["detail"]
        postgres.start()
        assert stream.until("that it is back", lambda event: event.name == "stale", 60).data == {"stale": False, "detail": None}
        with server.admin() as admin:
            agent = agent_of(server, admin)
            wait_until("the agent's report", lambda: agent.report().status == 200)
            stream.until("the agent", with_agent(agent.agent_id))
