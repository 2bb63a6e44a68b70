"""The bundle file changes while the agent runs: what is good is in force soon, what is not changes nothing."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey, token_bucket, window
from support.client import Client
from support.process import wait_until
from support.redis_server import RedisServer
from support.reload import (RELOAD_SECONDS, degraded, events, loads, rename_over, rewrite, snapshot, text_of,
                            wait_for_loads, wait_for_revision)

Start = Callable[..., Agent]


def bundle_of(key: MintedKey, limit: int) -> Bundle:
    """One policy for everything, with a bucket of this size."""
    bundle = Bundle().key(key)
    bundle.plan("main", token_bucket(limit, "1/1h"))
    return bundle.policy("all", {"resource": "r"}, "main")


def limit_of(agent: Agent, key: MintedKey, subject: str = "reader") -> int:
    """The limit that decides now, without spending."""
    with agent.client(key.text) as client:
        answer = client.check(resource="r", subject=subject, cost=0)
    assert answer.status == 200
    return int(answer.body["limit"])


@pytest.fixture
def start(make_agent: Start, key: MintedKey) -> Callable[..., Agent]:
    """Starts an agent with a bucket of 5 and counters in memory."""
    def run(*flags: str, **options: Any) -> Agent:
        return make_agent(bundle_of(key, 5), "memory", *flags, **options).start()

    return run


def path_of(agent: Agent) -> Path:
    """The bundle's file."""
    assert agent.bundle is not None
    return agent.bundle


@pytest.mark.parametrize("change", [rename_over, rewrite])
def test_a_changed_file_is_in_force_soon_and_says_what_changed(start: Start, key: MintedKey,
                                                               change: Callable[[Path, str], None]) -> None:
    agent = start()
    first = snapshot(agent)
    changed = bundle_of(key, 7).plan("more", token_bucket(1, "1/1h"))
    change(path_of(agent), text_of(changed))
    wait_for_revision(agent, 2)
    assert limit_of(agent, key) == 7
    now = snapshot(agent)
    assert now["plans"] == 2
    assert now["chain"] != first["chain"] and len(now["chain"]) == 64
    line = wait_until("the log line", lambda: events(agent, "snapshot_loaded")[1:])[0]
    assert (line["revision"], line["plans"], line["plans_change"], line["policies_change"]) == (2, 2, 1, 0)
    assert line["load_ms"] >= 0 and line["swap_ms"] >= 0
    assert agent.metric("sluice_snapshot_revision") == 2
    assert agent.metric("sluice_bundle_refused") == 0


def test_the_chain_names_the_content(start: Start, key: MintedKey) -> None:
    agent = start()
    first, original = snapshot(agent)["chain"], path_of(agent).read_text()
    rename_over(path_of(agent), text_of(bundle_of(key, 6)))
    wait_for_revision(agent, 2)
    rename_over(path_of(agent), original)
    wait_for_revision(agent, 3)
    assert snapshot(agent)["chain"] == first


def test_a_config_map_is_followed_through_its_links(program: Path, key: MintedKey, tmp_path: Path,
                                                    request: pytest.FixtureRequest) -> None:
    folder = tmp_path / "mounted"

    def publish(number: int) -> None:   # as the kubelet does
        data = folder / f"..version{number}"
        data.mkdir(parents=True)
        bundle_of(key, number).write(data / "bundle.json")
        (folder / "..data_tmp").symlink_to(data.name)
        os.rename(folder / "..data_tmp", folder / "..data")

    publish(5)
    (folder / "bundle.json").symlink_to("..data/bundle.json")
    agent = Agent(program, tmp_path / "agent", folder / "bundle.json", "memory")
    request.addfinalizer(agent.close)
    agent.start()
    for revision, limit in ((2, 6), (3, 7)):
        publish(limit)
        wait_for_revision(agent, revision)
        assert limit_of(agent, key) == limit


def test_a_file_that_a_link_leads_to_elsewhere_is_watched_too(program: Path, key: MintedKey, tmp_path: Path,
                                                              request: pytest.FixtureRequest) -> None:
    real, link = tmp_path / "real" / "b.json", tmp_path / "links" / "bundle.json"
    for path in (real, link):
        path.parent.mkdir()
    bundle_of(key, 5).write(real)
    link.symlink_to(real)
    agent = Agent(program, tmp_path / "agent", link, "memory")
    request.addfinalizer(agent.close)
    agent.start()
    rewrite(real, text_of(bundle_of(key, 6)))
    wait_for_revision(agent, 2)
    rename_over(real, text_of(bundle_of(key, 7)))
    wait_for_revision(agent, 3)
    assert limit_of(agent, key) == 7


