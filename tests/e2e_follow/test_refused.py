"""States that an agent does not take: the one before serves, the fleet's view says why, and a good one ends it."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from e2e_follow.conftest import REPORTS
from support.crew import SECONDS, Crew
from support.process import wait_until

MakeCrew = Callable[..., Crew]


def another_checksum(data: bytes) -> bytes:
    """The checksum is another one."""
    return re.sub(rb'"checksum":"([0-9a-f])', lambda found: b'"checksum":"' + (b"0" if found[1] != b"0" else b"1"), data)


def another_format(data: bytes) -> bytes:
    """A format that nobody knows."""
    return data.replace(b'"sluice-sync/v1"', b'"sluice-sync/v9"')


def too_large(data: bytes) -> bytes:
    """A state announced with more bytes than one may have."""
    return re.sub(rb"(?i)content-length: \d+(\r\n(?:.*\r\n)*?\r\n\{\"format\")", rb"Content-Length: 999999999\1", data)


def in_the_fleet(crew: Crew, name: str) -> dict[str, Any]:
    """An agent as the server shows it."""
    with crew.admin() as admin:
        return next((agent for agent in admin.items("/agents") if agent["id"] == name), {})


@pytest.mark.fault("invalid-snapshot")
@pytest.mark.parametrize(("spoil", "code"), [(another_checksum, "checksum_mismatch"), (another_format, "unreadable_snapshot"),
                                             (too_large, "too_large")], ids=["checksum", "format", "size"])
def test_a_spoiled_state_is_refused_and_shown(make_crew: MakeCrew, spoil: Callable[[bytes], bytes], code: str) -> None:
    crew = make_crew()
    agent, = crew.hire(1, *REPORTS)
    crew.await_limit(1000)
    crew.relay.rewrite = spoil
    crew.relay.cut()   # what is open knows nothing of compression being off
    with crew.admin() as admin:
        crew.set_limit(admin, 31)
    refusal = wait_until("the refusal in the fleet's view", lambda: in_the_fleet(crew, "agent-0").get("refusal"), SECONDS)
    assert refusal["code"] == code, refusal
    assert refusal["text"], refusal
    assert crew.limit_at(agent) == 1000
    with agent.client() as client:
        assert client.get("/v1/health").status == 200
    crew.relay.rewrite = None
    crew.relay.cut()
    crew.await_limit(31)
    wait_until("no refusal any more", lambda: in_the_fleet(crew, "agent-0").get("refusal", "not in the fleet") is None, SECONDS)


def test_an_expression_that_does_not_compile_is_refused_and_shown(make_crew: MakeCrew) -> None:
    crew = make_crew()
    agent, = crew.hire(1, *REPORTS)
    crew.await_limit(1000)
    write_past_all_checks(crew, match_expr="region =~ '('")
    refusal = wait_until("the refusal in the fleet's view", lambda: in_the_fleet(crew, "agent-0").get("refusal"), SECONDS)
    assert refusal["code"] == "invalid_snapshot", refusal
    assert "match_expr" in refusal["text"], refusal
    assert crew.limit_at(agent) == 1000
    with crew.admin() as admin:
        crew.set_limit(admin, 32)
    crew.await_limit(32)


def write_past_all_checks(crew: Crew, **fields: Any) -> None:
    """A revision that changes fields of the policy, written as the server would write it, but not by the server."""
    database = crew.server.database
    (stored,), = database.execute("SELECT document::text FROM policies WHERE tenant_id = %s AND id = 'probe'", [crew.tenant])
    database.execute("""
        WITH next AS (UPDATE revision SET revision = revision + 1, chain = sha256(chain), made_at = now()
                      RETURNING revision, chain, made_at),
             kept AS (INSERT INTO revisions (revision, chain, made_at) SELECT revision, chain, made_at FROM next),
             policy AS (UPDATE policies SET document = %s::json WHERE tenant_id = %s AND id = 'probe' RETURNING *),
             change AS (
               INSERT INTO changes (revision, ordinal, kind, organization_id, tenant_id, id, version, removed)
               SELECT next.revision, 1, 'policy', organization_id, tenant_id, id, version, false FROM next, policy)
        SELECT pg_notify('sluice_revision', revision::text) FROM next""",
                     [json.dumps({**json.loads(stored), **fields}, separators=(",", ":")), crew.tenant])
