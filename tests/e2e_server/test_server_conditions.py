"""ETag, If-Match, If-None-Match and Idempotency-Key: nobody overwrites unseen, and a lost answer can be asked for again."""

import threading
from typing import Any

import pytest

from support.admin import AdminClient, bucket, fresh_id, pointers
from support.client import Answer
from support.server import Server, bootstrap


@pytest.fixture
def plan(admin: AdminClient, tenant: str) -> str:
    """A plan at version 2; its path."""
    admin.put("/plans/pro", bucket(), tenant=tenant)
    assert admin.put("/plans/pro", bucket(name="two"), tenant=tenant).header("etag") == '"2"'
    return "/plans/pro"


def rows(server: Server, tenant: str) -> tuple[int, int, int]:
    """How many versions, audit rows and changes a tenant's plans have."""
    counts = [server.database.execute(f"SELECT count(*) FROM {table} WHERE tenant_id = %s AND kind = 'plan'", [tenant])[0][0]
              for table in ("versions", "audit", "changes")]
    return counts[0], counts[1], counts[2]


def in_parallel(run: Any, threads: int) -> None:
    """Runs a function with the numbers of as many threads, and waits for all."""
    started = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


# --- conditions ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("tags", ['"2"', "*", '"1", "2"', '"1","2"'])
def test_a_change_that_names_the_version_it_saw_goes_through(admin: AdminClient, tenant: str, plan: str, tags: str) -> None:
    assert admin.patch(plan, {"name": "x"}, tenant=tenant, headers={"if-match": tags}).body["version"] == 3


@pytest.mark.parametrize("tags", ['"1"', '"3"', "2", 'W/"2"', '""', "nonsense"])
@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_a_change_of_another_version_than_was_seen_is_412(admin: AdminClient, tenant: str, plan: str, method: str,
                                                          tags: str) -> None:
    body = None if method == "DELETE" else bucket(name="x")
    answer = admin.request(method, plan, body, tenant=tenant, headers={"if-match": tags})
    assert (answer.status, answer.body["type"]) == (412, "/problems/precondition-failed")
    assert admin.get(plan, tenant=tenant).body["name"] == "two"


def test_a_version_without_quotes_is_answered_with_the_header_as_it_must_be(admin: AdminClient, tenant: str, plan: str) -> None:
    answer = admin.patch(plan, {"name": "x"}, tenant=tenant, headers={"if-match": "2"})
    assert 'If-Match: "2"' in answer.body["detail"], answer
    other = admin.patch(plan, {"name": "x"}, tenant=tenant, headers={"if-match": '"1"'})
    assert "has version 2 now" in other.body["detail"], other


def test_if_match_of_what_is_not_there_is_412_on_put_and_404_elsewhere(admin: AdminClient, tenant: str) -> None:
    headers = {"if-match": "*"}
    assert admin.put("/plans/none", bucket(), tenant=tenant, headers=headers).status == 412
    assert admin.patch("/plans/none", {}, tenant=tenant, headers=headers).status == 404
    assert admin.delete("/plans/none", tenant=tenant, headers=headers).status == 404


def test_put_with_if_none_match_only_creates(admin: AdminClient, tenant: str, plan: str) -> None:
    headers = {"if-none-match": "*"}
    assert admin.put(plan, bucket(name="x"), tenant=tenant, headers=headers).status == 412
    assert admin.get(plan, tenant=tenant).body["name"] == "two"
    assert admin.put("/plans/new", bucket(), tenant=tenant, headers=headers).status == 201


def test_what_was_seen_already_is_304_without_a_body(admin: AdminClient, tenant: str, plan: str) -> None:
    for tags, status in (('"2"', 304), ("*", 304), ('"1", "2"', 304), ('W/"2"', 304), ('"1"', 200)):
        answer = admin.get(plan, tenant=tenant, headers={"if-none-match": tags})
        assert (answer.status, answer.header("etag")) == (status, '"2"'), tags


def test_of_many_who_saw_one_version_exactly_one_changes_it(server: Server, tenant: str, plan: str) -> None:
    answers: list[Answer] = []

    def change(number: int) -> None:
        with server.admin() as client:
            answers.append(client.patch(plan, {"name": f"n{number}"}, tenant=tenant, headers={"if-match": '"2"'}))

    in_parallel(change, 8)
    assert sorted(answer.status for answer in answers) == [200] + [412] * 7


# --- idempotency -----------------------------------------------------------------------------------------------------

def same(first: Answer, second: Answer) -> bool:
    """Whether one is the other's answer again."""
    return (first.status, first.body, first.header("etag"), first.header("location"), first.header("sluice-revision")) == (
        second.status, second.body, second.header("etag"), second.header("location"), second.header("sluice-revision"))


def test_a_call_repeated_with_its_key_gets_the_first_answer_and_does_nothing(server: Server, admin: AdminClient,
                                                                             tenant: str) -> None:
    calls: list[tuple[str, str, Any]] = [("POST", "/plans", bucket()), ("PUT", "/plans/pro", bucket(name="two")),
                                         ("PATCH", "/plans/pro", {"name": "three"}), ("DELETE", "/plans/pro", None)]
    for done, (method, path, body) in enumerate(calls, 1):
        key = fresh_id("key")
        first = admin.request(method, path, body, tenant=tenant, key=key)
        assert first.status < 300 and first.header("idempotency-replayed") is None, first
        second = admin.request(method, path, body, tenant=tenant, key=key)
        assert same(first, second), (first, second)
        assert second.header("idempotency-replayed") == "true"
        assert rows(server, tenant) == (done, done, done)