def test_a_directory_that_is_replaced_is_noticed_without_a_word(program: Path, key: MintedKey, tmp_path: Path,
                                                                request: pytest.FixtureRequest) -> None:
    for name, limit in (("one", 5), ("two", 6)):
        (tmp_path / name).mkdir()
        bundle_of(key, limit).write(tmp_path / name / "bundle.json")
    (tmp_path / "current").symlink_to("one")
    agent = Agent(program, tmp_path / "agent", tmp_path / "current" / "bundle.json", "memory")
    request.addfinalizer(agent.close)
    agent.start()
    (tmp_path / "next").symlink_to("two")
    os.rename(tmp_path / "next", tmp_path / "current")
    wait_for_revision(agent, 2)
    rewrite(tmp_path / "two" / "bundle.json", text_of(bundle_of(key, 7)))   # and this one is watched now
    wait_for_revision(agent, 3)
    assert limit_of(agent, key) == 7


def test_a_file_that_is_gone_is_refused_and_loaded_when_it_is_back(start: Start, key: MintedKey) -> None:
    agent = start()
    path_of(agent).unlink()
    wait_for_loads(agent, "refused", 1)
    assert limit_of(agent, key) == 5
    [text] = degraded(agent)
    assert "cannot be read: No such file or directory" in text and "revision 1" in text
    rename_over(path_of(agent), text_of(bundle_of(key, 6)))
    wait_for_revision(agent, 2)
    wait_until("no refusal", lambda: degraded(agent) == [])
    assert loads(agent, "refused") == 1


