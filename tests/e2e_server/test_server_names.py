"""Names of plans and policies are unique in a tenant, whichever call writes them; what is named twice already stays."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from support.admin import AdminClient, bucket, pointers
from support.client import Answer
from support.migrations import take_back_migrations
from support.postgres import OWNER, Database
from support.server import Server, bootstrap

PATHS = ["/plans", "/policies"]


def named(name: str, rate: str = "1/s") -> dict[str, Any]:
    """A plan or a policy."""
    return {"name": name, "limits": [{"algorithm": "token_bucket", "capacity": 10, "refill": rate}]}


def assert_taken(answer: Answer, holder: str, pointer: str = "/name") -> None:
    """409 at the name, naming who has it."""
    assert (answer.status, answer.body["type"], pointers(answer)) == (409, "/problems/exists", [pointer]), answer
    assert f'"{holder}"' in answer.body["errors"][0]["detail"], answer


def bundle_of(tenant: str, path: str, *objects: dict[str, Any]) -> dict[str, Any]:
    """A bundle with these plans or policies."""
    return {"format": "sluice/v1", "tenants": [{"id": tenant}], path[1:]: list(objects)}


@pytest.mark.parametrize("path", PATHS)
def test_post_put_patch_rollback_and_apply_refuse_a_name_that_another_object_has(
        admin: AdminClient, tenant: str, path: str) -> None:
    admin.put(f"{path}/a", named("Pro"), tenant=tenant)
    assert_taken(admin.post(path, {**named("Pro"), "id": "b"}, tenant=tenant), "a")
    assert_taken(admin.put(f"{path}/b", named("Pro"), tenant=tenant), "a")
    assert admin.put(f"{path}/b", named("Basic"), tenant=tenant).status == 201
    assert_taken(admin.patch(f"{path}/b", {"name": "Pro"}, tenant=tenant), "a")
    applied = bundle_of(tenant, path, {"id": "c", **named("Free")}, {"id": "b", **named("Pro")})
    for query in ({}, {"dry_run": "true"}):
        assert_taken(admin.post("/apply", applied, query=query), "a", f"{path}/1/name")
    assert admin.patch(f"{path}/a", {"name": "Gold"}, tenant=tenant).status == 200
    assert admin.patch(f"{path}/b", {"name": "Pro"}, tenant=tenant).status == 200
    assert_taken(admin.post(f"{path}/a/rollback", {"version": 1}, tenant=tenant), "b")
    assert admin.get(f"{path}/c", tenant=tenant).status == 404, "a refused bundle changes nothing"


@pytest.mark.parametrize("path", PATHS)
def test_one_bundle_may_swap_names_and_may_not_give_one_name_twice(admin: AdminClient, tenant: str, path: str) -> None:
    assert admin.post("/apply", bundle_of(tenant, path, {"id": "a", **named("x")}, {"id": "b", **named("y")})).status == 200
    swapped = bundle_of(tenant, path, {"id": "a", **named("y")}, {"id": "b", **named("x")})
    assert admin.post("/apply", swapped).status == 200
    twice = admin.post("/apply", bundle_of(tenant, path, {"id": "a", **named("z")}, {"id": "b", **named("z")}))
    assert (twice.status, pointers(twice)) == (409, [f"{path}/0/name", f"{path}/1/name"])
    handed_on = bundle_of(tenant, path, {"id": "c", **named("x")})
    assert admin.post("/apply", handed_on, query={"prune": "true"}).status == 200, "the former holder is removed"


@pytest.mark.parametrize("path", PATHS)
def test_names_that_differ_in_a_byte_absent_names_and_names_of_other_tenants_do_not_collide(
        admin: AdminClient, organization: str, tenant: str, path: str) -> None:
    for number, name in enumerate(["Pro", "pro", "Pro ", "Pr\u00f6", "Pro\u0308"]):
        assert admin.put(f"{path}/p{number}", named(name), tenant=tenant).status == 201
    for number in range(2):
        assert admin.put(f"{path}/nameless{number}", {"limits": [bucket()]}, tenant=tenant).status == 201
    assert admin.put(f"{path}/p0", named("Pro"), tenant=admin.tenant(organization)).status == 201


def test_a_plan_and_a_policy_may_share_a_name(admin: AdminClient, tenant: str) -> None:
    assert [admin.put(f"{path}/a", named("Pro"), tenant=tenant).status for path in PATHS] == [201, 201]


@pytest.mark.parametrize("path", PATHS)
def test_a_post_whose_made_id_is_taken_makes_nothing(admin: AdminClient, tenant: str, path: str) -> None:
    body = {"name": "Pro", "plan_id": "of"} if path == "/policies" else named("Pro")
    admin.put("/plans/of", {"limits": [bucket()]}, tenant=tenant)
    assert admin.create(path, body, tenant=tenant)["id"] == "pro"
    for again in (body, {**body, "name": "PRO"}):
        answer = admin.post(path, again, tenant=tenant)
        assert (answer.status, answer.body["type"]) == (409, "/problems/exists"), answer
    assert len(list(admin.items(path, tenant=tenant))) == (1 if path == "/policies" else 2)


def test_a_post_whose_made_id_is_taken_is_not_judged_as_a_change_of_that_object(admin: AdminClient, tenant: str) -> None:
    admin.put("/plans/pro", named("Basic"), tenant=tenant)
    admin.put("/policies/on-pro", {"plan_id": "pro", "key_by": ["subject"]}, tenant=tenant)
    other = {"name": "Pro", "key_by": [], "limits": [{**named("")["limits"][0], "key_by": ["subject"]}]}
    answer = admin.post("/plans", other, tenant=tenant)
    assert (answer.status, answer.body["type"]) == (409, "/problems/exists"), answer


@pytest.mark.parametrize("path", PATHS)
def test_of_many_calls_at_once_that_write_one_name_one_wins(server: Server, tenant: str, path: str) -> None:
    answers: list[Answer] = []

    def write(number: int) -> None:
        with server.admin() as client:
            answers.append(client.put(f"{path}/p{number}", named("Pro"), tenant=tenant))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status for answer in answers) == [201] + [409] * 5


def test_a_call_that_is_repeated_with_its_idempotency_key_gets_the_first_answer(admin: AdminClient, tenant: str) -> None:
    first, second = (admin.post("/plans", named("Pro"), tenant=tenant, key=f"pro-{tenant}") for _ in range(2))
    assert (first.status, second.status) == (201, 201) and first.body == second.body
    assert second.header("idempotency-replayed") == "true"


@pytest.mark.parametrize("form", ["1 minute", "60", 60, "60s"])
def test_a_duration_is_understood_wherever_an_object_has_one(admin: AdminClient, tenant: str, form: Any) -> None:
    limits = [{"name": "w", "algorithm": "fixed_window", "limit": 5, "window": form},
              {"name": "c", "algorithm": "concurrency", "limit": 5, "lease_ttl": form},
              {"name": "r", "algorithm": "sliding_window_log", "rate": f"5/{form}"}]
    made = admin.put("/plans/a", {"limits": limits}, tenant=tenant)
    assert made.status == 201, made
    assert [made.body["limits"][0]["window"], made.body["limits"][1]["lease_ttl"], made.body["limits"][2]["window"]] == ["1m"] * 3
    delays = admin.put("/policies/a", {"limits": [bucket()], "action": "delay", "max_delay": form}, tenant=tenant)
    assert (delays.status, delays.body["max_delay"]) == (201, "1m"), delays


def test_an_unknown_algorithm_hides_no_other_fault(admin: AdminClient, tenant: str) -> None:
    answer = admin.put("/policies/a", {"algorithm": "bucketeer", "limit": -1, "window": "10 parsecs"}, tenant=tenant)
    assert (answer.status, pointers(answer)) == (422, ["/algorithm", "/limit", "/window"]), answer


def test_a_filled_database_is_upgraded_in_place_and_what_is_named_twice_stays_until_it_is_written(
        make_server: Callable[..., Server], database: Database) -> None:
    flags = ("--database-owner-url", database.url(OWNER))
    before = make_server(*flags, database=database).start()
    token = bootstrap(before.program, database)
    with before.admin(token) as admin:
        tenant = admin.tenant(admin.organization())
        for path in PATHS:
            for number in range(3):
                admin.put(f"{path}/p{number}", named(f"n{number}"), tenant=tenant)
    assert before.stop() == 0
    # Names two objects alike, as a server before the migration could.
    take_back_migrations(database, 7)
    for table in ("plans", "policies"):
        database.execute(f"""UPDATE {table} SET document = replace(document::text, '"n1"', '"n0"')::json""")
    with make_server(*flags, database=database).start().admin(token) as admin:
        for path in PATHS:
            assert [item["name"] for item in admin.items(path, tenant=tenant)] == ["n0", "n0", "n2"]
            assert_taken(admin.patch(f"{path}/p2", {"name": "n0"}, tenant=tenant), "p0")
            assert_taken(admin.put(f"{path}/p0", named("n0", "2/s"), tenant=tenant), "p1")
            assert admin.put(f"{path}/p2", named("n2", "2/s"), tenant=tenant).status == 200
            assert admin.put(f"{path}/p1", named("n1"), tenant=tenant).status == 200
            assert admin.put(f"{path}/p0", named("n0", "2/s"), tenant=tenant).status == 200
        rolled_out = admin.post("/policies/p1/rollout", {"percent": 50}, tenant=tenant)
        assert rolled_out.status == 200, rolled_out