def test_a_replay_has_a_request_id_of_its_own(admin: AdminClient, tenant: str) -> None:
    key = fresh_id("key")
    admin.post("/plans", bucket(), tenant=tenant, key=key)
    answer = admin.post("/plans", bucket(), tenant=tenant, key=key, headers={"x-request-id": "mine"})
    assert (answer.header("idempotency-replayed"), answer.header("x-request-id")) == ("true", "mine")


def test_a_key_is_no_good_for_another_request(server: Server, admin: AdminClient, tenant: str) -> None:
    key = fresh_id("key")
    admin.put("/plans/pro", bucket(), tenant=tenant, key=key)
    for answer in (admin.put("/plans/pro", bucket(name="other"), tenant=tenant, key=key),
                   admin.put("/plans/else", bucket(), tenant=tenant, key=key),
                   admin.put("/plans/pro", bucket(tenant_id=tenant), key=key),
                   admin.delete("/plans/pro", tenant=tenant, key=key)):
        assert (answer.status, answer.body["type"]) == (422, "/problems/idempotency-key-reused"), answer
    assert rows(server, tenant) == (1, 1, 1)


def test_a_refused_call_does_not_use_up_its_key(admin: AdminClient, tenant: str) -> None:
    key = fresh_id("key")
    assert admin.post("/plans", bucket(mode="loud"), tenant=tenant, key=key).status == 422
    assert admin.post("/plans", bucket(), tenant=tenant, key=key).status == 201


def test_two_callers_may_choose_the_same_key(server: Server, admin: AdminClient, tenant: str) -> None:
    other = bootstrap(server.program, server.database, "--again", "--name", "second")
    key = fresh_id("key")
    assert admin.put("/plans/one", bucket(), tenant=tenant, key=key).status == 201
    with server.admin(other) as client:
        answer = client.put("/plans/two", bucket(id="two"), tenant=tenant, key=key)
    assert (answer.status, answer.header("idempotency-replayed")) == (201, None)


def test_simultaneous_calls_with_one_key_make_one_version_and_one_audit_row(server: Server, tenant: str) -> None:
    key = fresh_id("key")
    answers: list[Answer] = []

    def make(_: int) -> None:
        with server.admin() as client:
            answers.append(client.post("/plans", bucket(), tenant=tenant, key=key))

    in_parallel(make, 8)
    assert [answer.status for answer in answers] == [201] * 8, answers
    assert all(same(answers[0], answer) for answer in answers)
    assert sorted(answer.header("idempotency-replayed") or "" for answer in answers) == [""] + ["true"] * 7
    assert rows(server, tenant) == (1, 1, 1)


def test_simultaneous_calls_without_a_key_make_one_object_and_the_others_hear_409(server: Server, tenant: str) -> None:
    answers: list[Answer] = []

    def make(number: int) -> None:
        with server.admin() as client:
            answers.append(client.post("/plans", bucket(id="pro", name=f"n{number}"), tenant=tenant))

    in_parallel(make, 8)
    assert sorted(answer.status for answer in answers) == [201] + [409] * 7
    assert rows(server, tenant) == (1, 1, 1)


def test_simultaneous_puts_of_a_new_object_all_succeed_one_after_the_other(server: Server, tenant: str) -> None:
    answers: list[Answer] = []

    def make(number: int) -> None:
        with server.admin() as client:
            answers.append(client.put("/plans/pro", bucket(name=f"n{number}"), tenant=tenant))

    in_parallel(make, 4)
    assert sorted(answer.status for answer in answers) == [200, 200, 200, 201], answers
    assert sorted(answer.body["version"] for answer in answers) == [1, 2, 3, 4]
    assert rows(server, tenant) == (4, 4, 4)


@pytest.mark.parametrize("key", ["a" * 255, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "0"], ids=["longest", "every kind", "shortest"])
def test_a_key_is_any_visible_ascii(admin: AdminClient, tenant: str, key: str) -> None:
    assert admin.post("/plans", bucket(), tenant=tenant, key=key).status == 201


@pytest.mark.parametrize("key", ["a" * 256, "a b", "ä", "a\tb"], ids=["too long", "space", "no ASCII", "tab"])
def test_a_key_of_another_form_is_400(admin: AdminClient, tenant: str, key: str) -> None:
    answer = admin.post("/plans", bucket(), tenant=tenant, headers={"idempotency-key": key})
    assert (answer.status, pointers(answer)) == (400, ["Idempotency-Key"]), answer


def test_a_key_on_a_read_is_of_no_effect(admin: AdminClient, tenant: str, plan: str) -> None:
    key = fresh_id("key")
    assert admin.get(plan, tenant=tenant, key=key).header("idempotency-replayed") is None
    assert admin.get(plan, tenant=tenant, key=key).header("idempotency-replayed") is None
    assert admin.delete(plan, tenant=tenant, key=key).status == 204
