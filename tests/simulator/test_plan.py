"""A seed makes a run: the same one again, and another one for another seed."""

from simulator.plan import FAULTS, Plan, Size, make_plan

SIZE = Size(seconds=30)


def test_a_seed_reproduces_its_choices() -> None:
    assert make_plan(7, SIZE).fingerprint() == make_plan(7, SIZE).fingerprint() != make_plan(8, SIZE).fingerprint()


def test_every_fault_is_in_a_plan_of_all_faults() -> None:
    assert {step.fault for step in make_plan(3, SIZE).faults} == set(FAULTS)


def test_writes_of_a_plan_are_of_all_kinds_and_each_can_be_told_from_all_others() -> None:
    calls = [call for step in make_plan(5, SIZE).writes for call in step.calls]
    assert {call.method for call in calls} == {"PUT", "PATCH", "DELETE", "POST"}
    marks = [(name, mark) for call in calls for name, mark in call.does if mark]
    assert len(marks) == len(set(marks))


def test_nothing_is_changed_that_is_not_there() -> None:
    for seed in range(20):
        assert_nothing_missing(make_plan(seed, SIZE))


def assert_nothing_missing(plan: Plan) -> None:
    """Follows a plan's writes."""
    there = {("policy", item["tenant_id"], item["id"]) for item in plan.bundle["policies"]}
    there |= {("key", item["tenant_id"], item["id"]) for item in plan.bundle["keys"]}
    for call in (call for step in plan.writes for call in step.calls):
        for name, mark in call.does:
            if call.method in ("PATCH", "DELETE") and name[0] in ("policy", "key"):
                assert name in there, call
            there.discard(name)
            if mark:
                there.add(name)


def test_agents_are_of_every_scope() -> None:
    plan = make_plan(2, SIZE)
    assert set(plan.agents) == set(range(len(plan.scopes))) and len(plan.agents) == SIZE.agents
