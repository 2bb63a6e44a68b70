"""An engine of the library with Redis Sentinel and Redis Cluster: primaries die and slots move while threads ask it."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from in_process.engine_process import DECIDED, LIMIT, EngineProcess, Steady
from support.cluster import Cluster, slot_of
from support.process import wait_until
from support.sentinel import SentinelSet

THREADS = (0, 2)    # of the engines: one whose callers run its loop, and one with threads of its own
BACK_WITHIN = 2.0   # seconds after a promotion
SUBJECTS = [f"s{number}" for number in range(12)]


@pytest.fixture
def sentinels(tmp_path: Path) -> Iterator[SentinelSet]:
    """Three nodes and three sentinels. Nodes and sentinels have users of their own."""
    made = SentinelSet(
        tmp_path / "sentinels", password="nodes-own", sentinel_password="sentinels-own",
        node_options=["--user", *"counter on >node-secret ~* &* +@all".split()],
        sentinel_lines=["user watcher on >sentinel-secret -@all +info +ping +client|setname +subscribe +unsubscribe "
                        "+sentinel|master +sentinel|get-master-addr-by-name resetchannels &+switch-master"])
    try:
        yield made.start()
    finally:
        made.close()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Two primaries, each with a replica; in memory, see faults/test_cluster.py."""
    with tempfile.TemporaryDirectory(prefix="sluice-cluster-", dir="/dev/shm") as folder, \
            Cluster(Path(folder) / "nodes", primaries=2) as made:
        yield made


def assert_back(load: Steady, promoted: float) -> None:
    """Redis decides everything from BACK_WITHIN after the promotion on."""
    load.wait_past(promoted + BACK_WITHIN + 0.25)
    late = load.reasons(promoted + BACK_WITHIN)
    assert late and set(late) <= DECIDED, late


def test_the_primary_that_sentinels_name_is_followed(
        sentinels: SentinelSet, make_engine: Callable[..., EngineProcess], tmp_path: Path) -> None:
    login, password = tmp_path / "sentinel-login", tmp_path / "sentinel-password"
    login.write_text("watcher\nsentinel-secret\n")
    password.write_text("sentinels-own\n")
    files = [{"redis_sentinel_login_file": login}, {"redis_sentinel_password_file": password}]
    engines = [make_engine(redis_url=sentinels.url("counter:node-secret@"), threads=threads, **file)
               for threads, file in zip(THREADS, files)]
    for engine in engines:
        engine.wait_for_redis()
    killed = sentinels.primary()
    with Steady(engines[0], ["first"]) as first, Steady(engines[1], ["second"]) as second:
        for load in (first, second):
            wait_until("a full limit", lambda load=load: load.reasons()["limit_exceeded"])   # type: ignore[misc]
        killed.kill9()
        promoted = sentinels.wait_for_promotion(killed.port)
        for load in (first, second):
            assert_back(load, promoted)
    for engine, load, subject in zip(engines, (first, second), ("first", "second")):
        assert set(load.reasons()) <= DECIDED | {"fail_closed"}
        assert {each.code for each in load.decisions} == {"ok"}
        # The replica may have missed what the dead primary had counted; no more than that is admitted again.
        assert LIMIT <= load.admitted()[subject] <= 2 * LIMIT
        assert str(sentinels.primary().port) in engine.wait_for_log("redis_primary_changed")
    bystander = next(node for node in sentinels.nodes if node not in (killed, sentinels.primary()))
    assert bystander.calls("time") == 0, "no replica decides"


def test_slots_that_move_and_a_failover_leave_counts_in_a_cluster_exact(
        cluster: Cluster, make_engine: Callable[..., EngineProcess]) -> None:
    engines = [make_engine(redis_url=cluster.counters, threads=threads, redis_deadline_ms=2000) for threads in THREADS]
    for engine in engines:
        engine.wait_for_redis()
    first, second = cluster.primaries()
    replica = cluster.replica_of(second)
    full = Counter(dict.fromkeys(SUBJECTS, LIMIT))

    # Both engines ask for the same subjects, so they share the limits.
    with Steady(engines[0], SUBJECTS, rate=200) as one, Steady(engines[1], SUBJECTS, rate=200) as two:
        def denied() -> set[str]:
            return {each.subject for load in (one, two) for each in load.decisions[-200:] if not each.allowed}

        wait_until("each subject", lambda: len(one.admitted() + two.admitted()) == len(SUBJECTS))
        slots = sorted({slot_of(f"sl:{{shop|subject={subject}}}") for subject in SUBJECTS})
        of_first = [slot for slot in slots if cluster.owner(slot) is first]
        assert 0 < len(of_first) < len(slots)
        cluster.move_all(of_first, second)
        cluster.fail_over(replica)
        wait_until("full limits", lambda: one.admitted() + two.admitted() == full, 30)
        wait_until("denials of each", lambda: len(denied()) == len(SUBJECTS))
    assert one.admitted() + two.admitted() == full
    for load in (one, two):
        assert set(load.reasons()) == DECIDED
        assert len(load.admitted()) == len(SUBJECTS)
    # All counters are now where the slots are: on the replica that took over.
    assert {cluster.owner(slot).port for slot in slots} == {replica.port}
    assert replica.calls("time") > 0
