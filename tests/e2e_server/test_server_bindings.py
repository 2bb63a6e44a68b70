"""Bindings: which service accounts of a Kubernetes cluster get whose policies."""

from typing import Any

import pytest

from support.admin import AdminClient, fresh_id, pointers
from support.server import Server


@pytest.fixture
def namespace() -> str:
    """A namespace that no binding has yet."""
    return fresh_id("ns")


def test_a_binding_is_answered_in_its_canonical_form(admin: AdminClient, organization: str, tenant: str, namespace: str) -> None:
    other = admin.tenant(organization)
    made = admin.create("/bindings", {"namespace": namespace, "tenant_ids": [other, tenant], "service_account": None})
    assert made.pop("revision") > 0 and made.pop("created_at") == made.pop("updated_at")
    # An id of its names; the organization of its tenants; every one that has no binding of its own.
    assert made == {"id": namespace, "namespace": namespace, "service_account": "*", "organization_id": organization,
                    "tenant_ids": sorted([tenant, other]), "version": 1}
    whole = admin.create("/bindings", {"namespace": namespace, "service_account": "checkout", "organization_id": organization})
    assert (whole["id"], whole["tenant_ids"]) == (f"{namespace}-checkout", [])
    everything = admin.create("/bindings", {"namespace": namespace, "service_account": "gateway.edge"})
    assert "organization_id" not in everything and everything["id"] == f"{namespace}-gateway-edge"


def test_a_binding_is_replaced_patched_found_and_deleted(admin: AdminClient, organization: str, tenant: str, namespace: str) -> None:
    path = f"/bindings/{fresh_id('b')}"
    body: dict[str, Any] = {"namespace": namespace, "organization_id": organization}
    assert admin.put(path, body).status == 201
    same = admin.put(path, {**body, "service_account": "*", "tenant_ids": []})
    assert (same.status, same.body["version"]) == (200, 1)   # without a difference no version
    assert admin.patch(path, {"tenant_ids": [tenant]}).body["version"] == 2
    assert admin.put(path, body, headers={"if-match": '"1"'}).status == 412
    moved = admin.put(path, {**body, "namespace": f"{namespace}-b"}).body
    assert (moved["namespace"], moved["tenant_ids"], moved["version"]) == (f"{namespace}-b", [], 3)
    assert [item["id"] for item in admin.items("/bindings", query={"namespace": f"{namespace}-b"})] == [path.split("/")[2]]
    assert not list(admin.items("/bindings", query={"namespace": namespace}))
    assert path.split("/")[2] in [item["id"] for item in admin.items("/bindings", query={"organization_id": organization})]
    assert admin.delete(path).status == 204
    assert admin.get(path).status == 404


@pytest.mark.parametrize(("body", "faulty"), [
    ({}, ["/namespace"]),
    ({"namespace": "Shop"}, ["/namespace"]),
    ({"namespace": "-shop"}, ["/namespace"]),
    ({"namespace": "a" * 64}, ["/namespace"]),
    ({"namespace": "shop", "service_account": "a_b"}, ["/service_account"]),
    ({"namespace": "shop", "service_account": "a..b"}, ["/service_account"]),
    ({"namespace": "shop", "service_account": "sh*"}, ["/service_account"]),
    ({"namespace": "shop", "service_account": ""}, ["/service_account"]),
    ({"namespace": "shop", "organization_id": "nobody"}, ["/organization_id"]),
    ({"namespace": "shop", "organization_id": "No One"}, ["/organization_id"]),
    ({"namespace": "shop", "tenant_ids": ["nobody"]}, ["/tenant_ids/0"]),
    ({"namespace": "shop", "tenant_ids": "shop"}, ["/tenant_ids"]),
    ({"namespace": "shop", "tenant_ids": [7, "UPPER"]}, ["/tenant_ids/0", "/tenant_ids/1"]),
    ({"namespace": "shop", "role": "auditor"}, ["/role"]),
    ({"id": "No", "namespace": 5, "service_account": "~", "tenant_ids": ["nobody"], "x": 1},
     ["/id", "/namespace", "/service_account", "/tenant_ids/0", "/x"]),
])
def test_all_faults_of_a_binding_are_named_at_once(admin: AdminClient, body: dict[str, Any], faulty: list[str]) -> None:
    answer = admin.post("/bindings", body)
    assert answer.status == 422 and sorted(pointers(answer)) == faulty, answer


