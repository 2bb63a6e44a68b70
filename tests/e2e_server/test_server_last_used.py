"""When an admin token was last used: written at most once a minute, and never in the way of a call."""

from collections.abc import Callable

import pytest

from support.admin import AdminClient
from support.server import Server


@pytest.fixture
def own(make_server: Callable[..., Server]) -> Server:
    """A server whose database may be changed by hand."""
    return make_server().start()


def used_at(admin: AdminClient, token_id: str) -> str:
    """As the list has it; "" before the first use."""
    return str(next(each for each in admin.items("/tokens") if each["id"] == token_id).get("last_used_at", ""))


def test_a_token_has_the_time_of_its_use_and_none_before(own: Server) -> None:
    with own.admin() as admin:
        made = admin.create("/tokens", {"name": "ci", "role": "auditor"})
        assert "last_used_at" not in made and used_at(admin, made["id"]) == ""
        with own.admin(made["token"]) as client:
            assert client.get("/whoami").status == 200
        first = used_at(admin, made["id"])
        assert first > made["created_at"]
        assert admin.get(f"/tokens/{made['id']}").body["last_used_at"] == first


def test_further_calls_within_a_minute_write_nothing(own: Server) -> None:
    with own.admin() as admin:
        made = admin.create("/tokens", {"name": "ci", "role": "auditor"})
        with own.admin(made["token"]) as client:
            for _ in range(5):
                assert client.get("/whoami").status == 200
        first = used_at(admin, made["id"])
        # Another server, which has not seen the token: the database says that the minute is not over.
        own.restart()
    with own.admin() as admin:
        with own.admin(made["token"]) as client:
            assert client.get("/whoami").status == 200
        assert used_at(admin, made["id"]) == first
        own.database.execute("UPDATE tokens SET used_at = used_at - interval '61 seconds' WHERE id = %s", (made["id"],))
        own.restart()
    with own.admin() as admin:
        with own.admin(made["token"]) as client:
            assert client.get("/whoami").status == 200
        assert used_at(admin, made["id"]) > first


def test_a_use_makes_no_version_no_revision_and_no_entry(own: Server) -> None:
    with own.admin() as admin:
        made = admin.create("/tokens", {"name": "ci", "role": "auditor"})
        revision = admin.get("/revision").body["revision"]
        with own.admin(made["token"]) as client:
            assert client.get("/whoami").status == 200
        found = admin.get(f"/tokens/{made['id']}").body
        assert found["last_used_at"] and found["version"] == 1
        assert admin.get("/revision").body["revision"] == revision


def test_an_answer_with_the_time_can_be_sent_back(own: Server) -> None:
    with own.admin() as admin:
        made = admin.create("/tokens", {"name": "ci", "role": "auditor"})
        with own.admin(made["token"]) as client:
            assert client.get("/whoami").status == 200
        found = admin.get(f"/tokens/{made['id']}").body
        assert admin.patch(f"/tokens/{made['id']}", {**found, "name": "renamed"}).status == 200
