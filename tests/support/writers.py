"""Clients that write through the admin API while something breaks, and the check of what their writes left behind."""

import http.client
import itertools
import threading
from dataclasses import dataclass, field
from typing import Any, Optional

from support.admin import AdminClient, bucket, fresh_id
from support.client import Answer
from support.postgres import Database
from support.server import Server

# In one statement, and so at one moment: what of objects, versions, audit and changes does not fit together.
DISAGREEMENTS = """
WITH object AS (
       SELECT 'organization' AS kind, tenant_id, id, version, document::text FROM organizations
       UNION ALL SELECT 'tenant', tenant_id, id, version, document::text FROM tenants
       UNION ALL SELECT 'plan', tenant_id, id, version, document::text FROM plans
       UNION ALL SELECT 'policy', tenant_id, id, version, document::text FROM policies
       UNION ALL SELECT 'key', tenant_id, id, version, document::text FROM keys),
     newest AS (
       SELECT DISTINCT ON (kind, tenant_id, id) kind, tenant_id, id, version, document::text FROM versions
       WHERE kind IN ('organization', 'tenant', 'plan', 'policy', 'key') ORDER BY kind, tenant_id, id, version DESC)
SELECT 'object and newest version', coalesce(o.kind, n.kind), coalesce(o.tenant_id, n.tenant_id), coalesce(o.id, n.id)
  FROM object o FULL JOIN newest n USING (kind, tenant_id, id)
  WHERE (o.version, o.document) IS DISTINCT FROM (n.version, n.document) AND NOT (o.id IS NULL AND n.document IS NULL)
UNION ALL
SELECT 'version and audit row', coalesce(v.kind, a.kind), coalesce(v.tenant_id, a.tenant_id), coalesce(v.id, a.object_id)
  FROM versions v FULL JOIN audit a
  ON (v.kind, v.tenant_id, v.id, v.version, v.revision) = (a.kind, a.tenant_id, a.object_id, a.version, a.revision)
  WHERE v.id IS NULL OR a.object_id IS NULL
UNION ALL
SELECT 'version and change', coalesce(v.kind, c.kind), coalesce(v.tenant_id, c.tenant_id), coalesce(v.id, c.id)
  FROM versions v FULL JOIN changes c
  ON (v.kind, v.tenant_id, v.id, v.version, v.revision) = (c.kind, c.tenant_id, c.id, c.version, c.revision)
  WHERE v.id IS NULL OR c.id IS NULL
UNION ALL
SELECT 'revision and changes', r.revision::text, max(c.revision)::text, count(DISTINCT c.revision)::text
  FROM revision r LEFT JOIN changes c ON true GROUP BY r.revision
  HAVING r.revision <> coalesce(max(c.revision), 0) OR r.revision <> count(DISTINCT c.revision)
UNION ALL
SELECT 'audit head and rows', h.organization_id, h.seq::text, count(a.seq)::text
  FROM audit_heads h LEFT JOIN audit a USING (organization_id) GROUP BY h.organization_id, h.seq
  HAVING h.seq <> count(a.seq) OR h.seq <> coalesce(max(a.seq), 0)
"""


def assert_whole(database: Database) -> None:
    """Objects, versions, audit, changes and the revision agree exactly."""
    assert database.execute(DISAGREEMENTS) == []


@dataclass
class Write:
    """One write that a client wants done, once."""

    key: str          # of Idempotency-Key; request ids of its attempts begin with it
    method: str
    path: str
    body: Optional[dict[str, Any]]
    answer: Optional[Answer] = None
    attempts: int = 0
    unanswered: int = 0   # attempts that ended without an answer, or with 503


@dataclass
class Writer:
    """One client: it makes new plans, changes one that all share, deletes what it made; each until it is acknowledged."""

    server: Server
    tenant: str
    number: int
    done: list[Write] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: Optional[threading.Thread] = None

    def start(self) -> "Writer":
        """Begins."""
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def finish(self) -> None:
        """Finishes what it is at, and ends."""
        self._stop.set()
        assert self._thread is not None
        self._thread.join(120)
        assert not self._thread.is_alive(), "a writer never heard of its write"

    def _run(self) -> None:
        for turn in itertools.count():
            if self._stop.is_set() or self.faults:
                return
            mine = f"w{self.number}-{turn - turn % 3}"
            method, path, body = [("POST", "/plans", bucket(id=mine)), ("PATCH", "/plans/shared", {"name": f"shared-{mine}"}),
                                  ("DELETE", f"/plans/{mine}", None)][turn % 3]
            self._write(Write(fresh_id("key"), method, path, body))

    def _write(self, write: Write) -> None:
        client: Optional[AdminClient] = None
        while write.answer is None and not self.faults:
            asked = self.server.process   # another one may run when this attempt has failed
            try:
                client = client or self.server.admin(timeout=20)
                write.attempts += 1
                answer = client.request(write.method, write.path, write.body, tenant=self.tenant, key=write.key,
                                        headers={"x-request-id": f"{write.key}.{write.attempts}"})
            except (OSError, http.client.HTTPException, AssertionError) as lost:
                # The server is down, or ended in the middle of its answer.
                if isinstance(lost, AssertionError) and asked.alive():
                    self.faults.append(f"{write}: {lost}")
                write.unanswered += 1
                client = None
                self._stop.wait(0.02)
                continue
            if answer.status == 503:
                write.unanswered += 1
                self._stop.wait(0.02)
            elif answer.status < 300:
                write.answer = answer
                self.done.append(write)
            else:
                self.faults.append(f"{write}: {answer}")
        if client is not None:
            client.close()


class Crowd:
    """Writers at work on one tenant."""

    def __init__(self, server: Server, clients: int = 4) -> None:
        self.server = server
        with server.admin() as admin:
            self.tenant = admin.tenant()
            assert admin.put("/plans/shared", bucket(), tenant=self.tenant).status == 201
        self.writers = [Writer(server, self.tenant, number).start() for number in range(clients)]

    @property
    def done(self) -> list[Write]:
        """What was acknowledged so far."""
        return [write for writer in self.writers for write in list(writer.done)]

    def finish(self) -> None:
        """Lets all finish what they are at."""
        for writer in self.writers:
            writer.finish()
        faults = [fault for writer in self.writers for fault in writer.faults]
        assert not faults, faults[:3]

    def assert_each_once(self) -> None:
        """Every write was made exactly once, however many attempts it took: one version, one audit row, as acknowledged."""
        database = self.server.database
        rows = database.execute("SELECT split_part(request_id, '.', 1), action, object_id, version, revision, after FROM audit"
                                " WHERE tenant_id = %s AND kind = 'plan' AND request_id LIKE 'key-%%'", [self.tenant])
        by_key: dict[str, list[tuple[Any, ...]]] = {}
        for key, *rest in rows:
            by_key.setdefault(key, []).append(tuple(rest))
        done = self.done
        assert {write.key for write in done} == set(by_key), "a write without a row, or a row without a write"
        for write in done:
            assert len(by_key[write.key]) == 1, (write, by_key[write.key])
            action, object_id, version, revision, after = by_key[write.key][0]
            assert write.answer is not None
            assert str(revision) == write.answer.header("sluice-revision"), write
            assert action == {"POST": "create", "PATCH": "update", "DELETE": "delete"}[write.method]
            assert (after is None) == (write.method == "DELETE") and write.path in (f"/plans/{object_id}", "/plans")
            if write.method != "DELETE":
                assert version == write.answer.body["version"] and f'"name":"{write.answer.body["name"]}"' in after
        assert_whole(database)
