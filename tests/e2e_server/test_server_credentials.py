"""Keys and tokens: their secrets are shown once, kept as hashes, and open nothing once they are over."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from support.admin import AdminClient, bucket, fresh_id, pointers
from support.bundle import Bundle, mint_key
from support.server import CREDENTIAL, Server, bootstrap

KINDS = [("/keys", "key", "slk_"), ("/tokens", "token", "sla_"), ("/agent-tokens", "token", "slg_")]


def matches(secret: str, stored: str) -> bool:
    """Whether a hash in the store is that of a credential's secret."""
    _, salt, digest = stored.split(":")
    return hashlib.sha256(bytes.fromhex(salt) + secret.rsplit("_", 1)[1].encode()).hexdigest() == digest


@pytest.fixture
def bodies(organization: str, tenant: str) -> dict[str, dict[str, Any]]:
    """What each kind is made from."""
    owner = {"name": "prod-app", "organization_id": organization, "tenant_ids": [tenant]}
    return {"/keys": {"tenant_id": tenant, "name": "prod-app"}, "/tokens": {**owner, "role": "operator"}, "/agent-tokens": owner}


# --- secrets ---------------------------------------------------------------------------------------------------------

def test_a_key_is_made_by_the_call_as_written(server: Server, admin: AdminClient, tenant: str) -> None:
    made = admin.create("/keys", f'{{"tenant_id":"{tenant}","name":"prod-app"}}')
    assert {"id", "key", "key_hash"} <= set(made) and made["key"].startswith(f"slk_{made['id']}_")
    assert matches(made["key"], made["key_hash"])
    stored = server.database.execute("SELECT document ->> 'key_hash' FROM keys WHERE id = %s", [made["id"]])
    assert stored == [(made["key_hash"],)]


def test_a_key_that_could_never_be_used_is_not_made_but_one_that_has_ended_stays_editable(admin: AdminClient,
                                                                                       tenant: str) -> None:
    past, name = "2020-01-01T00:00:00Z", fresh_id("key")
    for refused in (admin.post("/keys", {"tenant_id": tenant, "name": name, "expires_at": past}),
                    admin.put(f"/keys/{name}", {"tenant_id": tenant, "expires_at": past}),
                    admin.post("/validate", {"kind": "key", "object": {"tenant_id": tenant, "expires_at": past}})):
        assert (refused.status, [at.removeprefix("/object") for at in pointers(refused)]) == (422, ["/expires_at"]), refused
        assert "in the past" in str(refused.body["errors"]) and "leave expires_at out" in str(refused.body["errors"])
    admin.create("/keys", {"tenant_id": tenant, "id": name})
    ended = admin.patch(f"/keys/{name}", {"expires_at": past})
    assert (ended.status, [warning["pointer"] for warning in ended.body["warnings"]]) == (200, ["/expires_at"])
    assert admin.patch(f"/keys/{name}", {"name": "old"}).status == 200
    bundle = admin.get("/export", tenant=tenant).body
    applied = admin.post("/apply", bundle)
    assert applied.status == 200, applied
    assert admin.delete(f"/keys/{name}").status == 204
    restored = admin.post("/apply", bundle)
    assert restored.status == 200, "an export is applied, also with expired keys"
    assert [warning["pointer"] for warning in restored.body["warnings"]] == ["/keys/0/expires_at"]


@pytest.mark.parametrize(("path", "member", "prefix"), KINDS)
def test_a_secret_is_shown_once_and_stored_nowhere(server: Server, admin: AdminClient, bodies: dict[str, Any], path: str,
                                                   member: str, prefix: str) -> None:
    made = admin.create(path, bodies[path])
    text = made[member]
    assert CREDENTIAL.fullmatch(text) and text.startswith(f"{prefix}{made['id']}_")
    at = f"{path}/{made['id']}"
    for answer in (admin.get(at), admin.patch(at, {"name": "renamed"}), admin.get(path)):
        assert answer.status == 200 and not CREDENTIAL.search(json.dumps(answer.body)), answer
    secret = text.rsplit("_", 1)[1]
    tables = server.database.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
    for (table,) in tables:
        found = server.database.execute(f"SELECT count(*) FROM {table} t WHERE strpos(t::text, %s) > 0", [secret])
        assert found == [(0,)], f"the secret is in {table}"


@pytest.mark.parametrize(("path", "member", "prefix"), KINDS)
def test_a_replay_shows_the_same_object_without_its_secret(admin: AdminClient, bodies: dict[str, Any], path: str, member: str,
                                                           prefix: str) -> None:
    key = fresh_id("key")
    first = admin.post(path, bodies[path], key=key)
    assert first.status == 201 and first.body[member].startswith(prefix)
    again = admin.post(path, bodies[path], key=key)
    assert (again.status, again.header("idempotency-replayed")) == (201, "true")
    assert again.body == {**first.body, member: None, "secret_already_shown": True}
    assert again.header("location") == first.header("location") and again.header("etag") == first.header("etag")


def test_hashes_of_keys_are_fingerprints_in_the_trail(server: Server, admin: AdminClient, tenant: str) -> None:
    made = admin.create("/keys", {"tenant_id": tenant, "name": "k"})
    assert admin.patch(f"/keys/{made['id']}", {"name": "n"}).status == 200
    rows = server.database.execute("SELECT before, after FROM audit WHERE kind = 'key' AND object_id = %s ORDER BY seq",
                                   [made["id"]])
    assert len(rows) == 2
    digest = made["key_hash"].rsplit(":", 1)[1]
    for text in (rows[0][1], rows[1][0], rows[1][1]):
        assert json.loads(text)["key_hash"] == f"fingerprint:{digest[:8]}"


