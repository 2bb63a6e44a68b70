"""The server is killed under load: not one check fails or changes its answer, and when it is back agents come back spread."""

import os
import time
from collections.abc import Callable

import pytest

from support.agent import Agent
from support.client import Client, fresh_subject
from support.crew import SECONDS, Crew, loaded
from support.faults import Fault
from support.load import Load
from support.process import wait_until
from support.reload import events

MakeCrew = Callable[..., Crew]
AWAY_SECONDS = float(os.environ.get("SLUICE_AWAY_SECONDS", "5"))   # 60 for a look at a longer one


@pytest.mark.fault("server-killed")
def test_a_killed_server_changes_no_answer_and_agents_are_back_in_seconds(make_crew: MakeCrew) -> None:
    crew = make_crew()
    agents = crew.hire(2)
    with crew.admin() as admin:
        crew.set_limit(admin, 5000)
    crew.await_limit(5000)
    clients = [Client(agent.port, crew.key) for agent in agents]
    crew.server.kill9()
    crew.relay.cut()
    gone, asked = time.monotonic(), 0
    while time.monotonic() - gone < AWAY_SECONDS:
        for client in clients:
            answer = client.check(resource="GET:/probe", subject=fresh_subject(), cost=1)
            assert answer.status == 200, answer
            assert answer.header("x-ratelimit-limit") == "5000", answer
            asked += 1
    assert asked > 200
    print(f"    {asked} checks in {AWAY_SECONDS:g} s without the server, each 200 with the same limit")
    for client in clients:
        client.close()
    for agent in agents:
        with Client(agent.admin_port) as probe:
            ready = probe.get("/readyz")
        assert ready.status == 200, ready
        assert "server" in str(ready.body), ready

    crew.server.start()
    crew.relay.target = crew.server.port
    back = time.monotonic()
    with crew.admin() as admin:
        crew.set_limit(admin, 5001)
    crew.await_limit(5001)
    assert time.monotonic() - back < 10.0, "longer than the longest wait between two attempts, by far"


@pytest.mark.fault("server-killed-log")
def test_an_outage_of_the_server_is_one_line_at_its_start_and_one_at_its_end(make_crew: MakeCrew) -> None:
    crew = make_crew()
    agent, = crew.hire(1)
    wait_until("the stream", lambda: events(agent, "sync_connected"))
    gone = time.monotonic()
    crew.server.kill9()
    crew.relay.cut()
    wait_until("attempts that fail", lambda: agent.metric("sluice_sync_watches_lost_total") >= 4, SECONDS)
    lost, = events(agent, "sync_lost")
    assert lost["level"] == "warn" and lost["server"] == crew.relay.url and lost["reason"], lost
    crew.server.start()
    crew.relay.target = crew.server.port
    back, = wait_until("the end", lambda: events(agent, "sync_back"), 2 * SECONDS)
    assert back["level"] == "info" and back["failures"] >= 4, back
    assert 0 < back["duration_ms"] < 1000 * (time.monotonic() - gone), back
    assert len(events(agent, "sync_lost")) == len(events(agent, "sync_connected")) == 1


@pytest.mark.fault("nothing-at-start-with-a-file")
def test_an_agent_starts_from_its_file_while_the_server_is_away(make_crew: MakeCrew) -> None:
    crew = make_crew()
    agent, = crew.hire(1)
    with crew.admin() as admin:
        crew.set_limit(admin, 41)
    crew.await_limit(41)
    assert agent.stop() == 0
    assert crew.server.stop() == 0
    crew.relay.cut()
    agent.launch()
    wait_until("the policies of the file", lambda: _answers(agent) and crew.limit_at(agent) == 41, SECONDS)
    with Client(agent.admin_port) as probe:
        ready = probe.get("/readyz")
    assert ready.status == 200
    assert "server" in str(ready.body), ready
    crew.server.start()
    crew.relay.target = crew.server.port
    with crew.admin() as admin:
        crew.set_limit(admin, 42)
    crew.await_limit(42)