def test_a_binding_is_of_tenants_of_one_organization(admin: AdminClient, tenant: str, namespace: str) -> None:
    elsewhere = admin.tenant()
    answer = admin.post("/bindings", {"namespace": namespace, "tenant_ids": [tenant, elsewhere]})
    assert answer.status == 422 and len(pointers(answer)) == 1, answer


def test_a_service_account_has_one_binding(admin: AdminClient, organization: str, namespace: str) -> None:
    first = admin.create("/bindings", {"namespace": namespace, "organization_id": organization})
    again = admin.post("/bindings", {"namespace": namespace, "organization_id": organization})
    assert (again.status, again.body["type"], pointers(again)) == (409, "/problems/exists", ["/service_account"])
    assert first["id"] in again.body["detail"]
    second = admin.create("/bindings", {"namespace": namespace, "service_account": "a", "organization_id": organization})
    assert admin.patch(f"/bindings/{second['id']}", {"service_account": "*"}).status == 409


def test_a_binding_does_not_move_to_another_organization(admin: AdminClient, organization: str, namespace: str) -> None:
    made = admin.create("/bindings", {"namespace": namespace, "organization_id": organization})
    answer = admin.patch(f"/bindings/{made['id']}", {"organization_id": admin.organization()})
    assert answer.status == 422 and pointers(answer) == ["/organization_id"], answer


def test_what_a_binding_names_cannot_be_deleted(server: Server, admin: AdminClient, organization: str, tenant: str, namespace: str) -> None:
    made = admin.create("/bindings", {"namespace": namespace, "organization_id": organization, "tenant_ids": [tenant]})
    owner = admin.create("/tokens", {"name": "n", "role": "org_admin", "organization_id": organization})["token"]
    with server.admin(owner) as own:   # who may not write it is told of it, too
        for path in (f"/tenants/{tenant}",):
            answer = own.delete(path)
            assert answer.status == 409 and made["id"] in str(answer.body["errors"]), answer
    answer = admin.delete(f"/organizations/{organization}")
    assert answer.status == 409 and f"binding {made['id']}" in str(answer.body["errors"]), answer
    assert admin.delete(f"/bindings/{made['id']}").status == 204
    assert admin.delete(f"/tenants/{tenant}").status == 204


def test_an_organization_sees_who_gets_its_policies_and_the_trail_of_it(server: Server, admin: AdminClient, namespace: str) -> None:
    organization = admin.organization()
    tenant = admin.tenant(organization)
    made = admin.create("/bindings", {"namespace": namespace, "organization_id": organization, "tenant_ids": [tenant]})
    whole = admin.create("/bindings", {"namespace": namespace, "service_account": "a", "organization_id": organization})
    others = admin.create("/bindings", {"namespace": f"{namespace}-b", "organization_id": admin.organization()})
    platform = admin.create("/bindings", {"namespace": f"{namespace}-c"})
    auditor = admin.create("/tokens", {"name": "n", "role": "auditor", "organization_id": organization})["token"]
    with server.admin(auditor) as own:
        assert {item["id"] for item in own.items("/bindings")} == {made["id"], whole["id"]}
        assert own.get(f"/bindings/{others['id']}").status == own.get(f"/bindings/{platform['id']}").status == 404
        trail = list(own.items("/audit", query={"kind": "binding", "object_id": made["id"]}))
        assert [(entry["action"], entry["after"]["namespace"]) for entry in trail] == [("create", namespace)]
    one = admin.create("/tokens", {"name": "n", "role": "auditor", "organization_id": organization, "tenant_ids": [tenant]})["token"]
    with server.admin(one) as own:   # one that reaches all of the organization is beyond who is limited to a tenant
        assert [item["id"] for item in own.items("/bindings")] == [made["id"]]
        assert own.get(f"/bindings/{whole['id']}").status == 404