def test_half_a_file_is_never_read(start: Start, key: MintedKey) -> None:
    agent = start("--log-level", "debug")
    text = text_of(bundle_of(key, 6))
    with path_of(agent).open("w") as file:
        file.write(text[:len(text) // 2])
        file.flush()
        # Looked at twice at least, so that the two looks agree.
        wait_until("the agent sees the half", lambda: len(events(agent, "bundle_changing")) >= 3, RELOAD_SECONDS)
        assert limit_of(agent, key) == 5
        file.write(text[len(text) // 2:])
    wait_for_revision(agent, 2)
    assert limit_of(agent, key) == 6
    assert loads(agent, "refused") == 0


def test_a_refused_file_is_explained_and_the_former_policies_decide(start: Start, key: MintedKey) -> None:
    agent = start()
    bad = bundle_of(key, 9)
    bad.document["policies"][0]["plan_id"] = "none"
    bad.document["plans"][0]["limits"][0]["capacity"] = -1
    rename_over(path_of(agent), text_of(bad))
    wait_for_loads(agent, "refused", 1)
    assert limit_of(agent, key) == 5
    assert snapshot(agent)["revision"] == 1
    assert agent.metric("sluice_bundle_refused") == 1
    [kept] = wait_until("the sum in the log", lambda: events(agent, "policies_kept"))
    faults = events(agent, "bundle_refused")
    assert "/plans/0/limits/0/capacity" in {fault["pointer"] for fault in faults}
    assert (kept["faults"], kept["revision"]) == (len(faults), 1)
    [text] = degraded(agent)
    assert str(path_of(agent)) in text and "is refused since 20" in text and faults[0]["pointer"] in text
    assert f"{len(faults)} fault" in text and "the policies of revision 1 stay in force" in text

    rename_over(path_of(agent), text_of(bundle_of(key, 6)))
    wait_for_revision(agent, 2)
    # What was wrong is taken back a moment after the new policies decide.
    wait_until("no refusal", lambda: degraded(agent) == [] and agent.metric("sluice_bundle_refused") == 0)
    assert limit_of(agent, key) == 6


def test_a_refused_file_that_is_put_back_as_it_was_is_no_change_and_no_fault(start: Start, key: MintedKey) -> None:
    agent = start()
    original = path_of(agent).read_text()
    rename_over(path_of(agent), "{")
    wait_for_loads(agent, "refused", 1)
    rename_over(path_of(agent), original)
    wait_for_loads(agent, "unchanged", 1)
    assert degraded(agent) == []
    assert agent.metric("sluice_bundle_refused") == 0
    assert snapshot(agent)["revision"] == 1
    assert (loads(agent, "loaded"), loads(agent, "refused")) == (1, 1)
    assert limit_of(agent, key) == 5


def test_a_fault_is_told_with_its_line_and_column(start: Start, key: MintedKey) -> None:
    agent = start()
    text = text_of(bundle_of(key, 9)).replace('"capacity": 9', '"capacity": -9')
    line = 1 + text[:text.index("-9")].count("\n")
    rename_over(path_of(agent), text)
    wait_for_loads(agent, "refused", 1)
    fault = wait_until("the fault in the log", lambda: events(agent, "bundle_refused"))[0]
    assert fault["pointer"] == "/plans/0/limits/0/capacity"
    assert fault["line"] == line
    assert fault["column"] == 1 + len(text.splitlines()[line - 1].split("-9")[0])
    [sentence] = degraded(agent)
    assert f"line {fault['line']}, column {fault['column']}" in sentence


def test_a_file_full_of_faults_does_not_fill_the_log(start: Start, key: MintedKey) -> None:
    agent = start()
    bad = bundle_of(key, 9)
    for number in range(50):
        bad.policy(f"p{number}", {"resource": f"r{number}"}, "none")
    rename_over(path_of(agent), text_of(bad))
    wait_for_loads(agent, "refused", 1)
    [kept] = wait_until("the sum", lambda: events(agent, "policies_kept"))
    assert (kept["faults"], kept["faults_logged"]) == (50, 20)
    assert len(events(agent, "bundle_refused")) == 20


def test_counters_in_memory_survive(start: Start, key: MintedKey) -> None:
    agent = start()
    with agent.client(key.text) as client:
        for _ in range(3):
            assert client.check(resource="r", subject="s").status == 200
        changed = bundle_of(key, 5)
        changed.document["policies"][0]["metadata"] = {"edited": "yes"}
        rename_over(path_of(agent), text_of(changed))
        wait_for_revision(agent, 2)
        answer = client.check(resource="r", subject="s")
        assert (answer.body["remaining"], answer.body["metadata"]) == (1, {"edited": "yes"})


def test_a_plan_edited_by_the_reload_carries_over_what_was_spent(start: Start, key: MintedKey) -> None:
    agent = start()
    with agent.client(key.text) as client:
        for _ in range(3):
            assert client.check(resource="r", subject="s").status == 200
        edited = bundle_of(key, 10)
        edited.document["plans"][0]["limits"].append(window("fixed_window", 4, "1d", name="added", align="first"))
        rename_over(path_of(agent), text_of(edited))
        wait_for_revision(agent, 2)
        limits = client.explain(resource="r", subject="s", cost=0).body["limits"]
        # The bucket keeps its debt whatever its size is now; the limit that is new begins.
        assert [(limit["name"], limit["remaining"]) for limit in limits] == [("burst", 7), ("added", 4)]
        rename_over(path_of(agent), text_of(bundle_of(key, 2)))
        wait_for_revision(agent, 3)
        assert client.check(resource="r", subject="s").status == 429


def test_a_change_that_is_none_is_counted_as_that(start: Start) -> None:
    agent = start()
    path_of(agent).write_text(path_of(agent).read_text())
    wait_for_loads(agent, "unchanged", 1)
    assert snapshot(agent)["revision"] == 1
    assert loads(agent, "loaded") == 1


def test_sighup_reads_the_file_at_once_whether_or_not_it_changed(start: Start, key: MintedKey) -> None:
    agent = start()
    agent.process.send(signal.SIGHUP)
    wait_for_loads(agent, "unchanged", 1)
    with path_of(agent).open("w") as file:   # not closed: nothing is read by itself
        file.write(text_of(bundle_of(key, 6)))
        file.flush()
        agent.process.send(signal.SIGHUP)
        wait_for_revision(agent, 2)
    assert limit_of(agent, key) == 6


def test_a_burst_of_changes_is_one_load_of_the_last(start: Start, key: MintedKey) -> None:
    agent = start()
    for limit in range(10, 40):
        rename_over(path_of(agent), text_of(bundle_of(key, limit)))
    wait_until("the last of the burst", lambda: limit_of(agent, key) == 39, RELOAD_SECONDS)
    assert loads(agent, "loaded") < 10


def test_keys_are_added_and_revoked(start: Start, key: MintedKey, other_key: MintedKey) -> None:
    agent = start()
    with agent.client(key.text) as old, agent.client(other_key.text) as new:
        assert (old.check(resource="r", subject="s").status, new.check(resource="r", subject="s").status) == (200, 401)
        both = bundle_of(key, 5).key(other_key)
        rename_over(path_of(agent), text_of(both))
        wait_for_revision(agent, 2)
        assert (old.check(resource="r", subject="s").status, new.check(resource="r", subject="s").status) == (200, 200)
        rename_over(path_of(agent), text_of(bundle_of(other_key, 5)))
        wait_for_revision(agent, 3)
        assert (old.check(resource="r", subject="s").status, new.check(resource="r", subject="s").status) == (401, 200)


def test_all_workers_decide_by_the_new_policies(start: Start, key: MintedKey) -> None:
    agent = start(env={"SLUICE_AGENT_WORKERS": "4"})
    clients = [agent.client(key.text).connect() for _ in range(32)]   # on all of them, as good as certainly
    for client in clients:
        assert client.check(resource="r", subject="s", cost=0).body["limit"] == 5
    rename_over(path_of(agent), text_of(bundle_of(key, 6)))
    wait_until("the log line", lambda: events(agent, "snapshot_loaded")[1:], RELOAD_SECONDS)
    for client in clients:
        assert client.check(resource="r", subject="s", cost=0).body["limit"] == 6
        client.close()


def exceptions(key: MintedKey, *limits: dict[str, Any]) -> Bundle:
    """A policy of two limits and overrides: each {"subject":…, "limit_name":…, "set":…}."""
    bundle = Bundle().key(key)
    bundle.plan("main", token_bucket(5, "1/1h"), window("fixed_window", 50, "1d", name="daily", align="first"))
    bundle.policy("all", {"resource": "r"}, "main")
    for number, entry in enumerate(limits):
        fields = {name: value for name, value in entry.items() if name != "subject"}
        bundle.override(f"o{number}", policy_id="all", identity={"subject": entry["subject"]}, **fields)
    return bundle


BURST = {"limit_name": "burst", "set": {"capacity": 20}}
DAILY = {"limit_name": "daily", "set": {"limit": 90}}


def numbers(client: Client, subject: str) -> list[int]:
    """Both limits of a subject, as they are judged."""
    answer = client.explain(resource="r", subject=subject, cost=0)
    assert answer.status == 200, answer.body
    return [limit["limit"] for limit in answer.body["limits"]]


@pytest.mark.parametrize("store", ["memory", "redis"])
def test_overrides_come_and_go_with_the_bundle(store: str, key: MintedKey, redis: RedisServer,
                                               make_agent: Start) -> None:
    agent = make_agent(exceptions(key, {"subject": "gone", **BURST}, {"subject": "half", **BURST},
                                  {"subject": "half", **DAILY}),
                       "memory" if store == "memory" else redis.counters, "--redis-deadline", "2s").start()
    if store == "redis":
        agent.wait_for_redis(key.text, "main")
    with agent.client(key.text) as client:
        wait_until("the first overrides", lambda: [numbers(client, name) for name in ("gone", "half", "new")] ==
                   [[20, 50], [20, 90], [5, 50]])
        rename_over(path_of(agent), text_of(exceptions(key, {"subject": "half", **DAILY}, {"subject": "new", **BURST})))
        wait_until("the second", lambda: [numbers(client, name) for name in ("gone", "half", "new")] ==
                   [[5, 50], [5, 90], [20, 50]])
        rename_over(path_of(agent), text_of(exceptions(key)))
        wait_until("none", lambda: [numbers(client, name) for name in ("gone", "half", "new")] == [[5, 50]] * 3)


def test_an_override_removed_while_redis_was_away_does_not_come_back(
        key: MintedKey, make_redis: Callable[..., RedisServer], make_agent: Start) -> None:
    server = make_redis()
    agent = make_agent(exceptions(key, {"subject": "gone", **BURST}), server.counters, "--redis-deadline", "2s").start()
    agent.wait_for_redis(key.text, "main")
    with agent.client(key.text) as client:
        wait_until("the override", lambda: numbers(client, "gone") == [20, 50])
        server.cli("SAVE")   # with it: what the server comes back with, both times
        server.kill9()
        wait_until("the loss", lambda: agent.metric("sluice_redis_connected") == 0)
        rename_over(path_of(agent), text_of(exceptions(key)))
        wait_for_revision(agent, 2)
        for _ in range(2):
            server.restart()
            agent.wait_for_redis(key.text, "main")
            wait_until("its end", lambda: numbers(client, "gone") == [5, 50])
            server.kill9()
            wait_until("the loss", lambda: agent.metric("sluice_redis_connected") == 0)


def test_a_faulty_file_at_the_start_still_ends_it(make_agent: Start, key: MintedKey) -> None:
    agent = make_agent(bundle_of(key, 5), "memory")
    rewrite(path_of(agent), json.dumps({"format": "sluice/v1", "plans": 7, "policies": 8}))
    assert agent.launch().process.wait(30) == 1
    assert {line["pointer"] for line in events(agent, "bundle_refused")} >= {"/plans", "/policies"}


def test_a_pipe_is_read_once_and_said_not_to_be_watched(program: Path, key: MintedKey, tmp_path: Path,
                                                        request: pytest.FixtureRequest) -> None:
    text = text_of(bundle_of(key, 5))
    feed = tmp_path / "feed.json"
    feed.write_text(text)
    agent = Agent(program, tmp_path / "agent", Path("/dev/stdin"), "memory",
                  started_by=["/bin/bash", "-c", f'exec "$@" < <(cat {feed})', "bash"])
    request.addfinalizer(agent.close)
    agent.start()
    assert limit_of(agent, key) == 5
    assert wait_until("the word", lambda: events(agent, "bundle_not_watched"))
    agent.process.send(signal.SIGHUP)   # ends nothing
    assert limit_of(agent, key) == 5
