"""Lists: pages, cursors, filters, order."""

from typing import Any

import pytest

from support.admin import AdminClient, bucket, fresh_id, pointers

LIMIT = {"limit": 10, "window": "10s"}


def ids(answer_items: Any) -> list[str]:
    """The ids of a list's items."""
    return [item["id"] for item in answer_items]


def test_pages_show_every_object_once_in_order_of_their_ids(admin: AdminClient, tenant: str) -> None:
    names = sorted([f"p{number}" for number in range(7)] + ["a", "a-b", "a.b", "z"], key=str.encode)
    for name in reversed(names):
        admin.put(f"/plans/{name}", bucket(id=name), tenant=tenant)
    for limit in (1, 2, 3, 5, 11, 1000):
        seen: list[str] = []
        cursor = None
        while True:
            query = {"limit": limit, **({"cursor": cursor} if cursor else {})}
            page = admin.get("/plans", tenant=tenant, query=query).body
            assert set(page) == {"items", "next"} and 1 <= len(page["items"]) <= limit
            seen += ids(page["items"])
            cursor = page["next"]
            if cursor is None:
                break
        assert seen == names, limit


def test_the_items_of_a_list_are_what_a_get_shows(admin: AdminClient, tenant: str) -> None:
    admin.put("/plans/pro", bucket(), tenant=tenant)
    assert admin.get("/plans", tenant=tenant).body["items"] == [admin.get("/plans/pro", tenant=tenant).body]


def test_a_list_of_nothing_is_empty(admin: AdminClient, tenant: str) -> None:
    for path in ("/plans", "/policies"):
        assert admin.get(path, tenant=tenant).body == {"items": [], "next": None}
        assert admin.get(path, tenant="nobody").body == {"items": [], "next": None}


def test_a_page_is_a_hundred_unless_asked_otherwise(admin: AdminClient, tenant: str) -> None:
    for number in range(101):
        admin.put(f"/plans/p{number:03}", LIMIT, tenant=tenant)
    page = admin.get("/plans", tenant=tenant).body
    assert len(page["items"]) == 100 and page["next"]
    rest = admin.get("/plans", tenant=tenant, query={"cursor": page["next"]}).body
    assert (ids(rest["items"]), rest["next"]) == (["p100"], None)
    assert len(admin.get("/plans", tenant=tenant, query={"limit": 101}).body["items"]) == 101


def test_a_cursor_survives_what_is_written_and_removed_between_pages(admin: AdminClient, tenant: str) -> None:
    for name in ("a", "c", "e"):
        admin.put(f"/plans/{name}", LIMIT, tenant=tenant)
    page = admin.get("/plans", tenant=tenant, query={"limit": 2}).body
    assert ids(page["items"]) == ["a", "c"]
    admin.delete("/plans/c", tenant=tenant)
    admin.put("/plans/b", LIMIT, tenant=tenant)
    admin.put("/plans/d", LIMIT, tenant=tenant)
    assert ids(admin.get("/plans", tenant=tenant, query={"cursor": page["next"]}).body["items"]) == ["d", "e"]


def test_lists_over_several_tenants_go_on_across_them(admin: AdminClient, organization: str) -> None:
    tenants = sorted(admin.tenant(organization) for _ in range(3))
    for owner in tenants:
        for name in ("a", "b"):
            admin.put(f"/plans/{name}", LIMIT, tenant=owner)
    seen = [(item["tenant_id"], item["id"]) for item in admin.items("/plans", query={"limit": 1})
            if item["tenant_id"] in tenants]
    assert seen == [(owner, name) for owner in tenants for name in ("a", "b")]


@pytest.mark.parametrize("limit", ["0", "1001", "-1", "x", "1e2", "1.0", " 1", "99999999999999999999"])
def test_a_limit_that_is_no_size_of_a_page_is_400(admin: AdminClient, limit: str) -> None:
    answer = admin.get("/plans", query={"limit": limit})
    assert (answer.status, pointers(answer)) == (400, ["?limit"])


