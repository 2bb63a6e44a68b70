"""`require_key_by` in the admin API: true for what is new, kept for what is stored, always shown."""

from typing import Any

import pytest

from support.admin import AdminClient

LIMITS = [{"name": "minute", "algorithm": "fixed_window", "limit": 9, "window": "1m"}]
KINDS = ["plans", "policies"]


def body_of(kind: str, name: str, **fields: Any) -> dict[str, Any]:
    """A plan or a policy with a limit of its own."""
    return {"name": name, "limits": LIMITS, **({"scope": {"resource": "GET:/orders"}} if kind == "policies" else {}), **fields}


@pytest.mark.parametrize("kind", KINDS)
def test_new_objects_require_their_dimensions_and_all_answers_say_what_holds(admin: AdminClient, tenant: str, kind: str) -> None:
    for name, fields, required in (("new", {}, True), ("strict", {"require_key_by": True}, True), ("free", {"require_key_by": False}, False)):
        made = admin.put(f"/{kind}/{name}", body_of(kind, name, **fields), tenant=tenant)
        assert (made.status, made.body["require_key_by"]) == (201, required)
        assert admin.get(f"/{kind}/{name}", tenant=tenant).body["require_key_by"] is required
    assert {item["id"]: item["require_key_by"] for item in admin.items(f"/{kind}", tenant=tenant)} == {
        "new": True, "strict": True, "free": False}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_stored_keeps_its_value_whatever_way_it_is_written_again(admin: AdminClient, organization: str, tenant: str,
                                                                         kind: str) -> None:
    admin.put(f"/{kind}/old", body_of(kind, "old", require_key_by=False), tenant=tenant)

    def shown() -> tuple[bool, int]:
        found = admin.get(f"/{kind}/old", tenant=tenant).body
        return found["require_key_by"], found["version"]

    assert admin.put(f"/{kind}/old", body_of(kind, "old"), tenant=tenant).status == 200
    assert shown() == (False, 1), "nothing changed, so it is no new version"
    assert admin.patch(f"/{kind}/old", {"name": "Old"}, tenant=tenant).body["require_key_by"] is False
    exported = admin.get("/export", query={"tenant_id": tenant}).body
    (item,) = exported[kind]
    assert item.pop("require_key_by") is False
    assert admin.post("/apply", exported, query={"organization_id": organization}).status == 200
    assert shown()[0] is False
    assert admin.put(f"/{kind}/old", body_of(kind, "old", require_key_by=True), tenant=tenant).body["require_key_by"] is True
    assert admin.put(f"/{kind}/old", body_of(kind, "old"), tenant=tenant).body["require_key_by"] is True