def test_an_imported_key_keeps_its_hash_and_has_no_secret_to_show(admin: AdminClient, tenant: str) -> None:
    hashed = f"sha256:{'ab' * 16}:{hashlib.sha256(b'x').hexdigest()}"
    name = fresh_id("k")
    made = admin.put(f"/keys/{name}", {"tenant_id": tenant, "name": "theirs", "key_hash": hashed})
    assert (made.status, made.body["key_hash"]) == (201, hashed) and "key" not in made.body
    assert admin.put(f"/keys/{name}", {"tenant_id": tenant, "name": "theirs"}).body["version"] == 1, "the hash stays"
    for bad in ("sha256:ab:cd", "md5:" + "ab" * 16, "", 7):
        answer = admin.post("/keys", {"tenant_id": tenant, "name": "x", "key_hash": bad})
        assert answer.status == 422 and "/key_hash" in pointers(answer), answer


def test_a_key_made_here_opens_an_agent_that_reads_the_export(admin: AdminClient, program: Any, tenant: str,
                                                             make_agent: Callable[..., Any], tmp_path: Any) -> None:
    admin.put("/plans/pro", bucket(), tenant=tenant)
    made = admin.create("/keys", {"tenant_id": tenant, "name": "k"})
    exported = admin.get("/export", tenant=tenant)
    assert exported.status == 200 and not CREDENTIAL.search(json.dumps(exported.body))
    bundle = Bundle()
    bundle.document = exported.body
    agent = make_agent(bundle, "memory").start()
    with agent.client(made["key"]) as client:
        assert client.check(plan_id="pro", subject="user:1").body["reason"] == "within_limit"
    with agent.client(mint_key(program).text) as client:
        assert client.check(plan_id="pro", subject="user:1").status == 401


# --- the life of a token ---------------------------------------------------------------------------------------------

def test_whoami_tells_role_scope_and_permissions(server: Server, admin: AdminClient, organization: str, tenant: str) -> None:
    made = admin.create("/tokens", {"name": "op", "role": "operator", "organization_id": organization, "tenant_ids": [tenant]})
    with server.admin(made["token"]) as client:
        me = client.get("/whoami").body
    assert (me["id"], me["name"], me["role"]) == (made["id"], "op", "operator")
    assert (me["organization_id"], me["tenant_ids"]) == (organization, [tenant])
    assert set(me["permissions"]) == {"read", "read_audit", "operate"}
    assert admin.get("/whoami").body["role"] == "platform_admin"


@pytest.mark.fault("foreign-and-expired-credentials")
@pytest.mark.parametrize("end", ["revoke", "delete", "expire"])
def test_a_token_that_is_over_opens_nothing_from_the_next_call_on(server: Server, admin: AdminClient, organization: str,
                                                                  end: str) -> None:
    made = admin.create("/tokens", {"name": "t", "role": "org_admin", "organization_id": organization})
    at = f"/tokens/{made['id']}"
    with server.admin(made["token"], source=f"127.2.{len(end)}.1") as client:
        assert client.get("/whoami").status == 200
        done = {"revoke": lambda: admin.patch(at, {"revoked": True}), "delete": lambda: admin.delete(at),
                "expire": lambda: admin.patch(at, {"expires_at": "2021-01-01T00:00:00Z"})}[end]()
        assert done.status in (200, 204)
        assert client.get("/whoami").status == 401
    if end == "revoke":
        answer = admin.patch(at, {"revoked": False})
        assert (answer.status, pointers(answer)) == (422, ["/revoked"]), "revoking is final"


def test_role_and_scope_of_a_token_stay_as_they_were_made(admin: AdminClient, organization: str, tenant: str) -> None:
    made = admin.create("/tokens", {"name": "t", "role": "auditor", "organization_id": organization})
    answer = admin.patch(f"/tokens/{made['id']}", {"role": "org_admin", "tenant_ids": [tenant]})
    assert answer.status == 422 and {"/role", "/tenant_ids"} <= set(pointers(answer))


def test_the_last_platform_admin_cannot_be_locked_out(make_server: Callable[..., Server]) -> None:
    server = make_server().start()
    with server.admin() as admin:
        me = admin.get("/whoami").body["id"]
        for answer in (admin.delete(f"/tokens/{me}"), admin.patch(f"/tokens/{me}", {"revoked": True}),
                       admin.patch(f"/tokens/{me}", {"expires_at": "2021-01-01T00:00:00Z"})):
            assert (answer.status, answer.body["type"]) == (409, "/problems/last-admin")
        bootstrap(server.program, server.database, "--again")
        assert admin.delete(f"/tokens/{me}").status == 204


@pytest.mark.parametrize(("path", "faulty", "named"), [
    ("/tokens", {"role": "king"}, ["/name", "/role"]),
    ("/tokens", {"name": "x", "role": "operator", "tenant_ids": ["nobody"]}, ["/tenant_ids/0"]),
    ("/tokens", {"name": "x", "role": "operator", "organization_id": "nobody"}, ["/organization_id"]),
    ("/tokens", {"name": "x", "role": "auditor", "expires_at": "2020-01-01T00:00:00Z"}, ["/expires_at"]),
    ("/tokens", {"name": "x", "role": "auditor", "id": "mine", "colour": 1}, ["/colour", "/id"]),
    ("/agent-tokens", {"name": "x", "tenant_ids": "shop"}, ["/tenant_ids"]),
    ("/keys", {"name": 7, "expires_at": "soon"}, ["/expires_at", "/name", "/tenant_id"]),
])
def test_faulty_credentials_are_refused_with_every_field_named(admin: AdminClient, path: str, faulty: dict[str, Any],
                                                               named: list[str]) -> None:
    answer = admin.post(path, faulty)
    assert (answer.status, sorted(pointers(answer))) == (422, named), answer