@pytest.mark.parametrize("cursor", ["x", "AAAA", "!!!!", "AA==", "YQ", "a\nb", "YQoA", "//8K//8", "_wr_", "wyhh"])
def test_a_cursor_that_was_never_given_is_400(admin: AdminClient, cursor: str) -> None:
    answer = admin.get("/plans", query={"cursor": cursor})
    assert (answer.status, pointers(answer)) == (400, ["?cursor"]), answer


def test_policies_are_filtered_by_plan_mode_and_whether_they_are_enabled(admin: AdminClient, tenant: str) -> None:
    admin.put("/plans/pro", bucket(), tenant=tenant)
    admin.put("/policies/a", {"resource": "a", "plan_id": "pro"}, tenant=tenant)
    admin.put("/policies/b", {"resource": "b", "plan_id": "pro", "mode": "shadow"}, tenant=tenant)
    admin.put("/policies/c", {"resource": "c", "mode": "off", **LIMIT}, tenant=tenant)
    admin.put("/policies/d", {"resource": "d", "enabled": False, **LIMIT}, tenant=tenant)
    for query, found in (({"plan_id": "pro"}, "ab"), ({"plan_id": "none"}, ""), ({"mode": "enforce"}, "ad"),
                         ({"mode": "shadow"}, "b"), ({"mode": "off"}, "c"), ({"enabled": "true"}, "abc"),
                         ({"enabled": "false"}, "d"), ({"plan_id": "pro", "mode": "shadow"}, "b"), ({}, "abcd")):
        assert "".join(ids(admin.get("/policies", tenant=tenant, query=query).body["items"])) == found, query


def test_tenants_are_filtered_by_organization(admin: AdminClient) -> None:
    organization, other = admin.organization(), admin.organization()
    mine = sorted([admin.tenant(organization), admin.tenant(organization)])
    admin.tenant(other)
    assert ids(admin.get("/tenants", query={"organization_id": organization}).body["items"]) == mine
    pages = admin.items("/tenants", query={"organization_id": organization, "limit": 1})
    assert ids(pages) == mine


@pytest.mark.parametrize("path", ["/organizations", "/tenants", "/plans", "/policies"])
def test_an_unknown_parameter_is_400_and_named(admin: AdminClient, tenant: str, path: str) -> None:
    for method in ("GET", "POST"):
        answer = admin.request(method, path, {} if method == "POST" else None, query={"colour": "red", "Limit": "1"})
        assert (answer.status, sorted(pointers(answer))) == (400, ["?Limit", "?colour"]), answer
    answer = admin.get(f"{path}/x", query={"limit": "1"})
    assert (answer.status, pointers(answer)) == (400, ["?limit"])


@pytest.mark.parametrize(("method", "path", "names"), [
    ("GET", "/policies", ("limit", "mode", "enabled")), ("GET", "/audit", ("kind", "since", "until")),
    ("GET", "/export", ("include",)), ("POST", "/apply", ("dry_run", "prune"))])
def test_a_parameter_that_lost_its_value_is_400_and_named(admin: AdminClient, method: str, path: str,
                                                          names: tuple[str, ...]) -> None:
    answer = admin.request(method, path, {"format": "sluice/v1"} if method == "POST" else None,
                           query=dict.fromkeys(names, ""))
    assert (answer.status, pointers(answer)) == (400, [f"?{name}" for name in names]), answer


def test_a_parameter_given_twice_is_400(admin: AdminClient) -> None:
    answer = admin.get("/plans?limit=1&limit=2")
    assert (answer.status, pointers(answer)) == (400, ["?limit"])


@pytest.mark.parametrize("path", ["/plans", "/policies"])
def test_one_object_of_a_caller_with_many_tenants_needs_the_tenant_named(admin: AdminClient, path: str) -> None:
    for method in ("GET", "DELETE"):
        answer = admin.request(method, f"{path}/{fresh_id('x')}")
        assert (answer.status, pointers(answer)) == (422, ["?tenant_id"])
