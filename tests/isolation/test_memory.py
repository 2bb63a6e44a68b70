"""Counters in memory: a tenant's flood of subjects, logs or leases stays within --memory-limit and costs its neighbour nothing."""

import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from support.agent import Agent
from support.bundle import Bundle, MintedKey
from support.client import Client
from support.process import cpu_us, memory_of

MEMORY = 2_000_000      # bytes; --memory-limit of the quick tests
DEFAULT = 32_000_000    # bytes; --memory-limit where nothing is said
OWN = 4 << 20           # bytes that the agent itself may need more under load: connections, buffers, the allocator's rest
FULL = os.environ.get("SLUICE_ISOLATION_FULL") == "1"   # fills the default limit
QUIET_SUBJECTS = 500
BATCH = 256
# Subjects of the tenant `noisy` whose counter keys have one hash in libstdc++'s std::hash, which has no secret.
EQUAL_HASHES = Path(__file__).with_name("equal_hashes.txt")


def two_tenants(noisy: MintedKey, quiet: MintedKey) -> Bundle:
    """Two tenants with the same limits, each of which is kept for hours."""
    bundle = Bundle(tenant="noisy").add_tenant("quiet").key(noisy).key(quiet, tenant="quiet")
    for tenant in ("noisy", "quiet"):
        bundle.plan("daily", {"name": "daily", "algorithm": "fixed_window", "limit": 2, "window": "1d"}, tenant=tenant)
        bundle.plan("log", {"name": "log", "algorithm": "sliding_window_log", "limit": 9000, "window": "1d"}, tenant=tenant)
        bundle.plan("leases", {"name": "leases", "algorithm": "concurrency", "limit": 9000, "lease_ttl": "1h"}, tenant=tenant)
        for plan in ("daily", "log", "leases"):
            bundle.policy(plan, {"resource": plan}, plan, tenant=tenant)
    return bundle


def ask(client: Client, resource: str, subjects: list[str]) -> Counter[str]:
    """One batch; how many got which reason."""
    answer = client.batch(*[{"resource": resource, "subject": subject} for subject in subjects])
    assert answer.status == 200, answer
    return Counter(result["reason"] for result in answer.body["results"])


def each_has_its_own_limit(client: Client, prefix: str) -> None:
    """Two of three checks of each subject pass."""
    subjects = [f"{prefix}-{i}" for i in range(QUIET_SUBJECTS)]
    for start in range(0, QUIET_SUBJECTS, 80):
        part = subjects[start:start + 80]
        assert ask(client, "daily", part + part + part) == {"within_limit": 2 * len(part), "limit_exceeded": len(part)}


def test_a_flood_of_subjects_stays_within_the_limit_and_costs_the_neighbour_nothing(
        key: MintedKey, other_key: MintedKey, make_agent: Callable[..., Agent], sanitized: bool) -> None:
    flags = [] if FULL else ["--memory-limit", f"{MEMORY}B"]
    memory = DEFAULT if FULL else MEMORY
    agent = make_agent(two_tenants(key, other_key), "memory", *flags).start()
    with agent.client(key.text) as noisy, agent.client(other_key.text) as quiet:
        each_has_its_own_limit(quiet, "before")
        assert ask(noisy, "daily", ["spent"] * 3) == {"within_limit": 2, "limit_exceeded": 1}
        before = memory_of(agent.process.pid)
        seen: Counter[str] = Counter()
        batches = memory // 200 // BATCH * 3
        for number in range(batches):
            seen += ask(noisy, "daily", [f"s{number}-{i}" for i in range(BATCH)])
            if number % 20 == 0:
                assert ask(noisy, "daily", ["spent"]) == {"limit_exceeded": 1}, "a spent limit stays spent"
                assert agent.metric("sluice_memory_counters_bytes") <= memory
        each_has_its_own_limit(quiet, "during")
        assert ask(noisy, "daily", ["spent"]) == {"limit_exceeded": 1}, "a spent limit stays spent"
        after = memory_of(agent.process.pid)
    print(f"    {batches * BATCH} subjects: {dict(seen)}; resident memory {before >> 10} KiB before, {after >> 10} KiB after")
    assert seen["within_limit"] + seen["limit_exceeded"] == batches * BATCH
    assert agent.metric("sluice_memory_counters_limit_bytes") == memory
    assert agent.metric("sluice_memory_counters_bytes") <= memory
    assert agent.metric("sluice_memory_counters_overflow_total") > batches * BATCH / 4
    assert agent.metric("sluice_memory_counters_refused_total") == 0
    if not sanitized:
        assert after <= before + memory + OWN


