"""Checks without a dimension that their policy counts by: refused unless the policy says otherwise."""

from typing import Any

import pytest

from support.bundle import Bundle, MintedKey, window
from support.client import Client, fresh_subject


@pytest.fixture(scope="module")
def bundle(key: MintedKey) -> Bundle:
    """Policies and plans that say something of `require_key_by`, or nothing."""
    made = Bundle().key(key)
    made.plan("bucket", window("fixed_window", 9, "1m"))
    made.plan("lenient", window("fixed_window", 9, "1m"), require_key_by=False)
    made.document["plans"].append({"tenant_id": "acme", "id": "default", "limits": [window("fixed_window", 9, "1m")]})
    made.policy("users", {"operation": "users"}, "bucket", key_by=["user"])
    made.policy("tags", {"operation": "tags"}, "bucket", key_by=["tag.env", "attr.model"])
    made.policy("shared", {"operation": "shared"}, "bucket", key_by=["user"], require_key_by=False)
    made.policy("watched", {"operation": "watched"}, "bucket", key_by=["user"], mode="shadow")
    made.policy("everybody", {"operation": "everybody"}, "bucket", key_by=[])
    return made


@pytest.mark.parametrize(("fields", "pointer", "says"), [
    ({"operation": "users"}, "/user", "user is required: policy \"users\" counts by it"),
    ({"operation": "users", "user": "", "subject": "s"}, "/user", "user is required"),
    ({"operation": "tags", "attributes": {"model": "m"}}, "/tags/env", "tag.env is required"),
    ({"operation": "tags", "tags": {"env": "prod"}}, "/attributes/model", "attr.model is required"),
    ({"plan_id": "bucket"}, "/subject", "plan \"bucket\" counts by it"),
    ({"plan_id": "default"}, "/subject", "plan \"default\" counts by it")])
def test_a_check_without_a_dimension_is_422_with_the_policy_and_the_fix(client: Client, fields: dict[str, Any], pointer: str,
                                                                       says: str) -> None:
    answer = client.check(**fields)
    assert (answer.status, answer.body["errors"][0]["pointer"]) == (422, pointer)
    assert says in answer.body["errors"][0]["detail"] and "require_key_by to false" in answer.body["errors"][0]["detail"]


def test_the_default_key_by_requires_the_subject_alone(client: Client) -> None:
    subject = fresh_subject()
    assert client.check(plan_id="default", subject=subject).body["remaining"] == 8
    assert client.check(plan_id="default", subject=subject, resource="GET:/a").body["remaining"] == 8, "a counter of its own"


def test_where_it_is_not_required_all_checks_without_it_share_one_counter(client: Client) -> None:
    remaining = [client.check(operation="shared").body["remaining"] for _ in range(2)]
    assert remaining[1] == remaining[0] - 1
    assert client.check(operation="shared", user="u").body["remaining"] == 8
    assert client.check(plan_id="lenient").status == 200
    assert client.check(operation="everybody").status == 200, "it counts by nothing"


def test_a_shadow_refuses_nobody(client: Client) -> None:
    assert client.check(operation="watched").status == 200


def test_a_batch_refuses_only_the_check_that_lacks_it(client: Client) -> None:
    refused, allowed = client.batch({"operation": "users"}, {"operation": "users", "user": "u"}).body["results"]
    assert (refused["status"], refused["errors"][0]["pointer"]) == (422, "/checks/0/user") and allowed["allowed"]