@pytest.mark.fault("corrupt-file")
@pytest.mark.parametrize("spoil", [lambda text: b"", lambda text: text[:len(text) // 2], lambda text: b"\x00" * len(text),
                                   lambda text: text.replace(b'"limit"', b'"limid"'), lambda text: b"[" * 100_000],
                         ids=["empty", "cut", "zeros", "changed", "deep"])
def test_a_corrupt_file_is_not_served_and_the_agent_follows_once_the_server_is_there(
        make_crew: MakeCrew, fault: Fault, spoil: Callable[[bytes], bytes]) -> None:
    crew = make_crew()
    agent, = crew.hire(1)
    crew.await_limit(1000)
    assert agent.stop() == 0
    files = sorted(crew.folder.glob("agent-0.snapshot.state/[12]"))
    assert files, "nothing was kept"
    for file in files:
        changed = spoil(file.read_bytes())
        assert changed != file.read_bytes()
        file.write_bytes(changed)
    crew.relay.close()
    agent.start_without_policies()
    with Client(agent.admin_port) as probe:
        assert probe.get("/readyz").status == 503, "it has no policies"
    with Client(agent.port, crew.key) as client:
        refused = client.check(resource="GET:/probe", subject="a")
    assert (refused.status, refused.body["reason"]) == (503, "no_snapshot"), refused
    crew.relay.open()
    back = time.monotonic()
    crew.await_limit(1000)
    fault.recovered(time.monotonic() - back, 10)


def test_the_file_holds_no_secret(make_crew: MakeCrew) -> None:
    crew = make_crew()
    agent, = crew.hire(1)
    assert agent.stop() == 0
    files = sorted(crew.folder.glob("agent-0.snapshot.state/[12]"))
    assert files, "nothing was kept"
    secret = crew.key.rsplit("_", 1)[1]
    token = crew.token_file.read_text().strip().rsplit("_", 1)[1] if crew.token_file else ""
    for file in files:
        assert file.stat().st_mode & 0o777 == 0o600
        text = file.read_text()
        assert crew.key_id in text and secret not in text and token not in text


@pytest.mark.fault("server-away-too-long")
def test_a_state_that_is_too_old_is_not_served(make_crew: MakeCrew) -> None:
    crew = make_crew()
    agent, = crew.hire(1, "--max-snapshot-age", "3s")
    crew.await_limit(1000)
    crew.relay.close()
    with Client(agent.port, crew.key) as client:
        refused = wait_until("no_snapshot", lambda: (answer := client.check(resource="GET:/probe", subject="a")).status == 503
                             and answer, SECONDS)
        assert refused.body["reason"] == "no_snapshot", refused
        crew.relay.open()
        wait_until("decisions again", lambda: client.check(resource="GET:/probe", subject="a").status == 200, SECONDS)


def _answers(agent: Agent) -> bool:
    assert agent.process.alive(), agent.process.output()[-2000:]
    return loaded(agent)


@pytest.mark.fault("rolling-restart", least=200)
def test_a_rolling_restart_under_load_fails_no_check(make_crew: MakeCrew) -> None:
    crew = make_crew()
    agent, = crew.hire(1)
    crew.await_limit(1000)
    with Load(agent, crew.key, lambda number: {"resource": "GET:/probe", "subject": f"user:{number}"}, 4, 200.0) as load:
        for limit in (2000, 3000):
            assert crew.server.stop() == 0
            crew.server.start()
            crew.relay.target = crew.server.port
            with crew.admin() as admin:
                crew.set_limit(admin, limit)
            crew.await_limit(limit)
            enough = len(load.samples) + 100  # a fault shows in 200 samples or more
            wait_until("checks by the new policies", lambda enough=enough: len(load.samples) >= enough, SECONDS)
    assert {sample.status for sample in load.samples} == {200}