def test_logs_and_leases_stay_within_the_limit_and_what_is_refused_is_back_at_once(
        key: MintedKey, other_key: MintedKey, make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(two_tenants(key, other_key), "memory", "--memory-limit", f"{MEMORY}B").start()
    with agent.client(key.text) as noisy, agent.client(other_key.text) as quiet:
        assert ask(quiet, "leases", ["one"] * 20) == {"within_limit": 20}
        leases: list[str] = []
        while True:
            answer = noisy.check(resource="leases", subject=f"s{len(leases) // 500}")
            if answer.status != 200:
                break
            leases.append(answer.body["lease_id"])
            assert len(leases) < MEMORY // 100, "nothing bounds the leases"
        assert (answer.status, answer.body["reason"], answer.header("retry-after")) == (503, "overload", "1")
        for _ in range(60):
            assert ask(noisy, "log", ["one"] * BATCH) <= Counter({"within_limit": BATCH, "limit_exceeded": BATCH})
        assert agent.metric("sluice_memory_counters_bytes") <= MEMORY
        assert agent.metric("sluice_memory_counters_refused_total") >= 1
        assert ask(quiet, "leases", ["one"] * 20) == {"within_limit": 20}, "the neighbour has room"
        assert ask(quiet, "log", ["one"] * 200) == {"within_limit": 200}
        for lease in leases[:50]:
            assert noisy.release(lease).body == {"released": True}
        assert noisy.check(resource="leases", subject="s0").status == 200


def cost_of(agent: Agent, key: MintedKey, subjects: list[str], rounds: int) -> float:
    """CPU a check, in µs, of the subjects in turn."""
    bodies = [json.dumps({"checks": [{"resource": "daily", "subject": subject} for subject in subjects[at:at + BATCH]]})
              for at in range(0, len(subjects), BATCH)]
    with agent.client(key.text) as client:
        began = cpu_us(agent.process.pid)
        for _ in range(rounds):
            for body in bodies:
                assert client.post("/v1/check/batch", body).status == 200
        return (cpu_us(agent.process.pid) - began) / (rounds * len(subjects))


@pytest.mark.alone
def test_subjects_chosen_by_a_public_hash_cost_what_others_cost(
        key: MintedKey, other_key: MintedKey, make_agent: Callable[..., Agent]) -> None:
    agent = make_agent(two_tenants(key, other_key), "memory").start()
    chosen = EQUAL_HASHES.read_text(encoding="ascii").split()
    ordinary = [f"chosen{i:016d}" for i in range(len(chosen))]
    assert len(set(chosen)) == 2048
    for subjects in (ordinary, chosen):
        cost_of(agent, key, subjects, 1)   # the first checks make the counters
    quiet = attacked = float("inf")
    for _ in range(4):   # in turn, so that other load on the machine meets both; the least is what it costs
        quiet = min(quiet, cost_of(agent, key, ordinary, 3))
        attacked = min(attacked, cost_of(agent, key, chosen, 3))
    print(f"    {quiet:.1f} µs of CPU a check of ordinary subjects, {attacked:.1f} µs of chosen ones")
    assert attacked <= 1.5 * quiet
