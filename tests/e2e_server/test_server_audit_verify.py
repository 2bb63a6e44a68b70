"""The audit trail is verified through the API: step by step, within the caller's scope, and a changed row is named."""

from collections.abc import Callable
from typing import Any, Optional

import pytest

from support.admin import AdminClient, bucket, pointers
from support.audit_rows import add_entries
from support.server import Server

VERIFY = "/audit/verify"


def verify(admin: AdminClient, organization: str = "") -> dict[str, Any]:
    """The last answer, after all steps."""
    after: Optional[str] = None
    for _ in range(100):
        query = {**({"organization_id": organization} if organization else {}), **({"after": after} if after else {})}
        answer = admin.get(VERIFY, query=query)
        assert answer.status == 200, answer
        if answer.body["complete"]:
            assert answer.body["next"] is None
            return dict(answer.body)
        after = answer.body["next"]
    raise AssertionError("the verification does not end")


@pytest.fixture
def own(make_server: Callable[..., Server]) -> Server:
    """A server whose trail may be spoilt."""
    return make_server().start()


def busy(admin: AdminClient) -> tuple[str, str]:
    """An organization and a tenant whose chain has some rows."""
    organization = admin.organization()
    tenant = admin.tenant(organization)
    for number in range(5):
        assert admin.put(f"/plans/p{number}", {**bucket(), "name": f"p{number}"}, tenant=tenant).status == 201
    return organization, tenant


def test_a_whole_trail_is_whole_and_its_entries_are_counted(own: Server) -> None:
    with own.admin() as admin:
        organization, _ = busy(admin)
        found = verify(admin, organization)
        assert found["broken"] is None
        assert found["chains"] == 1
        entries = list(admin.items("/audit", query={"organization_id": organization}))
        assert found["entries"] == found["total"] == len(entries)
        assert (found["from"], found["to"]) == (entries[-1]["at"], entries[0]["at"])
        everything = verify(admin)
        assert everything["broken"] is None and everything["entries"] == everything["total"] > found["entries"]
        assert everything["chains"] > 1


@pytest.mark.parametrize("spoil", ["UPDATE audit SET actor_id = 'nobody' WHERE organization_id = %s AND seq = 4",
                                   "UPDATE audit SET after = '{}' WHERE organization_id = %s AND seq = 4",
                                   "DELETE FROM audit WHERE organization_id = %s AND seq = 4"])
def test_a_row_that_somebody_has_changed_is_named(own: Server, spoil: str) -> None:
    with own.admin() as admin:
        organization, tenant = busy(admin)
        entry = next(each for each in admin.items("/audit", query={"organization_id": organization}) if each["seq"] == 4)
        own.database.execute(spoil, (organization,))
        broken = verify(admin, organization)["broken"]
        assert (broken["organization_id"], broken["seq"]) == (organization, 4)
        assert "row 4" in broken["detail"]
        if spoil.startswith("UPDATE"):
            assert (broken["kind"], broken["tenant_id"], broken["object_id"], broken["at"]) == ("plan", tenant, entry["object_id"], entry["at"])
        else:
            assert "object_id" not in broken
        assert verify(admin)["broken"]["organization_id"] == organization


def test_an_organization_verifies_its_own_chain_only(own: Server) -> None:
    with own.admin() as admin:
        organization, tenant = busy(admin)
        other, _ = busy(admin)
        auditor = admin.create("/tokens", {"name": "a", "role": "auditor", "organization_id": organization})["token"]
        narrow = admin.create("/tokens", {"name": "n", "role": "auditor", "organization_id": organization, "tenant_ids": [tenant]})["token"]
        own.database.execute("UPDATE audit SET actor_id = 'nobody' WHERE organization_id = %s AND seq = 2", (other,))
        with own.admin(auditor) as theirs:
            found = verify(theirs)
            assert found["broken"] is None and found["chains"] == 1
            assert theirs.get(VERIFY, query={"organization_id": other}).status == 404
        with own.admin(narrow) as tenants:
            assert tenants.get(VERIFY).status == 403


@pytest.mark.parametrize("after", ["x", "bm90aGluZw", "YWNtZQoxOjI6Mzo0OjU6eng"])
def test_an_after_that_no_answer_had_is_refused(admin: AdminClient, after: str) -> None:
    refused = admin.get(VERIFY, query={"after": after})
    assert (refused.status, pointers(refused)) == (400, ["?after"])


def test_many_entries_take_several_calls_and_other_calls_go_on_between(own: Server) -> None:
    with own.admin() as admin:
        organization, tenant = busy(admin)
        add_entries(own.database, organization, 45_000)
        after: Optional[str] = ""
        entries: list[int] = []
        while after is not None:
            answer = admin.get(VERIFY, query={"organization_id": organization, **({"after": after} if after else {})})
            assert answer.status == 200 and answer.body["broken"] is None, answer
            after = answer.body["next"]
            entries.append(answer.body["entries"])
            assert admin.put(f"/plans/between-{len(entries)}", {**bucket(), "name": f"b{len(entries)}"}, tenant=tenant).status == 201
        assert len(entries) >= 3 and entries == sorted(entries) and entries[-1] > 45_000
        own.database.execute("UPDATE audit SET hash = sha256(hash) WHERE organization_id = %s AND seq = 30000", (organization,))
        assert verify(admin, organization)["broken"]["seq"] == 30_000
