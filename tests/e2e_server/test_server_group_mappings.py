"""Group mappings, as objects of the admin API: which people of the OpenID provider get which role and scope."""

from typing import Any

import pytest

from support.admin import AdminClient, fresh_id
from support.client import Answer
from support.server import Server


def pointers(answer: Answer) -> list[str]:
    """Of the faults."""
    return [str(error["pointer"]) for error in answer.body["errors"]]


def test_a_mapping_is_answered_in_its_canonical_form(admin: AdminClient, organization: str, tenant: str) -> None:
    other = admin.tenant(organization)
    group = fresh_id("Night Shift").replace("-", " ")
    made = admin.create("/group-mappings", {"group": group, "role": "operator", "tenant_ids": [other, tenant]})
    # An id of the group's name; the organization of its tenants.
    assert made["id"] == group.lower().replace(" ", "-") and made["organization_id"] == organization
    assert made["tenant_ids"] == sorted([other, tenant])
    everything = admin.create("/group-mappings", {"group": fresh_id("g"), "role": "platform_admin"})
    assert "organization_id" not in everything and everything["tenant_ids"] == []


def test_a_mapping_is_replaced_patched_found_and_deleted(admin: AdminClient, organization: str, tenant: str) -> None:
    path, group = f"/group-mappings/{fresh_id('m')}", fresh_id("g")
    body: dict[str, Any] = {"group": group, "role": "auditor", "organization_id": organization}
    assert admin.put(path, body).status == 201
    same = admin.put(path, {**body, "tenant_ids": []})
    assert (same.status, same.body["version"]) == (200, 1)   # without a difference no version
    assert admin.patch(path, {"tenant_ids": [tenant]}).body["version"] == 2
    assert admin.put(path, body, headers={"if-match": '"1"'}).status == 412
    assert admin.get(path, headers={"if-none-match": '"2"'}).status == 304
    changed = admin.put(path, {**body, "role": "org_admin"}).body
    assert (changed["role"], changed["tenant_ids"], changed["version"]) == ("org_admin", [], 3)
    assert [item["id"] for item in admin.items("/group-mappings", query={"group": group})] == [path.split("/")[2]]
    assert path.split("/")[2] in [item["id"] for item in admin.items("/group-mappings", query={"organization_id": organization})]
    assert admin.patch(path, {"organization_id": admin.organization()}).status == 422
    assert admin.delete(path).status == 204
    assert admin.get(path).status == 404
    actions = [entry["action"] for entry in admin.items("/audit", query={"kind": "group-mapping", "object_id": path.split("/")[2]})]
    assert actions == ["delete", "update", "update", "create"]


@pytest.mark.parametrize(("body", "faulty"), [
    ({}, ["/group", "/role"]),
    ({"group": "", "role": "auditor"}, ["/group"]),
    ({"group": "x" * 257, "role": "auditor"}, ["/group"]),
    ({"group": "a", "role": "king"}, ["/role"]),
    ({"group": "a", "role": "platform_admin", "organization_id": "nobody"}, ["/organization_id", "/organization_id"]),
    ({"group": "a", "role": "org_admin"}, ["/organization_id"]),
    ({"group": "a", "role": "auditor", "tenant_ids": ["nobody"]}, ["/tenant_ids/0"]),
    ({"group": "a", "role": "auditor", "namespace": "a"}, ["/namespace"]),
])
def test_all_faults_of_a_mapping_are_named_at_once(admin: AdminClient, body: dict[str, Any], faulty: list[str]) -> None:
    answer = admin.post("/group-mappings", body)
    assert answer.status == 422 and sorted(pointers(answer)) == faulty, answer


def test_a_group_has_one_mapping(admin: AdminClient, organization: str) -> None:
    group = fresh_id("g")
    first = admin.create("/group-mappings", {"group": group, "role": "auditor"})
    again = admin.post("/group-mappings", {"group": group, "role": "operator", "organization_id": organization})
    assert (again.status, again.body["type"]) == (409, "/problems/exists") and first["id"] in again.body["detail"]
    # Two groups may have one slug; names differ byte by byte.
    second = admin.create("/group-mappings", {"group": group.upper(), "role": "auditor"})
    assert second["id"] != first["id"]
    assert admin.patch(f"/group-mappings/{second['id']}", {"group": group}).status == 409


def test_what_a_mapping_names_cannot_be_deleted(admin: AdminClient, organization: str, tenant: str) -> None:
    made = admin.create("/group-mappings", {"group": fresh_id("g"), "role": "auditor", "tenant_ids": [tenant]})
    refused = admin.delete(f"/tenants/{tenant}")
    assert refused.status == 409 and f"group-mapping {made['id']}" in str(refused.body["errors"]), refused
    assert admin.delete(f"/group-mappings/{made['id']}").status == 204


def test_an_organization_sees_the_mappings_into_it_and_changes_none(server: Server, admin: AdminClient, organization: str) -> None:
    own = admin.create("/group-mappings", {"group": fresh_id("g"), "role": "auditor", "organization_id": organization})
    other = admin.create("/group-mappings", {"group": fresh_id("g"), "role": "auditor", "organization_id": admin.organization()})
    token = admin.create("/tokens", {"name": "own", "role": "org_admin", "organization_id": organization})["token"]
    with server.admin(token) as client:
        seen = [item["id"] for item in client.items("/group-mappings")]
        assert own["id"] in seen and other["id"] not in seen
        assert client.get(f"/group-mappings/{other['id']}").status == 404
        assert client.patch(f"/group-mappings/{own['id']}", {"role": "org_admin"}).status == 403
        assert client.post("/group-mappings", {"group": "everyone", "role": "org_admin", "organization_id": organization}).status == 403
        assert client.delete(f"/group-mappings/{own['id']}").status == 403
